//! Exponentials, many at a time: those of the contrast, and of the linear probe.

use super::narrow::multiply_add;
use super::simd::{Blend, Signs, Simd, Work};

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
        for x in lanes {
            for x in x {
                *x = exp::<FMA>(*x);
            }
        }
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

    #[test]
    fn exponentials_are_close_at_every_level() {
        let values: Vec<f32> = (0..=870_000).map(|at| -1e-4 * at as f32).collect();
        for level in Simd::ALL.into_iter().filter(|level| level.is_here()) {
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
