//! Products of long rows with few others, and exponentials, for the linear probe.
//!
//! out(r, k) += x(r) · w(k), X (rows, width) and W (outputs, width) with a handful of outputs. A library's
//! product lays outputs side by side in a register, of which ten fill a little more than half, and packs
//! the long operand; here numbers of a row lie side by side, as they do in memory. R × O
//! sums stay in registers, and X is read once for every [`TOGETHER`] outputs. For 10,000 rows of 1,024
//! numbers it takes two thirds of the time of [`super::gemm`] with ten outputs and
//! a third with three; from 16 on that one is as fast.

use super::simd::{Blend, Signs, Simd, Work};

/// Outputs from which on a general product is as fast.
pub(crate) const FEW: usize = 16;

/// Outputs whose sums stay in registers together, at most.
const TOGETHER: usize = 4;

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
    // 16 of 32 registers of 16 numbers, or 8 of 16 of 8. With 20 the compiler ran out of them.
    match level {
        Simd::Avx512 => level.run(Scores::<4, 16> { x, w, outputs, out }),
        _ => level.run(Scores::<2, 8> { x, w, outputs, out }),
    }
}

/// R rows at a time, L numbers in a register.
struct Scores<'a, const R: usize, const L: usize> {
    x: &'a [f32],
    w: &'a [f32],
    outputs: usize,
    out: &'a mut [f32],
}

impl<const R: usize, const L: usize> Work for Scores<'_, R, L> {
    type Made = ();

    #[inline(always)]
    fn run<const FMA: bool>(mut self, _: impl Signs, _: impl Blend) {
        // Tiles of nearly the same size: 4, 3 and 3 for ten outputs.
        let mut start = 0;
        while start < self.outputs {
            let left = self.outputs - start;
            let count = left.div_ceil(left.div_ceil(TOGETHER));
            match count {
                1 => self.some::<FMA, 1>(start),
                2 => self.some::<FMA, 2>(start),
                3 => self.some::<FMA, 3>(start),
                _ => self.some::<FMA, TOGETHER>(start),
            }
            start += count;
        }
    }
}

impl<const R: usize, const L: usize> Scores<'_, R, L> {
    /// O outputs of all rows.
    #[inline(always)]
    fn some<const FMA: bool, const O: usize>(&mut self, start: usize) {
        let (x, w, outputs) = (self.x, self.w, self.outputs);
        let width = w.len() / outputs;
        let w: [&[f32]; O] = std::array::from_fn(|o| &w[(start + o) * width..][..width]);
        let row = |row: usize| &x[row * width..][..width];
        let rows = self.out.len() / outputs;
        let mut add = |row: usize, sums: &[f32; O]| {
            let out = &mut self.out[row * outputs + start..][..O];
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
        };
        let full = rows / R * R;
        for at in (0..full).step_by(R) {
            let sums = tile::<FMA, L, R, O>(std::array::from_fn(|r| row(at + r)), w);
            (at..).zip(&sums).for_each(|(row, sums)| add(row, sums));
        }
        for at in full..rows {
            let [sums] = tile::<FMA, L, 1, O>([row(at)], w);
            add(at, &sums);
        }
    }
}

/// Products of R rows with O others.
#[inline(always)]
fn tile<const FMA: bool, const L: usize, const R: usize, const O: usize>(
    x: [&[f32]; R],
    w: [&[f32]; O],
) -> [[f32; O]; R] {
    let whole = w[0].len() / L;
    let lanes = lanes::<FMA, L, R, O>(
        x.map(|x| &x.as_chunks::<L>().0[..whole]),
        w.map(|w| &w.as_chunks::<L>().0[..whole]),
        whole,
    );
    let mut sums = lanes.map(|lanes| lanes.map(added_up));
    if whole * L < w[0].len() {
        for (sums, x) in sums.iter_mut().zip(x) {
            for (sum, w) in sums.iter_mut().zip(w) {
                let rest = x[whole * L..].iter().zip(&w[whole * L..]);
                *sum += rest.fold(0.0, |sum, (&x, &w)| multiply_add::<FMA>(x, w, sum));
            }
        }
    }
    sums
}

/// The same, each sum in L parts. A function of its own, slices cut to one length first and numbers
/// of x read before sums are touched: otherwise the compiler keeps checks of bounds inside
/// and the sums in memory, three times slower.
#[inline(always)]
fn lanes<const FMA: bool, const L: usize, const R: usize, const O: usize>(
    x: [&[[f32; L]]; R],
    w: [&[[f32; L]]; O],
    whole: usize,
) -> [[[f32; L]; O]; R] {
    let (x, w) = (x.map(|x| &x[..whole]), w.map(|w| &w[..whole]));
    let mut lanes = [[[0f32; L]; O]; R];
    for k in 0..whole {
        let x: [[f32; L]; R] = std::array::from_fn(|r| x[r][k]);
        for o in 0..O {
            let w = w[o][k];
            for r in 0..R {
                for l in 0..L {
                    lanes[r][o][l] = multiply_add::<FMA>(x[r][l], w[l], lanes[r][o][l]);
                }
            }
        }
    }
    lanes
}

#[inline(always)]
fn multiply_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// In halves: L is a power of two.
#[inline(always)]
fn added_up<const L: usize>(mut lanes: [f32; L]) -> f32 {
    let mut half = L / 2;
    while half > 0 {
        for at in 0..half {
            lanes[at] += lanes[at + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// e to the power of every number, none of which is above 0, to two units in the last
/// place; 0 below -87, where the next smaller numbers are no longer normal. NaN stays.
pub(crate) fn exp_all(values: &mut [f32]) {
    exp_all_at(Simd::detect(), values);
}

fn exp_all_at(level: Simd, values: &mut [f32]) {
    level.run(Exponentials(values));
}

struct Exponentials<'a>(&'a mut [f32]);

impl Work for Exponentials<'_> {
    type Made = ();

    #[inline(always)]
    fn run<const FMA: bool>(self, _: impl Signs, _: impl Blend) {
        let (lanes, rest) = self.0.as_chunks_mut::<16>();
        lanes.iter_mut().for_each(|x| *x = std::array::from_fn(|l| exp::<FMA>(x[l])));
        rest.iter_mut().for_each(|x| *x = exp::<FMA>(*x));
    }
}

/// e^x = 2^n e^r with n the whole number next to x / ln 2, |r| ≤ ln 2 / 2, and e^r by Taylor's first
/// eight terms, whose ninth is below 6e-9.
#[inline(always)]
fn exp<const FMA: bool>(x: f32) -> f32 {
    const LEAST: f32 = -87.0;
    // Adding and subtracting it rounds to a whole number, which stands in its last bits.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts, the first of few enough digits that n times it is exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    const TERMS: [f32; 8] =
        [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];
    // Not `max`, which would take it for NaN.
    let kept = if x < LEAST { LEAST } else { x };
    let shifted = multiply_add::<FMA>(kept, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = multiply_add::<FMA>(n, -LN_2[1], multiply_add::<FMA>(n, -LN_2[0], kept));
    let mut sum = TERMS[0];
    for &term in &TERMS[1..] {
        sum = multiply_add::<FMA>(sum, r, term);
    }
    // The exponent of 2^n: n + 127, both in the last bits.
    let power =
        f32::from_bits((shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127)) << 23);
    if x < LEAST { 0.0 } else { sum * power }
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
        let shapes =
            (1..=16).flat_map(|outputs| widths.map(|width| (width % 8 + 1, width, outputs)));
        for (rows, width, outputs) in shapes.chain([(0, 3, 2), (23, 100, 10)]) {
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
    fn exponentials_are_close_at_every_level() {
        let values: Vec<f32> = (0..=870_000).map(|at| -1e-4 * at as f32).collect();
        for level in levels() {
            let mut found = values.clone();
            exp_all_at(level, &mut found);
            for (&x, &found) in values.iter().zip(&found) {
                let wanted = f64::from(x).exp();
                let far = (f64::from(found) - wanted).abs() / wanted;
                // At least one unit in the last place, at most two.
                assert!(far < f64::from(f32::EPSILON), "{level:?} {x}: {far}");
            }
            let mut odd = [0.0, -0.0, -1e-45, -87.5, -1000.0, f32::MIN, f32::NEG_INFINITY];
            exp_all_at(level, &mut odd);
            assert_eq!(odd, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0], "{level:?}");
            let mut none = [f32::NAN; 17];
            exp_all_at(level, &mut none);
            assert!(none.iter().all(|x| x.is_nan()), "{level:?}");
        }
    }
}
