//! Where are the rows of all nodes while a graph is embedded?
//!
//! In memory that the caller gives, which may be a mapped file, so that they need not fit:
//! tile after tile of up to [`TILE`] columns, each (nodes, tile width), since what is done
//! to all rows at once (smoothing, company) takes every column by itself.

use rayon::prelude::*;

use super::embed::CHUNK;
use crate::math::Matrix;
use crate::progress::Progress;

/// Columns of a tile.
const TILE: usize = 64;

/// Rows (nodes, width) of all nodes.
#[derive(Debug)]
pub(super) struct Tiles<'a> {
    nodes: usize,
    width: usize,
    values: &'a mut [f32],
}

impl<'a> Tiles<'a> {
    /// In `values`, which has nodes · width numbers.
    pub(super) fn of(nodes: usize, width: usize, values: &'a mut [f32]) -> Tiles<'a> {
        assert_eq!(values.len(), nodes * width, "room for all rows");
        Tiles { nodes, width, values }
    }

    /// Those of some nodes.
    pub(super) fn rows(&self, some: &[u32]) -> Matrix<f32> {
        let mut rows = Matrix::zeros(some.len(), self.width);
        self.read(some, &mut rows, 0);
        rows
    }

    /// Those of some nodes, into columns from `first` on; returns the column after them.
    pub(super) fn read(&self, some: &[u32], rows: &mut Matrix<f32>, first: usize) -> usize {
        let mut start = first;
        for tile in self.values.chunks(self.nodes * TILE) {
            let columns = tile.len() / self.nodes;
            for (row, &node) in some.iter().enumerate() {
                let from = node as usize * columns;
                rows.row_mut(row)[start..start + columns]
                    .copy_from_slice(&tile[from..from + columns]);
            }
            start += columns;
        }
        start
    }

    /// Sets all rows; `make` gives those of some nodes, and may read their rows as they were.
    pub(super) fn fill(
        &mut self,
        make: impl Fn(&Tiles<'_>, &[u32]) -> Matrix<f32> + Sync,
        progress: &dyn Progress,
    ) {
        let together = CHUNK * rayon::current_num_threads();
        for first in (0..self.nodes).step_by(together) {
            let some: Vec<u32> =
                (first as u32..(first + together).min(self.nodes) as u32).collect();
            let this = &*self;
            let rows: Vec<Matrix<f32>> =
                some.par_chunks(CHUNK).map(|chunk| make(this, chunk)).collect();
            for (at, tile) in self.values.chunks_mut(self.nodes * TILE).enumerate() {
                let (start, columns) = (at * TILE, tile.len() / self.nodes);
                let places = tile[first * columns..].chunks_exact_mut(columns);
                let rows = rows.iter().flat_map(|rows| rows.values.chunks_exact(self.width));
                places.zip(rows).for_each(|(place, row)| {
                    place.copy_from_slice(&row[start..start + columns]);
                });
            }
            progress.advance(some.len() as u64);
        }
    }

    /// Changes all rows, some columns of all nodes at a time.
    pub(super) fn columns(
        &mut self,
        mut change: impl FnMut(&mut Matrix<f32>),
        progress: &dyn Progress,
    ) {
        for tile in self.values.chunks_mut(self.nodes * TILE) {
            let columns = tile.len() / self.nodes;
            let mut matrix = Matrix::of(self.nodes, columns, tile.to_vec());
            change(&mut matrix);
            tile.copy_from_slice(&matrix.values);
            progress.advance(columns as u64);
        }
    }
}
