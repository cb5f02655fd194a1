//! Scores of named pairs, tile by tile, while centers and summaries are in the cache.
//!
//! The score of (i, j) is h_i·s_j: every tile adds its columns' part, and parts are added
//! in the order of tiles. Backward, d_h_i += g s_j and d_s_j += g h_i for each pair with
//! derivative g. Nothing of (contexts, width) is copied out of the tiles or back.

use super::kernels::{self, above_zero, below_zero, multiply_add};
use super::layout::{Lane, Scratch, TILE, Tile};
use crate::math::{Blend, Signs, Work};

/// Which pairs are scored, and how summaries come about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named<'a> {
    /// (center, summary).
    pub(super) pairs: &'a [(u32, u32)],
    pub(super) contexts: usize,
    pub(super) sigmoid: bool,
}

/// One tile's part of all scores.
pub(super) struct Score<'a> {
    pub(super) named: Named<'a>,
    /// Columns of the tile that are no filling.
    pub(super) columns: usize,
    pub(super) tile: &'a mut Tile,
    pub(super) scratch: &'a mut Scratch,
}

impl Work for Score<'_> {
    type Made = ();

    #[inline(always)]
    fn run<const FMA: bool>(self, _: impl Signs, _: impl Blend) {
        let Score { named, columns, tile, scratch } = self;
        sides::<FMA>(named, columns, tile, scratch);
        let (h, s) = (&scratch.h[..named.contexts], &scratch.s[..named.contexts]);
        tile.scores.clear();
        tile.scores.extend(
            named
                .pairs
                .iter()
                .map(|&(center, summary)| dot(&h[center as usize], &s[summary as usize])),
        );
    }
}

/// Σ a b. Halves of fixed length: with loops whose ends are variables the compiler made
/// scalar code of it, and a step took a third longer.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // all arrays of a loop are looked at alike
fn dot(a: &Lane, b: &Lane) -> f32 {
    let mut products = [0f32; TILE];
    for j in 0..TILE {
        products[j] = a.0[j] * b.0[j];
    }
    let mut sums = [0f32; 16];
    for j in 0..16 {
        sums[j] = (products[j] + products[j + 16]) + (products[j + 32] + products[j + 48]);
    }
    for j in 0..8 {
        sums[j] += sums[j + 8];
    }
    for j in 0..4 {
        sums[j] += sums[j + 4];
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

/// h and s of the tile's columns into the scratch; 0 where columns are filling.
#[inline(always)]
fn sides<const FMA: bool>(named: Named<'_>, columns: usize, tile: &Tile, scratch: &mut Scratch) {
    let slope = &tile.slope.value[0].0;
    let h = scratch.h.resize(named.contexts);
    let s = scratch.s.resize(named.contexts);
    for (context, (h, s)) in h.iter_mut().zip(s).enumerate() {
        let z = &tile.centers[context].0;
        let (above, below) = (&tile.positive[context].0, &tile.negative[context].0);
        for j in 0..TILE {
            h.0[j] = multiply_add::<FMA>(slope[j], below_zero(z[j]), above_zero(z[j]));
            s.0[j] = multiply_add::<FMA>(slope[j], below[j], above[j]);
        }
        if named.sigmoid {
            s.0.iter_mut().for_each(|x| *x = kernels::sigmoid::<FMA>(*x));
            // A sigmoid of nothing is a half.
            s.0[columns..].fill(0.0);
        }
    }
}

/// Derivatives by h and s of the tile's columns into the scratch, beside h and s.
#[inline(always)]
pub(super) fn derivatives<const FMA: bool>(
    named: Named<'_>,
    slopes: &[f32],
    columns: usize,
    tile: &Tile,
    scratch: &mut Scratch,
) {
    sides::<FMA>(named, columns, tile, scratch);
    let Scratch { h, s, d_h, d_s, .. } = scratch;
    let (d_h, d_s) = (d_h.resize(named.contexts), d_s.resize(named.contexts));
    d_h.fill(Lane::ZERO);
    d_s.fill(Lane::ZERO);
    for (&(center, summary), &slope) in named.pairs.iter().zip(slopes) {
        let (center, summary) = (center as usize, summary as usize);
        kernels::add::<FMA>(&mut d_h[center], slope, &s[summary]);
        kernels::add::<FMA>(&mut d_s[summary], slope, &h[center]);
    }
}
