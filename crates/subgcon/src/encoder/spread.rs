//! Along the arcs and back.
//!
//! Forward: z(r) = bias + own · v(unit of r) + Σ_j w(r, j) y(unit of j) over the arcs of r,
//! and out = PReLU(z) while the row is at hand.
//!
//! Backward: d_y(u) = Σ over the rows r of u of own · d_z(r) + Σ_i w(i, r) d_z(i), over the
//! rows i that draw on r. Both directions are gathers: every row is written by
//! one thread, in one order.

use std::borrow::Cow;

use rayon::prelude::*;

use super::alone::for_rows;
use super::prelu;
use super::rows::{add_one, add_scaled, chunk};
use super::source::Source;
use crate::batch::Arcs;
use crate::math::{Matrix, Real};

/// Forward along the arcs, for one layer.
pub(super) struct Spread<'a, T> {
    /// What neighbours give, (units, width).
    pub(super) y: &'a Matrix<T>,
    /// What a row has of its own, and how much of it.
    pub(super) own: Option<(T, &'a Matrix<T>)>,
    pub(super) bias: &'a [T],
    pub(super) slope: &'a [T],
}

impl<T: Real> Spread<'_, T> {
    /// z and PReLU of it.
    pub(super) fn run(
        &self,
        at: &Source<'_, T>,
        arcs: &Arcs<T>,
        z: &mut Matrix<T>,
        out: &mut Matrix<T>,
    ) {
        let (rows, width) = (chunk(z.width), z.width);
        let size = rows * width;
        let chunks = z.values.par_chunks_mut(size).zip(out.values.par_chunks_mut(size));
        chunks.enumerate().for_each(|(chunk, (z, out))| {
            let pairs = z.chunks_exact_mut(width).zip(out.chunks_exact_mut(width));
            for (row, (z, out)) in (chunk * rows..).zip(pairs) {
                self.row(at, arcs, row, z);
                prelu::row(z, self.slope, out);
            }
        });
    }

    /// z alone.
    pub(super) fn run_before_prelu(&self, at: &Source<'_, T>, arcs: &Arcs<T>, z: &mut Matrix<T>) {
        for_rows(z, |row, z| self.row(at, arcs, row, z));
    }

    #[inline]
    fn row(&self, at: &Source<'_, T>, arcs: &Arcs<T>, row: usize, z: &mut [T]) {
        z.copy_from_slice(self.bias);
        if let Some((own, v)) = self.own {
            add_one(z, (own, v.row(at.unit(row))));
        }
        let (heads, weights) = arcs.of(row);
        let terms = heads.iter().zip(weights);
        add_scaled(z, terms.map(|(&j, &w)| (w, self.y.row(at.unit(j as usize)))));
    }
}

/// Backward along the arcs: d_y from d_z. `back` leads from a row to those that draw on it.
pub(super) fn collect<T: Real>(
    at: &Source<'_, T>,
    back: Option<&Arcs<T>>,
    own: Option<T>,
    d_z: &Matrix<T>,
    d_y: &mut Matrix<T>,
) {
    let (units, width) = (chunk(d_y.width), d_y.width);
    d_y.values.par_chunks_mut(units * width).enumerate().for_each(|(chunk, d_y)| {
        for (unit, d_y) in (chunk * units..).zip(d_y.chunks_exact_mut(width)) {
            d_y.fill(T::ZERO);
            let unit = unit as u32;
            let rows = at.rows_of(&unit);
            if let Some(own) = own {
                add_scaled(d_y, rows.iter().map(|&row| (own, d_z.row(row as usize))));
            }
            if let Some(back) = back {
                let arcs = rows.iter().flat_map(|&row| {
                    let (tails, weights) = back.of(row as usize);
                    tails.iter().zip(weights)
                });
                add_scaled(d_y, arcs.map(|(&i, &w)| (w, d_z.row(i as usize))));
            }
        }
    });
}

/// Arcs by the row they lead to: row j is drawn on by `tails[offsets[j]..offsets[j + 1]]`,
/// rising, through the arcs at `arcs`.
#[derive(Debug)]
pub(super) struct Reverse {
    offsets: Vec<u32>,
    tails: Vec<u32>,
    arcs: Vec<u32>,
}

impl Reverse {
    pub(super) fn new<T>(arcs: &Arcs<T>) -> Reverse {
        let rows = arcs.offsets.len().saturating_sub(1);
        let mut offsets = vec![0u32; rows + 1];
        arcs.heads.iter().for_each(|&head| offsets[head as usize + 1] += 1);
        (0..rows).for_each(|row| offsets[row + 1] += offsets[row]);
        let mut next = offsets.clone();
        let (mut tails, mut places) = (vec![0; arcs.heads.len()], vec![0; arcs.heads.len()]);
        for row in 0..rows {
            for arc in arcs.offsets[row]..arcs.offsets[row + 1] {
                let place = &mut next[arcs.heads[arc as usize] as usize];
                tails[*place as usize] = row as u32;
                places[*place as usize] = arc;
                *place += 1;
            }
        }
        Reverse { offsets, tails, arcs: places }
    }

    /// Rows that draw on a row, and the arcs they do it through.
    pub(super) fn of(&self, row: usize) -> impl Iterator<Item = (usize, usize)> + Clone {
        let range = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        let arcs = &self.arcs[range.clone()];
        self.tails[range].iter().zip(arcs).map(|(&tail, &arc)| (tail as usize, arc as usize))
    }
}

/// Arcs turned round: themselves where they are symmetric.
pub(super) fn turned<T: Real>(arcs: &Arcs<T>) -> Cow<'_, Arcs<T>> {
    if arcs.symmetric {
        return Cow::Borrowed(arcs);
    }
    let Reverse { offsets, tails, arcs: places } = Reverse::new(arcs);
    let weights = places.iter().map(|&arc| arcs.weights[arc as usize]).collect();
    Cow::Owned(Arcs { offsets, heads: tails, weights, symmetric: false })
}
