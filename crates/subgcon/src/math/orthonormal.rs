//! Which combinations of vectors are orthonormal?
//!
//! From the Gram matrix G = D (L Lᵀ) D of some vectors, D their lengths (Cholesky): rows
//! of W = L⁻¹ D⁻¹ are the combinations. Vectors of which next to nothing is new beside
//! those before them are left out. All loops run along rows.

use super::{Matrix, add_one, dot};

/// A vector of which less than this share, squared, is new is left out: what the Gram
/// matrix knows of it is rounding.
const NEW: f64 = 1e-12;

/// W (kept, vectors): W G Wᵀ = I, row j a combination of the first vectors up to the
/// j-th that is kept.
pub(crate) fn orthonormal_combinations(gram: &Matrix<f64>) -> Matrix<f64> {
    assert_eq!(gram.rows, gram.width, "a Gram matrix is square");
    let count = gram.rows;
    let lengths: Vec<f64> = (0..count).map(|at| gram.row(at)[at].max(0.0).sqrt()).collect();
    let mut kept: Vec<usize> = Vec::new();
    // Rows of L and of L⁻¹ over the kept vectors; a row of either ends at itself.
    let mut lower: Vec<Vec<f64>> = Vec::new();
    let mut inverse: Vec<Vec<f64>> = Vec::new();
    for at in (0..count).filter(|&at| lengths[at] > 0.0) {
        let mut row: Vec<f64> = Vec::with_capacity(kept.len() + 1);
        for (&other, of_other) in kept.iter().zip(&lower) {
            let place = row.len();
            let entry = gram.row(at)[other] / (lengths[at] * lengths[other]);
            row.push((entry - dot(&of_other[..place], &row)) / of_other[place]);
        }
        let new = 1.0 - dot(&row, &row);
        if new <= NEW {
            continue;
        }
        let diagonal = new.sqrt();
        let mut combination = vec![0.0; kept.len() + 1];
        combination[kept.len()] = 1.0 / diagonal;
        for (&share, of_other) in row.iter().zip(&inverse) {
            add_one(&mut combination[..of_other.len()], (-share / diagonal, of_other));
        }
        row.push(diagonal);
        kept.push(at);
        lower.push(row);
        inverse.push(combination);
    }
    let mut combinations = Matrix::zeros(kept.len(), count);
    for (at, combination) in inverse.iter().enumerate() {
        for (&vector, &share) in kept.iter().zip(combination) {
            combinations.row_mut(at)[vector] = share / lengths[vector];
        }
    }
    combinations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Write, gemm};
    use crate::rng::Stream;

    fn gram(vectors: &Matrix<f64>) -> Matrix<f64> {
        let mut gram = Matrix::zeros(vectors.rows, vectors.rows);
        gemm(&mut gram, vectors.view(), vectors.view().transposed(), Write::Set);
        gram
    }

    #[test]
    fn combinations_are_orthonormal_and_span_what_the_vectors_do() {
        let mut stream = Stream::new(2, "vectors", 0);
        let mut vectors =
            Matrix::of(30, 80, (0..30 * 80).map(|_| stream.normal()).collect::<Vec<f64>>());
        // Very different lengths, a row of zeros, and one that is the sum of two others.
        vectors.row_mut(3).iter_mut().for_each(|x| *x *= 1e6);
        vectors.row_mut(11).fill(0.0);
        for at in 0..80 {
            vectors.row_mut(20)[at] = vectors.row(4)[at] - 2.0 * vectors.row(9)[at];
        }
        let combinations = orthonormal_combinations(&gram(&vectors));
        assert_eq!((combinations.rows, combinations.width), (28, 30));
        let mut basis = Matrix::zeros(28, 80);
        gemm(&mut basis, combinations.view(), vectors.view(), Write::Set);
        let products = gram(&basis);
        for row in 0..28 {
            for column in 0..28 {
                let wanted = f64::from(u8::from(row == column));
                assert!((products.row(row)[column] - wanted).abs() < 1e-10, "{row} {column}");
            }
        }
        // Every vector lies in the span: its coordinates have its length.
        let mut coordinates = Matrix::zeros(30, 28);
        gemm(&mut coordinates, vectors.view(), basis.view().transposed(), Write::Set);
        for at in 0..30 {
            let length = |row: &[f64]| dot(row, row).sqrt();
            let (found, wanted) = (length(coordinates.row(at)), length(vectors.row(at)));
            assert!((found - wanted).abs() <= 1e-9 * wanted, "{at}: {found} instead of {wanted}");
        }
    }
}
