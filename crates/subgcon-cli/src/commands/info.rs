//! `subgcon info`: what a store holds.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use subgcon::graph::{Components, DegreeSummary, components, degrees};
use subgcon::io::store::{Dropped, FeatureStorage, LabelKind, Manifest, Origin, SplitEntry, Store};
use subgcon::progress::Progress;

use super::{repeats_were_added, shortened, tell};
use crate::format::{bar, bytes, counted, percent, thousands};
use crate::progress::Bars;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The store, a folder: NAME.graph
    store: PathBuf,
    /// Check every checksum and invariant first
    #[arg(long)]
    verify: bool,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// Plain `subgcon info STORE`.
    pub(crate) fn of(store: &std::path::Path) -> Arguments {
        Arguments { store: store.to_path_buf(), verify: false, json: false }
    }
}

/// Everything `info` tells; with `--json` exactly this.
#[derive(Debug, Serialize)]
struct Report {
    store: String,
    nodes: u64,
    edges: u64,
    arcs: u64,
    directed: bool,
    weighted: bool,
    ids: &'static str,
    degree: DegreeSummary,
    isolated: u64,
    components: Components,
    features: Option<FeatureReport>,
    labels: Option<LabelReport>,
    splits: Vec<SplitEntry>,
    dropped: Dropped,
    origin: Origin,
    fingerprint: String,
    format_version: u32,
    size_on_disk: u64,
    verified: bool,
}

#[derive(Debug, Serialize)]
struct FeatureReport {
    width: u64,
    storage: FeatureStorage,
    nonzeros: u64,
    density: f64,
    zero_feature_nodes: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
}

#[derive(Debug, Serialize)]
struct LabelReport {
    kind: LabelKind,
    classes: u64,
    labelled: u64,
    names: Vec<String>,
    sizes: Vec<u64>,
}

pub(crate) fn run(arguments: &Arguments, progress: &Bars) -> anyhow::Result<()> {
    let store = Store::open(&arguments.store)?;
    if arguments.verify {
        store.verify(progress)?;
    }
    let report = report(&store, arguments.verify, progress)?;
    tell(arguments.json, &report, || text(&report))
}

fn report(store: &Store, verified: bool, progress: &dyn Progress) -> anyhow::Result<Report> {
    let manifest: &Manifest = store.manifest();
    let adjacency = store.adjacency()?;
    progress.begin("measuring the graph", 0, "parts");
    let degree = degrees(adjacency);
    progress.advance(1);
    let components = components(adjacency);
    progress.end();
    let features = manifest.features.as_ref().map(|entry| FeatureReport {
        width: entry.width,
        storage: entry.storage,
        nonzeros: entry.nonzeros,
        density: entry.nonzeros as f64 / (manifest.nodes as f64 * entry.width as f64),
        zero_feature_nodes: entry.zero_rows,
        names: entry.names.clone(),
    });
    let labels = manifest.labels.as_ref().map(|entry| LabelReport {
        kind: entry.kind,
        classes: entry.classes,
        labelled: entry.labelled,
        names: entry.names.clone(),
        sizes: entry.sizes.clone(),
    });
    let ids = match (manifest.ids.contiguous, manifest.ids.kind) {
        (true, _) => "0 to n - 1",
        (false, subgcon::io::store::IdKind::Integer) => "integers",
        (false, subgcon::io::store::IdKind::String) => "strings",
    };
    Ok(Report {
        store: store.root().display().to_string(),
        nodes: manifest.nodes,
        edges: manifest.edges,
        arcs: manifest.arcs,
        directed: manifest.directed,
        weighted: manifest.weighted,
        ids,
        isolated: degree.isolated,
        degree,
        components,
        features,
        labels,
        splits: manifest.splits.clone(),
        dropped: manifest.dropped.clone(),
        origin: manifest.origin.clone(),
        fingerprint: manifest.fingerprint.clone(),
        format_version: manifest.version,
        size_on_disk: manifest.arrays.values().map(|entry| entry.bytes).sum(),
        verified,
    })
}

fn text(report: &Report) -> String {
    let mut lines = Vec::new();
    let mut row = |name: &str, value: String| lines.push(format!("{name:<12}{value}"));
    row("store", format!("{} ({})", report.store, bytes(report.size_on_disk)));
    let from = match report.origin.files.len() {
        0 => report.origin.format.clone(),
        _ => format!("{} ({})", report.origin.format, shortened(&report.origin.files, 4)),
    };
    row("origin", from);
    row("nodes", format!("{}, ids {}", thousands(report.nodes), report.ids));
    let kind = match (report.directed, report.weighted) {
        (false, false) => "undirected",
        (false, true) => "undirected, weighted",
        (true, false) => "directed",
        (true, true) => "directed, weighted",
    };
    row("edges", format!("{} ({kind})", thousands(report.edges)));
    let dropped = &report.dropped;
    let loops = counted(dropped.self_loops, "self-loop");
    let repeats = counted(dropped.duplicates, "repeat");
    let zeros = thousands(dropped.zero_weights);
    match repeats_were_added(&report.origin) {
        true => {
            row("dropped", format!("{loops}, {zeros} of weight zero"));
            row("added up", repeats);
        }
        false => row("dropped", format!("{loops}, {repeats}, {zeros} of weight zero")),
    }
    if dropped.mirrored > 0 {
        row("symmetrised", format!("{} added", counted(dropped.mirrored, "reverse arc")));
    }
    row(
        "components",
        format!(
            "{}, the largest has {} ({})",
            thousands(report.components.count),
            counted(report.components.largest, "node"),
            percent(report.components.largest as f64 / report.nodes as f64)
        ),
    );
    row("isolated", counted(report.isolated, "node"));
    match &report.features {
        None => row("features", "none".into()),
        Some(features) => row(
            "features",
            format!(
                "{} ({:?}, {} non-zero), {} without any",
                thousands(features.width),
                features.storage,
                percent(features.density),
                counted(features.zero_feature_nodes, "node")
            )
            .replace("(Dense", "(dense")
            .replace("(Sparse", "(sparse"),
        ),
    }
    match &report.labels {
        None => row("labels", "none".into()),
        Some(labels) => {
            let kind = if labels.kind == LabelKind::Multi { "multi-label, " } else { "" };
            row(
                "labels",
                format!(
                    "{} classes ({kind}{} labelled)",
                    thousands(labels.classes),
                    counted(labels.labelled, "node")
                ),
            );
            let sized: Vec<String> = labels
                .names
                .iter()
                .zip(&labels.sizes)
                .map(|(name, &size)| format!("{name}: {}", thousands(size)))
                .collect();
            row("", shortened(&sized, 10));
        }
    }
    match report.splits.as_slice() {
        [] => row("splits", "none".into()),
        splits => {
            for (place, split) in splits.iter().take(4).enumerate() {
                row(
                    if place == 0 { "splits" } else { "" },
                    format!(
                        "{:?}: {} train, {} validation, {} test",
                        split.name,
                        thousands(split.train),
                        thousands(split.validation),
                        thousands(split.test)
                    ),
                );
            }
            if splits.len() > 4 {
                row("", format!("… and {} more", splits.len() - 4));
            }
        }
    }
    row("fingerprint", report.fingerprint.clone());
    if report.verified {
        row("verified", "every checksum and invariant holds".into());
    }
    let degree = &report.degree;
    let out = if report.directed { "out-degree" } else { "degree" };
    row(
        out,
        format!(
            "{} to {}, mean {:.2}, median {}",
            thousands(degree.min),
            thousands(degree.max),
            degree.mean,
            degree.median
        ),
    );
    let most = degree.histogram.iter().map(|bin| bin.nodes).max().unwrap_or(1).max(1);
    for bin in &degree.histogram {
        let range = if bin.from == bin.to {
            thousands(bin.from)
        } else {
            format!("{}-{}", thousands(bin.from), thousands(bin.to))
        };
        let share = bin.nodes as f64 / most as f64;
        lines.push(
            format!("{range:>21} {:>12} {}", thousands(bin.nodes), bar(share, 40))
                .trim_end()
                .to_owned(),
        );
    }
    lines.join("\n") + "\n"
}
