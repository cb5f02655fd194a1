//! What do rows look like when every node takes part of its neighbours' rows?
//!
//! Â = D̂^-½ (A + I) D̂^-½ with D̂ = 1 + the row sums of A: weights count where the
//! graph has them, and a row of a directed graph has the arcs that leave its node.
//! Rows H (nodes, width) become a polynomial in Â times H, see [`Smoothing`].
//!
//! With G = D̂^-½ H a product is D̂^-½ Â H = D̂⁻¹ (A + I) G: plain sums over neighbours, scaled
//! once a node. So rows are scaled at the start and back at the end, and every step in
//! between takes G to G.
//!
//! Columns do not know of each other, so wide matrices are smoothed some columns at
//! a time: beside the rows there are two matrices of at most 64 columns (three for powers),
//! however wide the rows are. Of a small graph, whose columns fit into a cache, every thread takes
//! columns of its own, in up to three matrices of 32 (`panels`). Each number is summed by one thread, in the order of the node's
//! neighbours: the same bytes either way, for any number of threads and any choice of columns.

mod panels;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::panels::Order;
use super::Adjacency;
use crate::error::{Error, Result};
use crate::math::{Array, Gather, HELD, Matrix, Rest, gather};

/// Columns that are smoothed together. An arc costs 4 bytes to read and a row of
/// these columns 256 to fetch: wider blocks would take memory and win nothing.
const COLUMNS: usize = 64;

/// Nodes that one task takes.
const NODES: usize = 256;

/// Nodes that are not worth sharing.
const TINY: usize = 4096;

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
    /// Pᵏ H with P = D̂⁻¹ (A + I): means over a node and its neighbours, each counting the
    /// same (by its weight), however many neighbours it has itself.
    Walk {
        /// Number of steps.
        steps: u32,
    },
}

impl Smoothing {
    /// Âᵏ H: this many steps and no restart, as in SGC (Wu et al. 2019).
    pub const fn steps(steps: u32) -> Smoothing {
        Smoothing::PageRank { steps, restart: 0.0 }
    }

    /// The same with so many steps more.
    #[must_use]
    pub fn longer(self, by: u32) -> Smoothing {
        match self {
            Smoothing::PageRank { steps, restart } => {
                Smoothing::PageRank { steps: steps.saturating_add(by), restart }
            }
            Smoothing::Powers { steps, weight } => {
                Smoothing::Powers { steps: steps.saturating_add(by), weight }
            }
            Smoothing::Walk { steps } => Smoothing::Walk { steps: steps.saturating_add(by) },
        }
    }

    /// Refuses what cannot be done.
    pub fn validate(&self) -> Result<()> {
        let (steps, share) = match *self {
            Smoothing::PageRank { steps, restart } => (steps, restart),
            Smoothing::Powers { steps, weight } => (steps, weight),
            Smoothing::Walk { steps } => (steps, 0.0),
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
    /// Whether it is the transposed of a graph's.
    turned: bool,
    /// Of a small graph, once it was asked for: arcs in another order, copied.
    order: Option<Arc<OnceLock<Order>>>,
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
        let order = order_of(adjacency);
        Smoother { adjacency: adjacency.clone(), scale: scale.into(), turned: false, order }
    }

    /// Âᵀ, and Pᵀ. The arcs of a directed graph are copied, turned round.
    #[must_use]
    pub fn transposed(&self) -> Smoother {
        let (adjacency, order) = match self.adjacency.directed {
            true => {
                let reversed = reversed(&self.adjacency);
                let order = order_of(&reversed);
                (reversed, order)
            }
            false => (self.adjacency.clone(), self.order.clone()),
        };
        Smoother { adjacency, scale: self.scale.clone(), turned: !self.turned, order }
    }

    /// Columns that are best smoothed together: of a small graph some for each thread.
    pub fn columns(&self) -> usize {
        COLUMNS * if self.order.is_some() { rayon::current_num_threads() } else { 1 }
    }

    /// Smooths rows, one a node, in place.
    pub fn apply(&self, smoothing: Smoothing, rows: &mut Matrix<f32>) {
        self.apply_to(smoothing, rows, 0..rows.width);
    }

    /// Smooths some columns of rows, one a node, in place.
    pub fn apply_to(&self, smoothing: Smoothing, rows: &mut Matrix<f32>, columns: Range<usize>) {
        assert_eq!(rows.rows, self.adjacency.nodes(), "a row for every node");
        assert!(columns.end <= rows.width, "columns {columns:?} of {}", rows.width);
        let width = columns.len();
        if rows.rows == 0 || width == 0 {
            return;
        }
        // Threads that have no columns of their own would wait, which of a graph that is not
        // tiny takes longer than to share its nodes.
        let shared = width.div_ceil(panels::COLUMNS) < rayon::current_num_threads();
        match &self.order {
            Some(order) if width >= panels::FEWEST && (!shared || rows.rows <= TINY) => {
                let order = order.get_or_init(|| Order::of(&self.adjacency));
                self.apply_by_panels(order, smoothing, rows, columns);
            }
            _ => self.apply_together(smoothing, rows, columns),
        }
    }

    /// The same, threads sharing the nodes.
    fn apply_together(&self, smoothing: Smoothing, rows: &mut Matrix<f32>, columns: Range<usize>) {
        let width = columns.len();
        // Of about equal width, but as registers like it: 100 columns are 64 + 36.
        let block = width.div_ceil(width.div_ceil(COLUMNS)).next_multiple_of(HELD);
        let mut place = Place::default();
        for start in columns.clone().step_by(block) {
            let columns = start..(start + block).min(columns.end);
            self.smoothed(smoothing, rows, columns.clone(), &mut place);
            let lines = rows.values.par_chunks_mut(rows.width).enumerate();
            lines.with_min_len(NODES).for_each(|(node, row)| {
                let back = 1.0 / self.turn(smoothing, node);
                let row = row[columns.clone()].iter_mut();
                row.zip(place.here.row(node)).for_each(|(x, smoothed)| *x = back * smoothed);
            });
        }
    }

    /// [`Smoother::turn`] times some of the columns, smoothed, to `place.here`.
    fn smoothed(
        &self,
        smoothing: Smoothing,
        rows: &Matrix<f32>,
        columns: Range<usize>,
        place: &mut Place,
    ) {
        let width = columns.len();
        let Place { here, there, sum } = place;
        [&mut *here, there].into_iter().for_each(|matrix| reshape(matrix, rows.rows, width));
        let lines = here.values.par_chunks_mut(width).enumerate().with_min_len(NODES);
        lines.for_each(|(node, here)| {
            let (scale, given) = (self.turn(smoothing, node), &rows.row(node)[columns.clone()]);
            here.iter_mut().zip(given).for_each(|(to, x)| *to = scale * x);
        });
        match smoothing {
            Smoothing::PageRank { steps, restart } => {
                let scale = self.scales(1.0 - restart);
                let shares: Vec<f32> = self.scale.iter().map(|x| restart as f32 * x).collect();
                let rest = (restart > 0.0).then_some((&shares[..], rows, columns.start));
                for _ in 0..steps {
                    self.product(here, (&scale, rest), there, None);
                    std::mem::swap(here, there);
                }
            }
            Smoothing::Powers { steps, weight } => {
                let scale = self.scales(1.0);
                let share = ((1.0 - weight) / f64::from(steps)) as f32;
                reshape(sum, rows.rows, width);
                let both = sum.values.iter_mut().zip(&here.values);
                both.for_each(|(sum, x)| *sum = weight as f32 * x);
                for _ in 0..steps {
                    self.product(here, (&scale, None), there, Some((share, &mut *sum)));
                    std::mem::swap(here, there);
                }
                std::mem::swap(here, sum);
            }
            Smoothing::Walk { steps } => {
                let scale = self.scales(1.0);
                for _ in 0..steps {
                    self.product(here, (&scale, None), there, None);
                    std::mem::swap(here, there);
                }
            }
        }
    }

    /// What a node's row is multiplied by at the start, and divided by at the end, so that every
    /// step is D̂⁻¹ (A + I): D̂^-½ for Â, 1 for P, D̂⁻¹ for Pᵀ.
    fn turn(&self, smoothing: Smoothing, node: usize) -> f32 {
        let scale = self.scale[node];
        match (smoothing, self.turned) {
            (Smoothing::PageRank { .. } | Smoothing::Powers { .. }, _) => scale,
            (Smoothing::Walk { .. }, false) => 1.0,
            (Smoothing::Walk { .. }, true) => scale * scale,
        }
    }

    /// This much of D̂⁻¹, (nodes).
    fn scales(&self, share: f64) -> Vec<f32> {
        let scale = |&scale: &f32| (share * f64::from(scale) * f64::from(scale)) as f32;
        self.scale.iter().map(scale).collect()
    }

    /// `to` = scale (A + I) `from` + rest, and as much of it as is said is added to a sum.
    fn product(
        &self,
        from: &Matrix<f32>,
        (scale, rest): (&[f32], Option<Rest<'_, f32>>),
        to: &mut Matrix<f32>,
        sum: Option<(f32, &mut Matrix<f32>)>,
    ) {
        assert_eq!((from.rows, from.width), (to.rows, to.width), "shapes of a step");
        let Adjacency { offsets, neighbours, weights, .. } = &self.adjacency;
        let of =
            Gather { rows: from, offsets, neighbours, weights: weights.as_deref(), scale, rest };
        let size = NODES * from.width.max(1);
        let tasks = to.values.par_chunks_mut(size).enumerate();
        let Some((share, sum)) = sum else {
            return tasks.for_each(|(at, to)| gather(to, at * NODES, &of));
        };
        tasks.zip(sum.values.par_chunks_mut(size)).for_each(|((at, to), sum)| {
            gather(to, at * NODES, &of);
            // While it is in the cache.
            sum.iter_mut().zip(to).for_each(|(sum, power)| *sum += share * *power);
        });
    }
}

/// A place for an order; none of a large graph.
fn order_of(adjacency: &Adjacency) -> Option<Arc<OnceLock<Order>>> {
    Order::suits(adjacency).then(Arc::default)
}

/// What one block of columns after another is smoothed in, (nodes, columns) each.
#[derive(Default)]
struct Place {
    here: Matrix<f32>,
    there: Matrix<f32>,
    /// Of powers.
    sum: Matrix<f32>,
}

/// Another width; what stands in it is written over.
fn reshape(matrix: &mut Matrix<f32>, rows: usize, width: usize) {
    (matrix.rows, matrix.width) = (rows, width);
    matrix.values.resize(rows * width, 0.0);
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
