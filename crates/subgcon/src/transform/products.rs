//! Products with X̂ and its transpose that never make X̂ dense.
//!
//! - X̂ B: (nodes, width) · (width, k), row by row;
//! - X̂ᵀ Y: (width, nodes) · (nodes, k), summed in f64 over fixed spans of nodes,
//!   which are added in order. A copy of X̂ sorted by columns would need no spans, but
//!   the features may be all that memory holds.
//!
//! Dense features go through [`gemm_slice`], some rows at a time.

use std::ops::Range;

use rayon::prelude::*;

use super::rows::{Entries, Scaled, spans};
use crate::math::{Matrix, Sparse, View, Write, add_one_wide, add_rows, gemm_slice};

/// Rows of dense features that are scaled together before they are multiplied.
const ROWS: usize = 256;

/// Columns of Y that one task takes where spans are few: a cache line of f32.
const FEW_COLUMNS: usize = 16;

/// X̂ B, (nodes, k).
pub(super) fn times(rows: &Scaled<'_>, b: &Matrix<f32>) -> Matrix<f32> {
    let (nodes, width) = (rows.features.nodes(), rows.features.width());
    let mut out = Matrix::zeros(nodes, b.width);
    if out.values.is_empty() {
        return out;
    }
    match rows.sparse_features() {
        Some(matrix) => {
            let lines = out.values.par_chunks_mut(b.width).enumerate().with_min_len(16);
            lines.for_each_init(Entries::default, |entries, (node, out)| {
                rows.sparse(matrix, node as u32, None, entries);
                let values = entries.values.iter().zip(&entries.columns);
                add_rows(out, b, values.map(|(&x, &column)| (x, column as usize)));
            });
        }
        None => {
            let blocks = out.values.par_chunks_mut(ROWS * b.width).enumerate();
            blocks.for_each_init(Vec::new, |block, (at, out)| {
                let count = out.len() / b.width;
                block.resize(count * width, 0f32);
                rows.dense_rows(at * ROWS..at * ROWS + count, block);
                gemm_slice(out, b.width, View::of(block, count, width), b.view(), Write::Set);
            });
        }
    }
    out
}

/// X̂ᵀ Y, (width, k).
pub(super) fn transposed_times(rows: &Scaled<'_>, y: &Matrix<f32>) -> Matrix<f64> {
    let width = rows.features.width();
    let spans = spans(y.rows, width);
    let sparse = rows.sparse_features();
    let group = if sparse.is_some() && spans.len() < 8 { FEW_COLUMNS } else { y.width };
    let groups: Vec<Range<usize>> = (0..y.width)
        .step_by(group.max(1))
        .map(|start| start..(start + group).min(y.width))
        .collect();
    let tasks: Vec<(Range<usize>, Range<usize>)> = spans
        .iter()
        .flat_map(|span| groups.iter().map(move |group| (span.clone(), group.clone())))
        .collect();
    // By spans, then groups: (width, columns of the group) each.
    let parts: Vec<Vec<f64>> = tasks
        .into_par_iter()
        .map(|(span, columns)| match sparse {
            Some(matrix) => scatter(rows, matrix, y, span, columns),
            None => blocks(rows, y, span),
        })
        .collect();
    let mut out = Matrix::zeros(width, y.width);
    if out.values.is_empty() {
        return out;
    }
    out.values.par_chunks_mut(y.width).enumerate().with_min_len(64).for_each(|(column, out)| {
        for parts in parts.chunks_exact(groups.len()) {
            for (part, group) in parts.iter().zip(&groups) {
                let part = &part[column * group.len()..(column + 1) * group.len()];
                out[group.clone()].iter_mut().zip(part).for_each(|(out, x)| *out += x);
            }
        }
    });
    out
}

/// X̂ᵀ Y of some nodes and some columns of Y.
fn scatter(
    rows: &Scaled<'_>,
    matrix: &Sparse,
    y: &Matrix<f32>,
    span: Range<usize>,
    columns: Range<usize>,
) -> Vec<f64> {
    let count = columns.len();
    let mut sum = vec![0f64; matrix.width * count];
    let mut entries = Entries::default();
    for node in span {
        rows.sparse(matrix, node as u32, None, &mut entries);
        let y = &y.row(node)[columns.clone()];
        for (&column, &x) in entries.columns.iter().zip(&entries.values) {
            let sum = &mut sum[column as usize * count..][..count];
            // The product in f32 is as good as its factors; the sum is long.
            add_one_wide(sum, (x, y));
        }
    }
    sum
}

/// X̂ᵀ Y of some nodes.
fn blocks(rows: &Scaled<'_>, y: &Matrix<f32>, span: Range<usize>) -> Vec<f64> {
    let width = rows.features.width();
    let mut sum = vec![0f64; width * y.width];
    let (mut block, mut product) = (Vec::new(), vec![0f32; width * y.width]);
    for start in span.clone().step_by(ROWS) {
        let nodes = start..(start + ROWS).min(span.end);
        block.resize(nodes.len() * width, 0f32);
        rows.dense_rows(nodes.clone(), &mut block);
        let x = View::of(&block, nodes.len(), width).transposed();
        let y_rows = &y.values[nodes.start * y.width..nodes.end * y.width];
        let y_rows = View::of(y_rows, nodes.len(), y.width);
        gemm_slice(&mut product, y.width, x, y_rows, Write::Set);
        sum.iter_mut().zip(&product).for_each(|(sum, &x)| *sum += f64::from(x));
    }
    sum
}
