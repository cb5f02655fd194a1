//! Along which weights is a likelihood steep, before a step is taken?
//!
//! Columns of rows are of many sizes and hang together, which makes the mean loss a
//! thousand times as steep along one combination of weights as along another. L-BFGS,
//! which starts from a ball, learns that step by step, and a small derivative says little
//! of how far there is to go along the flat ones. But with x̃ = (x, 1) the second
//! derivative by one output's weights is mean(s x̃ x̃ᵀ) + penalty, the latter not for the
//! intercept, where only s, how unsure the model is of a row, depends on the weights.
//! [`Metric`] is the inverse of
//!
//! M = ¼ mean(x̃ x̃ᵀ) + penalty,
//!
//! ¼ being the most that s can be for one output by itself (Böhning, 1992).

use rayon::prelude::*;

use crate::math::{Matrix, View, Write, gemm_slice, orthonormal_combinations};

/// Share of its length, squared, that a column needs to have apart from those before it;
/// of others what is left is rounding, and they are taken as if they were alone.
const NEW: f64 = 1e-13;
/// Rows that are multiplied together.
const ROWS: usize = 256;
/// Columns of M that are found together.
const COLUMNS: usize = 64;

/// ¼ mean(x̃ x̃ᵀ), the lower triangle of it.
pub(super) fn moments(rows: &Matrix<f32>) -> Matrix<f64> {
    let side = rows.width + 1;
    let mut moments = Matrix::zeros(side, side);
    let share = 0.25 / rows.rows as f64;
    moments.values.par_chunks_mut(COLUMNS * side).enumerate().for_each(|(at, lines)| {
        let count = lines.len() / side;
        let (first, until) = (at * COLUMNS, at * COLUMNS + count);
        let mut part = vec![0.0; count * until];
        let mut some = Vec::with_capacity(ROWS * until);
        for start in (0..rows.rows).step_by(ROWS) {
            let end = (start + ROWS).min(rows.rows);
            some.clear();
            for row in start..end {
                let values = rows.row(row).iter().map(|&x| f64::from(x)).chain([1.0]);
                some.extend(values.take(until));
            }
            let x = View::of(&some, end - start, until);
            gemm_slice(&mut part, until, x.columns(first..until).transposed(), x, Write::Add);
        }
        for (line, part) in lines.chunks_exact_mut(side).zip(part.chunks_exact(until)) {
            line.iter_mut().zip(part).for_each(|(moment, sum)| *moment = share * sum);
        }
    });
    moments
}

/// M⁻¹ = CᵀC, and 1 / M_jj for columns j that C leaves out.
pub(super) struct Metric {
    /// (kept, width + 1).
    combinations: Matrix<f64>,
    alone: Vec<(usize, f64)>,
}

impl Metric {
    pub(super) fn of(moments: &Matrix<f64>, penalty: f64) -> Metric {
        let mut moments = moments.clone();
        (0..moments.width - 1).for_each(|at| moments.row_mut(at)[at] += penalty);
        let combinations = orthonormal_combinations(&moments, NEW);
        let mut kept = vec![false; moments.width];
        for row in 0..combinations.rows {
            let line = kept.iter_mut().zip(combinations.row(row));
            line.for_each(|(kept, &share)| *kept |= share != 0.0);
        }
        let alone = (0..moments.width).filter(|&at| !kept[at] && moments.row(at)[at] > 0.0);
        let alone = alone.map(|at| (at, 1.0 / moments.row(at)[at])).collect();
        Metric { combinations, alone }
    }

    /// A derivative, (outputs, width) and then one for each output, becomes M⁻¹ times it.
    pub(super) fn apply(&self, derivative: &mut [f64]) {
        let Metric { combinations, alone } = self;
        let (kept, side) = (combinations.rows, combinations.width);
        let outputs = derivative.len() / side;
        let (w, b) = derivative.split_at_mut(outputs * (side - 1));
        let lines = w.chunks_exact(side - 1).zip(b.iter());
        let joined: Vec<f64> = lines.flat_map(|(w, b)| w.iter().chain([b])).copied().collect();
        let mut seen = vec![0.0; outputs * kept];
        let all = View::of(&joined, outputs, side);
        gemm_slice(&mut seen, kept, all, combinations.view().transposed(), Write::Set);
        let seen = View::of(&seen, outputs, kept);
        let mut turned = vec![0.0; outputs * side];
        gemm_slice(&mut turned, side, seen, combinations.view(), Write::Set);
        for (turned, joined) in turned.chunks_exact_mut(side).zip(joined.chunks_exact(side)) {
            alone.iter().for_each(|&(at, share)| turned[at] = share * joined[at]);
        }
        let lines = w.chunks_exact_mut(side - 1).zip(b.iter_mut());
        for ((w, b), line) in lines.zip(turned.chunks_exact(side)) {
            w.copy_from_slice(&line[..side - 1]);
            *b = line[side - 1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn rows(count: usize, width: usize) -> Matrix<f32> {
        let mut stream = Stream::new(4, "rows", 0);
        let values =
            (0..count * width).map(|at| (stream.normal() / (1 + at % width) as f64) as f32);
        Matrix::of(count, width, values.collect())
    }

    #[test]
    fn moments_are_those_of_the_rows_with_a_one_behind() {
        let x = rows(700, 150);
        let found = moments(&x);
        let value = |row: usize, at: usize| if at < 150 { f64::from(x.row(row)[at]) } else { 1.0 };
        for (at, other) in [(0, 0), (70, 3), (149, 149), (149, 64), (150, 0), (150, 150)] {
            let sum: f64 = (0..700).map(|row| value(row, at) * value(row, other)).sum();
            assert!((found.row(at)[other] - sum / 2800.0).abs() < 1e-12, "{at} {other}");
        }
    }

    #[test]
    fn the_metric_takes_back_what_m_does() {
        let (x, penalty) = (rows(300, 20), 1e-3);
        let metric = Metric::of(&moments(&x), penalty);
        // M times weights of two outputs, row by row: ¼ mean (w·x + b) (x, 1) + penalty w.
        let weights: Vec<f64> = (0..42).map(|at| (at as f64 * 0.7).sin()).collect();
        let mut product = vec![0.0; 42];
        for output in 0..2 {
            let (w, b) = (&weights[output * 20..][..20], weights[40 + output]);
            for row in 0..300 {
                let line = x.row(row);
                let score: f64 =
                    line.iter().zip(w).map(|(&x, w)| f64::from(x) * w).sum::<f64>() + b;
                for (at, &x) in line.iter().enumerate() {
                    product[output * 20 + at] += score * f64::from(x) / 1200.0;
                }
                product[40 + output] += score / 1200.0;
            }
            (0..20).for_each(|at| product[output * 20 + at] += penalty * w[at]);
        }
        metric.apply(&mut product);
        for (found, wanted) in product.iter().zip(&weights) {
            assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
        }
    }

    #[test]
    fn a_column_that_is_said_twice_is_taken_as_if_alone() {
        let x = rows(50, 3);
        let twice: Vec<f32> = x.values.chunks(3).flat_map(|x| [x[0], x[0], x[1], x[2]]).collect();
        let mut derivative = vec![1.0; 5];
        let moments_of_twice = moments(&Matrix::of(50, 4, twice));
        Metric::of(&moments_of_twice, 0.0).apply(&mut derivative);
        assert!((derivative[1] * moments_of_twice.row(1)[1] - 1.0).abs() < 1e-12);
        let mut other = vec![1.0; 4];
        Metric::of(&moments(&x), 0.0).apply(&mut other);
        assert!((derivative[0] - other[0]).abs() < 1e-9 && (derivative[4] - other[3]).abs() < 1e-9);
    }
}
