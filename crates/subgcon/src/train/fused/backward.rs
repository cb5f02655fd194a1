//! Backward through one tile, and Adam.

use std::time::Instant;

use super::kernels::{self, Learn, Side, Sink, below_zero, multiply_add, unless_tiny};
use super::layout::{Lane, Scratch, TILE, Tile};
use super::pairs::{self, Named};
use super::plan::{self, NONE, Piece, Plan};
use crate::batch::Batch;
use crate::contrast::Contrast;
use crate::math::{Blend, Matrix, Signs, Work};
use crate::train::Adam;

/// Where derivatives by centers and summaries come from.
#[derive(Clone, Copy)]
pub(super) enum Outcome<'a> {
    /// A contrast of plain matrices, and the summaries it saw where a sigmoid made them.
    Plain(&'a Contrast<f32>, Option<&'a Matrix<f32>>),
    /// Derivatives by the scores of pairs.
    Pairs(Named<'a>, &'a [f32]),
}

/// One tile of a batch, backward.
pub(super) struct Backward<'a> {
    pub(super) batch: &'a Batch<f32>,
    pub(super) plan: &'a Plan,
    pub(super) outcome: Outcome<'a>,
    pub(super) transposed: &'a [f32],
    pub(super) adam: &'a Adam<f32>,
    /// First column of the tile, and how many are no filling.
    pub(super) start: usize,
    pub(super) columns: usize,
    pub(super) tile: &'a mut Tile,
    pub(super) scratch: &'a mut Scratch,
}

impl Work for Backward<'_> {
    type Made = ();

    #[inline(always)]
    fn run<const FMA: bool>(mut self, _: impl Signs, blend: impl Blend) {
        let start = Instant::now();
        let d_slope = self.receive::<FMA>();
        let d_bias = match self.tile.skip {
            None => self.spread::<FMA, false>(blend),
            Some(_) => self.spread::<FMA, true>(blend),
        };
        let between = Instant::now();
        let Backward { batch, transposed, adam, tile, scratch, .. } = self;
        Learn::<FMA> { adam, to: &mut tile.bias }.put(0, &d_bias);
        Learn::<FMA> { adam, to: &mut tile.slope }.put(0, &d_slope);
        let units = batch.inputs.units();
        let side = Side::Inputs(transposed);
        let learn = Learn::<FMA> { adam, to: &mut tile.weight };
        kernels::product::<FMA>(&batch.inputs, side, &scratch.units[..units], learn);
        if let Some(to) = &mut tile.skip {
            let learn = Learn::<FMA> { adam, to };
            kernels::product::<FMA>(&batch.inputs, side, &scratch.skip[..units], learn);
        }
        tile.spent[2] += (between - start).as_nanos() as u64;
        tile.spent[3] += between.elapsed().as_nanos() as u64;
    }
}

impl Backward<'_> {
    /// Takes the derivatives by summaries (through the sigmoid) and centers into the
    /// tile; gives the one by the slope.
    #[inline(always)]
    fn receive<const FMA: bool>(&mut self) -> Lane {
        let mut d_slope = Lane::ZERO;
        let contexts = self.batch.contexts();
        match self.outcome {
            Outcome::Plain(contrast, summaries) => {
                let mut spare = [Lane::ZERO; 3];
                let [spare_s, spare_h, spare_inner] = &mut spare;
                for context in 0..contexts {
                    let d_s = Lane::seen(contrast.d_summaries.row(context), self.start, spare_s);
                    let d_h = Lane::seen(contrast.d_centers.row(context), self.start, spare_h);
                    let seen =
                        summaries.map(|all| Lane::seen(all.row(context), self.start, spare_inner));
                    take::<FMA>(self.tile, context, d_s, d_h, seen, &mut d_slope);
                }
            }
            Outcome::Pairs(named, slopes) => {
                pairs::derivatives::<FMA>(named, slopes, self.columns, self.tile, self.scratch);
                let Scratch { s, d_s, d_h, .. } = &*self.scratch;
                for context in 0..contexts {
                    let seen = named.sigmoid.then(|| &s[context].0);
                    let (d_s, d_h) = (&d_s[context].0, &d_h[context].0);
                    take::<FMA>(self.tile, context, d_s, d_h, seen, &mut d_slope);
                }
            }
        }
        d_slope
    }

    /// From summaries and centers along the arcs to the units; gives the derivative
    /// by the bias.
    #[inline(always)]
    fn spread<const FMA: bool, const SKIP: bool>(&mut self, blend: impl Blend) -> Lane {
        let Backward { batch, plan, tile, scratch, .. } = self;
        let units = batch.inputs.units();
        let d_y = scratch.units.resize(units);
        d_y.fill(Lane::ZERO);
        let d_skip = scratch.skip.resize(if SKIP { units } else { 0 });
        d_skip.fill(Lane::ZERO);
        let d_z = scratch.piece.resize(plan.longest);
        let heads = scratch.heads.resize(if batch.arcs.symmetric { 0 } else { plan.longest });
        let slope = tile.slope.value[0];
        let mut d_bias = Lane::ZERO;
        let mut centers = &plan.centers[..];
        for piece in &plan.pieces {
            let of_piece;
            (of_piece, centers) = plan::split(centers, piece.end);
            if !piece.members {
                for &(row, context) in of_piece {
                    let d = through(tile, &slope, row as usize, context as usize, blend);
                    kernels::add::<FMA>(&mut d_bias, 1.0, &d);
                    let (_, weights) = batch.arcs.of(row as usize);
                    let from = batch.arcs.offsets[row as usize] as usize;
                    for (&unit, &weight) in plan.head_units[from..].iter().zip(weights) {
                        kernels::add::<FMA>(&mut d_y[unit as usize], weight, &d);
                    }
                    if SKIP {
                        let unit = plan.units[row as usize] as usize;
                        kernels::add::<FMA>(&mut d_skip[unit], 1.0, &d);
                    }
                }
                continue;
            }
            members(plan, tile, piece, &slope, d_z, &mut d_bias, blend);
            for &(row, context) in of_piece {
                let d = through(tile, &slope, row as usize, context as usize, blend);
                kernels::add::<FMA>(&mut d_bias, 1.0, &d);
                kernels::add::<FMA>(&mut d_z[(row - piece.start) as usize], 1.0, &d);
            }
            if batch.arcs.symmetric {
                gather::<FMA>(batch, plan, piece, d_z, d_y);
            } else {
                scatter::<FMA>(batch, plan, piece, d_z, heads, d_y);
            }
            if SKIP {
                for (row, d) in (piece.start..piece.end).zip(&*d_z) {
                    let unit = plan.units[row as usize] as usize;
                    kernels::add::<FMA>(&mut d_skip[unit], 1.0, d);
                }
            }
        }
        d_bias
    }
}

/// d_z of a center row, without what its summary sends.
/// Puts a context's derivatives where its sums and its center's z were, and adds what
/// those mean for the slope. `summary` is there where a sigmoid made it.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // all arrays of a loop are looked at alike
fn take<const FMA: bool>(
    tile: &mut Tile,
    context: usize,
    d_s: &[f32; TILE],
    d_h: &[f32; TILE],
    summary: Option<&[f32; TILE]>,
    d_slope: &mut Lane,
) {
    // A contrast that is won by far leaves derivatives so small that what they are
    // multiplied by makes them slower than normal numbers.
    let still = |d: f32| unless_tiny(d, 1e-30);
    let (sums, z) = (&mut tile.negative[context], &mut tile.centers[context]);
    match summary {
        None => {
            for j in 0..TILE {
                let d = still(d_s[j]);
                let below = std::mem::replace(&mut sums.0[j], d);
                d_slope.0[j] = multiply_add::<FMA>(d, below, d_slope.0[j]);
            }
        }
        Some(s) => {
            for j in 0..TILE {
                let d = still(d_s[j] * (s[j] * (1.0 - s[j])));
                let below = std::mem::replace(&mut sums.0[j], d);
                d_slope.0[j] = multiply_add::<FMA>(d, below, d_slope.0[j]);
            }
        }
    }
    for j in 0..TILE {
        let d = still(d_h[j]);
        let below = below_zero(std::mem::replace(&mut z.0[j], d));
        d_slope.0[j] = multiply_add::<FMA>(d, below, d_slope.0[j]);
    }
}

#[inline(always)]
fn through(tile: &Tile, slope: &Lane, row: usize, context: usize, blend: impl Blend) -> Lane {
    let d = &tile.centers[context];
    let mut steep = *d;
    for j in 0..TILE {
        steep.0[j] *= slope.0[j];
    }
    kernels::choose(tile.signs[row], &steep, d, blend)
}

/// d_z of a piece's rows, by what their summaries send.
#[inline(always)]
fn members(
    plan: &Plan,
    tile: &Tile,
    piece: &Piece,
    slope: &Lane,
    d_z: &mut [Lane],
    d_bias: &mut Lane,
    blend: impl Blend,
) {
    for run in &plan.runs[piece.runs as usize..piece.runs_end as usize] {
        let (start, end) = (run.start as usize, run.end as usize);
        let d_z = &mut d_z[start - piece.start as usize..end - piece.start as usize];
        if run.context == NONE {
            d_z.fill(Lane::ZERO);
            continue;
        }
        let d_s = tile.negative[run.context as usize];
        let mut steep = d_s;
        for j in 0..TILE {
            steep.0[j] *= slope.0[j];
        }
        let mut sum = Lane::ZERO;
        let rows = tile.signs[start..end].iter().zip(&plan.weights[start..end]);
        for (d, (&signs, &weight)) in d_z.iter_mut().zip(rows) {
            let chosen = kernels::choose(signs, &steep, &d_s, blend);
            for j in 0..TILE {
                d.0[j] = weight * chosen.0[j];
                sum.0[j] += d.0[j];
            }
        }
        for j in 0..TILE {
            d_bias.0[j] += sum.0[j];
        }
    }
}

/// d_Y along symmetric arcs: each row draws, with its sum in registers. Sending
/// instead, which reads and writes every head, took 1.5 times as long in all.
#[inline(always)]
fn gather<const FMA: bool>(
    batch: &Batch<f32>,
    plan: &Plan,
    piece: &Piece,
    d_z: &[Lane],
    d_y: &mut [Lane],
) {
    for row in piece.start as usize..piece.end as usize {
        let to = &mut d_y[plan.units[row] as usize];
        let mut sum = *to;
        let (heads, weights) = batch.arcs.of(row);
        for (&head, &weight) in heads.iter().zip(weights) {
            kernels::add::<FMA>(&mut sum, weight, &d_z[(head - piece.start) as usize]);
        }
        *to = sum;
    }
}

/// d_Y along any arcs: each row sends inside its piece, then places go to units.
#[inline(always)]
fn scatter<const FMA: bool>(
    batch: &Batch<f32>,
    plan: &Plan,
    piece: &Piece,
    d_z: &[Lane],
    heads: &mut [Lane],
    d_y: &mut [Lane],
) {
    let rows = piece.start as usize..piece.end as usize;
    let heads = &mut heads[..rows.len()];
    heads.fill(Lane::ZERO);
    for (row, d) in rows.clone().zip(d_z) {
        let (to, weights) = batch.arcs.of(row);
        for (&head, &weight) in to.iter().zip(weights) {
            kernels::add::<FMA>(&mut heads[(head - piece.start) as usize], weight, d);
        }
    }
    for (row, d) in rows.zip(&*heads) {
        kernels::add::<FMA>(&mut d_y[plan.units[row] as usize], 1.0, d);
    }
}
