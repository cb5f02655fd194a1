//! Which edges are held out, and which pairs stand beside them?

use hashbrown::HashSet;

use super::checks::refuse;
use crate::error::{Error, Result};
use crate::graph::Adjacency;
use crate::graph::generate::Permutation;
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
    let [edges, _] = drawn_edges(adjacency, [count, 0], seed);
    let non_edges = non_edges(adjacency, count, seed, "hold out a smaller share")?;
    Ok(HeldOut { adjacency: without(adjacency, &edges), edges, non_edges })
}

/// The first of the edges in a random order, and those after them; both rising.
fn drawn_edges(adjacency: &Adjacency, counts: [u64; 2], seed: u64) -> [Vec<(u32, u32)>; 2] {
    let stream = &mut Stream::new(seed, "held-out edges", 0);
    let permutation = Permutation::new(adjacency.edges(), stream);
    let mut drawn = counts.map(|count| Vec::with_capacity(count as usize));
    for (at, (a, b, _)) in adjacency.each_edge().enumerate() {
        let place = permutation.forward(at as u64);
        if place < counts[0] {
            drawn[0].push((a, b));
        } else if place < counts[0] + counts[1] {
            drawn[1].push((a, b));
        }
    }
    drawn
}

/// Edges beside as many pairs that the whole graph does not connect.
#[derive(Debug, Clone, Default)]
pub struct LinkPairs {
    /// Edges, rising.
    pub edges: Vec<(u32, u32)>,
    /// Pairs without an edge, all of a split's being different.
    pub non_edges: Vec<(u32, u32)>,
}

/// A graph whose edges are for training, for choosing, or for the test.
#[derive(Debug, Clone)]
pub struct LinkSplit {
    /// The training edges: all that contexts, training and embedding may see.
    pub adjacency: Adjacency,
    /// Training edges to fit scores on: all, or a random 20,000 of them.
    pub train: LinkPairs,
    /// For choosing how pairs are scored.
    pub validation: LinkPairs,
    /// For the final figures.
    pub test: LinkPairs,
}

/// Training edges that scores are fitted on at most.
const FITTED: u64 = 20_000;

/// Holds out the nearest whole numbers of edges to these shares of them.
pub fn split_edges(
    adjacency: &Adjacency,
    validation: f64,
    test: f64,
    seed: u64,
) -> Result<LinkSplit> {
    for (name, share) in [("validation share", validation), ("test share", test)] {
        if !(share > 0.0 && share < 1.0) {
            return Err(Error::setting(name, share, "choose a number between 0 and 1"));
        }
    }
    let all = adjacency.edges();
    let [valid, tests] = [validation, test].map(|share| (all as f64 * share).round() as u64);
    let left = all.saturating_sub(valid + tests);
    let remedy = match [valid, tests, left] {
        // No shares of so few will do.
        _ if all < 3 => Some("take a larger graph"),
        [0, ..] => {
            Some("hold out a larger share for validation (--validation), or take a larger graph")
        }
        [_, 0, _] => Some("hold out a larger share for the test (--test), or take a larger graph"),
        [.., 0] => Some("hold out smaller shares (--validation, --test), or take a larger graph"),
        _ => None,
    };
    if let Some(remedy) = remedy {
        let problem = format!(
            "of {all} edge{} {valid} would be for validation, {tests} for the test and {left} for \
             training, and each needs one",
            if all == 1 { "" } else { "s" }
        );
        return Err(refuse("graph", problem, remedy));
    }
    let [test, validation] = drawn_edges(adjacency, [tests, valid], seed);
    let mut held_out = [&test[..], &validation].concat();
    held_out.sort_unstable();
    let left = without(adjacency, &held_out);
    let fitted = (all - valid - tests).min(FITTED);
    let [train, _] = drawn_edges(&left, [fitted, 0], seed);
    // Training edges need as many, so that another share would not help.
    let remedy = "take a graph with fewer edges for its nodes";
    let mut others = non_edges(adjacency, tests + valid + fitted, seed, remedy)?;
    let mut take = |edges: Vec<(u32, u32)>| {
        let non_edges = others.split_off(others.len() - edges.len());
        LinkPairs { edges, non_edges }
    };
    let (test, validation, train) = (take(test), take(validation), take(train));
    Ok(LinkSplit { adjacency: left, train, validation, test })
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

fn non_edges(
    adjacency: &Adjacency,
    count: u64,
    seed: u64,
    remedy: &str,
) -> Result<Vec<(u32, u32)>> {
    let nodes = adjacency.nodes() as u64;
    let ordered = nodes * nodes.saturating_sub(1);
    let pairs = if adjacency.directed { ordered } else { ordered / 2 };
    let free = pairs - adjacency.edges();
    if free < count {
        let problem = format!("{free} pairs of nodes without an edge, and {count} are needed");
        return Err(refuse("graph", problem, remedy));
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::graph::{EdgeChunk, EdgeList, EdgeRules, merge};
    use crate::progress::Silent;

    pub(in crate::eval) fn graph(
        nodes: u32,
        edges: &[(u32, u32)],
        weighted: bool,
        directed: bool,
    ) -> Adjacency {
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
    fn held_out_edges_are_gone_from_what_training_sees() {
        for directed in [false, true] {
            let whole = ring(false, directed);
            let split = split_edges(&whole, 0.1, 0.2, 3).unwrap();
            let connected =
                |graph: &Adjacency, a: u32, b: u32| graph.neighbours(a).binary_search(&b).is_ok();
            assert_eq!([split.validation.edges.len(), split.test.edges.len()], [12, 24]);
            assert_eq!(split.adjacency.edges(), 120 - 36);
            assert_eq!(split.train.edges.len(), 84);
            for &(a, b) in split.validation.edges.iter().chain(&split.test.edges) {
                assert!(connected(&whole, a, b) && !connected(&split.adjacency, a, b));
                assert!(directed || !connected(&split.adjacency, b, a));
            }
            assert!(split.train.edges.iter().all(|&(a, b)| connected(&split.adjacency, a, b)));
            let parts = [&split.train, &split.validation, &split.test];
            let mut others = parts.map(|part| part.non_edges.clone()).concat();
            assert!(parts.iter().all(|part| part.edges.len() == part.non_edges.len()));
            // Neither edges that are held out elsewhere nor twice the same.
            assert!(others.iter().all(|&(a, b)| a != b && !connected(&whole, a, b)));
            others.sort_unstable();
            others.dedup();
            assert_eq!(others.len(), 120);
        }
        let told = split_edges(&ring(false, false), 0.5, 0.5, 1).unwrap_err().to_string();
        assert!(told.contains("60 for the test and 0 for training"), "{told}");
        assert!(told.contains("hold out smaller shares (--validation, --test)"), "{told}");
        // Of six pairs five are edges, and all five need a pair without one.
        let dense = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)];
        let told = split_edges(&graph(4, &dense, false, false), 0.2, 0.2, 1).unwrap_err();
        let told = told.to_string();
        assert!(told.contains("1 pairs of nodes without an edge, and 5 are needed"), "{told}");
        assert!(told.contains("take a graph with fewer edges"), "{told}");
        assert!(split_edges(&ring(false, false), 0.0, 0.1, 1).is_err());
    }
}
