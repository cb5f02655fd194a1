//! What all layers do to rows: plain sums, sums over many rows.
//!
//! Work is cut by shape only, and everything is added in one fixed order: the
//! number of threads does not show in the result.

use std::ops::Range;

use rayon::prelude::*;

use crate::math::Real;
pub(super) use crate::math::{add_one, add_scaled, dot};

/// Rows of this width that one thread takes at a time: about 64 thousand numbers.
pub(super) fn chunk(width: usize) -> usize {
    ((1 << 16) / width.max(1)).clamp(16, 4096)
}

/// out += row.
pub(super) fn add<T: Real>(out: &mut [T], row: &[T]) {
    for (out, &x) in out.iter_mut().zip(row) {
        *out += x;
    }
}

/// out += Σ over rows, where `part` adds some rows to a vector of zeros. Parts are
/// made in parallel and added in order.
pub(super) fn add_over_rows<T: Real>(
    out: &mut [T],
    rows: usize,
    part: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    let (size, len) = (chunk(out.len()), out.len());
    let parts: Vec<Vec<T>> = (0..rows.div_ceil(size))
        .into_par_iter()
        .map(|at| {
            let mut sum = vec![T::ZERO; len];
            part(at * size..((at + 1) * size).min(rows), &mut sum);
            sum
        })
        .collect();
    parts.iter().for_each(|part| add(out, part));
}
