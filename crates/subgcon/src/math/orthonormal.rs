//! Which combinations of vectors are orthonormal?
//!
//! From the Gram matrix G = D (L Lᵀ) D of some vectors, D their lengths (Cholesky): rows
//! of W = L⁻¹ D⁻¹ are the combinations. Vectors of which next to nothing is new beside
//! those before them are left out.
//!
//! Vectors come a panel at a time. What a panel P has in common with those kept before is
//! R = C(P, kept) L⁻ᵀ, C = D⁻¹ G D⁻¹, and what is new in it has the products
//! C(P, P) − R Rᵀ = K Kᵀ; its rows of L⁻¹ are K⁻¹ (−R L⁻¹, I). So all but K and K⁻¹, of the
//! size of a panel, is left to dense products.

use super::{Matrix, Real, Write, add_one, dot, gemm};

/// Vectors that are multiplied together: products skip what is known to be zero, or the
/// mirror of what was found, by so many.
const PANEL: usize = 128;

/// Vectors of which it is decided one by one what is new in them.
const SOME: usize = 64;

/// W (kept, vectors): W G Wᵀ = I, row j a combination of the first vectors up to the
/// j-th that is kept. A vector of which less than `new`, squared, is new is left out:
/// what the Gram matrix knows of it is rounding. Only the lower triangle of G is read.
pub(crate) fn orthonormal_combinations(gram: &Matrix<f64>, new: f64) -> Matrix<f64> {
    assert_eq!(gram.rows, gram.width, "a Gram matrix is square");
    let count = gram.rows;
    let lengths: Vec<f64> = (0..count).map(|at| gram.row(at)[at].max(0.0).sqrt()).collect();
    let cosine = |at: usize, other: usize| {
        gram.row(at.max(other))[at.min(other)] / (lengths[at] * lengths[other])
    };
    let vectors: Vec<usize> = (0..count).filter(|&at| lengths[at] > 0.0).collect();
    let mut kept: Vec<usize> = Vec::with_capacity(vectors.len());
    // L⁻¹ over the kept vectors; the rest is zero.
    let mut inverse = Matrix::zeros(vectors.len(), vectors.len());
    for panel in vectors.chunks(SOME) {
        let before = kept.len();
        let known = inverse.view().some_rows(0..before).columns(0..before);
        let common = panel.iter().flat_map(|&at| kept.iter().map(move |&other| (at, other)));
        let common = common.map(|(at, other)| cosine(at, other)).collect();
        let common = Matrix::of(panel.len(), before, common);
        let mut shares = Matrix::zeros(panel.len(), before);
        gemm(&mut shares, common.view(), known.transposed(), Write::Set);
        let mut products = Matrix::zeros(panel.len(), panel.len());
        gemm(&mut products, shares.view(), shares.view().transposed(), Write::Set);
        for (row, &at) in panel.iter().enumerate() {
            for (column, &other) in panel[..=row].iter().enumerate() {
                products.row_mut(row)[column] = cosine(at, other) - products.row(row)[column];
            }
        }
        let found = one_by_one(&products, new);
        let mut own = Matrix::zeros(found.len(), panel.len());
        for (row, (_, combination)) in found.iter().enumerate() {
            for ((place, _), &share) in found.iter().zip(combination) {
                own.row_mut(row)[*place] = share;
            }
        }
        let mut taken = Matrix::zeros(found.len(), before);
        gemm(&mut taken, own.view(), shares.view(), Write::Set);
        let mut old = Matrix::zeros(found.len(), before);
        gemm(&mut old, taken.view(), known, Write::Set);
        for (row, (place, combination)) in found.iter().enumerate() {
            let line = inverse.row_mut(before + row);
            line[..before].iter_mut().zip(old.row(row)).for_each(|(to, x)| *to = -x);
            line[before..before + combination.len()].copy_from_slice(combination);
            kept.push(panel[*place]);
        }
    }
    let mut combinations = Matrix::zeros(kept.len(), count);
    for at in 0..kept.len() {
        for (&vector, &share) in kept.iter().zip(&inverse.row(at)[..=at]) {
            combinations.row_mut(at)[vector] = share / lengths[vector];
        }
    }
    combinations
}

/// From products of which the lower triangle is read: which are kept, and for each its
/// row of K⁻¹ over the kept ones up to itself.
fn one_by_one(products: &Matrix<f64>, new: f64) -> Vec<(usize, Vec<f64>)> {
    let mut found: Vec<(usize, Vec<f64>)> = Vec::new();
    // Rows of K; a row ends at itself.
    let mut lower: Vec<Vec<f64>> = Vec::new();
    for at in 0..products.rows {
        let mut row: Vec<f64> = Vec::with_capacity(found.len() + 1);
        for ((other, _), of_other) in found.iter().zip(&lower) {
            let place = row.len();
            let left = products.row(at)[*other] - dot(&of_other[..place], &row);
            row.push(left / of_other[place]);
        }
        let left = products.row(at)[at] - dot(&row, &row);
        if left <= new {
            continue;
        }
        let diagonal = left.sqrt();
        let mut combination = vec![0.0; found.len() + 1];
        combination[found.len()] = 1.0 / diagonal;
        for (&share, (_, of_other)) in row.iter().zip(&found) {
            add_one(&mut combination[..of_other.len()], (-share / diagonal, of_other));
        }
        row.push(diagonal);
        found.push((at, combination));
        lower.push(row);
    }
    found
}

/// An orthonormal basis of what the columns of z span, (rows, kept), column j in the span of
/// the first of z up to the j-th that is kept; `new` as above. G is symmetric and W a
/// triangle: of both products little more than half is made. G and W are f64 whatever z
/// is; that the columns of z are rounded is seen in the basis as much as that W is.
pub(crate) fn orthonormal_columns<T: Real>(z: &Matrix<T>, new: f64) -> Matrix<T> {
    let mut gram = Matrix::zeros(z.width, z.width);
    let wide: Matrix<f64> = z.cast();
    for start in (0..z.width).step_by(PANEL) {
        let end = (start + PANEL).min(z.width);
        let mut panel = Matrix::zeros(end - start, end);
        let rows = wide.view().columns(start..end).transposed();
        gemm(&mut panel, rows, wide.view().columns(0..end), Write::Set);
        (start..end).for_each(|row| {
            gram.row_mut(row)[..end].copy_from_slice(panel.row(row - start));
        });
    }
    let combinations: Matrix<T> = orthonormal_combinations(&gram, new).cast();
    let mut basis = Matrix::zeros(z.rows, combinations.rows);
    for start in (0..combinations.rows).step_by(PANEL) {
        let end = (start + PANEL).min(combinations.rows);
        // A row of W ends at the vector that it was made for.
        let last =
            combinations.row(end - 1).iter().rposition(|&x| x != T::ZERO).map_or(0, |at| at + 1);
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

    #[test]
    fn single_precision_is_as_good_as_its_columns() {
        let mut stream = Stream::new(4, "vectors", 0);
        // Much of one direction in all of them.
        let line: Vec<f64> = (0..500).map(|_| stream.normal()).collect();
        let z: Vec<f64> =
            (0..500 * 150).map(|at| stream.normal() + 30.0 * line[at / 150]).collect();
        let basis = orthonormal_columns(&Matrix::of(500, 150, z).cast::<f32>(), 1e-12);
        assert_eq!(basis.width, 150);
        for i in 0..150 {
            for j in 0..=i {
                let column = |at: usize| basis.values.iter().skip(at).step_by(150);
                let product: f64 = column(i).zip(column(j)).map(|(a, b)| f64::from(a * b)).sum();
                let wanted = f64::from(u8::from(i == j));
                assert!((product - wanted).abs() < 1e-4, "{i} {j}: {product}");
            }
        }
    }
}
