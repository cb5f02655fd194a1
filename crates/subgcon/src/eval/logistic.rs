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
//! and knowing its curvature: an eighth of the rows to ten times the tolerance, where
//! there are many; all rows; and products in f64 where those in f32 have too few digits
//! for the tolerance. Where columns do not hang together and rows are few for them, the eighth
//! is learnt by heart, and what it showed of the curvature is forgotten again (`BY_HEART`).
//! A sixteenth and then a quarter took fewer passes over made-up rows and more over embeddings of Coauthor CS
//! and Amazon Computers.
//!
//! Without anything better the first step goes as far down the slope as the curvature of some rows
//! says (`Likelihood::first_step`).
//!
//! Where there are four rows for each column, a metric (`metric.rs`) may know the curvature before
//! the first step. Finding it costs about width / outputs passes over the rows: it is found at
//! once where those are 32 or fewer, and otherwise when as many steps have not been
//! enough, so that about twice the work at most is done that the better way would have
//! taken. With it steps go on until next to no descent is left (`LEFT`): a small
//! derivative alone is no sign of that where c and the rows are many, but it is all that is
//! asked for where a metric is dear and was not needed. On PPI's 9,716 rows
//! with 121 classes all seven c took 24 times the time without it, and the largest three
//! were as good as not fitted.

use std::cell::OnceCell;

use super::lbfgs::{Found, History, Known, Stop, minimise};
use super::likelihood::{Likelihood, Targets};
use super::metric::{Metric, moments};
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
/// Rows from which on one in [`SHARE`] is fitted first.
const MANY: usize = 4096;
const SHARE: usize = 8;
/// Some rows were learnt by heart where the derivative over all of them is longer, after fitting those, than this share of
/// what it was over those before: 0.24 on Gaussian rows, up to 0.09 on embeddings of four graphs.
const BY_HEART: f64 = 0.15;
/// Rows for each column from which on they say enough of the curvature.
const LONG: usize = 4;
/// Passes over the rows that a metric may cost before it is known to be needed.
const CHEAP: usize = 32;
/// Descent that may be left where a metric tells, as a share of the loss of weights that are
/// zero: a share of the loss itself would ask for more digits than it has where it is small.
const LEFT: f64 = 1e-5;
/// Rows whose scores are found together.
const ROWS: usize = 4096;

/// How a model is fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogisticSettings {
    /// Weight of the rows against the penalty: larger fits closer.
    pub c: f64,
    /// Largest |derivative| of the mean objective at which fitting may stop.
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
            false => Err(Error::setting(name, value, "choose a finite number above 0")),
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
    /// Whether that meets the tolerance, and no descent worth a step is left where it could be
    /// told.
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
        Fitting::one(rows, targets, classes).fit(settings, start)
    }

    /// Fits rows with any number of classes each: `members` is (rows, outputs) of 0 or 1.
    pub fn fit_members(
        rows: &Matrix<f32>,
        members: &[u8],
        outputs: usize,
        settings: &LogisticSettings,
        start: Option<&Logistic>,
    ) -> Result<Logistic> {
        Fitting::several(rows, members.to_vec(), outputs).fit(settings, start)
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

/// Rows and what they belong to, to be fitted for one c after the other.
pub(super) struct Fitting<'a> {
    rows: &'a Matrix<f32>,
    /// One of the two is empty.
    classes: Vec<u32>,
    members: Vec<u8>,
    outputs: usize,
    moments: OnceCell<Matrix<f64>>,
}

impl<'a> Fitting<'a> {
    /// As [`Logistic::fit`].
    pub(super) fn one(rows: &'a Matrix<f32>, targets: &[u32], classes: usize) -> Fitting<'a> {
        assert_eq!(rows.rows, targets.len(), "a class for each row");
        assert!(targets.iter().all(|&c| (c as usize) < classes), "a class that is not there");
        if classes == 2 {
            let members = targets.iter().map(|&c| c as u8).collect();
            return Fitting::several(rows, members, 1);
        }
        let classes_of_rows = targets.to_vec();
        let moments = OnceCell::new();
        Fitting { rows, classes: classes_of_rows, members: Vec::new(), outputs: classes, moments }
    }

    /// As [`Logistic::fit_members`].
    pub(super) fn several(rows: &'a Matrix<f32>, members: Vec<u8>, outputs: usize) -> Fitting<'a> {
        assert_eq!(rows.rows * outputs, members.len(), "members for each row");
        assert!(members.iter().all(|&m| m <= 1), "a member is 0 or 1");
        Fitting { rows, classes: Vec::new(), members, outputs, moments: OnceCell::new() }
    }

    fn likelihood(&self) -> Likelihood<'_> {
        let targets = match self.members.is_empty() {
            true => Targets::Classes(&self.classes),
            false => Targets::Members(&self.members),
        };
        Likelihood { rows: self.rows, targets, outputs: self.outputs, some: None }
    }

    /// Passes over the rows that a metric costs; none where there are too few rows for one.
    fn price(&self) -> Option<usize> {
        let price = self.rows.width.div_ceil(self.outputs);
        let long = self.rows.width > 0 && self.rows.rows >= LONG * self.rows.width;
        long.then_some(price)
    }

    fn metric(&self, penalty: f64) -> Metric {
        Metric::of(self.moments.get_or_init(|| moments(self.rows)), penalty)
    }

    pub(super) fn fit(
        &self,
        settings: &LogisticSettings,
        start: Option<&Logistic>,
    ) -> Result<Logistic> {
        settings.validate()?;
        let (outputs, rows, likelihood) = (self.outputs, self.rows, self.likelihood());
        assert!(rows.rows > 0 && outputs > 0, "there is something to fit");
        let weights = match start {
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
        let single = settings.tolerance.max(trusted);
        let mut descent = Descent { weights, history: History::default(), steps: 0, penalty };
        // Steps to be taken without a metric, where one is worth waiting for.
        let wait = self.price().filter(|&price| self.moments.get().is_none() && price > CHEAP);
        let mut metric = match (self.price(), wait) {
            (Some(_), None) => Some(self.metric(penalty)),
            _ => None,
        };
        let mut familiar = f64::INFINITY;
        // A fit for another c is nearer than one to some of the rows.
        if metric.is_none() && rows.rows >= MANY && start.is_none() {
            familiar = descent.eighth(likelihood, single, settings.steps);
        }
        let until = wait.unwrap_or(usize::MAX).min(settings.steps);
        let goal = Goal { tolerance: single, double: false, until, familiar };
        let mut found = descent.stage(likelihood, goal, metric.as_ref());
        let goal = Goal { until: settings.steps, familiar: f64::INFINITY, ..goal };
        if !found.done && until < settings.steps {
            metric = Some(self.metric(penalty));
            found = descent.stage(likelihood, goal, metric.as_ref());
        }
        if settings.tolerance < trusted {
            let goal = Goal { tolerance: settings.tolerance, double: true, ..goal };
            found = descent.stage(likelihood, goal, metric.as_ref());
        }
        let Descent { mut weights, steps, .. } = descent;
        let intercepts = weights.split_off(outputs * rows.width);
        Ok(Logistic {
            coefficients: Matrix::of(outputs, rows.width, weights),
            intercepts,
            steps,
            gradient: found.gradient,
            converged: found.done,
        })
    }
}

/// Weights on their way.
struct Descent {
    weights: Vec<f64>,
    history: History,
    steps: usize,
    penalty: f64,
}

/// Where a stage ends.
#[derive(Clone, Copy)]
struct Goal {
    /// At this largest |derivative|,
    tolerance: f64,
    /// of products in f64, or in f32.
    double: bool,
    /// When so many steps have been taken in all.
    until: usize,
    /// What is known of the curvature is forgotten where the derivative is longer than this at first.
    familiar: f64,
}

impl Descent {
    /// Fits an eighth of the rows, roughly. Gives the length of a derivative over all of them above which that was
    /// learning by heart.
    fn eighth(&mut self, likelihood: Likelihood<'_>, tolerance: f64, until: usize) -> f64 {
        let sample = likelihood.sample(SHARE);
        let some = Likelihood { some: Some(&sample), ..likelihood };
        let (tolerance, familiar) = (10.0 * tolerance, f64::INFINITY);
        let goal = Goal { tolerance, double: false, until, familiar };
        BY_HEART * self.stage(some, goal, None).first
    }

    /// Goes on until the goal is reached.
    fn stage(&mut self, likelihood: Likelihood<'_>, goal: Goal, metric: Option<&Metric>) -> Found {
        let first = |derivative: &mut [f64]| {
            let scale = likelihood.first_step(derivative, self.penalty);
            derivative.iter_mut().for_each(|d| *d *= scale);
        };
        let apply = |derivative: &mut [f64]| metric.iter().for_each(|m| m.apply(derivative));
        let known = if metric.is_some() { Known::Metric(&apply) } else { Known::First(&first) };
        let stop = Stop {
            tolerance: goal.tolerance,
            left: if metric.is_some() { LEFT * likelihood.at_zero() } else { f64::INFINITY },
            steps: goal.until.saturating_sub(self.steps),
            rounding: if goal.double { DOUBLE } else { SINGLE },
            familiar: goal.familiar,
        };
        let penalised = likelihood.outputs * likelihood.rows.width;
        let penalty = self.penalty;
        let function = |weights: &[f64], gradient: &mut [f64]| {
            let loss = match goal.double {
                false => likelihood.mean::<f32>(weights, gradient),
                true => likelihood.mean::<f64>(weights, gradient),
            };
            loss + penalise(penalty, &weights[..penalised], gradient)
        };
        let found = minimise(&mut self.weights, &mut self.history, stop, known, function);
        self.steps += found.steps;
        found
    }
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
