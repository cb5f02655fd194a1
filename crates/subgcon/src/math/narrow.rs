//! Products of long rows with few others, for the linear probe.
//!
//! Scores out(r, k) += x(r) · w(k), and the way back, sums out(k, c) += Σ_r d(r, k) x(r, c), for X
//! (rows, width) and a handful of outputs k. A library's product lays outputs side by side in a register, of
//! which ten fill a little more than half, and packs the long operand; here numbers of a row lie
//! side by side, as they do in memory. From 16 outputs on a library's product is as fast.
//!
//! Compilers keep sums in registers only where loops are plain: what a loop reads is cut to one length
//! before it and copied before sums are touched, and lanes are added up in a function of their own, which is never
//! inlined. Otherwise shuffles of lanes move into the loop, and it takes four times as long.

use super::simd::{Blend, Signs, Simd, Work};

/// Outputs from which on a general product is as fast.
pub(crate) const FEW: usize = 16;

/// Rows are best multiplied in multiples of this many, as it is one of most tiles' rows (10, 6, 5
/// and 3).
pub(crate) const ROWS: usize = 30;

/// Columns whose sums stay in the first cache while rows go by: five outputs of 512 are 10 KB.
const COLUMNS: usize = 512;

/// out(r, k) += x(r) · w(k): `x` is (rows, width), `w` (outputs, width), `out` (rows, outputs).
pub(crate) fn add_scores(x: &[f32], w: &[f32], outputs: usize, out: &mut [f32]) {
    add_scores_at(Simd::detect(), x, w, outputs, out);
}

fn add_scores_at(level: Simd, x: &[f32], w: &[f32], outputs: usize, out: &mut [f32]) {
    if outputs == 0 || w.is_empty() || out.is_empty() {
        return;
    }
    let (width, rows) = (w.len() / outputs, out.len() / outputs);
    assert_eq!((w.len(), out.len()), (outputs * width, rows * outputs), "shapes of a product");
    assert_eq!(x.len(), rows * width, "a row of x for each of out's");
    let mut start = 0;
    for group in groups(level, outputs) {
        let part = Part { x, w, outputs, start, out };
        match (level, group) {
            (Simd::Baseline, 1) => level.run(Scores::<4, 10, 1>(part)),
            (Simd::Baseline, 2) => level.run(Scores::<4, 6, 2>(part)),
            (Simd::Baseline, 3) => level.run(Scores::<4, 4, 3>(part)),
            (Simd::Baseline, _) => level.run(Scores::<4, 3, 4>(part)),
            (Simd::Avx2, 1) => level.run(Scores::<8, 10, 1>(part)),
            (Simd::Avx2, 2) => level.run(Scores::<8, 6, 2>(part)),
            (Simd::Avx2, 3) => level.run(Scores::<8, 4, 3>(part)),
            (Simd::Avx2, _) => level.run(Scores::<8, 3, 4>(part)),
            (Simd::Avx512, 1) => level.run(Scores::<16, 10, 1>(part)),
            (Simd::Avx512, 2) => level.run(Scores::<16, 4, 2>(part)),
            (Simd::Avx512, 3) => level.run(Scores::<16, 3, 3>(part)),
            (Simd::Avx512, 4) => level.run(Scores::<16, 3, 4>(part)),
            (Simd::Avx512, _) => level.run(Scores::<16, 3, 5>(part)),
        }
        start += group;
    }
}

/// Outputs of each tile. With 32 registers five at most and much the same in each. With 16 all but the first
/// have four: that one waits for memory, while the others find rows in cache, and so it should have few
/// outputs and many rows, which are asked for side by side: 2, 4 and 4 of ten take four fifths of the time of
/// 5 and 5.
fn groups(level: Simd, outputs: usize) -> impl Iterator<Item = usize> {
    let most = if level == Simd::Avx512 { 5 } else { 4 };
    let count = outputs.div_ceil(most);
    (0..count).map(move |at| match level {
        Simd::Avx512 => outputs / count + usize::from(at < outputs % count),
        _ if at == 0 => outputs - (count - 1) * most,
        _ => most,
    })
}

/// What scores are made of; those of outputs from `start` on are.
struct Part<'a> {
    x: &'a [f32],
    w: &'a [f32],
    outputs: usize,
    start: usize,
    out: &'a mut [f32],
}

/// O outputs of all rows, R rows at a time and L numbers in a register: sums stay in twelve registers of 16, in
/// fifteen of 32 (the compiler keeps more than that in memory, which takes two to three times as long). Each is a
/// function of its own, as one function of all of them did not keep them there.
struct Scores<'a, const L: usize, const R: usize, const O: usize>(Part<'a>);

impl<const L: usize, const R: usize, const O: usize> Work for Scores<'_, L, R, O> {
    type Made = ();

    #[inline(always)]
    fn run<const FMA: bool>(mut self, _: impl Signs, _: impl Blend) {
        let Part { w, outputs, start, .. } = self.0;
        let width = w.len() / outputs;
        let whole = width / L;
        // Side by side, so that the loop below has one place to read them from.
        let mut space = vec![0.0; whole * O * L + LINE];
        let packed = from_a_line(&mut space).as_chunks_mut().0.as_chunks_mut().0;
        let packed = &mut packed[..whole];
        let mut rest = [&w[..0]; O];
        for o in 0..O {
            let w = &w[(start + o) * width..][..width];
            packed.iter_mut().zip(w.as_chunks().0).for_each(|(packed, w)| packed[o] = *w);
            rest[o] = &w[whole * L..];
        }
        let rows = self.0.out.len() / outputs;
        let full = rows / R * R;
        for row in (0..full).step_by(R) {
            self.tile::<FMA, R>(row, packed, rest);
        }
        for row in full..rows {
            self.tile::<FMA, 1>(row, packed, rest);
        }
    }
}

impl<const L: usize, const R: usize, const O: usize> Scores<'_, L, R, O> {
    /// Products of some rows with O others.
    #[inline(always)]
    fn tile<const FMA: bool, const S: usize>(
        &mut self,
        row: usize,
        packed: &[[[f32; L]; O]],
        rest: [&[f32]; O],
    ) {
        let Part { x: rows, w, outputs, start, out } = &mut self.0;
        let (whole, width) = (packed.len(), w.len() / *outputs);
        let mut x = [&[[0f32; L]][..0]; S];
        for s in 0..S {
            x[s] = rows[(row + s) * width..][..width].as_chunks().0;
        }
        let lanes = lanes::<FMA, L, S, O>(x, packed);
        let mut x_rest = [&rows[..0]; S];
        for s in 0..S {
            x_rest[s] = &rows[(row + s) * width..][..width][whole * L..];
        }
        add_up(&lanes, x_rest, rest, &mut out[row * *outputs + *start..], *outputs);
    }
}

/// Numbers of a cache line.
const LINE: usize = 16;

/// From where a cache line begins, [`LINE`] numbers in at the most: registers that lie across two take longer.
fn from_a_line(space: &mut [f32]) -> &mut [f32] {
    let skip = space.as_ptr().align_offset(size_of::<[f32; LINE]>());
    &mut space[skip.min(LINE)..]
}

/// Products of R rows with O others, each sum in L parts.
#[inline(always)]
fn lanes<const FMA: bool, const L: usize, const R: usize, const O: usize>(
    x: [&[[f32; L]]; R],
    w: &[[[f32; L]; O]],
) -> [[[f32; L]; O]; R] {
    let mut cut = x;
    for r in 0..R {
        cut[r] = &x[r][..w.len()];
    }
    let mut lanes = [[[0f32; L]; O]; R];
    for (k, w) in w.iter().enumerate() {
        let mut x = [[0f32; L]; R];
        for r in 0..R {
            x[r] = cut[r][k];
        }
        for o in 0..O {
            for r in 0..R {
                for l in 0..L {
                    lanes[r][o][l] = multiply_add::<FMA>(x[r][l], w[o][l], lanes[r][o][l]);
                }
            }
        }
    }
    lanes
}

/// Adds the parts of every sum and the products of columns that fill no register.
#[inline(never)]
fn add_up<const L: usize, const R: usize, const O: usize>(
    lanes: &[[[f32; L]; O]; R],
    x: [&[f32]; R],
    w: [&[f32]; O],
    out: &mut [f32],
    outputs: usize,
) {
    for r in 0..R {
        for o in 0..O {
            let rest: f32 = x[r].iter().zip(w[o]).map(|(x, w)| x * w).sum();
            out[r * outputs + o] += in_halves(lanes[r][o]) + rest;
        }
    }
}

/// L is a power of two.
#[inline(always)]
fn in_halves<const L: usize>(mut lanes: [f32; L]) -> f32 {
    let mut half = L / 2;
    while half > 0 {
        for at in 0..half {
            lanes[at] += lanes[at + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// out(k, c) += Σ_r d(r, k) x(r, c): `x` is (rows, width), `d` (rows, outputs), `out` (outputs, width).
pub(crate) fn add_sums(x: &[f32], d: &[f32], outputs: usize, out: &mut [f32]) {
    add_sums_at(Simd::detect(), x, d, outputs, out);
}

fn add_sums_at(level: Simd, x: &[f32], d: &[f32], outputs: usize, out: &mut [f32]) {
    if outputs == 0 || d.is_empty() || out.is_empty() {
        return;
    }
    let (width, rows) = (out.len() / outputs, d.len() / outputs);
    assert_eq!((out.len(), d.len()), (outputs * width, rows * outputs), "shapes of a product");
    assert_eq!(x.len(), rows * width, "a row of x for each of d's");
    let mut start = 0;
    for group in groups(level, outputs) {
        let out = &mut out[start * width..][..group * width];
        let part = Back { x, d, outputs, start, out };
        match (level, group) {
            (Simd::Baseline, 1) => level.run(Sums::<4, 5, 1>(part)),
            (Simd::Baseline, 2) => level.run(Sums::<4, 5, 2>(part)),
            (Simd::Baseline, 3) => level.run(Sums::<4, 3, 3>(part)),
            (Simd::Baseline, _) => level.run(Sums::<4, 2, 4>(part)),
            (Simd::Avx2, 1) => level.run(Sums::<8, 5, 1>(part)),
            (Simd::Avx2, 2) => level.run(Sums::<8, 5, 2>(part)),
            (Simd::Avx2, 3) => level.run(Sums::<8, 3, 3>(part)),
            (Simd::Avx2, _) => level.run(Sums::<8, 2, 4>(part)),
            // Of one output and 16 lanes the compiler makes shuffles: it takes five times as long.
            (Simd::Avx512, 1) => level.run(Sums::<8, 5, 1>(part)),
            (Simd::Avx512, 2) => level.run(Sums::<16, 5, 2>(part)),
            (Simd::Avx512, 3) => level.run(Sums::<16, 4, 3>(part)),
            (Simd::Avx512, 4) => level.run(Sums::<16, 5, 4>(part)),
            (Simd::Avx512, _) => level.run(Sums::<16, 5, 5>(part)),
        }
        start += group;
    }
}

/// What sums are made of: `d` has those of all outputs, `out` is that of the ones from `start` on.
struct Back<'a> {
    x: &'a [f32],
    d: &'a [f32],
    outputs: usize,
    start: usize,
    out: &'a mut [f32],
}

/// L numbers in a register; R rows pass by sums of O outputs at a time, which are read and written once for
/// as many products, with their factors in registers where those suffice. Sums in registers, for 16
/// columns and five outputs with all rows passing by, took a third longer: rows of 1,024 columns
/// are 4 KB apart, and all of them fall into one place of the first cache.
struct Sums<'a, const L: usize, const R: usize, const O: usize>(Back<'a>);

impl<const L: usize, const R: usize, const O: usize> Work for Sums<'_, L, R, O> {
    type Made = ();

    #[inline(always)]
    fn run<const FMA: bool>(mut self, _: impl Signs, _: impl Blend) {
        let (width, rows) = (self.0.out.len() / O, self.0.d.len() / self.0.outputs);
        if width < L {
            return self.narrower();
        }
        let mut space = vec![0.0; O * width.min(COLUMNS).next_multiple_of(L) + LINE];
        let space = from_a_line(&mut space).as_chunks_mut().0;
        // Columns that fill no register are the last of one that begins before them: its other columns
        // are summed up again, but not added again.
        let whole = width / L * L;
        let tiles = (0..whole).step_by(COLUMNS).map(|start| (start, (start + COLUMNS).min(whole)));
        for (start, end) in tiles.chain((whole < width).then_some((whole, width))) {
            let chunks = (end - start).div_ceil(L);
            let first = end - chunks * L;
            let sums = &mut space[..O * chunks];
            sums.fill([0.0; L]);
            let full = rows / R * R;
            for row in (0..full).step_by(R) {
                self.some_rows::<FMA, R>(row, first, sums);
            }
            for row in full..rows {
                self.some_rows::<FMA, 1>(row, first, sums);
            }
            for (out, sums) in self.0.out.chunks_exact_mut(width).zip(sums.chunks_exact(chunks)) {
                let sums = &sums.as_flattened()[start - first..];
                out[start..end].iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
            }
        }
    }
}

impl<const L: usize, const R: usize, const O: usize> Sums<'_, L, R, O> {
    /// Adds products of S rows to sums (outputs, chunks of columns from `first` on).
    #[inline(always)]
    fn some_rows<const FMA: bool, const S: usize>(
        &self,
        row: usize,
        first: usize,
        sums: &mut [[f32; L]],
    ) {
        let Back { x: rows, d, outputs, start, out } = &self.0;
        let (width, chunks) = (out.len() / O, sums.len() / O);
        let mut x = [&[[0f32; L]][..0]; S];
        let mut factors = [[0.0; O]; S];
        for s in 0..S {
            x[s] = rows[(row + s) * width + first..][..chunks * L].as_chunks().0;
            factors[s].copy_from_slice(&d[(row + s) * outputs + start..][..O]);
        }
        add_products::<FMA, L, S, O>(x, factors, sums);
    }

    /// Rows that fill no register.
    #[inline(never)]
    fn narrower(&mut self) {
        let Back { x, d, outputs, start, out } = &mut self.0;
        let width = out.len() / O;
        for (x, d) in x.chunks_exact(width).zip(d.chunks_exact(*outputs)) {
            for (out, d) in out.chunks_exact_mut(width).zip(&d[*start..]) {
                out.iter_mut().zip(x).for_each(|(out, x)| *out += d * x);
            }
        }
    }
}

/// sums(o) += Σ_r d(r, o) x(r), row by row: sums of many outputs grow side by side, while each waits for its own
/// last product.
#[inline(always)]
fn add_products<const FMA: bool, const L: usize, const R: usize, const O: usize>(
    x: [&[[f32; L]]; R],
    d: [[f32; O]; R],
    sums: &mut [[f32; L]],
) {
    let chunks = sums.len() / O;
    let mut cut = x;
    for r in 0..R {
        cut[r] = &x[r][..chunks];
    }
    for k in 0..chunks {
        let mut x = [[0f32; L]; R];
        for r in 0..R {
            x[r] = cut[r][k];
        }
        let mut these = [[0f32; L]; O];
        for o in 0..O {
            these[o] = sums[o * chunks + k];
        }
        for r in 0..R {
            for o in 0..O {
                for l in 0..L {
                    these[o][l] = multiply_add::<FMA>(x[r][l], d[r][o], these[o][l]);
                }
            }
        }
        for o in 0..O {
            sums[o * chunks + k] = these[o];
        }
    }
}

#[inline(always)]
pub(super) fn multiply_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn levels() -> impl Iterator<Item = Simd> {
        Simd::ALL.into_iter().filter(|level| level.is_here())
    }

    #[test]
    fn scores_are_sums_of_products_at_every_level() {
        let mut stream = Stream::new(1, "scores", 0);
        let mut random =
            |count: usize| -> Vec<f32> { (0..count).map(|_| stream.normal() as f32).collect() };
        let widths = [1, 7, 8, 9, 15, 16, 17, 37];
        // Rows for every kind of tile, of one output to five.
        let tall = [(0, 3, 2), (23, 100, 10), (61, 20, 3), (31, 100, 1), (23, 37, 5), (40, 33, 9)];
        let shapes =
            (1..=16).flat_map(|outputs| widths.map(|width| (width % 8 + 1, width, outputs)));
        for (rows, width, outputs) in shapes.chain(tall) {
            let (x, w, before) =
                (random(rows * width), random(outputs * width), random(rows * outputs));
            for level in levels() {
                let mut out = before.clone();
                add_scores_at(level, &x, &w, outputs, &mut out);
                for r in 0..rows {
                    for k in 0..outputs {
                        let terms = (0..width)
                            .map(|c| f64::from(x[r * width + c]) * f64::from(w[k * width + c]));
                        let wanted = f64::from(before[r * outputs + k]) + terms.sum::<f64>();
                        let far = (f64::from(out[r * outputs + k]) - wanted).abs();
                        assert!(far < 1e-4, "{level:?} {rows} {width} {outputs}: {far}");
                    }
                }
            }
        }
        // Nothing to add.
        let mut out = vec![1.5; 6];
        add_scores(&[], &[], 2, &mut out);
        assert_eq!(out, [1.5; 6]);
    }

    #[test]
    fn sums_are_sums_of_products_at_every_level() {
        let mut stream = Stream::new(2, "sums", 0);
        let mut random =
            |count: usize| -> Vec<f32> { (0..count).map(|_| stream.normal() as f32).collect() };
        let widths = [1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 37];
        let shapes = (1..=16)
            .flat_map(|outputs| widths.map(|width| ((width + outputs) % 12, width, outputs)));
        let wide = [(23, 511, 10), (10, 512, 3), (7, 513, 7), (11, 700, 2), (12, 1100, 11)];
        for (rows, width, outputs) in shapes.chain(wide) {
            let (x, d, before) =
                (random(rows * width), random(rows * outputs), random(outputs * width));
            for level in levels() {
                let mut out = before.clone();
                add_sums_at(level, &x, &d, outputs, &mut out);
                for k in 0..outputs {
                    for c in 0..width {
                        let terms = (0..rows)
                            .map(|r| f64::from(d[r * outputs + k]) * f64::from(x[r * width + c]));
                        let wanted = f64::from(before[k * width + c]) + terms.sum::<f64>();
                        let far = (f64::from(out[k * width + c]) - wanted).abs();
                        assert!(far < 1e-4, "{level:?} {rows} {width} {outputs}: {far}");
                    }
                }
            }
        }
        // Nothing to add to.
        add_sums(&[], &[1.0; 6], 2, &mut []);
    }
}
