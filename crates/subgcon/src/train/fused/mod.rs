//! One step of training a one-layer GCN or GCN + Skip, column by column.
//!
//! With X the features of units (units, inputs), u(r) the unit that row r shows and
//! a(r, q) the weights of arcs:
//!
//! ```text
//! Y = X W, Y' = X W'                            (units, width), once a unit
//! z_r = Σ_q a(r, q) Y_u(q) + Y'_u(r) + b        (rows, width), never stored
//! h_r = max(z_r, 0) + slope · min(z_r, 0)
//! s_c = Σ_r weight_r h_r over members of c, then a sigmoid where asked for
//! ```
//!
//! Only the contrast of centers with summaries crosses columns. So parameters,
//! both moments and everything in between lie in tiles of [`TILE`] columns, and a
//! thread has a tile to itself: no atomics, no copies of gradients, and the same
//! bits whatever the number of threads. What forward keeps for backward is one bit
//! for each z (its sign), and per context z of the center, Σ weight max(z, 0) and
//! Σ weight min(z, 0); the last is what the slope's derivative needs:
//!
//! ```text
//! d_slope = Σ_c d_s_c · Σ_r weight_r min(z_r, 0) + Σ_c d_h_c · min(z_c, 0)
//! d_z_r = (weight_r d_s_c + d_h_c where r is a center) · (1 where z_r > 0, else slope)
//! d_Y_u(q) += a(r, q) d_z_r, d_Y'_u(r) += d_z_r, d_b = Σ_r d_z_r
//! d_W = Xᵀ d_Y, and Adam at once: a gradient by W is never written
//! ```
//!
//! At z = 0 the derivative is that of the negative side, as PyTorch has it: a node without
//! features meets this at the first step, when the bias is 0. Columns that fill up the
//! last tile are zero and stay so: their weights, biases and slopes are 0, so z = 0;
//! their d_s and d_h are set to 0, so every gradient is 0; and Adam moves a zero with
//! zero moments by rate · 0 / (0 + ε) = 0.

mod backward;
mod forward;
mod kernels;
mod layout;
mod pairs;
mod plan;
mod step;
#[cfg(test)]
mod tests;

use std::sync::Mutex;

use crate::math::{Matrix, Simd};
use layout::{Scratch, TILE, Tile};
use plan::Plan;

pub use step::Sections;

/// Weight and skip, (inputs, width), bias and slope, (width); or as many moments.
pub type Arrays = (Matrix<f32>, Option<Matrix<f32>>, Vec<f32>, Vec<f32>);

/// A one-layer GCN in training: parameters and both moments, tile by tile, and the
/// buffers of a step, which are kept from step to step.
#[derive(Debug)]
pub struct Fused {
    inputs: usize,
    width: usize,
    sigmoid: bool,
    level: Simd,
    tiles: Vec<Tile>,
    plan: Plan,
    /// Xᵀ, (inputs, units), where inputs are dense.
    transposed: Vec<f32>,
    /// One for each thread that was ever at work.
    scratch: Mutex<Vec<Scratch>>,
    centers: Matrix<f32>,
    summaries: Matrix<f32>,
    sections: Sections,
}

impl Fused {
    /// From weight and skip, (inputs, width), bias and slope, (width); moments are 0.
    /// `sigmoid` says whether one follows the readout.
    pub fn new(
        weight: &Matrix<f32>,
        skip: Option<&Matrix<f32>>,
        bias: &[f32],
        slope: &[f32],
        sigmoid: bool,
        level: Simd,
    ) -> Fused {
        let (inputs, width) = (weight.rows, weight.width);
        let tiles = (0..width.div_ceil(TILE)).map(|_| Tile::new(inputs, skip.is_some())).collect();
        let mut fused = Fused {
            inputs,
            width,
            sigmoid,
            level,
            tiles,
            plan: Plan::default(),
            transposed: Vec::new(),
            scratch: Mutex::default(),
            centers: Matrix::default(),
            summaries: Matrix::default(),
            sections: Sections::default(),
        };
        fused.put(0, weight, skip, bias, slope);
        fused
    }

    /// The parameters.
    pub fn parameters(&self) -> Arrays {
        self.take(0)
    }

    /// First moments of the parameters.
    pub fn first_moments(&self) -> Arrays {
        self.take(1)
    }

    /// Second moments of the parameters.
    pub fn second_moments(&self) -> Arrays {
        self.take(2)
    }

    /// Puts values of parameters back, as [`Fused::parameters`] gave them.
    pub fn put_parameters(&mut self, (weight, skip, bias, slope): &Arrays) {
        self.put(0, weight, skip.as_ref(), bias, slope);
    }

    /// Puts first moments back, as [`Fused::first_moments`] gave them.
    pub fn put_first_moments(&mut self, (weight, skip, bias, slope): &Arrays) {
        self.put(1, weight, skip.as_ref(), bias, slope);
    }

    /// Puts second moments back, as [`Fused::second_moments`] gave them.
    pub fn put_second_moments(&mut self, (weight, skip, bias, slope): &Arrays) {
        self.put(2, weight, skip.as_ref(), bias, slope);
    }

    /// Time spent so far, by section.
    pub fn sections(&self) -> Sections {
        self.sections
    }

    /// `part` is 0 for values, 1 and 2 for moments.
    fn put(
        &mut self,
        part: usize,
        weight: &Matrix<f32>,
        skip: Option<&Matrix<f32>>,
        bias: &[f32],
        slope: &[f32],
    ) {
        let shape = (self.inputs, self.width);
        assert_eq!((weight.rows, weight.width), shape, "shape of the weight");
        assert!(skip.is_none_or(|skip| (skip.rows, skip.width) == shape), "shape of the skip");
        assert_eq!(
            (bias.len(), slope.len()),
            (self.width, self.width),
            "a bias and slope a column"
        );
        for (at, tile) in self.tiles.iter_mut().enumerate() {
            assert_eq!(tile.skip.is_some(), skip.is_some(), "a skip stays what it is");
            let start = at * TILE;
            tile.weight.part_mut(part).put(weight, start);
            if let (Some(to), Some(skip)) = (&mut tile.skip, skip) {
                to.part_mut(part).put(skip, start);
            }
            tile.bias.part_mut(part)[0].put(&bias[start..]);
            tile.slope.part_mut(part)[0].put(&slope[start..]);
        }
    }

    fn take(&self, part: usize) -> Arrays {
        let mut weight = Matrix::zeros(self.inputs, self.width);
        let skip = self.tiles.first().and_then(|tile| tile.skip.as_ref());
        let mut skip = skip.map(|_| Matrix::zeros(self.inputs, self.width));
        let (mut bias, mut slope) = (vec![0.0; self.width], vec![0.0; self.width]);
        for (at, tile) in self.tiles.iter().enumerate() {
            let start = at * TILE;
            tile.weight.part(part).take(&mut weight, start);
            if let (Some(from), Some(skip)) = (&tile.skip, &mut skip) {
                from.part(part).take(skip, start);
            }
            tile.bias.part(part)[0].take(&mut bias[start..]);
            tile.slope.part(part)[0].take(&mut slope[start..]);
        }
        (weight, skip, bias, slope)
    }
}
