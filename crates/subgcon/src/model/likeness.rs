//! Where does a node find its like: among its neighbours, or by its features?
//!
//! Smoothing takes the mean over neighbours for what a node is. That is right where a
//! node's features are those of its neighbourhood plus noise, and wrong where neighbours
//! are of other kinds. Without labels, features that were not looked at tell which. Their
//! columns are cut into halves; then, for a node,
//!
//! - its company **by features** are the ten nodes, of those looked at, that are most like it
//!   in one half, and how well they were chosen is the cosine between the node and their
//!   mean in the other half;
//! - its company **by edges** are its neighbours, judged in the same way in the same half.
//!
//! All rows are centred on the mean, scaled to norm 1 and centred again before; rows of
//! zeros, nodes of which nothing is known, stay so. The means over nodes and
//! both halves are the likeness of both companies. Where features are mostly noise, they
//! choose badly and edges choose better, even though neighbours look little alike; where
//! neighbours are of other kinds, it is the other way round.
//!
//! The **slope** is that of the regression of rows on the means of their neighbours,
//! Σ q · m / Σ |m|². Were all that a node has in common with its neighbours a signal s and
//! the rest noise of variance σ² in each of d neighbours, it would be |s|² / (|s|² + σ²/d):
//! near 1 where the mean of neighbours is all signal, as with many of them it can be even
//! though each is little alike.
//!
//! Company by features comes from the nodes that are looked at, a thousand at most, so a
//! graph of very many kinds of nodes looks noisier than it is.
//!
//! What this came to on all graphs at hand is in docs/results.md.

use rayon::prelude::*;

use super::company::most_alike;
use crate::graph::{Adjacency, Features};
use crate::math::{Matrix, Write, gemm};
use crate::transform::Transform;

/// Nodes that are looked at, evenly spread over those with neighbours.
const MOST: usize = 1024;
/// Neighbours of a node that are looked at, evenly spread.
const MOST_NEIGHBOURS: usize = 64;
/// Fewer say nothing.
const FEWEST: usize = 50;
/// Nodes that a node's features choose.
const CHOSEN: usize = 10;
/// Nodes whose neighbours' features are held at once.
const CHUNK: usize = 64;

/// A slope beyond this is as good as this: it has to be written down as a number.
const STEEPEST: f64 = 100.0;

/// Features are trusted above edges where they choose this many times as well.
const BETTER: f64 = 2.0;
/// A likeness that chance may give.
const CHANCE: f64 = 0.02;
/// Where the slope is this or less, neighbours' means are mostly noise.
const GENTLE: f64 = 0.2;
/// Features that choose company no more alike than this say next to nothing.
const NOISE: f64 = 0.04;
/// What a block of plain features is multiplied with at most.
const HEAVIEST: f64 = 8.0;

/// How like a node are those that features and edges choose for it?
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Likeness {
    /// Mean cosine of a node and the nodes that one half of its features chooses, in the
    /// other half.
    pub features: f32,
    /// Mean cosine of a node and its neighbours.
    pub neighbours: f32,
    /// Of the regression of nodes on the means of their neighbours.
    pub slope: f32,
}

impl Likeness {
    /// What a block of plain features is multiplied with: (f / (2 n))⁴, 8 at most, with f and n
    /// the likeness by features and by edges (0 where it is less; what chance may give added
    /// to n), times (0.2 / slope)⁴, 1 at most. Steep, so that it is next to nothing where edges
    /// choose well.
    pub fn plain_weight(&self) -> f64 {
        let [features, neighbours, slope] = self.values().map(f64::from);
        let better = features.max(0.0) / (neighbours.max(0.0) + CHANCE);
        let trust = (better / BETTER).powi(4).min(HEAVIEST);
        if slope <= GENTLE { trust } else { trust * (GENTLE / slope).powi(4) }
    }

    /// Whether one half of the features says next to nothing of the other: what a node itself
    /// says is mostly noise then, and more of its neighbourhood has to speak for it. Not so
    /// where nothing could be compared (exactly 0): too few nodes, or one feature a node.
    pub fn is_noise(&self) -> bool {
        self.features != 0.0 && f64::from(self.features) < NOISE
    }

    /// The three, in the order in which they are written down.
    pub fn values(&self) -> [f32; 3] {
        [self.features, self.neighbours, self.slope]
    }

    /// From what was written down.
    pub fn of_values([features, neighbours, slope]: [f32; 3]) -> Likeness {
        Likeness { features, neighbours, slope }
    }

    /// Of the nodes of a graph. All 0, not known, where fewer than 50 have neighbours.
    pub fn of(adjacency: &Adjacency, features: &Features, transform: &Transform) -> Likeness {
        let sample = sample(adjacency);
        if sample.len() < FEWEST {
            return Likeness::of_values([0.0; 3]);
        }
        let mut own = transform.halves(features, &sample);
        let frames = own.each_mut().map(Frame::fit);
        let chosen: f64 = [0, 1].iter().map(|&half| by_features(&own[1 - half], &own[half])).sum();
        let mut all = ByEdges::default();
        for (chunk, nodes) in sample.chunks(CHUNK).enumerate() {
            all.add(&by_edges(adjacency, features, transform, nodes, chunk * CHUNK, &own, &frames));
        }
        let looks = (2 * sample.len()) as f64;
        let slope = if all.square > 0.0 { all.product / all.square } else { 0.0 };
        // Numbers of an extreme size, not scaled, may have no product.
        let number = |x: f64| if x.is_finite() { x as f32 } else { 0.0 };
        Likeness {
            features: number(chosen / looks),
            neighbours: number(all.cosines / looks),
            slope: number(slope.clamp(-STEEPEST, STEEPEST)),
        }
    }
}

/// What is done to the rows of a half: less the mean, scaled to norm 1, less the mean again.
struct Frame {
    mean: Vec<f32>,
    rest: Vec<f32>,
}

impl Frame {
    /// Learns both means from rows and applies them to these.
    fn fit(rows: &mut Matrix<f32>) -> Frame {
        let first = Frame { mean: mean(rows), rest: vec![0.0; rows.width] };
        let mut scaled = rows.clone();
        (0..rows.rows).for_each(|row| first.apply(scaled.row_mut(row)));
        let frame = Frame { rest: mean(&scaled), ..first };
        (0..rows.rows).for_each(|row| frame.apply(rows.row_mut(row)));
        frame
    }

    fn apply(&self, row: &mut [f32]) {
        // Of a node without features in this half nothing is known.
        if row.iter().all(|&x| x == 0.0) {
            return;
        }
        let whole = dot(row, row) + dot(&self.mean, &self.mean);
        row.iter_mut().zip(&self.mean).for_each(|(x, mean)| *x -= mean);
        let square = dot(row, row);
        // What is left of a difference by rounding is no direction.
        let scale = if square > 1e-10 * whole { (1.0 / square.sqrt()) as f32 } else { 0.0 };
        row.iter_mut().zip(&self.rest).for_each(|(x, rest)| *x = *x * scale - rest);
    }
}

/// Sum over nodes of the cosine, in the half that is judged, between a node and the mean of
/// those that are most like it in the half that chooses.
fn by_features(chooses: &Matrix<f32>, judged: &Matrix<f32>) -> f64 {
    let nodes = chooses.rows;
    let mut products = Matrix::zeros(nodes, nodes);
    gemm(&mut products, chooses.view(), chooses.view().transposed(), Write::Set);
    let cosines: Vec<f64> = (0..nodes)
        .into_par_iter()
        .map(|node| {
            let like = products.row(node);
            // A row without direction chooses nobody.
            if like[node] == 0.0 {
                return 0.0;
            }
            // Itself perhaps among them.
            let found = most_alike(like, CHOSEN + 1).into_iter();
            let mut others: Vec<usize> = found.map(|(_, other)| other as usize).collect();
            others.retain(|&other| other != node);
            others.truncate(CHOSEN);
            // In one order, so that a sum is always the same one.
            others.sort_unstable();
            let mut mean = vec![0f64; judged.width];
            others.iter().for_each(|&other| add(&mut mean, judged.row(other), 1.0));
            cosine(judged.row(node), &mean)
        })
        .collect();
    cosines.iter().sum()
}

/// Sums over nodes and halves.
#[derive(Default)]
struct ByEdges {
    cosines: f64,
    product: f64,
    square: f64,
}

impl ByEdges {
    fn add(&mut self, other: &ByEdges) {
        self.cosines += other.cosines;
        self.product += other.product;
        self.square += other.square;
    }
}

/// The nodes of the sample from place `from` on, beside the means of their neighbours.
fn by_edges(
    adjacency: &Adjacency,
    features: &Features,
    transform: &Transform,
    nodes: &[u32],
    from: usize,
    own: &[Matrix<f32>; 2],
    frames: &[Frame; 2],
) -> ByEdges {
    let near: Vec<Vec<(u32, f64)>> =
        nodes.iter().map(|&node| neighbours(adjacency, node)).collect();
    let mut needed: Vec<u32> = near.iter().flatten().map(|&(other, _)| other).collect();
    needed.sort_unstable();
    needed.dedup();
    let mut rows = transform.halves(features, &needed);
    let mut sums = ByEdges::default();
    for (half, rows) in rows.iter_mut().enumerate() {
        (0..rows.rows).for_each(|row| frames[half].apply(rows.row_mut(row)));
        for (place, near) in near.iter().enumerate() {
            let mut mean = vec![0f64; rows.width];
            for &(other, share) in near {
                let row = needed.partition_point(|&node| node < other);
                add(&mut mean, rows.row(row), share);
            }
            let node = own[half].row(from + place);
            sums.cosines += cosine(node, &mean);
            sums.product += node.iter().zip(&mean).map(|(&q, m)| f64::from(q) * m).sum::<f64>();
            sums.square += mean.iter().map(|m| m * m).sum::<f64>();
        }
    }
    sums
}

/// Nodes that have neighbours, evenly spread.
fn sample(adjacency: &Adjacency) -> Vec<u32> {
    let mut nodes: Vec<u32> =
        spread(adjacency.nodes(), 8 * MOST).into_iter().map(|node| node as u32).collect();
    nodes.retain(|&node| !neighbours(adjacency, node).is_empty());
    spread(nodes.len(), MOST).into_iter().map(|at| nodes[at]).collect()
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

/// Of rows that are not all zeros.
fn mean(rows: &Matrix<f32>) -> Vec<f32> {
    let mut sum = vec![0f64; rows.width];
    let mut count = 0u32;
    for row in (0..rows.rows).map(|row| rows.row(row)) {
        if row.iter().any(|&x| x != 0.0) {
            add(&mut sum, row, 1.0);
            count += 1;
        }
    }
    sum.iter().map(|sum| (sum / f64::from(count.max(1))) as f32).collect()
}

fn add(sum: &mut [f64], row: &[f32], times: f64) {
    sum.iter_mut().zip(row).for_each(|(sum, &x)| *sum += times * f64::from(x));
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

/// 0 where one of them has no direction.
fn cosine(a: &[f32], b: &[f64]) -> f64 {
    let across: f64 = a.iter().zip(b).map(|(&a, b)| f64::from(a) * b).sum();
    let squares = dot(a, a) * b.iter().map(|b| b * b).sum::<f64>();
    if squares > 0.0 { across / squares.sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests;
