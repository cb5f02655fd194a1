//! What does a pair score?
//!
//! Both scores are plain dot products of rows a and b, (width) each:
//!
//! - dot: a = h, b = s;
//! - cosine: a = h / (|h| temperature), b = s / |s|.
//!
//! So whoever finds scores need not know which it is, and only the way back differs:
//! with a = c h, c = scale / |h|, the derivative by h is
//! c (d_a − a (a · d_a) / scale²). A row of length zero has no direction: its cosine
//! with anything is 0, and so is its derivative.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::config::Similarity;
use crate::math::{Matrix, Real, dot, squares};

/// Shorter rows count as zero: their direction is rounding, and dividing by their
/// length would make derivatives that swamp all others.
const SHORT: f64 = 1e-12;

/// Rows whose dot products are scores, and the way back to the rows they came from.
pub(super) struct Compared<'a, T: Clone> {
    /// (contexts, width).
    pub(super) rows: Cow<'a, Matrix<T>>,
    /// c of each row; none where rows are as they were.
    factors: Option<Vec<T>>,
    /// Length of a row that is not zero.
    scale: T,
}

impl<'a, T: Real> Compared<'a, T> {
    /// Centers and summaries, made ready.
    pub(super) fn both(
        similarity: Similarity,
        centers: &'a Matrix<T>,
        summaries: &'a Matrix<T>,
    ) -> (Compared<'a, T>, Compared<'a, T>) {
        match similarity {
            Similarity::Dot => {
                let as_is =
                    |rows| Compared { rows: Cow::Borrowed(rows), factors: None, scale: T::ONE };
                (as_is(centers), as_is(summaries))
            }
            Similarity::Cosine { temperature } => {
                (Compared::scaled(centers, 1.0 / temperature), Compared::scaled(summaries, 1.0))
            }
        }
    }

    fn scaled(rows: &Matrix<T>, scale: f64) -> Compared<'a, T> {
        let width = rows.width.max(1);
        let mut scaled = rows.clone();
        let factors = scaled
            .values
            .par_chunks_mut(width)
            .map(|row| {
                // Squares of what f32 can hold may not fit into f32.
                let length = squares(row).sqrt();
                let factor = if length < SHORT { T::ZERO } else { T::of(scale / length) };
                row.iter_mut().for_each(|x| *x *= factor);
                factor
            })
            .collect();
        Compared { rows: Cow::Owned(scaled), factors: Some(factors), scale: T::of(scale) }
    }

    /// Turns the derivative by the compared rows into that by the given ones.
    pub(super) fn back(&self, d: &mut Matrix<T>) {
        let Some(factors) = &self.factors else { return };
        let square = self.scale * self.scale;
        d.values.par_chunks_mut(d.width.max(1)).zip(factors).enumerate().for_each(
            |(at, (d, &factor))| {
                let row = self.rows.row(at);
                let along = dot(row, d) / square;
                d.iter_mut().zip(row).for_each(|(d, &x)| *d = factor * (*d - along * x));
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosine_by_hand() {
        let h = Matrix::of(2, 2, vec![3.0, 4.0, 0.0, 0.0]);
        let s = Matrix::of(2, 2, vec![0.0, 2.0, 5.0, 12.0]);
        let (a, b) = Compared::both(Similarity::Cosine { temperature: 0.5 }, &h, &s);
        // 4/5 and 63/65, twice as sharp; nothing for the zero row.
        assert!((dot(a.rows.row(0), b.rows.row(0)) - 1.6f64).abs() < 1e-15);
        assert!((dot(a.rows.row(0), b.rows.row(1)) - 126.0 / 65.0).abs() < 1e-15);
        assert_eq!(dot(a.rows.row(1), b.rows.row(1)), 0.0);
    }
}
