//! How alike are directions, where they are nearly all the same?
//!
//! The cosine of rows x and y is that of u = x / |x| and v = y / |y|. Beside a column far from 0, such as a year, all
//! u are nearly their mean m, and all cosines nearly 1: products in f32 do not tell them apart. So
//!
//! ```text
//! cos − 1 = −|u − v|² / 2 = d·e − |d|² / 2 − |e|² / 2        d = u − m, e = v − m
//! ```
//!
//! where d·e alone is a product in f32, of rows as long as directions differ. Where they point to opposite
//! sides m is next to 0, and cosines are as close as f32 is.

use super::rows::length;
use crate::math::{Matrix, View};

/// Rows whose cosines are wanted.
pub(super) struct Directions<'a> {
    embeddings: &'a Matrix<f32>,
    /// m.
    mean: Vec<f64>,
}

/// Some rows: d, and what else their cosines need.
pub(super) struct Gathered {
    differences: Matrix<f32>,
    /// |d|² / 2; none of a row of zeros, which has no direction.
    pub(super) halves: Vec<Option<f64>>,
}

/// Directions that differ by less, squared and halved, are the same: a few times what rounding in f64 makes of one.
const SAME: f64 = 1e-30;

/// Of a cosine, less 1: rows with these halves and this product of differences. A row of zeros has the cosine 0
/// with every other.
#[inline(always)]
pub(super) fn cosine_less_one(half: Option<f64>, other: Option<f64>, product: f32) -> f64 {
    let (Some(half), Some(other)) = (half, other) else { return -1.0 };
    let less = f64::from(product) - half - other;
    if less > -SAME { 0.0 } else { less }
}

impl<'a> Directions<'a> {
    /// m is the mean direction of these nodes. Any m gives the same cosines but for rounding.
    pub(super) fn around_the_mean_of(embeddings: &'a Matrix<f32>, nodes: &[u32]) -> Directions<'a> {
        let (mut mean, mut count) = (vec![0.0; embeddings.width], 0.0);
        for &node in nodes {
            let row = embeddings.row(node as usize);
            let length = length(row);
            if length > 0.0 {
                mean.iter_mut().zip(row).for_each(|(mean, &x)| *mean += f64::from(x) / length);
                count += 1.0;
            }
        }
        mean.iter_mut().for_each(|mean| *mean /= f64::max(count, 1.0));
        Directions { embeddings, mean }
    }

    /// The rows of some nodes.
    pub(super) fn of(&self, nodes: &[u32]) -> Gathered {
        let width = self.mean.len();
        let mut differences = Matrix::zeros(nodes.len(), width);
        let rows = differences.values.chunks_exact_mut(width).zip(nodes);
        let half = |(differences, &node): (&mut [f32], &u32)| {
            let row = self.embeddings.row(node as usize);
            let length = length(row);
            if length == 0.0 {
                return None;
            }
            let mut squares = 0.0;
            for ((difference, &x), mean) in differences.iter_mut().zip(row).zip(&self.mean) {
                *difference = (f64::from(x) / length - mean) as f32;
                squares += f64::from(*difference).powi(2);
            }
            Some(squares / 2.0)
        };
        let halves = rows.map(half).collect();
        Gathered { differences, halves }
    }
}

impl Gathered {
    /// d, (nodes, width).
    pub(super) fn view(&self) -> View<'_, f32> {
        self.differences.view()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Write, gemm_slice};

    /// Of all pairs of rows, (rows, rows).
    fn all(x: &Matrix<f32>) -> Vec<f64> {
        let nodes: Vec<u32> = (0..x.rows as u32).collect();
        let directions = Directions::around_the_mean_of(x, &nodes);
        let rows = directions.of(&nodes);
        let mut products = vec![0.0; x.rows * x.rows];
        gemm_slice(&mut products, x.rows, rows.view(), rows.view().transposed(), Write::Set);
        let halves = |at: usize| (rows.halves[at / x.rows], rows.halves[at % x.rows]);
        let pairs = products.iter().enumerate().map(|(at, &product)| (halves(at), product));
        pairs.map(|((half, other), product)| cosine_less_one(half, other, product)).collect()
    }

    #[test]
    fn cosines_by_hand() {
        let x = Matrix::of(4, 2, vec![3.0, 4.0, -8.0, 6.0, 0.0, 0.0, 1e-30, 0.0]);
        let wanted = [
            [1.0, 0.0, 0.0, 0.6], //
            [0.0, 1.0, 0.0, -0.8],
            [0.0, 0.0, 0.0, 0.0],
            [0.6, -0.8, 0.0, 1.0],
        ];
        for (found, wanted) in all(&x).iter().zip(wanted.as_flattened()) {
            assert!((found + 1.0 - wanted).abs() < 1e-6, "{found} {wanted}");
        }
    }

    #[test]
    fn small_angles_far_from_zero_are_told_apart() {
        for far in [1e5f32, 1.7e9, 1e12] {
            // 1 − cos of (far, 0) and (far, a) is a² / 2 far² for small a, all of it below what f32 tells of 1;
            // for the larger two below what f64 does. A row of zeros says nothing of where the others point.
            let x = Matrix::of(4, 2, vec![far, 0.0, far, 1.0, far, 3.0, 0.0, 0.0]);
            let found = all(&x);
            for (found, a) in [(found[1], 1.0), (found[2], 3.0), (found[6], 2.0)] {
                let wanted = a * a / 2.0 / f64::from(far).powi(2);
                assert!((-found / wanted - 1.0).abs() < 1e-3, "{far}: {found} {wanted}");
            }
        }
    }

    #[test]
    fn rows_of_one_direction_are_equally_near() {
        let row = [0.3f32, -1.7, 0.9, 2.6, 0.1, -0.4, 1.1, 0.8];
        let x = (1..40).flat_map(|times| row.map(|x| x * 2f32.powi(times - 20)));
        let found = all(&Matrix::of(39, 8, x.collect()));
        assert!(found.iter().all(|&less| less == 0.0), "{found:?}");
        // Lengths that are no powers of two, in one column.
        let found = all(&Matrix::of(60, 1, (1..=60).map(|x| x as f32 / 7.0).collect()));
        assert!(found.iter().all(|&less| less == 0.0), "{found:?}");
    }
}
