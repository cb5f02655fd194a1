//! All other summaries of the batch as negatives.
//!
//! Z = H Sᵀ (contexts, contexts), Z(i, j) the score of center i with summary j. Row i
//! is the direction in which center i is held; column j that in which summary j is,
//! found as a row of Zᵀ. G = derivative by Z, the positives' on its diagonal; then
//! d_H = G S and d_S = Gᵀ H.
//!
//! Each direction takes its own exponentials. Sharing them would save one of two for
//! each score, but columns would have to be summed across rows of different threads.

use rayon::prelude::*;

use super::Contrast;
use super::objective::{Total, anchor, share, total};
use crate::config::{Directions, ObjectiveKind};
use crate::math::{Matrix, Real, Write, gemm};

/// Rows that are transposed together: a cache line of `f32`.
const LINE: usize = 16;

/// The objective on rows whose dot products are scores.
pub(super) fn contrast<T: Real>(
    kind: ObjectiveKind,
    directions: Directions,
    h: &Matrix<T>,
    s: &Matrix<T>,
) -> Contrast<T> {
    let (g, found) = compare(kind, directions, scores(h, s));
    let (mut d_centers, mut d_summaries) =
        (Matrix::zeros(h.rows, h.width), Matrix::zeros(s.rows, s.width));
    gemm(&mut d_centers, g.view(), s.view(), Write::Set);
    gemm(&mut d_summaries, g.view().transposed(), h.view(), Write::Set);
    Contrast { loss: found.loss, retrieval: found.retrieval(), d_centers, d_summaries }
}

/// Z = H Sᵀ.
pub(super) fn scores<T: Real>(h: &Matrix<T>, s: &Matrix<T>) -> Matrix<T> {
    let mut z = Matrix::zeros(h.rows, s.rows);
    gemm(&mut z, h.view(), s.view().transposed(), Write::Set);
    z
}

/// G from Z, and what the directions add up to. Everything is compared with
/// everything, so `Reference` has nothing to pair otherwise than `Both`.
pub(super) fn compare<T: Real>(
    kind: ObjectiveKind,
    directions: Directions,
    mut z: Matrix<T>,
) -> (Matrix<T>, Total) {
    if directions == Directions::Centers {
        let found = by_rows(kind, &mut z);
        return (z, found);
    }
    let mut columns = Matrix::zeros(z.rows, z.width);
    with_transposed(&mut columns, &z, |to, from| *to = from);
    let found = by_rows(kind, &mut z).plus(by_rows(kind, &mut columns));
    with_transposed(&mut z, &columns, |to, from| *to += from);
    (z, found)
}

/// One direction, a row an anchor: scores become derivatives.
fn by_rows<T: Real>(kind: ObjectiveKind, z: &mut Matrix<T>) -> Total {
    let n = z.rows;
    let share = share(kind, n, n - 1);
    let anchors: Vec<_> = z
        .values
        .par_chunks_mut(n)
        .enumerate()
        .map(|(at, row)| {
            let (before, rest) = row.split_at_mut(at);
            let (own, after) = rest.split_first_mut().expect("row i is longer than i");
            let found = anchor(kind, *own, [before, after], T::of(share));
            *own = found.d_positive;
            found
        })
        .collect();
    total(&anchors, n - 1, share)
}

/// Brings every number of a square matrix to its mirrored place in another.
fn with_transposed<T: Real>(
    to: &mut Matrix<T>,
    from: &Matrix<T>,
    write: impl Fn(&mut T, T) + Sync,
) {
    let n = from.rows;
    to.values.par_chunks_mut(LINE * n).enumerate().for_each(|(at, to)| {
        let start = at * LINE;
        for (column, from) in from.values.chunks(n).enumerate() {
            for (row, &from) in from[start..start + to.len() / n].iter().enumerate() {
                write(&mut to[row * n + column], from);
            }
        }
    });
}
