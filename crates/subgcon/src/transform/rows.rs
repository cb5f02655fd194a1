//! What are the features of a node after columns and rows are scaled?
//!
//! X̂ (nodes, width), row by row: x̂ = r · (x − shift) ∘ scale with r from the
//! [`RowScale`] of what stands behind it. X̂ is never stored: features may be
//! mapped and larger than memory, and a row costs little more to scale than to read.

use std::ops::Range;

use rayon::prelude::*;

use super::{Mask, Measures};
use crate::config::RowScale;
use crate::graph::Features;
use crate::math::Sparse;

/// Sparse features stay so where measures are one in so many of their columns, or fewer.
const FEW: usize = 4;

/// Features with the scales of their columns and rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scaled<'a> {
    pub(super) features: &'a Features,
    /// (width): columns are multiplied by it.
    pub(super) scale: Option<&'a [f32]>,
    /// (width): subtracted before.
    pub(super) shift: Option<&'a [f32]>,
    /// Of measures: the only columns that anything is subtracted from.
    pub(super) measures: Option<&'a Measures>,
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
    /// Sparse features that stay sparse: something is subtracted from few of their columns, or none.
    /// (Features of another graph may be sparse where those that the transform was learnt from
    /// were dense.)
    pub(super) fn sparse_features(&self) -> Option<&'a Sparse> {
        let few = match (self.shift, self.measures) {
            (None, _) => true,
            (Some(_), measures) => {
                measures.is_some_and(|m| FEW * m.columns.len() <= self.features.width())
            }
        };
        match self.features {
            Features::Sparse(matrix) if few => Some(matrix),
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
        let factor = self.known_factor(node).unwrap_or_else(|| self.sparse_factor(matrix, node));
        let measures = self.measures.map_or(0, |measures| measures.columns.len());
        let most = matrix.row(node as usize).0.len() + measures;
        let Entries { columns, values } = entries;
        columns.resize(most, 0);
        values.resize(most, 0.0);
        // The norm is that of the whole row: what is hidden leaves the rest as it was. It is written
        // over by the next, since nobody foresees a branch that a hash decides.
        let (hidden, mut kept) = (mask.map(|mask| mask.of(node)), 0);
        self.visit(matrix, node, |column, x| {
            (columns[kept], values[kept]) = (column, (factor * x) as f32);
            kept += usize::from(hidden.is_none_or(|hidden| !hidden.hides(column)));
        });
        columns.truncate(kept);
        values.truncate(kept);
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
        if self.is_absent(out) {
            return;
        }
        match (self.shift, self.scale) {
            (Some(shift), Some(scale)) => {
                let columns = out.iter_mut().zip(shift.iter().zip(scale));
                columns.for_each(|(x, (&shift, &scale))| {
                    // A graph that is embedded may have numbers far beyond those that were learnt from.
                    let x64 = shifted(*x, shift, scale);
                    *x = x64.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32;
                });
            }
            (None, Some(scale)) => {
                out.iter_mut()
                    .zip(scale)
                    .for_each(|(x, scale)| *x = (*x * scale).clamp(f32::MIN, f32::MAX));
            }
            (_, None) => {}
        }
    }

    /// Entries of a row of sparse features that stay so, of which only the columns are scaled;
    /// those of measures among them, whether they are stored or not.
    #[inline]
    fn visit(&self, matrix: &Sparse, node: u32, mut see: impl FnMut(u32, f64)) {
        let (columns, values) = matrix.row(node as usize);
        let stored = columns.iter().zip(values);
        let (Some(shift), Some(scale), Some(measures)) = (self.shift, self.scale, self.measures)
        else {
            let scale =
                |column: u32| self.scale.map_or(1.0, |scale| f64::from(scale[column as usize]));
            return stored.for_each(|(&column, &x)| see(column, f64::from(x) * scale(column)));
        };
        if self.is_absent(values) {
            return;
        }
        let mut see = |column: u32, x: f32| {
            see(column, shifted(x, shift[column as usize], scale[column as usize]));
        };
        let mut measures = measures.columns.iter().copied().peekable();
        for (&column, &x) in stored {
            while let Some(measure) = measures.next_if(|&measure| measure <= column) {
                if measure < column {
                    see(measure, 0.0);
                }
            }
            see(column, x);
        }
        measures.for_each(|measure| see(measure, 0.0));
    }

    /// Whether stored entries are those of a node of which nothing is known.
    fn is_absent(&self, entries: &[f32]) -> bool {
        self.measures.is_some_and(|measures| measures.absent) && entries.iter().all(|&x| x == 0.0)
    }

    fn known_factor(&self, node: u32) -> Option<f64> {
        self.factors.map(|factors| factors[node as usize])
    }

    fn sparse_factor(&self, matrix: &Sparse, node: u32) -> f64 {
        let mut size = 0.0;
        self.visit(matrix, node, |_, x| size += self.part(x));
        self.factor(size)
    }

    fn dense_factor(&self, row: &[f32]) -> f64 {
        self.factor(row.iter().map(|&x| self.part(f64::from(x))).sum())
    }

    /// What an entry adds to the size of its row. In f64, where squares of f32 neither
    /// overflow nor vanish.
    #[inline]
    fn part(&self, x: f64) -> f64 {
        match self.rows {
            RowScale::None => 0.0,
            RowScale::Sum => x.abs(),
            RowScale::Norm(_) => x * x,
        }
    }

    /// What a row is multiplied by, its parts being this together.
    fn factor(&self, parts: f64) -> f64 {
        let size = parts + self.measures.map_or(0.0, |measures| measures.columns.len() as f64);
        let (size, wanted) = match self.rows {
            RowScale::None => return 1.0,
            RowScale::Sum => (size, 1.0),
            RowScale::Norm(norm) => (size.sqrt(), norm),
        };
        if size > 0.0 { wanted / size } else { 1.0 }
    }
}

/// In f64: x and the mean may be further apart than f32 goes.
#[inline]
fn shifted(x: f32, shift: f32, scale: f32) -> f64 {
    (f64::from(x) - f64::from(shift)) * f64::from(scale)
}

/// Nodes in at most 16 spans, by shape alone, for sums over nodes with an
/// accumulator of `width` rows each: all of them together are about as long as the
/// features, or one alone.
pub(super) fn spans(nodes: usize, width: usize) -> Vec<Range<usize>> {
    let count = (nodes / width.max(1)).clamp(1, 16);
    let size = nodes.div_ceil(count).max(1);
    (0..nodes).step_by(size).map(|start| start..(start + size).min(nodes)).collect()
}
