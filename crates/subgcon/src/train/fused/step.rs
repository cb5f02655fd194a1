//! A step: all tiles forward, the contrast, all tiles backward.

use std::time::Instant;

use rayon::prelude::*;

use super::Fused;
use super::backward::Backward;
use super::forward::{Forward, collect};
use super::layout::{Scratch, TILE};
use crate::batch::{Batch, Inputs};
use crate::contrast::Contrast;
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
        assert_eq!(batch.inputs.width(), self.inputs, "inputs of the layer");
        let start = Instant::now();
        self.plan.look(batch);
        if let Inputs::Dense(x) = &batch.inputs {
            transpose(x, &mut self.transposed);
        }
        let planned = Instant::now();
        let (plan, scratch, level) = (&self.plan, &self.scratch, self.level);
        self.tiles.par_iter_mut().for_each(|tile| {
            let mut own = taken(scratch);
            level.run(Forward { batch, plan, tile, scratch: &mut own });
            given(scratch, own);
        });
        let forward = Instant::now();
        for matrix in [&mut self.centers, &mut self.summaries] {
            matrix.rows = batch.contexts();
            matrix.width = self.width;
            matrix.values.resize(batch.contexts() * self.width, 0.0);
        }
        collect(&self.tiles, self.sigmoid, level, &mut self.centers, &mut self.summaries);
        let collected = Instant::now();
        let contrast = contrast(&self.centers, &self.summaries);
        for d in [&contrast.d_centers, &contrast.d_summaries] {
            let shape = (batch.contexts(), self.width);
            assert_eq!((d.rows, d.width), shape, "derivatives have the shape of their values");
        }
        let contrasted = Instant::now();
        let (contrast, transposed) = (&contrast, &self.transposed[..]);
        let summaries = self.sigmoid.then_some(&self.summaries);
        self.tiles.par_iter_mut().enumerate().for_each(|(at, tile)| {
            let mut own = taken(scratch);
            let start = at * TILE;
            let scratch_of = &mut own;
            level.run(Backward {
                batch,
                plan,
                contrast,
                summaries,
                transposed,
                adam,
                start,
                tile,
                scratch: scratch_of,
            });
            given(scratch, own);
        });
        let nanos = |from: Instant, to: Instant| (to - from).as_nanos() as u64;
        let sections = &mut self.sections;
        sections.plan += nanos(start, planned);
        sections.collect += nanos(forward, collected);
        sections.contrast += nanos(collected, contrasted);
        for tile in &mut self.tiles {
            let [product, aggregate, spread, weights] = std::mem::take(&mut tile.spent);
            sections.product += product;
            sections.aggregate += aggregate;
            sections.spread += spread;
            sections.weights += weights;
        }
        sections.total += start.elapsed().as_nanos() as u64;
        (contrast.loss, contrast.retrieval)
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
