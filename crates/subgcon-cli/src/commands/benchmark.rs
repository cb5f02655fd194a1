//! `subgcon benchmark`: contexts, training, embedding and probe for each seed, beside
//! the rows that cost nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde::Serialize;
use subgcon::config::{Decay, Settings};
use subgcon::error::shown;
use subgcon::eval::ProbeSettings;
use subgcon::io::contexts::ContextTable;
use subgcon::io::store::Store;
use subgcon::progress::Progress;
use subgcon::transform::Transform;

use super::eval::{SplitArguments, Strengths, labels, mean, metric};
use super::figures::{Difference, Row, Run, Seconds, Spread};
use super::measure::Measure;
use super::runs::{Ground, each_free_row, learn, train};
use super::seeds::each_seed;
use super::tell;
use super::together::{Agreed, agreed, candidates, learn_until, looked, most};
use super::train::{Chosen, features};
use crate::STACK;
use crate::format::{bytes, percent, short};
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
    /// Steps between two candidates, where validation nodes choose
    #[arg(long, value_name = "STEPS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    select_every: u64,
    /// Leave the rows out that cost nothing
    #[arg(long)]
    no_baselines: bool,
    #[command(flatten)]
    splits: SplitArguments,
    /// Of random splits: the same for every run and row
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    split_seed: u64,
    #[command(flatten)]
    strengths: Strengths,
    #[command(flatten)]
    chosen: Chosen,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// What chooses the step whose parameters are kept.
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Select {
    /// Whatever the settings say, without labels
    Settings,
    /// Accuracy on the validation nodes: uses labels. Where the rate falls, each run keeps its best
    /// step (validation-each); where it does not, nothing ends a run, and its length is chosen for all
    /// runs (validation-mean)
    Validation,
    /// Each run keeps the step with the best accuracy on the validation nodes: uses labels. Where the
    /// rate does not fall, training goes on until the settings' number of steps has brought nothing
    /// better (five times that number at most), as the paper's patience does
    ValidationEach,
    /// One step and one C for all runs, those with the best mean accuracy on the validation nodes: uses
    /// labels. Where the rate falls, the step is one of that schedule; where it does not, three times
    /// the settings' number of steps are looked at (of all validation nodes with every C: where nodes
    /// have several classes, minutes a run; --select-every 20 takes a quarter of that). Rows that cost
    /// nothing have a C for each split
    ValidationMean,
}

impl Select {
    /// Who chooses with these settings: never `Validation` itself.
    fn resolved(self, settings: &Settings) -> Select {
        match (self, settings.optimizer.decay) {
            (Select::Validation, Decay::None) => Select::ValidationMean,
            (Select::Validation, Decay::Cosine | Decay::Linear) => Select::ValidationEach,
            _ => self,
        }
    }
}

/// Nodes for each thread, at the least: of a small graph no step is long enough to be shared.
/// Cora on two threads takes three quarters of the time, and a quarter more of the processors'.
const NODES: usize = 4096;

/// What is told; with `--json` exactly this.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    pub(super) dataset: String,
    pub(super) preset: String,
    pub(super) seeds: u64,
    pub(super) select: Select,
    /// Steps that were looked at where all runs have the same, and then they do.
    #[serde(skip)]
    looked: Option<u64>,
    pub(super) metric: &'static str,
    pub(super) splits: usize,
    /// Values of C to choose from, where they were given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) strengths: Vec<f64>,
    #[serde(flatten)]
    pub(super) row: Row,
    pub(super) baselines: BTreeMap<String, Baseline>,
}

/// A row that costs nothing, with the fields of a summary.
#[derive(Debug, Serialize)]
pub(super) struct Baseline {
    dataset: String,
    preset: String,
    seeds: u64,
    #[serde(flatten)]
    pub(super) row: Row,
}

/// What a benchmark is asked for.
pub(super) struct Plan<'a> {
    /// What progress is told of.
    pub(super) called: String,
    pub(super) settings: &'a Settings,
    pub(super) preset: String,
    pub(super) seeds: u64,
    pub(super) select: Select,
    /// Steps between two candidates where validation nodes choose one.
    pub(super) select_every: u64,
    pub(super) baselines: bool,
    /// For a store without splits, or instead of them.
    pub(super) splits: &'a SplitArguments,
    pub(super) split_seed: u64,
    pub(super) probe: ProbeSettings,
    /// Values of C to choose from, where they were given.
    pub(super) given: Vec<f64>,
    /// Runs that may go on at the same time.
    pub(super) at_once: usize,
}

/// `told`: the number of threads is what the user asked for.
pub(crate) fn run(arguments: &Arguments, told: bool, progress: &Bars) -> anyhow::Result<()> {
    let settings = arguments.chosen.settings()?;
    let plan = Plan {
        called: "benchmark".into(),
        settings: &settings,
        preset: arguments.chosen.preset_name(),
        seeds: arguments.seeds,
        select: arguments.select,
        select_every: arguments.select_every,
        baselines: !arguments.no_baselines,
        splits: &arguments.splits,
        split_seed: arguments.split_seed,
        probe: arguments.strengths.settings()?,
        given: arguments.strengths.given(),
        // One after another: seconds and memory are of one run.
        at_once: 1,
    };
    let store = Store::open(&arguments.store)?;
    let enough = enough(store.adjacency()?.nodes());
    let summary = if told || enough >= rayon::current_num_threads() {
        summarise(&store, &plan, progress)?
    } else {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(enough).stack_size(STACK).build()?;
        pool.install(|| summarise(&store, &plan, progress))?
    };
    tell(arguments.json, &summary, || text(&summary))
}

/// Threads that a run on so many nodes can use.
fn enough(nodes: usize) -> usize {
    (nodes / NODES).max(1)
}

/// All runs and rows.
pub(super) fn summarise(
    store: &Store,
    plan: &Plan<'_>,
    progress: &Bars,
) -> anyhow::Result<Summary> {
    on_ground(store, plan, progress, |ground, measure| {
        let first = OnceLock::new();
        let agreed = match plan.select.resolved(plan.settings) {
            Select::ValidationMean => Some(plan.agreed(ground, measure, progress)?),
            _ => None,
        };
        let all = plan.each(&plan.called, ground, progress, |settings, transform| {
            let (run, model) = match &agreed {
                Some((step, measure)) => learn_until(*step, settings, transform, ground, measure)?,
                None => learn(settings, transform, ground, measure, plan.own_every())?,
            };
            if settings.seed == plan.settings.seed {
                first.get_or_init(|| model);
            }
            Ok((mean(&run.test), run))
        })?;
        let mut runs: Vec<Run> = Vec::new();
        for (run, seconds) in all {
            let train = run.seconds.train + seconds;
            runs.push(Run { seconds: Seconds { train, ..run.seconds }, ..run });
        }
        // Before the other rows: they are wider than what was learnt.
        let row = Row::of(&runs);
        let dataset = store.root().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut baselines = BTreeMap::new();
        if let Some(model) = first.get().filter(|_| plan.baselines) {
            each_free_row(model, ground, |free| {
                let run = measure.run_free(free)?;
                let difference = Some(Difference::of(&runs, &run));
                let row = Row { difference, ..Row::of(&[run]) };
                let (dataset, preset) = (dataset.clone(), free.name.clone());
                baselines.insert(free.name.clone(), Baseline { dataset, preset, seeds: 1, row });
                Ok(())
            })?;
        }
        Ok(Summary {
            dataset,
            preset: plan.preset.clone(),
            seeds: plan.seeds,
            select: plan.select,
            looked: agreed.as_ref().map(|_| looked(plan.settings).training.steps),
            metric: metric(measure.labels),
            splits: measure.splits.len(),
            strengths: plan.given.clone(),
            row,
            baselines,
        })
    })
}

/// The figure that candidates are chosen by, mean over runs: no test node is looked at.
pub(super) fn validated(store: &Store, plan: &Plan<'_>, progress: &Bars) -> anyhow::Result<f64> {
    on_ground(store, plan, progress, |ground, measure| {
        let figures = plan.each(&plan.called, ground, progress, |settings, transform| {
            let kept = train(settings, transform, ground, measure, plan.own_every())?;
            let figure = kept.validation.context("no validation nodes choose a step")?;
            Ok((figure, figure))
        })?;
        Ok(mean(&figures.into_iter().map(|(figure, _)| figure).collect::<Vec<f64>>()))
    })
}

/// Hands out what all runs of a plan learn from and are measured by.
fn on_ground<R>(
    store: &Store,
    plan: &Plan<'_>,
    progress: &Bars,
    work: impl FnOnce(Ground<'_>, &Measure<'_>) -> anyhow::Result<R>,
) -> anyhow::Result<R> {
    if plan.seeds == 0 {
        anyhow::bail!("--seeds = 0: run at least one");
    }
    let labels = labels(store)?;
    let measure = Measure {
        labels,
        splits: plan.splits.of(store, labels, plan.split_seed)?,
        settings: plan.probe.clone(),
    };
    // A probe with a single C does without them, but every row tells a figure on them.
    if let Some(split) = measure.splits.iter().find(|split| split.counts()[1] == 0) {
        anyhow::bail!(
            "{}: split {}: no validation nodes; assign some, or draw random splits",
            store.root().display(),
            shown(&split.name)
        );
    }
    let (features, _) = features(store, plan.settings)?;
    let started = Instant::now();
    let table = ContextTable::sample(store, &plan.settings.contexts, progress)?;
    table.check_members()?;
    let ground = Ground {
        adjacency: store.adjacency()?,
        features: &features,
        contexts: &table.contexts,
        seconds: started.elapsed().as_secs_f64(),
    };
    work(ground, &measure)
}

impl Plan<'_> {
    /// Steps between two candidates where each run chooses one for itself.
    fn own_every(&self) -> Option<u64> {
        let each = self.select.resolved(self.settings) == Select::ValidationEach;
        each.then_some(self.select_every)
    }

    /// The step that all runs agree on, and what measures by the C that they do.
    fn agreed<'m>(
        &self,
        ground: Ground<'_>,
        measure: &Measure<'m>,
        progress: &Bars,
    ) -> anyhow::Result<(u64, Measure<'m>)> {
        let called = format!("{}, looking at candidates", self.called);
        let looked = self.each(&called, ground, progress, |settings, transform| {
            let found = candidates(settings, transform, ground, measure, self.select_every)?;
            Ok((most(&found), found))
        })?;
        let looked: Vec<_> = looked.into_iter().map(|(found, _)| found).collect();
        let Agreed { step, c } = agreed(&looked);
        Ok((step, measure.with_strength(c)))
    }

    /// A run for each seed, with the settings' own seed and the transform that belongs to it, whose
    /// seconds come along. `one` gives what it found and a figure to show.
    fn each<R: Send>(
        &self,
        called: &str,
        ground: Ground<'_>,
        progress: &Bars,
        one: impl Fn(&Settings, &Transform) -> anyhow::Result<(f64, R)> + Sync,
    ) -> anyhow::Result<Vec<(R, f64)>> {
        progress.begin(called, self.seeds, "runs");
        let shown = Mutex::new(Vec::new());
        let enough = enough(ground.adjacency.nodes());
        let runs = each_seed(self.seeds, self.at_once, enough, |seed| {
            let settings = Settings { seed: self.settings.seed + seed, ..self.settings.clone() };
            let (transform, seconds) = ground.transform(&settings)?;
            let (figure, run) = one(&settings, &transform)?;
            progress.advance(1);
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.push(figure);
            progress.note(&percent(mean(&shown)));
            Ok((run, seconds))
        })?;
        progress.end();
        Ok(runs)
    }
}

/// A table for people.
pub(super) fn text(summary: &Summary) -> String {
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    let mut text = format!(
        "{}, preset {}, {} run{}, {} split{}, {}{}\n\n",
        summary.dataset,
        summary.preset,
        summary.seeds,
        plural(summary.seeds),
        summary.splits,
        plural(summary.splits as u64),
        match &summary.strengths[..] {
            [] => "C chosen on validation nodes".into(),
            &[c] => format!("C = {}", short(c)),
            some => {
                let some: Vec<String> = some.iter().map(|&c| short(c)).collect();
                format!("C chosen from {} on validation nodes", some.join(", "))
            }
        },
        match (summary.select, summary.looked, &summary.strengths[..]) {
            (Select::Settings, ..) => "",
            (_, Some(_), [_]) => ", one step for all runs chosen on validation nodes",
            (_, Some(_), _) => ", one for all runs, and so is the step",
            (_, None, [_]) => ", the step chosen on validation nodes",
            (_, None, _) => ", and so is the step",
        }
    );
    let head = format!("{} %", summary.metric.replace('_', "-"));
    text += &format!(
        "{:<40}{head:>16}{:>14}{:>18}{:>7}{:>9}\n",
        "", "validation %", "learnt has more", "width", "seconds"
    );
    let mut line = |name: &str, row: &Row| {
        let spread = match row.spread_over {
            Spread::Nothing => String::new(),
            _ => format!(" ± {:.2}", 100.0 * row.accuracy_std),
        };
        let figure = format!("{:.2}{spread}", 100.0 * row.accuracy_mean);
        let more = row.difference.map_or_else(String::new, |difference| {
            let error = difference
                .error
                .map_or_else(String::new, |error| format!(" ± {:.2}", 100.0 * error));
            format!("{:+.2}{error}", 100.0 * difference.mean)
        });
        let seconds = row.seconds.train + row.seconds.embed + row.seconds.probe;
        text += &format!(
            "{name:<40}{figure:>16}{:>14.2}{more:>18}{:>7}{seconds:>9.2}\n",
            100.0 * row.validation_mean,
            row.width
        );
    };
    line("learnt", &summary.row);
    let mut free: Vec<(&String, &Baseline)> = summary.baselines.iter().collect();
    free.sort_by(|a, b| b.1.row.validation_mean.total_cmp(&a.1.row.validation_mean));
    free.iter().for_each(|(name, baseline)| line(name, &baseline.row));
    text += match (summary.row.spread_over, summary.splits) {
        (Spread::Runs, 1) => {
            "\n± is the standard deviation over runs; of a difference the standard error over runs\n"
        }
        (Spread::Runs, _) => {
            "\n± is the standard deviation over runs for the learnt row and over splits for the others; \
             of a difference the standard error over splits\n"
        }
        (Spread::Splits, _) => {
            "\n± is the standard deviation over splits; of a difference the standard error over splits\n"
        }
        (Spread::Nothing, _) => {
            "\none run on one split: nothing tells how much of a difference is chance; use --seeds or \
             --random\n"
        }
    };
    let seconds = &summary.row.seconds;
    text += &format!(
        "a learnt run: contexts {:.2} s, training {:.2} s, embedding {:.2} s, probe {:.2} s",
        seconds.contexts, seconds.train, seconds.embed, seconds.probe
    );
    if let Some(peak) = summary.row.peak_rss_bytes {
        text += &format!("; peak memory {}", bytes(peak));
    }
    text += "\n";
    let row = &summary.row;
    if let (Some(looked), [step, ..], [c, ..]) = (summary.looked, &row.steps[..], &row.c[..]) {
        let c = short(*c);
        text += &format!("chosen for all runs, of {looked} steps: step {step}, C = {c}\n");
    }
    text
}
