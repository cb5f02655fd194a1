//! Settings, a transform and an encoder: what a model is, and what it makes of a
//! node.

mod company;
mod embed;
mod likeness;
mod means;
mod tiles;

pub use embed::{Embedder, Status};
pub use likeness::Likeness;

use serde::{Deserialize, Serialize};

use crate::config::{BlockSettings, Settings, Source};
use crate::encoder::Encoder;
use crate::error::Result;
use crate::graph::Smoothing;
use crate::train::{Material, Trained};
use crate::transform::Transform;

/// A block of which no more than this is left by likeness has no columns, and one whose rows
/// are no longer has no say in who is like whom.
const LIGHT: f64 = 0.05;

/// Where a model comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Fingerprint of the graph that it was trained on.
    pub graph: String,
    /// Nodes of that graph.
    pub nodes: u64,
    /// Steps that were taken.
    pub steps: u64,
    /// The step that its parameters are from.
    pub step: u64,
}

/// A trained model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// All that was asked for.
    pub settings: Settings,
    /// What is done to features.
    pub transform: Transform,
    /// The same onto directions of the features themselves, where a block has them.
    pub own: Option<Transform>,
    /// From features to rows.
    pub encoder: Encoder<f32>,
    /// Mean row of each output block over the training graph, where it is subtracted.
    pub means: Vec<Option<Vec<f32>>>,
    /// Whether features or edges choose better company in the training graph, where what a
    /// block comes to depends on it.
    pub likeness: Option<Likeness>,
    /// Where it comes from.
    pub provenance: Provenance,
}

impl Model {
    /// Puts a model together, with the means of its output over the graph that it was
    /// trained on, and how alike its nodes are.
    pub fn new(
        settings: &Settings,
        trained: Trained,
        material: Material<'_>,
        graph: &str,
    ) -> Result<Model> {
        let mut model = Model {
            settings: settings.clone(),
            transform: material.transform.clone(),
            own: None,
            encoder: trained.encoder,
            means: vec![None; settings.output.len()],
            likeness: None,
            provenance: Provenance {
                graph: graph.to_owned(),
                nodes: material.adjacency.nodes() as u64,
                steps: settings.training.steps,
                step: trained.step,
            },
        };
        let Material { adjacency, features, transform, .. } = material;
        if settings.output.iter().any(BlockSettings::needs_likeness) {
            model.likeness = Some(Likeness::of(adjacency, features, transform));
        }
        if model.needs_own() {
            let width = model.own_width();
            model.own = Some(transform.own(features, adjacency, width, settings.seed)?);
        }
        model.means = means::means(&model, material, |_| true)?;
        Ok(model)
    }

    /// The same from another step of the same training: what does not depend on the encoder
    /// is not found again.
    pub fn at(&self, trained: Trained, material: Material<'_>) -> Result<Model> {
        let mut model = self.clone();
        model.encoder = trained.encoder;
        model.provenance.step = trained.step;
        let learnt = |at: usize| self.settings.output[at].source == Source::Encoder;
        let found = means::means(&model, material, learnt)?;
        let pairs = found.into_iter().zip(&self.means).enumerate();
        let kept = pairs.map(|(at, (new, old))| if learnt(at) { new } else { old.clone() });
        model.means = kept.collect();
        Ok(model)
    }

    /// Columns of one output block; none where likeness leaves next to nothing of it.
    pub fn block_width(&self, block: usize) -> usize {
        if self.likeness.is_some_and(|likeness| self.settings.output[block].is_nothing(likeness)) {
            return 0;
        }
        match self.settings.output[block].source {
            Source::Encoder => self.settings.encoder.width,
            Source::Features | Source::Projected => self.transform.output_width(),
            Source::Own => self.own_width(),
            Source::Random => self.settings.output[block].columns,
        }
    }

    /// Whether a block that has columns is made of features in directions of their own.
    pub fn needs_own(&self) -> bool {
        let mut blocks = self.settings.output.iter().enumerate();
        blocks.any(|(at, block)| block.source == Source::Own && self.block_width(at) > 0)
    }

    /// Directions of the features themselves: as many as asked for, or as there can be.
    pub fn own_width(&self) -> usize {
        if self.settings.features.projection.is_none() {
            return self.transform.output_width();
        }
        let nodes = usize::try_from(self.provenance.nodes).unwrap_or(usize::MAX);
        let own = self.settings.output.iter().filter(|block| block.source == Source::Own);
        let asked = own.map(|block| block.columns).max().unwrap_or(0);
        asked.min(self.transform.width).min(nodes)
    }

    /// How an output block is smoothed.
    pub fn block_smoothing(&self, block: usize) -> Option<Smoothing> {
        let block = &self.settings.output[block];
        let noisy = self.likeness.is_some_and(|likeness| likeness.is_noise());
        let more = if noisy { block.noisy_steps } else { 0 };
        block.smoothing.map(|smoothing| smoothing.longer(more))
    }

    /// What the rows of an output block are multiplied with.
    pub fn block_weight(&self, block: usize) -> f64 {
        let block = &self.settings.output[block];
        let weight = match self.likeness {
            Some(likeness) => block.weight_by(likeness),
            None => block.weight,
        };
        if self.transform.width >= block.few_columns {
            return weight;
        }
        weight * (self.transform.width as f64 / block.few_columns as f64).sqrt()
    }

    /// Columns of an embedding.
    pub fn width(&self) -> usize {
        (0..self.settings.output.len()).map(|block| self.block_width(block)).sum()
    }
}

impl BlockSettings {
    /// What its rows are multiplied with in a graph of such likeness.
    fn weight_by(&self, likeness: Likeness) -> f64 {
        if self.unlike { self.weight * likeness.plain_weight() } else { self.weight }
    }

    /// Whether likeness leaves so little of it that it gets no columns.
    pub fn is_nothing(&self, likeness: Likeness) -> bool {
        let light = self.unlike && likeness.plain_weight() < LIGHT;
        light || self.noisy_only && !likeness.is_noise()
    }
}

#[cfg(test)]
mod tests;
