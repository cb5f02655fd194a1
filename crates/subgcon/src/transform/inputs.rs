//! What does the encoder get for some nodes?
//!
//! x̂ (width) where there is no projection, sparse for sparse features; otherwise
//! q = norm(x̂ V − μ), (k). This runs for every batch, and what a node gets must not depend,
//! to the last bit, on the nodes beside it: a sparse row is a sum of rows of V in the
//! order of its columns, a dense one a product with the same order of sums wherever
//! its row lies in a tile.

use rayon::prelude::*;

use super::rows::{Entries, Scaled};
use super::{Mask, Transform};
use crate::batch::{Inputs, SparseInputs};
use crate::graph::Features;
use crate::math::{Matrix, Sparse, add_rows, center_and_scale};

/// Units that one task takes.
const UNITS: usize = 32;

/// Rows and columns of a tile of a dense product: its sums fit into registers.
const TILE: (usize, usize) = (4, 8);

impl Transform {
    /// Features of some nodes as the encoder gets them: unit k is `nodes[k]`, masked
    /// where `masks[k]` says so; no masks at all hide nothing.
    pub fn inputs(
        &self,
        features: &Features,
        nodes: &[u32],
        masks: &[Option<Mask>],
    ) -> Inputs<f32> {
        let rows = self.scaled(features);
        match rows.sparse_features() {
            Some(matrix) if self.vectors.is_none() => {
                Inputs::Sparse(self.sparse(&rows, matrix, nodes, masks))
            }
            _ => Inputs::Dense(self.dense(&rows, nodes, masks, true)),
        }
    }

    /// Features of some nodes, nothing hidden, every number: (nodes, output width).
    pub fn apply_dense(&self, features: &Features, nodes: &[u32]) -> Matrix<f32> {
        self.dense(&self.scaled(features), nodes, &[], true)
    }

    /// As [`Transform::apply_dense`], before a projection centres and scales its rows.
    pub fn apply_projection(&self, features: &Features, nodes: &[u32]) -> Matrix<f32> {
        self.dense(&self.scaled(features), nodes, &[], false)
    }

    fn sparse(
        &self,
        rows: &Scaled<'_>,
        matrix: &Sparse,
        nodes: &[u32],
        masks: &[Option<Mask>],
    ) -> SparseInputs<f32> {
        if rows.is_plain() && masks.iter().all(Option::is_none) {
            return copied(matrix, nodes);
        }
        let mask = mask_of(nodes, masks);
        let parts: Vec<(Vec<u32>, Entries)> = nodes
            .par_chunks(UNITS)
            .enumerate()
            .map(|(at, nodes)| {
                let (mut lengths, mut all) = (Vec::with_capacity(nodes.len()), Entries::default());
                let mut entries = Entries::default();
                for (place, &node) in nodes.iter().enumerate() {
                    rows.sparse(matrix, node, mask(at * UNITS + place), &mut entries);
                    lengths.push(entries.columns.len() as u32);
                    all.columns.extend_from_slice(&entries.columns);
                    all.values.extend_from_slice(&entries.values);
                }
                (lengths, all)
            })
            .collect();
        let count = parts.iter().map(|(_, entries)| entries.columns.len()).sum();
        assert!(u32::try_from(count).is_ok(), "a batch of {count} features; make smaller ones");
        let mut offsets = Vec::with_capacity(nodes.len() + 1);
        offsets.push(0);
        let mut end = 0;
        let (mut columns, mut values) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (lengths, entries) in parts {
            offsets.extend(lengths.into_iter().map(|length| {
                end += length;
                end
            }));
            columns.extend(entries.columns);
            values.extend(entries.values);
        }
        SparseInputs::new(self.width, offsets, columns, values)
    }

    fn dense(
        &self,
        rows: &Scaled<'_>,
        nodes: &[u32],
        masks: &[Option<Mask>],
        finished: bool,
    ) -> Matrix<f32> {
        let mask = mask_of(nodes, masks);
        let width = self.output_width();
        let mut out = Matrix::zeros(nodes.len(), width);
        let tasks = out.values.par_chunks_mut(UNITS * width).zip(nodes.par_chunks(UNITS));
        tasks.enumerate().for_each(|(at, (out, nodes))| {
            let unit = |place: usize| (nodes[place], mask(at * UNITS + place));
            match &self.vectors {
                None => {
                    for (place, out) in out.chunks_exact_mut(width).enumerate() {
                        let (node, mask) = unit(place);
                        rows.dense(node, mask, out);
                    }
                }
                Some(vectors) => {
                    project(rows, nodes.len(), unit, vectors, out);
                    if finished {
                        out.chunks_exact_mut(width).for_each(|out| self.finish(out));
                    }
                }
            }
        });
        out
    }

    /// x̂V becomes q.
    fn finish(&self, row: &mut [f32]) {
        let norm = self.settings.projection.as_ref().and_then(|settings| settings.norm);
        center_and_scale(row, self.mean.as_deref(), norm);
    }
}

/// Sparse rows as they are stored.
fn copied(matrix: &Sparse, nodes: &[u32]) -> SparseInputs<f32> {
    let mut offsets = Vec::with_capacity(nodes.len() + 1);
    offsets.push(0);
    let mut end = 0usize;
    offsets.extend(nodes.iter().map(|&node| {
        end += matrix.row(node as usize).0.len();
        u32::try_from(end).expect("a batch has fewer than 2^32 features; make smaller ones")
    }));
    let (mut columns, mut values) = (Vec::with_capacity(end), Vec::with_capacity(end));
    for &node in nodes {
        let row = matrix.row(node as usize);
        columns.extend_from_slice(row.0);
        values.extend_from_slice(row.1);
    }
    SparseInputs::new(matrix.width, offsets, columns, values)
}

/// The mask of each unit.
fn mask_of<'a>(nodes: &[u32], masks: &'a [Option<Mask>]) -> impl Fn(usize) -> Option<Mask> + 'a {
    assert!(masks.is_empty() || masks.len() == nodes.len(), "a mask for every node, or none");
    |unit| masks.get(unit).copied().flatten()
}

/// X̂ V of some units; `out` (units, k) is zero before.
fn project(
    rows: &Scaled<'_>,
    units: usize,
    unit: impl Fn(usize) -> (u32, Option<Mask>),
    vectors: &Matrix<f32>,
    out: &mut [f32],
) {
    match rows.sparse_features() {
        Some(matrix) => {
            let mut entries = Entries::default();
            for (place, out) in out.chunks_exact_mut(vectors.width).enumerate() {
                let (node, mask) = unit(place);
                rows.sparse(matrix, node, mask, &mut entries);
                let values = entries.values.iter().zip(&entries.columns);
                add_rows(out, vectors, values.map(|(&x, &column)| (x, column as usize)));
            }
        }
        None => {
            let width = vectors.rows;
            // Zeros fill the last tile.
            let mut x = vec![0f32; units.next_multiple_of(TILE.0) * width];
            for (place, x) in x.chunks_exact_mut(width).take(units).enumerate() {
                let (node, mask) = unit(place);
                rows.dense(node, mask, x);
            }
            tiles(&x, vectors, out);
        }
    }
}

/// out (units, k) = X V with X (units or a few rows more, width).
fn tiles(x: &[f32], vectors: &Matrix<f32>, out: &mut [f32]) {
    let (width, k) = (vectors.rows, vectors.width);
    // Some columns of V side by side, so that a tile reads them in a line.
    let mut panel = vec![[0f32; TILE.1]; width];
    for start in (0..k).step_by(TILE.1) {
        let columns = start..(start + TILE.1).min(k);
        for (row, panel) in panel.iter_mut().enumerate() {
            *panel = [0.0; TILE.1];
            panel[..columns.len()].copy_from_slice(&vectors.row(row)[columns.clone()]);
        }
        let rows = x.chunks_exact(TILE.0 * width).zip(out.chunks_mut(TILE.0 * k));
        for (x, out) in rows {
            let sums = tile(x, &panel);
            for (out, sums) in out.chunks_exact_mut(k).zip(&sums) {
                out[columns.clone()].copy_from_slice(&sums[..columns.len()]);
            }
        }
    }
}

/// One tile: each number is one sum, columns of X rising.
#[inline]
fn tile(x: &[f32], panel: &[[f32; TILE.1]]) -> [[f32; TILE.1]; TILE.0] {
    let width = panel.len();
    let [a, b, c, d] = std::array::from_fn(|row| &x[row * width..(row + 1) * width]);
    let mut sums = [[0f32; TILE.1]; TILE.0];
    let lines = a.iter().zip(b).zip(c.iter().zip(d)).zip(panel);
    for (((a, b), (c, d)), v) in lines {
        for (sums, x) in sums.iter_mut().zip([a, b, c, d]) {
            sums.iter_mut().zip(v).for_each(|(sum, v)| *sum += x * v);
        }
    }
    sums
}
