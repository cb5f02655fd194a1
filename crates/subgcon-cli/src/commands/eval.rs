//! `subgcon eval`: how good embeddings are, by the labels of a store.

mod text;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde::{Serialize, Serializer};
use subgcon::error::shown;
use subgcon::eval::{
    GroupReport, NeighbourReport, ProbeReport, ProbeSettings, Sizes, group_probe, neighbour_probe,
    probe, random_splits, sim_at, unlabelled,
};
use subgcon::graph::{Labels, Split};
use subgcon::io::embeddings::read_embeddings;
use subgcon::io::store::Store;
use subgcon::math::Matrix;
use subgcon::progress::Progress as _;

use super::tell;
use crate::format::counted;
use crate::progress::Bars;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The embeddings: .parquet, .npy (with its ids beside), or .txt (word2vec)
    embeddings: PathBuf,
    /// The store with the labels, a folder: NAME.graph
    #[arg(long, value_name = "NAME.graph")]
    graph: PathBuf,
    #[command(flatten)]
    splits: SplitArguments,
    /// Of random splits and of k-means
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Divide each embedding by its length before the linear probe
    #[arg(long)]
    normalise: bool,
    /// Bring columns to mean 0 and deviation 1 over the training nodes before the linear probe
    #[arg(long)]
    standardise: bool,
    #[command(flatten)]
    strengths: Strengths,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Values of C.
#[derive(Debug, Args)]
pub(super) struct Strengths {
    /// The values of C to choose from on the validation nodes (0.1,1,10), or the only one, instead of 0.001, 0.00316, …
    /// 1000 (and above, while that helps)
    ///
    /// Chosen is the one that is least surprised by the classes of validation nodes: the mean of -ln of
    /// their probabilities, scores scaled so that it is least. It is steadier than their accuracy.
    /// Each is fitted starting from the one before. Where training nodes are few and C is large, more than
    /// one fit meets the tolerance (1e-4, as scikit-learn's), and a C by itself may have other figures
    /// than among others.
    #[arg(long = "strength", value_name = "C", value_delimiter = ',')]
    given: Vec<f64>,
}

impl Strengths {
    /// Those that were given, from the smallest up.
    pub(super) fn given(&self) -> Vec<f64> {
        let mut given = self.given.clone();
        given.sort_by(f64::total_cmp);
        given.dedup();
        given
    }

    /// The default with these values, if any were given.
    pub(super) fn settings(&self) -> anyhow::Result<ProbeSettings> {
        let settings = match self.given.is_empty() {
            true => ProbeSettings::default(),
            false => ProbeSettings::default().with_grid(self.given()),
        };
        settings.validate().context("--strength")?;
        Ok(settings)
    }
}

/// On which splits embeddings are measured.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct SplitArguments {
    /// So many random splits, instead of those of the store; 10 for a store without any, and where
    /// sizes are given
    #[arg(long, value_name = "SPLITS", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    random: Option<u32>,
    /// Nodes of each class to train on, in a random split [default: 20]
    #[arg(long, value_name = "NODES")]
    train_per_class: Option<usize>,
    /// Nodes of each class to choose C by, in a random split; the others are for the test [default:
    /// 30]
    #[arg(long, value_name = "NODES")]
    validation_per_class: Option<usize>,
    /// Training/validation/test nodes of a random split, whatever their class: shares of all nodes
    /// with a label (of all, where nodes have several classes), numbers, or `rest` (0.6/0.2/0.2, 140/500/rest). Every class has a training node
    #[arg(long, value_name = "A/B/C", conflicts_with_all = ["train_per_class", "validation_per_class"])]
    sizes: Option<Sizes>,
}

impl SplitArguments {
    /// Nothing asked for.
    pub(super) const OWN: SplitArguments = SplitArguments {
        random: None,
        train_per_class: None,
        validation_per_class: None,
        sizes: None,
    };

    /// The store's own splits, or random ones.
    pub(super) fn of(
        &self,
        store: &Store,
        labels: &Labels,
        seed: u64,
    ) -> anyhow::Result<Vec<Split>> {
        let SplitArguments { random, train_per_class, validation_per_class, sizes } = *self;
        let per_class = train_per_class.or(validation_per_class);
        let asked = random.is_some() || per_class.is_some() || sizes.is_some();
        let own = store.splits()?;
        if !asked && !own.is_empty() {
            return labelled(store, labels, own);
        }
        let sizes = sizes.unwrap_or(Sizes::PerClass {
            train: train_per_class.unwrap_or(20),
            validation: validation_per_class.unwrap_or(30),
        });
        let drawn = random_splits(labels, sizes, seed, random.unwrap_or(10) as usize);
        drawn.with_context(|| match own.is_empty() && !asked {
            true => format!("{}: the graph has no split", store.root().display()),
            false => "random splits".into(),
        })
    }
}

/// Splits whose nodes all have labels. The library would refuse others, too, but does not know what
/// the user calls a node.
fn labelled(store: &Store, labels: &Labels, splits: Vec<Split>) -> anyhow::Result<Vec<Split>> {
    let found = splits.iter().find_map(|split| Some((split, unlabelled(labels, split)?)));
    let Some((split, (node, role))) = found else { return Ok(splits) };
    anyhow::bail!(
        "{}: split {}: node {} is a {} node and has no label; label it, or take it out of the split",
        store.root().display(),
        shown(&split.name),
        shown(&store.ids()?.text(node)),
        role.name()
    )
}

/// What is told; with `--json` exactly this.
#[derive(Debug, Serialize)]
struct Summary {
    embeddings: String,
    graph: String,
    nodes: usize,
    width: usize,
    metric: &'static str,
    test_mean: f64,
    /// Over splits; none of a single one.
    test_std: Option<f64>,
    validation_mean: Option<f64>,
    /// In the order in which they were given or drawn.
    #[serde(serialize_with = "by_name")]
    splits: Vec<(String, ProbeReport)>,
    /// Of the first split.
    neighbours: Option<NeighbourReport>,
    groups: Option<GroupReport>,
    /// Nodes whose nearest were looked for: some of the labelled ones where there are very many.
    sim_nodes: Option<usize>,
    sim_at_5: Option<f64>,
    sim_at_10: Option<f64>,
}

/// As an object that keeps the order.
fn by_name<S: Serializer>(splits: &[(String, ProbeReport)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(splits.iter().map(|(name, report)| (name, report)))
}

pub(crate) fn run(arguments: &Arguments, progress: &Bars) -> anyhow::Result<()> {
    let settings = ProbeSettings {
        normalise: arguments.normalise,
        standardise: arguments.standardise,
        ..arguments.strengths.settings()?
    };
    let store = Store::open(&arguments.graph)?;
    let labels = labels(&store)?;
    let embeddings = rows_of(&arguments.embeddings, &store)?;
    let splits = arguments.splits.of(&store, labels, arguments.seed)?;
    let mut reports = Vec::new();
    progress.begin("probing", splits.len() as u64, "splits");
    for split in &splits {
        reports.push((split.name.clone(), probe(&embeddings, labels, split, &settings)?));
        progress.advance(1);
    }
    progress.end();
    let test: Vec<f64> = reports.iter().map(|(_, report)| figure(labels, &report.test)).collect();
    let validation: Option<Vec<f64>> = reports
        .iter()
        .map(|(_, report)| report.validation.as_ref().map(|figures| figure(labels, figures)))
        .collect();
    let single = matches!(labels, Labels::Single { .. });
    let sim = if single { Some(sim_at(&embeddings, labels, &[5, 10])?) } else { None };
    let summary = Summary {
        embeddings: arguments.embeddings.display().to_string(),
        graph: store.root().display().to_string(),
        nodes: embeddings.rows,
        width: embeddings.width,
        metric: metric(labels),
        test_mean: mean(&test),
        test_std: (test.len() > 1).then(|| deviation(&test)),
        validation_mean: validation.map(|all| mean(&all)),
        neighbours: match (single, splits.first()) {
            (true, Some(split)) => {
                let [train, ..] = split.counts();
                Some(neighbour_probe(&embeddings, labels, split, train.min(10))?)
            }
            _ => None,
        },
        groups: if single { group_probe(embeddings, labels, arguments.seed)? } else { None },
        sim_nodes: sim.as_ref().map(|sim| sim.nodes),
        sim_at_5: sim.as_ref().and_then(|sim| sim.at[0]),
        sim_at_10: sim.as_ref().and_then(|sim| sim.at[1]),
        splits: reports,
    };
    tell(arguments.json, &summary, || {
        text::text(&summary, labels, &settings, !arguments.strengths.given.is_empty())
    })
}

/// The labels of a store, or what to do about there being none.
pub(super) fn labels(store: &Store) -> anyhow::Result<&Labels> {
    store.labels()?.with_context(|| {
        format!(
            "{}: the graph has no labels to measure by; import it with a label column",
            store.root().display()
        )
    })
}

/// What a probe is judged by: micro-F1 where a node may have several classes.
pub(super) fn metric(labels: &Labels) -> &'static str {
    match labels {
        Labels::Single { .. } => "accuracy",
        _ => "micro_f1",
    }
}

/// The same for people.
pub(super) fn called(metric: &str) -> &str {
    if metric == "micro_f1" { "micro-F1" } else { metric }
}

pub(super) fn figure(labels: &Labels, figures: &subgcon::eval::Figures) -> f64 {
    match metric(labels) {
        "accuracy" => figures.accuracy,
        _ => figures.micro_f1,
    }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Standard deviation of a sample.
pub(super) fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    let sum: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    (sum / (values.len() - 1) as f64).sqrt()
}

/// Rows of a file in the order of a store's nodes. All of them have to be there, once.
pub(super) fn rows_of(file: &Path, store: &Store) -> anyhow::Result<Matrix<f32>> {
    let read = read_embeddings(file)?;
    let ids = store.ids()?;
    let (file, graph) = (file.display(), store.root().display());
    let index = ids.index().map_err(|twice| {
        anyhow::anyhow!("{graph}: has the id {:?} twice; import it again", twice.id)
    })?;
    let width = read.matrix.width;
    let mut ordered = Matrix::zeros(ids.len(), width);
    let mut seen = vec![false; ids.len()];
    for row in 0..read.matrix.rows {
        let id = read.ids.text(row as u32);
        let Some(node) = index.text(id.as_bytes()) else {
            anyhow::bail!(
                "{file}: has a row for {id:?}, which is no node of {graph}; embed that graph"
            );
        };
        if seen[node as usize] {
            anyhow::bail!("{file}: has two rows for {id:?}; keep one of them");
        }
        ordered.row_mut(node as usize).copy_from_slice(read.matrix.row(row));
        seen[node as usize] = true;
    }
    if let Some(node) = seen.iter().position(|&seen| !seen) {
        let missing = seen.iter().filter(|&&seen| !seen).count();
        anyhow::bail!(
            "{file}: has no row for {} of {graph}, the first of them {:?}; embed all nodes",
            counted(missing as u64, "node"),
            ids.text(node as u32)
        );
    }
    Ok(ordered)
}
