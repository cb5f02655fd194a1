//! Some other summaries, or centers, as negatives: those that shuffles name.
//!
//! A direction holds one side of the own pair and exchanges the other: anchor a meets
//! partner(k, a) in shuffle k.
//!
//! | directions | held | partner of a | pair that is scored |
//! | --- | --- | --- | --- |
//! | centers | center | shuffle(a) | h_a · s_partner |
//! | both | center, and summary | shuffle(a) | and h_partner · s_a |
//! | reference | summary, twice | shuffle(a), and its inverse | h_partner · s_a |
//!
//! The released program's second term sets h_i · s_j beside h_j · s_j with j =
//! shuffle(i): seen from its positive, summary j is held and its partner is i.
//!
//! Only named pairs are scored. Derivatives are gathered, not scattered: a row sums
//! over the pairs it is in, found through the inverse shuffles.

use rayon::prelude::*;

use super::objective::{Total, anchor, share, total};
use super::{Contrast, Judged};
use crate::config::{Directions, ObjectiveKind};
use crate::math::{Matrix, Real, add_scaled, dot};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Center,
    Summary,
}

/// One direction.
struct Direction<'a> {
    /// Which side is exchanged.
    exchanged: Side,
    /// By shuffle: the partner of each anchor.
    partners: &'a [Vec<u32>],
    /// By shuffle: the anchor of each partner.
    anchors: &'a [Vec<u32>],
}

/// The objective on rows whose dot products are scores. Shuffles may have fixed points
/// here, as the released program's do.
pub(super) fn contrast<T: Real>(
    kind: ObjectiveKind,
    directions: Directions,
    shuffles: &[Vec<u32>],
    h: &Matrix<T>,
    s: &Matrix<T>,
) -> Contrast<T> {
    assert!(!shuffles.is_empty(), "without a shuffle there are no negatives");
    let inverses: Vec<Vec<u32>> = shuffles.iter().map(|shuffle| inverse(shuffle, h.rows)).collect();
    let directions = taken(directions, shuffles, &inverses);

    let mut d_positives = vec![T::ZERO; h.rows];
    let mut found = Total::default();
    let positives: Vec<T> =
        (0..h.rows).into_par_iter().map(|at| dot(h.row(at), s.row(at))).collect();
    let slopes: Vec<Matrix<T>> = directions
        .iter()
        .map(|direction| {
            let mut g = Matrix::zeros(h.rows, shuffles.len());
            let here = direction.compare(kind, &positives, &mut d_positives, &mut g, h, s);
            found = found.plus(here);
            g
        })
        .collect();

    let gather = |side: Side, other: &Matrix<T>| {
        let mut d = Matrix::zeros(h.rows, h.width);
        d.values.par_chunks_mut(h.width.max(1)).enumerate().for_each(|(row, d)| {
            let met = directions.iter().zip(&slopes).flat_map(|(direction, g)| {
                (0..g.width).map(move |k| {
                    let (slope, met) = direction.met(side, k, row, g);
                    (slope, other.row(met))
                })
            });
            add_scaled(d, std::iter::once((d_positives[row], other.row(row))).chain(met));
        });
        d
    };
    Contrast {
        loss: found.loss,
        retrieval: found.retrieval(),
        d_centers: gather(Side::Center, s),
        d_summaries: gather(Side::Summary, h),
    }
}

/// The pairs (center, summary) that are scored: first the own ones, then, direction by
/// direction and anchor by anchor, those that the shuffles name.
pub(super) fn named_pairs(
    directions: Directions,
    shuffles: &[Vec<u32>],
    contexts: usize,
) -> Vec<(u32, u32)> {
    let inverses: Vec<Vec<u32>> =
        shuffles.iter().map(|shuffle| inverse(shuffle, contexts)).collect();
    let mut pairs: Vec<(u32, u32)> = (0..contexts as u32).map(|own| (own, own)).collect();
    for direction in taken(directions, shuffles, &inverses) {
        for at in 0..contexts {
            pairs.extend(direction.partners.iter().map(|partners| match direction.exchanged {
                Side::Summary => (at as u32, partners[at]),
                Side::Center => (partners[at], at as u32),
            }));
        }
    }
    pairs
}

/// The objective, given the scores of [`named_pairs`] in their order.
pub(super) fn judge<T: Real>(
    kind: ObjectiveKind,
    shuffles: usize,
    contexts: usize,
    scores: &[T],
) -> Judged<T> {
    let mut slopes = scores.to_vec();
    let (positives, negatives) = slopes.split_at_mut(contexts);
    let mut d_positives = vec![T::ZERO; contexts];
    let mut found = Total::default();
    let share = share(kind, contexts, shuffles);
    for direction in negatives.chunks_mut(contexts * shuffles) {
        let anchors: Vec<_> = direction
            .chunks_mut(shuffles)
            .zip(positives.iter())
            .map(|(g, &positive)| anchor(kind, positive, [g, &mut []], T::of(share)))
            .collect();
        d_positives.iter_mut().zip(&anchors).for_each(|(d, found)| *d += found.d_positive);
        found = found.plus(total(&anchors, shuffles, share));
    }
    positives.copy_from_slice(&d_positives);
    Judged { loss: found.loss, retrieval: found.retrieval(), slopes }
}

fn taken<'a>(
    directions: Directions,
    shuffles: &'a [Vec<u32>],
    inverses: &'a [Vec<u32>],
) -> Vec<Direction<'a>> {
    let forth = |exchanged| Direction { exchanged, partners: shuffles, anchors: inverses };
    let back = Direction { exchanged: Side::Center, partners: inverses, anchors: shuffles };
    match directions {
        Directions::Centers => vec![forth(Side::Summary)],
        Directions::Both => vec![forth(Side::Summary), forth(Side::Center)],
        Directions::Reference => vec![forth(Side::Center), back],
    }
}

impl Direction<'_> {
    /// Fills `g` (anchors, shuffles) with derivatives by scores and adds to those by
    /// the positives'.
    fn compare<T: Real>(
        &self,
        kind: ObjectiveKind,
        positives: &[T],
        d_positives: &mut [T],
        g: &mut Matrix<T>,
        h: &Matrix<T>,
        s: &Matrix<T>,
    ) -> Total {
        let (rows, shuffles) = (g.rows, g.width);
        let share = share(kind, rows, shuffles);
        let anchors: Vec<_> = g
            .values
            .par_chunks_mut(shuffles)
            .enumerate()
            .map(|(at, g)| {
                for (score, partners) in g.iter_mut().zip(self.partners) {
                    let partner = partners[at] as usize;
                    *score = match self.exchanged {
                        Side::Summary => dot(h.row(at), s.row(partner)),
                        Side::Center => dot(h.row(partner), s.row(at)),
                    };
                }
                anchor(kind, positives[at], [g, &mut []], T::of(share))
            })
            .collect();
        d_positives.iter_mut().zip(&anchors).for_each(|(d, found)| *d += found.d_positive);
        total(&anchors, shuffles, share)
    }

    /// Whom a row of `side` meets in shuffle k, and the derivative by their score.
    fn met<T: Real>(&self, side: Side, k: usize, row: usize, g: &Matrix<T>) -> (T, usize) {
        if side == self.exchanged {
            let at = self.anchors[k][row] as usize;
            (g.row(at)[k], at)
        } else {
            (g.row(row)[k], self.partners[k][row] as usize)
        }
    }
}

/// Who is shuffled to each place.
fn inverse(shuffle: &[u32], contexts: usize) -> Vec<u32> {
    assert_eq!(shuffle.len(), contexts, "a shuffle names a partner for each context");
    let mut inverse = vec![u32::MAX; contexts];
    for (at, &to) in shuffle.iter().enumerate() {
        let place = &mut inverse[to as usize];
        assert_eq!(*place, u32::MAX, "a shuffle names every context once");
        *place = at as u32;
    }
    inverse
}
