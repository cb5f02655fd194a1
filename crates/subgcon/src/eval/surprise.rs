//! How surprised is a model by labels, its confidence set aside?
//!
//! The mean of −ln p(truth) over some rows, with p = softmax(t z), z (rows, classes) the
//! scores, and the t ≥ 0 that makes it least. A strong penalty makes a model timid
//! and a weak one loud; t takes that away, and what is left is how well scores order the
//! classes. Accuracy asks the same but looks at the first place only: by it, two
//! strengths of the penalty differ by a few of some hundred nodes, and which is the
//! better is often luck.
//!
//! The mean is convex in t: its slope, mean of (E_p z − z(truth)), grows, and Newton's
//! steps, halved where they leave the bracket, find its zero.

use crate::math::{Matrix, Real};

/// Steps after which t is close enough in any case.
const STEPS: usize = 50;
/// The first t makes the largest score this: a model that is right more often than not ends near
/// it, and it is found in fewer steps than from 1.
const START: f64 = 4.0;
/// Relative change of t at which it is close enough.
const CLOSE: f64 = 1e-4;
/// Labels that a model knows as surely as this are no surprise at all.
const SURE: f64 = 1e-9;

/// The least mean surprise. One column of scores stands for two classes, as
/// [`super::logistic::classes_of`] has it.
pub(super) fn surprise(scores: &Matrix<f64>, truth: &[u32]) -> f64 {
    assert_eq!(scores.rows, truth.len(), "a class for each row");
    let largest = scores.values.iter().fold(0f64, |largest, z| largest.max(z.abs()));
    let classes = scores.width.max(2) as f64;
    let finite = scores.values.iter().all(|z| z.is_finite());
    if largest == 0.0 || !finite {
        return classes.ln();
    }
    let below = &below_the_top(scores);
    if slope(below, truth, 0.0).1 >= 0.0 {
        return classes.ln();
    }
    // Slopes are below zero at the lower end, and above at the upper end once it is known.
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut t = (START / largest).min(f64::MAX);
    for _ in 0..STEPS {
        let (value, first, second) = slope(below, truth, t);
        if value < SURE {
            return 0.0;
        }
        if first < 0.0 {
            low = t;
        } else {
            high = t;
        }
        let newton = t - first / second;
        let within = newton > low && newton < high && newton < 4.0 * t;
        let next = match (within, high.is_finite()) {
            (true, _) => newton,
            (false, true) => 0.5 * (low + high),
            (false, false) => 4.0 * t,
        };
        let close = (next - t).abs() <= CLOSE * t;
        t = next;
        if close {
            break;
        }
    }
    slope(below, truth, t).0
}

/// Scores less the largest of their row; one column stands for two.
fn below_the_top(scores: &Matrix<f64>) -> Matrix<f64> {
    let classes = scores.width.max(2);
    let mut below = Vec::with_capacity(scores.rows * classes);
    for z in scores.values.chunks_exact(scores.width) {
        let two = [0.0, z[0]];
        let z = if scores.width == 1 { &two[..] } else { z };
        let top = z.iter().fold(f64::MIN, |top, &z| top.max(z));
        below.extend(z.iter().map(|z| z - top));
    }
    Matrix::of(scores.rows, classes, below)
}

/// Mean surprise at t, and its first and second derivative. Exponentials in f32, many at a time:
/// seven digits of a mean over some hundred nodes are more than it tells.
fn slope(below: &Matrix<f64>, truth: &[u32], t: f64) -> (f64, f64, f64) {
    let mut powers: Vec<f32> = below.values.iter().map(|z| (t * z) as f32).collect();
    f32::exp_all(&mut powers);
    let (mut value, mut first, mut second) = (0.0, 0.0, 0.0);
    let rows = below.values.chunks_exact(below.width).zip(powers.chunks_exact(below.width));
    for ((z, powers), &truth) in rows.zip(truth) {
        let (mut sum, mut mean, mut square) = (0.0, 0.0, 0.0);
        for (z, &power) in z.iter().zip(powers) {
            let p = f64::from(power);
            sum += p;
            mean += p * z;
            square += p * z * z;
        }
        let (mean, own) = (mean / sum, z[truth as usize]);
        value += sum.ln() - t * own;
        first += mean - own;
        second += square / sum - mean * mean;
    }
    let rows = truth.len().max(1) as f64;
    (value / rows, first / rows, second / rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    /// As it is written, on a fine grid of t.
    fn naive(scores: &Matrix<f64>, truth: &[u32]) -> f64 {
        let at = |t: f64| -> f64 {
            let row = |(row, &truth): (usize, &u32)| {
                let z = scores.row(row);
                let z = if z.len() == 1 { vec![0.0, z[0]] } else { z.to_vec() };
                let sum: f64 = z.iter().map(|z| (t * z).exp()).sum();
                sum.ln() - t * z[truth as usize]
            };
            truth.iter().enumerate().map(row).sum::<f64>() / truth.len() as f64
        };
        (0..20_000).map(|step| at(f64::from(step) * 1e-3)).fold(f64::MAX, f64::min)
    }

    fn made(classes: usize, columns: usize, signal: f64) -> (Matrix<f64>, Vec<u32>) {
        let mut stream = Stream::new(5, "surprise", classes as u64);
        let truth: Vec<u32> = (0..60).map(|row| row % classes as u32).collect();
        let own = |at: usize| match columns {
            1 => 2.0 * f64::from(truth[at]) - 1.0,
            _ => f64::from(u8::from(at % columns == truth[at / columns] as usize)),
        };
        let values = (0..60 * columns).map(|at| signal * own(at) + stream.normal());
        (Matrix::of(60, columns, values.collect()), truth)
    }

    #[test]
    fn it_is_the_least_over_all_scales() {
        for (classes, columns) in [(2, 1), (3, 3), (7, 7)] {
            for signal in [0.0, 0.5, 1.0, 2.0] {
                let (mut scores, truth) = made(classes, columns, signal);
                let (found, wanted) = (surprise(&scores, &truth), naive(&scores, &truth));
                assert!((found - wanted).abs() < 1e-6, "{classes} {signal}: {found} {wanted}");
                // Timid or loud, it is the same.
                for factor in [1e-6, 37.0, 1e6] {
                    let mut other = scores.clone();
                    other.values.iter_mut().for_each(|z| *z *= factor);
                    assert!((surprise(&other, &truth) - found).abs() < 1e-6, "{factor}");
                }
                scores.values.iter_mut().for_each(|z| *z = -*z);
                assert!(surprise(&scores, &truth) <= (classes as f64).ln() + 1e-12);
            }
        }
    }

    #[test]
    fn models_that_know_everything_or_nothing() {
        let sure = Matrix::of(2, 2, vec![3.0, -1.0, 0.1, 0.2]);
        assert_eq!(surprise(&sure, &[0, 1]), 0.0);
        assert_eq!(surprise(&sure, &[1, 0]), 2f64.ln());
        let nothing = Matrix::of(2, 3, vec![0.0; 6]);
        assert_eq!(surprise(&nothing, &[0, 2]), 3f64.ln());
        for odd in [f64::NAN, f64::INFINITY] {
            let scores = Matrix::of(2, 2, vec![1.0, 0.0, odd, 0.0]);
            assert_eq!(surprise(&scores, &[0, 1]), 2f64.ln());
        }
    }
}
