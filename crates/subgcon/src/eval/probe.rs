//! How much of the labels can a linear model read from embeddings?
//!
//! For each c of a grid, from the smallest up (and on above it while that helps), a [`Logistic`] is fitted to the training
//! nodes, starting from the one before; the c that is best on the validation nodes is kept
//! (least surprise, see `surprise`, then largest accuracy; or largest micro-F1 where a
//! node may have several classes; the smaller c where two are as good), and its model is shown the test nodes
//! once. Rows that are wider than there are training nodes are turned into the span of
//! those first.
//!
//! Why not accuracy? On held-in labels of seven graphs, 32 splits each, a c chosen by
//! surprise gave 0.1 to 0.3 points more than one chosen by accuracy, and on none less; it
//! also varied less.

use serde::Serialize;

use super::checks::{self, Parts, refuse};
use super::logistic::{Logistic, LogisticSettings};
use super::rows::{Rows, length};
use super::span::narrowed;
use super::task::Task;
use crate::error::{Error, Result, shown};
use crate::graph::{Labels, Split};
use crate::math::Matrix;

/// How embeddings are probed.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeSettings {
    /// Divide each row by its length first.
    pub normalise: bool,
    /// Then bring columns to mean 0 and deviation 1 over the training nodes.
    pub standardise: bool,
    /// Values of c to choose from.
    pub grid: Vec<f64>,
    /// Values to go on with, those above the grid, each tried where the one before it was the best so far:
    /// thousands of short rows want a larger c than any that a hundred rows could use.
    pub further: Vec<f64>,
    /// Keep this c of them, whatever validation nodes say. Fits go through those below it on the
    /// way, as they do where it is chosen: a small tolerance is met by more than one fit where
    /// rows are few and c is large, and where a fit began decides which.
    pub kept: Option<f64>,
    /// As in [`LogisticSettings`], times the length of the training rows (root mean square) where
    /// that is below 1: derivatives are as short as rows are, and small ones would look fitted
    /// where nothing is.
    pub tolerance: f64,
    /// As in [`LogisticSettings`].
    pub steps: usize,
}

impl Default for ProbeSettings {
    /// Embeddings as they are, and two c for each decade.
    fn default() -> ProbeSettings {
        let LogisticSettings { tolerance, steps, .. } = LogisticSettings::default();
        ProbeSettings {
            normalise: false,
            standardise: false,
            grid: ProbeSettings::half_decades(),
            further: vec![1e4, 1e5, 1e6],
            kept: None,
            tolerance,
            steps,
        }
    }
}

impl ProbeSettings {
    /// 10⁻³, 10⁻²·⁵, … 10³.
    pub fn half_decades() -> Vec<f64> {
        (-6..=6).map(|half| 10f64.powf(f64::from(half) / 2.0)).collect()
    }

    /// The same with these values of c and no others.
    #[must_use]
    pub fn with_grid(self, grid: Vec<f64>) -> ProbeSettings {
        ProbeSettings { grid, further: Vec::new(), kept: None, ..self }
    }

    /// All values of c, rising.
    fn all(&self) -> Vec<f64> {
        let largest = self.grid.iter().copied().fold(0.0, f64::max);
        let further = self.further.iter().copied().filter(|&c| c > largest);
        let mut all: Vec<f64> = self.grid.iter().copied().chain(further).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// The same with all of them tried, those above the grid, too.
    #[must_use]
    pub fn with_all(self) -> ProbeSettings {
        let all = self.all();
        self.with_grid(all)
    }

    /// The same with this c of them kept.
    #[must_use]
    pub fn keeping(self, c: f64) -> ProbeSettings {
        ProbeSettings { kept: Some(c), ..self.with_all() }
    }

    /// Whether they can be used.
    pub fn validate(&self) -> Result<()> {
        if self.grid.is_empty() {
            return Err(Error::setting("grid", "[]", "give at least one value of c"));
        }
        if let Some(kept) = self.kept.filter(|kept| !self.all().contains(kept)) {
            return Err(Error::setting("kept", kept, "keep one of the grid"));
        }
        self.grid.iter().chain(&self.further).try_for_each(|&c| self.logistic(c).validate())
    }

    fn logistic(&self, c: f64) -> LogisticSettings {
        LogisticSettings { c, tolerance: self.tolerance, steps: self.steps }
    }
}

/// How a model does on some nodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figures {
    /// How many nodes.
    pub nodes: usize,
    /// Share of nodes whose class, or whole set of classes, is right.
    pub accuracy: f64,
    /// Over all decisions.
    pub micro_f1: f64,
    /// Over classes, each counting the same.
    pub macro_f1: f64,
    /// ROC AUC, where there are two classes and both are among the nodes.
    pub auc: Option<f64>,
}

/// One value of c.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tried {
    /// The value.
    pub c: f64,
    /// Accuracy (micro-F1 where a node may have several classes) on the validation nodes;
    /// none without them.
    pub validation: Option<f64>,
    /// Mean −ln of the probability of the validation nodes' classes, all scores scaled to
    /// make it least; none where a node may have several, or without validation nodes.
    pub surprise: Option<f64>,
    /// As in [`Logistic`].
    pub converged: bool,
}

/// What a probe found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProbeReport {
    /// The chosen c.
    pub c: f64,
    /// All that were tried, rising.
    pub tried: Vec<Tried>,
    /// Number of classes among the training nodes.
    pub classes: usize,
    /// On the training nodes.
    pub train: Figures,
    /// On the validation nodes, if there are any.
    pub validation: Option<Figures>,
    /// On the test nodes.
    pub test: Figures,
}

/// What the validation nodes say of embeddings, no test node having been looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Validated {
    /// The chosen c.
    pub c: f64,
    /// All that were tried, rising.
    pub tried: Vec<Tried>,
    /// On the validation nodes.
    pub figures: Figures,
}

/// Probes embeddings, one row a node.
pub fn probe(
    embeddings: &Matrix<f32>,
    labels: &Labels,
    split: &Split,
    settings: &ProbeSettings,
) -> Result<ProbeReport> {
    let parts = Parts::of(labels, split)?;
    let task = Task::of(labels, &parts)?;
    let fitted = fit(embeddings, labels.nodes(), &task, &split.name, &parts, settings)?;
    let test = fitted.test.expect("test nodes, without which there are no parts");
    let Fitted { c, tried, classes, train, validation, .. } = fitted;
    Ok(ProbeReport { c, tried, classes, train, validation, test })
}

/// What [`probe`] finds on the validation nodes. Rows of training and validation nodes alone are
/// read: those of others may hold anything that is finite.
pub fn validate(
    embeddings: &Matrix<f32>,
    labels: &Labels,
    split: &Split,
    settings: &ProbeSettings,
) -> Result<Validated> {
    let parts = Parts::of(labels, split)?;
    let task = Task::of(labels, &parts)?;
    let parts = Parts { test: Vec::new(), ..parts };
    let fitted = fit(embeddings, labels.nodes(), &task, &split.name, &parts, settings)?;
    let figures = fitted.validation.ok_or_else(|| {
        let place = format!("split {}", shown(&split.name));
        refuse(&place, "no validation nodes", "assign some, or draw random splits with some")
    })?;
    Ok(Validated { c: fitted.c, tried: fitted.tried, figures })
}

/// A [`ProbeReport`], perhaps without test nodes.
struct Fitted {
    c: f64,
    tried: Vec<Tried>,
    classes: usize,
    train: Figures,
    validation: Option<Figures>,
    test: Option<Figures>,
}

fn fit(
    embeddings: &Matrix<f32>,
    nodes: usize,
    task: &Task<'_>,
    name: &str,
    parts: &Parts,
    settings: &ProbeSettings,
) -> Result<Fitted> {
    settings.validate()?;
    checks::embeddings(embeddings, nodes, "labels")?;
    let (mut grid, mut certain) = (settings.all(), settings.grid.len());
    if let Some(kept) = settings.kept {
        grid.retain(|&c| c <= kept);
        certain = grid.len();
    }
    let choice = if settings.kept.is_some() { 1 } else { grid.len() };
    if parts.validation.is_empty() && choice > 1 {
        let problem = format!("no validation nodes to choose one of {choice} c by");
        let place = format!("split {}", shown(name));
        return Err(refuse(
            &place,
            problem,
            "assign some, draw random splits with some, or give a single c",
        ));
    }
    let rows = Rows::new(embeddings, &parts.train, settings.normalise, settings.standardise);
    let others = [&parts.validation[..], &parts.test];
    let narrow = narrowed(&rows, embeddings.width, &parts.train, &others, embeddings.rows);
    let rows = match &narrow {
        Some(narrow) => Rows::new(narrow, &[], false, false),
        None => rows,
    };
    let train = rows.of(&parts.train);
    let (mut tried, mut previous): (Vec<Tried>, Option<Logistic>) = (Vec::new(), None);
    let mut best: Option<(f64, (f64, f64), Logistic)> = None;
    let fitting = task.fitting(&train, &parts.train);
    let length = length(&train.values) / (train.rows.max(1) as f64).sqrt();
    let shorter = if length > 0.0 { length.min(1.0) } else { 1.0 };
    for (at, c) in grid.into_iter().enumerate() {
        let still_best =
            tried.last().zip(best.as_ref()).is_some_and(|(last, (best, ..))| last.c == *best);
        if at >= certain && !still_best {
            break;
        }
        let logistic = settings.logistic(c);
        let tolerance = shorter * logistic.tolerance;
        let fit = fitting.fit(&LogisticSettings { tolerance, ..logistic }, previous.as_ref())?;
        let judged = (!parts.validation.is_empty())
            .then(|| task.figures_and_surprise(&fit, &rows, &parts.validation));
        let (validation, surprise) = match judged {
            Some((figures, None)) => (Some(figures.micro_f1), None),
            Some((figures, surprise)) => (Some(figures.accuracy), surprise),
            None => (None, None),
        };
        tried.push(Tried { c, validation, surprise, converged: fit.converged });
        let worth = (surprise.map_or(0.0, |surprise| -surprise), validation.unwrap_or(0.0));
        let wanted = settings.kept.is_none_or(|kept| kept == c);
        if wanted && best.as_ref().is_none_or(|(_, most, _)| worth > *most) {
            best = Some((c, worth, fit.clone()));
        }
        previous = Some(fit);
    }
    let (c, _, model) = best.expect("a grid that was checked not to be empty");
    let figures = |nodes: &[u32]| task.figures(&model, &rows, nodes);
    let some = |nodes: &[u32]| (!nodes.is_empty()).then(|| figures(nodes));
    Ok(Fitted {
        c,
        tried,
        classes: task.classes(),
        train: figures(&parts.train),
        validation: some(&parts.validation),
        test: some(&parts.test),
    })
}

#[cfg(test)]
mod tests;
