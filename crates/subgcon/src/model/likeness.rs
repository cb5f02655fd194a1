//! How much do a node's neighbours tell of it?
//!
//! Smoothing takes the mean over neighbours for what a node is. That is right where a
//! node's features are those of its neighbourhood plus noise, and wrong where neighbours
//! are of other kinds. Without labels, features tell which: with q_i the features of node
//! i as the encoder gets them, m_i the mean of its neighbours' and μ the mean of all q, the
//! **likeness** is the slope of the regression of q − μ on m − μ,
//!
//! ```text
//! Σ_i (q_i − μ) · (m_i − μ) / Σ_i |m_i − μ|²
//! ```
//!
//! Were all that a node has in common with its neighbours a signal s, and the rest noise
//! of variance σ² in each of d neighbours, it would be |s|² / (|s|² + σ²/d): 1 where the
//! mean of neighbours is all signal, 0 where it is all noise.
//!
//! Seen: 0.46 to 0.97 in nine graphs where smoothed features tell more of classes than
//! plain ones do, 0.02 to 0.35 in Wisconsin, Cornell and Actor, where they tell less
//! (docs/results.md). It is no proof: in PPI it is 0.06, and smoothed features tell more.

use rayon::prelude::*;

use crate::graph::{Adjacency, Features};
use crate::transform::Transform;

/// Nodes that are looked at, evenly spread.
const MOST: usize = 4096;
/// Neighbours of a node that are looked at, evenly spread.
const MOST_NEIGHBOURS: usize = 64;
/// Nodes whose features, and their neighbours', are transformed together; fewer where that
/// would be more numbers than these.
const CHUNK: usize = 256;
const NUMBERS: usize = 1 << 22;

/// A slope beyond this is as good as this: it has to be written down as a number.
const STEEPEST: f64 = 100.0;

/// Where likeness is this or less, plain features weigh as much as their block says.
const LEVEL: f64 = 0.4;

/// What a block of plain features is multiplied with: (0.4 / likeness)⁴, 1 at most. Steep,
/// so that it is next to nothing in graphs of like neighbours. No more than 1, since a
/// small likeness may also come from noise in the features, where smoothing helps most.
pub fn unlike_weight(likeness: f64) -> f64 {
    if likeness <= LEVEL { 1.0 } else { (LEVEL / likeness).powi(4) }
}

/// See above. 0 where no node has a neighbour, or neighbours' means are all the same: nothing
/// is to be learnt from them then.
pub(super) fn likeness(adjacency: &Adjacency, features: &Features, transform: &Transform) -> f64 {
    let sample = spread(adjacency.nodes(), MOST);
    let most = NUMBERS / (MOST_NEIGHBOURS * transform.output_width().max(1));
    let parts: Vec<Sums> = sample
        .par_chunks(most.clamp(1, CHUNK))
        .map(|chunk| Sums::of(chunk, adjacency, features, transform))
        .collect();
    let mut all = Sums::new(transform.output_width());
    parts.iter().for_each(|part| all.add(part));
    all.slope().clamp(-STEEPEST, STEEPEST)
}

/// What a slope is made of, over nodes that have neighbours.
struct Sums {
    nodes: f64,
    /// Σ q and Σ m.
    own: Vec<f64>,
    means: Vec<f64>,
    /// Σ q · m and Σ m · m.
    product: f64,
    square: f64,
}

impl Sums {
    fn new(width: usize) -> Sums {
        let zeros = vec![0.0; width];
        Sums { nodes: 0.0, own: zeros.clone(), means: zeros, product: 0.0, square: 0.0 }
    }

    fn of(
        chunk: &[usize],
        adjacency: &Adjacency,
        features: &Features,
        transform: &Transform,
    ) -> Sums {
        let near = chunk.iter().map(|&node| (node as u32, neighbours(adjacency, node as u32)));
        let near: Vec<(u32, Vec<(u32, f64)>)> = near.filter(|(_, near)| !near.is_empty()).collect();
        let mut needed: Vec<u32> = near.iter().map(|(node, _)| *node).collect();
        needed.extend(near.iter().flat_map(|(_, near)| near.iter().map(|&(other, _)| other)));
        needed.sort_unstable();
        needed.dedup();
        let rows = transform.apply_dense(features, &needed);
        let row = |node: u32| rows.row(needed.partition_point(|&other| other < node));
        let mut sums = Sums::new(transform.output_width());
        for (node, near) in &near {
            let mut mean = vec![0f64; rows.width];
            for &(other, share) in near {
                let line = mean.iter_mut().zip(row(other));
                line.for_each(|(mean, &x)| *mean += share * f64::from(x));
            }
            for (at, (m, &q)) in mean.iter().zip(row(*node)).enumerate() {
                let q = f64::from(q);
                sums.own[at] += q;
                sums.means[at] += m;
                sums.product += q * m;
                sums.square += m * m;
            }
            sums.nodes += 1.0;
        }
        sums
    }

    fn add(&mut self, other: &Sums) {
        self.nodes += other.nodes;
        self.product += other.product;
        self.square += other.square;
        self.own.iter_mut().zip(&other.own).for_each(|(sum, x)| *sum += x);
        self.means.iter_mut().zip(&other.means).for_each(|(sum, x)| *sum += x);
    }

    fn slope(&self) -> f64 {
        // With N nodes: N μ = Σ q, so Σ (q − μ) · (m − μ) = Σ q · m − μ · Σ m.
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let across = dot(&self.own, &self.means) / self.nodes.max(1.0);
        let own = dot(&self.own, &self.own) / self.nodes.max(1.0);
        let square = self.square - 2.0 * across + own;
        // What is left of a difference by rounding is no slope.
        if square > 1e-9 * self.square { (self.product - across) / square } else { 0.0 }
    }
}

/// Some neighbours of a node but itself, with their shares of its mean.
fn neighbours(adjacency: &Adjacency, node: u32) -> Vec<(u32, f64)> {
    let (all, weights) = (adjacency.neighbours(node), adjacency.weights(node));
    let weight = |at: usize| weights.map_or(1.0, |weights| f64::from(weights[at]));
    let mut places = spread(all.len(), MOST_NEIGHBOURS);
    places.retain(|&at| all[at] != node && weight(at) > 0.0);
    let total: f64 = places.iter().map(|&at| weight(at)).sum();
    places.iter().map(|&at| (all[at], weight(at) / total)).collect()
}

/// All of `count` places, or `most` of them, evenly spread.
fn spread(count: usize, most: usize) -> Vec<usize> {
    let taken = count.min(most);
    (0..taken).map(|at| (at as u64 * count as u64 / taken as u64) as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_spread_evenly() {
        assert_eq!(spread(3, 5), [0, 1, 2]);
        assert_eq!(spread(10, 4), [0, 2, 5, 7]);
        assert!(spread(0, 4).is_empty());
        assert_eq!(spread(usize::MAX >> 12, 2), [0, usize::MAX >> 13]);
    }
}
