//! `subgcon generate`: synthetic graphs of any size.

use std::io::Write;

use clap::{Args, Subcommand};
use subgcon::graph::generate::{Communities, FeatureKind, PowerLaw};
use subgcon::io::store::{StoreOptions, StoreWriter};

use super::{Output, report_written, shell_word};
use crate::progress::Bars;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    model: Model,
}

#[derive(Debug, Args)]
struct Target {
    #[command(flatten)]
    store: Output,
    /// The same seed gives the same bytes
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

#[derive(Debug, Subcommand)]
enum Model {
    /// Planted communities with skewed degrees, features, labels and splits
    Communities(CommunityArguments),
    /// Skewed degrees and nothing else (R-MAT)
    Powerlaw {
        /// Number of nodes
        #[arg(long, default_value_t = 100_000)]
        nodes: u64,
        /// Edges to draw; repeated ones and self-loops are dropped and counted
        #[arg(long, default_value_t = 1_000_000)]
        edges: u64,
        /// Shares of the four quadrants of the adjacency matrix, the largest first
        #[arg(long, value_name = "A,B,C,D", value_parser = quadrants,
              default_value = "0.57,0.19,0.19,0.05")]
        quadrants: Quadrants,
        #[command(flatten)]
        target: Target,
    },
}

/// Four shares in one argument.
#[derive(Debug, Clone, Copy)]
struct Quadrants([f64; 4]);

fn quadrants(text: &str) -> Result<Quadrants, String> {
    let shares: Result<Vec<f64>, _> = text.split(',').map(|share| share.trim().parse()).collect();
    let shares = shares.ok().and_then(|shares| shares.try_into().ok());
    shares.map(Quadrants).ok_or_else(|| "give four numbers: A,B,C,D".into())
}

#[derive(Debug, Args)]
struct CommunityArguments {
    /// Number of nodes
    #[arg(long, default_value_t = 3_000)]
    nodes: u64,
    /// Edges to draw; repeated ones and self-loops are dropped and counted
    #[arg(long, default_value_t = 12_000)]
    edges: u64,
    /// Number of communities, which are the classes
    #[arg(long, default_value_t = 6)]
    classes: u64,
    /// Share of edges that leave their community, 0 to 1
    #[arg(long, default_value_t = 0.25)]
    mixing: f64,
    /// Exponent of the degree distribution, above 2; "inf" gives equal expected degrees
    #[arg(long, default_value_t = 2.5)]
    degree_exponent: f64,
    /// Number of feature columns; 0 for none
    #[arg(long, default_value_t = 500)]
    feature_width: usize,
    /// Dense features (a Gaussian around each class) instead of sparse ones (words)
    #[arg(long)]
    dense: bool,
    /// Words of a node, in the mean; for sparse features
    #[arg(long, default_value_t = 15)]
    features_per_node: usize,
    /// Sparse: share of words that say nothing of the class; dense: deviation around the class
    #[arg(long, default_value_t = 0.6)]
    feature_noise: f64,
    /// Number of random splits
    #[arg(long, default_value_t = 1)]
    splits: usize,
    /// Training nodes of each class
    #[arg(long, default_value_t = 20)]
    train_per_class: u64,
    /// Validation nodes of each class; the others are for test
    #[arg(long, default_value_t = 30)]
    validation_per_class: u64,
    #[command(flatten)]
    target: Target,
}

pub(crate) fn run(arguments: &Arguments, progress: &Bars) -> anyhow::Result<()> {
    let target = match &arguments.model {
        Model::Communities(communities) => &communities.target,
        Model::Powerlaw { target, .. } => target,
    };
    let options = StoreOptions { replace: target.store.force, ..StoreOptions::default() };
    let create = || StoreWriter::create(&target.store.output, options, progress);
    let manifest = match &arguments.model {
        Model::Communities(communities) => {
            let settings = communities.settings();
            settings.validate()?;
            let mut store = create()?;
            let origin = settings.store(&mut store)?;
            store.finish(origin)?
        }
        Model::Powerlaw { nodes, edges, quadrants, .. } => {
            let settings = PowerLaw {
                nodes: *nodes,
                edges: *edges,
                quadrants: quadrants.0,
                seed: target.seed,
            };
            settings.validate()?;
            let mut store = create()?;
            let origin = settings.store(&mut store)?;
            store.finish(origin)?
        }
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", report_written(&target.store.output, &manifest))?;
    writeln!(out, "next: subgcon info {}", shell_word(&target.store.output))?;
    Ok(())
}

impl CommunityArguments {
    fn settings(&self) -> Communities {
        let (width, noise) = (self.feature_width, self.feature_noise);
        Communities {
            nodes: self.nodes,
            edges: self.edges,
            classes: self.classes,
            mixing: self.mixing,
            degree_exponent: self.degree_exponent,
            features: match (width, self.dense) {
                (0, _) => FeatureKind::None,
                (_, true) => FeatureKind::Dense { width, noise },
                (_, false) => {
                    FeatureKind::Sparse { width, per_node: self.features_per_node, noise }
                }
            },
            splits: self.splits,
            train_per_class: self.train_per_class,
            validation_per_class: self.validation_per_class,
            seed: self.target.seed,
        }
    }
}
