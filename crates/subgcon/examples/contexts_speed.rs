//! How fast are contexts, and how right?
//!
//! ```text
//! cargo run --release --example contexts_speed -- [option=value ...]
//! graph=rmat|chung-lu  nodes=1048576  draws=10500000  epsilon=1e-3,1e-4  seeds=50000
//! references=50  threads=0,1,2  lookahead=0,1  size=20  rounds=5  certify=0  budget=1000000  order=shuffled
//! ```
//!
//! A power-law graph is generated (R-MAT .57 .19 .19 .05, or Chung–Lu with weights
//! i^-0.7; `order=shuffled` or `order=made`: as they come, hubs first). The variants are measured in turn, several
//! rounds, and the best round of each counts. Agreement is the share of the exact
//! contexts' nodes that are found, by a push with ε = 1e-7 and lookahead whose
//! error is far below the differences between scores. `threads=0` is one thread
//! without bit rows, one context after another. Seeds have at least one neighbour.

use std::collections::BTreeMap;
use std::time::Instant;

use subgcon::context::{AdjacencyView, ContextSettings, Flags, Method, Sampler, sample};
use subgcon::graph::Adjacency;
use subgcon::progress::Silent;
use subgcon::rng::Stream;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options: BTreeMap<String, String> = [
        ("graph", "rmat"),
        ("nodes", "1048576"),
        ("draws", "10500000"),
        ("epsilon", "1e-3,1e-4"),
        ("seeds", "50000"),
        ("references", "50"),
        ("threads", "0,1,2"),
        ("size", "20"),
        ("rounds", "5"),
        ("certify", "0"),
        ("budget", "1000000"),
        ("order", "shuffled"),
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

    let adjacency =
        generate(&options["graph"], number("nodes")?, number("draws")?, &options["order"]);
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
    let seeds: Vec<u32> = (0..number("seeds")?)
        .map(|_| connected[stream.below(connected.len() as u64) as usize])
        .collect();

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

fn generate(kind: &str, nodes: usize, draws: usize, order: &str) -> Adjacency {
    let mut stream = Stream::new(1, "edges", 0);
    let mut numbers: Vec<u32> = (0..nodes as u32).collect();
    for at in (1..nodes).rev().filter(|_| order == "shuffled") {
        numbers.swap(at, stream.below(at as u64 + 1) as usize);
    }
    let levels = nodes.next_power_of_two().trailing_zeros();
    let mut arcs: Vec<u64> = Vec::with_capacity(2 * draws);
    let mut made = 0;
    while made < draws {
        let (from, to) = if kind == "rmat" {
            let (mut from, mut to) = (0usize, 0usize);
            for _ in 0..levels {
                let x = stream.unit();
                from = 2 * from + usize::from(x >= 0.76);
                to = 2 * to + usize::from((0.57..0.76).contains(&x) || x >= 0.95);
            }
            (from, to)
        } else {
            let mut draw = || (stream.unit().powf(1.0 / 0.3) * nodes as f64) as usize;
            (draw(), draw())
        };
        if from >= nodes || to >= nodes {
            continue;
        }
        made += 1;
        if from != to {
            let (from, to) = (u64::from(numbers[from]), u64::from(numbers[to]));
            arcs.extend([from << 32 | to, to << 32 | from]);
        }
    }
    arcs.sort_unstable();
    arcs.dedup();
    let mut offsets = vec![0u64; nodes + 1];
    arcs.iter().for_each(|arc| offsets[(arc >> 32) as usize + 1] += 1);
    for node in 0..nodes {
        offsets[node + 1] += offsets[node];
    }
    let neighbours: Vec<u32> = arcs.iter().map(|&arc| arc as u32).collect();
    Adjacency {
        offsets: offsets.into(),
        neighbours: neighbours.into(),
        weights: None,
        directed: false,
    }
}
