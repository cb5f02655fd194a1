//! `subgcon benchmark`: contexts, training, embedding and probe for each seed, beside
//! the rows that cost nothing.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde::Serialize;
use subgcon::config::{
    BlockSettings, FeatureSettings, ProjectionSettings, RowScale, Settings, Source,
};
use subgcon::eval::{ProbeSettings, probe};
use subgcon::graph::{Adjacency, Features, Labels, Smoother, Smoothing, Split};
use subgcon::io::contexts::ContextTable;
use subgcon::io::store::Store;
use subgcon::math::Matrix;
use subgcon::model::{Embedder, Model};
use subgcon::progress::{Progress, Silent};
use subgcon::train::{Material, Trained, Trainer};
use subgcon::transform::Transform;

use super::eval::{deviation, figure, labels, mean, metric, splits};
use super::train::{Chosen, features};
use crate::format::{bytes, percent};
use crate::progress::Bars;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The store, a folder: NAME.graph, with labels
    store: PathBuf,
    /// Runs, with the seeds S, S + 1, … (S = 0, or what --seed says)
    #[arg(long, default_value_t = 20)]
    seeds: u64,
    /// What chooses the step whose parameters are kept
    #[arg(long, default_value = "settings")]
    select: Select,
    /// Steps between two candidates, with --select validation
    #[arg(long, value_name = "STEPS", default_value_t = 5)]
    select_every: u64,
    /// Leave the rows out that cost nothing
    #[arg(long)]
    no_baselines: bool,
    #[command(flatten)]
    chosen: Chosen,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum Select {
    /// Whatever the settings say, without labels
    Settings,
    /// Accuracy on the validation nodes, as the paper does: uses labels
    Validation,
}

/// What is told; with `--json` exactly this.
#[derive(Debug, Serialize)]
struct Summary {
    dataset: String,
    preset: String,
    seeds: u64,
    select: &'static str,
    metric: &'static str,
    splits: usize,
    #[serde(flatten)]
    row: Row,
    peak_rss_bytes: Option<u64>,
    baselines: BTreeMap<String, Row>,
}

/// One kind of embedding.
#[derive(Debug, Serialize)]
struct Row {
    accuracy_mean: f64,
    accuracy_std: f64,
    /// Half of the 95 % interval of the mean.
    accuracy_interval: f64,
    validation_mean: f64,
    width: usize,
    /// By run and split.
    c: Vec<f64>,
    /// Steps that were kept, by run.
    steps: Vec<u64>,
    seconds: Seconds,
}

/// Means over runs.
#[derive(Debug, Default, Clone, Copy, Serialize)]
struct Seconds {
    contexts: f64,
    train: f64,
    embed: f64,
    probe: f64,
}

/// What every row is measured by.
struct Measure<'a> {
    labels: &'a Labels,
    splits: Vec<Split>,
    settings: ProbeSettings,
}

/// Figures of one run.
struct Run {
    test: Vec<f64>,
    validation: Vec<f64>,
    c: Vec<f64>,
    step: u64,
    width: usize,
    seconds: Seconds,
}

impl Measure<'_> {
    fn run(
        &self,
        embeddings: &Matrix<f32>,
        step: u64,
        mut seconds: Seconds,
    ) -> anyhow::Result<Run> {
        let started = Instant::now();
        let mut run = Run {
            test: Vec::new(),
            validation: Vec::new(),
            c: Vec::new(),
            step,
            width: embeddings.width,
            seconds,
        };
        for split in &self.splits {
            let report = probe(embeddings, self.labels, split, &self.settings)?;
            run.test.push(figure(self.labels, &report.test));
            let validation = report.validation.as_ref();
            run.validation.push(validation.map_or(0.0, |figures| figure(self.labels, figures)));
            run.c.push(report.c);
        }
        seconds.probe += started.elapsed().as_secs_f64();
        run.seconds = seconds;
        Ok(run)
    }
}

impl Row {
    fn of(runs: &[Run]) -> Row {
        // Splits of one run are not independent of each other: a run is one sample, unless
        // it is the only one.
        let by_run: Vec<f64> = match runs {
            [only] => only.test.clone(),
            runs => runs.iter().map(|run| mean(&run.test)).collect(),
        };
        let of = |take: fn(&Seconds) -> f64| {
            mean(&runs.iter().map(|run| take(&run.seconds)).collect::<Vec<f64>>())
        };
        Row {
            accuracy_mean: mean(&by_run),
            accuracy_std: deviation(&by_run),
            accuracy_interval: 1.96 * deviation(&by_run) / (by_run.len() as f64).sqrt(),
            validation_mean: mean(
                &runs.iter().map(|run| mean(&run.validation)).collect::<Vec<_>>(),
            ),
            width: runs.first().map_or(0, |run| run.width),
            c: runs.iter().flat_map(|run| run.c.clone()).collect(),
            steps: runs.iter().map(|run| run.step).collect(),
            seconds: Seconds {
                contexts: of(|s| s.contexts),
                train: of(|s| s.train),
                embed: of(|s| s.embed),
                probe: of(|s| s.probe),
            },
        }
    }
}

pub(crate) fn run(arguments: &Arguments, progress: &Bars) -> anyhow::Result<()> {
    if arguments.seeds == 0 {
        anyhow::bail!("--seeds = 0: run at least one");
    }
    let settings = arguments.chosen.settings()?;
    let store = Store::open(&arguments.store)?;
    let labels = labels(&store)?;
    let measure = Measure {
        labels,
        splits: splits(&store, labels, 0)?,
        settings: ProbeSettings { grid: ProbeSettings::half_decades(), ..ProbeSettings::default() },
    };
    let (features, _) = features(&store, &settings)?;
    let adjacency = store.adjacency()?;
    let started = Instant::now();
    let table = ContextTable::sample(&store, &settings.contexts, progress)?;
    table.check_members()?;
    let contexts = started.elapsed().as_secs_f64();
    progress.begin("benchmark", arguments.seeds, "runs");
    let mut runs = Vec::new();
    for seed in 0..arguments.seeds {
        let settings = Settings { seed: settings.seed + seed, ..settings.clone() };
        runs.push(learn(arguments, &settings, adjacency, &features, &table, &measure, contexts)?);
        progress.advance(1);
        progress.note(&percent(mean(&runs.iter().map(|run| mean(&run.test)).collect::<Vec<_>>())));
    }
    progress.end();
    let mut baselines = BTreeMap::new();
    if !arguments.no_baselines {
        let width = runs.first().map_or(256, |run| run.width);
        for (name, row) in free_rows(adjacency, &features, width, &measure)? {
            baselines.insert(name, row);
        }
        let learnt = |block: &BlockSettings| block.source == Source::Encoder;
        if settings.output.iter().any(learnt) {
            let run = untrained_row(&settings, adjacency, &features, &table, &measure, contexts)?;
            baselines.insert("untrained encoder".into(), Row::of(&[run]));
        }
    }
    let summary = Summary {
        dataset: arguments.store.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        preset: arguments.chosen.preset_name(),
        seeds: arguments.seeds,
        select: match arguments.select {
            Select::Settings => "settings",
            Select::Validation => "validation",
        },
        metric: metric(labels),
        splits: measure.splits.len(),
        row: Row::of(&runs),
        peak_rss_bytes: peak_memory(),
        baselines,
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &summary).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", text(&summary))?;
    }
    Ok(())
}

/// One seed.
fn learn(
    arguments: &Arguments,
    settings: &Settings,
    adjacency: &Adjacency,
    features: &Features,
    table: &ContextTable,
    measure: &Measure<'_>,
    contexts: f64,
) -> anyhow::Result<Run> {
    let started = Instant::now();
    let transform =
        Transform::fit(&settings.features, features, adjacency, settings.seed, &Silent)?;
    let material =
        Material { adjacency, features, contexts: &table.contexts, transform: &transform };
    let mut trainer = Trainer::new(settings, material)?;
    let mut best: Option<Run> = None;
    while let Some(report) = trainer.advance()? {
        let last = report.step == settings.training.steps;
        let due = report.step.is_multiple_of(arguments.select_every.max(1)) || last;
        if arguments.select == Select::Validation && due {
            let train = started.elapsed().as_secs_f64();
            let state = trainer.state();
            let encoder = state.average.unwrap_or(state.encoder);
            let trained = Trained { encoder, step: report.step, looks: Vec::new() };
            let seconds = Seconds { contexts, train, ..Seconds::default() };
            let run = embed(settings, trained, material, measure, seconds)?;
            if best.as_ref().is_none_or(|best| mean(&run.validation) > mean(&best.validation)) {
                best = Some(run);
            }
        }
    }
    let seconds =
        Seconds { contexts, train: started.elapsed().as_secs_f64(), ..Seconds::default() };
    match best {
        Some(best) => Ok(best),
        None => embed(settings, trainer.finish()?, material, measure, seconds),
    }
}

fn untrained_row(
    settings: &Settings,
    adjacency: &Adjacency,
    features: &Features,
    table: &ContextTable,
    measure: &Measure<'_>,
    contexts: f64,
) -> anyhow::Result<Run> {
    let mut settings = settings.clone();
    // The learnt block alone: features beside it are a row of their own.
    settings.output.retain(|block| block.source == Source::Encoder);
    let transform = Transform::fit(&settings.features, features, adjacency, 0, &Silent)?;
    let material =
        Material { adjacency, features, contexts: &table.contexts, transform: &transform };
    let trained = Trainer::new(&settings, material)?.finish()?;
    let seconds = Seconds { contexts, ..Seconds::default() };
    embed(&settings, trained, material, measure, seconds)
}

/// Embeds all nodes and probes them.
fn embed(
    settings: &Settings,
    trained: Trained,
    material: Material<'_>,
    measure: &Measure<'_>,
    mut seconds: Seconds,
) -> anyhow::Result<Run> {
    let started = Instant::now();
    let step = trained.step;
    let model = Model::new(settings, trained, material, "")?;
    let Material { adjacency, features, contexts, .. } = material;
    let mut embedder = Embedder::new(&model, adjacency, features, contexts)?;
    let mut room = vec![0.0; embedder.room()];
    embedder.smooth(&mut room, &Silent)?;
    let nodes: Vec<u32> = (0..adjacency.nodes() as u32).collect();
    let mut embeddings = Matrix::zeros(nodes.len(), model.width());
    embedder.rows(&nodes, &mut embeddings.values);
    seconds.embed = started.elapsed().as_secs_f64();
    measure.run(&embeddings, step, seconds)
}

/// Beyond this, features at full width are not smoothed.
const MOST_NUMBERS: usize = 1 << 28;

/// Features, smoothed in the usual ways, at full width and projected.
fn free_rows(
    adjacency: &Adjacency,
    features: &Features,
    width: usize,
    measure: &Measure<'_>,
) -> anyhow::Result<Vec<(String, Row)>> {
    let nodes: Vec<u32> = (0..adjacency.nodes() as u32).collect();
    let smoother = Smoother::new(adjacency);
    let scaled = FeatureSettings { rows: RowScale::Norm(1.0), ..FeatureSettings::default() };
    let kinds = [
        ("raw features", None),
        ("SGC features", Some(Smoothing::Powers { steps: 2, weight: 0.0 })),
        ("S2GC features", Some(Smoothing::Powers { steps: 16, weight: 0.05 })),
        ("PageRank-smoothed features", Some(Smoothing::PageRank { steps: 15, restart: 0.15 })),
    ];
    let mut rows = Vec::new();
    let mut add = |name: String, smoothing: Option<Smoothing>, settings: &FeatureSettings| {
        let started = Instant::now();
        let transform = Transform::fit(settings, features, adjacency, 0, &Silent)?;
        let mut matrix = transform.apply_dense(features, &nodes);
        if let Some(smoothing) = smoothing {
            smoother.apply(smoothing, &mut matrix);
        }
        let seconds = Seconds { embed: started.elapsed().as_secs_f64(), ..Seconds::default() };
        let run = measure.run(&matrix, 0, seconds)?;
        rows.push((name, Row::of(&[run])));
        anyhow::Ok(())
    };
    for (name, smoothing) in kinds {
        if nodes.len() * features.width() <= MOST_NUMBERS {
            add(name.into(), smoothing, &scaled)?;
        }
        if let Some(smoothing) = smoothing {
            let projection = ProjectionSettings {
                width: width.min(features.width()),
                smoothing,
                center: false,
                ..ProjectionSettings::default()
            };
            let settings = FeatureSettings { projection: Some(projection), ..scaled.clone() };
            add(format!("{name}, projected"), Some(smoothing), &settings)?;
        }
    }
    Ok(rows)
}

/// The largest that this process has been, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilo| 1024 * kilo)
}

fn text(summary: &Summary) -> String {
    let mut text = format!(
        "{}, preset {}, {} run{}, {} split{}, C chosen on validation nodes\n\n",
        summary.dataset,
        summary.preset,
        summary.seeds,
        if summary.seeds == 1 { "" } else { "s" },
        summary.splits,
        if summary.splits == 1 { "" } else { "s" }
    );
    let head = format!("{} %", summary.metric.replace('_', "-"));
    text += &format!("{:<40}{head:>16}{:>14}{:>8}{:>10}\n", "", "validation %", "width", "seconds");
    let mut line = |name: &str, row: &Row| {
        let figure = format!("{:.2} ± {:.2}", 100.0 * row.accuracy_mean, 100.0 * row.accuracy_std);
        let seconds = row.seconds.train + row.seconds.embed + row.seconds.probe;
        text += &format!(
            "{name:<40}{figure:>16}{:>14.2}{:>8}{seconds:>10.2}\n",
            100.0 * row.validation_mean,
            row.width
        );
    };
    line("learnt", &summary.row);
    summary.baselines.iter().for_each(|(name, row)| line(name, row));
    if let Some(peak) = summary.peak_rss_bytes {
        text += &format!("\npeak memory {}\n", bytes(peak));
    }
    text
}
