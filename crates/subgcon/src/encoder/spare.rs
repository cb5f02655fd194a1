//! Matrices that are done with, to be written over.
//!
//! A (rows, width) matrix is tens of megabytes: asking the system for a fresh one costs
//! more than writing it. Whoever makes step after step keeps them from one to the next.

use crate::math::{Matrix, Real};

/// Matrices to be taken again.
#[derive(Debug, Clone)]
pub(crate) struct Spare<T>(Vec<Vec<T>>);

impl<T: Real> Spare<T> {
    pub(crate) fn new() -> Spare<T> {
        Spare(Vec::new())
    }

    /// A matrix with anything in it. Of those that are large enough but not twice as large
    /// as it need be (growing again costs a pass) the smallest; where there is none, a new
    /// one takes the place of one that is a little too small, so that batches of different
    /// sizes do not pile matrices up, and has room for a batch that is somewhat larger.
    pub(crate) fn take(&mut self, rows: usize, width: usize) -> Matrix<T> {
        let len = rows * width;
        let sizes = || self.0.iter().map(Vec::capacity).enumerate();
        let fits = sizes().filter(|&(_, size)| size >= len && size / 2 <= len);
        let short = sizes().filter(|&(_, size)| size < len && size >= len / 2);
        let at = fits.min_by_key(|&(_, size)| size).or(short.max_by_key(|&(_, size)| size));
        let at = at.map(|(at, _)| at);
        let mut values = at.map(|at| self.0.swap_remove(at)).unwrap_or_default();
        if values.capacity() < len {
            values = Vec::with_capacity(len + len / 16);
        }
        values.resize(len, T::ZERO);
        Matrix::of(rows, width, values)
    }

    /// To be taken again.
    pub(crate) fn give(&mut self, matrix: Matrix<T>) {
        self.0.push(matrix.values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_that_fits_is_taken_and_none_piles_up() {
        let mut spare = Spare::<f64>::new();
        for rows in [4, 9, 2] {
            spare.give(Matrix::of(rows, 3, vec![1.0; rows * 3]));
        }
        let matrix = spare.take(3, 3);
        assert_eq!((matrix.rows, matrix.width, matrix.values.len()), (3, 3, 9));
        assert_eq!(matrix.values.capacity(), 12);
        // One of nine rows is replaced by one of sixteen, with some room; two stay as they are.
        assert_eq!(spare.take(16, 3).values, vec![0.0; 48]);
        assert_eq!(spare.0.len(), 1);
        assert_eq!(spare.take(50, 3).values.capacity(), 159);
        assert_eq!(spare.0[0].capacity(), 6);
    }
}
