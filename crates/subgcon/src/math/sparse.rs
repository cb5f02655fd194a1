//! A sparse matrix by rows (CSR).

use super::Array;

/// Row r holds the entries `offsets[r]..offsets[r + 1]`: columns rising,
/// without repeats, values finite and not zero.
#[derive(Debug, Clone)]
pub struct Sparse {
    /// Number of columns.
    pub width: usize,
    /// rows + 1 positions.
    pub offsets: Array<u64>,
    /// Column of each entry.
    pub columns: Array<u32>,
    /// Value of each entry.
    pub values: Array<f32>,
}

impl Sparse {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Columns and values of one row.
    pub fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let range = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        (&self.columns[range.clone()], &self.values[range])
    }
}
