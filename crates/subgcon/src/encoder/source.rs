//! What a layer multiplies with its weights, and which rows show it.
//!
//! The first layer's source is the batch's features, (units, inputs), shown by rows
//! as the batch says; a later layer's is the rows of the layer before, each
//! showing itself. A product is made once a unit, Y = X W, and the derivative by the
//! weights is Xᵀ dY.

use rayon::prelude::*;

use super::rows::{add_scaled, chunk};
use crate::batch::{Batch, Inputs, SparseInputs, Units};
use crate::math::{Matrix, Real, Write, gemm};

/// Features of units, borrowed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Features<'a, T> {
    Dense(&'a Matrix<T>),
    Sparse(&'a SparseInputs<T>),
}

/// Features, and who shows them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a, T> {
    pub(super) features: Features<'a, T>,
    shown: &'a Units,
}

impl<'a, T: Real> Features<'a, T> {
    pub(super) fn of(batch: &'a Batch<T>) -> Features<'a, T> {
        match &batch.inputs {
            Inputs::Dense(matrix) => Features::Dense(matrix),
            Inputs::Sparse(sparse) => Features::Sparse(sparse),
        }
    }

    pub(super) fn units(&self) -> usize {
        match self {
            Features::Dense(matrix) => matrix.rows,
            Features::Sparse(sparse) => sparse.offsets.len() - 1,
        }
    }
}

impl<'a, T: Real> Source<'a, T> {
    /// Of the first layer.
    pub(super) fn batch(batch: &'a Batch<T>) -> Source<'a, T> {
        Source { features: Features::of(batch), shown: &batch.units }
    }

    /// Of a later one.
    pub(super) fn rows(rows: &'a Matrix<T>) -> Source<'a, T> {
        Source { features: Features::Dense(rows), shown: &Units::Same }
    }

    pub(super) fn units(&self) -> usize {
        self.features.units()
    }

    /// Number of rows.
    pub(super) fn shown(&self) -> usize {
        match self.shown {
            Units::Same => self.units(),
            Units::Shown { of_row, .. } => of_row.len(),
        }
    }

    /// Whether rows are units.
    pub(super) fn is_same(&self) -> bool {
        *self.shown == Units::Same
    }

    /// The unit that a row shows.
    #[inline]
    pub(super) fn unit(&self, row: usize) -> usize {
        match self.shown {
            Units::Same => row,
            Units::Shown { of_row, .. } => of_row[row] as usize,
        }
    }

    /// The rows that show a unit, rising.
    #[inline]
    pub(super) fn rows_of<'b>(&'b self, unit: &'b u32) -> &'b [u32] {
        match self.shown {
            Units::Same => std::slice::from_ref(unit),
            Units::Shown { rows, .. } => rows.get(*unit as usize),
        }
    }

    /// y = X W, (units, width).
    pub(super) fn product(&self, weight: &Matrix<T>, y: &mut Matrix<T>) {
        match self.features {
            Features::Dense(x) => gemm(y, x.view(), weight.view(), Write::Set),
            Features::Sparse(x) => {
                assert_eq!(x.width, weight.rows, "weights for every column of the features");
                let rows = chunk(y.width);
                let width = y.width;
                y.values.par_chunks_mut(rows * width).enumerate().for_each(|(at, y)| {
                    for (r, y) in y.chunks_exact_mut(width).enumerate() {
                        sparse_row(x.unit(at * rows + r), weight, y);
                    }
                });
            }
        }
    }

    /// d_weight += Xᵀ d_y. Sparse features go column by column, so that no two threads
    /// write to one row of the weights.
    pub(super) fn add_d_weight(&self, d_y: &Matrix<T>, d_weight: &mut Matrix<T>) {
        match self.features {
            Features::Dense(x) => gemm(d_weight, x.view().transposed(), d_y.view(), Write::Add),
            Features::Sparse(x) => {
                let width = d_y.width;
                d_weight.values.par_chunks_mut(16 * width).enumerate().for_each(|(at, d)| {
                    for (c, d) in d.chunks_exact_mut(width).enumerate() {
                        let (units, values) = x.column(at * 16 + c);
                        let terms = units.iter().zip(values);
                        add_scaled(d, terms.map(|(&unit, &value)| (value, d_y.row(unit as usize))));
                    }
                });
            }
        }
    }
}

/// y = x W for one sparse row x.
pub(super) fn sparse_row<T: Real>(
    (columns, values): (&[u32], &[T]),
    weight: &Matrix<T>,
    y: &mut [T],
) {
    y.fill(T::ZERO);
    let terms = columns.iter().zip(values);
    add_scaled(y, terms.map(|(&column, &value)| (value, weight.row(column as usize))));
}
