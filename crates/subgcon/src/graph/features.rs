//! What is known of each node as numbers: dense, or sparse where most are zero.

use crate::math::{Array, Sparse};

/// One row of numbers a node.
#[derive(Debug, Clone)]
pub enum Features {
    /// Every number stored, row by row.
    Dense {
        /// Number of columns.
        width: usize,
        /// (nodes, width).
        values: Array<f32>,
    },
    /// Only what is not zero.
    Sparse(Sparse),
}

impl Features {
    /// Below this share of non-zero entries features are stored sparse. A
    /// sparse entry takes twice the memory of a dense one and its product runs
    /// at about half the rate of a dense product, so sparse wins below about a
    /// quarter on both counts.
    pub const SPARSE_BELOW: f64 = 0.25;

    /// Number of rows.
    pub fn nodes(&self) -> usize {
        match self {
            Features::Dense { width, values } => values.len() / (*width).max(1),
            Features::Sparse(matrix) => matrix.rows(),
        }
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        match self {
            Features::Dense { width, .. } => *width,
            Features::Sparse(matrix) => matrix.width,
        }
    }

    /// Entries that are not zero.
    pub fn nonzeros(&self) -> u64 {
        match self {
            Features::Dense { values, .. } => values.iter().filter(|&&x| x != 0.0).count() as u64,
            Features::Sparse(matrix) => matrix.values.len() as u64,
        }
    }

    /// Whether a node has an entry that is not zero.
    pub fn is_described(&self, node: usize) -> bool {
        let row = match self {
            Features::Dense { width, values } => &values[node * width..(node + 1) * width],
            Features::Sparse(matrix) => matrix.row(node).1,
        };
        row.iter().any(|&x| x != 0.0)
    }

    /// Nodes of which nothing is known: all-zero rows.
    pub fn zero_rows(&self) -> u64 {
        (0..self.nodes()).filter(|&node| !self.is_described(node)).count() as u64
    }
}
