//! Dense products: C = A B, or C += A B.
//!
//! The one file that knows which library multiplies. Products are cut into blocks
//! of C by its shape alone, and a block is always computed by one thread, so the
//! result does not depend on the number of threads. It does depend, within
//! rounding, on the shape and on the processor; where an answer must not depend
//! on how many rows are multiplied together, [`super::rows_product`] serves.

use rayon::prelude::*;

use super::matrix::View;
use super::{Matrix, Real};

/// Rows of C that are computed together, at most. Fewer would pack B more often than it
/// pays (blocks of 1024 rows cost 4 % at a width of 1024), more would leave threads idle.
const BLOCK: usize = 2048;

/// Products below this many multiplications are not cut: cutting costs more.
const SMALL: usize = 1 << 20;

/// What is done with what stands in C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// C = A B.
    Set,
    /// C += A B.
    Add,
}

/// C (rows of A, columns of B), row-major, from A and B.
pub fn gemm<T: Real>(c: &mut Matrix<T>, a: View<'_, T>, b: View<'_, T>, write: Write) {
    assert_eq!((c.rows, c.width, a.width), (a.rows, b.width, b.rows), "shapes of a product");
    let width = c.width;
    gemm_slice(&mut c.values, width, a, b, write);
}

/// As [`gemm()`], C being rows of `b.width` numbers in a slice.
pub fn gemm_slice<T: Real>(
    c: &mut [T],
    width: usize,
    a: View<'_, T>,
    b: View<'_, T>,
    write: Write,
) {
    assert_eq!(c.len(), a.rows * width, "C has a row for each of A's");
    assert_eq!((a.width, width), (b.rows, b.width), "shapes of a product");
    assert!(a.fits() && b.fits(), "operands end after their slices");
    if c.is_empty() {
        return;
    }
    // Blocks of equal size, two or another even number, keep two threads busy to the end.
    let pairs = a.rows.div_ceil(2 * BLOCK);
    let small = a.rows * width * a.width < SMALL;
    let rows = if small { a.rows } else { a.rows.div_ceil(2 * pairs) };
    if rows == a.rows {
        return block(c, width, a, b, write);
    }
    c.par_chunks_mut(rows * width).enumerate().for_each(|(at, c)| {
        let start = at * rows;
        block(c, width, a.some_rows(start..start + c.len() / width), b, write);
    });
}

fn block<T: Real>(c: &mut [T], width: usize, a: View<'_, T>, b: View<'_, T>, write: Write) {
    let stride = |n: usize| n as isize;
    // SAFETY: `c` holds a.rows rows of `width` numbers and is not shared; `fits` was
    // asked of `a` and `b`, and rows of `a` fit where all of it does.
    #[allow(unsafe_code)]
    unsafe {
        gemm::gemm(
            a.rows,
            width,
            a.width,
            c.as_mut_ptr(),
            1,
            stride(width),
            write == Write::Add,
            a.values.as_ptr(),
            stride(a.column_stride),
            stride(a.row_stride),
            b.values.as_ptr(),
            stride(b.column_stride),
            stride(b.row_stride),
            T::ONE,
            T::ONE,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn random(rows: usize, width: usize, index: u64) -> Matrix<f64> {
        let mut stream = Stream::new(1, "matrix", index);
        Matrix::of(rows, width, (0..rows * width).map(|_| stream.normal()).collect())
    }

    /// Σ_k A(i, k) B(k, j), as it is written.
    fn naive(a: &Matrix<f64>, b: &Matrix<f64>) -> Matrix<f64> {
        let mut c = Matrix::zeros(a.rows, b.width);
        for i in 0..a.rows {
            for j in 0..b.width {
                c.row_mut(i)[j] = (0..a.width).map(|k| a.row(i)[k] * b.row(k)[j]).sum();
            }
        }
        c
    }

    fn transposed(a: &Matrix<f64>) -> Matrix<f64> {
        let mut t = Matrix::zeros(a.width, a.rows);
        for i in 0..a.rows {
            for j in 0..a.width {
                t.row_mut(j)[i] = a.row(i)[j];
            }
        }
        t
    }

    fn close(a: &Matrix<f64>, b: &Matrix<f64>) {
        assert_eq!((a.rows, a.width), (b.rows, b.width));
        let far = a.values.iter().zip(&b.values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far < 1e-11, "{far}");
    }

    #[test]
    fn products_of_all_shapes_equal_the_naive_ones() {
        for (m, k, n) in
            [(1, 1, 1), (3, 5, 2), (17, 33, 65), (1500, 40, 30), (2, 0, 3), (700, 64, 64)]
        {
            let (a, b) = (random(m, k, 0), random(k, n, 1));
            let wanted = naive(&a, &b);
            let mut c = random(m, n, 2);
            gemm(&mut c, a.view(), b.view(), Write::Set);
            close(&c, &wanted);
            gemm(&mut c, transposed(&a).view().transposed(), b.view(), Write::Add);
            gemm(&mut c, a.view(), transposed(&b).view().transposed(), Write::Add);
            close(&c, &Matrix::of(m, n, wanted.values.iter().map(|x| 3.0 * x).collect()));
        }
    }

    #[test]
    fn parts_of_operands() {
        let (a, b) = (random(6, 9, 3), random(5, 8, 4));
        let mut c = Matrix::zeros(3, 4);
        gemm(&mut c, a.view().some_rows(2..5).columns(1..6), b.view().columns(4..8), Write::Set);
        let wanted = naive(&a, &{
            let mut wide = Matrix::zeros(9, 8);
            (0..5).for_each(|r| wide.row_mut(r + 1).copy_from_slice(b.row(r)));
            wide
        });
        let part = (2..5).flat_map(|r| wanted.row(r)[4..8].to_vec()).collect();
        close(&c, &Matrix::of(3, 4, part));
    }
}
