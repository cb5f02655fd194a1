//! What do features give that nothing was learnt for?
//!
//! Rows that any learnt embedding has to beat, from X̂, the features with rows of L2 norm 1, whatever
//! the settings of the learnt one are. Tables of measures are brought to one scale first, as
//! anybody would do (`Standardize::Auto`):
//!
//! - X̂ as it is;
//! - Π X̂ for three kinds of smoothing Π: Â² (SGC), the mean of sixteen powers
//!   beside a little of X̂ itself (S2GC), and fifteen steps of PageRank;
//! - Π X̂ Q for each, Q (width, k) an orthonormal basis of what the k leading right
//!   singular vectors of Π X̂ span: the truncated SVD of Π X̂ but for a rotation, which no
//!   penalised linear model, cosine or distance sees.
//!
//! Q comes from a power iteration on M = X̂ᵀ Πᵀ Π X̂: twice M from random signs, then, for
//! each other smoothing, once more from the basis found before, as all of them lead to
//! neighbouring spaces. X̂ of a large graph is not held as a whole for it: it is scaled again,
//! some nodes at a time, for every product.
//!
//! A probe sees of wide rows R = Π X̂ (Q) what lies in the span of its training rows alone (`span`). With E the
//! training nodes' columns of I, those rows are Eᵀ R = (Πᵀ E)ᵀ X̂ (Q), and all rows in an orthonormal
//! basis B of their span R B = Π (X̂ (Q) B): where training nodes are few, R need not be made.

mod plain;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::time::Instant;

use self::plain::Plain;
use super::checks::Parts;
use super::probe::{ProbeReport, ProbeSettings, probe};
use super::span::WIDE;
use crate::error::{Error, Result};
use crate::graph::{Adjacency, Features, Labels, Smoother, Smoothing, Split};
use crate::math::{Matrix, Write, gemm, orthonormal_columns};
use crate::rng::Stream;

/// Beyond this many numbers features are not written out at their full width.
const MOST_NUMBERS: usize = 1 << 28;
/// A column of which less than this share, squared, is new is left out.
const NEW: f64 = 1e-12;

/// One kind of row.
#[derive(Debug)]
pub struct FreeRow<'a> {
    /// How it is called in tables.
    pub name: String,
    /// Numbers of a row.
    pub width: usize,
    /// Seconds that it took before any row was made.
    pub seconds: f64,
    source: Source<'a>,
}

/// What rows are made from.
#[derive(Debug)]
enum Source<'a> {
    Made(&'a Matrix<f32>),
    Features(Smoothed<'a>),
}

/// Π X̂ Q, Π and Q where they are given.
#[derive(Debug, Clone, Copy)]
struct Smoothed<'a> {
    plain: &'a Plain<'a>,
    smoother: &'a Smoother,
    /// Of Πᵀ, once it was asked for: of a directed graph all arcs are copied for it.
    transposed: &'a OnceCell<Smoother>,
    smoothing: Option<Smoothing>,
    basis: Option<&'a Matrix<f32>>,
}

/// The kinds of smoothing, in the order in which their bases are found: first the one that
/// costs least, since the first basis is found from nothing.
const KINDS: [(&str, Smoothing); 3] = [
    ("SGC features", Smoothing::steps(2)),
    ("PageRank-smoothed features", Smoothing::PageRank { steps: 15, restart: 0.15 }),
    ("S2GC features", Smoothing::Powers { steps: 16, weight: 0.05 }),
];

/// Hands out one kind of row after another, at full width and projected to `width`
/// columns where the features have more; full widths only where that is no more than
/// 2^28 numbers. `structural`: whether features were made from the graph's structure.
pub fn free_rows<E: From<Error>>(
    adjacency: &Adjacency,
    features: &Features,
    structural: bool,
    width: usize,
    mut visit: impl FnMut(&FreeRow<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let plain = &Plain::new(adjacency, features, structural)?;
    let smoother = &Smoother::new(adjacency);
    let transposed = &OnceCell::new();
    let raw = Smoothed { plain, smoother, transposed, smoothing: None, basis: None };
    let whole = adjacency.nodes() * features.width() <= MOST_NUMBERS;
    let full = |name: &str, rows: Smoothed<'_>, visit: &mut dyn FnMut(&FreeRow<'_>) -> _| {
        let (name, width) = (name.to_owned(), features.width());
        visit(&FreeRow { name, width, seconds: 0.0, source: Source::Features(rows) })
    };
    if whole {
        full("raw features", raw, &mut visit)?;
    }
    let mut basis: Option<Matrix<f32>> = None;
    for (name, smoothing) in KINDS {
        let smoothed = Smoothed { smoothing: Some(smoothing), ..raw };
        if whole {
            full(name, smoothed, &mut visit)?;
        }
        if width >= features.width() {
            continue;
        }
        let started = Instant::now();
        let found = match &basis {
            None => smoothed.powered(&smoothed.powered(&signs(features.width(), width))),
            Some(basis) => smoothed.powered(basis),
        };
        let seconds = started.elapsed().as_secs_f64();
        // Of features that are all zero nothing is left to project.
        if found.width == 0 {
            continue;
        }
        visit(&FreeRow {
            name: format!("{name}, projected"),
            width: found.width,
            seconds,
            source: Source::Features(Smoothed { basis: Some(&found), ..smoothed }),
        })?;
        basis = Some(found);
    }
    Ok(())
}

impl<'a> FreeRow<'a> {
    /// Rows that somebody has made, in so many seconds.
    pub fn made(name: impl Into<String>, rows: &'a Matrix<f32>, seconds: f64) -> FreeRow<'a> {
        FreeRow { name: name.into(), width: rows.width, seconds, source: Source::Made(rows) }
    }

    /// A row a node.
    pub fn rows(&self) -> Cow<'_, Matrix<f32>> {
        match &self.source {
            Source::Made(rows) => Cow::Borrowed(rows),
            Source::Features(smoothed) => Cow::Owned(smoothed.rows()),
        }
    }

    /// [`probe`] on some splits, and the seconds that were taken to make rows for it.
    pub fn probe(
        &self,
        labels: &Labels,
        splits: &[Split],
        settings: &ProbeSettings,
    ) -> Result<(Vec<ProbeReport>, f64)> {
        let of = |rows: &Matrix<f32>, split: &Split| probe(rows, labels, split, settings);
        let mut fitted = Vec::with_capacity(splits.len());
        for split in splits {
            fitted.push(Parts::of(labels, split)?.train);
        }
        // Columns are smoothed twice for each split, and once for all where rows are made.
        let few = WIDE * fitted.iter().map(Vec::len).sum::<usize>() <= self.width;
        let as_they_are = !settings.normalise && !settings.standardise;
        let mut seconds = 0.0;
        if let Source::Features(smoothed) = &self.source
            && few
            && as_they_are
            && smoothed.pays()
        {
            let (mut reports, started) = (Vec::with_capacity(splits.len()), Instant::now());
            let mut probing = 0.0;
            for (split, fitted) in splits.iter().zip(&fitted) {
                // What is no number is found, and named, where rows are made.
                let Some(rows) = smoothed.seen_by(fitted) else { break };
                let begun = Instant::now();
                reports.push(of(&rows, split)?);
                probing += begun.elapsed().as_secs_f64();
            }
            seconds = started.elapsed().as_secs_f64() - probing;
            if reports.len() == splits.len() {
                return Ok((reports, seconds));
            }
        }
        let started = Instant::now();
        let rows = self.rows();
        seconds += started.elapsed().as_secs_f64();
        let reports: Result<Vec<ProbeReport>> =
            splits.iter().map(|split| of(&rows, split)).collect();
        Ok((reports?, seconds))
    }
}

impl Smoothed<'_> {
    /// All of it, (nodes, width).
    fn rows(&self) -> Matrix<f32> {
        let mut rows = match self.basis {
            Some(basis) => self.plain.times(basis),
            None => self.plain.rows(),
        };
        self.smooth(&mut rows);
        rows
    }

    fn smooth(&self, rows: &mut Matrix<f32>) {
        if let Some(smoothing) = self.smoothing {
            self.smoother.apply(smoothing, rows);
        }
    }

    fn smooth_transposed(&self, rows: &mut Matrix<f32>) {
        if let Some(smoothing) = self.smoothing {
            let transposed = self.transposed.get_or_init(|| self.smoother.transposed());
            transposed.apply(smoothing, rows);
        }
    }

    /// Whether [`Smoothed::seen_by`] saves anything: rows of plain features need not be smoothed, and
    /// dense ones are there.
    fn pays(&self) -> bool {
        self.smoothing.is_some() || self.plain.is_sparse()
    }

    /// Rows in an orthonormal basis of what those of some nodes span: (nodes, as many as that
    /// has, at least one). The basis is found in f64, as `span` does. None where features are no numbers.
    fn seen_by(&self, fitted: &[u32]) -> Option<Matrix<f32>> {
        let nodes = self.plain.nodes();
        let mut chosen = Matrix::zeros(nodes, fitted.len());
        for (column, &node) in fitted.iter().enumerate() {
            chosen.row_mut(node as usize)[column] = 1.0;
        }
        self.smooth_transposed(&mut chosen);
        // A column a fitted node, (width, fitted).
        let mut lines = self.plain.transposed_times(&chosen);
        if !lines.values.iter().all(|x| x.is_finite()) {
            return None;
        }
        if let Some(basis) = self.basis {
            let mut turned = Matrix::zeros(basis.width, lines.width);
            gemm(&mut turned, basis.view().transposed(), lines.view(), Write::Set);
            lines = turned;
        }
        let mut span: Matrix<f32> = orthonormal_columns(&lines.cast::<f64>(), NEW).cast();
        if span.width == 0 {
            return Some(Matrix::zeros(nodes, 1));
        }
        if let Some(basis) = self.basis {
            let mut back = Matrix::zeros(basis.rows, span.width);
            gemm(&mut back, basis.view(), span.view(), Write::Set);
            span = back;
        }
        let mut rows = self.plain.times(&span);
        self.smooth(&mut rows);
        Some(rows)
    }

    /// An orthonormal basis of M B; fewer columns where it has a lower rank.
    fn powered(&self, b: &Matrix<f32>) -> Matrix<f32> {
        let mut y = self.plain.times(b);
        self.smooth(&mut y);
        self.smooth_transposed(&mut y);
        orthonormal_columns(&self.plain.transposed_times(&y), NEW)
    }
}

/// Random signs, (width, count).
fn signs(width: usize, count: usize) -> Matrix<f32> {
    let mut signs = Matrix::zeros(width, count);
    for (row, out) in signs.values.chunks_exact_mut(count.max(1)).enumerate() {
        let mut stream = Stream::new(0, "free rows", row as u64);
        for out in out.chunks_mut(64) {
            let bits = stream.bits();
            for (bit, x) in out.iter_mut().enumerate() {
                *x = if bits >> bit & 1 == 1 { 1.0 } else { -1.0 };
            }
        }
    }
    signs
}

#[cfg(test)]
mod tests;
