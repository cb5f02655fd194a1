//! Which combinations of vectors are orthonormal?
//!
//! From the Gram matrix G = D (L Lᵀ) D of some vectors, D their lengths (Cholesky): rows
//! of W = L⁻¹ D⁻¹ are the combinations. Vectors of which next to nothing is new beside
//! those before them are left out. All loops run along rows.

use super::{Matrix, Write, add_one, dot, gemm};

/// Columns that are multiplied together: products skip what is known to be zero, or the
/// mirror of what was found, by so many.
const PANEL: usize = 128;

/// W (kept, vectors): W G Wᵀ = I, row j a combination of the first vectors up to the
/// j-th that is kept. A vector of which less than `new`, squared, is new is left out:
/// what the Gram matrix knows of it is rounding.
pub(crate) fn orthonormal_combinations(gram: &Matrix<f64>, new: f64) -> Matrix<f64> {
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
        let left = 1.0 - dot(&row, &row);
        if left <= new {
            continue;
        }
        let diagonal = left.sqrt();
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

/// An orthonormal basis of what the columns of z span, (rows, kept), column j in the span of
/// the first of z up to the j-th that is kept; `new` as above. G is symmetric and W a
/// triangle: of both products little more than half is made.
pub(crate) fn orthonormal_columns(z: &Matrix<f64>, new: f64) -> Matrix<f64> {
    let mut gram = Matrix::zeros(z.width, z.width);
    for start in (0..z.width).step_by(PANEL) {
        let end = (start + PANEL).min(z.width);
        let mut panel = Matrix::zeros(end - start, end);
        let rows = z.view().columns(start..end).transposed();
        gemm(&mut panel, rows, z.view().columns(0..end), Write::Set);
        (start..end).for_each(|row| {
            gram.row_mut(row)[..end].copy_from_slice(panel.row(row - start));
        });
    }
    let combinations = orthonormal_combinations(&gram, new);
    let mut basis = Matrix::zeros(z.rows, combinations.rows);
    for start in (0..combinations.rows).step_by(PANEL) {
        let end = (start + PANEL).min(combinations.rows);
        // A row of W ends at the vector that it was made for.
        let last = combinations.row(end - 1).iter().rposition(|&x| x != 0.0).map_or(0, |at| at + 1);
        let mut panel = Matrix::zeros(z.rows, end - start);
        let rows = combinations.view().some_rows(start..end).columns(0..last);
        gemm(&mut panel, z.view().columns(0..last), rows.transposed(), Write::Set);
        for row in 0..z.rows {
            basis.row_mut(row)[start..end].copy_from_slice(panel.row(row));
        }
    }
    basis
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let combinations = orthonormal_combinations(&gram(&vectors), 1e-12);
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

    #[test]
    fn columns_of_many_panels_become_a_basis_of_their_span() {
        let mut stream = Stream::new(3, "vectors", 0);
        let mut z = Matrix::of(400, 300, (0..400 * 300).map(|_| stream.normal()).collect());
        // Zeros at the start, a copy within a panel and one of another panel's column.
        for row in 0..400 {
            let row = z.row_mut(row);
            (row[0], row[129], row[299]) = (0.0, row[200] * 3.0, row[5]);
        }
        let basis = orthonormal_columns(&z, 1e-12);
        assert_eq!((basis.rows, basis.width), (400, 297));
        let product = |a: &Matrix<f64>, b: &Matrix<f64>| {
            let mut c = Matrix::zeros(a.width, b.width);
            gemm(&mut c, a.view().transposed(), b.view(), Write::Set);
            c
        };
        let eye = product(&basis, &basis);
        for (at, x) in eye.values.iter().enumerate() {
            let wanted = f64::from(u8::from(at / 297 == at % 297));
            assert!((x - wanted).abs() < 1e-9, "{at}: {x}");
        }
        // Nothing of a column lies outside: its length is that of its coordinates.
        let (inside, all) = (product(&basis, &z), product(&z, &z));
        for column in 0..300 {
            let length: f64 = (0..297).map(|row| inside.row(row)[column].powi(2)).sum();
            assert!((length - all.row(column)[column]).abs() < 1e-7, "{column}");
        }
    }
}
