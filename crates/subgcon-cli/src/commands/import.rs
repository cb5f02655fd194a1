//! `subgcon import`: a graph from files into a store.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use subgcon::graph::{Duplicates, EdgeRules};
use subgcon::io::import::{GraphSage, GraphSaint, Musae, Npz, Ogb, Planetoid, Table};
use subgcon::io::store::{StoreOptions, StoreWriter};

use super::{DUPLICATES, Output, report_written, shell_word};
use crate::progress::Bars;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    format: Format,
}

/// What every format has.
#[derive(Debug, Args)]
struct Target {
    #[command(flatten)]
    store: Output,
    /// Keep arcs as they are given instead of making every edge go both ways
    #[arg(long)]
    directed: bool,
    /// Ignore edge weights
    #[arg(long)]
    unweighted: bool,
    /// Where a pair is given more than once: keep the largest weight, or add weights up. Of an
    /// edge that is given in both directions the larger of the two sums stays, unless --directed
    #[arg(long, value_name = "RULE", default_value = "largest")]
    duplicates: DuplicateRule,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DuplicateRule {
    Largest,
    Sum,
}

#[derive(Debug, Subcommand)]
enum Format {
    /// Tables of edges and nodes: CSV, TSV (also .gz), Parquet, Arrow, Feather
    Table(TableArguments),
    /// The raw citation files ind.NAME.* (Cora, Citeseer, Pubmed)
    Planetoid {
        /// The folder with the files
        #[arg(long)]
        dir: PathBuf,
        /// cora, citeseer or pubmed
        #[arg(long)]
        name: String,
        #[command(flatten)]
        target: Target,
    },
    /// A GraphSAINT folder: adj_full.npz, feats.npy, class_map.json, role.json
    Graphsaint {
        /// The folder with the files
        #[arg(long)]
        dir: PathBuf,
        #[command(flatten)]
        target: Target,
    },
    /// GraphSAGE files: PREFIX-G.json, PREFIX-feats.npy, PREFIX-class_map.json, …
    Graphsage {
        /// The part of the names before "-G.json", with its folder
        #[arg(long)]
        prefix: PathBuf,
        #[command(flatten)]
        target: Target,
    },
    /// One .npz: gnn-benchmark, heterophilous-graphs, or a SciPy sparse matrix
    Npz {
        /// The file
        file: PathBuf,
        /// Features beside a SciPy matrix: .npy, or a SciPy .npz
        #[arg(long, value_name = "FILE")]
        features: Option<PathBuf>,
        /// Labels beside a SciPy matrix: .npy with one integer a node
        #[arg(long, value_name = "FILE")]
        labels: Option<PathBuf>,
        #[command(flatten)]
        target: Target,
    },
    /// An OGB node-property folder with raw/*.csv.gz and split/
    Ogb {
        /// The dataset's folder
        #[arg(long)]
        dir: PathBuf,
        #[command(flatten)]
        target: Target,
    },
    /// A MUSAE folder: edges.csv, features.json, target.csv
    Musae {
        /// The folder with the files
        #[arg(long)]
        dir: PathBuf,
        /// The column of target.csv that holds the class
        #[arg(long, value_name = "NAME")]
        label_column: Option<String>,
        #[command(flatten)]
        target: Target,
    },
}

#[derive(Debug, Args)]
struct TableArguments {
    /// A table of edges; may be repeated
    #[arg(long, required = true, value_name = "FILE")]
    edges: Vec<PathBuf>,
    /// The table of nodes; without it the nodes are those that edges name
    #[arg(long, value_name = "FILE")]
    nodes: Option<PathBuf>,
    /// Features in a file of their own, a row a node: .npy, or a SciPy .npz
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
    /// The nodes are 0 to N - 1, whether an edge names them or not
    #[arg(long, value_name = "N", conflicts_with = "nodes")]
    node_count: Option<u64>,
    /// Column of an edge's start [usual: src, source, from, sourceNodeId, id_1]
    #[arg(long, value_name = "NAME")]
    src_column: Option<String>,
    /// Column of an edge's end [usual: dst, target, to, targetNodeId, id_2]
    #[arg(long, value_name = "NAME")]
    dst_column: Option<String>,
    /// Column of an edge's weight [usual: weight]
    #[arg(long, value_name = "NAME")]
    weight_column: Option<String>,
    /// Column of a node's id [usual: id, node_id, nodeId, nid]
    #[arg(long, value_name = "NAME", requires = "nodes")]
    id_column: Option<String>,
    /// Column of a node's class [usual: label]
    #[arg(long, value_name = "NAME", requires = "nodes")]
    label_column: Option<String>,
    /// Column of a node's split: train, validation, test [usual: split]
    #[arg(long, value_name = "NAME", requires = "nodes")]
    split_column: Option<String>,
    /// Feature columns: one list column, or numeric ones [usual: features, else every numeric column]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "nodes")]
    feature_columns: Vec<String>,
    /// Take no features from the node table
    #[arg(long, conflicts_with = "feature_columns")]
    no_features: bool,
    /// Create nodes that edges name and the node table does not
    #[arg(long, requires = "nodes")]
    create_missing: bool,
    /// Delimiter of text tables, one character, "tab" or "space" [default: by the file's name]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Text tables have no header: columns are 0, 1, …
    #[arg(long)]
    no_header: bool,
    /// Pass over lines of text tables that begin with this character
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    comment: Option<u8>,
    #[command(flatten)]
    target: Target,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        "space" => Ok(b' '),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() && !b"\"\r\n".contains(byte) => Ok(*byte),
            _ => Err("give one ASCII character, \"tab\" or \"space\"".into()),
        },
    }
}

pub(crate) fn run(arguments: &Arguments, progress: &Bars) -> anyhow::Result<()> {
    let target = match &arguments.format {
        Format::Table(table) => &table.target,
        Format::Planetoid { target, .. }
        | Format::Graphsaint { target, .. }
        | Format::Graphsage { target, .. }
        | Format::Npz { target, .. }
        | Format::Ogb { target, .. }
        | Format::Musae { target, .. } => target,
    };
    let options = StoreOptions {
        edges: EdgeRules {
            directed: target.directed,
            duplicates: match target.duplicates {
                DuplicateRule::Largest => Duplicates::Largest,
                DuplicateRule::Sum => Duplicates::Sum,
            },
        },
        unweighted: target.unweighted,
        replace: target.store.force,
    };
    let mut store = StoreWriter::create(&target.store.output, options, progress)?;
    let mut origin = match &arguments.format {
        Format::Table(table) => table.settings().import(&mut store)?,
        Format::Planetoid { dir, name, .. } => {
            Planetoid { dir: dir.clone(), name: name.clone() }.import(&mut store)?
        }
        Format::Graphsaint { dir, .. } => GraphSaint { dir: dir.clone() }.import(&mut store)?,
        Format::Graphsage { prefix, .. } => {
            GraphSage { prefix: prefix.clone() }.import(&mut store)?
        }
        Format::Npz { file, features, labels, .. } => {
            Npz { file: file.clone(), features: features.clone(), labels: labels.clone() }
                .import(&mut store)?
        }
        Format::Ogb { dir, .. } => Ogb { dir: dir.clone() }.import(&mut store)?,
        Format::Musae { dir, label_column, .. } => {
            Musae { dir: dir.clone(), label_column: label_column.clone() }.import(&mut store)?
        }
    };
    if matches!(target.duplicates, DuplicateRule::Sum) {
        origin.settings.insert(DUPLICATES.into(), "sum".into());
    }
    let manifest = store.finish(origin)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", report_written(&target.store.output, &manifest))?;
    writeln!(out, "next: subgcon info {}", shell_word(&target.store.output))?;
    Ok(())
}

impl TableArguments {
    fn settings(&self) -> Table {
        Table {
            edges: self.edges.clone(),
            nodes: self.nodes.clone(),
            features: self.features.clone(),
            node_count: self.node_count,
            source_column: self.src_column.clone(),
            target_column: self.dst_column.clone(),
            weight_column: self.weight_column.clone(),
            id_column: self.id_column.clone(),
            label_column: self.label_column.clone(),
            split_column: self.split_column.clone(),
            feature_columns: self.feature_columns.clone(),
            no_features: self.no_features,
            create_missing: self.create_missing,
            delimiter: self.delimiter,
            no_header: self.no_header,
            comment: self.comment,
        }
    }
}
