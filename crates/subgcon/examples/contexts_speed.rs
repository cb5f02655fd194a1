//! How fast are contexts, and how right?
//!
//! ```text
//! cargo run --release --example contexts_speed -- [option=value ...]
//! graph=skewed|rmat|communities  nodes=1000000  draws=9100000  epsilon=1e-3,1e-4  seeds=50000
//! references=50  threads=0,1,2  lookahead=0,1  size=20  rounds=5  certify=0  budget=1000000
//! order=given|rings|labels  batch=0|1  store=NAME.graph
//! ```
//!
//! A power-law graph is generated (see `graph::generate`), or a store opened; `order=rings` numbers its
//! nodes ring by ring from the largest hub, `order=labels` by what label propagation finds, and `batch=1`
//! takes the seeds in the order of the rings or labels.
//! The variants are measured in turn, several rounds, and the best round of each
//! counts. Agreement is the share of the exact contexts' nodes that are found, by a
//! push with ε = 1e-7 and lookahead whose error is far below the differences between
//! scores. `threads=0` is one thread without bit rows, one context after another.
//! Seeds have at least one neighbour.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use subgcon::context::{AdjacencyView, ContextSettings, Flags, Method, Sampler, sample};
use subgcon::graph::generate::{Communities, FeatureKind, PowerLaw};
use subgcon::graph::{Adjacency, EdgeList, EdgeRules, merge};
use subgcon::io::store::Store;
use subgcon::progress::Silent;
use subgcon::rng::Stream;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options: BTreeMap<String, String> = [
        ("graph", "skewed"),
        ("nodes", "1000000"),
        ("draws", "9100000"),
        ("epsilon", "1e-3,1e-4"),
        ("seeds", "50000"),
        ("references", "50"),
        ("threads", "0,1,2"),
        ("size", "20"),
        ("rounds", "5"),
        ("certify", "0"),
        ("budget", "1000000"),
        ("order", "given"),
        ("store", ""),
        ("batch", "0"),
        ("lookahead", "0,1"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    for argument in std::env::args().skip(1) {
        let (name, value) = argument.split_once('=').ok_or("options are written name=value")?;
        let old = options.get_mut(name).ok_or_else(|| format!("no option {name}"))?;
        value.clone_into(old);
    }
    let number = |name: &str| options[name].parse::<usize>();
    let list = |name: &str| options[name].split(',').map(str::parse::<f64>).collect::<Vec<_>>();

    let made = match options["store"].as_str() {
        "" => generate(&options["graph"], number("nodes")? as u64, number("draws")? as u64)?,
        path => Store::open(Path::new(path))?.adjacency()?.clone(),
    };
    let given = options["order"] == "given";
    let place = if options["order"] == "labels" { label_order(&made) } else { ring_order(&made) };
    let adjacency = if given { made.clone() } else { renumbered(&made, &place)? };
    let view = AdjacencyView::new(&adjacency);
    let connected: Vec<u32> =
        (0..adjacency.nodes() as u32).filter(|&node| adjacency.degree(node) > 0).collect();
    println!(
        "{} nodes, {} connected, {} arcs, largest degree {}",
        adjacency.nodes(),
        connected.len(),
        adjacency.arcs(),
        connected.iter().map(|&node| adjacency.degree(node)).max().unwrap_or(0)
    );
    let mut stream = Stream::new(7, "seeds", 0);
    let mut seeds: Vec<u32> = (0..number("seeds")?)
        .map(|_| connected[stream.below(connected.len() as u64) as usize])
        .collect();
    if number("batch")? > 0 {
        seeds.sort_by_key(|&seed| if given { place[seed as usize] } else { seed });
    }

    let base = ContextSettings { size: number("size")?, ..Default::default() };
    let references = &seeds[..number("references")?.min(seeds.len())];
    let start = Instant::now();
    let exact = {
        let method = Method::Push { epsilon: 1e-7, lookahead: true };
        let settings = ContextSettings { method, budget: u64::MAX, ..base.clone() };
        sample(&view, references, &settings, &Silent)?
    };
    println!("reference: {} nodes in {:.1} s", references.len(), start.elapsed().as_secs_f64());

    let mut variants = Vec::new();
    for epsilon in list("epsilon") {
        let epsilon = epsilon?;
        for lookahead in list("lookahead").into_iter().map(|x| x.map(|x| x > 0.0)) {
            let lookahead = lookahead?;
            for threads in list("threads") {
                variants.push((epsilon, lookahead, threads? as usize, f64::INFINITY));
            }
        }
    }
    let count =
        |epsilon: f64| ((epsilon * 1e3 * seeds.len() as f64) as usize).clamp(500, seeds.len());
    for _ in 0..number("rounds")? {
        for (epsilon, lookahead, threads, best) in &mut variants {
            let method = Method::Push { epsilon: *epsilon, lookahead: *lookahead };
            let settings = ContextSettings { method, ..base.clone() };
            if *threads == 0 {
                let mut sampler = Sampler::new(&view, &settings)?;
                let start = Instant::now();
                for &seed in &seeds[..count(*epsilon)] {
                    std::hint::black_box(sampler.context(seed)?);
                }
                *best = best.min(start.elapsed().as_secs_f64());
                continue;
            }
            let pool = rayon::ThreadPoolBuilder::new().num_threads(*threads).build()?;
            let start = Instant::now();
            pool.install(|| sample(&view, &seeds[..count(*epsilon)], &settings, &Silent))?;
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    println!("  epsilon lookahead threads     nodes/s agreement");
    for (epsilon, lookahead, threads, best) in variants {
        let method = Method::Push { epsilon, lookahead };
        let found =
            sample(&view, references, &ContextSettings { method, ..base.clone() }, &Silent)?;
        let share: f64 = (0..found.rows())
            .map(|row| {
                let right = exact.nodes(row);
                let hits = found.nodes(row).iter().filter(|node| right.contains(node)).count();
                hits as f64 / right.len() as f64
            })
            .sum();
        println!(
            "{epsilon:9.0e} {lookahead:>9} {threads:7} {:11.0} {:9.4}",
            count(epsilon) as f64 / best,
            share / found.rows() as f64
        );
    }

    let certified = number("certify")?.min(seeds.len());
    if certified > 0 {
        let budget = number("budget")? as u64;
        let settings = ContextSettings { certify: true, budget, ..base };
        let mut sampler = Sampler::new(&view, &settings)?;
        let mut counts = BTreeMap::<&str, usize>::new();
        let start = Instant::now();
        for &seed in &seeds[..certified] {
            let flags = sampler.context(seed)?.flags;
            let names =
                [(Flags::CERTIFIED, "certified"), (Flags::TIED, "tied"), (Flags::BUDGET, "budget")];
            let name = names.iter().find(|(flag, _)| flags.has(*flag)).map_or("none", |x| x.1);
            *counts.entry(name).or_default() += 1;
        }
        let rate = certified as f64 / start.elapsed().as_secs_f64();
        println!("certify: {counts:?} of {certified}, {rate:.0} nodes/s");
    }
    Ok(())
}

/// A power-law graph in memory: R-MAT, or independent edges with skewed degrees, all over the graph or
/// nine of ten within communities of 500 nodes.
fn generate(kind: &str, nodes: u64, edges: u64) -> subgcon::Result<Adjacency> {
    let list = match kind {
        "rmat" => PowerLaw { nodes, edges, seed: 1, ..PowerLaw::default() }.edges(&Silent)?,
        _ => Communities {
            nodes,
            edges,
            classes: if kind == "communities" { nodes.div_ceil(500) } else { 1 },
            mixing: if kind == "communities" { 0.1 } else { 0.0 },
            features: FeatureKind::None,
            splits: 0,
            seed: 1,
            ..Communities::default()
        }
        .edges(&Silent)?,
    };
    merged(nodes as u32, list)
}

fn merged(nodes: u32, edges: EdgeList) -> subgcon::Result<Adjacency> {
    let mut adjacency = Adjacency::empty(false);
    merge(nodes, edges, EdgeRules::default(), &mut adjacency, &Silent)?;
    Ok(adjacency.finish())
}

/// Each node's place when the graph is walked ring by ring from its largest hub.
fn ring_order(adjacency: &Adjacency) -> Vec<u32> {
    let nodes = adjacency.nodes() as u32;
    let mut by_degree: Vec<u32> = (0..nodes).collect();
    by_degree.sort_by_key(|&node| std::cmp::Reverse(adjacency.degree(node)));
    let (mut place, mut next) = (vec![u32::MAX; nodes as usize], 0);
    for start in by_degree {
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            if place[node as usize] == u32::MAX {
                place[node as usize] = next;
                next += 1;
                queue.extend(adjacency.neighbours(node));
            }
        }
    }
    place
}

/// Each node's place when those are put together that label propagation gives one label: every node
/// takes the most frequent label around it, the smallest of several, five times over.
fn label_order(adjacency: &Adjacency) -> Vec<u32> {
    let nodes = adjacency.nodes() as u32;
    let mut labels: Vec<u32> = (0..nodes).collect();
    let mut around = Vec::new();
    for _ in 0..5 {
        for node in 0..nodes {
            around.clear();
            around.extend(adjacency.neighbours(node).iter().map(|&other| labels[other as usize]));
            around.sort_unstable();
            let runs = around.chunk_by(|a, b| a == b);
            if let Some(run) =
                runs.reduce(|best, run| if run.len() > best.len() { run } else { best })
            {
                labels[node as usize] = run[0];
            }
        }
    }
    let mut order: Vec<u32> = (0..nodes).collect();
    order.sort_by_key(|&node| (labels[node as usize], node));
    let mut place = vec![0; nodes as usize];
    order.iter().enumerate().for_each(|(at, &node)| place[node as usize] = at as u32);
    place
}

/// The same graph with other numbers.
fn renumbered(adjacency: &Adjacency, place: &[u32]) -> subgcon::Result<Adjacency> {
    let nodes = adjacency.nodes() as u32;
    let arcs = (0..nodes).flat_map(|node| {
        let larger = adjacency.neighbours(node).iter().filter(move |&&other| other > node);
        larger.map(move |&other| (place[node as usize], place[other as usize]))
    });
    merged(nodes, arcs.collect())
}
