//! The numbers that kernels calculate with.

use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::{Element, exponentials};

/// `f32`, which everything runs in, and `f64`, in which the same code is checked
/// against central differences.
pub trait Real:
    Element
    + Debug
    + Default
    + PartialOrd
    + Sum
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The nearest to a wide number.
    fn of(x: f64) -> Self;
    /// As a wide number.
    fn wide(self) -> f64;
    /// eˣ.
    fn exp(self) -> Self;
    /// eˣ of every number, none of which is above 0; NaN stays.
    fn exp_all(values: &mut [Self]);
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// ln(1 + x).
    fn ln_1p(self) -> Self;
    /// √x.
    fn sqrt(self) -> Self;
    /// |x|.
    fn abs(self) -> Self;
    /// The larger of two.
    fn max(self, other: Self) -> Self;
    /// Neither infinite nor not a number.
    fn is_finite(self) -> bool;
    /// self · a + b, rounded once. Slow where the processor has no such operation.
    fn mul_add(self, a: Self, b: Self) -> Self;

    /// 1 / (1 + e⁻ˣ), without overflow.
    fn sigmoid(self) -> Self {
        if self >= Self::ZERO {
            Self::ONE / (Self::ONE + (-self).exp())
        } else {
            let e = self.exp();
            e / (Self::ONE + e)
        }
    }

    /// ln(1 + eˣ) = −ln σ(−x), without overflow.
    fn softplus(self) -> Self {
        self.max(Self::ZERO) + (-self.abs()).exp().ln_1p()
    }
}

macro_rules! real {
    ($t:ty, $exp_all:expr) => {
        impl Real for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            fn of(x: f64) -> $t {
                x as $t
            }
            fn wide(self) -> f64 {
                f64::from(self)
            }
            fn exp(self) -> $t {
                <$t>::exp(self)
            }
            fn exp_all(values: &mut [$t]) {
                $exp_all(values);
            }
            fn ln(self) -> $t {
                <$t>::ln(self)
            }
            fn ln_1p(self) -> $t {
                <$t>::ln_1p(self)
            }
            fn sqrt(self) -> $t {
                <$t>::sqrt(self)
            }
            fn abs(self) -> $t {
                <$t>::abs(self)
            }
            fn max(self, other: $t) -> $t {
                <$t>::max(self, other)
            }
            fn is_finite(self) -> bool {
                <$t>::is_finite(self)
            }
            #[inline(always)]
            fn mul_add(self, a: $t, b: $t) -> $t {
                <$t>::mul_add(self, a, b)
            }
        }
    };
}

real!(f32, exponentials::exp_all);
real!(f64, |values: &mut [f64]| values.iter_mut().for_each(|x| *x = x.exp()));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_stable_at_both_ends() {
        assert_eq!(Real::sigmoid(-1000f32), 0.0);
        assert_eq!(Real::sigmoid(1000f32), 1.0);
        assert_eq!(Real::sigmoid(0f64), 0.5);
        assert_eq!(Real::softplus(1000f32), 1000.0);
        assert_eq!(Real::softplus(-1000f32), 0.0);
        assert!((Real::softplus(0f64) - 2f64.ln()).abs() < 1e-15);
        // By hand: σ(1) = e / (1 + e).
        let e = 1f64.exp();
        assert!((Real::sigmoid(1f64) - e / (1.0 + e)).abs() < 1e-15);
    }
}
