//! Rows for embedding, each by itself.
//!
//! What [`super::Encoder::rows`] does differently from forward: only the rows that are
//! asked for are made, and of every layer before only the rows that those draw
//! on; and a row's bits do not depend on which other contexts share its batch. So dense
//! products go through [`rows_product`], and whether arcs or weights come
//! first is decided by the kind of features and the number of layers, never by
//! how many rows there are:
//!
//! - arcs first, (A X) W, one product a wanted row, for dense features, which is
//!   least work where few rows are wanted;
//! - weights first, A (X W), one product a unit, for sparse features, where a product is
//!   cheap, and for the first of several layers, where many rows show a unit.

use rayon::prelude::*;

use super::rows::{add_one, add_scaled, chunk};
use super::source::{Features, sparse_row};
use super::spare::Spare;
use crate::batch::{Arcs, Batch, Units};
use crate::math::{Matrix, Real, rows_product};

/// What a layer's rows are made from.
pub(super) struct Seen<'a, T> {
    features: Features<'a, T>,
    /// Where the features of a row lie, (rows); nowhere for rows that nobody asked for.
    place: Vec<u32>,
    arcs_first: bool,
}

const NOWHERE: u32 = u32::MAX;

impl<'a, T: Real> Seen<'a, T> {
    /// By the first of so many layers.
    pub(super) fn batch(batch: &'a Batch<T>, layers: usize) -> Seen<'a, T> {
        let features = Features::of(batch);
        let place = match &batch.units {
            Units::Same => (0..features.units() as u32).collect(),
            Units::Shown { of_row, .. } => of_row.clone(),
        };
        let arcs_first = layers == 1 && matches!(features, Features::Dense(_));
        Seen { features, place, arcs_first }
    }

    /// By a later layer: `made` holds the rows `which` of all `rows`.
    pub(super) fn rows(made: &'a Matrix<T>, which: &[u32], rows: usize) -> Seen<'a, T> {
        let mut place = vec![NOWHERE; rows];
        (0u32..).zip(which).for_each(|(at, &row)| place[row as usize] = at);
        Seen { features: Features::Dense(made), place, arcs_first: true }
    }

    /// X W for the wanted rows, (wanted, width).
    pub(super) fn own(
        &self,
        wanted: &[u32],
        weight: &Matrix<T>,
        spare: &mut Spare<T>,
    ) -> Matrix<T> {
        let places: Vec<u32> = wanted.iter().map(|&row| self.place[row as usize]).collect();
        self.product(&places, weight, spare)
    }

    /// (own X + A X) W for the wanted rows, (wanted, width).
    pub(super) fn mixed(
        &self,
        wanted: &[u32],
        arcs: &Arcs<T>,
        own: Option<T>,
        weight: &Matrix<T>,
        spare: &mut Spare<T>,
    ) -> Matrix<T> {
        if let (true, Features::Dense(x)) = (self.arcs_first, self.features) {
            let mut mixed = spare.take(wanted.len(), x.width);
            mix(wanted, arcs, own, (x, &self.place), &mut mixed);
            let mut out = spare.take(wanted.len(), weight.width);
            rows_product(mixed.view(), weight, &mut out);
            spare.give(mixed);
            return out;
        }
        let (y, place) = self.weighted(wanted, arcs, weight, spare);
        let mut out = spare.take(wanted.len(), y.width);
        mix(wanted, arcs, own, (&y, &place), &mut out);
        spare.give(y);
        out
    }

    /// X W once for every unit that the wanted rows show or draw on, and where it lies for
    /// each row.
    pub(super) fn weighted(
        &self,
        wanted: &[u32],
        arcs: &Arcs<T>,
        weight: &Matrix<T>,
        spare: &mut Spare<T>,
    ) -> (Matrix<T>, Vec<u32>) {
        let rows = wanted.iter().flat_map(|row| std::iter::once(row).chain(drawn_on(arcs, *row)));
        let mut index = vec![NOWHERE; self.features.units()];
        let mut units = Vec::new();
        for &row in rows {
            let unit = self.place[row as usize];
            if index[unit as usize] == NOWHERE {
                index[unit as usize] = units.len() as u32;
                units.push(unit);
            }
        }
        let index_of = |&unit: &u32| if unit == NOWHERE { NOWHERE } else { index[unit as usize] };
        (self.product(&units, weight, spare), self.place.iter().map(index_of).collect())
    }

    /// X W for some places.
    fn product(&self, places: &[u32], weight: &Matrix<T>, spare: &mut Spare<T>) -> Matrix<T> {
        let mut y = spare.take(places.len(), weight.width);
        match self.features {
            Features::Dense(x) if are_all(places, x.rows) => rows_product(x.view(), weight, &mut y),
            Features::Dense(x) => {
                let mut picked = spare.take(places.len(), x.width);
                for_rows(&mut picked, |at, row| row.copy_from_slice(x.row(places[at] as usize)));
                rows_product(picked.view(), weight, &mut y);
                spare.give(picked);
            }
            Features::Sparse(x) => for_rows(&mut y, |at, y| {
                sparse_row(x.unit(places[at] as usize), weight, y);
            }),
        }
        y
    }
}

/// Rows of a layer that some rows of the next are made from, themselves among them.
pub(super) fn before<T: Real>(wanted: &[u32], arcs: &Arcs<T>) -> Vec<u32> {
    let mut rows = wanted.to_vec();
    rows.extend(wanted.iter().flat_map(|&row| drawn_on(arcs, row)));
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// Writes every row of a matrix by itself, in parallel.
pub(super) fn for_rows<T: Real>(out: &mut Matrix<T>, write: impl Fn(usize, &mut [T]) + Sync) {
    let (rows, width) = (chunk(out.width), out.width);
    if width == 0 {
        return;
    }
    out.values.par_chunks_mut(rows * width).enumerate().for_each(|(chunk, out)| {
        for (at, out) in (chunk * rows..).zip(out.chunks_exact_mut(width)) {
            write(at, out);
        }
    });
}

/// Without propagation a batch may have no arcs at all.
fn drawn_on<T: Real>(arcs: &Arcs<T>, row: u32) -> &[u32] {
    if arcs.offsets.len() < 2 { &[] } else { arcs.of(row as usize).0 }
}

/// own x(r) + Σ_j w(r, j) x(j) for the wanted rows; `place` says where a row lies in x.
fn mix<T: Real>(
    wanted: &[u32],
    arcs: &Arcs<T>,
    own: Option<T>,
    (x, place): (&Matrix<T>, &[u32]),
    mixed: &mut Matrix<T>,
) {
    let at = |row: u32| x.row(place[row as usize] as usize);
    for_rows(mixed, |i, mixed| {
        mixed.fill(T::ZERO);
        if let Some(own) = own {
            add_one(mixed, (own, at(wanted[i])));
        }
        let (heads, weights) = arcs.of(wanted[i] as usize);
        add_scaled(mixed, heads.iter().zip(weights).map(|(&j, &w)| (w, at(j))));
    });
}

/// Whether places are all there are, in order.
fn are_all(places: &[u32], rows: usize) -> bool {
    places.len() == rows && (0u32..).zip(places).all(|(at, &place)| at == place)
}
