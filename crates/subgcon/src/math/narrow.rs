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

/// Outputs of a score's tile at most.
const TOGETHER: usize = 4;

/// Rows of a sum's tile. With four the compiler made shuffles of it.
const SUMMED: usize = 5;

/// Columns whose sums stay in the first cache while rows go by: ten outputs of 256 are 10 KB.
const COLUMNS: usize = 256;

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
    match level {
        Simd::Baseline => level.run(Scores::<4> { x, w, outputs, out }),
        Simd::Avx2 => level.run(Scores::<8> { x, w, outputs, out }),
        Simd::Avx512 => level.run(Scores::<16> { x, w, outputs, out }),
    }
}

/// L numbers in a register.
struct Scores<'a, const L: usize> {
    x: &'a [f32],
    w: &'a [f32],
    outputs: usize,
    out: &'a mut [f32],
}

impl<const L: usize> Work for Scores<'_, L> {
    type Made = ();

    /// Twelve sums stay in registers, of which there are 16 or 32. The first tile waits for
    /// memory, the others find rows in cache: so it has the few outputs that are
    /// left over, and many rows, which are asked for side by side. 2, 4 and 4 of ten
    /// outputs take four fifths of the time of 5 and 5.
    #[inline(always)]
    fn run<const FMA: bool>(mut self, _: impl Signs, _: impl Blend) {
        let first = self.outputs % TOGETHER;
        match first {
            1 => self.some::<FMA, 10, 1>(0),
            2 => self.some::<FMA, 6, 2>(0),
            3 => self.some::<FMA, 4, 3>(0),
            _ => {}
        }
        for start in (first..self.outputs).step_by(TOGETHER) {
            self.some::<FMA, 3, TOGETHER>(start);
        }
    }
}

impl<const L: usize> Scores<'_, L> {
    /// O outputs of all rows, R rows at a time.
    #[inline(always)]
    fn some<const FMA: bool, const R: usize, const O: usize>(&mut self, start: usize) {
        let (w, outputs) = (self.w, self.outputs);
        let width = w.len() / outputs;
        let whole = width / L;
        // Side by side, so that the loop below has one place to read them from.
        let mut packed = vec![[[0f32; L]; O]; whole];
        let mut rest = [&w[..0]; O];
        for o in 0..O {
            let w = &w[(start + o) * width..][..width];
            packed.iter_mut().zip(w.as_chunks().0).for_each(|(packed, w)| packed[o] = *w);
            rest[o] = &w[whole * L..];
        }
        let rows = self.out.len() / outputs;
        let full = rows / R * R;
        for row in (0..full).step_by(R) {
            self.tile::<FMA, R, O>(row, start, &packed, rest);
        }
        for row in full..rows {
            self.tile::<FMA, 1, O>(row, start, &packed, rest);
        }
    }

    /// Products of R rows with O others.
    #[inline(always)]
    fn tile<const FMA: bool, const R: usize, const O: usize>(
        &mut self,
        row: usize,
        start: usize,
        packed: &[[[f32; L]; O]],
        rest: [&[f32]; O],
    ) {
        let (whole, width) = (packed.len(), self.w.len() / self.outputs);
        let (mut x, mut x_rest) = ([&[[0f32; L]][..0]; R], [&self.x[..0]; R]);
        for r in 0..R {
            let row = &self.x[(row + r) * width..][..width];
            x[r] = &row.as_chunks().0[..whole];
            x_rest[r] = &row[whole * L..];
        }
        let lanes = lanes::<FMA, L, R, O>(x, packed);
        let out = &mut self.out[row * self.outputs + start..];
        add_up(&lanes, x_rest, rest, out, self.outputs);
    }
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
    match level {
        Simd::Baseline => level.run(Sums::<4> { x, d, outputs, out }),
        Simd::Avx2 => level.run(Sums::<8> { x, d, outputs, out }),
        Simd::Avx512 => level.run(Sums::<16> { x, d, outputs, out }),
    }
}

/// L numbers in a register.
struct Sums<'a, const L: usize> {
    x: &'a [f32],
    d: &'a [f32],
    outputs: usize,
    out: &'a mut [f32],
}

impl<const L: usize> Work for Sums<'_, L> {
    type Made = ();

    /// Factors stay in registers, and [`SUMMED`] rows pass by them: sums are read and written once for as
    /// many products. Sums in registers, for 16 columns and five outputs with all rows passing by, took a
    /// third longer: rows of 1,024 columns
    /// are 4 KB apart, and all of them fall into one place of the first cache.
    #[inline(always)]
    fn run<const FMA: bool>(mut self, _: impl Signs, _: impl Blend) {
        let (outputs, width) = (self.outputs, self.out.len() / self.outputs);
        if width < L {
            return self.narrower();
        }
        let rows = self.d.len() / outputs;
        let full = rows / SUMMED * SUMMED;
        let mut space = vec![[0f32; L]; outputs * width.min(COLUMNS).div_ceil(L)];
        // Columns that fill no register are the last of one that begins before them: its other columns
        // are summed up again, but not added again.
        let whole = width / L * L;
        let tiles = (0..whole).step_by(COLUMNS).map(|start| (start, (start + COLUMNS).min(whole)));
        for (start, end) in tiles.chain((whole < width).then_some((whole, width))) {
            let chunks = (end - start).div_ceil(L);
            let first = end - chunks * L;
            let sums = &mut space[..outputs * chunks];
            sums.fill([0.0; L]);
            for row in (0..full).step_by(SUMMED) {
                self.some_rows::<FMA, SUMMED>(row, first, sums);
            }
            for row in full..rows {
                self.some_rows::<FMA, 1>(row, first, sums);
            }
            for (out, sums) in self.out.chunks_exact_mut(width).zip(sums.chunks_exact(chunks)) {
                let sums = &sums.as_flattened()[start - first..];
                out[start..end].iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
            }
        }
    }
}

impl<const L: usize> Sums<'_, L> {
    /// Adds products of R rows to sums (outputs, chunks of columns from `first` on).
    #[inline(always)]
    fn some_rows<const FMA: bool, const R: usize>(
        &self,
        row: usize,
        first: usize,
        sums: &mut [[f32; L]],
    ) {
        let (outputs, width) = (self.outputs, self.out.len() / self.outputs);
        let chunks = sums.len() / outputs;
        let mut x = [&[[0f32; L]][..0]; R];
        for (r, x) in x.iter_mut().enumerate() {
            *x = self.x[(row + r) * width + first..][..chunks * L].as_chunks().0;
        }
        let d = &self.d[row * outputs..][..R * outputs];
        for (pair, sums) in sums.chunks_mut(2 * chunks).enumerate() {
            let (one, other) = sums.split_at_mut(chunks);
            match other.is_empty() {
                false => add_products::<FMA, L, R, 2>(x, factors(d, 2 * pair), [one, other]),
                true => add_products::<FMA, L, R, 1>(x, factors(d, 2 * pair), [one]),
            }
        }
    }

    /// Rows that fill no register.
    #[inline(never)]
    fn narrower(&mut self) {
        let width = self.out.len() / self.outputs;
        for (x, d) in self.x.chunks_exact(width).zip(self.d.chunks_exact(self.outputs)) {
            for (out, d) in self.out.chunks_exact_mut(width).zip(d) {
                out.iter_mut().zip(x).for_each(|(out, x)| *out += d * x);
            }
        }
    }
}

/// O numbers of each of R rows.
#[inline(always)]
fn factors<const R: usize, const O: usize>(d: &[f32], start: usize) -> [[f32; O]; R] {
    let mut factors = [[0.0; O]; R];
    let outputs = d.len() / R;
    for r in 0..R {
        factors[r].copy_from_slice(&d[r * outputs + start..][..O]);
    }
    factors
}

/// sums(o) += Σ_r d(r, o) x(r).
#[inline(always)]
fn add_products<const FMA: bool, const L: usize, const R: usize, const O: usize>(
    x: [&[[f32; L]]; R],
    d: [[f32; O]; R],
    mut sums: [&mut [[f32; L]]; O],
) {
    let chunks = sums[0].len();
    let mut cut = x;
    for r in 0..R {
        cut[r] = &x[r][..chunks];
    }
    for sums in &mut sums {
        *sums = &mut std::mem::take(sums)[..chunks];
    }
    for k in 0..chunks {
        let mut x = [[0f32; L]; R];
        for r in 0..R {
            x[r] = cut[r][k];
        }
        for o in 0..O {
            let mut sum = sums[o][k];
            for r in 0..R {
                for l in 0..L {
                    sum[l] = multiply_add::<FMA>(x[r][l], d[r][o], sum[l]);
                }
            }
            sums[o][k] = sum;
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
        // Rows for every kind of tile: ten of one output, six of two, four of three, three of four.
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
        let wide = [(23, 255, 10), (10, 256, 3), (7, 257, 7), (11, 700, 2)];
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
