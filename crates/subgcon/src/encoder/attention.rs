//! One row's attention: from scores to shares, and from shares to a blend.
//!
//! A table of arcs is (arcs, heads): a line an arc, in the batch's order.

use super::rows::add_scaled;
use crate::batch::Arcs;
use crate::math::{Matrix, Real};

/// Slope of LeakyReLU.
pub(super) const LEAK: f64 = 0.2;

/// α of one row's arcs, (arcs, heads): weights times exponentials, the largest exponent
/// subtracted, divided by their sum.
pub(super) fn attend<T: Real>(
    scores: &Matrix<T>,
    unit: usize,
    drawn_on: impl Iterator<Item = usize>,
    weights: &[T],
    shares: &mut [T],
) {
    let heads = scores.width / 2;
    let target = &scores.row(unit)[heads..];
    for (shares, j) in shares.chunks_exact_mut(heads).zip(drawn_on) {
        for ((share, &target), &source) in shares.iter_mut().zip(target).zip(scores.row(j)) {
            let p = target + source;
            *share = if p > T::ZERO { p } else { T::of(LEAK) * p };
        }
    }
    for head in 0..heads {
        let len = shares.len();
        let own = || (head..len).step_by(heads);
        let largest = own().map(|at| shares[at]).reduce(T::max).unwrap_or(T::ZERO);
        let mut sum = T::ZERO;
        for (at, &weight) in own().zip(weights) {
            shares[at] = weight * (shares[at] - largest).exp();
            sum += shares[at];
        }
        own().for_each(|at| shares[at] /= sum);
    }
}

/// z += Σ_j α_j y_j, head by head.
pub(super) fn blend<T: Real>(
    y: &Matrix<T>,
    drawn_on: &(impl Iterator<Item = usize> + Clone),
    shares: &[T],
    z: &mut [T],
) {
    let heads = shares.len() / drawn_on.clone().count().max(1);
    if heads == 0 {
        return;
    }
    let width = z.len() / heads;
    for (head, z) in z.chunks_exact_mut(width).enumerate() {
        let columns = head * width..(head + 1) * width;
        let terms = drawn_on.clone().zip(shares.chunks_exact(heads));
        add_scaled(z, terms.map(|(j, shares)| (shares[head], &y.row(j)[columns.clone()])));
    }
}

/// What belongs to each `size` rows of an (arcs, heads) table.
pub(super) fn cut<'a, T>(
    table: &'a mut [T],
    arcs: &Arcs<T>,
    size: usize,
    heads: usize,
) -> Vec<&'a mut [T]> {
    let rows = arcs.offsets.len() - 1;
    let mut rest = table;
    (0..rows)
        .step_by(size)
        .map(|start| {
            let end = arcs.offsets[(start + size).min(rows)] - arcs.offsets[start];
            first(&mut rest, end as usize * heads)
        })
        .collect()
}

/// Takes the first numbers off a slice.
pub(super) fn first<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    rest.split_off_mut(..len).expect("the table has a line for every arc")
}
