//! Matrices that are done with, to be written over.
//!
//! A (rows, width) matrix is tens of megabytes: asking the system for a
//! fresh one costs more than writing it.

use crate::math::{Matrix, Real};

/// Matrices of one pass.
pub(super) struct Spare<T>(Vec<Vec<T>>);

impl<T: Real> Spare<T> {
    pub(super) fn new() -> Spare<T> {
        Spare(Vec::new())
    }

    /// A matrix with anything in it.
    pub(super) fn take(&mut self, rows: usize, width: usize) -> Matrix<T> {
        let len = rows * width;
        match self.0.iter().position(|values| values.capacity() >= len) {
            Some(at) => {
                let mut values = self.0.swap_remove(at);
                values.resize(len, T::ZERO);
                Matrix::of(rows, width, values)
            }
            None => Matrix::zeros(rows, width),
        }
    }

    /// To be taken again.
    pub(super) fn give(&mut self, matrix: Matrix<T>) {
        self.0.push(matrix.values);
    }
}
