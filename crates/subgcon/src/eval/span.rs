//! Do fewer columns tell a linear model the same?
//!
//! With fewer training rows T (rows, width) than columns, the weights that minimise a
//! penalised loss lie in the span of T: whatever is orthogonal to it costs and changes
//! nothing. With B an orthonormal basis of the span, x ↦ B x keeps every product with
//! such weights and their length, so that the small problem has the same scores at its
//! minimum. B = W T with W T Tᵀ Wᵀ = I is found in f64; its rows have length 1, so that B x may
//! be found in f32, as x is. Beside a column 10⁸ times as large as the others products in f64 do not know
//! of these: then rows are left as they are, and whoever fits them sees that digits are missing.

use rayon::prelude::*;

use super::rows::Rows;
use crate::math::{Matrix, View, Write, gemm, gemm_slice, orthonormal_combinations};

/// Columns for each training row from which on it pays.
pub(super) const WIDE: usize = 2;
/// A row of which less than this share, squared, is new adds nothing to the span.
const NEW: f64 = 1e-12;
/// What is missing of a row in a column is rounding where it is less than this share of what stands there.
const ROUNDING: f64 = 1e-3;
/// Rows that are turned together.
const ROWS: usize = 256;

/// Rows of all `nodes` (of whom `train` are fitted) in the span of the latter, a row a
/// node of `embeddings`; none where they are not wide enough for that to pay. Other nodes
/// get zeros.
pub(super) fn narrowed(
    rows: &Rows<'_>,
    width: usize,
    train: &[u32],
    others: &[&[u32]],
    nodes: usize,
) -> Option<Matrix<f32>> {
    if width < WIDE * train.len() {
        return None;
    }
    let fitted: Matrix<f64> = rows.of(train).cast();
    let mut gram = Matrix::zeros(train.len(), train.len());
    gemm(&mut gram, fitted.view(), fitted.view().transposed(), Write::Set);
    let combinations = orthonormal_combinations(&gram, NEW);
    let count = combinations.rows;
    // All rows zero: one column of zeros says as much.
    let mut narrow = Matrix::zeros(nodes, count.max(1));
    if count == 0 {
        return Some(narrow);
    }
    let mut basis = Matrix::zeros(count, width);
    gemm(&mut basis, combinations.view(), fitted.view(), Write::Set);
    if count < train.len() && !spanned(&fitted, &basis) {
        return None;
    }
    let wanted: Vec<u32> = [&[train][..], others].concat().concat();
    let basis: Matrix<f32> = basis.cast();
    let parts: Vec<(&[u32], Vec<f32>)> = wanted
        .par_chunks(ROWS)
        .map(|some| {
            let wide = rows.of(some);
            let mut turned = vec![0.0; some.len() * count];
            let (wide, basis) = (View::of(&wide.values, some.len(), width), basis.view());
            gemm_slice(&mut turned, count, wide, basis.transposed(), Write::Set);
            (some, turned)
        })
        .collect();
    for (some, turned) in parts {
        for (&node, turned) in some.iter().zip(turned.chunks_exact(count)) {
            narrow.row_mut(node as usize).copy_from_slice(turned);
        }
    }
    Some(narrow)
}

/// Whether rows are combinations of the basis, but for rounding: a row that is not new enough for the basis
/// may say much in columns that are small.
fn spanned(rows: &Matrix<f64>, basis: &Matrix<f64>) -> bool {
    let mut parts = Matrix::zeros(rows.rows, basis.rows);
    gemm(&mut parts, rows.view(), basis.view().transposed(), Write::Set);
    let mut again = Matrix::zeros(rows.rows, rows.width);
    gemm(&mut again, parts.view(), basis.view(), Write::Set);
    let (mut missing, mut there) = (vec![0.0; rows.width], vec![0.0; rows.width]);
    for (row, again) in rows.values.chunks(rows.width).zip(again.values.chunks(rows.width)) {
        for (((x, again), missing), there) in
            row.iter().zip(again).zip(&mut missing).zip(&mut there)
        {
            *missing += (x - again).powi(2);
            *there += x.powi(2);
        }
    }
    missing.iter().zip(&there).all(|(missing, there)| *missing <= ROUNDING.powi(2) * there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn rows(of: impl Fn(usize, usize, f64) -> f64) -> Matrix<f32> {
        let mut stream = Stream::new(4, "wide rows", 0);
        let values = (0..20 * 60).map(|at| of(at / 60, at % 60, stream.normal()) as f32).collect();
        Matrix::of(20, 60, values)
    }

    fn narrow(embeddings: &Matrix<f32>) -> Option<Matrix<f32>> {
        let train: Vec<u32> = (0..10).collect();
        let others: Vec<u32> = (10..20).collect();
        let rows = Rows::new(embeddings, &train, false, false);
        narrowed(&rows, 60, &train, &[&others], 20)
    }

    #[test]
    fn rows_that_repeat_others_add_nothing() {
        let twice = rows(|row, _, x| if row == 7 { 0.0 } else { x });
        assert_eq!(narrow(&twice).unwrap().width, 9);
        let mut twice = twice;
        let first = twice.row(0).to_vec();
        // A third of the first row, as close as f32 is.
        twice.row_mut(3).iter_mut().zip(first).for_each(|(x, first)| *x = first / 3.0);
        assert_eq!(narrow(&twice).unwrap().width, 8);
        assert_eq!(narrow(&rows(|_, _, _| 0.0)).unwrap().width, 1);
    }

    #[test]
    fn rows_of_which_one_column_hides_the_others_are_left_alone() {
        let scaled = |scale: f64| rows(move |_, column, x| if column == 0 { scale * x } else { x });
        assert_eq!(narrow(&scaled(1e4)).unwrap().width, 10);
        assert!(narrow(&scaled(1e8)).is_none());
        // A row that repeats another but for one small column: 10⁻⁸ of it is new, and all of that column.
        let mut hidden = rows(|_, column, x| if column == 5 { 1e-8 * x } else { x });
        let first = hidden.row(0).to_vec();
        let own = hidden.row(3)[5];
        hidden.row_mut(3).copy_from_slice(&first);
        hidden.row_mut(3)[5] = own;
        assert!(narrow(&hidden).is_none());
    }
}
