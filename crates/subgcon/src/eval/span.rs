//! Do fewer columns tell a linear model the same?
//!
//! With fewer training rows T (rows, width) than columns, the weights that minimise a
//! penalised loss lie in the span of T: whatever is orthogonal to it costs and changes
//! nothing. With B an orthonormal basis of the span, x ↦ B x keeps every product with
//! such weights and their length, so that the small problem has the same scores at its
//! minimum. B = W T with W T Tᵀ Wᵀ = I is found in f64; its rows have length 1, so that B x may
//! be found in f32, as x is.

use rayon::prelude::*;

use super::rows::Rows;
use crate::math::{Matrix, View, Write, gemm, gemm_slice, orthonormal_combinations};

/// Columns for each training row from which on it pays.
pub(super) const WIDE: usize = 2;
/// A row of which less than this share, squared, is new adds nothing to the span.
const NEW: f64 = 1e-12;
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
