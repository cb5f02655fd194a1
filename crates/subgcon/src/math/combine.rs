//! Sums of rows with weights, out += Σ c_k · row k in the order given, and products of
//! two rows.
//!
//! The product of one sparse row with a dense matrix, and of one row of a graph's
//! matrix with the rows of its nodes. What comes out depends on the entries and
//! their order alone, number by number: not on other rows, on the width or on threads.
//!
//! Loops are compiled for vectors of 32 bytes beside the baseline's 16 and chosen at run
//! time, without fused operations: every processor gives the same bits.

use super::{Matrix, Real};

/// Partial sums of a dot product: enough for wide registers, and fixed, so that the
/// order of the sum is too.
const LANES: usize = 16;

/// Compiles a function for AVX2 too, and takes that where the processor has it.
macro_rules! wide {
    ($(#[$meta:meta])* $vis:vis fn $name:ident<T: Real>($($arg:ident: $ty:ty),*) $(-> $out:ty)? $body:block) => {
        $(#[$meta])*
        #[inline]
        $vis fn $name<T: Real>($($arg: $ty),*) $(-> $out)? {
            #[inline(always)]
            fn anywhere<T: Real>($($arg: $ty),*) $(-> $out)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2<T: Real>($($arg: $ty),*) $(-> $out)? {
                anywhere($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the feature that it was compiled for is there.
                #[allow(unsafe_code)]
                return unsafe { avx2($($arg),*) };
            }
            anywhere($($arg),*)
        }
    };
}

/// Subtracts a mean and scales to a length. What is left of a row that was the mean but for
/// rounding has no direction, and becomes zero, as a row of zeros stays.
pub(crate) fn center_and_scale(row: &mut [f32], mean: Option<&[f32]>, length: Option<f64>) {
    let norm = |row: &[f32]| squares(row).sqrt();
    let mut before = 0.0;
    if let Some(mean) = mean {
        before = norm(row).max(norm(mean));
        row.iter_mut().zip(mean).for_each(|(x, mean)| *x -= mean);
    }
    if let Some(length) = length {
        let found = norm(row);
        let factor = if found > 1e-5 * before { (length / found) as f32 } else { 0.0 };
        row.iter_mut().for_each(|x| *x *= factor);
    }
}

/// Adds rows of a matrix, each times its factor, to `out` (rows.width).
#[inline]
pub(crate) fn add_rows(
    out: &mut [f32],
    rows: &Matrix<f32>,
    entries: impl Iterator<Item = (f32, usize)>,
) {
    add_scaled(out, entries.map(|(factor, row)| (factor, rows.row(row))));
}

/// out += Σ scale · row.
///
/// Four at a time: `out` is read and written once for four rows, and sums of
/// many entries lose less to rounding than one by one.
#[inline]
pub(crate) fn add_scaled<'a, T: Real>(
    out: &mut [T],
    mut terms: impl Iterator<Item = (T, &'a [T])>,
) {
    while let Some(first) = terms.next() {
        match (terms.next(), terms.next(), terms.next()) {
            (Some(second), Some(third), Some(fourth)) => {
                add_four(out, [first, second, third, fourth]);
            }
            (Some(second), Some(third), None) => return add_three(out, [first, second, third]),
            (Some(second), None, _) => return add_two(out, [first, second]),
            (None, ..) => return add_one(out, first),
        }
    }
}

wide! {
    fn add_four<T: Real>(out: &mut [T], terms: [(T, &[T]); 4]) {
        let [a, b, c, d] = terms;
        let rows = out.iter_mut().zip(a.1).zip(b.1).zip(c.1).zip(d.1);
        for ((((out, &x), &y), &z), &u) in rows {
            *out += (a.0 * x + b.0 * y) + (c.0 * z + d.0 * u);
        }
    }
}

wide! {
    fn add_three<T: Real>(out: &mut [T], terms: [(T, &[T]); 3]) {
        let [a, b, c] = terms;
        for (((out, &x), &y), &z) in out.iter_mut().zip(a.1).zip(b.1).zip(c.1) {
            *out += (a.0 * x + b.0 * y) + c.0 * z;
        }
    }
}

wide! {
    fn add_two<T: Real>(out: &mut [T], terms: [(T, &[T]); 2]) {
        let [a, b] = terms;
        for ((out, &x), &y) in out.iter_mut().zip(a.1).zip(b.1) {
            *out += a.0 * x + b.0 * y;
        }
    }
}

wide! {
    /// out += scale · row.
    pub(crate) fn add_one<T: Real>(out: &mut [T], term: (T, &[T])) {
        for (out, &x) in out.iter_mut().zip(term.1) {
            *out += term.0 * x;
        }
    }
}

wide! {
    /// out += scale · row, the products as they are and the sums in f64.
    pub(crate) fn add_one_wide<T: Real>(out: &mut [f64], term: (T, &[T])) {
        for (out, &x) in out.iter_mut().zip(term.1) {
            *out += (term.0 * x).wide();
        }
    }
}

/// Columns whose sums stay in registers: four of 32 bytes. Twice as many where there are, as
/// most nodes have few neighbours and the end of their list comes as a surprise every time.
pub(crate) const HELD: usize = 32;

/// What [`gather`] adds up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gather<'a, T> {
    /// A row a node, (nodes, width).
    pub(crate) rows: &'a Matrix<T>,
    /// Where each node's neighbours begin, (nodes + 1).
    pub(crate) offsets: &'a [u64],
    pub(crate) neighbours: &'a [u32],
    /// One for each neighbour; 1 where there are none.
    pub(crate) weights: Option<&'a [T]>,
    /// What a node's sum is multiplied with, (nodes).
    pub(crate) scale: &'a [T],
    /// What is added then.
    pub(crate) rest: Option<Rest<'a, T>>,
}

/// A share for each row of a matrix, the matrix, and its column from which on they are taken.
pub(crate) type Rest<'a, T> = (&'a [T], &'a Matrix<T>, usize);

wide! {
    /// For some nodes from `first` on, out(i) = scale(i) · (row i + Σ_j w(i, j) row j) +
    /// share(i) · rest(i), rows added in the order of the node's neighbours. All nodes in one
    /// function, and sums in registers: most nodes have few neighbours.
    pub(crate) fn gather<T: Real>(out: &mut [T], first: usize, of: &Gather<'_, T>) {
        let width = of.rows.width;
        for (node, out) in (first..).zip(out.chunks_exact_mut(width)) {
            let span = of.offsets[node] as usize..of.offsets[node + 1] as usize;
            let neighbours = &of.neighbours[span.clone()];
            let weights = of.weights.map(|weights| &weights[span]);
            let scale = of.scale[node];
            let (wide, others) = out.as_chunks_mut::<{ 2 * HELD }>();
            let (held, last) = others.as_chunks_mut::<HELD>();
            let mut columns = 0;
            for out in wide {
                *out = held_sums(of, (node, columns), (neighbours, weights), scale);
                columns += out.len();
            }
            for out in held {
                *out = held_sums(of, (node, columns), (neighbours, weights), scale);
                columns += out.len();
            }
            if !last.is_empty() {
                last.copy_from_slice(&of.rows.row(node)[columns..]);
                for (at, &j) in neighbours.iter().enumerate() {
                    let row = &of.rows.row(j as usize)[columns..];
                    let weight = weights.map_or(T::ONE, |weights| weights[at]);
                    last.iter_mut().zip(row).for_each(|(sum, &x)| *sum += weight * x);
                }
                last.iter_mut().for_each(|x| *x = scale * *x);
            }
            if let Some((shares, rest, from)) = of.rest {
                let (share, rest) = (shares[node], &rest.row(node)[from..from + width]);
                out.iter_mut().zip(rest).for_each(|(out, &rest)| *out += share * rest);
            }
        }
    }
}

/// Some columns of [`gather`]'s sum for a node, from one column on.
#[inline(always)]
fn held_sums<T: Real, const N: usize>(
    of: &Gather<'_, T>,
    (node, column): (usize, usize),
    (neighbours, weights): (&[u32], Option<&[T]>),
    scale: T,
) -> [T; N] {
    let chunk = |row: usize| -> [T; N] {
        let values = &of.rows.values[row * of.rows.width + column..];
        *values.first_chunk().expect("a row has these columns")
    };
    let mut sums = chunk(node);
    match weights {
        None => {
            for &j in neighbours {
                let row = chunk(j as usize);
                for k in 0..N {
                    sums[k] += row[k];
                }
            }
        }
        Some(weights) => {
            for (&j, &weight) in neighbours.iter().zip(weights) {
                let row = chunk(j as usize);
                for k in 0..N {
                    sums[k] += weight * row[k];
                }
            }
        }
    }
    for sum in &mut sums {
        *sum *= scale;
    }
    sums
}

wide! {
    /// Σ a, in f64 and in an order that the length alone decides.
    pub(crate) fn sum<T: Real>(row: &[T]) -> f64 {
        let (chunks, rest) = row.as_chunks::<LANES>();
        let mut lanes = [0f64; LANES];
        for chunk in chunks {
            for (lane, &x) in lanes.iter_mut().zip(chunk) {
                *lane += x.wide();
            }
        }
        lanes.iter().sum::<f64>() + rest.iter().map(|&x| x.wide()).sum::<f64>()
    }
}

wide! {
    /// Σ a², in f64 and in an order that the length alone decides.
    pub(crate) fn squares<T: Real>(row: &[T]) -> f64 {
        let (chunks, rest) = row.as_chunks::<LANES>();
        let mut lanes = [0f64; LANES];
        for chunk in chunks {
            for (lane, &x) in lanes.iter_mut().zip(chunk) {
                *lane += x.wide() * x.wide();
            }
        }
        let rest: f64 = rest.iter().map(|&x| x.wide() * x.wide()).sum();
        lanes.iter().sum::<f64>() + rest
    }
}

wide! {
    /// Σ a b, in an order that the length alone decides.
    pub(crate) fn dot<T: Real>(a: &[T], b: &[T]) -> T {
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        let mut lanes = [T::ZERO; LANES];
        for (a, b) in a.iter().zip(b) {
            for ((lane, &a), &b) in lanes.iter_mut().zip(a).zip(b) {
                *lane += a * b;
            }
        }
        let mut half = LANES / 2;
        while half > 0 {
            for lane in 0..half {
                let other = lanes[lane + half];
                lanes[lane] += other;
            }
            half /= 2;
        }
        let rest = a_rest.iter().zip(b_rest).fold(T::ZERO, |sum, (&a, &b)| sum + a * b);
        lanes[0] + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_added_with_their_factors() {
        let rows = Matrix::of(3, 2, vec![1.0, 2.0, 10.0, 20.0, 100.0, 200.0]);
        for count in 0..10 {
            let entries: Vec<(f32, usize)> = (0..count).map(|k| (k as f32 + 1.0, k % 3)).collect();
            let mut out = [0.5, -0.5];
            add_rows(&mut out, &rows, entries.iter().copied());
            let sum: f32 =
                entries.iter().map(|&(factor, row)| factor * 10f32.powi(row as i32)).sum();
            assert_eq!(out, [0.5 + sum, 2.0 * sum - 0.5]);
        }
    }

    #[test]
    fn rounding_is_not_scaled_up() {
        let mut row = [3.0, 4.0];
        center_and_scale(&mut row, None, Some(2.0));
        assert_eq!(row, [1.2, 1.6]);
        let mut row = [1.0, 2.0];
        center_and_scale(&mut row, Some(&[1.0, 1.0]), Some(3.0));
        assert_eq!(row, [0.0, 3.0]);
        let mut row = [1.0 + f32::EPSILON, 2.0];
        center_and_scale(&mut row, Some(&[1.0, 2.0]), Some(1.0));
        assert_eq!(row, [0.0, 0.0]);
        let mut row = [0.0, 0.0];
        center_and_scale(&mut row, None, Some(1.0));
        assert_eq!(row, [0.0, 0.0]);
    }

    #[test]
    fn long_vectors_give_the_bits_of_the_formula() {
        let mut stream = crate::rng::Stream::new(1, "rows", 0);
        let mut row = || (0..77).map(|_| stream.normal() as f32).collect::<Vec<f32>>();
        let (rows, start) = ([row(), row(), row(), row()], row());
        let scale = |at: usize| 0.3 + at as f32;
        let mut out = start.clone();
        add_scaled(&mut out, (0..4).map(|at| (scale(at), &rows[at][..])));
        for at in 0..77 {
            let term = |k: usize| scale(k) * rows[k][at];
            let wanted = start[at] + ((term(0) + term(1)) + (term(2) + term(3)));
            assert_eq!(out[at].to_bits(), wanted.to_bits());
        }
    }

    #[test]
    fn rows_are_gathered_along_lists() {
        let mut stream = crate::rng::Stream::new(2, "rows", 0);
        // Node 0 has no neighbour.
        let lists: [&[u32]; 5] = [&[], &[0, 2], &[3], &[0, 1, 2, 4, 3], &[4, 4, 0]];
        let neighbours = lists.concat();
        let offsets: Vec<u64> =
            (0..=5).map(|end| lists[..end].iter().map(|list| list.len() as u64).sum()).collect();
        for width in [1, 31, 32, 63, 64, 70] {
            let mut random = |rows: usize, width: usize| {
                let values = (0..rows * width).map(|_| stream.normal()).collect();
                Matrix::<f64>::of(rows, width, values)
            };
            let rows = random(5, width);
            let (shares, beside) = (random(1, 5), random(5, width + 3));
            let (scale, weights) = (random(1, 5), random(1, neighbours.len()));
            for weights in [None, Some(&weights.values[..])] {
                let of = Gather {
                    rows: &rows,
                    offsets: &offsets,
                    neighbours: &neighbours,
                    weights,
                    scale: &scale.values,
                    rest: weights.map(|_| (&shares.values[..], &beside, 2)),
                };
                for first in 0..5 {
                    let mut found = vec![7.0; (5 - first) * width];
                    gather(&mut found, first, &of);
                    for (at, found) in found.iter().enumerate() {
                        let (node, column) = (first + at / width, at % width);
                        let mut sum = rows.row(node)[column];
                        for place in offsets[node] as usize..offsets[node + 1] as usize {
                            let weight = weights.map_or(1.0, |weights| weights[place]);
                            sum += weight * rows.row(neighbours[place] as usize)[column];
                        }
                        let rest = shares.values[node] * beside.row(node)[column + 2];
                        let rest = weights.map_or(0.0, |_| rest);
                        let wanted = scale.values[node] * sum + rest;
                        assert_eq!(*found, wanted, "{width} {node} {column}");
                    }
                }
            }
        }
    }

    #[test]
    fn sums_and_squares_of_all_lengths_are_exact_on_integers() {
        for length in 0..70i32 {
            let row: Vec<f32> = (0..length).map(|i| i as f32 - 7.0).collect();
            assert_eq!(sum(&row), f64::from((0..length).map(|i| i - 7).sum::<i32>()), "{length}");
            let wanted: i32 = (0..length).map(|i| (i - 7) * (i - 7)).sum();
            assert_eq!(squares(&row), f64::from(wanted), "{length}");
        }
    }

    #[test]
    fn dots_of_all_lengths_are_exact_on_integers() {
        for length in 0..70 {
            let a: Vec<f32> = (0..length).map(|i| i as f32 - 7.0).collect();
            let b: Vec<f32> = (0..length).map(|i| (i % 5) as f32).collect();
            let wanted: i64 = (0..length).map(|i| (i - 7) * (i % 5)).sum();
            assert_eq!(dot(&a, &b), wanted as f32, "{length}");
        }
    }
}
