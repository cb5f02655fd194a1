//! What are the mean and the spread of each column?
//!
//! Sums run in f64 over fixed spans of nodes that are added in order: the same
//! bytes for any number of threads, and one pass over features that may be mapped.

use rayon::prelude::*;

use super::rows::{Entries, Scaled, spans};
use crate::graph::Features;

/// Numbers that differ by less than this part of them are the same but for rounding.
const ROUNDING: f64 = 1e-6;

/// Moments of every column.
#[derive(Debug)]
pub(super) struct Moments {
    pub(super) columns: Vec<Column>,
    /// Nodes that they are of.
    pub(super) nodes: usize,
}

/// Moments of a column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) mean: f64,
    /// The population standard deviation.
    pub(super) deviation: f64,
    /// Entries that are not zero, and the sum of their squares.
    pub(super) entries: usize,
    pub(super) squares: f64,
    /// Whether all of them are the same but for rounding, or there are none.
    pub(super) alike: bool,
}

/// Sums over some entries of a column, x − o for its origin o.
#[derive(Debug, Clone, Copy)]
struct Sums {
    stored: usize,
    sum: f64,
    squares: f64,
    /// Of entries that are not zero: their number, Σ x², the least and the greatest.
    entries: usize,
    power: f64,
    least: f64,
    most: f64,
}

impl Sums {
    const NONE: Sums = Sums {
        stored: 0,
        sum: 0.0,
        squares: 0.0,
        entries: 0,
        power: 0.0,
        least: f64::INFINITY,
        most: f64::NEG_INFINITY,
    };

    #[inline]
    fn see(&mut self, x: f64, origin: f64) {
        let off = x - origin;
        self.stored += 1;
        self.sum += off;
        self.squares += off * off;
        if x != 0.0 {
            self.entries += 1;
            self.power += x * x;
            self.least = self.least.min(x);
            self.most = self.most.max(x);
        }
    }

    fn add(&mut self, other: &Sums) {
        self.stored += other.stored;
        self.sum += other.sum;
        self.squares += other.squares;
        self.entries += other.entries;
        self.power += other.power;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    /// Of a column of so many nodes. What is not stored is zero.
    fn column(&self, nodes: usize, origin: f64) -> Column {
        // Columns of a damaged store may be there twice.
        let (zeros, count) = (nodes.saturating_sub(self.stored) as f64, nodes.max(1) as f64);
        let mean = (self.sum - zeros * origin) / count;
        let square = (self.squares + zeros * origin * origin) / count;
        Column {
            mean: origin + mean,
            deviation: (square - mean * mean).max(0.0).sqrt(),
            entries: self.entries,
            squares: self.power,
            alike: self.most - self.least <= ROUNDING * self.least.abs().max(self.most.abs()),
        }
    }
}

/// Moments of all columns, over all nodes, or over those that have a feature.
///
/// One pass suffices, var = E(x − o)² − (E(x − o))², because the origin o is a value
/// of the column itself, that of the first node: a constant column comes out as exactly
/// zero, and (E(x − o))² is at most n · var, so that cancellation costs no more than
/// a factor n of the precision of f64. Zeros that are not stored are counted, not visited.
pub(super) fn moments(features: &Features, described_only: bool) -> Moments {
    let (nodes, width) = (features.nodes(), features.width());
    let counts = |node: &usize| !described_only || features.is_described(*node);
    let mut origin = vec![0f64; width];
    if let Some(first) = (0..nodes).find(counts) {
        visit(features, first, |column, x| origin[column] = x);
    }
    let sums = |span: std::ops::Range<usize>| {
        let (mut sums, mut seen) = (vec![Sums::NONE; width], 0);
        for node in span.filter(counts) {
            visit(features, node, |column, x| sums[column].see(x, origin[column]));
            seen += 1;
        }
        (sums, seen)
    };
    let (mut total, mut seen) = (vec![Sums::NONE; width], 0);
    for (part, nodes) in spans(nodes, width).into_par_iter().map(sums).collect::<Vec<_>>() {
        total.iter_mut().zip(&part).for_each(|(total, part)| total.add(part));
        seen += nodes;
    }
    let columns = total.iter().zip(&origin).map(|(sums, &o)| sums.column(seen, o)).collect();
    Moments { columns, nodes: seen }
}

/// Stored values of a row.
fn visit(features: &Features, node: usize, mut see: impl FnMut(usize, f64)) {
    match features {
        Features::Dense { width, values } => {
            let row = &values[node * width..(node + 1) * width];
            row.iter().enumerate().for_each(|(column, &x)| see(column, f64::from(x)));
        }
        Features::Sparse(matrix) => {
            let (columns, values) = matrix.row(node);
            let row = columns.iter().zip(values);
            row.for_each(|(&column, &x)| see(column as usize, f64::from(x)));
        }
    }
}

/// The mean row of X̂, (width).
pub(super) fn mean_row(rows: &Scaled<'_>) -> Vec<f64> {
    let (nodes, width) = (rows.features.nodes(), rows.features.width());
    let sum = |span: std::ops::Range<usize>| {
        let mut sum = vec![0f64; width];
        let (mut entries, mut row) = (Entries::default(), Vec::new());
        for node in span {
            match rows.sparse_features() {
                Some(matrix) => {
                    rows.sparse(matrix, node as u32, None, &mut entries);
                    for (&column, &x) in entries.columns.iter().zip(&entries.values) {
                        sum[column as usize] += f64::from(x);
                    }
                }
                None => {
                    row.resize(width, 0f32);
                    rows.dense(node as u32, None, &mut row);
                    sum.iter_mut().zip(&row).for_each(|(sum, &x)| *sum += f64::from(x));
                }
            }
        }
        sum
    };
    let mut total = vec![0f64; width];
    for part in spans(nodes, width).into_par_iter().map(sum).collect::<Vec<_>>() {
        total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
    }
    total.iter_mut().for_each(|x| *x /= nodes.max(1) as f64);
    total
}
