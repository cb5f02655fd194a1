//! How badly do weights explain the classes of rows, and which way is better?
//!
//! With scores z = W x + b, W (outputs, width), mean over the rows x of
//!
//! - softmax, y the row's class: ln Σ_k e^(z_k) − z_y, whose derivative by z is
//!   softmax(z) − 1_y;
//! - sigmoid, y_k ∈ {0, 1} for each output: Σ_k ln(1 + e^(z_k)) − y_k z_k, whose
//!   derivative is σ(z) − y.
//!
//! Rows go through in blocks that stay in cache between Z = X Wᵀ and d_W = d_Zᵀ X:
//! each row is read from memory once a pass. Products and sums over a few hundred rows
//! are in `T`, all other sums in f64. Scores as (outputs, rows) would take six times as
//! long: the long operand would be packed for every product.

use std::ops::Range;

use rayon::prelude::*;

use crate::math::{FEW, Matrix, ROWS, Real, View, Write, add_scores, add_sums, gemm_slice};
use crate::rng::mix;

/// Rows of a block at most.
const BLOCK: usize = 256;
/// Multiplications of a block's product where that leaves it rows enough: larger ones
/// are cut by [`gemm_slice`] along the outputs, of which there are few.
const PRODUCT: usize = (1 << 20) - 1;
/// Numbers of a block where outputs are few: they stay in the second cache, unless [`ROWS`] rows do not.
const CACHED: usize = 100_000;
/// Parts that rows are cut into for threads at most, however many there are.
const PARTS: usize = 64;
/// Rows by whose curvature the first step is measured.
const FIRST: usize = 64;
/// Stretches of a part at least: sums of each part are written and read once more.
const STRETCHES: usize = 2;
/// Rows whose derivatives are added up in `T`, or as many fewer as make whole blocks.
const STRETCH: usize = 512;

/// What rows belong to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Targets<'a> {
    /// One class a row.
    Classes(&'a [u32]),
    /// (rows, outputs) of 0 or 1.
    Members(&'a [u8]),
}

/// Rows, what they belong to, and what weights are to tell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Likelihood<'a> {
    /// (rows, width).
    pub(super) rows: &'a Matrix<f32>,
    pub(super) targets: Targets<'a>,
    pub(super) outputs: usize,
    /// Only these rows count, each with its target; all of them where there is no list.
    pub(super) some: Option<&'a [u32]>,
}

/// Numbers that rows can be multiplied in.
pub(super) trait Precision: Real {
    /// Products with fewer outputs have a way of their own.
    const FEW: usize;

    /// A block's values in these numbers, in `space` where they are not already.
    fn block<'a>(values: &'a [f32], space: &'a mut Vec<Self>) -> &'a [Self];

    /// That way: Z += X Wᵀ, W (outputs, width).
    fn add_scores(x: &[Self], w: &[Self], outputs: usize, scores: &mut [Self]);

    /// And back: d_W += d_Zᵀ X.
    fn add_sums(x: &[Self], d_scores: &[Self], outputs: usize, d_w: &mut [Self]);
}

impl Precision for f32 {
    const FEW: usize = FEW;

    fn block<'a>(values: &'a [f32], _: &'a mut Vec<f32>) -> &'a [f32] {
        values
    }

    fn add_scores(x: &[f32], w: &[f32], outputs: usize, scores: &mut [f32]) {
        add_scores(x, w, outputs, scores);
    }

    fn add_sums(x: &[f32], d_scores: &[f32], outputs: usize, d_w: &mut [f32]) {
        add_sums(x, d_scores, outputs, d_w);
    }
}

impl Precision for f64 {
    const FEW: usize = 0;

    fn block<'a>(values: &'a [f32], space: &'a mut Vec<f64>) -> &'a [f64] {
        space.clear();
        space.extend(values.iter().map(|&x| f64::from(x)));
        space
    }

    fn add_scores(_: &[f64], _: &[f64], _: usize, _: &mut [f64]) {
        unreachable!("no number of outputs is that few")
    }

    fn add_sums(_: &[f64], _: &[f64], _: usize, _: &mut [f64]) {
        unreachable!("no number of outputs is that few")
    }
}

impl Likelihood<'_> {
    /// Number of rows that count.
    pub(super) fn count(&self) -> usize {
        self.some.map_or(self.rows.rows, <[u32]>::len)
    }

    fn row(&self, at: usize) -> &[f32] {
        self.rows.row(self.some.map_or(at, |some| some[at] as usize))
    }

    /// Number of weights: W row by row, then b.
    pub(super) fn weights(&self) -> usize {
        self.outputs * (self.rows.width + 1)
    }

    /// The mean loss of weights that are all zero.
    pub(super) fn at_zero(&self) -> f64 {
        match self.targets {
            Targets::Classes(_) => (self.outputs as f64).ln(),
            Targets::Members(_) => self.outputs as f64 * 2f64.ln(),
        }
    }

    /// How far to go against a derivative for the loss of some rows with its penalty to be least, as far as its
    /// second derivative at zero weights tells. With the derivative (D, d), D (outputs, width), and
    /// z = D x + d what it scores a row, that is (|D|² + |d|²) / (mean(zᵀ S z) + penalty |D|²),
    /// S = diag(p) − p pᵀ, p = 1 / outputs, or ¼ I for sigmoids. Where numbers are too large to tell, a step of length 1 at the most.
    pub(super) fn first_step(&self, derivative: &[f64], penalty: f64) -> f64 {
        let (outputs, width) = (self.outputs, self.rows.width);
        let squares = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>();
        let length = squares(derivative).sqrt();
        let (w, b) = derivative.split_at(outputs * width);
        let rows = self.count().min(FIRST);
        // Evenly spread: classes may come one after another.
        let spread = (0..rows).map(|at| self.row(at * self.count() / rows));
        let x: Vec<f32> = spread.flatten().copied().collect();
        // Of length 1, as products are in f32.
        let unit =
            |values: &[f64]| values.iter().map(|x| (x / length) as f32).collect::<Vec<f32>>();
        let (w32, b32) = (unit(w), unit(b));
        let mut scores: Vec<f32> = (0..rows).flat_map(|_| b32.iter().copied()).collect();
        add_scores(&x, &w32, outputs, &mut scores);
        let mut curvature = 0.0;
        for z in scores.chunks_exact(outputs) {
            let mean = z.iter().map(|&z| f64::from(z)).sum::<f64>() / outputs as f64;
            let square = z.iter().map(|&z| f64::from(z).powi(2)).sum::<f64>() / outputs as f64;
            curvature += match self.targets {
                Targets::Classes(_) => square - mean * mean,
                Targets::Members(_) => outputs as f64 * square / 4.0,
            };
        }
        let bent = curvature / rows.max(1) as f64 + penalty * squares(w) / (length * length);
        let step = 1.0 / bent;
        if step.is_finite() && step > 0.0 { step } else { 1.0 / length.max(1.0) }
    }

    /// About one row in `share`. Not each `share`-th row: classes may come in turn.
    pub(super) fn sample(&self, share: usize) -> Vec<u32> {
        let drawn = |row: &u32| mix(u64::from(*row)).is_multiple_of(share as u64);
        let rows = u32::try_from(self.rows.rows).expect("rows are nodes, which are 32 bits");
        (0..rows).filter(drawn).collect()
    }

    /// The mean loss; its derivative goes to `gradient`, laid out as the weights.
    pub(super) fn mean<T: Precision>(&self, weights: &[f64], gradient: &mut [f64]) -> f64 {
        assert_eq!((weights.len(), gradient.len()), (self.weights(), self.weights()));
        let count = self.count();
        let (w, b) = weights.split_at(self.outputs * self.rows.width);
        // (width, outputs) for a library's product: so it needs no packing for each block.
        let turned = |at: usize| at % self.outputs * self.rows.width + at / self.outputs;
        let few = self.outputs < T::FEW;
        let w: Vec<T> =
            (0..w.len()).map(|at| T::of(w[if few { at } else { turned(at) }])).collect();
        let b: Vec<T> = b.iter().map(|&b| T::of(b)).collect();
        let stretch = self.stretch::<T>();
        let part = stretch * count.div_ceil(PARTS).div_ceil(stretch).max(STRETCHES);
        let parts: Vec<(f64, Vec<f64>)> = (0..count.div_ceil(part))
            .into_par_iter()
            .map(|at| self.part::<T>(&w, &b, at * part..(at * part + part).min(count)))
            .collect();
        gradient.fill(0.0);
        let mut loss = 0.0;
        // In the order of the parts, whoever was ready first.
        for (part_loss, part) in &parts {
            loss += part_loss;
            gradient.iter_mut().zip(part).for_each(|(g, part)| *g += part);
        }
        let share = 1.0 / count as f64;
        gradient.iter_mut().for_each(|g| *g *= share);
        loss * share
    }

    fn block<T: Precision>(&self) -> usize {
        if self.outputs < T::FEW {
            let fitting = CACHED / self.rows.width.max(1);
            return (fitting.min(BLOCK) / ROWS).max(1) * ROWS;
        }
        let fitting = PRODUCT / (self.outputs * self.rows.width).max(1);
        if fitting < 32 { BLOCK } else { fitting.min(BLOCK) }
    }

    fn stretch<T: Precision>(&self) -> usize {
        (STRETCH / self.block::<T>()).max(1) * self.block::<T>()
    }

    /// Sum of losses and of derivatives over some rows.
    fn part<T: Precision>(&self, w: &[T], b: &[T], range: Range<usize>) -> (f64, Vec<f64>) {
        let (outputs, width) = (self.outputs, self.rows.width);
        let block = self.block::<T>();
        let mut gradient = vec![0.0; outputs * (width + 1)];
        let (sum_w, sum_b) = gradient.split_at_mut(outputs * width);
        let mut scores = vec![T::ZERO; block * outputs];
        let mut d_w = vec![T::ZERO; outputs * width];
        let (mut picked, mut space) = (Vec::new(), Vec::new());
        let mut loss = 0.0;
        let length = self.stretch::<T>();
        for stretch in range.clone().step_by(length) {
            let end = (stretch + length).min(range.end);
            for start in (stretch..end).step_by(block) {
                let rows = start..(start + block).min(end);
                let values = those(self.some, &self.rows.values, width, &rows, &mut picked);
                let values = T::block(values, &mut space);
                let x = View::of(values, rows.len(), width);
                let scores = &mut scores[..rows.len() * outputs];
                scores.chunks_exact_mut(outputs).for_each(|scores| scores.copy_from_slice(b));
                let few = outputs < T::FEW;
                match few {
                    true => T::add_scores(values, w, outputs, scores),
                    false => {
                        gemm_slice(scores, outputs, x, View::of(w, width, outputs), Write::Add);
                    }
                }
                loss += match self.targets {
                    Targets::Classes(of) => {
                        softmax(scores, those(self.some, of, 1, &rows, &mut Vec::new()), outputs)
                    }
                    Targets::Members(of) => {
                        sigmoid(scores, those(self.some, of, outputs, &rows, &mut Vec::new()))
                    }
                };
                let first = start == stretch;
                if few {
                    if first {
                        d_w.fill(T::ZERO);
                    }
                    T::add_sums(values, scores, outputs, &mut d_w);
                } else {
                    let d_scores = View::of(scores, rows.len(), outputs);
                    let write = if first { Write::Set } else { Write::Add };
                    gemm_slice(&mut d_w, width, d_scores.transposed(), x, write);
                }
                for d_scores in scores.chunks_exact(outputs) {
                    sum_b.iter_mut().zip(d_scores).for_each(|(sum, d)| *sum += d.wide());
                }
            }
            sum_w.iter_mut().zip(&d_w).for_each(|(sum, d)| *sum += d.wide());
        }
        (loss, gradient)
    }
}

/// What belongs to some of the rows that count, `each` for a row: where it lies, or picked out into `space`.
fn those<'a, A: Copy>(
    some: Option<&[u32]>,
    of: &'a [A],
    each: usize,
    rows: &Range<usize>,
    space: &'a mut Vec<A>,
) -> &'a [A] {
    let Some(some) = some else { return &of[rows.start * each..rows.end * each] };
    space.clear();
    for &row in &some[rows.clone()] {
        space.extend_from_slice(&of[row as usize * each..][..each]);
    }
    space
}

/// Scores (rows, outputs) become derivatives; gives the sum of losses.
fn softmax<T: Precision>(scores: &mut [T], classes: &[u32], outputs: usize) -> f64 {
    let mut loss = 0.0;
    for (z, &class) in scores.chunks_exact_mut(outputs).zip(classes) {
        let top = z.iter().fold(z[0], |top, &z| if z > top { z } else { top });
        loss += (top - z[class as usize]).wide();
        z.iter_mut().for_each(|z| *z -= top);
    }
    T::exp_all(scores);
    let rows = scores.chunks_mut(TOGETHER * outputs).zip(classes.chunks(TOGETHER));
    for (scores, classes) in rows {
        let mut product = 1.0;
        for (z, &class) in scores.chunks_exact_mut(outputs).zip(classes) {
            let sum = z.iter().fold(T::ZERO, |sum, &z| sum + z);
            product *= sum.wide();
            // Not by a product with 1 / sum: shares add up to 1 more closely, and with them derivatives by b
            // to 0, along which nothing else holds b.
            z.iter_mut().for_each(|z| *z /= sum);
            z[class as usize] -= T::ONE;
        }
        loss += product.ln();
    }
    loss
}

/// Numbers whose logarithms are added up as that of their product: 1 + e^-|z|, at most 2 each, and
/// Σ e^(z − top), at most the number of outputs each, so that 16 of them are below 2^512.
const TOGETHER: usize = 16;

/// As [`softmax`], every output by itself.
fn sigmoid<T: Real>(scores: &mut [T], members: &[u8]) -> f64 {
    let mut loss = 0.0;
    for (z, members) in scores.chunks_mut(TOGETHER).zip(members.chunks(TOGETHER)) {
        let mut product = 1.0;
        for (z, &member) in z.iter_mut().zip(members) {
            let y = if member != 0 { T::ONE } else { T::ZERO };
            // `Real::softplus` and `Real::sigmoid`, which would find this twice.
            let e = (-z.abs()).exp();
            product *= 1.0 + e.wide();
            loss += (z.max(T::ZERO) - y * *z).wide();
            *z = if *z >= T::ZERO { T::ONE } else { e } / (T::ONE + e) - y;
        }
        loss += product.ln();
    }
    loss
}

#[cfg(test)]
mod tests;
