//! `subgcon contexts`: the context of every node, or a look at one.

use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde::Serialize;
use subgcon::context::{
    AdjacencyView, Composition, ContextSettings, Contexts, DEFAULT_EPSILON, Flags, GraphView,
    Method, Ranking, context, distances,
};
use subgcon::io::contexts::ContextTable;
use subgcon::io::store::Store;

use crate::format::{bar, bytes, percent, thousands};
use crate::picture::composition_svg;
use crate::progress::Bars;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The store, a folder: NAME.graph
    store: PathBuf,
    /// Nodes in a context, the centre included; over 64 without adjacency, 1,024 at most
    #[arg(long, default_value_t = 20)]
    size: usize,
    /// Push until PageRank over degree is right within this [default: 3e-4]
    #[arg(long)]
    epsilon: Option<f64>,
    /// Lower epsilon, node by node, until the context is proven
    #[arg(long)]
    certify: bool,
    /// How scores are computed
    #[arg(long, default_value = "push")]
    method: MethodName,
    /// Power steps, for --method power; the released program takes 10 [default: 10]
    #[arg(long)]
    steps: Option<u32>,
    /// Probability of a walk to end at each step
    #[arg(long, default_value_t = 0.15)]
    restart: f64,
    /// Rank by row S(i, :) (PageRank over degree), or by PageRank itself
    #[arg(long, default_value = "row")]
    ranking: RankingName,
    /// Arcs that the push of one node may look at
    #[arg(long, default_value_t = 1_000_000)]
    budget: u64,
    /// Show the context of the node with this id instead
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    node: Option<String>,
    /// Check every checksum of the table
    #[arg(long, conflicts_with = "node")]
    verify: bool,
    /// Draw the composition by distance into an SVG file
    #[arg(long, value_name = "FILE", conflicts_with = "node")]
    svg: Option<PathBuf>,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum MethodName {
    Push,
    Power,
    Exact,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RankingName {
    Row,
    Pagerank,
}

impl Arguments {
    /// Plain `subgcon contexts STORE`.
    pub(crate) fn of(store: &std::path::Path) -> Arguments {
        #[derive(clap::Parser)]
        struct Plain {
            #[command(flatten)]
            arguments: Arguments,
        }
        let words = [std::ffi::OsStr::new("contexts"), store.as_os_str()];
        <Plain as clap::Parser>::parse_from(words).arguments
    }

    fn settings(&self) -> ContextSettings {
        ContextSettings {
            size: self.size,
            restart: self.restart,
            method: match self.method {
                // A coarse push gains nothing from a second look, and it would cost a third.
                MethodName::Push => {
                    let epsilon = self.epsilon.unwrap_or(DEFAULT_EPSILON);
                    Method::Push { epsilon, lookahead: epsilon < 5e-4 }
                }
                MethodName::Power => Method::Power { steps: self.steps.unwrap_or(10) },
                MethodName::Exact => Method::Exact,
            },
            ranking: match self.ranking {
                RankingName::Row => Ranking::Row,
                RankingName::Pagerank => Ranking::PageRank,
            },
            certify: self.certify,
            budget: self.budget,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, progress: &Bars) -> anyhow::Result<()> {
    let settings = arguments.settings();
    settings.validate()?;
    let stray = match arguments.method {
        MethodName::Push => arguments.steps.map(|_| "--steps goes with --method power"),
        _ => arguments.epsilon.map(|_| "--epsilon goes with --method push"),
    };
    if let Some(stray) = stray {
        anyhow::bail!("{stray}; leave it out or choose that method");
    }
    let store = Store::open(&arguments.store)?;
    match &arguments.node {
        Some(id) => show_node(&store, id, &settings, arguments.json),
        None => sample_all(arguments, &store, &settings, progress),
    }
}

/// Contexts whose members' distances are looked up: all of a small graph, and of
/// a larger one, where going three hops may meet most of it, about a thousand.
const SMALL: usize = 20_000;
const LOOKED_AT: usize = 1_000;

/// What is told of all contexts; with `--json` exactly this.
#[derive(Debug, Serialize)]
struct Summary {
    store: String,
    table: String,
    settings: ContextSettings,
    nodes: u64,
    /// In a directed graph mass is no probability (see docs/formats.md).
    directed: bool,
    /// Contexts that were there already.
    reused: u64,
    /// Whether every checksum of the table was found right.
    verified: bool,
    seconds: f64,
    nodes_per_second: Option<f64>,
    bytes: u64,
    size: Sizes,
    certified: f64,
    tied: f64,
    budget_spent: f64,
    short: f64,
    captured_mass: Quantiles,
    composition: Shares,
}

#[derive(Debug, Serialize)]
struct Sizes {
    smallest: usize,
    mean: f64,
    largest: usize,
}

#[derive(Debug, Serialize)]
struct Quantiles {
    least: f32,
    q05: f32,
    q25: f32,
    median: f32,
    q75: f32,
    q95: f32,
    most: f32,
}

#[derive(Debug, Serialize)]
struct Shares {
    /// Contexts that were looked at.
    contexts: u64,
    /// Share of members (the centres aside) at distance 1, 2, ….
    hops: Vec<f64>,
    further: f64,
}

fn sample_all(
    arguments: &Arguments,
    store: &Store,
    settings: &ContextSettings,
    progress: &Bars,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let table = ContextTable::sample(store, settings, progress)?;
    let seconds = started.elapsed().as_secs_f64();
    match arguments.verify {
        true => table.verify()?,
        false => table.check_members()?,
    }
    let view = AdjacencyView::new(store.adjacency()?);
    let summary =
        Summary { verified: arguments.verify, ..summarise(store, &table, &view, seconds) };
    if let Some(path) = &arguments.svg {
        let name = store.root().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let picture =
            composition_svg(&name, &summary.composition.hops, summary.composition.further);
        std::fs::write(path, picture)
            .with_context(|| format!("{}: cannot write", path.display()))?;
    }
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &summary).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", summary_text(&summary))?;
        if let Some(path) = &arguments.svg {
            writeln!(out, "drew        {}", path.display())?;
        }
    }
    Ok(())
}

fn summarise(
    store: &Store,
    table: &ContextTable,
    view: &AdjacencyView<'_>,
    seconds: f64,
) -> Summary {
    let contexts: &Contexts = &table.contexts;
    let nodes = table.manifest.nodes;
    let share = |flag: Flags| {
        let having = contexts.flags.iter().filter(|&&byte| Flags(byte).has(flag)).count();
        having as f64 / nodes as f64
    };
    let sizes = (0..contexts.rows()).map(|row| contexts.nodes(row).len());
    let (smallest, largest, sum) = sizes.fold((usize::MAX, 0, 0u64), |(least, most, sum), size| {
        (least.min(size), most.max(size), sum + size as u64)
    });
    let step = if contexts.rows() <= SMALL { 1 } else { contexts.rows().div_ceil(LOOKED_AT) };
    let composition = Composition::of(view, contexts, step);
    let members = composition.members().max(1) as f64;
    let mut hops: Vec<f64> = composition.at_hops.iter().map(|&n| n as f64 / members).collect();
    while hops.last() == Some(&0.0) {
        hops.pop();
    }
    let sampled = nodes - table.reused;
    Summary {
        store: store.root().display().to_string(),
        table: table.root.display().to_string(),
        settings: table.manifest.settings.clone(),
        nodes,
        directed: store.manifest().directed,
        reused: table.reused,
        verified: false,
        seconds,
        nodes_per_second: (sampled > 0).then(|| sampled as f64 / seconds),
        bytes: table.manifest.arrays.values().map(|entry| entry.bytes).sum(),
        size: Sizes { smallest, mean: sum as f64 / nodes as f64, largest },
        certified: share(Flags::CERTIFIED),
        tied: share(Flags::TIED),
        budget_spent: share(Flags::BUDGET),
        short: share(Flags::SHORT),
        captured_mass: quantiles(&contexts.captured),
        composition: Shares {
            contexts: composition.contexts,
            hops,
            further: composition.further as f64 / members,
        },
    }
}

fn quantiles(values: &[f32]) -> Quantiles {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let at = |share: f64| sorted[(share * (sorted.len() - 1) as f64).round() as usize];
    Quantiles {
        least: at(0.0),
        q05: at(0.05),
        q25: at(0.25),
        median: at(0.5),
        q75: at(0.75),
        q95: at(0.95),
        most: at(1.0),
    }
}

fn summary_text(summary: &Summary) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<12}{value}");
    };
    row(
        "contexts",
        format!("{} of up to {} nodes", thousands(summary.nodes), summary.settings.size),
    );
    let table = format!("{} ({})", summary.table, bytes(summary.bytes));
    row("table", table);
    if summary.verified {
        row("verified", "every checksum of the table is right, every member is a node".into());
    }
    row(
        "work",
        match summary.nodes_per_second {
            None => "all of them were there already".into(),
            Some(rate) => {
                let reused = match summary.reused {
                    0 => String::new(),
                    reused => format!(", {} taken up from an earlier run", thousands(reused)),
                };
                format!("{:.2} s, {} nodes/s{reused}", summary.seconds, thousands(rate as u64))
            }
        },
    );
    let size = &summary.size;
    row("size", format!("{} to {}, mean {:.2}", size.smallest, size.largest, size.mean));
    let reach = match summary.settings.method {
        Method::Power { steps } => format!("no more nodes within {steps} steps"),
        _ => "no more nodes can be reached".to_owned(),
    };
    row("short", format!("{} ({reach})", percent(summary.short)));
    if summary.settings.certify {
        row(
            "certified",
            format!(
                "{} proven, {} proven but for ties, {} stopped by the budget",
                percent(summary.certified),
                percent(summary.tied),
                percent(summary.budget_spent)
            ),
        );
    } else if summary.budget_spent > 0.0 {
        row("budget", format!("{} stopped by it", percent(summary.budget_spent)));
    }
    let mass = &summary.captured_mass;
    row(
        "mass",
        format!(
            "median {:.3}{}; 5 % to 95 %: {:.3} to {:.3}",
            mass.median,
            if summary.directed { " in a context" } else { " of a walk's end lies in its context" },
            mass.q05,
            mass.q95
        ),
    );
    let shares = &summary.composition;
    let of = match shares.contexts == summary.nodes {
        true => String::new(),
        false => format!(" ({} contexts looked at)", thousands(shares.contexts)),
    };
    row("distance", format!("of members from their centre{of}"));
    for (place, share) in shares.hops.iter().enumerate() {
        let hops = if place == 0 { "1 hop".into() } else { format!("{} hops", place + 1) };
        let _ = writeln!(text, "{hops:>21} {:>9} {}", percent(*share), bar(*share, 40));
    }
    if shares.further > 0.0 {
        let share = shares.further;
        let _ = writeln!(text, "{:>21} {:>9} {}", "further", percent(share), bar(share, 40));
    }
    text
}

/// One context; with `--json` exactly this.
#[derive(Debug, Serialize)]
struct NodeReport {
    node: String,
    settings: ContextSettings,
    certified: bool,
    tied: bool,
    budget_spent: bool,
    short: bool,
    captured_mass: f32,
    residual_mass: f32,
    members: Vec<MemberReport>,
}

#[derive(Debug, Serialize)]
struct MemberReport {
    rank: usize,
    id: String,
    score: Option<f64>,
    pagerank: f32,
    hops: Option<usize>,
    degree: usize,
}

fn show_node(
    store: &Store,
    id: &str,
    settings: &ContextSettings,
    json: bool,
) -> anyhow::Result<()> {
    let ids = store.ids()?;
    let Some(node) = ids.find(id) else {
        anyhow::bail!(
            "{}: no node has the id {id:?}; ids are those of the table that was imported",
            store.root().display()
        );
    };
    let view = AdjacencyView::new(store.adjacency()?);
    let found = context(&view, node, settings)?;
    let hops = distances(&view, &found.nodes);
    let members = found.nodes.iter().enumerate().map(|(rank, &member)| MemberReport {
        rank,
        id: ids.text(member),
        score: match settings.ranking {
            Ranking::Row => {
                let degree = view.weight_in(member);
                (degree > 0.0).then(|| f64::from(found.pagerank[rank]) / degree)
            }
            Ranking::PageRank => Some(found.pagerank[rank].into()),
        },
        pagerank: found.pagerank[rank],
        hops: hops[rank],
        degree: view.degree(member),
    });
    let report = NodeReport {
        node: id.to_owned(),
        settings: settings.clone(),
        certified: found.flags.has(Flags::CERTIFIED),
        tied: found.flags.has(Flags::TIED),
        budget_spent: found.flags.has(Flags::BUDGET),
        short: found.flags.has(Flags::SHORT),
        captured_mass: found.captured,
        residual_mass: found.residual,
        members: members.collect(),
    };
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, &report).map_err(std::io::Error::from)?;
        writeln!(out)?;
        return Ok(());
    }
    writeln!(out, "context of {id}: {} nodes", report.members.len())?;
    let proof = match (report.certified, report.tied, report.budget_spent) {
        (true, ..) => "proven",
        (_, true, _) => "proven but for ties",
        (.., true) => "stopped by the budget",
        _ if matches!(settings.method, Method::Push { .. }) => "not proven (pass --certify)",
        _ => "by whole steps over the graph",
    };
    writeln!(
        out,
        "{proof}; mass {:.4} lies in it, {:.4} is not settled\n",
        report.captured_mass, report.residual_mass
    )?;
    let width = report.members.iter().map(|m| m.id.chars().count()).max().unwrap_or(2).max(2);
    let score = if settings.ranking == Ranking::Row { "pagerank/degree" } else { "pagerank" };
    writeln!(out, "rank  {:width$}  {score:>15}  pagerank  hops  degree", "id")?;
    for member in &report.members {
        let hops = member.hops.map_or_else(|| "far".to_owned(), |hops| hops.to_string());
        let score = member.score.map_or_else(|| "-".to_owned(), |score| format!("{score:.3e}"));
        writeln!(
            out,
            "{:>4}  {:width$}  {score:>15}  {:>8.5}  {hops:>4}  {:>6}",
            member.rank, member.id, member.pagerank, member.degree
        )?;
    }
    Ok(())
}
