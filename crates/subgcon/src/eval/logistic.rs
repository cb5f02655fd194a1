//! Which class does a linear model see in a row?
//!
//! Minimises, as scikit-learn's `LogisticRegression(C=c)` does,
//!
//! c Σ_rows loss(W x + b) + ½ ‖W‖²,  b free of the penalty,
//!
//! divided by c · rows, so that a tolerance means the same for any number of rows. The
//! loss is the softmax over all classes for three or more, and one sigmoid for two (as
//! there: a softmax over two would be penalised half as much). Any number of classes
//! a row: one sigmoid a class, each its own problem; they share the passes over rows.
//!
//! Steps go from the cheap to the exact, each stage starting where the one before ended
//! and knowing its curvature: a quarter of the rows to ten times the tolerance, where
//! there are many; all rows; and products in f64 where those in f32 have too few digits
//! for the tolerance. The first stage saves one to five of thirteen passes over
//! 10,000 x 1,024 (`cargo xtask bench probe` has both kinds of rows).

use super::lbfgs::{History, Stop, minimise};
use super::likelihood::{Likelihood, Targets};
use super::rows::length;
use crate::error::{Error, Result};
use crate::math::{Matrix, View, Write, gemm_slice};

/// How far a mean loss may be off, as a share of it.
const SINGLE: f64 = 1e-6;
const DOUBLE: f64 = 1e-14;
/// A largest |derivative| that products in f32 can be trusted to show, as a share of the
/// rows' root mean square; a hundred times their rounding.
const TRUSTED: f64 = 1e-5;
/// Rows by which that is judged.
const JUDGED: usize = 256;
/// Rows from which on a quarter of them is fitted first.
const MANY: usize = 4096;
/// Rows whose scores are found together.
const ROWS: usize = 4096;

/// How a model is fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogisticSettings {
    /// Weight of the rows against the penalty: larger fits closer.
    pub c: f64,
    /// Largest |derivative| of the mean objective at which fitting stops.
    pub tolerance: f64,
    /// Steps after which fitting gives up.
    pub steps: usize,
}

impl Default for LogisticSettings {
    /// scikit-learn's, with more patience: it stops after 100 steps.
    fn default() -> LogisticSettings {
        LogisticSettings { c: 1.0, tolerance: 1e-4, steps: 1000 }
    }
}

impl LogisticSettings {
    /// Whether they can be used.
    pub fn validate(&self) -> Result<()> {
        let above_zero = |name, value: f64| match value.is_finite() && value > 0.0 {
            true => Ok(()),
            false => Err(Error::setting(name, value, "choose a number above 0")),
        };
        above_zero("c", self.c)?;
        above_zero("tolerance", self.tolerance)?;
        match self.steps {
            0 => Err(Error::setting("steps", 0, "choose at least 1")),
            _ => Ok(()),
        }
    }
}

/// A fitted model.
#[derive(Debug, Clone, PartialEq)]
pub struct Logistic {
    /// W: (classes, width), or (1, width) where one sigmoid tells two classes apart.
    pub coefficients: Matrix<f64>,
    /// b: one for each row of W.
    pub intercepts: Vec<f64>,
    /// Steps that fitting took.
    pub steps: usize,
    /// Largest |derivative| of the mean objective.
    pub gradient: f64,
    /// Whether that meets the tolerance.
    pub converged: bool,
}

impl Logistic {
    /// Fits rows with one class each, below `classes`; every class should be there.
    /// `start` is a fit of the same shape to start from, such as one for another c.
    pub fn fit(
        rows: &Matrix<f32>,
        targets: &[u32],
        classes: usize,
        settings: &LogisticSettings,
        start: Option<&Logistic>,
    ) -> Result<Logistic> {
        assert_eq!(rows.rows, targets.len(), "a class for each row");
        assert!(targets.iter().all(|&c| (c as usize) < classes), "a class that is not there");
        if classes == 2 {
            let members: Vec<u8> = targets.iter().map(|&c| c as u8).collect();
            return Logistic::fit_members(rows, &members, 1, settings, start);
        }
        solve(
            Likelihood { rows, targets: Targets::Classes(targets), outputs: classes },
            settings,
            start,
        )
    }

    /// Fits rows with any number of classes each: `members` is (rows, outputs) of 0 or 1.
    pub fn fit_members(
        rows: &Matrix<f32>,
        members: &[u8],
        outputs: usize,
        settings: &LogisticSettings,
        start: Option<&Logistic>,
    ) -> Result<Logistic> {
        assert_eq!(rows.rows * outputs, members.len(), "members for each row");
        assert!(members.iter().all(|&m| m <= 1), "a member is 0 or 1");
        solve(Likelihood { rows, targets: Targets::Members(members), outputs }, settings, start)
    }

    /// Number of rows of W.
    pub fn outputs(&self) -> usize {
        self.intercepts.len()
    }

    /// W x + b of rows, (rows, outputs).
    pub fn scores(&self, rows: &Matrix<f32>) -> Matrix<f64> {
        let (outputs, width) = (self.outputs(), self.coefficients.width);
        assert_eq!(rows.width, width, "rows are as wide as those that were fitted");
        let mut scores = Matrix::zeros(rows.rows, outputs);
        for start in (0..rows.rows).step_by(ROWS) {
            let end = (start + ROWS).min(rows.rows);
            let x: Vec<f64> =
                rows.values[start * width..end * width].iter().map(|&x| f64::from(x)).collect();
            let part = &mut scores.values[start * outputs..end * outputs];
            part.chunks_exact_mut(outputs).for_each(|z| z.copy_from_slice(&self.intercepts));
            let (x, w) = (View::of(&x, end - start, width), self.coefficients.view());
            gemm_slice(part, outputs, x, w.transposed(), Write::Add);
        }
        scores
    }
}

/// The class of each row by its scores: the first of the largest, or for a single score
/// class 1 where it is above zero.
pub fn classes_of(scores: &Matrix<f64>) -> Vec<u32> {
    let first_largest = |z: &[f64]| {
        let mut best = 0;
        (1..z.len()).for_each(|k| best = if z[k] > z[best] { k } else { best });
        best as u32
    };
    let one = scores.width == 1;
    (0..scores.rows)
        .map(|row| scores.row(row))
        .map(|z| if one { u32::from(z[0] > 0.0) } else { first_largest(z) })
        .collect()
}

fn solve(
    likelihood: Likelihood<'_>,
    settings: &LogisticSettings,
    start: Option<&Logistic>,
) -> Result<Logistic> {
    settings.validate()?;
    let (outputs, rows) = (likelihood.outputs, likelihood.rows);
    assert!(rows.rows > 0 && outputs > 0, "there is something to fit");
    let mut weights = match start {
        None => vec![0.0; likelihood.weights()],
        Some(start) => {
            let shape = (start.outputs(), start.coefficients.width);
            assert_eq!(shape, (outputs, rows.width), "a start of the same shape");
            [&start.coefficients.values[..], &start.intercepts].concat()
        }
    };
    let some = &rows.values[..JUDGED.min(rows.rows) * rows.width];
    let trusted = TRUSTED * length(some) / (some.len().max(1) as f64).sqrt();
    let penalty = 1.0 / (settings.c * rows.rows as f64);
    let mut history = History::default();
    let mut steps = 0;
    let mut stage = |likelihood: Likelihood<'_>, tolerance: f64, double: bool| {
        let rounding = if double { DOUBLE } else { SINGLE };
        let stop = Stop { tolerance, steps: settings.steps - steps, rounding };
        let found = minimise(&mut weights, &mut history, stop, |weights, gradient| {
            let loss = match double {
                false => likelihood.mean::<f32>(weights, gradient),
                true => likelihood.mean::<f64>(weights, gradient),
            };
            loss + penalise(penalty, &weights[..outputs * rows.width], gradient)
        });
        steps += found.steps;
        found.gradient
    };
    let single = settings.tolerance.max(trusted);
    // A fit for another c is nearer than one to some of the rows.
    if rows.rows >= MANY && start.is_none() {
        stage(likelihood.quarter().borrow(), 10.0 * single, false);
    }
    let mut gradient = stage(likelihood, single, false);
    if settings.tolerance < trusted {
        gradient = stage(likelihood, settings.tolerance, true);
    }
    let intercepts = weights.split_off(outputs * rows.width);
    Ok(Logistic {
        coefficients: Matrix::of(outputs, rows.width, weights),
        intercepts,
        steps,
        gradient,
        converged: gradient <= settings.tolerance,
    })
}

/// ½ penalty ‖W‖²; its derivative is added.
fn penalise(penalty: f64, weights: &[f64], gradient: &mut [f64]) -> f64 {
    let mut squares = 0.0;
    for (w, g) in weights.iter().zip(gradient) {
        *g += penalty * w;
        squares += w * w;
    }
    penalty / 2.0 * squares
}

#[cfg(test)]
mod tests;
