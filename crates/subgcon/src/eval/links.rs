//! Do embeddings know of edges that were held out?
//!
//! Whoever asks holds edges out first ([`split_edges`]), makes contexts, trains and embeds
//! on what is left, and compares the scores of held-out edges with those of as many pairs
//! without an edge ([`link_probe`]). A score is the cosine of two rows, their dot product, or
//! what logistic regression makes of the products of their columns.

use hashbrown::HashSet;
use serde::Serialize;

use super::checks::{self, refuse};
use super::logistic::{Fitting, Logistic, LogisticSettings};
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
    let [edges, _] = drawn_edges(adjacency, [count, 0], seed);
    let non_edges = non_edges(adjacency, count, seed, "hold out a smaller share")?;
    Ok(HeldOut { adjacency: without(adjacency, &edges), edges, non_edges })
}

/// The first of the edges in a random order, and those after them; both rising.
fn drawn_edges(adjacency: &Adjacency, counts: [u64; 2], seed: u64) -> [Vec<(u32, u32)>; 2] {
    let stream = &mut Stream::new(seed, "held-out edges", 0);
    let permutation = Permutation::new(adjacency.edges(), stream);
    let mut drawn = counts.map(|count| Vec::with_capacity(count as usize));
    for (at, edge) in edges_of(adjacency).enumerate() {
        let place = permutation.forward(at as u64);
        if place < counts[0] {
            drawn[0].push(edge);
        } else if place < counts[0] + counts[1] {
            drawn[1].push(edge);
        }
    }
    drawn
}

/// All edges, rising; the smaller node first where the graph is undirected.
fn edges_of(adjacency: &Adjacency) -> impl Iterator<Item = (u32, u32)> + '_ {
    let lists = (0..adjacency.nodes() as u32)
        .flat_map(|node| adjacency.neighbours(node).iter().map(move |&other| (node, other)));
    lists.filter(|&(node, other)| adjacency.directed || node < other)
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
        [0, ..] => Some("hold out a larger share for validation (--validation)"),
        [_, 0, _] => Some("hold out a larger share for the test (--test)"),
        [.., 0] => Some("hold out smaller shares (--validation, --test)"),
        _ => None,
    };
    if let Some(remedy) = remedy {
        let problem = format!(
            "of {all} edges {valid} would be for validation, {tests} for the test and {left} for \
             training, and each needs one"
        );
        return Err(refuse("graph", problem, format!("{remedy}, or take a larger graph")));
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
    Ok(LinkReport::of(&truths, &falses))
}

impl LinkReport {
    /// From scores of edges and of other pairs, neither empty.
    fn of(truths: &[f64], falses: &[f64]) -> LinkReport {
        let there = "both sides that were checked not to be empty";
        LinkReport {
            auc: metrics::roc_auc(truths, falses).expect(there),
            average_precision: metrics::average_precision(truths, falses).expect(there),
            hits: [10, 50, 100].map(|k| metrics::hits_at(k, truths, falses).expect(there)),
            mrr: metrics::mean_reciprocal_rank(truths, falses).expect(there),
        }
    }
}

/// One way to score pairs, and how it does on the validation pairs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoreTried {
    /// `cosine`, `dot`, or `hadamard C`: logistic regression on products of columns.
    pub score: String,
    /// ROC AUC.
    pub validation_auc: f64,
}

/// What embeddings know of held-out edges.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkProbe {
    /// The way with the best ROC AUC on the validation pairs, the first of equals.
    pub score: String,
    /// All that were tried.
    pub tried: Vec<ScoreTried>,
    /// By the chosen way.
    pub validation: LinkReport,
    /// By the chosen way.
    pub test: LinkReport,
}

/// Scores pairs by cosine, by dot product and by logistic regression on a ∘ b (fitted
/// to training edges and as many other pairs, for several c), and keeps what tells the
/// validation edges best.
pub fn link_probe(embeddings: &Matrix<f32>, split: &LinkSplit) -> Result<LinkProbe> {
    checks::embeddings(embeddings, split.adjacency.nodes(), "edges")?;
    type Scores = [Vec<f64>; 4];
    type Scoring<'a> = &'a dyn Fn(&[(u32, u32)]) -> Vec<f64>;
    let parts = [&split.validation, &split.test];
    let lists = || parts.into_iter().flat_map(|part| [&part.edges[..], &part.non_edges]);
    let mut tried = Vec::new();
    let mut best: Option<(f64, String, Scores)> = None;
    let mut judge = |score: String, scores: Scores| {
        let there = "validation pairs of both kinds";
        let auc = metrics::roc_auc(&scores[0], &scores[1]).expect(there);
        tried.push(ScoreTried { score: score.clone(), validation_auc: auc });
        if best.as_ref().is_none_or(|(least, ..)| auc > *least) {
            best = Some((auc, score, scores));
        }
    };
    let four = |score: Scoring<'_>| -> Scores {
        let scores: Vec<Vec<f64>> = lists().map(score).collect();
        scores.try_into().expect("four lists of pairs")
    };
    for (name, by) in [("cosine", PairScore::Cosine), ("dot", PairScore::Dot)] {
        judge(name.into(), four(&|pairs| score_pairs(embeddings, pairs, by)));
    }
    let pairs = [&split.train.edges[..], &split.train.non_edges].concat();
    // Of one size whatever the embeddings are, as c is.
    let mut rows = products(embeddings, &pairs, 1.0);
    let size = length(&rows.values) / (rows.values.len().max(1) as f64).sqrt();
    let scale = if size > 0.0 { 1.0 / size } else { 1.0 };
    rows.values.iter_mut().for_each(|x| *x = (f64::from(*x) * scale) as f32);
    let edges = split.train.edges.len();
    let targets: Vec<u32> = (0..pairs.len()).map(|at| u32::from(at < edges)).collect();
    let fitting = Fitting::one(&rows, &targets, 2);
    let mut previous: Option<Logistic> = None;
    for c in HADAMARD {
        let settings = LogisticSettings { c, ..LogisticSettings::default() };
        let fit = fitting.fit(&settings, previous.as_ref())?;
        let scores = |pairs: &[(u32, u32)]| {
            let some = pairs.chunks(SCORED);
            some.flat_map(|some| fit.scores(&products(embeddings, some, scale)).values).collect()
        };
        judge(format!("hadamard {c}"), four(&scores));
        previous = Some(fit);
    }
    let (_, score, [edges, others, test_edges, test_others]) =
        best.expect("cosine was tried at least");
    Ok(LinkProbe {
        score,
        tried,
        validation: LinkReport::of(&edges, &others),
        test: LinkReport::of(&test_edges, &test_others),
    })
}

/// Values of c for products of columns.
const HADAMARD: [f64; 4] = [1e-3, 1e-2, 1e-1, 1.0];
/// Pairs whose products are made together.
const SCORED: usize = 4096;

/// scale · a ∘ b of pairs, (pairs, width).
fn products(embeddings: &Matrix<f32>, pairs: &[(u32, u32)], scale: f64) -> Matrix<f32> {
    let mut out = Matrix::zeros(pairs.len(), embeddings.width);
    for (&(a, b), out) in pairs.iter().zip(out.values.chunks_exact_mut(embeddings.width)) {
        let (a, b) = (embeddings.row(a as usize), embeddings.row(b as usize));
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *out = (scale * f64::from(a) * f64::from(b)) as f32;
        }
    }
    out
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

    #[test]
    fn the_way_to_score_is_chosen_on_validation_pairs() {
        // Nodes of a group are connected. Columns 0 and 1 tell the group by their sign; two
        // others are large noise, which a cosine drowns in and a fit learns to ignore.
        let mut stream = Stream::new(7, "groups", 0);
        let side = |node: u32, column: u32| if node >> column & 1 == 1 { 1.0 } else { -1.0 };
        let mut values = Vec::new();
        for node in 0..80u32 {
            values.extend([side(node, 0), side(node, 1)]);
            values.extend([5.0 * stream.normal() as f32, 5.0 * stream.normal() as f32]);
        }
        let x = Matrix::of(80, 4, values);
        let same = |&(a, b): &(u32, u32)| a % 4 == b % 4;
        let all = (0..80).flat_map(|a| (a + 1..80).map(move |b| (a, b)));
        let edges: Vec<(u32, u32)> = all.filter(same).collect();
        let split = split_edges(&graph(80, &edges, false, false), 0.1, 0.2, 1).unwrap();
        let found = link_probe(&x, &split).unwrap();
        assert!(found.score.starts_with("hadamard"), "{found:?}");
        assert_eq!(found.tried.len(), 6);
        assert!(found.test.auc > 0.95, "{found:?}");
        let of = |name: &str| found.tried.iter().find(|tried| tried.score == name).unwrap();
        assert!(of("cosine").validation_auc < 0.8, "{found:?}");
        // Without the noise a cosine is perfect, and the simplest of equals is kept.
        let clean = (0..80).flat_map(|node| x.row(node)[..2].to_vec()).collect();
        let found = link_probe(&Matrix::of(80, 2, clean), &split).unwrap();
        assert_eq!((&found.score[..], found.validation.auc), ("cosine", 1.0));
        assert!(link_probe(&Matrix::zeros(79, 2), &split).is_err());
    }
}
