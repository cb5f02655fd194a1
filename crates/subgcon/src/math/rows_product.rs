//! A dense product in which a row of the result does not depend on its neighbours.
//!
//! out(r, c) = Σ_k x(r, k) w(k, c), added up from zero with k rising, whatever the
//! number of rows and wherever a row lies among them: multiplying some of the rows
//! gives the same bits as multiplying all. [`super::gemm`] does not promise that (it
//! may cut k by the number of rows), so embedding, where a node's answer must
//! not depend on its batch, multiplies here.
//!
//! R × C sums stay in registers. W is cut into panels of C columns, the last
//! one filled up with zeros, and rows that are left over go one by one: every
//! tile does the same operations on an element, so tiles do not show. A processor with
//! fused multiply-add rounds once where another rounds twice: results depend
//! on the processor, within rounding, as those of any product do.

use rayon::prelude::*;

use super::matrix::View;
use super::{Matrix, Real};

/// Rows that are computed together, a multiple of every tile's rows: enough to pay for
/// fetching the panels.
const ROWS: usize = 96;

/// What the processor can do. Vectors of 32 and 64 bytes reach the same speed
/// where the longer ones take two turns, and twice that where they do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// Whatever every processor has; products and sums rounded apart.
    Baseline,
    /// 16 registers of 32 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 32 registers of 64 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// All that this processor has, the best last.
    fn available() -> Vec<Level> {
        #[allow(unused_mut, reason = "elsewhere there is only one")]
        let mut levels = vec![Level::Baseline];
        #[cfg(target_arch = "x86_64")]
        {
            let fused = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            if fused {
                levels.push(Level::Avx2);
            }
            if fused && is_x86_feature_detected!("avx512f") {
                levels.push(Level::Avx512);
            }
        }
        levels
    }
}

/// out = x w; `x` is (rows, depth) with its columns side by side, `w` (depth, width).
pub fn rows_product<T: Real>(x: View<'_, T>, w: &Matrix<T>, out: &mut Matrix<T>) {
    let level = Level::available().pop().unwrap_or(Level::Baseline);
    rows_product_at(level, x, w, out);
}

fn rows_product_at<T: Real>(level: Level, x: View<'_, T>, w: &Matrix<T>, out: &mut Matrix<T>) {
    assert_eq!((out.rows, out.width, x.width), (x.rows, w.width, w.rows), "shapes of a product");
    assert!(x.fits() && x.column_stride == 1, "rows of x lie in its slice");
    if out.values.is_empty() {
        return;
    }
    match level {
        Level::Baseline => by_rows(x, &Panels::of(w), out, baseline),
        // SAFETY: `Level::available` lists a level only where its features are there.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        Level::Avx2 => by_rows(x, &Panels::of(w), out, |x, w, out| unsafe { avx2(x, w, out) }),
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        Level::Avx512 => by_rows(x, &Panels::of(w), out, |x, w, out| unsafe { avx512(x, w, out) }),
    }
}

/// C columns of W after another, its rows side by side; the last columns are filled up with zeros.
struct Panels<T, const C: usize> {
    depth: usize,
    width: usize,
    rows: Vec<[T; C]>,
}

impl<T: Real, const C: usize> Panels<T, C> {
    fn of(w: &Matrix<T>) -> Panels<T, C> {
        let (depth, width) = (w.rows, w.width);
        let mut rows = vec![[T::ZERO; C]; depth * width.div_ceil(C)];
        for k in 0..depth {
            let (whole, rest) = w.row(k).as_chunks::<C>();
            whole.iter().enumerate().for_each(|(at, line)| rows[at * depth + k] = *line);
            if !rest.is_empty() {
                rows[whole.len() * depth + k][..rest.len()].copy_from_slice(rest);
            }
        }
        Panels { depth, width, rows }
    }
}

/// Some rows of x to a task.
fn by_rows<T: Real, const C: usize>(
    x: View<'_, T>,
    w: &Panels<T, C>,
    out: &mut Matrix<T>,
    block: impl Fn(View<'_, T>, &Panels<T, C>, &mut [T]) + Sync,
) {
    out.values.par_chunks_mut(ROWS * w.width).enumerate().for_each(|(at, out)| {
        let start = at * ROWS;
        block(x.some_rows(start..start + out.len() / w.width), w, out);
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
fn avx512<T: Real>(x: View<'_, T>, w: &Panels<T, 32>, out: &mut [T]) {
    block::<T, 8, 32>(x, w, out, T::mul_add);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<T: Real>(x: View<'_, T>, w: &Panels<T, 16>, out: &mut [T]) {
    block::<T, 6, 16>(x, w, out, T::mul_add);
}

fn baseline<T: Real>(x: View<'_, T>, w: &Panels<T, 8>, out: &mut [T]) {
    block::<T, 4, 8>(x, w, out, two_roundings);
}

#[inline(always)]
fn two_roundings<T: Real>(a: T, b: T, c: T) -> T {
    a * b + c
}

/// Rows of x times all of w. Inlined, so that it is compiled for its caller's features.
#[inline(always)]
fn block<T: Real, const R: usize, const C: usize>(
    x: View<'_, T>,
    w: &Panels<T, C>,
    out: &mut [T],
    multiply_add: impl Fn(T, T, T) -> T + Copy,
) {
    let (depth, width) = (w.depth, w.width);
    let x_row = |row: usize| &x.values[row * x.row_stride..][..depth];
    let full = x.rows / R * R;
    for start in (0..width).step_by(C) {
        let panel = &w.rows[start / C * depth..][..depth];
        let mut store = |row: usize, sums: &[T; C]| {
            let out = &mut out[row * width + start..(row + 1) * width];
            match out.first_chunk_mut() {
                Some(out) => *out = *sums,
                None => out.copy_from_slice(&sums[..out.len()]),
            }
        };
        for row in (0..full).step_by(R) {
            let x: [&[T]; R] = std::array::from_fn(|r| x_row(row + r));
            let sums = tile(x, panel, multiply_add);
            (row..).zip(&sums).for_each(|(row, sums)| store(row, sums));
        }
        for row in full..x.rows {
            let [sums] = tile([x_row(row)], panel, multiply_add);
            store(row, &sums);
        }
    }
}

/// R rows of x times the panel. Numbers of x are read before the sums are touched, and
/// slices are cut to one length first, by plain loops: otherwise the compiler keeps checks of
/// bounds inside and the sums in memory, four to fifty times slower.
#[inline(always)]
fn tile<T: Real, const R: usize, const C: usize>(
    x: [&[T]; R],
    panel: &[[T; C]],
    multiply_add: impl Fn(T, T, T) -> T + Copy,
) -> [[T; C]; R] {
    let mut cut = x;
    for r in 0..R {
        cut[r] = &x[r][..panel.len()];
    }
    let mut sums = [[T::ZERO; C]; R];
    for (k, w) in panel.iter().enumerate() {
        let mut x = [T::ZERO; R];
        for r in 0..R {
            x[r] = cut[r][k];
        }
        for r in 0..R {
            // A loop over c here keeps sums in memory: embedding takes three times as long.
            let sum = sums[r];
            sums[r] = std::array::from_fn(|c| multiply_add(x[r], w[c], sum[c]));
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn random(rows: usize, width: usize, index: u64) -> Matrix<f64> {
        let mut stream = Stream::new(1, "matrix", index);
        Matrix::of(rows, width, (0..rows * width).map(|_| stream.normal()).collect())
    }

    const SHAPES: [(usize, usize, usize); 6] =
        [(1, 1, 1), (7, 5, 3), (100, 33, 65), (13, 0, 4), (197, 70, 31), (5, 3, 0)];

    #[test]
    fn every_level_equals_the_sum_as_it_is_written() {
        for (rows, depth, width) in SHAPES {
            let (x, w) = (random(rows, depth, 0), random(depth, width, 1));
            let naive =
                |r: usize, c: usize| -> f64 { (0..depth).map(|k| x.row(r)[k] * w.row(k)[c]).sum() };
            for level in Level::available() {
                let mut out = random(rows, width, 2);
                rows_product_at(level, x.view(), &w, &mut out);
                let mut narrow = Matrix::<f32>::zeros(rows, width);
                rows_product_at(level, x.cast().view(), &w.cast(), &mut narrow);
                for r in 0..rows {
                    for c in 0..width {
                        let wanted = naive(r, c);
                        assert!((out.row(r)[c] - wanted).abs() < 1e-12, "{level:?} {r} {c}");
                        let far = (f64::from(narrow.row(r)[c]) - wanted).abs();
                        assert!(far < 1e-4, "{level:?} {r} {c}: {far}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_has_the_same_bits_wherever_it_falls() {
        for (rows, depth, width) in SHAPES {
            let (x, w) = (random(rows, depth, 3).cast::<f32>(), random(depth, width, 4).cast());
            for level in Level::available() {
                let mut all = Matrix::zeros(rows, width);
                rows_product_at(level, x.view(), &w, &mut all);
                for (start, end) in (0..rows).flat_map(|r| [(r, r + 1), (r / 2, r + 1)]) {
                    let mut some = Matrix::zeros(end - start, width);
                    rows_product_at(level, x.view().some_rows(start..end), &w, &mut some);
                    let part = &all.values[start * width..end * width];
                    assert!(
                        some.values
                            .iter()
                            .map(|x| x.to_bits())
                            .eq(part.iter().map(|x| x.to_bits()))
                    );
                }
            }
        }
    }

    #[test]
    fn columns_fall_the_same_way_too() {
        let (x, w) = (random(9, 40, 5), random(40, 65, 6));
        for level in Level::available() {
            let mut all = Matrix::zeros(9, 65);
            rows_product_at(level, x.view(), &w, &mut all);
            for column in 0..65 {
                let alone = Matrix::of(40, 1, (0..40).map(|k| w.row(k)[column]).collect());
                let mut out = Matrix::zeros(9, 1);
                rows_product_at(level, x.view(), &alone, &mut out);
                (0..9).for_each(|r| assert_eq!(out.values[r], all.row(r)[column]));
            }
        }
    }
}
