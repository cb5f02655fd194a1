//! How a layer lies in memory: tiles of columns, aligned to cache lines.
//!
//! A plain row of 1024 numbers is 4 KB long, so the same columns of all rows would
//! fall into a few sets of the cache; in a tile they lie one after another.

use crate::math::Matrix;

/// Columns of a tile.
pub(super) const TILE: usize = 64;

/// One row of a tile. Aligned, since a vector that crosses cache lines is read twice.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Lane(pub(super) [f32; TILE]);

impl Lane {
    pub(super) const ZERO: Lane = Lane([0.0; TILE]);

    /// Columns `start..` of a longer row where they lie, or in `spare` with zeros
    /// where the row ends. Copying all of them took a call each.
    #[inline(always)]
    pub(super) fn seen<'a>(row: &'a [f32], start: usize, spare: &'a mut Lane) -> &'a [f32; TILE] {
        let row = &row[start..];
        match row.first_chunk() {
            Some(whole) => whole,
            None => {
                *spare = Lane::ZERO;
                spare.put(row);
                &spare.0
            }
        }
    }

    /// As [`Lane::seen`], to be written; `spare` does not find its way back.
    #[inline(always)]
    pub(super) fn place<'a>(
        row: &'a mut [f32],
        start: usize,
        spare: &'a mut Lane,
    ) -> &'a mut [f32; TILE] {
        row[start..].first_chunk_mut().unwrap_or(&mut spare.0)
    }

    /// Takes over as many numbers as there are.
    pub(super) fn put(&mut self, from: &[f32]) {
        self.0.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    }

    /// Gives as many numbers as there are places.
    pub(super) fn take(&self, to: &mut [f32]) {
        to.iter_mut().zip(&self.0).for_each(|(to, from)| *to = *from);
    }
}

/// Rows of a tile.
#[derive(Debug, Default)]
pub(super) struct Lanes(pub(super) Vec<Lane>);

impl Lanes {
    /// Columns `start..` of a matrix.
    pub(super) fn put(&mut self, from: &Matrix<f32>, start: usize) {
        self.0.iter_mut().enumerate().for_each(|(row, lane)| lane.put(&from.row(row)[start..]));
    }

    /// Into columns `start..` of a matrix.
    pub(super) fn take(&self, to: &mut Matrix<f32>, start: usize) {
        self.0.iter().enumerate().for_each(|(row, lane)| lane.take(&mut to.row_mut(row)[start..]));
    }

    /// This many rows, whatever stands in them.
    pub(super) fn resize(&mut self, rows: usize) -> &mut [Lane] {
        if self.0.len() < rows {
            self.0.resize(rows, Lane::ZERO);
        }
        &mut self.0[..rows]
    }
}

impl std::ops::Deref for Lanes {
    type Target = [Lane];

    fn deref(&self) -> &[Lane] {
        &self.0
    }
}

impl std::ops::DerefMut for Lanes {
    fn deref_mut(&mut self) -> &mut [Lane] {
        &mut self.0
    }
}

/// Parameters with both moments, (rows) each.
#[derive(Debug)]
pub(super) struct Moving {
    pub(super) value: Lanes,
    pub(super) first: Lanes,
    pub(super) second: Lanes,
}

impl Moving {
    fn new(rows: usize) -> Moving {
        let zeros = || Lanes(vec![Lane::ZERO; rows]);
        Moving { value: zeros(), first: zeros(), second: zeros() }
    }

    pub(super) fn part(&self, part: usize) -> &Lanes {
        [&self.value, &self.first, &self.second][part]
    }

    pub(super) fn part_mut(&mut self, part: usize) -> &mut Lanes {
        [&mut self.value, &mut self.first, &mut self.second].into_iter().nth(part).expect("three")
    }
}

/// Some columns of everything that a step keeps.
#[derive(Debug)]
pub(super) struct Tile {
    /// (inputs).
    pub(super) weight: Moving,
    /// (inputs).
    pub(super) skip: Option<Moving>,
    /// One row.
    pub(super) bias: Moving,
    /// One row.
    pub(super) slope: Moving,
    /// Bit j is set where z of column j is not above zero, (rows).
    pub(super) signs: Vec<u64>,
    /// Σ weight max(z, 0), (contexts).
    pub(super) positive: Lanes,
    /// Σ weight min(z, 0), (contexts); backward puts the summary's derivative there.
    pub(super) negative: Lanes,
    /// z of the center, (contexts); backward puts the center's derivative there.
    pub(super) centers: Lanes,
    /// This tile's part of the scores, (pairs).
    pub(super) scores: Vec<f32>,
    /// Nanoseconds: product, aggregate, spread, weights.
    pub(super) spent: [u64; 4],
}

impl Tile {
    pub(super) fn new(inputs: usize, skip: bool) -> Tile {
        Tile {
            weight: Moving::new(inputs),
            skip: skip.then(|| Moving::new(inputs)),
            bias: Moving::new(1),
            slope: Moving::new(1),
            signs: Vec::new(),
            positive: Lanes::default(),
            negative: Lanes::default(),
            centers: Lanes::default(),
            scores: Vec::new(),
            spent: [0; 4],
        }
    }
}

/// What a thread needs for the tile it is at.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Y, then d_Y, (units).
    pub(super) units: Lanes,
    /// Y', then d_Y', (units).
    pub(super) skip: Lanes,
    /// d_z of a piece, (rows of the largest piece).
    pub(super) piece: Lanes,
    /// Where arcs lead to, when they are not symmetric, (rows of the largest piece).
    pub(super) heads: Lanes,
    /// Centers, summaries and derivatives by both, where pairs are named, (contexts).
    pub(super) h: Lanes,
    pub(super) s: Lanes,
    pub(super) d_h: Lanes,
    pub(super) d_s: Lanes,
}
