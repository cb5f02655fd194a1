//! Step after step.
//!
//! A [`Trainer`] is given a graph's structure, features and contexts. It is given
//! no labels: that training is self-supervised is checked by the compiler.
//!
//! A batch, its masks and its negatives are functions of (seed, step), so a run that
//! is taken up at step t goes on exactly as it would have.

use serde::{Deserialize, Serialize};

use super::adam::{Adam, Moments};
use super::engine::{Engine, Outcome};
use super::fused::Sections;
use super::pool::Pool;
use super::stopping::{History, Look};
use crate::batch::{Assembler, Augmentation, Batch};
use crate::config::{Negatives, ObjectiveKind, Settings};
use crate::context::Contexts;
use crate::contrast::{Pairs, draw, held_out, summarize};
use crate::encoder::Encoder;
use crate::error::{Error, Result};
use crate::graph::{Adjacency, Features};
use crate::rng::Stream;
use crate::transform::{Mask, Transform};

/// What a trainer looks at.
#[derive(Debug, Clone, Copy)]
pub struct Material<'a> {
    /// Who is connected to whom.
    pub adjacency: &'a Adjacency,
    /// What is known of each node.
    pub features: &'a Features,
    /// Which nodes matter to each.
    pub contexts: &'a Contexts,
    /// What is done to features first.
    pub transform: &'a Transform,
}

/// Everything that a run needs to go on.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Steps taken.
    pub step: u64,
    /// Parameters.
    pub encoder: Encoder<f32>,
    /// Their moments.
    pub moments: Moments<f32>,
    /// Their running mean, where it is kept.
    pub average: Option<Encoder<f32>>,
    /// Looks at held-out contexts.
    pub history: History,
}

/// What one step tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// Counted from 1.
    pub step: u64,
    /// The value of the objective, before the step.
    pub loss: f64,
    /// Share of pairs in which the own summary scores higher, before the step.
    pub retrieval: f64,
    /// A look at held-out contexts after the step, when one was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub look: Option<Look>,
}

/// What training ends in.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    /// The chosen parameters.
    pub encoder: Encoder<f32>,
    /// The step that they are from.
    pub step: u64,
    /// Looks at held-out contexts.
    pub looks: Vec<Look>,
}

/// A batch with its negatives.
#[derive(Debug)]
struct Prepared {
    batch: Batch<f32>,
    pairs: Pairs,
}

/// Trains an encoder.
#[derive(Debug)]
pub struct Trainer<'a> {
    settings: &'a Settings,
    assembler: Assembler<'a>,
    pool: Pool,
    engine: Engine,
    step: u64,
    average: Option<Encoder<f32>>,
    history: History,
    next: Option<Prepared>,
    held_out: Option<Batch<f32>>,
}

impl<'a> Trainer<'a> {
    /// From the start.
    pub fn new(settings: &'a Settings, material: Material<'a>) -> Result<Trainer<'a>> {
        let width = material.transform.output_width();
        let encoder = Encoder::new(&settings.encoder, width, settings.seed);
        let moments = Moments::zeros(&encoder);
        let history = History::default();
        let state = State { step: 0, encoder, moments, average: None, history };
        let mut trainer = Trainer::resume(settings, material, state)?;
        trainer.look();
        Ok(trainer)
    }

    /// From where an earlier run stood. The state has the shapes that the settings
    /// ask for.
    pub fn resume(
        settings: &'a Settings,
        material: Material<'a>,
        state: State,
    ) -> Result<Trainer<'a>> {
        settings.validate()?;
        let Material { adjacency, features, contexts, transform } = material;
        let pool = Pool::new(&settings.training, adjacency.nodes() as u32, settings.seed)?;
        if let Negatives::Shuffles(shuffles) = settings.objective.negatives
            && shuffles >= pool.len() as usize
        {
            return Err(Error::setting(
                "objective.negatives",
                shuffles,
                format!("there are {} contexts to train on; choose fewer", pool.len()),
            ));
        }
        let assembler = Assembler::new(
            adjacency,
            features,
            contexts,
            transform,
            settings.encoder.kind,
            &settings.readout,
        );
        let held_out = (!pool.held_out.is_empty())
            .then(|| assembler.batch_for(&settings.encoder, &pool.held_out, &Augmentation::NONE));
        Ok(Trainer {
            settings,
            assembler,
            pool,
            engine: Engine::new(settings, state.encoder, state.moments),
            step: state.step,
            average: state.average,
            history: state.history,
            next: None,
            held_out,
        })
    }

    /// Contexts in a batch: what was asked for, or all there are.
    pub fn batch_size(&self) -> usize {
        self.settings.training.batch.min(self.pool.len() as usize)
    }

    /// Contexts that batches are drawn from.
    pub fn contexts(&self) -> u32 {
        self.pool.len()
    }

    /// Steps taken.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// Where the time of steps went, on the fused path.
    pub fn sections(&self) -> Option<Sections> {
        match &self.engine {
            Engine::Fused(fused) => Some(fused.sections()),
            Engine::General(_) => None,
        }
    }

    /// Takes one step; nothing once all are taken.
    pub fn advance(&mut self) -> Result<Option<StepReport>> {
        let training = &self.settings.training;
        if self.step == training.steps {
            return Ok(None);
        }
        let step = self.step + 1;
        let prepared = match self.next.take() {
            Some(prepared) => prepared,
            None => prepare(self.settings, &self.assembler, &self.pool, step),
        };
        let adam = Adam::at(&self.settings.optimizer, step, training.steps);
        // The next batch is put together while this one trains.
        let (settings, assembler, pool) = (self.settings, &self.assembler, &self.pool);
        let engine = &mut self.engine;
        let (outcome, next) = rayon::join(
            || engine.step(settings, &prepared.batch, &prepared.pairs, &adam),
            || (step < training.steps).then(|| prepare(settings, assembler, pool, step + 1)),
        );
        self.next = next;
        let Outcome { loss, retrieval } = outcome;
        if !loss.is_finite() {
            return Err(diverged(step, self.settings.optimizer.rate));
        }
        self.step = step;
        self.update_average();
        let due = step.is_multiple_of(training.look_every) || step == training.steps;
        let look = if due { self.look() } else { None };
        Ok(Some(StepReport { step, loss, retrieval, look }))
    }

    fn update_average(&mut self) {
        let decay = self.settings.training.averaging;
        if decay == 0.0 {
            return;
        }
        let mut now = self.engine.encoder();
        match &mut self.average {
            None => self.average = Some(now),
            Some(average) => {
                // Weights decay^age, scaled to sum to one.
                let share = ((1.0 - decay) / (1.0 - decay.powf(self.step as f64))) as f32;
                for (mean, now) in average.parameters().into_iter().zip(now.parameters()) {
                    let both = mean.values.iter_mut().zip(now.values.iter());
                    both.for_each(|(mean, &now)| *mean += share * (now - *mean));
                }
            }
        }
    }

    /// The parameters that would be kept if training ended here.
    fn present(&self) -> Encoder<f32> {
        self.average.clone().unwrap_or_else(|| self.engine.encoder())
    }

    /// Looks at held-out contexts, where there are any.
    fn look(&mut self) -> Option<Look> {
        let batch = self.held_out.as_ref()?;
        let encoder = self.present();
        let (rows, _) = encoder.forward(batch);
        let summaries = summarize(&self.settings.readout, &rows, &batch.members);
        let margin = match self.settings.objective.kind {
            ObjectiveKind::Margin { margin } => margin,
            _ => 0.5,
        };
        let signals = held_out(
            self.settings.objective.similarity,
            &rows.picked(&batch.centers),
            &summaries,
            margin,
        );
        let look = Look {
            step: self.step,
            hinge: signals.hinge,
            retrieval: signals.retrieval,
            effective_rank: signals.effective_rank,
        };
        self.history.add(self.settings.training.stopping, look, || encoder);
        Some(look)
    }

    /// Everything that a later run needs to go on from here.
    pub fn state(&self) -> State {
        State {
            step: self.step,
            encoder: self.engine.encoder(),
            moments: self.engine.moments(),
            average: self.average.clone(),
            history: self.history.clone(),
        }
    }

    /// Chooses the parameters that are kept.
    pub fn finish(self) -> Result<Trained> {
        let chosen = self.history.chosen(self.settings.training.stopping);
        let mut kept = self.history.snapshots.iter();
        let snapshot = kept.find(|snapshot| Some(snapshot.step) == chosen).cloned();
        let (step, encoder) = match snapshot {
            Some(snapshot) => (snapshot.step, snapshot.encoder),
            None => (self.step, self.present()),
        };
        if !encoder.named().iter().all(|(_, _, values)| values.iter().all(|x| x.is_finite())) {
            return Err(diverged(step, self.settings.optimizer.rate));
        }
        Ok(Trained { encoder, step, looks: self.history.looks })
    }
}

fn diverged(step: u64, rate: f64) -> Error {
    Error::Diverged {
        step,
        remedy: format!(
            "lower the learning rate ({rate} now), raise the warm-up, or scale the features' rows to \
         norm 1"
        ),
    }
}

/// The batch of a step: a function of seed and step.
fn prepare(settings: &Settings, assembler: &Assembler<'_>, pool: &Pool, step: u64) -> Prepared {
    let nodes = pool.draw(settings.training.batch, &mut Stream::new(settings.seed, "batch", step));
    let asked = &settings.augmentation;
    let mut stream = Stream::new(settings.seed, "augmentation", step);
    let (first, second, edge_key) = (stream.bits(), stream.bits(), stream.bits());
    let mask =
        |key| (asked.mask_features > 0.0).then_some(Mask { share: asked.mask_features, key });
    let augmentation = Augmentation {
        centers: mask(if asked.separate_masks { second } else { first }),
        summaries: mask(first),
        drop_edges: asked.drop_edges,
        edge_key,
    };
    let batch = assembler.batch_for(&settings.encoder, &nodes, &augmentation);
    let mut stream = Stream::new(settings.seed, "negatives", step);
    let pairs = draw(settings.objective.negatives, nodes.len(), &mut stream);
    Prepared { batch, pairs }
}
