//! Orthonormal columns with the same span, by the Gram matrix in f64.
//!
//! With D the lengths of the columns of Z and D⁻¹ ZᵀZ D⁻¹ = RᵀR (Cholesky), Q = Z D⁻¹ R⁻¹.
//! Columns keep their order: column j of Q lies in the span of the first j of Z. A power
//! iteration needs that: strong directions stay in front, and weak ones, orthogonal
//! to them, are not drowned by them in the next product. (Q from the eigenvectors
//! of the Gram matrix mixes them.) A second pass takes away what the first, from a Gram matrix
//! that may be close to singular, leaves.

use crate::math::{Matrix, orthonormal_columns};
use crate::rng::Stream;

/// A column of which less than this share, squared, is new is left out: what the Gram
/// matrix knows of it is rounding.
const NEW: f64 = 1e-10;

/// As many orthonormal columns as Z has, the first ones spanning those of Z. Where Z has
/// a lower rank the others are random: a power iteration finds in them what it
/// had missed, if there is anything.
pub(super) fn orthonormal(z: &Matrix<f64>, stream: &mut Stream) -> Matrix<f64> {
    pass(&nearly_orthonormal(z, stream))
}

/// The same but for the second pass: columns of which little was new are orthogonal to some digits only, which
/// is enough for them to be multiplied again.
pub(super) fn nearly_orthonormal(z: &Matrix<f64>, stream: &mut Stream) -> Matrix<f64> {
    let q = pass(z);
    if q.width < z.width { pass(&filled(&q, z.width, stream)) } else { q }
}

/// One pass; fewer columns where the rank is lower.
fn pass(z: &Matrix<f64>) -> Matrix<f64> {
    orthonormal_columns(z, NEW)
}

/// The columns of Q, then random ones.
fn filled(q: &Matrix<f64>, width: usize, stream: &mut Stream) -> Matrix<f64> {
    let mut out = Matrix::zeros(q.rows, width);
    for row in 0..q.rows {
        out.row_mut(row)[..q.width].copy_from_slice(q.row(row));
        out.row_mut(row)[q.width..].iter_mut().for_each(|x| *x = stream.normal());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(rows: usize, width: usize) -> Matrix<f64> {
        let mut stream = Stream::new(5, "matrix", 0);
        Matrix::of(rows, width, (0..rows * width).map(|_| stream.normal()).collect())
    }

    fn dot(a: &Matrix<f64>, i: usize, b: &Matrix<f64>, j: usize) -> f64 {
        (0..a.rows).map(|row| a.row(row)[i] * b.row(row)[j]).sum()
    }

    fn assert_orthonormal(q: &Matrix<f64>) {
        for i in 0..q.width {
            for j in 0..q.width {
                let wanted = f64::from(u8::from(i == j));
                assert!((dot(q, i, q, j) - wanted).abs() < 1e-13, "columns {i} and {j}");
            }
        }
    }

    #[test]
    fn columns_of_any_scale_span_what_they_did_in_order() {
        let mut z = random(40, 9);
        // From 1 to 1e-16, and each with much of the first in it.
        for row in 0..40 {
            let first = z.row(row)[0];
            for (j, x) in z.row_mut(row).iter_mut().enumerate().skip(1) {
                *x = 0.01f64.powi(j as i32) * (1e-2 * *x + first);
            }
        }
        let q = orthonormal(&z, &mut Stream::new(1, "fill", 0));
        assert_orthonormal(&q);
        for j in 0..9 {
            // Column j of Z is in the span of the first j + 1 columns of Q.
            let length = dot(&z, j, &z, j);
            let inside: f64 = (0..=j).map(|i| dot(&q, i, &z, j).powi(2)).sum();
            assert!((inside / length - 1.0).abs() < 1e-12, "column {j}");
        }
    }

    #[test]
    fn what_is_missing_is_filled() {
        let mut z = random(30, 8);
        for row in 0..30 {
            let line = z.row_mut(row);
            line[3] = 2.0 * line[0] - line[1];
            line[5] = 0.0;
        }
        let q = orthonormal(&z, &mut Stream::new(1, "fill", 0));
        assert_eq!(q.width, 8);
        assert_orthonormal(&q);
        for j in 0..8 {
            let inside: f64 = (0..6).map(|i| dot(&q, i, &z, j).powi(2)).sum();
            assert!((inside - dot(&z, j, &z, j)).abs() < 1e-11, "column {j}");
        }
        // As many columns as rows, all of them the same.
        let q = orthonormal(&Matrix::of(4, 4, vec![1.0; 16]), &mut Stream::new(1, "fill", 0));
        assert_eq!(q.width, 4);
        assert_orthonormal(&q);
    }
}
