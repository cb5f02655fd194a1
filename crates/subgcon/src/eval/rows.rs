//! How do embeddings become rows that are fitted?
//!
//! Rows of chosen nodes, each divided by its length if asked, then each column less its
//! mean and over its standard deviation if asked; both from the training nodes alone,
//! so that nothing of the others leaks into a fit. As scikit-learn's `Normalizer` and
//! `StandardScaler`: a row of zeros stays one, a constant column is only shifted.

use crate::math::Matrix;

/// What is done to rows before they are fitted.
#[derive(Debug, Clone)]
pub(super) struct Rows<'a> {
    embeddings: &'a Matrix<f32>,
    normalise: bool,
    /// (mean, 1 / deviation) of each column; empty where columns stay as they are.
    columns: Vec<(f64, f64)>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(
        embeddings: &'a Matrix<f32>,
        train: &[u32],
        normalise: bool,
        standardise: bool,
    ) -> Rows<'a> {
        let mut rows = Rows { embeddings, normalise, columns: Vec::new() };
        if standardise {
            rows.columns = rows.moments(train);
        }
        rows
    }

    /// The rows of some nodes, (nodes, width).
    pub(super) fn of(&self, nodes: &[u32]) -> Matrix<f32> {
        let width = self.embeddings.width;
        let mut gathered = Matrix::zeros(nodes.len(), width);
        for (row, &node) in gathered.values.chunks_exact_mut(width).zip(nodes) {
            let found = self.embeddings.row(node as usize);
            let scale = self.scale(found);
            if self.columns.is_empty() {
                row.iter_mut().zip(found).for_each(|(x, &f)| *x = (f64::from(f) * scale) as f32);
            } else {
                for ((x, &f), (mean, inverse)) in row.iter_mut().zip(found).zip(&self.columns) {
                    *x = ((f64::from(f) * scale - mean) * inverse) as f32;
                }
            }
        }
        gathered
    }

    fn scale(&self, row: &[f32]) -> f64 {
        if self.normalise { 1.0 / nonzero(length(row)) } else { 1.0 }
    }

    fn moments(&self, nodes: &[u32]) -> Vec<(f64, f64)> {
        let (width, count) = (self.embeddings.width, nodes.len() as f64);
        let each = |visit: &mut dyn FnMut(usize, f64)| {
            for &node in nodes {
                let row = self.embeddings.row(node as usize);
                let scale = self.scale(row);
                row.iter().enumerate().for_each(|(at, &x)| visit(at, f64::from(x) * scale));
            }
        };
        let mut means = vec![0.0; width];
        each(&mut |at, x| means[at] += x / count);
        // Squares of differences, not a difference of squares: columns may lie far from 0.
        let mut variances = vec![0.0; width];
        each(&mut |at, x| variances[at] += (x - means[at]).powi(2) / count);
        let column = |(mean, variance): (f64, f64)| {
            // What rounding of the mean alone would give is a constant column.
            let constant = variance <= (count * f64::EPSILON * mean).powi(2) * 10.0;
            (mean, if constant { 1.0 } else { 1.0 / variance.sqrt() })
        };
        means.into_iter().zip(variances).map(column).collect()
    }
}

/// |row|.
pub(super) fn length(row: &[f32]) -> f64 {
    row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()
}

fn nonzero(x: f64) -> f64 {
    if x > 0.0 { x } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_by_hand() {
        let embeddings = Matrix::of(4, 2, vec![1.0, 7.0, 3.0, 7.0, 100.0, 9.0, 5.0, 7.0]);
        let rows = Rows::new(&embeddings, &[0, 1, 3], false, true).of(&[0, 2]);
        // Training values 1, 3, 5: mean 3, deviation √(8/3); 7, 7, 7: only shifted.
        let deviation = (8f64 / 3.0).sqrt();
        let wanted = [(-2.0 / deviation) as f32, 0.0, (97.0 / deviation) as f32, 2.0];
        assert_eq!(rows.values, wanted);
    }

    #[test]
    fn lengths_by_hand() {
        let embeddings = Matrix::of(2, 2, vec![3.0, -4.0, 0.0, 0.0]);
        assert_eq!(
            Rows::new(&embeddings, &[], true, false).of(&[1, 0]).values,
            [0.0, 0.0, 0.6, -0.8]
        );
    }
}
