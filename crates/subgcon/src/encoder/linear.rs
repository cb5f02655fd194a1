//! A product after the last layer: out = R L; R (rows, width), L (width, columns).
//!
//! No bias and no PReLU, so it may trade places with any weighted sum of rows: the mean
//! of R L is the mean of R, times L. Training multiplies summaries and centers instead of
//! all rows, which are several times as many. Backward: d_L = Rᵀ d_out, d_R = d_out Lᵀ.

use crate::math::{Matrix, Real, Write, gemm};

/// R L.
pub(crate) fn forward<T: Real>(rows: &Matrix<T>, weight: &Matrix<T>) -> Matrix<T> {
    let mut out = Matrix::zeros(rows.rows, weight.width);
    gemm(&mut out, rows.view(), weight.view(), Write::Set);
    out
}

/// Adds to the derivative by L; returns that by R.
pub(crate) fn backward<T: Real>(
    (rows, weight): (&Matrix<T>, &Matrix<T>),
    d_out: &Matrix<T>,
    d_weight: &mut Matrix<T>,
) -> Matrix<T> {
    gemm(d_weight, rows.view().transposed(), d_out.view(), Write::Add);
    let mut d_rows = Matrix::zeros(rows.rows, rows.width);
    gemm(&mut d_rows, d_out.view(), weight.view().transposed(), Write::Set);
    d_rows
}
