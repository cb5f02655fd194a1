//! What do rows look like when every node takes part of its neighbours' rows?
//!
//! Â = D̂^-½ (A + I) D̂^-½ with D̂ = 1 + the row sums of A: weights count where the
//! graph has them, and a row of a directed graph has the arcs that leave its node.
//! Rows H (nodes, width) become a polynomial in Â times H, see [`Smoothing`].
//!
//! Columns do not know of each other, so wide matrices are smoothed some columns at
//! a time: beside the rows there are two matrices of at most 64 columns, however wide
//! the rows are. Each number is summed by one thread, in the order of the node's
//! neighbours: the same bytes for any number of threads and any choice of columns.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Adjacency;
use crate::error::{Error, Result};
use crate::math::{Array, Matrix, add_rows};

/// Columns that are smoothed together. An arc costs 4 bytes to read and a row of
/// these columns 256 to fetch: wider blocks would take memory and win nothing.
const COLUMNS: usize = 64;

/// How rows H are smoothed, with Â = D̂^-½ (A + I) D̂^-½.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Smoothing {
    /// H ← (1 − restart) Â H + restart · H₀, this many times.
    #[serde(rename = "pagerank")]
    PageRank {
        /// Number of steps.
        steps: u32,
        /// Share of the original rows.
        restart: f64,
    },
    /// weight · H + (1 − weight) / steps · Σ_{k = 1 … steps} Âᵏ H.
    Powers {
        /// Number of steps.
        steps: u32,
        /// Share of the original rows.
        weight: f64,
    },
}

impl Smoothing {
    /// Refuses what cannot be done.
    pub fn validate(&self) -> Result<()> {
        let (steps, share) = match *self {
            Smoothing::PageRank { steps, restart } => (steps, restart),
            Smoothing::Powers { steps, weight } => (steps, weight),
        };
        if steps == 0 {
            return Err(Error::setting("smoothing.steps", steps, "choose at least 1 step"));
        }
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::setting("smoothing", share, "choose a share between 0 and 1"));
        }
        Ok(())
    }
}

/// Smooths rows, one a node, in place.
pub fn smooth(adjacency: &Adjacency, smoothing: Smoothing, rows: &mut Matrix<f32>) {
    Smoother::new(adjacency).apply(smoothing, rows);
}

/// Â of one graph: an [`Adjacency`] (shared, not copied) and D̂^-½.
#[derive(Debug, Clone)]
pub struct Smoother {
    adjacency: Adjacency,
    /// D̂^-½, (nodes).
    scale: Array<f32>,
}

impl Smoother {
    /// Sums the weights of every node's arcs.
    pub fn new(adjacency: &Adjacency) -> Smoother {
        let scale: Vec<f32> = (0..adjacency.nodes() as u32)
            .into_par_iter()
            .map(|node| {
                let sum = match adjacency.weights(node) {
                    Some(weights) => weights.iter().map(|&weight| f64::from(weight)).sum(),
                    None => adjacency.degree(node) as f64,
                };
                (1.0 / (1.0 + sum).sqrt()) as f32
            })
            .collect();
        Smoother { adjacency: adjacency.clone(), scale: scale.into() }
    }

    /// Âᵀ. The same for an undirected graph; the arcs of a directed one are copied,
    /// turned round.
    #[must_use]
    pub fn transposed(&self) -> Smoother {
        if !self.adjacency.directed {
            return self.clone();
        }
        Smoother { adjacency: reversed(&self.adjacency), scale: self.scale.clone() }
    }

    /// `to` = Â `from`, both (nodes, width).
    pub fn step(&self, from: &Matrix<f32>, to: &mut Matrix<f32>) {
        self.product(from, to, |_, _| ());
    }

    /// Smooths rows, one a node, in place.
    pub fn apply(&self, smoothing: Smoothing, rows: &mut Matrix<f32>) {
        assert_eq!(rows.rows, self.adjacency.nodes(), "a row for every node");
        if rows.values.is_empty() {
            return;
        }
        let width = rows.width;
        // Blocks of about equal width: 65 columns are 33 + 32, not 64 + 1.
        let block = width.div_ceil(width.div_ceil(COLUMNS));
        for start in (0..width).step_by(block) {
            self.apply_to(smoothing, rows, start..(start + block).min(width));
        }
    }

    /// Smooths some of the columns.
    fn apply_to(&self, smoothing: Smoothing, rows: &mut Matrix<f32>, columns: Range<usize>) {
        let mut here = Matrix::zeros(rows.rows, columns.len());
        let mut there = Matrix::zeros(rows.rows, columns.len());
        both(rows, &mut here, &columns, |row, here| here.copy_from_slice(row));
        match smoothing {
            Smoothing::PageRank { steps, restart } => {
                let (restart, keep) = (restart as f32, (1.0 - restart) as f32);
                for _ in 0..steps {
                    self.product(&here, &mut there, |node, out| {
                        let start = &rows.row(node)[columns.clone()];
                        for (out, start) in out.iter_mut().zip(start) {
                            *out = keep * *out + restart * start;
                        }
                    });
                    std::mem::swap(&mut here, &mut there);
                }
                both(rows, &mut here, &columns, |row, here| row.copy_from_slice(here));
            }
            Smoothing::Powers { steps, weight } => {
                let share = ((1.0 - weight) / f64::from(steps)) as f32;
                let weight = weight as f32;
                both(rows, &mut here, &columns, |row, _| {
                    row.iter_mut().for_each(|x| *x *= weight);
                });
                for _ in 0..steps {
                    self.step(&here, &mut there);
                    std::mem::swap(&mut here, &mut there);
                    both(rows, &mut here, &columns, |row, here| {
                        row.iter_mut().zip(here).for_each(|(x, power)| *x += share * *power);
                    });
                }
            }
        }
    }

    /// `to` = Â `from`, each row handed to `finish` while it is at hand.
    fn product(
        &self,
        from: &Matrix<f32>,
        to: &mut Matrix<f32>,
        finish: impl Fn(usize, &mut [f32]) + Sync,
    ) {
        assert_eq!((from.rows, from.width), (to.rows, to.width), "shapes of a step");
        assert_eq!(from.rows, self.adjacency.nodes(), "a row for every node");
        let scale: &[f32] = &self.scale;
        let rows = to.values.par_chunks_mut(from.width.max(1)).enumerate().with_min_len(8);
        rows.for_each(|(node, out)| {
            let own = scale[node];
            out.iter_mut().zip(from.row(node)).for_each(|(out, x)| *out = own * own * x);
            let neighbours = self.adjacency.neighbours(node as u32);
            let arcs = neighbours.iter().map(|&to| (own * scale[to as usize], to as usize));
            match self.adjacency.weights(node as u32) {
                Some(weights) => {
                    let arcs =
                        arcs.zip(weights).map(|((factor, to), weight)| (factor * weight, to));
                    add_rows(out, from, arcs);
                }
                None => add_rows(out, from, arcs),
            }
            finish(node, out);
        });
    }
}

/// Some columns of each row beside a row of as many.
fn both(
    rows: &mut Matrix<f32>,
    block: &mut Matrix<f32>,
    columns: &Range<usize>,
    with: impl Fn(&mut [f32], &mut [f32]) + Sync,
) {
    rows.values
        .par_chunks_mut(rows.width)
        .zip(block.values.par_chunks_mut(block.width))
        .with_min_len(64)
        .for_each(|(row, block)| with(&mut row[columns.clone()], block));
}

/// Every arc turned round. Sources are visited in order, so lists are rising.
fn reversed(adjacency: &Adjacency) -> Adjacency {
    let nodes = adjacency.nodes();
    let mut offsets = vec![0u64; nodes + 1];
    adjacency.neighbours.iter().for_each(|&to| offsets[to as usize + 1] += 1);
    (0..nodes).for_each(|node| offsets[node + 1] += offsets[node]);
    let mut next = offsets.clone();
    let mut neighbours = vec![0u32; adjacency.neighbours.len()];
    let mut weights = adjacency.weights.as_ref().map(|weights| vec![0f32; weights.len()]);
    for node in 0..nodes as u32 {
        let given = adjacency.weights(node);
        for (at, &to) in adjacency.neighbours(node).iter().enumerate() {
            let place = next[to as usize] as usize;
            next[to as usize] += 1;
            neighbours[place] = node;
            if let (Some(weights), Some(given)) = (&mut weights, given) {
                weights[place] = given[at];
            }
        }
    }
    Adjacency {
        offsets: offsets.into(),
        neighbours: neighbours.into(),
        weights: weights.map(Array::from),
        directed: true,
    }
}

#[cfg(test)]
mod tests;
