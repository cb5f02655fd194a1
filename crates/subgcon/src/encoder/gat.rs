//! Graph attention (Veličković et al.), heads side by side.
//!
//! y = X W, (units, width), in H heads of D = width / H columns. For each head, over the
//! arcs of row i (its own among them, with weight 1):
//!
//! e_ij = LeakyReLU(a_target · y_i + a_source · y_j), slope 0.2
//! α_ij = w_ij exp(e_ij) / Σ_k w_ik exp(e_ik)
//! z_i = Σ_j α_ij y_j + b, rows = PReLU(z)
//!
//! An edge of weight w counts as w edges would. The dot products are made once a
//! unit, as scores (units, 2 H): source of every head, then target.
//!
//! Backward, with p_ij the argument of LeakyReLU: g_ij = d_z_i · y_j,
//! d_p_ij = α_ij (g_ij − Σ_k α_ik g_ik) LeakyReLU'(p_ij); scores' derivatives are sums of
//! d_p over the arcs that lead there or start there; d_y_j = Σ_i α_ij d_z_i + d_source_j
//! a_source + d_target_j a_target.

use rayon::prelude::*;

use super::alone::{Seen, for_rows};
use super::attention::{LEAK, attend, blend, cut, first};
use super::init::{Draw, SLOPE};
use super::layer::{Fields, FieldsMut, cast};
use super::prelu;
use super::rows::{add_one, add_over_rows, add_scaled, chunk, dot};
use super::source::Source;
use super::spare::Spare;
use super::spread::Reverse;
use crate::batch::Arcs;
use crate::math::{Matrix, Real, Write, gemm};

/// A layer of graph attention.
#[derive(Debug, Clone, PartialEq)]
pub struct Gat<T> {
    /// W, (inputs, width).
    pub weight: Matrix<T>,
    /// a_source, (heads, width / heads).
    pub attention_source: Matrix<T>,
    /// a_target, (heads, width / heads).
    pub attention_target: Matrix<T>,
    /// b, (width).
    pub bias: Vec<T>,
    /// Of PReLU, (width).
    pub slope: Vec<T>,
}

/// What backward needs.
#[derive(Debug)]
pub(super) struct Kept<T> {
    y: Matrix<T>,
    /// (units, 2 heads).
    scores: Matrix<T>,
    /// α, (arcs, heads).
    shares: Vec<T>,
    pub(super) z: Matrix<T>,
}

impl<T: Real> Kept<T> {
    pub(super) fn give_to(self, spare: &mut Spare<T>) {
        [self.y, self.scores, self.z].into_iter().for_each(|matrix| spare.give(matrix));
    }
}

impl<T: Real> Gat<T> {
    pub(super) fn new(inputs: usize, width: usize, heads: usize, draw: &mut Draw) -> Gat<T> {
        assert!(heads > 0 && width.is_multiple_of(heads), "{heads} heads share {width} columns");
        Gat {
            weight: draw.matrix(inputs, width),
            attention_source: draw.matrix(heads, width / heads),
            attention_target: draw.matrix(heads, width / heads),
            bias: vec![T::ZERO; width],
            slope: vec![T::of(SLOPE); width],
        }
    }

    pub(super) fn cast<U: Real>(&self) -> Gat<U> {
        Gat {
            weight: self.weight.cast(),
            attention_source: self.attention_source.cast(),
            attention_target: self.attention_target.cast(),
            bias: cast(&self.bias),
            slope: cast(&self.slope),
        }
    }

    pub(super) fn fields(&self) -> Fields<'_, T> {
        let (width, heads) = (self.bias.len(), self.attention_source.rows);
        vec![
            ("weight", vec![self.weight.rows, width], &self.weight.values),
            ("attention_source", vec![heads, width / heads], &self.attention_source.values),
            ("attention_target", vec![heads, width / heads], &self.attention_target.values),
            ("bias", vec![width], &self.bias),
            ("slope", vec![width], &self.slope),
        ]
    }

    pub(super) fn fields_mut(&mut self) -> FieldsMut<'_, T> {
        vec![
            &mut self.weight.values,
            &mut self.attention_source.values,
            &mut self.attention_target.values,
            &mut self.bias,
            &mut self.slope,
        ]
    }

    pub(super) fn forward(
        &self,
        at: &Source<'_, T>,
        arcs: &Arcs<T>,
        spare: &mut Spare<T>,
    ) -> (Matrix<T>, Kept<T>) {
        let (rows, width, heads) = (at.shown(), self.bias.len(), self.attention_source.rows);
        let mut y = spare.take(at.units(), width);
        at.product(&self.weight, &mut y);
        let scores = self.scores(&y);
        let mut shares = vec![T::ZERO; arcs.heads.len() * heads];
        let (mut z, mut out) = (spare.take(rows, width), spare.take(rows, width));
        let size = chunk(width);
        let parts = cut(&mut shares, arcs, size, heads).into_par_iter();
        let parts = parts.zip(z.values.par_chunks_mut(size * width));
        let parts = parts.zip(out.values.par_chunks_mut(size * width));
        parts.enumerate().for_each(|(part, ((mut shares, z), out))| {
            let pairs = z.chunks_exact_mut(width).zip(out.chunks_exact_mut(width));
            for (row, (z, out)) in (part * size..).zip(pairs) {
                let (drawn_on, weights) = arcs.of(row);
                let units = drawn_on.iter().map(|&j| at.unit(j as usize));
                let own = first(&mut shares, weights.len() * heads);
                attend(&scores, at.unit(row), units.clone(), weights, own);
                z.copy_from_slice(&self.bias);
                blend(&y, &units, own, z);
                prelu::row(z, &self.slope, out);
            }
        });
        (out, Kept { y, scores, shares, z })
    }

    /// a_source · y and a_target · y of every head, (units, 2 heads).
    fn scores(&self, y: &Matrix<T>) -> Matrix<T> {
        let (heads, width) = (self.attention_source.rows, self.attention_source.width);
        let mut scores = Matrix::zeros(y.rows, 2 * heads);
        for_rows(&mut scores, |unit, scores| {
            let (source, target) = scores.split_at_mut(heads);
            for (head, y) in y.row(unit).chunks_exact(width).enumerate() {
                source[head] = dot(y, self.attention_source.row(head));
                target[head] = dot(y, self.attention_target.row(head));
            }
        });
        scores
    }

    /// Adds to the derivatives by weights and attention; returns that by the source
    /// where it is asked for.
    pub(super) fn backward(
        &self,
        (at, kept): (&Source<'_, T>, &Kept<T>),
        (arcs, reverse): (&Arcs<T>, &Reverse),
        d_z: Matrix<T>,
        d: &mut Gat<T>,
        wants_source: bool,
        spare: &mut Spare<T>,
    ) -> Option<Matrix<T>> {
        let (width, heads) = (d_z.width, self.attention_source.rows);
        let d_p = d_arguments(at, kept, arcs, &d_z, heads);
        let mut d_scores = Matrix::zeros(at.units(), 2 * heads);
        let mut d_y = spare.take(at.units(), width);
        let size = chunk(width);
        let parts = d_y.values.par_chunks_mut(size * width);
        let parts = parts.zip(d_scores.values.par_chunks_mut(size * 2 * heads));
        parts.enumerate().for_each(|(part, (d_y, d_scores))| {
            let pairs = d_y.chunks_exact_mut(width).zip(d_scores.chunks_exact_mut(2 * heads));
            for (unit, (d_y, d_scores)) in (part * size..).zip(pairs) {
                let unit = unit as u32;
                let rows = at.rows_of(&unit);
                self.unit_backward(rows, (arcs, reverse), (&d_z, &d_p, kept), d_scores, d_y);
            }
        });
        spare.give(d_z);
        let d_attention = [&mut d.attention_source, &mut d.attention_target];
        for (side, d_attention) in d_attention.into_iter().enumerate() {
            let head_width = d_attention.width;
            add_over_rows(&mut d_attention.values, at.units(), |units, sums| {
                for unit in units {
                    let d_scores = &d_scores.row(unit)[side * heads..][..heads];
                    let parts = sums.chunks_exact_mut(head_width).zip(d_scores);
                    for ((sum, &scale), y) in parts.zip(kept.y.row(unit).chunks_exact(head_width)) {
                        add_one(sum, (scale, y));
                    }
                }
            });
        }
        at.add_d_weight(&d_y, &mut d.weight);
        let d_source = wants_source.then(|| {
            let mut d_source = spare.take(at.units(), self.weight.rows);
            gemm(&mut d_source, d_y.view(), self.weight.view().transposed(), Write::Set);
            d_source
        });
        spare.give(d_y);
        d_source
    }

    /// Derivatives by one unit's scores and y, from all arcs at the rows that show it.
    fn unit_backward(
        &self,
        rows: &[u32],
        (arcs, reverse): (&Arcs<T>, &Reverse),
        (d_z, d_p, kept): (&Matrix<T>, &[T], &Kept<T>),
        d_scores: &mut [T],
        d_y: &mut [T],
    ) {
        let (heads, head_width) = (self.attention_source.rows, self.attention_source.width);
        let (d_source, d_target) = d_scores.split_at_mut(heads);
        let drawn_by = rows.iter().flat_map(|&row| reverse.of(row as usize));
        let starting = rows.iter().flat_map(|&row| {
            arcs.offsets[row as usize] as usize..arcs.offsets[row as usize + 1] as usize
        });
        for (head, d_y) in d_y.chunks_exact_mut(head_width).enumerate() {
            let columns = head * head_width..(head + 1) * head_width;
            d_source[head] = drawn_by.clone().map(|(_, arc)| d_p[arc * heads + head]).sum();
            d_target[head] = starting.clone().map(|arc| d_p[arc * heads + head]).sum();
            d_y.fill(T::ZERO);
            let terms = drawn_by.clone().map(|(tail, arc)| {
                (kept.shares[arc * heads + head], &d_z.row(tail)[columns.clone()])
            });
            add_scaled(d_y, terms);
            add_one(d_y, (d_source[head], self.attention_source.row(head)));
            add_one(d_y, (d_target[head], self.attention_target.row(head)));
        }
    }

    /// Some rows before bias and PReLU, each by itself.
    pub(super) fn alone(
        &self,
        seen: &Seen<'_, T>,
        arcs: &Arcs<T>,
        wanted: &[u32],
        spare: &mut Spare<T>,
    ) -> Matrix<T> {
        let (y, place) = seen.weighted(wanted, arcs, &self.weight, spare);
        let scores = self.scores(&y);
        let mut z = spare.take(wanted.len(), y.width);
        for_rows(&mut z, |at, z| {
            z.fill(T::ZERO);
            let (drawn_on, weights) = arcs.of(wanted[at] as usize);
            let places = drawn_on.iter().map(|&j| place[j as usize] as usize);
            let mut shares = vec![T::ZERO; weights.len() * self.attention_source.rows];
            let own = place[wanted[at] as usize] as usize;
            attend(&scores, own, places.clone(), weights, &mut shares);
            blend(&y, &places, &shares, z);
        });
        spare.give(y);
        z
    }
}

/// d_p, (arcs, heads).
fn d_arguments<T: Real>(
    at: &Source<'_, T>,
    kept: &Kept<T>,
    arcs: &Arcs<T>,
    d_z: &Matrix<T>,
    heads: usize,
) -> Vec<T> {
    let mut d_p = vec![T::ZERO; kept.shares.len()];
    let (size, head_width) = (chunk(d_z.width), d_z.width / heads);
    cut(&mut d_p, arcs, size, heads).into_par_iter().enumerate().for_each(|(part, mut d_p)| {
        for row in part * size..((part + 1) * size).min(d_z.rows) {
            let (drawn_on, _) = arcs.of(row);
            let start = arcs.offsets[row] as usize * heads;
            let own = first(&mut d_p, drawn_on.len() * heads);
            let target = &kept.scores.row(at.unit(row))[heads..];
            for (head, d_z) in d_z.row(row).chunks_exact(head_width).enumerate() {
                let mut mean = T::ZERO;
                for (i, &j) in drawn_on.iter().enumerate() {
                    let y = &kept.y.row(at.unit(j as usize))[head * head_width..][..head_width];
                    let g = dot(d_z, y);
                    own[i * heads + head] = g;
                    mean += kept.shares[start + i * heads + head] * g;
                }
                for (i, &j) in drawn_on.iter().enumerate() {
                    let p = target[head] + kept.scores.row(at.unit(j as usize))[head];
                    let leak = if p > T::ZERO { T::ONE } else { T::of(LEAK) };
                    let d_p = &mut own[i * heads + head];
                    *d_p = kept.shares[start + i * heads + head] * (*d_p - mean) * leak;
                }
            }
        }
    });
    d_p
}
