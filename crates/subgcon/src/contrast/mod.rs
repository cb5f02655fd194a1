//! Centres against summaries: value and derivative together.
//!
//! H (contexts, width) holds the centers' rows, S (contexts, width) a summary of
//! each context. The own pair should score higher than any other.
//!
//! | file | question |
//! | --- | --- |
//! | `readout` | how do the rows of a context become one? |
//! | `negatives` | which other pairs is the own pair compared with? |
//! | `similarity` | what does a pair score? |
//! | `objective` | what is made small, given an anchor's scores? |
//! | `all_pairs`, `shuffled` | how are scores found, and derivatives brought back? |
//! | `signals` | how do held-out contexts fare, without labels? |
//!
//! Same input, same bytes: every sum is made by one thread in an order that shapes
//! alone decide.

mod all_pairs;
mod negatives;
mod objective;
mod readout;
mod shuffled;
mod signals;
mod similarity;
#[cfg(test)]
mod tests;

use crate::batch::Members;
use crate::config::{ObjectiveSettings, ReadoutSettings, Similarity};
use crate::encoder::Prelu;
use crate::math::{Matrix, Real};

pub use negatives::{Pairs, draw};
pub use signals::{Signals, held_out};

use similarity::Compared;

/// What a step made of its contrast.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrast<T> {
    /// The value of the objective.
    pub loss: f64,
    /// Share of (positive, negative) pairs in which the positive scores higher; ties
    /// count half.
    pub retrieval: f64,
    /// Derivative by the centers, (contexts, width).
    pub d_centers: Matrix<T>,
    /// Derivative by the summaries, (contexts, width).
    pub d_summaries: Matrix<T>,
}

/// What an objective makes of the scores of pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged<T> {
    /// The value of the objective.
    pub loss: f64,
    /// As in [`Contrast`].
    pub retrieval: f64,
    /// Derivative by each score.
    pub slopes: Vec<T>,
}

/// The pairs (center, summary) whose dot products are all that the objective looks at,
/// where there are such; in the order in which [`judge`] wants their scores.
pub fn named_pairs(
    settings: &ObjectiveSettings,
    pairs: &Pairs,
    contexts: usize,
) -> Option<Vec<(u32, u32)>> {
    match (settings.similarity, pairs) {
        (Similarity::Dot, Pairs::Shuffles(shuffles)) => {
            Some(shuffled::named_pairs(settings.directions, shuffles, contexts))
        }
        _ => None,
    }
}

/// The objective on the scores of [`named_pairs`]: what [`contrast`] makes of rows with
/// these dot products.
pub fn judge<T: Real>(
    settings: &ObjectiveSettings,
    pairs: &Pairs,
    contexts: usize,
    scores: &[T],
) -> Judged<T> {
    let Pairs::Shuffles(shuffles) = pairs else { unreachable!("all pairs have no list") };
    shuffled::judge(settings.kind, shuffles.len(), contexts, scores)
}

/// Summaries of the contexts, (contexts, width), from rows. See `readout`.
pub fn summarize<T: Real>(
    settings: &ReadoutSettings,
    rows: &Matrix<T>,
    members: &Members<T>,
) -> Matrix<T> {
    readout::summarize(settings, rows, members)
}

/// As [`summarize`], of rows that are made while they are read.
pub(crate) fn summarize_prelu<T: Real>(
    settings: &ReadoutSettings,
    rows: Prelu<'_, T>,
    members: &Members<T>,
) -> Matrix<T> {
    readout::summarize_prelu(settings, rows, members)
}

/// Writes to `d_rows` the derivative of [`summarize`]; `summaries` is what it gave.
pub fn d_summarize<T: Real>(
    settings: &ReadoutSettings,
    rows: &Matrix<T>,
    members: &Members<T>,
    summaries: &Matrix<T>,
    d_summaries: &Matrix<T>,
    d_rows: &mut Matrix<T>,
) {
    readout::d_summarize(settings, rows, members, summaries, d_summaries, d_rows);
}

/// The objective on centers and summaries, (contexts, width) each, with its derivatives.
///
/// `pairs` decides what is compared; `settings.negatives`, from which it was drawn, is
/// not looked at again.
pub fn contrast<T: Real>(
    settings: &ObjectiveSettings,
    pairs: &Pairs,
    centers: &Matrix<T>,
    summaries: &Matrix<T>,
) -> Contrast<T> {
    let shape = (centers.rows, centers.width);
    assert_eq!(shape, (summaries.rows, summaries.width), "a summary for each center");
    assert!(centers.rows >= 2, "one context alone has nothing to be compared with");
    let (h, s) = Compared::both(settings.similarity, centers, summaries);
    let (kind, directions) = (settings.kind, settings.directions);
    let mut found = match pairs {
        Pairs::All => all_pairs::contrast(kind, directions, &h.rows, &s.rows),
        Pairs::Shuffles(shuffles) => {
            shuffled::contrast(kind, directions, shuffles, &h.rows, &s.rows)
        }
    };
    h.back(&mut found.d_centers);
    s.back(&mut found.d_summaries);
    found
}
