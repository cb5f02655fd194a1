//! `subgcon train`: learns an encoder from a store, without labels.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde::Serialize;
use subgcon::config::{Preset, Settings};
use subgcon::graph::{Features, structural, structural_names};
use subgcon::io::contexts::ContextTable;
use subgcon::io::model::check_replaceable;
use subgcon::io::store::Store;
use subgcon::io::training::{Identity, TrainingFolder, Unfinished};
use subgcon::model::Model;
use subgcon::progress::Progress;
use subgcon::train::{Material, Trainer};
use subgcon::transform::Transform;

use super::{say, shell_word, tell};
use crate::format::thousands;
use crate::progress::Bars;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The store, a folder: NAME.graph
    store: PathBuf,
    /// The model to write, a folder
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,
    #[command(flatten)]
    chosen: Chosen,
    /// Go on with an unfinished training of this name
    #[arg(long)]
    resume: bool,
    /// Replace a model of this name and, unless --resume is there too, an unfinished training
    #[arg(long)]
    force: bool,
    /// Steps between two checkpoints
    #[arg(long, value_name = "STEPS", default_value_t = 50)]
    checkpoint_every: u64,
    /// Show the settings as TOML and stop
    #[arg(long)]
    show_settings: bool,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Settings: a preset, a file over it, flags over both.
#[derive(Debug, Args)]
pub(super) struct Chosen {
    /// Where settings start from
    #[arg(long, default_value = "default", help_heading = "Settings")]
    preset: PresetName,
    /// Settings in TOML, over the preset (see docs/settings.md)
    #[arg(long, value_name = "FILE.toml", help_heading = "Settings")]
    config: Option<PathBuf>,
    /// One setting, over both: encoder.width=512, objective.kind=logistic; may be repeated
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Settings")]
    set: Vec<String>,
    /// The same seed gives the same bytes
    #[arg(long, help_heading = "Settings")]
    seed: Option<u64>,
    /// Steps of training
    #[arg(long, help_heading = "Settings")]
    steps: Option<u64>,
    /// Contexts in a step
    #[arg(long, help_heading = "Settings")]
    batch: Option<usize>,
    /// Train on this many random contexts only
    #[arg(long, help_heading = "Settings")]
    subgraphs: Option<usize>,
    /// Encoder: gcn, gcn-skip, gat, gin or mlp
    #[arg(long, value_name = "KIND", help_heading = "Settings")]
    encoder: Option<String>,
    /// Layers of the encoder
    #[arg(long, help_heading = "Settings")]
    layers: Option<usize>,
    /// Columns of the encoder
    #[arg(long, help_heading = "Settings")]
    width: Option<usize>,
    /// Nodes in a context
    #[arg(long, value_name = "NODES", help_heading = "Settings")]
    size: Option<usize>,
    /// For a graph without features: learn from degrees and positions
    #[arg(long, help_heading = "Settings")]
    structural: bool,
    /// Learning rate
    #[arg(long, help_heading = "Settings")]
    rate: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PresetName {
    /// Ours: one label-free setting for all graphs
    Default,
    /// The authors' released program
    Reference,
    /// The paper as printed
    Paper,
}

impl Arguments {
    /// `subgcon train STORE --force -o MODEL`.
    pub(crate) fn of(store: &Path, model: &Path) -> Arguments {
        #[derive(clap::Parser)]
        struct Plain {
            #[command(flatten)]
            arguments: Arguments,
        }
        let words: [&std::ffi::OsStr; 5] =
            ["train".as_ref(), store.as_ref(), "--force".as_ref(), "-o".as_ref(), model.as_ref()];
        <Plain as clap::Parser>::parse_from(words).arguments
    }
}

impl PresetName {
    pub(super) fn settings(self) -> Settings {
        let preset = match self {
            PresetName::Default => Preset::Default,
            PresetName::Reference => Preset::Reference,
            PresetName::Paper => Preset::Paper,
        };
        preset.settings()
    }

    /// As it is typed.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

impl Chosen {
    /// Preset, then file, then flags.
    pub(super) fn settings(&self) -> anyhow::Result<Settings> {
        let mut settings = self.preset.settings();
        if let Some(path) = &self.config {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("{}: cannot read", path.display()))?;
            settings = settings.changed_by_file(&text, &path.display().to_string())?;
        }
        if let Some(seed) = self.seed {
            settings.seed = seed;
        }
        if let Some(size) = self.size {
            settings.contexts.size = size;
        }
        if let Some(kind) = &self.encoder {
            settings = settings.changed_by(&format!("encoder.kind = {kind:?}"), "--encoder")?;
        }
        settings.features.structural |= self.structural;
        let encoder = &mut settings.encoder;
        encoder.layers = self.layers.unwrap_or(encoder.layers);
        encoder.width = self.width.unwrap_or(encoder.width);
        let training = &mut settings.training;
        training.steps = self.steps.unwrap_or(training.steps);
        training.batch = self.batch.unwrap_or(training.batch);
        training.subgraphs = self.subgraphs.or(training.subgraphs);
        settings.optimizer.rate = self.rate.unwrap_or(settings.optimizer.rate);
        for assignment in &self.set {
            settings = set(&settings, assignment)?;
        }
        settings.validate()?;
        Ok(settings)
    }

    /// As it is typed.
    pub(super) fn preset_name(&self) -> String {
        self.preset.name()
    }
}

/// `NAME=VALUE`, where a value that TOML does not know is a word.
pub(super) fn set(settings: &Settings, assignment: &str) -> anyhow::Result<Settings> {
    let place = format!("--set {assignment}");
    let Some((name, value)) = assignment.split_once('=') else {
        anyhow::bail!("{place}: has no value; write NAME=VALUE, such as encoder.width=512");
    };
    let word = !value.is_empty() && value.chars().all(|c| c.is_alphanumeric() || c == '-');
    let number = value.parse::<f64>().is_ok() || matches!(value, "true" | "false");
    let value = if word && !number { format!("{value:?}") } else { value.to_owned() };
    Ok(settings.changed_by(&format!("{name} = {value}"), &place)?)
}

/// What is told in the end; with `--json` exactly this.
#[derive(Debug, Serialize)]
struct Summary {
    model: String,
    store: String,
    seed: u64,
    contexts: u32,
    batch: usize,
    steps: u64,
    /// The step whose parameters are kept.
    kept_step: u64,
    /// Steps that an earlier run had taken.
    resumed_from: u64,
    first_loss: Option<f64>,
    last_loss: Option<f64>,
    last_retrieval: Option<f64>,
    embedding_width: usize,
    parameters: usize,
    /// Columns of the features that were found to be measures in units of their own.
    measures: Option<usize>,
    feature_columns: usize,
    /// Where the weight or the smoothing of a block depends on it.
    likeness: Option<Alike>,
    seconds: Seconds,
}

/// Whether features or edges choose like nodes better, and what follows.
#[derive(Debug, Serialize)]
struct Alike {
    features: f32,
    neighbours: f32,
    slope: f32,
    plain_weight: f64,
    /// Whether plain features are part of the embedding.
    plain_columns: bool,
    noise: bool,
    /// Whether blocks are smoothed further for that.
    further: bool,
    /// Whether answers to random questions are part of the embedding for that.
    questions: bool,
}

#[derive(Debug, Serialize)]
struct Seconds {
    contexts: f64,
    features: f64,
    training: f64,
    total: f64,
}

/// Whether a store has features that say nothing.
pub(super) fn all_zero(store: &Store) -> bool {
    let manifest = store.manifest();
    manifest.features.as_ref().is_some_and(|own| own.zero_rows == manifest.nodes)
}

/// The features to learn from: those of [`features_as_they_are`], unless all of them are zero.
pub(super) fn features(
    store: &Store,
    settings: &Settings,
) -> anyhow::Result<(Features, Vec<String>)> {
    if all_zero(store) && !settings.features.structural {
        anyhow::bail!(
            "{}: all features are zero, and an encoder learns from them; import the graph with columns \
             that say something of its nodes, or as a table without them (--no-features), for --structural",
            store.root().display()
        );
    }
    features_as_they_are(store, settings)
}

/// The features of a store with the names of their columns, or those made from its
/// structure where the settings ask for them.
pub(super) fn features_as_they_are(
    store: &Store,
    settings: &Settings,
) -> anyhow::Result<(Features, Vec<String>)> {
    let own = store.features()?;
    let shown = store.root().display();
    match (own, settings.features.structural) {
        (Some(own), false) => {
            let entry = store.manifest().features.as_ref();
            Ok((own.clone(), entry.map_or(Vec::new(), |entry| entry.names.clone())))
        }
        (None, true) => Ok((structural(store.adjacency()?, settings.seed), structural_names())),
        (Some(_), true) => anyhow::bail!(
            "{shown}: the graph has features of its own, and structural ones are asked for; learn from \
             its own (without --structural)"
        ),
        (None, false) => anyhow::bail!(
            "{shown}: the graph has no features, and an encoder learns from them; import it with a node \
             table that has numeric columns, or train with --structural to learn from degrees and \
             positions"
        ),
    }
}

pub(crate) fn run(arguments: &Arguments, progress: &Bars) -> anyhow::Result<()> {
    let settings = arguments.chosen.settings()?;
    if arguments.show_settings {
        return say(&settings.to_toml());
    }
    let output = &arguments.output;
    if arguments.force {
        check_replaceable(output)?;
    } else if output.symlink_metadata().is_ok() {
        return Err(subgcon::Error::Exists(output.clone()).into());
    }
    let started = Instant::now();
    let store = Store::open(&arguments.store)?;
    let (features, names) = features(&store, &settings)?;
    let features = &features;
    let adjacency = store.adjacency()?;
    let identity = Identity::new(&settings, &store);
    let unfinished = match (arguments.resume, arguments.force) {
        (true, _) => Unfinished::Resume,
        (_, true) => Unfinished::Discard,
        _ => Unfinished::Refuse,
    };
    let mut folder = TrainingFolder::open(output, identity, unfinished)?;
    let table = ContextTable::sample(&store, &settings.contexts, progress)?;
    table.check_members()?;
    let contexts_done = started.elapsed();
    let transform =
        Transform::fit(&settings.features, features, adjacency, settings.seed, progress)?;
    let features_done = started.elapsed();
    let material =
        Material { adjacency, features, contexts: &table.contexts, transform: &transform };
    let state = folder.state(transform.output_width())?;
    if arguments.resume && state.is_none() {
        eprintln!("nothing to resume: {} starts from the beginning", output.display());
    }
    let resumed_from = state.as_ref().map_or(0, |state| state.step);
    let mut trainer = match state {
        Some(state) => Trainer::resume(&settings, material, state)?,
        None => Trainer::new(&settings, material)?,
    };
    let (contexts, batch) = (trainer.contexts(), trainer.batch_size());
    progress.begin("training", settings.training.steps, "steps");
    progress.advance(resumed_from);
    let (mut first, mut last) = (None, None);
    let mut noted = Instant::now();
    while let Some(report) = trainer.advance()? {
        folder.log(&report)?;
        progress.advance(1);
        if noted.elapsed() > Duration::from_millis(100) {
            noted = Instant::now();
            let told = format!("loss {:.4} retrieval {:.3}", report.loss, report.retrieval);
            progress.note(&told);
        }
        let due = report.step.is_multiple_of(arguments.checkpoint_every.max(1));
        if due && report.step < settings.training.steps {
            folder.checkpoint(&trainer.state())?;
        }
        first = first.or(Some(report.loss));
        last = Some(report);
    }
    progress.end();
    let trained = trainer.finish()?;
    let training_done = started.elapsed();
    let model = Model::new(&settings, trained, material, &store.manifest().fingerprint)?;
    folder.finish(output, &model, &names, arguments.force)?;
    let parameters = model.encoder.named().iter().map(|(_, _, values)| values.len()).sum();
    let summary = Summary {
        model: output.display().to_string(),
        store: store.root().display().to_string(),
        seed: settings.seed,
        contexts,
        batch,
        steps: settings.training.steps,
        kept_step: model.provenance.step,
        resumed_from,
        first_loss: first,
        last_loss: last.as_ref().map(|report| report.loss),
        last_retrieval: last.as_ref().map(|report| report.retrieval),
        embedding_width: model.width(),
        parameters,
        measures: model.transform.measures.as_ref().map(|measures| measures.columns.len()),
        feature_columns: model.transform.width,
        likeness: model.likeness.map(|likeness| Alike {
            features: likeness.features,
            neighbours: likeness.neighbours,
            slope: likeness.slope,
            plain_weight: likeness.plain_weight(),
            plain_columns: settings
                .output
                .iter()
                .any(|block| block.unlike && !block.is_nothing(likeness)),
            noise: likeness.is_noise(),
            further: likeness.is_noise() && settings.output.iter().any(|b| b.noisy_steps > 0),
            questions: likeness.is_noise() && settings.output.iter().any(|b| b.noisy_only),
        }),
        seconds: Seconds {
            contexts: contexts_done.as_secs_f64(),
            features: (features_done - contexts_done).as_secs_f64(),
            training: (training_done - features_done).as_secs_f64(),
            total: started.elapsed().as_secs_f64(),
        },
    };
    tell(arguments.json, &summary, || text(&summary, &arguments.store, output))
}

fn text(summary: &Summary, store: &Path, model: &Path) -> String {
    let mut text = format!(
        "wrote {}: embeddings of {} columns, {} parameters, seed {}\n",
        summary.model,
        summary.embedding_width,
        thousands(summary.parameters as u64),
        summary.seed
    );
    let resumed = match summary.resumed_from {
        0 => String::new(),
        step => format!(", the first {step} of them in an earlier run"),
    };
    text += &format!(
        "trained on {} contexts, {} a step, {} steps{resumed}",
        thousands(u64::from(summary.contexts)),
        summary.batch,
        thousands(summary.steps)
    );
    if summary.kept_step != summary.steps {
        text += &format!("; step {} is kept", thousands(summary.kept_step));
    }
    if let (Some(first), Some(last)) = (summary.first_loss, summary.last_loss) {
        text += &format!("; loss {first:.4} to {last:.4}");
    }
    text.push('\n');
    if let Some(measures) = summary.measures {
        text += &format!(
            "{} of {} feature columns are measures, brought to mean 0 and deviation 1\n",
            thousands(measures as u64),
            thousands(summary.feature_columns as u64)
        );
    }
    if let Some(alike) = &summary.likeness {
        text += &format!(
            "nodes like a node: cosine {:.2} by its features, {:.2} by its edges; plain features \
             {}{}{}\n",
            alike.features,
            alike.neighbours,
            match alike.plain_columns {
                true => format!("weigh {:.2}", alike.plain_weight),
                false => "are left out".to_owned(),
            },
            if alike.further { ", smoothed ones go a step further" } else { "" },
            if alike.questions { ", answers to random questions stand beside" } else { "" }
        );
    }
    let seconds = &summary.seconds;
    text += &format!(
        "{:.2} s: contexts {:.2}, features {:.2}, training {:.2}\n",
        seconds.total, seconds.contexts, seconds.features, seconds.training
    );
    text += &format!(
        "next: subgcon embed {} --model {} -o embeddings.parquet\n",
        shell_word(store),
        shell_word(model)
    );
    text
}
