//! `subgcon reproduce TABLE`: the paper's experiments, each written with the paper's own
//! numbers beside ours.
//!
//! | file | question |
//! | --- | --- |
//! | `classification` | Table II: what is the accuracy of nodes' classes? |
//! | `encoders` | Table IV: which encoder is best? |
//! | `objectives` | Table V: which objective is best? |
//! | `subgraphs` | Fig. 3: do few contexts suffice for training? |
//! | `composition` | Fig. 4: how far from their centre are members of contexts? |
//! | `efficiency` | Tables VI, VII: how long does training take, in how much memory? |
//! | `threads` | Fig. 5: what do more threads bring? |
//! | `size` | Fig. 6: how large should a context be? |
//! | `variants` | how are settings compared that need their own learning rate? |
//! | `paper` | what did the paper print? |
//! | `page` | how is a result written down? |
//! | `graphs` | which graphs are there, and as which stores? |
//! | `journal` | what was found before? |

mod classification;
mod composition;
mod efficiency;
mod encoders;
mod graphs;
mod journal;
mod objectives;
mod page;
mod paper;
mod size;
mod subgraphs;
mod threads;
mod variants;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use subgcon::config::{Settings, Stopping, TrainingSettings};
use subgcon::eval::ProbeSettings;

use super::benchmark::{Plan, Select, Summary, summarise, validated};
use super::eval::SplitArguments;
use super::figures::Row;
use super::seeds::last_seed;
use super::train::{PresetName, set};
use super::{say, shell_word};
use crate::format::counted;
use crate::progress::Bars;
use graphs::{Dataset, datasets};
use journal::Journal;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Which of the paper's experiments
    table: Experiment,
    /// Where the public graphs lie: planetoid/ind.NAME.*, ppi-small/ (or the files themselves)
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The folder that results are written to
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Runs for each figure
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// Only these graphs: cora, citeseer, pubmed, ppi; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Where the settings of comparisons start from
    #[arg(long, default_value = "reference")]
    preset: PresetName,
    /// One setting over all presets: training.steps=20; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Experiment {
    /// Table II: accuracy of nodes' classes, beside rows that cost nothing
    Classification,
    /// Table IV: GCN, GCN + Skip, GAT and GIN
    Encoders,
    /// Table V: margin, logistic and BPR
    Objectives,
    /// Fig. 3: training on few contexts
    Subgraphs,
    /// Fig. 4: distances of members from their centre
    Composition,
    /// Tables VI and VII: seconds and memory
    Efficiency,
    /// Fig. 5: seconds by threads
    Threads,
    /// Fig. 6: accuracy by size of contexts
    Size,
    /// All of them, one after another
    All,
}

impl Experiment {
    /// Whether validation nodes choose the step of its runs.
    fn selects(self) -> bool {
        !matches!(self, Experiment::Composition | Experiment::Efficiency | Experiment::Threads)
    }

    /// As it is asked for.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// Everything an experiment needs.
struct Lab<'a> {
    arguments: &'a Arguments,
    progress: &'a Bars,
    datasets: Vec<Dataset>,
    /// The one that is worked on.
    experiment: Cell<Experiment>,
    /// What was measured before, by graph and settings.
    journal: Journal,
    /// Threads, where the user asked for so many.
    threads: Option<usize>,
}

/// A learnt row beside those that cost nothing.
#[derive(Serialize, Deserialize)]
struct Beside {
    row: Row,
    free: BTreeMap<String, Row>,
}

/// Steps between candidates of which validation nodes choose; the second where a look at one, with a
/// probe of 121 classes, takes as long as many steps.
const EVERY: u64 = 5;
const EVERY_SLOWLY: u64 = 15;

/// `told`: the number of threads is what the user asked for.
pub(crate) fn run(arguments: &Arguments, told: bool, progress: &Bars) -> anyhow::Result<()> {
    let wanted = match arguments.table {
        Experiment::All => Experiment::value_variants()
            .iter()
            .copied()
            .filter(|experiment| *experiment != Experiment::All)
            .collect(),
        one => vec![one],
    };
    // Before anything is written.
    arguments.check(&wanted)?;
    let lab = Lab {
        arguments,
        progress,
        datasets: datasets(arguments, progress)?,
        experiment: Cell::new(arguments.table),
        journal: Journal::open(&arguments.output)?,
        threads: told.then(rayon::current_num_threads),
    };
    if let (known @ 1.., path) = lab.journal.known() {
        say(&format!(
            "{} has {} of earlier runs; those that are asked for are taken over (delete it to find \
             them again)\n",
            path.display(),
            counted(known as u64, "figure")
        ))?;
    }
    for given in lab.datasets.iter().filter(|dataset| dataset.given) {
        let store = given.store.root().display();
        say(&format!("{store} was put there by somebody, and is taken as it is\n"))?;
    }
    for experiment in wanted {
        lab.experiment.set(experiment);
        let page = match experiment {
            Experiment::Classification => classification::page(&lab)?,
            Experiment::Encoders => encoders::page(&lab)?,
            Experiment::Objectives => objectives::page(&lab)?,
            Experiment::Subgraphs => subgraphs::page(&lab)?,
            Experiment::Composition => composition::page(&lab)?,
            Experiment::Efficiency => efficiency::page(&lab)?,
            Experiment::Threads => threads::page(&lab)?,
            Experiment::Size => size::page(&lab)?,
            Experiment::All => unreachable!("it was taken apart above"),
        };
        for path in page.write(&lab, experiment)? {
            say(&format!("wrote {}\n", path.display()))?;
        }
    }
    Ok(())
}

impl Arguments {
    /// Whether these experiments can be done as asked.
    fn check(&self, wanted: &[Experiment]) -> anyhow::Result<()> {
        if self.seeds == 0 {
            anyhow::bail!("--seeds = 0: run at least one");
        }
        if let Some(own) = ["manifest.json", "config.json"]
            .map(|name| self.output.join(name))
            .iter()
            .find(|own| own.exists())
        {
            anyhow::bail!(
                "{}: a graph, contexts or a model are there already; write results to another folder",
                own.display()
            );
        }
        for experiment in wanted {
            let presets = match experiment {
                Experiment::Classification => PresetName::value_variants(),
                Experiment::Efficiency => efficiency::PRESETS,
                _ => std::slice::from_ref(&self.preset),
            };
            for preset in presets {
                let settings = self.changed(preset.settings())?;
                last_seed(&settings, self.seeds)?;
                if experiment.selects() && settings.training.stopping != Stopping::Never {
                    anyhow::bail!(
                        "training.stopping: validation nodes choose the step in `reproduce {}`; leave the rule out",
                        experiment.name()
                    );
                }
            }
        }
        Ok(())
    }

    /// Settings with `--set` over them.
    fn changed(&self, mut settings: Settings) -> anyhow::Result<Settings> {
        for assignment in &self.set {
            settings = set(&settings, assignment)?;
        }
        settings.validate()?;
        Ok(settings)
    }
}

/// What a figure is of, in full: all that it depends on but for the program.
fn what(kind: &str, dataset: &Dataset, settings: &Settings, seeds: u64) -> anyhow::Result<String> {
    let arrays = &serde_json::to_value(dataset.store.manifest())?["arrays"];
    let every = dataset.every();
    Ok(format!(
        "{kind}, {}, {seeds} seeds, every {every}, {arrays}\n{}",
        dataset.name,
        settings.to_toml()
    ))
}

impl Dataset {
    /// Steps between candidates.
    fn every(&self) -> u64 {
        if self.name == "ppi" { EVERY_SLOWLY } else { EVERY }
    }

    /// Contexts that a run trains on: as many as are asked for, or all there are.
    fn subgraphs(&self, training: &TrainingSettings) -> anyhow::Result<usize> {
        // Too many held out are refused where the run begins, not too few left here.
        let all = self.store.adjacency()?.nodes().saturating_sub(training.held_out).max(2);
        Ok(training.subgraphs.unwrap_or(all).min(all))
    }
}

impl Lab<'_> {
    /// What comparisons start from.
    fn base(&self) -> anyhow::Result<Settings> {
        self.preset(self.arguments.preset)
    }

    /// A preset with `--set` over it.
    fn preset(&self, preset: PresetName) -> anyhow::Result<Settings> {
        self.arguments.changed(preset.settings())
    }

    /// All runs of one setting on one graph; the step is chosen by validation, as in the paper.
    /// Experiments have settings in common: those are run once.
    fn measure(&self, dataset: &Dataset, settings: &Settings) -> anyhow::Result<Row> {
        let seeds = self.arguments.seeds;
        self.journal.of(what("row", dataset, settings, seeds)?, || {
            let plan = self.plan(dataset, settings, seeds, true);
            Ok(summarise(&dataset.store, &plan, self.progress)?.row)
        })
    }

    /// The same without choosing a step, beside the rows that cost nothing.
    fn beside_free_rows(&self, dataset: &Dataset, settings: &Settings) -> anyhow::Result<Beside> {
        let seeds = self.arguments.seeds;
        self.journal.of(what("row beside free ones", dataset, settings, seeds)?, || {
            let plan = self.plan(dataset, settings, seeds, false);
            let plan = Plan { baselines: true, ..plan };
            let Summary { row, baselines, .. } = summarise(&dataset.store, &plan, self.progress)?;
            let free = baselines.into_iter().map(|(name, free)| (name, free.row)).collect();
            Ok(Beside { row, free })
        })
    }

    /// What validation nodes say of a setting, mean over some runs: nothing else is looked at.
    fn validated(&self, dataset: &Dataset, settings: &Settings, seeds: u64) -> anyhow::Result<f64> {
        self.journal.of(what("validation figure", dataset, settings, seeds)?, || {
            let plan = self.plan(dataset, settings, seeds, true);
            validated(&dataset.store, &plan, self.progress)
        })
    }

    fn plan<'s>(
        &self,
        dataset: &Dataset,
        settings: &'s Settings,
        seeds: u64,
        select: bool,
    ) -> Plan<'s> {
        Plan {
            called: format!("{}, {}", self.experiment.get().name(), dataset.shown),
            settings,
            preset: String::new(),
            seeds,
            select: if select { Select::ValidationEach } else { Select::Settings },
            select_every: dataset.every(),
            baselines: false,
            splits: &SplitArguments::OWN,
            split_seed: 0,
            probe: ProbeSettings::default(),
            given: Vec::new(),
            at_once: rayon::current_num_threads(),
        }
    }

    /// `subgcon benchmark` as a process of its own: time and memory of nothing else. Of settings told
    /// twice `more` has the last word.
    fn alone(&self, store: &Path, preset: PresetName, more: &[String]) -> anyhow::Result<Value> {
        let program = std::env::current_exe().context("this program's own file")?;
        let mut command = Command::new(program);
        command.arg("benchmark").arg(store).args(["--json", "--no-baselines"]);
        command.args(["--progress", "never", "--preset", &preset.name()]);
        for assignment in &self.arguments.set {
            command.args(["--set", assignment]);
        }
        command.args(more);
        let output = command.output().context("cannot start this program again")?;
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            anyhow::bail!("{}", told.strip_prefix("error: ").unwrap_or(&told));
        }
        serde_json::from_slice(&output.stdout).context("a report in JSON")
    }

    /// The command that writes one experiment again.
    fn command(&self, experiment: Experiment) -> String {
        let Arguments { data, output, seeds, only, preset, set, .. } = self.arguments;
        let mut words = format!(
            "subgcon reproduce {} --data {} -o {} --seeds {seeds}",
            experiment.name(),
            shell_word(data),
            shell_word(output)
        );
        for only in only {
            words += &format!(" --only {only}");
        }
        if preset.name() != "reference" {
            words += &format!(" --preset {}", preset.name());
        }
        for assignment in set {
            words += &format!(" --set '{assignment}'");
        }
        // Seconds depend on them, other figures do not.
        if let Some(threads) = self.threads.filter(|_| experiment == Experiment::Efficiency) {
            words += &format!(" --threads {threads}");
        }
        words
    }
}
