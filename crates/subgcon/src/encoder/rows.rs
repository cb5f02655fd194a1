//! What all layers do to rows: scaled sums, dot products, sums over many rows.
//!
//! Work is cut by shape only, and everything is added in one fixed order: the
//! number of threads does not show in the result.

use std::ops::Range;

use rayon::prelude::*;

use crate::math::Real;

/// Rows of this width that one thread takes at a time: about 64 thousand numbers.
pub(super) fn chunk(width: usize) -> usize {
    ((1 << 16) / width.max(1)).clamp(16, 4096)
}

/// out += Σ scale · row, four rows a pass: `out` is loaded and stored a quarter as often.
#[inline]
pub(super) fn add_scaled<'a, T: Real>(
    out: &mut [T],
    mut terms: impl Iterator<Item = (T, &'a [T])>,
) {
    while let Some(first) = terms.next() {
        match (terms.next(), terms.next(), terms.next()) {
            (Some(second), Some(third), Some(fourth)) => {
                add_four(out, [first, second, third, fourth]);
            }
            (second, third, _) => {
                add_one(out, first);
                second.into_iter().chain(third).for_each(|term| add_one(out, term));
                return;
            }
        }
    }
}

/// out += four scaled rows. Vectors of 32 bytes where the processor has them, and without
/// fused operations: every processor gives the same bits.
fn add_four<T: Real>(out: &mut [T], terms: [(T, &[T]); 4]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the feature that it was compiled for is there.
        #[allow(unsafe_code)]
        return unsafe { add_four_avx2(out, terms) };
    }
    add_four_anywhere(out, terms);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_four_avx2<T: Real>(out: &mut [T], terms: [(T, &[T]); 4]) {
    add_four_anywhere(out, terms);
}

#[inline(always)]
fn add_four_anywhere<T: Real>(out: &mut [T], [a, b, c, d]: [(T, &[T]); 4]) {
    let rows = out.iter_mut().zip(a.1).zip(b.1).zip(c.1).zip(d.1);
    for ((((out, &x), &y), &z), &u) in rows {
        *out += (a.0 * x + b.0 * y) + (c.0 * z + d.0 * u);
    }
}

/// out += scale · row.
pub(super) fn add_one<T: Real>(out: &mut [T], (scale, row): (T, &[T])) {
    for (out, &x) in out.iter_mut().zip(row) {
        *out += scale * x;
    }
}

/// out += row.
pub(super) fn add<T: Real>(out: &mut [T], row: &[T]) {
    for (out, &x) in out.iter_mut().zip(row) {
        *out += x;
    }
}

/// Σ a b, in sixteen sums that are added up last.
pub(super) fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    let mut sums = [T::ZERO; 16];
    for (a, b) in a.iter().zip(b) {
        for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: T = a_rest.iter().zip(b_rest).map(|(&a, &b)| a * b).sum();
    sums.into_iter().sum::<T>() + rest
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_any_number_of_rows() {
        // Row i is (i, i, …), scaled by 2: small integers, so sums are exact.
        let rows: Vec<Vec<f64>> = (0..9).map(|i| vec![f64::from(i); 5]).collect();
        for count in 0..=9 {
            let mut out = vec![1.0; 5];
            add_scaled(&mut out, rows[..count].iter().map(|row| (2.0, &row[..])));
            assert_eq!(out, vec![1.0 + (count * count.saturating_sub(1)) as f64; 5]);
        }
    }

    #[test]
    fn long_vectors_give_the_bits_of_short_ones() {
        let mut stream = crate::rng::Stream::new(1, "rows", 0);
        let mut row = || (0..77).map(|_| stream.normal() as f32).collect::<Vec<f32>>();
        let (rows, mut out) = ([row(), row(), row(), row()], row());
        let terms = [0, 1, 2, 3].map(|at| (0.3 + at as f32, &rows[at][..]));
        let mut plain = out.clone();
        add_four(&mut out, terms);
        add_four_anywhere(&mut plain, terms);
        assert!(out.iter().map(|x| x.to_bits()).eq(plain.iter().map(|x| x.to_bits())));
    }

    #[test]
    fn dot_products_of_any_length() {
        for len in [0, 1, 15, 16, 33] {
            let a: Vec<f64> = (0..len).map(f64::from).collect();
            let wanted = a.iter().map(|x| x * x).sum::<f64>();
            assert_eq!(dot(&a, &a), wanted);
        }
    }
}
