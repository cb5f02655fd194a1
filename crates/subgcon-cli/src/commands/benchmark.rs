//! `subgcon benchmark`: contexts, training, embedding and probe for each seed, beside
//! the rows that cost nothing.

mod text;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde::Serialize;
use subgcon::config::{Decay, Settings, Stopping};
use subgcon::error::shown;
use subgcon::eval::ProbeSettings;
use subgcon::io::contexts::ContextTable;
use subgcon::io::store::Store;
use subgcon::progress::Progress;
use subgcon::transform::Transform;

use super::eval::{SplitArguments, Strengths, labels, mean, metric};
use super::figures::{Difference, Row, Run, Seconds, peak_memory};
use super::measure::Measure;
use super::runs::{Ground, each_seedless, each_untrained, learn, train};
use super::seeds::{each_seed, last_seed};
use super::tell;
use super::together::{Agreed, agreed, candidates, learn_until, looked, most, still_rising};
use super::train::{Chosen, features};
use crate::STACK;
use crate::format::percent;
use crate::progress::Bars;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The store, a folder: NAME.graph, with labels
    store: PathBuf,
    /// Runs, with the seeds S, S + 1, … (S = 0, or what --seed says)
    #[arg(long, default_value_t = 20)]
    seeds: u64,
    /// What chooses the step whose parameters are kept: the settings, without labels, or validation
    /// nodes (--help says how)
    #[arg(long, default_value = "settings")]
    select: Chooser,
    /// Steps between two candidates, where validation nodes choose. With validation-mean, where nodes
    /// have several classes, looking at them takes minutes a run, and with 20 a quarter of that
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

/// What chooses the step whose parameters are kept, as it is asked for.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Chooser {
    /// Whatever the settings say, without labels
    Settings,
    /// Validation nodes: validation-each where the rate falls (preset default), validation-mean
    /// where it is constant and nothing ends a run (presets reference and paper)
    Validation,
    /// Each run keeps the step with the best accuracy on the validation nodes. With a constant rate
    /// training goes on until the settings' number of steps has brought nothing better (five times
    /// that number at most), as the paper's patience does
    ValidationEach,
    /// One step and one C for all runs, those with the best mean accuracy on the validation nodes.
    /// With a constant rate three times the settings' number of steps are looked at; where the rate
    /// falls, the step is one of that schedule. Rows that cost nothing have a C for each split
    ValidationMean,
}

/// What chooses the step whose parameters are kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Select {
    Settings,
    ValidationEach,
    ValidationMean,
}

impl Chooser {
    fn select(self, settings: &Settings) -> Select {
        match (self, settings.optimizer.decay) {
            (Chooser::Settings, _) => Select::Settings,
            (Chooser::ValidationEach, _) | (Chooser::Validation, Decay::Cosine | Decay::Linear) => {
                Select::ValidationEach
            }
            (Chooser::ValidationMean, _) | (Chooser::Validation, Decay::None) => {
                Select::ValidationMean
            }
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
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen_for_all: Option<ChosenForAll>,
    pub(super) metric: &'static str,
    pub(super) splits: usize,
    /// Values of C to choose from, where they were given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) strengths: Vec<f64>,
    #[serde(flatten)]
    pub(super) row: Row,
    pub(super) baselines: BTreeMap<String, Baseline>,
}

/// How all runs came to have one step and one C.
#[derive(Debug, Serialize)]
struct ChosenForAll {
    steps_looked_at: u64,
    /// Of all runs together; those of a run do not count them.
    seconds: f64,
    /// The last step that was looked at is better than all before it, and not the end of a schedule.
    later_may_be_better: bool,
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
        select: arguments.select.select(&settings),
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
    tell(arguments.json, &summary, || text::text(&summary))
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
        let peak = OnceLock::new();
        let (started, mut chosen_for_all) = (Instant::now(), None);
        let agreed = match plan.select {
            Select::Settings | Select::ValidationEach => None,
            Select::ValidationMean => {
                let (step, measure, rising) = plan.agreed(ground, measure, progress)?;
                let steps = looked(plan.settings).training.steps;
                chosen_for_all = Some(ChosenForAll {
                    steps_looked_at: steps,
                    seconds: started.elapsed().as_secs_f64(),
                    later_may_be_better: rising && steps > plan.settings.training.steps,
                });
                Some((step, measure))
            }
        };
        let all = plan.each(&plan.called, ground, progress, |settings, transform| {
            let (run, model) = match &agreed {
                Some((step, measure)) => learn_until(*step, settings, transform, ground, measure)?,
                None => learn(settings, transform, ground, measure, plan.own_every())?,
            };
            // Before any other row.
            peak.get_or_init(peak_memory);
            let mut untrained = Vec::new();
            if plan.baselines {
                each_untrained(&model, ground, |free| {
                    untrained.push((free.name.clone(), measure.run_free(free)?));
                    anyhow::Ok(())
                })?;
            }
            Ok((mean(&run.test), (run, untrained)))
        })?;
        let mut runs: Vec<Run> = Vec::new();
        let mut free: BTreeMap<String, Vec<Run>> = BTreeMap::new();
        for ((run, untrained), seconds) in all {
            let train = run.seconds.train + seconds;
            runs.push(Run { seconds: Seconds { train, ..run.seconds }, ..run });
            for (name, run) in untrained {
                free.entry(name).or_default().push(run);
            }
        }
        let peak_rss_bytes = peak.into_inner().flatten();
        let row = Row { peak_rss_bytes, ..Row::of(&runs) };
        let dataset = store.root().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if plan.baselines {
            each_seedless(plan.settings, row.width, ground, |one| {
                free.insert(one.name.clone(), vec![measure.run_free(one)?]);
                anyhow::Ok(())
            })?;
        }
        let beside = |(name, free): (String, Vec<Run>)| {
            let difference = Some(Difference::of(&runs, &free));
            let row = Row { difference, ..Row::of(&free) };
            let (dataset, preset) = (dataset.clone(), name.clone());
            (name, Baseline { dataset, preset, seeds: free.len() as u64, row })
        };
        let baselines = free.into_iter().map(beside).collect();
        Ok(Summary {
            dataset,
            preset: plan.preset.clone(),
            seeds: plan.seeds,
            select: plan.select,
            chosen_for_all,
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
    last_seed(plan.settings, plan.seeds)?;
    if plan.select != Select::Settings && plan.settings.training.stopping != Stopping::Never {
        anyhow::bail!(
            "training.stopping: validation nodes choose the step here (--select); leave one of the two out"
        );
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
            "{}: split {}: no validation nodes; assign some, or draw random splits with some",
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
        (self.select == Select::ValidationEach).then_some(self.select_every)
    }

    /// The step that all runs agree on, what measures by the C that they do, and whether the last
    /// step that was looked at was better than all before it.
    fn agreed<'m>(
        &self,
        ground: Ground<'_>,
        measure: &Measure<'m>,
        progress: &Bars,
    ) -> anyhow::Result<(u64, Measure<'m>, bool)> {
        let called = format!("{}, looking at candidates", self.called);
        let looked = self.each(&called, ground, progress, |settings, transform| {
            let found = candidates(settings, transform, ground, measure, self.select_every)?;
            Ok((most(&found), found))
        })?;
        let looked: Vec<_> = looked.into_iter().map(|(found, _)| found).collect();
        let Agreed { step, c } = agreed(&looked);
        Ok((step, measure.with_strength(c), still_rising(&looked)))
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
        });
        progress.end();
        runs
    }
}
