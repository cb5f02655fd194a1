//! Do embeddings know of edges that were held out?
//!
//! Whoever asks holds edges out first ([`super::split_edges`]), makes contexts, trains and embeds
//! on what is left, and compares the scores of held-out edges with those of as many pairs
//! without an edge ([`link_probe`]). A score is the cosine of two rows, their dot product, or
//! what logistic regression makes of the products of their columns.

use serde::Serialize;

use super::checks::{self, refuse};
use super::held_out::LinkSplit;
use super::logistic::{Fitting, Logistic, LogisticSettings};
use super::metrics;
use super::rows::length;
use crate::error::Result;
use crate::math::Matrix;

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
    use crate::eval::held_out::split_edges;
    use crate::eval::held_out::tests::graph;
    use crate::rng::Stream;

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
