//! Do embeddings know of edges that were held out?
//!
//! Whoever asks holds edges out first ([`hold_out_edges`]), makes contexts and trains on
//! what is left, and compares the scores of held-out edges with those of as many pairs
//! without an edge ([`link_report`]). A score is the dot product of two rows, or their
//! cosine.

use hashbrown::HashSet;
use serde::Serialize;

use super::checks::{self, refuse};
use super::metrics;
use super::rows::length;
use crate::error::{Error, Result};
use crate::graph::Adjacency;
use crate::graph::generate::Permutation;
use crate::math::Matrix;
use crate::rng::Stream;

/// A graph without some of its edges.
#[derive(Debug, Clone)]
pub struct HeldOut {
    /// What is left, on the same nodes.
    pub adjacency: Adjacency,
    /// Held-out edges, rising; the smaller node first where the graph is undirected.
    pub edges: Vec<(u32, u32)>,
    /// As many different pairs that the whole graph does not connect, written so too.
    pub non_edges: Vec<(u32, u32)>,
}

/// Holds out the nearest whole number of edges to `share` of them. Edges of a directed
/// graph go one by one: the opposite of one that is held out may stay.
pub fn hold_out_edges(adjacency: &Adjacency, share: f64, seed: u64) -> Result<HeldOut> {
    if !(share > 0.0 && share < 1.0) {
        return Err(Error::setting("share", share, "choose a number between 0 and 1"));
    }
    let all = adjacency.edges();
    let count = (all as f64 * share).round() as u64;
    if count == 0 || count == all {
        let problem = format!("{share} of {all} edges are {count} edges");
        return Err(refuse("graph", problem, "hold out another share, or take a larger graph"));
    }
    let permutation = Permutation::new(all, &mut Stream::new(seed, "held-out edges", 0));
    let mut at = 0;
    let mut edges = Vec::with_capacity(count as usize);
    for node in 0..adjacency.nodes() as u32 {
        for &other in adjacency.neighbours(node) {
            if adjacency.directed || node < other {
                if permutation.forward(at) < count {
                    edges.push((node, other));
                }
                at += 1;
            }
        }
    }
    let non_edges = non_edges(adjacency, count, seed)?;
    Ok(HeldOut { adjacency: without(adjacency, &edges), edges, non_edges })
}

/// The graph without some edges, which are rising.
fn without(adjacency: &Adjacency, edges: &[(u32, u32)]) -> Adjacency {
    let gone = |node: u32, other: u32| {
        let turned = !adjacency.directed && other < node;
        let edge = if turned { (other, node) } else { (node, other) };
        edges.binary_search(&edge).is_ok()
    };
    let (mut offsets, mut neighbours) = (vec![0u64], Vec::new());
    let mut weights = Vec::new();
    for node in 0..adjacency.nodes() as u32 {
        for (place, &other) in adjacency.neighbours(node).iter().enumerate() {
            if !gone(node, other) {
                neighbours.push(other);
                weights.extend(adjacency.weights(node).map(|weights| weights[place]));
            }
        }
        offsets.push(neighbours.len() as u64);
    }
    Adjacency {
        offsets: offsets.into(),
        neighbours: neighbours.into(),
        weights: adjacency.weights.is_some().then(|| weights.into()),
        directed: adjacency.directed,
    }
}

fn non_edges(adjacency: &Adjacency, count: u64, seed: u64) -> Result<Vec<(u32, u32)>> {
    let nodes = adjacency.nodes() as u64;
    let ordered = nodes * nodes.saturating_sub(1);
    let pairs = if adjacency.directed { ordered } else { ordered / 2 };
    let free = pairs - adjacency.edges();
    if free < count {
        let problem = format!("{free} pairs of nodes without an edge, and {count} are needed");
        return Err(refuse("graph", problem, "hold out a smaller share"));
    }
    let connected = |a: u32, b: u32| adjacency.neighbours(a).binary_search(&b).is_ok();
    let mut stream = Stream::new(seed, "non-edges", 0);
    // Drawing until a new one comes is quick while most pairs will do. Otherwise there
    // are few enough to write them all down.
    if pairs / 4 < adjacency.edges() + count {
        let others = |a: u32| {
            let start = if adjacency.directed { 0 } else { a + 1 };
            (start..nodes as u32).filter(move |&b| a != b).map(move |b| (a, b))
        };
        let mut all: Vec<(u32, u32)> =
            (0..nodes as u32).flat_map(others).filter(|&(a, b)| !connected(a, b)).collect();
        for at in 0..count as usize {
            let other = at + stream.below((all.len() - at) as u64) as usize;
            all.swap(at, other);
        }
        all.truncate(count as usize);
        return Ok(all);
    }
    let (mut seen, mut found) = (HashSet::new(), Vec::with_capacity(count as usize));
    while (found.len() as u64) < count {
        let (a, b) = (stream.below(nodes) as u32, stream.below(nodes) as u32);
        let pair = if adjacency.directed { (a, b) } else { (a.min(b), a.max(b)) };
        if a != b && !connected(pair.0, pair.1) && seen.insert(pair) {
            found.push(pair);
        }
    }
    Ok(found)
}

/// What a pair of rows scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PairScore {
    /// Cosine; 0 with a row of zeros.
    #[default]
    Cosine,
    /// Dot product.
    Dot,
}

/// Scores of pairs of nodes.
pub fn score_pairs(embeddings: &Matrix<f32>, pairs: &[(u32, u32)], by: PairScore) -> Vec<f64> {
    let score = |&(a, b): &(u32, u32)| {
        let (a, b) = (embeddings.row(a as usize), embeddings.row(b as usize));
        let dot: f64 = a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
        match by {
            PairScore::Dot => dot,
            PairScore::Cosine if dot == 0.0 => 0.0,
            PairScore::Cosine => dot / (length(a) * length(b)),
        }
    };
    pairs.iter().map(score).collect()
}

/// How edges rank among pairs without one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LinkReport {
    /// ROC AUC.
    pub auc: f64,
    /// Average precision.
    pub average_precision: f64,
    /// Hits@10, @50 and @100.
    pub hits: [f64; 3],
    /// Mean reciprocal rank.
    pub mrr: f64,
}

/// Compares the scores of edges with those of pairs without one.
pub fn link_report(
    embeddings: &Matrix<f32>,
    edges: &[(u32, u32)],
    non_edges: &[(u32, u32)],
    by: PairScore,
) -> Result<LinkReport> {
    checks::embeddings(embeddings, embeddings.rows, "pairs")?;
    for (thing, pairs) in [("edges", edges), ("non-edges", non_edges)] {
        if pairs.is_empty() {
            return Err(refuse(thing, "there are none to compare", "hold out a larger share"));
        }
        let outside = |&&(a, b): &&(u32, u32)| a.max(b) as usize >= embeddings.rows;
        if let Some((a, b)) = pairs.iter().find(outside) {
            let problem = format!("pair ({a}, {b}), but there are {} rows", embeddings.rows);
            return Err(refuse(thing, problem, "give one row a node, in the graph's order"));
        }
    }
    let truths = score_pairs(embeddings, edges, by);
    let falses = score_pairs(embeddings, non_edges, by);
    let there = "both sides that were checked not to be empty";
    Ok(LinkReport {
        auc: metrics::roc_auc(&truths, &falses).expect(there),
        average_precision: metrics::average_precision(&truths, &falses).expect(there),
        hits: [10, 50, 100].map(|k| metrics::hits_at(k, &truths, &falses).expect(there)),
        mrr: metrics::mean_reciprocal_rank(&truths, &falses).expect(there),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeChunk, EdgeList, EdgeRules, merge};
    use crate::progress::Silent;

    fn graph(nodes: u32, edges: &[(u32, u32)], weighted: bool, directed: bool) -> Adjacency {
        let mut list = EdgeList::new();
        let (sources, targets): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
        let weights = (0..edges.len()).map(|at| at as f32 + 2.0).collect();
        let weights = if weighted { weights } else { Vec::new() };
        list.push(EdgeChunk { sources, targets, weights });
        let mut builder = Adjacency::empty(directed);
        let rules = EdgeRules { directed, ..EdgeRules::default() };
        merge(nodes, list, rules, &mut builder, &Silent).unwrap();
        builder.finish()
    }

    /// A ring with chords.
    fn ring(weighted: bool, directed: bool) -> Adjacency {
        let edges: Vec<(u32, u32)> =
            (0..60).flat_map(|a| [(a, (a + 1) % 60), (a, (a + 7) % 60)]).collect();
        graph(60, &edges, weighted, directed)
    }

    #[test]
    fn what_is_held_out_and_what_is_left_make_the_graph() {
        for (weighted, directed) in [(false, false), (true, false), (true, true), (false, true)] {
            let whole = ring(weighted, directed);
            let held = hold_out_edges(&whole, 0.2, 5).unwrap();
            assert_eq!((held.edges.len(), held.non_edges.len()), (24, 24));
            assert_eq!(held.adjacency.edges() + 24, whole.edges());
            assert_eq!(held.adjacency.nodes(), 60);
            assert_eq!(held.adjacency.directed, directed);
            let place =
                |graph: &Adjacency, a: u32, b: u32| graph.neighbours(a).binary_search(&b).ok();
            for &(a, b) in &held.edges {
                assert!(place(&whole, a, b).is_some() && place(&held.adjacency, a, b).is_none());
                assert!(directed || (a < b && place(&held.adjacency, b, a).is_none()));
            }
            for a in 0..60 {
                for (at, &b) in held.adjacency.neighbours(a).iter().enumerate() {
                    let before = place(&whole, a, b).unwrap();
                    let weight = held.adjacency.weights(a).map(|weights| weights[at]);
                    assert_eq!(weight, whole.weights(a).map(|weights| weights[before]));
                }
            }
            let mut pairs = held.non_edges.clone();
            pairs.sort_unstable();
            pairs.dedup();
            assert_eq!(pairs.len(), 24);
            for &(a, b) in &pairs {
                assert!(a != b && (directed || a < b) && place(&whole, a, b).is_none());
            }
        }
    }

    #[test]
    fn seeds_repeat_and_differ() {
        let draw = |seed| {
            let held = hold_out_edges(&ring(false, false), 0.1, seed).unwrap();
            (held.edges, held.non_edges)
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1).0, draw(2).0);
        assert_ne!(draw(1).1, draw(2).1);
    }

    #[test]
    fn dense_graphs_give_all_the_pairs_they_have() {
        // All pairs of five nodes but (0, 1) and (2, 4): eight edges, two of them out.
        let all = (0..5).flat_map(|a| (a + 1..5).map(move |b| (a, b)));
        let edges: Vec<(u32, u32)> = all.filter(|&pair| pair != (0, 1) && pair != (2, 4)).collect();
        let mut held = hold_out_edges(&graph(5, &edges, false, false), 0.25, 1).unwrap();
        held.non_edges.sort_unstable();
        assert_eq!(held.non_edges, [(0, 1), (2, 4)]);
        let error = hold_out_edges(&graph(5, &edges, false, false), 0.5, 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "graph: 2 pairs of nodes without an edge, and 4 are needed; hold out a smaller share"
        );
        assert!(hold_out_edges(&graph(5, &edges, false, false), 0.01, 1).is_err());
        assert!(hold_out_edges(&graph(5, &edges, false, false), 1.0, 1).is_err());
    }

    #[test]
    fn scores_by_hand() {
        let x = Matrix::of(4, 2, vec![3.0, 4.0, 4.0, 3.0, 0.0, 0.0, -3.0, -4.0]);
        let pairs = [(0, 1), (0, 2), (0, 3)];
        assert_eq!(score_pairs(&x, &pairs, PairScore::Dot), [24.0, 0.0, -25.0]);
        assert_eq!(score_pairs(&x, &pairs, PairScore::Cosine), [0.96, 0.0, -1.0]);
        let report = link_report(&x, &pairs[..1], &pairs[1..], PairScore::Cosine).unwrap();
        assert_eq!((report.auc, report.average_precision, report.mrr), (1.0, 1.0, 1.0));
        assert_eq!(report.hits, [1.0; 3]);
        let report = link_report(&x, &pairs[2..], &pairs[..2], PairScore::Dot).unwrap();
        assert_eq!((report.auc, report.mrr), (0.0, 1.0 / 3.0));
        let error = link_report(&x, &[(0, 4)], &pairs, PairScore::Dot).unwrap_err().to_string();
        assert_eq!(
            error,
            "edges: pair (0, 4), but there are 4 rows; give one row a node, in the graph's order"
        );
        assert!(link_report(&x, &pairs, &[], PairScore::Dot).is_err());
    }
}
