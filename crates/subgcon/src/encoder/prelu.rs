//! PReLU: x where x > 0, slope · x elsewhere, one slope a channel.
//!
//! Derivatives: by x it is 1 or the slope, by the slope 0 or x. Layers keep what they
//! put in, not what came out: with a slope that training made negative, what
//! went in could not be told from what came out.

use rayon::prelude::*;

use super::alone::for_rows;
use super::rows::{add, chunk};
use crate::math::{Matrix, Real};

/// out = PReLU(z), one row.
pub(super) fn row<T: Real>(z: &[T], slope: &[T], out: &mut [T]) {
    for ((out, &z), &slope) in out.iter_mut().zip(z).zip(slope) {
        *out = if z > T::ZERO { z } else { slope * z };
    }
}

/// z = PReLU(z + bias).
pub(super) fn in_place<T: Real>(z: &mut Matrix<T>, bias: &[T], slope: &[T]) {
    for_rows(z, |_, z| {
        for ((z, &bias), &slope) in z.iter_mut().zip(bias).zip(slope) {
            let before = *z + bias;
            *z = if before > T::ZERO { before } else { slope * before };
        }
    });
}

/// Rows that nobody wrote down: PReLU(z), made where they are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prelu<'a, T> {
    pub(crate) z: &'a Matrix<T>,
    pub(crate) slope: &'a [T],
}

impl<T: Real> Prelu<'_, T> {
    pub(crate) fn write(&self, at: u32, out: &mut [T]) {
        row(self.z.row(at as usize), self.slope, out);
    }

    /// out += factor · row.
    pub(crate) fn add(&self, at: u32, factor: T, out: &mut [T]) {
        let z = self.z.row(at as usize);
        for ((out, &z), &slope) in out.iter_mut().zip(z).zip(self.slope) {
            *out += factor * if z > T::ZERO { z } else { slope * z };
        }
    }
}

/// Backward, one row.
fn d_row<T: Real>(z: &[T], slope: &[T], d: &mut [T], d_bias: &mut [T], d_slope: &mut [T]) {
    // Three loops, not one: with so many slices at once the compiler gives up on vectors.
    for ((d_slope, &z), &d) in d_slope.iter_mut().zip(z).zip(&*d) {
        *d_slope += (if z > T::ZERO { T::ZERO } else { z }) * d;
    }
    for ((d, &z), &slope) in d.iter_mut().zip(z).zip(slope) {
        *d = (if z > T::ZERO { T::ONE } else { slope }) * *d;
    }
    for (d_bias, &d) in d_bias.iter_mut().zip(&*d) {
        *d_bias += d;
    }
}

/// out = PReLU(z).
pub(super) fn forward<T: Real>(z: &Matrix<T>, slope: &[T], out: &mut Matrix<T>) {
    let (width, size) = (z.width, chunk(z.width) * z.width);
    out.values.par_chunks_mut(size).zip(z.values.par_chunks(size)).for_each(|(out, z)| {
        out.chunks_exact_mut(width)
            .zip(z.chunks_exact(width))
            .for_each(|(out, z)| row(z, slope, out));
    });
}

/// z += bias, then out = PReLU(z).
pub(super) fn biased<T: Real>(z: &mut Matrix<T>, bias: &[T], slope: &[T], out: &mut Matrix<T>) {
    let (width, size) = (z.width, chunk(z.width) * z.width);
    out.values.par_chunks_mut(size).zip(z.values.par_chunks_mut(size)).for_each(|(out, z)| {
        for (out, z) in out.chunks_exact_mut(width).zip(z.chunks_exact_mut(width)) {
            add(z, bias);
            row(z, slope, out);
        }
    });
}

/// From the derivative by what comes out to that by z, in place: d · PReLU'(z). Adds to the
/// derivatives by the slopes and by a bias that was added just before.
pub(super) fn backward<T: Real>(
    z: &Matrix<T>,
    slope: &[T],
    d: &mut Matrix<T>,
    (d_bias, d_slope): (&mut [T], &mut [T]),
) {
    let (width, size) = (z.width, chunk(z.width) * z.width);
    let places = d.values.par_chunks_mut(size).zip(z.values.par_chunks(size));
    let parts: Vec<(Vec<T>, Vec<T>)> = places
        .map(|(d, z)| {
            let (mut d_bias, mut d_slope) = (vec![T::ZERO; width], vec![T::ZERO; width]);
            for (d, z) in d.chunks_exact_mut(width).zip(z.chunks_exact(width)) {
                d_row(z, slope, d, &mut d_bias, &mut d_slope);
            }
            (d_bias, d_slope)
        })
        .collect();
    for (bias, slope) in &parts {
        add(d_bias, bias);
        add(d_slope, slope);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let z = Matrix::of(2, 3, vec![1.0, -2.0, 0.0, -4.0, 3.0, -1.0]);
        let slope = [0.5, 0.25, -1.0];
        let mut out = Matrix::zeros(2, 3);
        forward(&z, &slope, &mut out);
        assert_eq!(out.values, [1.0, -0.5, 0.0, -2.0, 3.0, 1.0]);
        let mut d = Matrix::of(2, 3, vec![1.0, 10.0, 3.0, 2.0, 1.0, 5.0]);
        let (mut d_bias, mut d_slope) = ([1.0; 3], [0.0; 3]);
        backward(&z, &slope, &mut d, (&mut d_bias, &mut d_slope));
        assert_eq!(d.values, [1.0, 2.5, -3.0, 1.0, 1.0, -5.0]);
        assert_eq!(d_bias, [3.0, 4.5, -7.0]);
        assert_eq!(d_slope, [-8.0, -20.0, -5.0]);
    }
}
