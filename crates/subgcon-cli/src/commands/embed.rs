//! `subgcon embed`: what a model makes of the nodes of a graph.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;
use subgcon::graph::Ids;
use subgcon::io::contexts::ContextTable;
use subgcon::io::embeddings::{EmbeddingFormat, EmbeddingRows, EmbeddingWriter};
use subgcon::io::model::{FeatureSchema, read_model};
use subgcon::io::scratch::Scratch;
use subgcon::io::store::Store;
use subgcon::model::{Embedder, Status};
use subgcon::progress::Progress;

use super::tell;
use super::train::features_as_they_are;
use crate::format::{counted, thousands};
use crate::progress::Bars;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The store, a folder: NAME.graph; any graph with the model's features
    store: PathBuf,
    /// The model, a folder
    #[arg(long)]
    model: PathBuf,
    /// The file to write: .parquet, .npy (with ids beside), or .txt (word2vec)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Only the nodes whose ids stand in this file, one a line, in that order
    #[arg(long, value_name = "FILE", conflicts_with = "node")]
    nodes: Option<PathBuf>,
    /// Only the node with this id; may be repeated
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    node: Vec<String>,
    /// Nodes that are embedded together; results do not depend on it
    #[arg(long, value_name = "NODES", default_value_t = 8192)]
    batch: usize,
    /// Refuse to replace a file of this name
    #[arg(long)]
    no_clobber: bool,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// `subgcon embed STORE --model MODEL -o FILE`.
    pub(crate) fn of(store: &Path, model: &Path, file: &Path) -> Arguments {
        #[derive(clap::Parser)]
        struct Plain {
            #[command(flatten)]
            arguments: Arguments,
        }
        let words: [&std::ffi::OsStr; 6] = [
            "embed".as_ref(),
            store.as_ref(),
            "--model".as_ref(),
            model.as_ref(),
            "-o".as_ref(),
            file.as_ref(),
        ];
        <Plain as clap::Parser>::parse_from(words).arguments
    }
}

/// What is told in the end; with `--json` exactly this.
#[derive(Debug, Serialize)]
struct Summary {
    output: String,
    nodes: u64,
    /// Nodes that were asked for again.
    repeats: u64,
    width: usize,
    ok: u64,
    isolated: u64,
    no_features: u64,
    short_context: u64,
    same_graph: bool,
    seconds: f64,
    nodes_per_second: f64,
}

pub(crate) fn run(arguments: &Arguments, progress: &Bars) -> anyhow::Result<()> {
    if arguments.batch == 0 {
        anyhow::bail!("--batch = 0: embed at least 1 node at a time");
    }
    if arguments.no_clobber && arguments.output.symlink_metadata().is_ok() {
        let shown = arguments.output.display();
        anyhow::bail!("{shown}: already exists; choose another name, or leave --no-clobber out");
    }
    let format = EmbeddingFormat::of_path(&arguments.output)?;
    let (model, config) = read_model(&arguments.model)?;
    let store = Store::open(&arguments.store)?;
    check_kind(arguments, &store, model.settings.features.structural)?;
    let (features, names) = features_as_they_are(&store, &model.settings)?;
    let schema = FeatureSchema { width: features.width(), names };
    config.features.check(&arguments.model, &schema)?;
    let ids = store.ids()?;
    let (nodes, repeats) = match chosen(arguments, ids)? {
        Some(nodes) => {
            let (nodes, repeats) = distinct(nodes);
            (Some(nodes), repeats)
        }
        None => (None, 0),
    };
    let same_graph = model.provenance.graph == store.manifest().fingerprint;
    if model.settings.features.structural && !same_graph {
        anyhow::bail!(
            "{}: the model learnt from positions in another graph, which mean nothing in this one; \
             train one on this graph",
            arguments.model.display()
        );
    }
    let count = nodes.as_ref().map_or(ids.len(), Vec::len);
    let width = model.width();
    // Before hours of work.
    let mut writer = EmbeddingWriter::create(
        &arguments.output,
        format,
        ids,
        width,
        count as u64,
        !arguments.no_clobber,
    )?;
    let table = ContextTable::sample(&store, &model.settings.contexts, progress)?;
    table.check_members()?;
    let started = Instant::now();
    let mut embedder = Embedder::new(&model, store.adjacency()?, &features, &table.contexts)?;
    let mut room = Scratch::zeros(embedder.room(), &arguments.output)?;
    embedder.prepare(room.values(), progress);
    let mut seen = [0u64; 4];
    progress.begin("embedding", count as u64, "nodes");
    let mut values = Vec::new();
    for first in (0..count).step_by(arguments.batch) {
        let end = (first + arguments.batch).min(count);
        let some: Vec<u32> = match &nodes {
            Some(nodes) => nodes[first..end].to_vec(),
            None => (first as u32..end as u32).collect(),
        };
        values.resize(some.len() * width, 0.0);
        embedder.rows(&some, &mut values);
        let status: Vec<Status> = some.iter().map(|&node| embedder.status(node)).collect();
        status.iter().for_each(|&status| seen[status as usize] += 1);
        let contexts = &table.contexts;
        let sizes = some.iter().map(|&node| contexts.nodes(node as usize).len() as u32);
        let mass = some.iter().map(|&node| contexts.captured[node as usize]);
        writer.write(&EmbeddingRows {
            nodes: &some,
            width,
            values: &values,
            status: &status,
            context_size: &sizes.collect::<Vec<u32>>(),
            mass: &mass.collect::<Vec<f32>>(),
        })?;
        progress.advance(some.len() as u64);
    }
    writer.finish()?;
    progress.end();
    let seconds = started.elapsed().as_secs_f64();
    let of = |status: Status| seen[status as usize];
    let summary = Summary {
        output: arguments.output.display().to_string(),
        nodes: count as u64,
        repeats,
        width,
        ok: of(Status::Ok),
        isolated: of(Status::Isolated),
        no_features: of(Status::NoFeatures),
        short_context: of(Status::ShortContext),
        same_graph,
        seconds,
        nodes_per_second: count as f64 / seconds,
    };
    tell(arguments.json, &summary, || text(&summary))
}

/// Refuses a graph with features for a model of structure, and the other way round: a model
/// cannot choose any more what it learns from.
fn check_kind(arguments: &Arguments, store: &Store, structural: bool) -> anyhow::Result<()> {
    let (model, graph) = (arguments.model.display(), store.root().display());
    match (store.features()?.is_some(), structural) {
        (true, true) => anyhow::bail!(
            "{model}: the model learnt from degrees and positions, and {graph} has features of its own; \
             train one on them (without --structural)"
        ),
        (false, false) => anyhow::bail!(
            "{graph}: the graph has no features, and the model {model} takes some; import it with those \
             that the model was trained on"
        ),
        _ => Ok(()),
    }
}

/// The nodes that were asked for; none where all are.
fn chosen(arguments: &Arguments, ids: &Ids) -> anyhow::Result<Option<Vec<u32>>> {
    let find = |id: &str, place: &str| {
        ids.find(id).with_context(|| {
            format!("{place}: no node has the id {id:?}; ids are those of the imported table")
        })
    };
    if let Some(path) = &arguments.nodes {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("{}: cannot read", path.display()))?;
        let index = lines(path, &text, ids)?;
        if index.is_empty() {
            anyhow::bail!("{}: names no node; write one id a line", path.display());
        }
        return Ok(Some(index));
    }
    if arguments.node.is_empty() {
        return Ok(None);
    }
    let found = arguments.node.iter().map(|id| find(id, "--node"));
    Ok(Some(found.collect::<anyhow::Result<_>>()?))
}

/// Each node once, where it stands first, and how many were left out: an id stands once in
/// a file of embeddings.
fn distinct(mut nodes: Vec<u32>) -> (Vec<u32>, u64) {
    let before = nodes.len();
    let mut seen = std::collections::HashSet::with_capacity(before);
    nodes.retain(|&node| seen.insert(node));
    let repeats = before - nodes.len();
    (nodes, repeats as u64)
}

fn lines(path: &Path, text: &str, ids: &Ids) -> anyhow::Result<Vec<u32>> {
    let index = ids.index().map_err(|twice| {
        anyhow::anyhow!("the graph has the id {:?} twice; import it again", twice.id)
    })?;
    let mut nodes = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let Some(node) = index.text(line.as_bytes()) else {
            anyhow::bail!(
                "{}:{}: no node has the id {line:?}; ids are those of the imported table",
                path.display(),
                at + 1
            );
        };
        nodes.push(node);
    }
    Ok(nodes)
}

fn text(summary: &Summary) -> String {
    let mut text = format!(
        "wrote {}: {}, {} columns\n",
        summary.output,
        counted(summary.nodes, "node"),
        summary.width
    );
    let kinds = [
        (summary.isolated, "isolated (their own features are all there is)"),
        (summary.no_features, "without features"),
        (summary.short_context, "with a short context (no more nodes can be reached)"),
    ];
    for (count, kind) in kinds.iter().filter(|(count, _)| *count > 0) {
        text += &format!("  {} {kind}\n", thousands(*count));
    }
    if summary.repeats > 0 {
        text += &format!("  {} left out\n", counted(summary.repeats, "repeat"));
    }
    if !summary.same_graph {
        text += "  the model was trained on another graph\n";
    }
    text += &format!(
        "{:.2} s, {} nodes/s\n",
        summary.seconds,
        thousands(summary.nodes_per_second as u64)
    );
    text
}
