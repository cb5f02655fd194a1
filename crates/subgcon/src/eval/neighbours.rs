//! Are a node's nearest nodes of its class?
//!
//! Nearness is the cosine (`directions`). All pairs are looked at, in blocks of exact products; of
//! nodes that are equally near, those with smaller numbers come first. Where there are more
//! than `PAIRS`, some of the nodes ask for all.

use rayon::prelude::*;
use serde::Serialize;

use super::checks::{self, Parts, single};
use super::directions::{Directions, cosine_less_one};
use super::metrics;
use crate::error::{Error, Result};
use crate::graph::{Labels, Split};
use crate::math::{Matrix, Write, gemm_slice};
use crate::rng::some_of;

/// Nodes that ask together, and nodes that they ask together.
const ASKING: usize = 256;
const ASKED: usize = 1024;

/// Pairs that figures are found from, those of 32,768 nodes: seconds, or a minute where rows are wide.
const PAIRS: usize = 1 << 30;

/// Nodes that ask however many there are to be asked: a share of them is within two points.
const LEAST: usize = 2048;

/// A near node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour {
    /// Which.
    pub node: u32,
    /// Its cosine, less 1: of near nodes 1 would hide what tells them apart. −1 where either is a row of zeros.
    pub cosine_less_one: f64,
}

/// The `k` nodes among `candidates` that are nearest to each of `nodes`, best first and
/// without the node itself; fewer where there are not so many.
pub fn nearest(
    embeddings: &Matrix<f32>,
    nodes: &[u32],
    candidates: &[u32],
    k: usize,
) -> Vec<Vec<Neighbour>> {
    let directions = Directions::around_the_mean_of(embeddings, candidates);
    let of_block = |asking: &[u32]| {
        let rows = directions.of(asking);
        let mut best: Vec<Vec<Neighbour>> = vec![Vec::with_capacity(k + 1); asking.len()];
        let mut products = Vec::new();
        for candidates in candidates.chunks(ASKED) {
            let columns = directions.of(candidates);
            let count = candidates.len();
            products.resize(asking.len() * count, 0.0);
            gemm_slice(&mut products, count, rows.view(), columns.view().transposed(), Write::Set);
            let rows = asking.iter().zip(&rows.halves).zip(products.chunks(count));
            for (((&node, &half), row), best) in rows.zip(&mut best) {
                let candidates = candidates.iter().zip(&columns.halves).zip(row);
                for ((&candidate, &other), &product) in candidates {
                    if candidate != node {
                        let cosine_less_one = cosine_less_one(half, other, product);
                        offer(best, Neighbour { node: candidate, cosine_less_one }, k);
                    }
                }
            }
        }
        best
    };
    nodes.par_chunks(ASKING).flat_map_iter(of_block).collect()
}

/// Those of `nodes` that ask so many others.
fn asking(nodes: &[u32], others: usize) -> Vec<u32> {
    some_of(nodes, (PAIRS / others.max(1)).max(LEAST))
}

fn before(a: &Neighbour, b: &Neighbour) -> bool {
    let (near, far) = (a.cosine_less_one, b.cosine_less_one);
    near > far || (near == far && a.node < b.node)
}

/// Keeps the first k in order.
fn offer(best: &mut Vec<Neighbour>, new: Neighbour, k: usize) {
    if best.len() == k && best.last().is_none_or(|last| !before(&new, last)) {
        return;
    }
    let place = best.partition_point(|old| before(old, &new));
    best.insert(place, new);
    best.truncate(k);
}

/// What near training nodes say.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NeighbourReport {
    /// Training nodes that vote on each.
    pub k: usize,
    /// Test nodes that were asked about.
    pub test_nodes: usize,
    /// Of the validation nodes, if there are any.
    pub validation_accuracy: Option<f64>,
    /// Of the test nodes.
    pub test_accuracy: f64,
    /// Of the test nodes.
    pub test_macro_f1: f64,
}

/// Gives each validation and test node the class that most of its `k` nearest training
/// nodes have; of classes with as many, the one whose nodes are nearer in sum, then the
/// first. 10 is the usual k. Where there are very many, some of the validation and test nodes.
pub fn neighbour_probe(
    embeddings: &Matrix<f32>,
    labels: &Labels,
    split: &Split,
    k: usize,
) -> Result<NeighbourReport> {
    let classes = single(labels, "a vote of neighbours")?;
    checks::embeddings(embeddings, labels.nodes(), "labels")?;
    let parts = Parts::of(labels, split)?;
    check_k(k, parts.train.len(), "training nodes")?;
    let count = labels.names().len();
    let class_of = |node: u32| classes[node as usize] as u32;
    let answers = |nodes: &[u32]| -> (Vec<u32>, Vec<u32>) {
        let nodes = asking(nodes, parts.train.len());
        let near = nearest(embeddings, &nodes, &parts.train, k);
        let voted = near.iter().map(|near| {
            vote(near.iter().map(|near| (class_of(near.node), near.cosine_less_one)), count)
        });
        (nodes.iter().map(|&node| class_of(node)).collect(), voted.collect())
    };
    let (truth, found) = answers(&parts.test);
    let validation = (!parts.validation.is_empty()).then(|| answers(&parts.validation));
    Ok(NeighbourReport {
        k,
        test_nodes: truth.len(),
        validation_accuracy: validation.map(|(truth, found)| metrics::accuracy(&truth, &found)),
        test_accuracy: metrics::accuracy(&truth, &found),
        test_macro_f1: metrics::f1(&truth, &found).macro_mean,
    })
}

fn vote(near: impl Iterator<Item = (u32, f64)>, classes: usize) -> u32 {
    let mut votes = vec![(0u32, 0f64); classes];
    // Of as many nodes each one less is the same.
    for (class, cosine_less_one) in near {
        votes[class as usize].0 += 1;
        votes[class as usize].1 += cosine_less_one;
    }
    let mut best = 0;
    for class in 1..classes {
        let ((a, near), (b, best_near)) = (votes[class], votes[best]);
        if a > b || (a == b && near > best_near) {
            best = class;
        }
    }
    best as u32
}

/// How alike nodes and those nearest to them are.
#[derive(Debug, Clone, PartialEq)]
pub struct Similarity {
    /// Nodes that were asked: labelled ones, some of them where there are very many.
    pub nodes: usize,
    /// For each k the mean over these nodes of the share of their k nearest labelled nodes that
    /// have their class; none where there are not so many others.
    pub at: Vec<Option<f64>>,
}

/// Sim@k for each of `ks`.
pub fn sim_at(embeddings: &Matrix<f32>, labels: &Labels, ks: &[usize]) -> Result<Similarity> {
    let classes = single(labels, "Sim@k")?;
    checks::embeddings(embeddings, labels.nodes(), "labels")?;
    let labelled: Vec<u32> =
        (0..classes.len() as u32).filter(|&node| classes[node as usize] >= 0).collect();
    if ks.contains(&0) {
        return Err(Error::setting("k", 0, "choose at least 1"));
    }
    let there = labelled.len().saturating_sub(1);
    let asking = asking(&labelled, labelled.len());
    let most = ks.iter().copied().filter(|&k| k <= there).max().unwrap_or(0);
    let near = match most {
        0 => Vec::new(),
        most => nearest(embeddings, &asking, &labelled, most),
    };
    let share = |&k: &usize| {
        let same = |(&node, near): (&u32, &Vec<Neighbour>)| {
            let own = classes[node as usize];
            near[..k].iter().filter(|near| classes[near.node as usize] == own).count()
        };
        let same = || asking.iter().zip(&near).map(same).sum::<usize>() as f64;
        (k <= most).then(|| same() / (k * asking.len()) as f64)
    };
    Ok(Similarity { nodes: asking.len(), at: ks.iter().map(share).collect() })
}

fn check_k(k: usize, there: usize, what: &str) -> Result<()> {
    if (1..=there).contains(&k) {
        return Ok(());
    }
    Err(Error::setting("k", k, format!("there are {there} {what}; choose between 1 and that")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Role;
    use crate::rng::Stream;

    fn points(rows: usize, width: usize) -> Matrix<f32> {
        let mut stream = Stream::new(2, "points", 0);
        Matrix::of(rows, width, (0..rows * width).map(|_| stream.normal() as f32).collect())
    }

    /// All pairs in f64, sorted.
    fn naive(x: &Matrix<f32>, node: u32, candidates: &[u32], k: usize) -> Vec<u32> {
        let dot = |a: u32, b: u32| -> f64 {
            let both = x.row(a as usize).iter().zip(x.row(b as usize));
            both.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
        };
        let cosine = |b: u32| dot(node, b) / (dot(node, node) * dot(b, b)).sqrt();
        let mut all: Vec<u32> = candidates.iter().copied().filter(|&b| b != node).collect();
        all.sort_by(|&a, &b| cosine(b).total_cmp(&cosine(a)));
        all.truncate(k);
        all
    }

    #[test]
    fn blocks_find_what_all_pairs_find_with_any_number_of_threads() {
        let x = points(1500, 9);
        let nodes: Vec<u32> = (0..1500).step_by(2).collect();
        let candidates: Vec<u32> = (0..1500).filter(|node| node % 5 != 1).collect();
        let found = [1, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| nearest(&x, &nodes, &candidates, 7))
        });
        assert_eq!(found[0], found[1]);
        for (&node, near) in nodes.iter().zip(&found[0]).step_by(37) {
            let near: Vec<u32> = near.iter().map(|near| near.node).collect();
            assert_eq!(near, naive(&x, node, &candidates, 7), "{node}");
        }
    }

    #[test]
    fn rows_far_from_zero_have_the_neighbours_that_they_have_in_doubles() {
        // Years beside ratios: all directions are nearly the same one.
        for offset in [1e3, 1e4, 1e5, -1e6] {
            let mut x = points(300, 9);
            x.values.chunks_exact_mut(9).for_each(|row| row[4] += offset);
            // Nodes without anything do not get in the way of the others.
            (0..10).for_each(|node| x.row_mut(29 * node).fill(0.0));
            let nodes: Vec<u32> = (0..300).filter(|node| node % 29 != 0 || *node == 290).collect();
            let all: Vec<u32> = (0..300).collect();
            for (&node, near) in nodes.iter().zip(nearest(&x, &nodes, &all, 5)) {
                let near: Vec<u32> = near.iter().map(|near| near.node).collect();
                assert_eq!(near, naive(&x, node, &nodes, 5), "{offset}: {node}");
            }
        }
    }

    #[test]
    fn equals_come_by_number_and_rows_of_zeros_last() {
        let x = Matrix::of(5, 2, vec![1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 4.0, 0.0, 1.0, 1.0]);
        let near = nearest(&x, &[0, 1], &[0, 1, 2, 3, 4], 9);
        let nodes = |row: usize| near[row].iter().map(|near| near.node).collect::<Vec<_>>();
        assert_eq!(nodes(0), [2, 3, 4, 1]);
        assert_eq!(nodes(1), [0, 2, 3, 4]);
    }

    #[test]
    fn votes_by_hand() {
        let vote = |near: &[(u32, f64)]| vote(near.iter().copied(), 3);
        assert_eq!(vote(&[(1, 0.9), (2, 0.1), (2, 0.1)]), 2);
        assert_eq!(vote(&[(1, 0.9), (2, 0.8), (1, 0.1), (2, 0.3)]), 2);
        assert_eq!(vote(&[(2, 0.5), (1, 0.5)]), 1);
        assert_eq!(vote(&[(2, -0.5), (1, -0.6)]), 2);
    }

    #[test]
    fn of_very_many_nodes_some_ask() {
        let nodes: Vec<u32> = (0..100_000).map(|node| 2 * node).collect();
        assert_eq!(asking(&nodes, 140), nodes);
        assert_eq!(asking(&nodes, 1 << 15).len(), 1 << 15);
        assert_eq!(asking(&nodes, nodes.len()).len(), (1 << 30) / 100_000);
        assert_eq!(asking(&nodes, 1 << 28).len(), 2048);
        assert!(asking(&nodes, 1 << 28).iter().all(|node| nodes.contains(node)));
    }

    /// 40,000 nodes on a line in runs of one class: nearly all have neighbours of their own class,
    /// whoever of them is asked.
    #[test]
    fn those_that_ask_speak_for_all() {
        let count = 40_000;
        let angle = |node: usize| node as f32 / count as f32;
        let x = (0..count).flat_map(|node| [angle(node).cos(), angle(node).sin()]).collect();
        let classes: Vec<Option<i64>> = (0..count).map(|node| Some(node as i64 / 4000)).collect();
        let labels = Labels::from_integers(&classes);
        let found = sim_at(&Matrix::of(count, 2, x), &labels, &[1]).unwrap();
        assert_eq!(found.nodes, (1 << 30) / count);
        assert!(found.at[0].unwrap() > 0.98, "{found:?}");
    }

    #[test]
    fn a_circle_by_hand() {
        // Angles 0, 10, 20 of class 0, 90 and 100 of class 1; 30 has no label.
        let angles = [0f32, 10.0, 20.0, 90.0, 100.0, 30.0];
        let x = angles.iter().flat_map(|a| [a.to_radians().cos(), a.to_radians().sin()]).collect();
        let x = Matrix::of(6, 2, x);
        let labels = Labels::from_integers(&[Some(0), Some(0), Some(0), Some(1), Some(1), None]);
        // Two nearest: class 0 has 2, 2, 2 of its own; class 1 has one each.
        // The nearest one, of those that have a label, is always of the same class.
        let Similarity { nodes, at: found } = sim_at(&x, &labels, &[2, 1]).unwrap();
        assert_eq!(nodes, 5);
        assert!(
            (found[0].unwrap() - 8.0 / 10.0).abs() < 1e-15 && found[1] == Some(1.0),
            "{found:?}"
        );
        let mut split = Split::unused("circle", 6);
        for (node, role) in [(0, Role::Train), (2, Role::Train), (4, Role::Train)] {
            split.assign(node, role).unwrap();
        }
        split.assign(1, Role::Validation).unwrap();
        split.assign(3, Role::Test).unwrap();
        let report = neighbour_probe(&x, &labels, &split, 1).unwrap();
        assert_eq!((report.validation_accuracy, report.test_accuracy), (Some(1.0), 1.0));
        // All three vote: class 0 wins everywhere.
        assert_eq!(neighbour_probe(&x, &labels, &split, 3).unwrap().test_accuracy, 0.0);
        let error = neighbour_probe(&x, &labels, &split, 4).unwrap_err().to_string();
        assert_eq!(error, "k = 4: there are 3 training nodes; choose between 1 and that");
        // Five have a label, so that four others are there.
        let found = sim_at(&x, &labels, &[1, 4, 5]).unwrap().at;
        assert_eq!(
            (found[0], found[1], found[2]),
            (Some(1.0), Some((3.0 * 2.0 + 2.0) / 20.0), None)
        );
        assert!(sim_at(&x, &labels, &[0]).is_err());
    }
}
