//! PReLU: x where x > 0, slope · x elsewhere, one slope a channel.
//!
//! Derivatives: by x it is 1 or the slope, by the slope 0 or x. Layers keep what they
//! put in, not what came out: with a slope that training made negative, what
//! went in could not be told from what came out.

use rayon::prelude::*;

use super::rows::{add, chunk};
use crate::math::{Matrix, Real};

/// out = PReLU(z), one row.
pub(super) fn row<T: Real>(z: &[T], slope: &[T], out: &mut [T]) {
    for ((out, &z), &slope) in out.iter_mut().zip(z).zip(slope) {
        *out = if z > T::ZERO { z } else { slope * z };
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

/// d_z = d_out · PReLU'(z); adds to the derivatives by the slopes and by a bias that
/// was added just before.
pub(super) fn backward<T: Real>(
    z: &Matrix<T>,
    slope: &[T],
    d_out: &Matrix<T>,
    d_z: &mut Matrix<T>,
    (d_bias, d_slope): (&mut [T], &mut [T]),
) {
    let (width, size) = (z.width, chunk(z.width) * z.width);
    let places = d_z.values.par_chunks_mut(size).zip(z.values.par_chunks(size));
    let parts: Vec<(Vec<T>, Vec<T>)> = places
        .zip(d_out.values.par_chunks(size))
        .map(|((d_z, z), d_out)| {
            let (mut d_bias, mut d_slope) = (vec![T::ZERO; width], vec![T::ZERO; width]);
            let rows = d_z.chunks_exact_mut(width).zip(z.chunks_exact(width));
            for ((d_z, z), d_out) in rows.zip(d_out.chunks_exact(width)) {
                // Three loops, not one: with so many slices at once the compiler gives up
                // on vectors.
                for (((d_z, &z), &d), &slope) in d_z.iter_mut().zip(z).zip(d_out).zip(slope) {
                    *d_z = (if z > T::ZERO { T::ONE } else { slope }) * d;
                }
                for ((d_slope, &z), &d) in d_slope.iter_mut().zip(z).zip(d_out) {
                    *d_slope += (if z > T::ZERO { T::ZERO } else { z }) * d;
                }
                add(&mut d_bias, d_z);
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
        let d_out = Matrix::of(2, 3, vec![1.0, 10.0, 3.0, 2.0, 1.0, 5.0]);
        let (mut d_z, mut d_bias, mut d_slope) = (Matrix::zeros(2, 3), [1.0; 3], [0.0; 3]);
        backward(&z, &slope, &d_out, &mut d_z, (&mut d_bias, &mut d_slope));
        assert_eq!(d_z.values, [1.0, 2.5, -3.0, 1.0, 1.0, -5.0]);
        assert_eq!(d_bias, [3.0, 4.5, -7.0]);
        assert_eq!(d_slope, [-8.0, -20.0, -5.0]);
    }
}
