//! The layer, an objective and Adam as they are defined, in f64, row by row.

use super::cases::{CONTEXTS, Case, INPUTS, start};
use crate::batch::{Batch, Inputs, Units};
use crate::contrast::Contrast;
use crate::math::{Matrix, Real};
use crate::train::fused::Arrays;

/// −ln σ(h_c·s_c) − ln σ(−h_c·s_d) with d the next but two, mean over contexts.
pub(super) fn logistic<T: Real>(centers: &Matrix<T>, summaries: &Matrix<T>) -> Contrast<T> {
    let contexts = centers.rows;
    let mut made = Contrast {
        loss: 0.0,
        retrieval: 0.5,
        d_centers: Matrix::zeros(contexts, centers.width),
        d_summaries: Matrix::zeros(contexts, centers.width),
    };
    for c in 0..contexts {
        for (d, sign) in [(c, 1.0), ((c + 3) % contexts, -1.0)] {
            let pairs = centers.row(c).iter().zip(summaries.row(d));
            let score = sign * pairs.map(|(h, s)| h.wide() * s.wide()).sum::<f64>();
            made.loss += Real::softplus(-score) / contexts as f64;
            let slope = T::of(-sign * Real::sigmoid(-score) / contexts as f64);
            for j in 0..centers.width {
                made.d_centers.row_mut(c)[j] += slope * summaries.row(d)[j];
                made.d_summaries.row_mut(d)[j] += slope * centers.row(c)[j];
            }
        }
    }
    made
}

/// The layer as it is defined: weight, skip (or nothing), bias and slope one after
/// another, each with its moments.
#[derive(Clone)]
pub(super) struct Twin {
    pub(super) case: Case,
    pub(super) values: Vec<f64>,
    pub(super) first: Vec<f64>,
    pub(super) second: Vec<f64>,
}

pub(super) fn flat(arrays: &Arrays) -> Vec<f64> {
    let (weight, skip, bias, slope) = arrays;
    let skip = skip.iter().flat_map(|skip| &skip.values);
    weight.values.iter().chain(skip).chain(bias).chain(slope).map(|&x| f64::from(x)).collect()
}

impl Twin {
    pub(super) fn new(case: Case) -> Twin {
        let values = flat(&start(case));
        Twin { case, first: vec![0.0; values.len()], second: vec![0.0; values.len()], values }
    }

    /// Loss and gradient, from the formulas of the module's header.
    pub(super) fn look(&self, batch: &Batch<f32>) -> (f64, Vec<f64>) {
        let batch = batch.cast::<f64>();
        let (width, rows) = (self.case.width, batch.rows());
        let x: Vec<Vec<f64>> = match &batch.inputs {
            Inputs::Dense(matrix) => (0..matrix.rows).map(|u| matrix.row(u).to_vec()).collect(),
            Inputs::Sparse(sparse) => (0..sparse.offsets.len() - 1)
                .map(|u| {
                    let mut row = vec![0.0; INPUTS];
                    let (columns, values) = sparse.unit(u);
                    columns.iter().zip(values).for_each(|(&c, &value)| row[c as usize] = value);
                    row
                })
                .collect(),
        };
        let shown: Vec<&Vec<f64>> = match &batch.units {
            Units::Same => x.iter().collect(),
            Units::Shown { of_row, .. } => of_row.iter().map(|&u| &x[u as usize]).collect(),
        };
        // Σ_q a(r, q) x_q: aggregating first gives the same z.
        let drawn: Vec<Vec<f64>> = (0..rows)
            .map(|row| {
                let (heads, weights) = batch.arcs.of(row);
                let arcs = || heads.iter().zip(weights);
                (0..INPUTS).map(|f| arcs().map(|(&q, w)| w * shown[q as usize][f]).sum()).collect()
            })
            .collect();
        let (weight, rest) = self.values.split_at(INPUTS * width);
        let (skip, rest) = rest.split_at(if self.case.skip { INPUTS * width } else { 0 });
        let (bias, slope) = rest.split_at(width);
        let mut z = Matrix::<f64>::zeros(rows, width);
        let mut h = Matrix::<f64>::zeros(rows, width);
        for row in 0..rows {
            for j in 0..width {
                let mut sum = bias[j];
                for f in 0..INPUTS {
                    sum += drawn[row][f] * weight[f * width + j];
                    if self.case.skip {
                        sum += shown[row][f] * skip[f * width + j];
                    }
                }
                z.row_mut(row)[j] = sum;
                h.row_mut(row)[j] = if sum <= 0.0 { slope[j] * sum } else { sum };
            }
        }
        let mut centers = Matrix::<f64>::zeros(CONTEXTS, width);
        let mut summaries = Matrix::<f64>::zeros(CONTEXTS, width);
        for c in 0..CONTEXTS {
            centers.row_mut(c).copy_from_slice(h.row(batch.centers[c] as usize));
            let (members, weights) = batch.members.of(c);
            for j in 0..width {
                let pairs = members.iter().zip(weights);
                let sum: f64 = pairs.map(|(&row, w)| w * h.row(row as usize)[j]).sum();
                summaries.row_mut(c)[j] = if self.case.sigmoid { Real::sigmoid(sum) } else { sum };
            }
        }
        let made = logistic(&centers, &summaries);
        let mut d_h = Matrix::<f64>::zeros(rows, width);
        for c in 0..CONTEXTS {
            for j in 0..width {
                d_h.row_mut(batch.centers[c] as usize)[j] += made.d_centers.row(c)[j];
                let s = summaries.row(c)[j];
                let inner = if self.case.sigmoid { s * (1.0 - s) } else { 1.0 };
                let (members, weights) = batch.members.of(c);
                for (&row, w) in members.iter().zip(weights) {
                    d_h.row_mut(row as usize)[j] += w * inner * made.d_summaries.row(c)[j];
                }
            }
        }
        let mut gradient = vec![0.0; self.values.len()];
        let (d_weight, rest) = gradient.split_at_mut(weight.len());
        let (d_skip, rest) = rest.split_at_mut(skip.len());
        let (d_bias, d_slope) = rest.split_at_mut(width);
        for row in 0..rows {
            for j in 0..width {
                let (z, d_h) = (z.row(row)[j], d_h.row(row)[j]);
                let d_z = if z <= 0.0 { slope[j] * d_h } else { d_h };
                d_slope[j] += d_h * z.min(0.0);
                d_bias[j] += d_z;
                for f in 0..INPUTS {
                    d_weight[f * width + j] += drawn[row][f] * d_z;
                    if self.case.skip {
                        d_skip[f * width + j] += shown[row][f] * d_z;
                    }
                }
            }
        }
        (made.loss, gradient)
    }

    /// Adam as its paper has it, with the decay in the gradient.
    pub(super) fn step(&mut self, batch: &Batch<f32>, t: i32) -> f64 {
        let (loss, gradient) = self.look(batch);
        for (at, gradient) in gradient.into_iter().enumerate() {
            let g = gradient + DECAY * self.values[at];
            self.first[at] = BETA1 * self.first[at] + (1.0 - BETA1) * g;
            self.second[at] = BETA2 * self.second[at] + (1.0 - BETA2) * g * g;
            let first = self.first[at] / (1.0 - BETA1.powi(t));
            let second = self.second[at] / (1.0 - BETA2.powi(t));
            self.values[at] -= RATE * first / (second.sqrt() + EPSILON);
        }
        loss
    }
}

/// As f32 has them: 1 − 0.999 differs from its f32 by 1.3e-5 of itself.
pub(super) const BETA1: f64 = 0.9f32 as f64;
pub(super) const BETA2: f64 = 0.999f32 as f64;
pub(super) const RATE: f64 = 0.02;
pub(super) const DECAY: f64 = 0.01;
/// Not tiny: a gradient that is nothing but rounding must not move a parameter far.
pub(super) const EPSILON: f64 = 1e-2;
