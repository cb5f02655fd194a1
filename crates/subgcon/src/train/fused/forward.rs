//! Forward through one tile: products, arcs, activation, sums; then the tiles side
//! by side as centers and summaries.

use std::time::Instant;

use rayon::prelude::*;

use super::kernels::{self, Into, Side, above_zero, below_zero, multiply_add};
use super::layout::{Lane, Scratch, TILE, Tile};
use super::plan::{self, NONE, Plan};
use crate::batch::Batch;
use crate::math::{Blend, Matrix, Signs, Simd, Work};

/// One tile of a batch, forward.
pub(super) struct Forward<'a> {
    pub(super) batch: &'a Batch<f32>,
    pub(super) plan: &'a Plan,
    pub(super) tile: &'a mut Tile,
    pub(super) scratch: &'a mut Scratch,
}

impl Work for Forward<'_> {
    type Made = ();

    #[inline(always)]
    fn run<const FMA: bool>(self, signs: impl Signs, _: impl Blend) {
        let Forward { batch, plan, tile, scratch } = self;
        let start = Instant::now();
        let units = batch.inputs.units();
        let y = scratch.units.resize(units);
        let side = Side::Units;
        kernels::product::<FMA>(&batch.inputs, side, &tile.weight.value, Into(y));
        let y_skip = scratch.skip.resize(if tile.skip.is_some() { units } else { 0 });
        if let Some(skip) = &tile.skip {
            kernels::product::<FMA>(&batch.inputs, side, &skip.value, Into(y_skip));
        }
        let between = Instant::now();
        match tile.skip {
            None => aggregate::<FMA, false>(batch, plan, tile, y, y_skip, signs),
            Some(_) => aggregate::<FMA, true>(batch, plan, tile, y, y_skip, signs),
        }
        tile.spent[0] += (between - start).as_nanos() as u64;
        tile.spent[1] += between.elapsed().as_nanos() as u64;
    }
}

#[inline(always)]
fn z_of<const FMA: bool, const SKIP: bool>(
    batch: &Batch<f32>,
    plan: &Plan,
    row: usize,
    bias: &Lane,
    y: &[Lane],
    skip: &[Lane],
) -> Lane {
    let arcs = &batch.arcs;
    let range = arcs.offsets[row] as usize..arcs.offsets[row + 1] as usize;
    let mut z = *bias;
    for (&unit, &weight) in plan.head_units[range.clone()].iter().zip(&arcs.weights[range]) {
        kernels::add::<FMA>(&mut z, weight, &y[unit as usize]);
    }
    if SKIP {
        kernels::add::<FMA>(&mut z, 1.0, &skip[plan.units[row] as usize]);
    }
    z
}

/// Signs of z, sums of both sides of it, and z of the centers. z of a row that is
/// neither member nor center is not asked for and not calculated.
#[inline(always)]
fn aggregate<const FMA: bool, const SKIP: bool>(
    batch: &Batch<f32>,
    plan: &Plan,
    tile: &mut Tile,
    y: &[Lane],
    skip: &[Lane],
    signs: impl Signs,
) {
    let contexts = batch.contexts();
    tile.signs.resize(plan.units.len(), 0);
    let positive = tile.positive.resize(contexts);
    let negative = tile.negative.resize(contexts);
    let centers = tile.centers.resize(contexts);
    let bias = tile.bias.value[0];
    let mut later = &plan.centers[..];
    for run in &plan.runs {
        let (start, end) = (run.start as usize, run.end as usize);
        let mut of_run;
        (of_run, later) = plan::split(later, run.end);
        if run.context == NONE {
            for &(row, context) in of_run {
                let z = z_of::<FMA, SKIP>(batch, plan, row as usize, &bias, y, skip);
                tile.signs[row as usize] = kernels::signs_of(&z, signs);
                centers[context as usize] = z;
            }
            continue;
        }
        let context = run.context as usize;
        let (mut above, mut below) = if run.first {
            (Lane::ZERO, Lane::ZERO)
        } else {
            (positive[context], negative[context])
        };
        for row in start..end {
            let z = z_of::<FMA, SKIP>(batch, plan, row, &bias, y, skip);
            tile.signs[row] = kernels::signs_of(&z, signs);
            let weight = plan.weights[row];
            for j in 0..TILE {
                above.0[j] = multiply_add::<FMA>(weight, above_zero(z.0[j]), above.0[j]);
                below.0[j] = multiply_add::<FMA>(weight, below_zero(z.0[j]), below.0[j]);
            }
            let of_row;
            (of_row, of_run) = plan::split(of_run, row as u32 + 1);
            for &(_, context) in of_row {
                centers[context as usize] = z;
            }
        }
        (positive[context], negative[context]) = (above, below);
    }
}

/// Some contexts of all tiles, side by side.
struct Collect<'a> {
    tiles: &'a [Tile],
    sigmoid: bool,
    start: usize,
    width: usize,
    centers: &'a mut [f32],
    summaries: &'a mut [f32],
}

impl Work for Collect<'_> {
    type Made = ();

    #[inline(always)]
    fn run<const FMA: bool>(self, _: impl Signs, _: impl Blend) {
        let rows = self.centers.chunks_mut(self.width).zip(self.summaries.chunks_mut(self.width));
        let (mut spare_h, mut spare_s) = (Lane::ZERO, Lane::ZERO);
        for (context, (center, summary)) in (self.start..).zip(rows) {
            for (at, tile) in self.tiles.iter().enumerate() {
                let slope = &tile.slope.value[0].0;
                let (above, below) = (&tile.positive[context].0, &tile.negative[context].0);
                let z = &tile.centers[context].0;
                let h = Lane::place(center, at * TILE, &mut spare_h);
                let s = Lane::place(summary, at * TILE, &mut spare_s);
                for j in 0..TILE {
                    h[j] = multiply_add::<FMA>(slope[j], below_zero(z[j]), above_zero(z[j]));
                }
                for j in 0..TILE {
                    s[j] = multiply_add::<FMA>(slope[j], below[j], above[j]);
                }
                if self.sigmoid {
                    for x in s {
                        *x = kernels::sigmoid::<FMA>(*x);
                    }
                }
            }
            // The last tile is wider than the matrix.
            let rest = center.len() % TILE;
            let start = center.len() - rest;
            spare_h.take(&mut center[start..]);
            spare_s.take(&mut summary[start..]);
        }
    }
}

/// Centers and summaries as plain matrices, (contexts, width).
pub(super) fn collect(
    tiles: &[Tile],
    sigmoid: bool,
    level: Simd,
    centers: &mut Matrix<f32>,
    summaries: &mut Matrix<f32>,
) {
    /// Contexts at a time.
    const SOME: usize = 64;
    let width = centers.width;
    let centers = centers.values.par_chunks_mut(SOME * width);
    let summaries = summaries.values.par_chunks_mut(SOME * width);
    centers.zip(summaries).enumerate().for_each(|(at, (centers, summaries))| {
        level.run(Collect { tiles, sigmoid, start: at * SOME, width, centers, summaries });
    });
}
