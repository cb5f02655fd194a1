//! A step: all tiles forward, the contrast, all tiles backward.

use std::time::Instant;

use rayon::prelude::*;

use super::Fused;
use super::backward::{Backward, Outcome};
use super::forward::{Forward, collect};
use super::layout::{Scratch, TILE};
use super::pairs::{Named, Score};
use crate::batch::{Batch, Inputs};
use crate::contrast::{Contrast, Judged};
use crate::math::Matrix;
use crate::train::Adam;

/// Nanoseconds since the layer was made. What tiles do is added up over threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sections {
    /// Looking at batches.
    pub plan: u64,
    /// X W, over threads.
    pub product: u64,
    /// Along arcs, activation and sums, over threads.
    pub aggregate: u64,
    /// Centers and summaries from tiles.
    pub collect: u64,
    /// The contrast that was handed in.
    pub contrast: u64,
    /// Derivatives back along arcs, over threads.
    pub spread: u64,
    /// Xᵀ d_Y and Adam, over threads.
    pub weights: u64,
    /// Whole steps.
    pub total: u64,
}

impl Fused {
    /// One step on a batch: (loss, retrieval) are the contrast's.
    ///
    /// Panics where a row is a member of two summaries, or the batch has no arcs or
    /// other inputs than the layer: who builds batches never does that.
    pub fn step(
        &mut self,
        batch: &Batch<f32>,
        adam: &Adam<f32>,
        contrast: impl FnOnce(&Matrix<f32>, &Matrix<f32>) -> Contrast<f32>,
    ) -> (f64, f64) {
        let start = Instant::now();
        self.forward(batch, None);
        let forward = Instant::now();
        for matrix in [&mut self.centers, &mut self.summaries] {
            matrix.rows = batch.contexts();
            matrix.width = self.width;
            matrix.values.resize(batch.contexts() * self.width, 0.0);
        }
        let (centers, summaries) = (&mut self.centers, &mut self.summaries);
        collect(&self.tiles, self.sigmoid, self.level, centers, summaries);
        let collected = Instant::now();
        let contrast = contrast(&self.centers, &self.summaries);
        for d in [&contrast.d_centers, &contrast.d_summaries] {
            let shape = (batch.contexts(), self.width);
            assert_eq!((d.rows, d.width), shape, "derivatives have the shape of their values");
        }
        self.sections.collect += (collected - forward).as_nanos() as u64;
        self.sections.contrast += collected.elapsed().as_nanos() as u64;
        let summaries = std::mem::take(&mut self.summaries);
        let seen = self.sigmoid.then_some(&summaries);
        self.backward(batch, adam, Outcome::Plain(&contrast, seen));
        self.summaries = summaries;
        self.sections.total += start.elapsed().as_nanos() as u64;
        (contrast.loss, contrast.retrieval)
    }

    /// As [`Fused::step`], where dot products of the named pairs (center, summary) are all
    /// that the objective looks at: `judge` gets their scores.
    pub fn step_pairs(
        &mut self,
        batch: &Batch<f32>,
        adam: &Adam<f32>,
        pairs: &[(u32, u32)],
        judge: impl FnOnce(&[f32]) -> Judged<f32>,
    ) -> (f64, f64) {
        let start = Instant::now();
        let named = Named { pairs, contexts: batch.contexts(), sigmoid: self.sigmoid };
        self.forward(batch, Some(named));
        let forward = Instant::now();
        let mut scores = vec![0.0; pairs.len()];
        for tile in &self.tiles {
            scores.iter_mut().zip(&tile.scores).for_each(|(score, part)| *score += part);
        }
        let judged = judge(&scores);
        assert_eq!(judged.slopes.len(), pairs.len(), "a derivative for each score");
        self.sections.contrast += forward.elapsed().as_nanos() as u64;
        self.backward(batch, adam, Outcome::Pairs(named, &judged.slopes));
        self.sections.total += start.elapsed().as_nanos() as u64;
        (judged.loss, judged.retrieval)
    }

    fn forward(&mut self, batch: &Batch<f32>, named: Option<Named<'_>>) {
        assert_eq!(batch.inputs.width(), self.inputs, "inputs of the layer");
        let start = Instant::now();
        self.plan.look(batch);
        if let Inputs::Dense(x) = &batch.inputs {
            transpose(x, &mut self.transposed);
        }
        self.sections.plan += start.elapsed().as_nanos() as u64;
        let (plan, scratch, level, width) = (&self.plan, &self.scratch, self.level, self.width);
        self.tiles.par_iter_mut().enumerate().for_each(|(at, tile)| {
            let mut own = taken(scratch);
            level.run(Forward { batch, plan, tile, scratch: &mut own });
            if let Some(named) = named {
                let columns = (width - at * TILE).min(TILE);
                level.run(Score { named, columns, tile, scratch: &mut own });
            }
            given(scratch, own);
        });
    }

    fn backward(&mut self, batch: &Batch<f32>, adam: &Adam<f32>, outcome: Outcome<'_>) {
        let (plan, scratch, level, width) = (&self.plan, &self.scratch, self.level, self.width);
        let transposed = &self.transposed[..];
        self.tiles.par_iter_mut().enumerate().for_each(|(at, tile)| {
            let mut own = taken(scratch);
            let start = at * TILE;
            let columns = (width - start).min(TILE);
            let scratch = &mut own;
            level.run(Backward {
                batch,
                plan,
                outcome,
                transposed,
                adam,
                start,
                columns,
                tile,
                scratch,
            });
            given(&self.scratch, own);
        });
        for tile in &mut self.tiles {
            let [product, aggregate, spread, weights] = std::mem::take(&mut tile.spent);
            self.sections.product += product;
            self.sections.aggregate += aggregate;
            self.sections.spread += spread;
            self.sections.weights += weights;
        }
    }
}

/// Buffers that no thread uses now.
fn taken(scratch: &std::sync::Mutex<Vec<Scratch>>) -> Scratch {
    scratch.lock().expect("no thread panics while it holds the list").pop().unwrap_or_default()
}

fn given(scratch: &std::sync::Mutex<Vec<Scratch>>, own: Scratch) {
    scratch.lock().expect("no thread panics while it holds the list").push(own);
}

/// Columns as rows, by squares that fit the cache.
fn transpose(x: &Matrix<f32>, to: &mut Vec<f32>) {
    const SQUARE: usize = 16;
    let (rows, width) = (x.rows, x.width);
    to.resize(rows * width, 0.0);
    if to.is_empty() {
        return;
    }
    to.par_chunks_mut(SQUARE * rows).enumerate().for_each(|(at, to)| {
        let first = at * SQUARE;
        for row in 0..rows {
            let from = &x.row(row)[first..width.min(first + SQUARE)];
            from.iter().enumerate().for_each(|(column, &value)| to[column * rows + row] = value);
        }
    });
}
