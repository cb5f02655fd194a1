//! `subgcon links`: do embeddings know of edges that training never saw?

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde::Serialize;
use subgcon::config::Settings;
use subgcon::context::{AdjacencyView, Contexts};
use subgcon::eval::{LinkProbe, link_probe, split_edges};
use subgcon::io::store::Store;
use subgcon::math::Matrix;
use subgcon::progress::{Progress, Silent};

use super::eval::{deviation, mean};
use super::figures::{Seconds, peak_memory, standard_error};
use super::runs::{Ground, each_free_row, learnt};
use super::seeds::last_seed;
use super::tell;
use super::train::{Chosen, all_zero, features};
use crate::format::{counted, thousands};
use crate::progress::Bars;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The store, a folder: NAME.graph
    store: PathBuf,
    /// Runs, each with edges of its own held out and a seed of its own
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// Share of the edges that are held out for the test
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    test: f64,
    /// Share of the edges that are held out for choosing how pairs are scored
    #[arg(long, value_name = "SHARE", default_value_t = 0.05)]
    validation: f64,
    /// Leave the rows out that cost nothing
    #[arg(long)]
    no_baselines: bool,
    #[command(flatten)]
    chosen: Chosen,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// What is told; with `--json` exactly this.
#[derive(Debug, Serialize)]
struct Summary {
    dataset: String,
    preset: String,
    seeds: u64,
    edges: u64,
    /// Held-out edges of a run.
    test_edges: usize,
    validation_edges: usize,
    #[serde(flatten)]
    row: Row,
    peak_rss_bytes: Option<u64>,
    baselines: BTreeMap<String, Row>,
}

/// One kind of embedding; means over runs.
#[derive(Debug, Serialize)]
struct Row {
    auc_mean: f64,
    /// Of one run there is none.
    auc_std: Option<f64>,
    average_precision_mean: f64,
    hits_at_10: f64,
    hits_at_50: f64,
    hits_at_100: f64,
    mrr: f64,
    validation_auc_mean: f64,
    width: usize,
    /// How pairs are scored, by run.
    scores: Vec<String>,
    seconds: Seconds,
    /// What the learnt row's AUC has more than this one's, run by run.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference_mean: Option<f64>,
    /// Standard error over runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference_error: Option<f64>,
}

/// What one run found of one kind of embedding.
struct Found {
    probe: LinkProbe,
    width: usize,
    seconds: Seconds,
}

impl Row {
    fn of(found: &[Found], learnt: Option<&[Found]>) -> Row {
        let each = |of: &dyn Fn(&Found) -> f64| found.iter().map(of).collect::<Vec<f64>>();
        let mean_of = |of: &dyn Fn(&Found) -> f64| mean(&each(of));
        let auc = each(&|found| found.probe.test.auc);
        let more: Option<Vec<f64>> = learnt.map(|learnt| {
            let pairs = learnt.iter().zip(&auc);
            pairs.map(|(learnt, auc)| learnt.probe.test.auc - auc).collect()
        });
        Row {
            auc_mean: mean(&auc),
            auc_std: (auc.len() > 1).then(|| deviation(&auc)),
            average_precision_mean: mean_of(&|found| found.probe.test.average_precision),
            hits_at_10: mean_of(&|found| found.probe.test.hits[0]),
            hits_at_50: mean_of(&|found| found.probe.test.hits[1]),
            hits_at_100: mean_of(&|found| found.probe.test.hits[2]),
            mrr: mean_of(&|found| found.probe.test.mrr),
            validation_auc_mean: mean_of(&|found| found.probe.validation.auc),
            width: found.first().map_or(0, |found| found.width),
            scores: found.iter().map(|found| found.probe.score.clone()).collect(),
            seconds: Seconds {
                contexts: mean_of(&|found| found.seconds.contexts),
                train: mean_of(&|found| found.seconds.train),
                embed: mean_of(&|found| found.seconds.embed),
                probe: mean_of(&|found| found.seconds.probe),
            },
            difference_mean: more.as_ref().map(|more| mean(more)),
            difference_error: more.filter(|more| more.len() > 1).map(|more| standard_error(&more)),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, progress: &Bars) -> anyhow::Result<()> {
    let settings = arguments.chosen.settings()?;
    last_seed(&settings, arguments.seeds)?;
    let store = Store::open(&arguments.store)?;
    let whole = store.adjacency()?;
    // Features made from the structure would know of held-out edges.
    if settings.features.structural {
        anyhow::bail!(
            "--structural: features made from the whole graph know of edges that are held out; use a \
             graph with features of its own"
        );
    }
    let shown = store.root().display();
    if store.features()?.is_none() || all_zero(&store) {
        anyhow::bail!(
            "{shown}: {}, and those that are made from structure know of edges that are held out; import \
             it with a node table that has numeric columns",
            if all_zero(&store) { "all features are zero" } else { "the graph has no features" }
        );
    }
    let (features, _) = features(&store, &settings)?;
    let mut learnt_rows = Vec::new();
    let mut free: BTreeMap<String, Vec<Found>> = BTreeMap::new();
    let (mut test_edges, mut validation_edges, mut peak) = (0, 0, None);
    progress.begin("links", arguments.seeds, "runs");
    for seed in 0..arguments.seeds {
        let settings = Settings { seed: settings.seed + seed, ..settings.clone() };
        let split = split_edges(whole, arguments.validation, arguments.test, settings.seed);
        // The library does not know which graph it is.
        let split = split.map_err(|error| match error {
            subgcon::Error::Input { problem, remedy, .. } => {
                anyhow::anyhow!("{shown}: {problem}; {remedy}")
            }
            error => error.into(),
        })?;
        (test_edges, validation_edges) = (split.test.edges.len(), split.validation.edges.len());
        let found = |embeddings: &Matrix<f32>, mut seconds: Seconds| {
            let started = Instant::now();
            let probe = link_probe(embeddings, &split)?;
            seconds.probe = started.elapsed().as_secs_f64();
            anyhow::Ok(Found { probe, width: embeddings.width, seconds })
        };
        // From here on nothing sees the whole graph, and no contexts of an earlier run.
        let started = Instant::now();
        let view = AdjacencyView::new(&split.adjacency);
        let contexts = Contexts::sample(&view, &settings.contexts, &Silent)?;
        let ground = Ground {
            adjacency: &split.adjacency,
            features: &features,
            contexts: &contexts,
            seconds: started.elapsed().as_secs_f64(),
        };
        let (transform, fitting) = ground.transform(&settings)?;
        let (embeddings, model, train, embed) = learnt(&settings, &transform, ground)?;
        let train = train + fitting;
        let seconds = Seconds { contexts: ground.seconds, train, embed, ..Seconds::default() };
        learnt_rows.push(found(&embeddings, seconds)?);
        peak = peak.or_else(peak_memory);
        if !arguments.no_baselines {
            each_free_row(&model, ground, |row| {
                let started = Instant::now();
                let rows = row.rows();
                let embed = row.seconds + started.elapsed().as_secs_f64();
                let found = found(&rows, Seconds { embed, ..Seconds::default() })?;
                free.entry(row.name.clone()).or_default().push(found);
                Ok(())
            })?;
        }
        progress.advance(1);
    }
    progress.end();
    let baselines =
        free.iter().map(|(name, found)| (name.clone(), Row::of(found, Some(&learnt_rows))));
    let summary = Summary {
        dataset: store.root().file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        preset: arguments.chosen.preset_name(),
        seeds: arguments.seeds,
        edges: whole.edges(),
        test_edges,
        validation_edges,
        row: Row::of(&learnt_rows, None),
        peak_rss_bytes: peak,
        baselines: baselines.collect(),
    };
    tell(arguments.json, &summary, || text(&summary))
}

fn text(summary: &Summary) -> String {
    let mut text = format!(
        "{}, preset {}, {}: of {} {} are held out for the test and {} for choosing the score\n\n",
        summary.dataset,
        summary.preset,
        counted(summary.seeds, "run"),
        counted(summary.edges, "edge"),
        thousands(summary.test_edges as u64),
        thousands(summary.validation_edges as u64)
    );
    text += &format!(
        "{:<40}{:>14}{:>8}{:>9}{:>9}{:>10}{:>8}{:>18}  score\n",
        "", "AUC %", "AP %", "hits@10", "hits@50", "hits@100", "MRR", "learnt has more"
    );
    let hits = |share: f64, k: usize| match summary.test_edges < k {
        true => "–".into(),
        false => format!("{share:.4}"),
    };
    let mut line = |name: &str, row: &Row| {
        let spread = row.auc_std.map_or_else(String::new, |std| format!(" ± {:.2}", 100.0 * std));
        let auc = format!("{:.2}{spread}", 100.0 * row.auc_mean);
        let scores: Vec<&str> =
            row.scores.iter().map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect();
        let more = row.difference_mean.map_or_else(String::new, |more| {
            let error = row.difference_error;
            let error = error.map_or_else(String::new, |error| format!(" ± {:.2}", 100.0 * error));
            format!("{:+.2}{error}", 100.0 * more)
        });
        text += &format!(
            "{name:<40}{auc:>14}{:>8.2}{:>9}{:>9}{:>10}{:>8.4}{more:>18}  {}\n",
            100.0 * row.average_precision_mean,
            hits(row.hits_at_10, 10),
            hits(row.hits_at_50, 50),
            hits(row.hits_at_100, 100),
            row.mrr,
            scores.join(", ")
        );
    };
    line("learnt", &summary.row);
    let mut free: Vec<(&String, &Row)> = summary.baselines.iter().collect();
    free.sort_by(|a, b| b.1.validation_auc_mean.total_cmp(&a.1.validation_auc_mean));
    free.iter().for_each(|(name, row)| line(name, row));
    text += "\n";
    if !free.is_empty() {
        text += "rows that cost nothing are in the order of their AUC on the validation edges\n";
    }
    if summary.test_edges < 100 {
        text += "–: beside fewer other pairs every edge is a hit\n";
    }
    text + &summary.row.seconds.text("scores", summary.peak_rss_bytes)
}
