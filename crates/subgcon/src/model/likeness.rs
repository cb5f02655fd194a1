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
const HEAVIEST: f64 = 4.0;

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
    /// What a block of plain features is multiplied with: (f / (2 n))⁴, 4 at most, with f and n
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
    pub(super) fn of(
        adjacency: &Adjacency,
        features: &Features,
        transform: &Transform,
    ) -> Likeness {
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
            let mut others: Vec<usize> = (0..nodes).filter(|&other| other != node).collect();
            // Of equals those that come first.
            let order = |&a: &usize, &b: &usize| like[b].total_cmp(&like[a]).then(a.cmp(&b));
            others.select_nth_unstable_by(CHOSEN - 1, order);
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
mod tests {
    use super::*;
    use crate::config::{FeatureSettings, RowScale};
    use crate::context::build;
    use crate::progress::Silent;
    use crate::rng::Stream;

    /// Nodes in classes, numbers that tell the class plus noise, and edges that lead to the class
    /// so many further on or, so often, to any node.
    struct Kind {
        nodes: usize,
        signal: f64,
        further: usize,
        astray: f64,
        weighted: bool,
    }

    const CLASSES: usize = 4;
    const COLUMNS: usize = 12;

    fn made(kind: &Kind) -> (Adjacency, Features) {
        let mut stream = Stream::new(9, "test", kind.nodes as u64);
        let centres: Vec<f64> = (0..CLASSES * COLUMNS).map(|_| stream.normal()).collect();
        let values: Vec<f32> = (0..kind.nodes * COLUMNS)
            .map(|at| {
                let centre = centres[at / COLUMNS % CLASSES * COLUMNS + at % COLUMNS];
                (kind.signal * centre + stream.normal()) as f32
            })
            .collect();
        let mut edges = Vec::new();
        for _ in 0..4 * kind.nodes {
            let from = stream.below(kind.nodes as u64) as usize;
            let to = stream.below((kind.nodes / CLASSES) as u64) as usize * CLASSES;
            let class = (from + kind.further) % CLASSES;
            let any = stream.unit() < kind.astray;
            let to = to + if any { stream.below(CLASSES as u64) as usize } else { class };
            edges.push((from as u32, to as u32, 0.5 + stream.unit() as f32));
        }
        let adjacency = build(kind.nodes, &edges, kind.weighted, false);
        (adjacency, Features::Dense { width: COLUMNS, values: values.into() })
    }

    fn likeness(adjacency: &Adjacency, features: &Features) -> Likeness {
        let settings = FeatureSettings {
            rows: RowScale::Norm(1.0),
            projection: None,
            ..FeatureSettings::default()
        };
        let fit = Transform::fit(&settings, features, adjacency, 0, &Silent).unwrap();
        Likeness::of(adjacency, features, &fit)
    }

    /// As the head of this file says, one number after another.
    fn naive(adjacency: &Adjacency, features: &Features) -> [f64; 3] {
        let Features::Dense { width, values } = features else { unreachable!() };
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let unit = |mut row: Vec<f64>| {
            let norm = dot(&row, &row).sqrt();
            row.iter_mut().for_each(|x| *x /= norm);
            row
        };
        let centred = |rows: Vec<Vec<f64>>| {
            let count = rows.len() as f64;
            let mean = |c: usize| rows.iter().map(|row| row[c]).sum::<f64>() / count;
            let means: Vec<f64> = (0..rows[0].len()).map(mean).collect();
            let less = |row: &Vec<f64>| row.iter().zip(&means).map(|(x, mean)| x - mean).collect();
            rows.iter().map(less).collect::<Vec<Vec<f64>>>()
        };
        let whole = values.chunks(*width).map(|row| unit(row.iter().map(|&x| x.into()).collect()));
        let whole: Vec<Vec<f64>> = whole.collect();
        let halves: Vec<Vec<Vec<f64>>> = [0, 1]
            .iter()
            .map(|&half| {
                let cut = |row: &Vec<f64>| row.iter().skip(half).step_by(2).copied().collect();
                centred(centred(whole.iter().map(cut).collect()).into_iter().map(unit).collect())
            })
            .collect();
        let (mut by_features, mut by_edges, mut product, mut square) = (0.0, 0.0, 0.0, 0.0);
        for half in [0, 1] {
            let (chooses, judged) = (&halves[1 - half], &halves[half]);
            for node in 0..adjacency.nodes() {
                let mean = |members: &[(usize, f64)]| {
                    let column = |c: usize| members.iter().map(|&(n, w)| w * judged[n][c]).sum();
                    (0..judged[0].len()).map(column).collect::<Vec<f64>>()
                };
                let cosine = |mean: &[f64]| {
                    let squares = dot(mean, mean) * dot(&judged[node], &judged[node]);
                    dot(mean, &judged[node]) / squares.sqrt()
                };
                let like = |other: &usize| dot(&chooses[node], &chooses[*other]);
                let mut others: Vec<usize> =
                    (0..adjacency.nodes()).filter(|&n| n != node).collect();
                others.sort_by(|a, b| like(b).total_cmp(&like(a)));
                let chosen: Vec<(usize, f64)> = others[..10].iter().map(|&n| (n, 0.1)).collect();
                by_features += cosine(&mean(&chosen));
                let all = adjacency.neighbours(node as u32);
                let weight = |at: usize| {
                    adjacency.weights(node as u32).map_or(1.0, |weights| f64::from(weights[at]))
                };
                let others: Vec<usize> =
                    (0..all.len()).filter(|&at| all[at] as usize != node).collect();
                let total: f64 = others.iter().map(|&at| weight(at)).sum();
                let near: Vec<(usize, f64)> =
                    others.iter().map(|&at| (all[at] as usize, weight(at) / total)).collect();
                let mean = mean(&near);
                by_edges += cosine(&mean);
                product += dot(&mean, &judged[node]);
                square += dot(&mean, &mean);
            }
        }
        let looks = 2.0 * adjacency.nodes() as f64;
        [by_features / looks, by_edges / looks, product / square]
    }

    #[test]
    fn it_is_what_it_says() {
        for weighted in [false, true] {
            let kind = Kind { nodes: 80, signal: 0.7, further: 0, astray: 0.4, weighted };
            let (adjacency, features) = made(&kind);
            let found = likeness(&adjacency, &features).values();
            for (found, wanted) in found.into_iter().zip(naive(&adjacency, &features)) {
                assert!((f64::from(found) - wanted).abs() < 1e-4, "{found} {wanted}");
            }
        }
    }

    #[test]
    fn noise_is_told_from_unlike_neighbours() {
        let weight = |signal, further, astray| {
            let kind = Kind { nodes: 1200, signal, further, astray, weighted: false };
            let (adjacency, features) = made(&kind);
            let found = likeness(&adjacency, &features);
            (found.plain_weight(), found)
        };
        // Like neighbours; noisy features of like neighbours; neighbours of another class,
        // of any class.
        for (signal, further, astray, least, most, noise) in [
            (2.0, 0, 0.1, 0.0, 0.1, false),
            (0.3, 0, 0.1, 0.0, 0.1, true),
            (1.0, 1, 0.1, 4.0, 4.0, false),
            (1.0, 0, 1.0, 4.0, 4.0, false),
        ] {
            let (weight, found) = weight(signal, further, astray);
            assert!((least..=most).contains(&weight), "{signal} {further} {astray}: {found:?}");
            assert_eq!(found.is_noise(), noise, "{signal} {further} {astray}: {found:?}");
        }
    }

    #[test]
    fn of_rows_without_direction_nothing_is_known() {
        let values: Vec<f32> = (0..600).map(|_| 0.3).collect();
        let edges: Vec<(u32, u32, f32)> = (0..99).map(|node| (node, node + 1, 1.0)).collect();
        let adjacency = build(100, &edges, false, false);
        let features = Features::Dense { width: 6, values: values.into() };
        let found = likeness(&adjacency, &features);
        assert_eq!(found.values(), [0.0; 3]);
        assert_eq!(found.plain_weight(), 0.0);
        assert!(!found.is_noise());
    }

    /// One column, and one of several: halves cannot judge each other.
    #[test]
    fn of_one_feature_a_node_nothing_is_known() {
        let edges: Vec<(u32, u32, f32)> = (0..99).map(|node| (node, node + 1, 1.0)).collect();
        let adjacency = build(100, &edges, false, false);
        for width in [1, 6] {
            let kind = |node: usize| if width == 1 { 0 } else { node * node % width };
            let entry = |at: usize| {
                let value = if width == 1 { (at % 7) as f32 + 1.0 } else { 1.0 };
                if at % width == kind(at / width) { value } else { 0.0 }
            };
            let values: Vec<f32> = (0..100 * width).map(entry).collect();
            let features = Features::Dense { width, values: values.into() };
            let found = likeness(&adjacency, &features);
            assert!(found.features == 0.0 && !found.is_noise(), "{found:?}");
        }
    }

    #[test]
    fn few_nodes_say_nothing() {
        let kind = Kind { nodes: 48, signal: 1.0, further: 0, astray: 0.2, weighted: false };
        let (adjacency, features) = made(&kind);
        assert_eq!(likeness(&adjacency, &features), Likeness::of_values([0.0; 3]));
    }

    #[test]
    fn threads_change_no_bit() {
        let kind = Kind { nodes: 400, signal: 0.7, further: 0, astray: 0.4, weighted: true };
        let (adjacency, features) = made(&kind);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| likeness(&adjacency, &features)).values().map(f32::to_bits)
        };
        assert_eq!(on(1), on(3));
    }

    #[test]
    fn places_are_spread_evenly() {
        assert_eq!(spread(3, 5), [0, 1, 2]);
        assert_eq!(spread(10, 4), [0, 2, 5, 7]);
        assert!(spread(0, 4).is_empty());
        assert_eq!(spread(usize::MAX >> 12, 2), [0, usize::MAX >> 13]);
    }

    #[test]
    fn plain_features_weigh_where_they_choose_better_than_edges() {
        let weight = |values| Likeness::of_values(values).plain_weight();
        // Twice as well as edges: 1; as well: 1/16; badly, or both by chance: next to nothing.
        assert!((weight([0.24, 0.1, 0.1]) - 1.0).abs() < 1e-5);
        assert!((weight([0.12, 0.1, 0.1]) - 1.0 / 16.0).abs() < 1e-6);
        assert!(weight([0.01, 0.0, 0.0]) < 0.01);
        assert_eq!(weight([-0.1, 0.2, 0.5]), 0.0);
        // Neighbours of other kinds: no more than 4.
        assert_eq!(weight([0.5, -0.3, -0.5]), 4.0);
        // But not where neighbours' means are all signal.
        assert!((weight([0.5, 0.0, 0.4]) - 0.25).abs() < 1e-6);
    }
}
