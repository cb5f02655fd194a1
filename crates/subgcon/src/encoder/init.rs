//! Where weights start: Xavier (Glorot), uniform.
//!
//! Every entry of a (rows, width) matrix is uniform in ±√(6 / (rows + width)). Each
//! matrix has a stream of its own, and numbers are drawn as `f64` and then
//! rounded: encoders of one seed agree in `f32` and `f64`, and the first layer
//! does not depend on how many follow.

use crate::math::{Matrix, Real};
use crate::rng::Stream;

/// What a slope starts at.
pub(super) const SLOPE: f64 = 0.25;

/// Matrices that a layer may draw; their streams are numbered by it.
const DRAWN: u64 = 4;

/// Draws the matrices of one layer.
pub(super) struct Draw {
    seed: u64,
    next: u64,
}

impl Draw {
    pub(super) fn of_layer(seed: u64, layer: usize) -> Draw {
        Draw { seed, next: layer as u64 * DRAWN }
    }

    pub(super) fn matrix<T: Real>(&mut self, rows: usize, width: usize) -> Matrix<T> {
        let mut stream = Stream::new(self.seed, "weights", self.next);
        self.next += 1;
        let bound = (6.0 / (rows + width) as f64).sqrt();
        let values = (0..rows * width).map(|_| T::of((2.0 * stream.unit() - 1.0) * bound));
        Matrix::of(rows, width, values.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fill_the_interval_that_glorot_gives() {
        let wide = Draw::of_layer(3, 0).matrix::<f64>(100, 50);
        let bound = (6.0f64 / 150.0).sqrt();
        let (low, high) = wide.values.iter().fold((0f64, 0f64), |(a, b), &x| (a.min(x), b.max(x)));
        assert!(low > -bound && low < -0.99 * bound && high < bound && high > 0.99 * bound);
        // A uniform number in ±b has variance b² / 3.
        let square = wide.values.iter().map(|x| x * x).sum::<f64>() / 5000.0;
        assert!((square / (bound * bound / 3.0) - 1.0).abs() < 0.05, "{square}");
        assert_eq!(Draw::of_layer(3, 0).matrix::<f32>(100, 50), wide.cast());
        assert_ne!(Draw::of_layer(3, 1).matrix::<f64>(100, 50), wide);
    }
}
