//! What are the mean and the spread of each column?
//!
//! Sums run in f64 over fixed spans of nodes that are added in order: the same
//! bytes for any number of threads, and one pass over features that may be mapped.

use rayon::prelude::*;

use super::rows::{Entries, Scaled, spans};
use crate::graph::Features;

/// Mean and population standard deviation of every column.
#[derive(Debug)]
pub(super) struct Moments {
    pub(super) mean: Vec<f64>,
    pub(super) deviation: Vec<f64>,
}

/// Moments of all columns.
///
/// One pass suffices, var = E(x − o)² − (E(x − o))², because the origin o is a value
/// of the column itself, that of node 0: a constant column comes out as exactly
/// zero, and (E(x − o))² is at most n · var, so that cancellation costs no more than
/// a factor n of the precision of f64. Zeros that are not stored are counted, not visited.
pub(super) fn moments(features: &Features) -> Moments {
    let (nodes, width) = (features.nodes(), features.width());
    let mut origin = vec![0f64; width];
    if nodes > 0 {
        visit(features, 0, |column, x| origin[column] = x);
    }
    // Stored entries, Σ (x − o), Σ (x − o)².
    let sums = |span: std::ops::Range<usize>| {
        let mut sums = vec![[0f64; 3]; width];
        for node in span {
            visit(features, node, |column, x| {
                let (x, sum) = (x - origin[column], &mut sums[column]);
                sum[0] += 1.0;
                sum[1] += x;
                sum[2] += x * x;
            });
        }
        sums
    };
    let mut total = vec![[0f64; 3]; width];
    for part in spans(nodes, width).into_par_iter().map(sums).collect::<Vec<_>>() {
        for (total, part) in total.iter_mut().zip(part) {
            (0..3).for_each(|at| total[at] += part[at]);
        }
    }
    let count = nodes.max(1) as f64;
    let (mean, deviation) = total
        .iter()
        .zip(&origin)
        .map(|(&[stored, sum, squares], origin)| {
            let zeros = nodes as f64 - stored;
            let mean = (sum - zeros * origin) / count;
            let square = (squares + zeros * origin * origin) / count;
            (origin + mean, (square - mean * mean).max(0.0).sqrt())
        })
        .unzip();
    Moments { mean, deviation }
}

/// Stored values of a row.
fn visit(features: &Features, node: usize, mut see: impl FnMut(usize, f64)) {
    match features {
        Features::Dense { width, values } => {
            let row = &values[node * width..(node + 1) * width];
            row.iter().enumerate().for_each(|(column, &x)| see(column, f64::from(x)));
        }
        Features::Sparse(matrix) => {
            let (columns, values) = matrix.row(node);
            let row = columns.iter().zip(values);
            row.for_each(|(&column, &x)| see(column as usize, f64::from(x)));
        }
    }
}

/// The mean row of X̂, (width).
pub(super) fn mean_row(rows: &Scaled<'_>) -> Vec<f64> {
    let (nodes, width) = (rows.features.nodes(), rows.features.width());
    let sum = |span: std::ops::Range<usize>| {
        let mut sum = vec![0f64; width];
        let (mut entries, mut row) = (Entries::default(), Vec::new());
        for node in span {
            match rows.sparse_features() {
                Some(matrix) => {
                    rows.sparse(matrix, node as u32, None, &mut entries);
                    for (&column, &x) in entries.columns.iter().zip(&entries.values) {
                        sum[column as usize] += f64::from(x);
                    }
                }
                None => {
                    row.resize(width, 0f32);
                    rows.dense(node as u32, None, &mut row);
                    sum.iter_mut().zip(&row).for_each(|(sum, &x)| *sum += f64::from(x));
                }
            }
        }
        sum
    };
    let mut total = vec![0f64; width];
    for part in spans(nodes, width).into_par_iter().map(sum).collect::<Vec<_>>() {
        total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
    }
    total.iter_mut().for_each(|x| *x /= nodes.max(1) as f64);
    total
}
