//! How alike are directions, where they are nearly all the same?
//!
//! The cosine of rows x and y is u·v of u = x / |x| and v = y / |y|. With a column far from 0, such as a year, all
//! u are nearly their mean m, and products in f32 do not tell them apart. So
//!
//! ```text
//! u·v = d·e + m·d + m·e + m·m        d = u − m, e = v − m
//! ```
//!
//! where d·e alone, which is small where cosines are close, is a product in f32; m·d is found once for
//! each row in f64.

use crate::math::{Matrix, View};

/// Rows whose cosines are wanted.
pub(super) struct Directions<'a> {
    embeddings: &'a Matrix<f32>,
    /// m.
    mean: Vec<f64>,
    /// m·m.
    square: f64,
}

/// Some rows: d, and what else their cosines need.
pub(super) struct Gathered {
    differences: Matrix<f32>,
    pub(super) sides: Vec<Side>,
}

/// What a row gives to its cosines beside products.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side {
    /// m·d + m·m / 2.
    along: f64,
    /// 1 / |m + d|, but for the rounding of d that of 1; 0 for a row of zeros, which has no direction.
    scale: f64,
}

impl Side {
    /// The cosine of two rows with this product of differences.
    #[inline(always)]
    pub(super) fn cosine(&self, other: &Side, product: f32) -> f64 {
        (f64::from(product) + self.along + other.along) * (self.scale * other.scale)
    }
}

impl<'a> Directions<'a> {
    /// m is the mean direction of these nodes. Any m gives the same cosines but for rounding.
    pub(super) fn around_the_mean_of(embeddings: &'a Matrix<f32>, nodes: &[u32]) -> Directions<'a> {
        let mut mean = vec![0.0; embeddings.width];
        for &node in nodes {
            let row = embeddings.row(node as usize);
            if let Some(scale) = inverse(length(row)) {
                mean.iter_mut().zip(row).for_each(|(mean, &x)| *mean += f64::from(x) * scale);
            }
        }
        mean.iter_mut().for_each(|mean| *mean /= nodes.len().max(1) as f64);
        let square = mean.iter().map(|mean| mean * mean).sum();
        Directions { embeddings, mean, square }
    }

    /// The rows of some nodes.
    pub(super) fn of(&self, nodes: &[u32]) -> Gathered {
        let width = self.mean.len();
        let mut differences = Matrix::zeros(nodes.len(), width);
        let rows = differences.values.chunks_exact_mut(width).zip(nodes);
        let sides = rows.map(|(differences, &node)| {
            let row = self.embeddings.row(node as usize);
            let Some(scale) = inverse(length(row)) else { return Side { along: 0.0, scale: 0.0 } };
            let (mut along, mut own) = (0.0, 0.0);
            for ((difference, &x), mean) in differences.iter_mut().zip(row).zip(&self.mean) {
                *difference = (f64::from(x) * scale - mean) as f32;
                let rounded = f64::from(*difference);
                along += mean * rounded;
                own += rounded * rounded;
            }
            let squared = own + 2.0 * along + self.square;
            Side { along: along + self.square / 2.0, scale: 1.0 / squared.sqrt() }
        });
        let sides = sides.collect();
        Gathered { differences, sides }
    }
}

impl Gathered {
    /// d, (nodes, width).
    pub(super) fn view(&self) -> View<'_, f32> {
        self.differences.view()
    }
}

fn length(row: &[f32]) -> f64 {
    super::rows::length(row)
}

fn inverse(length: f64) -> Option<f64> {
    (length > 0.0).then(|| 1.0 / length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Write, gemm_slice};

    fn cosines(x: &Matrix<f32>) -> Vec<f64> {
        let nodes: Vec<u32> = (0..x.rows as u32).collect();
        let directions = Directions::around_the_mean_of(x, &nodes);
        let rows = directions.of(&nodes);
        let mut products = vec![0.0; x.rows * x.rows];
        gemm_slice(&mut products, x.rows, rows.view(), rows.view().transposed(), Write::Set);
        let both = (0..x.rows).flat_map(|a| (0..x.rows).map(move |b| (a, b)));
        both.zip(&products).map(|((a, b), &p)| rows.sides[a].cosine(&rows.sides[b], p)).collect()
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
        for (found, wanted) in cosines(&x).iter().zip(wanted.as_flattened()) {
            assert!((found - wanted).abs() < 1e-6, "{found} {wanted}");
        }
    }

    #[test]
    fn small_angles_far_from_zero_are_told_apart() {
        // 1 − cos of (10⁵, 0) and (10⁵, a) is a² / 2·10¹⁰ for small a, all of it below what f32 tells of 1.
        let x = Matrix::of(3, 2, vec![1e5, 0.0, 1e5, 1.0, 1e5, 3.0]);
        let found = cosines(&x);
        for (found, a) in [(found[1], 1.0), (found[2], 3.0), (found[5], 2.0)] {
            let (small, wanted) = (1.0 - found, a * a / 2e10);
            assert!((small / wanted - 1.0).abs() < 1e-3, "{small} {wanted}");
        }
    }
}
