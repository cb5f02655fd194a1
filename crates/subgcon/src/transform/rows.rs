//! What are the features of a node after columns and rows are scaled?
//!
//! X̂ (nodes, width), row by row: x̂ = r · (x − shift) ∘ scale with r from the
//! [`RowScale`] of what is in the brackets. X̂ is never stored: features may be
//! mapped and larger than memory, and a row costs little more to scale than to read.

use std::ops::Range;

use rayon::prelude::*;

use super::Mask;
use crate::config::RowScale;
use crate::graph::Features;
use crate::math::Sparse;

/// Features with the scales of their columns and rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scaled<'a> {
    pub(super) features: &'a Features,
    /// (width): columns are multiplied by it.
    pub(super) scale: Option<&'a [f32]>,
    /// (width): subtracted before.
    pub(super) shift: Option<&'a [f32]>,
    pub(super) rows: RowScale,
    /// (nodes): r of each row, where rows are asked for again and again.
    pub(super) factors: Option<&'a [f64]>,
}

/// Entries of a sparse row that are not hidden, columns rising.
#[derive(Debug, Clone, Default)]
pub(super) struct Entries {
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<f32>,
}

impl<'a> Scaled<'a> {
    /// Sparse features that stay sparse: nothing is subtracted from their columns. (Features
    /// of another graph may be sparse where those that the transform was learnt from
    /// were dense.)
    pub(super) fn sparse_features(&self) -> Option<&'a Sparse> {
        match self.features {
            Features::Sparse(matrix) if self.shift.is_none() => Some(matrix),
            _ => None,
        }
    }

    /// Whether rows are as they are stored.
    pub(super) fn is_plain(&self) -> bool {
        self.scale.is_none() && self.shift.is_none() && self.rows == RowScale::None
    }

    /// One row of sparse features that stay so.
    pub(super) fn sparse(
        &self,
        matrix: &Sparse,
        node: u32,
        mask: Option<Mask>,
        entries: &mut Entries,
    ) {
        let (columns, values) = matrix.row(node as usize);
        let factor = self.known_factor(node).unwrap_or_else(|| self.sparse_factor(matrix, node));
        entries.columns.clear();
        entries.values.clear();
        // The norm is that of the whole row: what is hidden leaves the rest as it was.
        let hidden = mask.map(|mask| mask.of(node));
        for (&column, &x) in columns.iter().zip(values) {
            if hidden.is_none_or(|hidden| !hidden.hides(column)) {
                entries.columns.push(column);
                entries.values.push((factor * self.scaled(column, x)) as f32);
            }
        }
    }

    /// One row in full, (width), of features of either kind.
    pub(super) fn dense(&self, node: u32, mask: Option<Mask>, out: &mut [f32]) {
        if let Some(matrix) = self.sparse_features() {
            let mut entries = Entries::default();
            self.sparse(matrix, node, mask, &mut entries);
            out.fill(0.0);
            for (&column, &x) in entries.columns.iter().zip(&entries.values) {
                out[column as usize] = x;
            }
            return;
        }
        self.columns_scaled(node, out);
        let factor = self.known_factor(node).unwrap_or_else(|| self.dense_factor(out));
        if factor != 1.0 {
            out.iter_mut().for_each(|x| *x = (factor * f64::from(*x)) as f32);
        }
        if let Some(hidden) = mask.map(|mask| mask.of(node)) {
            for (column, x) in out.iter_mut().enumerate() {
                if hidden.hides(column as u32) {
                    *x = 0.0;
                }
            }
        }
    }

    /// Rows in full, one after another.
    pub(super) fn dense_rows(&self, nodes: Range<usize>, out: &mut [f32]) {
        let width = self.features.width();
        for (node, out) in nodes.zip(out.chunks_exact_mut(width)) {
            self.dense(node as u32, None, out);
        }
    }

    /// r of every row; none where rows stay as they are.
    pub(super) fn all_factors(&self) -> Option<Vec<f64>> {
        if self.rows == RowScale::None {
            return None;
        }
        let nodes = (0..self.features.nodes() as u32).into_par_iter();
        Some(match self.sparse_features() {
            Some(matrix) => nodes.map(|node| self.sparse_factor(matrix, node)).collect(),
            None => nodes
                .map_init(
                    || vec![0f32; self.features.width()],
                    |row, node| {
                        self.columns_scaled(node, row);
                        self.dense_factor(row)
                    },
                )
                .collect(),
        })
    }

    /// A row of which only the columns are scaled.
    fn columns_scaled(&self, node: u32, out: &mut [f32]) {
        match self.features {
            Features::Dense { width, values } => {
                out.copy_from_slice(&values[node as usize * width..(node as usize + 1) * width]);
            }
            Features::Sparse(matrix) => {
                out.fill(0.0);
                let (columns, values) = matrix.row(node as usize);
                for (&column, &x) in columns.iter().zip(values) {
                    out[column as usize] = x;
                }
            }
        }
        if let Some(shift) = self.shift {
            out.iter_mut().zip(shift).for_each(|(x, shift)| *x -= shift);
        }
        if let Some(scale) = self.scale {
            out.iter_mut().zip(scale).for_each(|(x, scale)| *x *= scale);
        }
    }

    /// An entry of sparse features of which only the column is scaled.
    #[inline]
    fn scaled(&self, column: u32, x: f32) -> f64 {
        f64::from(x) * self.scale.map_or(1.0, |scale| f64::from(scale[column as usize]))
    }

    fn known_factor(&self, node: u32) -> Option<f64> {
        self.factors.map(|factors| factors[node as usize])
    }

    fn sparse_factor(&self, matrix: &Sparse, node: u32) -> f64 {
        let (columns, values) = matrix.row(node as usize);
        self.factor(columns.iter().zip(values).map(|(&column, &x)| self.scaled(column, x)))
    }

    fn dense_factor(&self, row: &[f32]) -> f64 {
        self.factor(row.iter().map(|&x| f64::from(x)))
    }

    /// What a row is multiplied by. In f64, where squares of f32 neither overflow nor
    /// vanish.
    fn factor(&self, row: impl Iterator<Item = f64>) -> f64 {
        let (size, wanted) = match self.rows {
            RowScale::None => return 1.0,
            RowScale::Sum => (row.map(f64::abs).sum::<f64>(), 1.0),
            RowScale::Norm(norm) => (row.map(|x| x * x).sum::<f64>().sqrt(), norm),
        };
        if size > 0.0 { wanted / size } else { 1.0 }
    }
}

/// Nodes in at most 16 spans, by shape alone, for sums over nodes with an
/// accumulator of `width` rows each: all of them together are about as long as the
/// features, or one alone.
pub(super) fn spans(nodes: usize, width: usize) -> Vec<Range<usize>> {
    let count = (nodes / width.max(1)).clamp(1, 16);
    let size = nodes.div_ceil(count).max(1);
    (0..nodes).step_by(size).map(|start| start..(start + size).min(nodes)).collect()
}
