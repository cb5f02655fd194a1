//! The few loops that everything is made of; compiled for each level of
//! [`crate::math::Simd`], so all of them are `#[inline(always)]`.

use super::layout::{Lane, Moving, TILE};
use crate::batch::Inputs;
use crate::math::{Blend, Signs};
use crate::train::Adam;

/// Rows of a dense product that share what is read of the other operand. Six would
/// fit the registers of AVX-512, but not as the compiler lays them out: 1.3 times as
/// slow.
const TOGETHER: usize = 4;

/// a · b + c.
#[inline(always)]
pub(super) fn multiply_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// sum += factor · lane.
#[inline(always)]
pub(super) fn add<const FMA: bool>(sum: &mut Lane, factor: f32, lane: &Lane) {
    for j in 0..TILE {
        sum.0[j] = multiply_add::<FMA>(factor, lane.0[j], sum.0[j]);
    }
}

/// max(x, 0), or x where it is not a number.
#[inline(always)]
pub(super) fn above_zero(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

/// min(x, 0).
#[inline(always)]
pub(super) fn below_zero(x: f32) -> f32 {
    if x < 0.0 { x } else { 0.0 }
}

/// A bit for each number of a lane that is not above zero.
#[inline(always)]
pub(super) fn signs_of(lane: &Lane, signs: impl Signs) -> u64 {
    let (parts, _) = lane.0.as_chunks::<16>();
    parts.iter().rev().fold(0, |bits, part| bits << 16 | u64::from(signs(part)))
}

/// `negative` where the bit is set, `positive` elsewhere.
#[inline(always)]
pub(super) fn choose(bits: u64, negative: &Lane, positive: &Lane, blend: impl Blend) -> Lane {
    let mut chosen = Lane::ZERO;
    let (negative, _) = negative.0.as_chunks::<16>();
    let (positive, _) = positive.0.as_chunks::<16>();
    let (parts, _) = chosen.0.as_chunks_mut::<16>();
    for (at, part) in parts.iter_mut().enumerate() {
        *part = blend((bits >> (16 * at)) as u16, &positive[at], &negative[at]);
    }
    chosen
}

/// Which side of the inputs stands for rows of a product.
#[derive(Clone, Copy)]
pub(super) enum Side<'a> {
    /// X, (units, inputs).
    Units,
    /// Xᵀ, (inputs, units); where dense, it lies here.
    Inputs(&'a [f32]),
}

/// What becomes of a product's rows: they are written, or learnt from. A trait and no
/// closure, which cannot be made to be inlined.
pub(super) trait Sink {
    /// To be `#[inline(always)]`.
    fn put(&mut self, row: usize, sum: &Lane);
}

/// Rows are written.
pub(super) struct Into<'a>(pub(super) &'a mut [Lane]);

impl Sink for Into<'_> {
    #[inline(always)]
    fn put(&mut self, row: usize, sum: &Lane) {
        self.0[row] = *sum;
    }
}

/// Rows are gradients, by which parameters move at once.
pub(super) struct Learn<'a, const FMA: bool> {
    pub(super) adam: &'a Adam<f32>,
    pub(super) to: &'a mut Moving,
}

impl<const FMA: bool> Sink for Learn<'_, FMA> {
    /// As [`Adam::apply`]. What is too small to matter becomes zero: the moments of
    /// rows that no batch shows for long would shrink to numbers below the normal
    /// ones, with which a processor is many times slower, and stay there.
    #[inline(always)]
    fn put(&mut self, row: usize, gradient: &Lane) {
        let adam = self.adam;
        let (value, first) = (&mut self.to.value[row].0, &mut self.to.first[row].0);
        let second = &mut self.to.second[row].0;
        let (share1, share2) = (1.0 - adam.beta1, 1.0 - adam.beta2);
        for j in 0..TILE {
            let g = multiply_add::<FMA>(adam.weight_decay, value[j], gradient.0[j]);
            let g = unless_tiny(g, 1e-17);
            let m = multiply_add::<FMA>(adam.beta1, first[j], share1 * g);
            let m = unless_tiny(m, 1e-30);
            let v = multiply_add::<FMA>(adam.beta2, second[j], share2 * g * g);
            let v = unless_tiny(v, 1e-37);
            value[j] -=
                adam.rate * m / multiply_add::<FMA>(v.sqrt(), adam.correction, adam.epsilon);
            (first[j], second[j]) = (m, v);
        }
    }
}

/// Zero where |x| is below `least`.
#[inline(always)]
pub(super) fn unless_tiny(x: f32, least: f32) -> f32 {
    if x.abs() < least { 0.0 } else { x }
}

/// Hands every row of X · lanes, or of Xᵀ · lanes, to `sink`, in order.
#[inline(always)]
pub(super) fn product<const FMA: bool>(
    inputs: &Inputs<f32>,
    side: Side<'_>,
    lanes: &[Lane],
    sink: impl Sink,
) {
    match (inputs, side) {
        (Inputs::Sparse(x), Side::Units) => {
            sparse::<FMA>(&x.offsets, &x.columns, &x.values, lanes, sink);
        }
        (Inputs::Sparse(x), Side::Inputs(_)) => {
            sparse::<FMA>(&x.column_offsets, &x.units, &x.column_values, lanes, sink);
        }
        (Inputs::Dense(x), Side::Units) => dense::<FMA>(&x.values, x.rows, x.width, lanes, sink),
        (Inputs::Dense(x), Side::Inputs(t)) => dense::<FMA>(t, x.width, x.rows, lanes, sink),
    }
}

#[inline(always)]
fn sparse<const FMA: bool>(
    offsets: &[u32],
    places: &[u32],
    values: &[f32],
    lanes: &[Lane],
    mut sink: impl Sink,
) {
    // In the order given: by length, so that the processor foresees where a loop ends,
    // took 1.2 times as long, since it reads and writes all over the place.
    for (row, ends) in offsets.windows(2).enumerate() {
        let range = ends[0] as usize..ends[1] as usize;
        let mut sum = Lane::ZERO;
        for (&place, &value) in places[range.clone()].iter().zip(&values[range]) {
            add::<FMA>(&mut sum, value, &lanes[place as usize]);
        }
        sink.put(row, &sum);
    }
}

#[inline(always)]
fn dense<const FMA: bool>(
    x: &[f32],
    rows: usize,
    width: usize,
    lanes: &[Lane],
    mut sink: impl Sink,
) {
    assert_eq!((x.len(), lanes.len()), (rows * width, width), "shapes of a product");
    let whole = rows - rows % TOGETHER;
    for row in (0..whole).step_by(TOGETHER) {
        let sums = dense_rows::<FMA, TOGETHER>(&x[row * width..][..TOGETHER * width], lanes);
        for (at, sum) in sums.iter().enumerate() {
            sink.put(row + at, sum);
        }
    }
    for row in whole..rows {
        let [sum] = dense_rows::<FMA, 1>(&x[row * width..][..width], lanes);
        sink.put(row, &sum);
    }
}

#[inline(always)]
fn dense_rows<const FMA: bool, const ROWS: usize>(x: &[f32], lanes: &[Lane]) -> [Lane; ROWS] {
    let mut sums = [Lane::ZERO; ROWS];
    let rows: [&[f32]; ROWS] = std::array::from_fn(|row| &x[row * lanes.len()..][..lanes.len()]);
    for (at, lane) in lanes.iter().enumerate() {
        for row in 0..ROWS {
            add::<FMA>(&mut sums[row], rows[row][at], lane);
        }
    }
    sums
}

/// 1 / (1 + e⁻ˣ) within 2e-7, without a call: a loop over the library's `exp` stays
/// scalar. e⁻ˣ = 2ⁿ eʳ with n whole and |r| ≤ ln 2 / 2, eʳ by its Taylor series,
/// whose rest after the 7th power is below 6e-9.
#[inline(always)]
pub(super) fn sigmoid<const FMA: bool>(x: f32) -> f32 {
    // Adding 1.5 · 2²³ leaves the nearest whole number in the low bits.
    const WHOLE: f32 = 12_582_912.0;
    // ln 2 in two parts; the first has few enough bits that n times it is exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    let x = (-x).clamp(-87.0, 87.0);
    let shifted = multiply_add::<FMA>(x, std::f32::consts::LOG2_E, WHOLE);
    let n = shifted - WHOLE;
    let r = multiply_add::<FMA>(n, -LN_2[1], multiply_add::<FMA>(n, -LN_2[0], x));
    let mut e = 1.0 / 5040.0;
    for factor in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        e = multiply_add::<FMA>(e, r, factor);
    }
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(1.0f32.to_bits()));
    1.0 / (1.0 + e * power)
}
