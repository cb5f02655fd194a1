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

use std::borrow::Cow;
use std::time::Instant;

use rayon::prelude::*;

use crate::batch::Inputs;
use crate::config::{FeatureSettings, RowScale, Standardize};
use crate::error::{Error, Result};
use crate::graph::{Adjacency, Features, Smoother, Smoothing};
use crate::math::{Matrix, Write, add_rows, gemm, gemm_slice, orthonormal_columns};
use crate::progress::Silent;
use crate::rng::Stream;
use crate::transform::Transform;

/// Beyond this many numbers features are not written out at their full width.
const MOST_NUMBERS: usize = 1 << 28;
/// A column of which less than this share, squared, is new is left out.
const NEW: f64 = 1e-12;
/// Nodes whose features are scaled together.
const NODES: usize = 4096;

/// One kind of row.
#[derive(Debug, Clone)]
pub struct FreeRow {
    /// How it is called in tables.
    pub name: String,
    /// A row a node.
    pub rows: Matrix<f32>,
    /// Seconds that it took.
    pub seconds: f64,
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
    mut visit: impl FnMut(FreeRow) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let plain = Plain::new(adjacency, features, structural)?;
    let smoother = Smoother::new(adjacency);
    let whole = adjacency.nodes() * features.width() <= MOST_NUMBERS;
    let mut raw = None;
    if whole {
        let started = Instant::now();
        let rows = plain.rows();
        raw = Some(rows.clone());
        let seconds = started.elapsed().as_secs_f64();
        visit(FreeRow { name: "raw features".into(), rows, seconds })?;
    }
    let mut basis: Option<Matrix<f32>> = None;
    for (name, smoothing) in KINDS {
        if let Some(raw) = &raw {
            let started = Instant::now();
            let mut rows = raw.clone();
            smoother.apply(smoothing, &mut rows);
            let seconds = started.elapsed().as_secs_f64();
            visit(FreeRow { name: name.into(), rows, seconds })?;
        }
        if width >= features.width() {
            continue;
        }
        let started = Instant::now();
        let found = match &basis {
            None => {
                let start = signs(features.width(), width);
                plain.powered(&plain.powered(&start, &smoother, smoothing), &smoother, smoothing)
            }
            Some(basis) => plain.powered(basis, &smoother, smoothing),
        };
        let mut rows = plain.times(&found);
        smoother.apply(smoothing, &mut rows);
        let seconds = started.elapsed().as_secs_f64();
        basis = Some(found);
        visit(FreeRow { name: format!("{name}, projected"), rows, seconds })?;
    }
    Ok(())
}

/// X̂, some nodes at a time.
struct Plain<'a> {
    features: &'a Features,
    transform: Transform,
    nodes: Vec<u32>,
    /// All of it, where that is not much.
    scaled: Option<Inputs<f32>>,
}

impl<'a> Plain<'a> {
    fn new(adjacency: &Adjacency, features: &'a Features, structural: bool) -> Result<Plain<'a>> {
        let settings = FeatureSettings {
            structural,
            standardize: Standardize::Auto,
            rows: RowScale::Norm(1.0),
            ..FeatureSettings::default()
        };
        let transform = Transform::fit(&settings, features, adjacency, 0, &Silent)?;
        let nodes: Vec<u32> = (0..adjacency.nodes() as u32).collect();
        let scaled = (nodes.len() <= NODES).then(|| transform.inputs(features, &nodes, &[]));
        Ok(Plain { features, transform, nodes, scaled })
    }

    /// Some rows of X̂.
    fn inputs(&self, nodes: &[u32]) -> Cow<'_, Inputs<f32>> {
        match &self.scaled {
            Some(all) => Cow::Borrowed(all),
            None => Cow::Owned(self.transform.inputs(self.features, nodes, &[])),
        }
    }

    fn rows(&self) -> Matrix<f32> {
        self.transform.apply_dense(self.features, &self.nodes)
    }

    /// X̂ B, (nodes, k).
    fn times(&self, b: &Matrix<f32>) -> Matrix<f32> {
        let mut out = Matrix::zeros(self.nodes.len(), b.width);
        for (nodes, out) in self.nodes.chunks(NODES).zip(out.values.chunks_mut(NODES * b.width)) {
            match &*self.inputs(nodes) {
                Inputs::Dense(x) => gemm_slice(out, b.width, x.view(), b.view(), Write::Set),
                Inputs::Sparse(x) => {
                    let rows = out.par_chunks_mut(b.width).enumerate().with_min_len(16);
                    rows.for_each(|(unit, out)| {
                        let (columns, values) = x.unit(unit);
                        let entries = values.iter().zip(columns);
                        add_rows(out, b, entries.map(|(&x, &column)| (x, column as usize)));
                    });
                }
            }
        }
        out
    }

    /// X̂ᵀ Y, (width, k).
    fn transposed_times(&self, y: &Matrix<f32>) -> Matrix<f32> {
        let mut out = Matrix::zeros(self.features.width(), y.width);
        for (at, nodes) in self.nodes.chunks(NODES).enumerate() {
            let start = at * NODES;
            match &*self.inputs(nodes) {
                Inputs::Dense(x) => {
                    let y = y.view().some_rows(start..start + nodes.len());
                    gemm(&mut out, x.view().transposed(), y, Write::Add);
                }
                Inputs::Sparse(x) => {
                    let rows = out.values.par_chunks_mut(y.width).enumerate().with_min_len(16);
                    rows.for_each(|(column, out)| {
                        let (units, values) = x.column(column);
                        let entries = values.iter().zip(units);
                        add_rows(out, y, entries.map(|(&x, &unit)| (x, start + unit as usize)));
                    });
                }
            }
        }
        out
    }

    /// An orthonormal basis of M B; fewer columns where it has a lower rank.
    fn powered(&self, b: &Matrix<f32>, smoother: &Smoother, smoothing: Smoothing) -> Matrix<f32> {
        let mut y = self.times(b);
        smoother.apply(smoothing, &mut y);
        smoother.transposed().apply(smoothing, &mut y);
        orthonormal_columns(&self.transposed_times(&y), NEW)
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
mod tests {
    use nalgebra::{DMatrix, SymmetricEigen};

    use super::*;
    use crate::graph::{EdgeChunk, EdgeList, EdgeRules, merge, smooth};
    use crate::math::Sparse;

    /// A ring with chords.
    fn graph(nodes: u32, directed: bool) -> Adjacency {
        let edges = (0..nodes).flat_map(|a| [(a, (a + 1) % nodes), (a, (a * a + 7) % nodes)]);
        let (sources, targets): (Vec<u32>, Vec<u32>) = edges.unzip();
        let mut list = EdgeList::new();
        list.push(EdgeChunk { sources, targets, weights: Vec::new() });
        let mut builder = Adjacency::empty(directed);
        let rules = EdgeRules { directed, ..EdgeRules::default() };
        merge(nodes, list, rules, &mut builder, &Silent).unwrap();
        builder.finish()
    }

    /// About one entry in four is there, more of the first columns.
    fn numbers(nodes: usize, width: usize) -> Matrix<f32> {
        let mut stream = Stream::new(4, "features", 0);
        let value = |at: usize| {
            let there = stream.unit() < 0.5 / (1.0 + (at % width) as f64 / 20.0);
            if there { stream.unit() as f32 + 0.1 } else { 0.0 }
        };
        Matrix::of(nodes, width, (0..nodes * width).map(value).collect())
    }

    fn sparse(matrix: &Matrix<f32>) -> Features {
        let (mut offsets, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
        for row in 0..matrix.rows {
            for (column, &x) in matrix.row(row).iter().enumerate().filter(|(_, x)| **x != 0.0) {
                columns.push(column as u32);
                values.push(x);
            }
            offsets.push(columns.len() as u64);
        }
        Features::Sparse(Sparse {
            width: matrix.width,
            offsets: offsets.into(),
            columns: columns.into(),
            values: values.into(),
        })
    }

    fn all(adjacency: &Adjacency, features: &Features, width: usize) -> Vec<FreeRow> {
        let mut rows = Vec::new();
        free_rows(adjacency, features, false, width, |row| {
            rows.push(row);
            Ok::<(), Error>(())
        })
        .unwrap();
        rows
    }

    #[test]
    fn full_rows_are_scaled_and_smoothed_features() {
        let (adjacency, x) = (graph(90, false), numbers(90, 40));
        let rows = all(&adjacency, &sparse(&x), 8);
        let names: Vec<&str> = rows.iter().map(|row| &row.name[..]).collect();
        assert_eq!(
            names,
            [
                "raw features",
                "SGC features",
                "SGC features, projected",
                "PageRank-smoothed features",
                "PageRank-smoothed features, projected",
                "S2GC features",
                "S2GC features, projected",
            ]
        );
        let mut scaled = x.clone();
        for row in scaled.values.chunks_exact_mut(40) {
            let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
            row.iter_mut().for_each(|x| *x /= length);
        }
        let close = |a: &Matrix<f32>, b: &Matrix<f32>| {
            assert_eq!((a.rows, a.width), (b.rows, b.width));
            a.values.iter().zip(&b.values).for_each(|(a, b)| assert!((a - b).abs() < 1e-5));
        };
        close(&rows[0].rows, &scaled);
        for (name, smoothing) in KINDS {
            let mut wanted = scaled.clone();
            smooth(&adjacency, smoothing, &mut wanted);
            close(&rows.iter().find(|row| row.name == name).unwrap().rows, &wanted);
        }
        // Nothing to project where there are no more columns than that.
        assert_eq!(all(&adjacency, &sparse(&x), 40).len(), 4);
    }

    #[test]
    fn projected_rows_hold_nearly_all_that_so_many_columns_can() {
        for directed in [false, true] {
            let (adjacency, x) = (graph(300, directed), numbers(300, 120));
            let dense = Features::Dense { width: 120, values: x.values.clone().into() };
            let (rows, twins) = (all(&adjacency, &sparse(&x), 30), all(&adjacency, &dense, 30));
            for (name, _) in KINDS {
                let of = |rows: &[FreeRow], name: &str| {
                    rows.iter().find(|row| row.name == name).unwrap().rows.clone()
                };
                let (full, projected) = (of(&rows, name), of(&rows, &format!("{name}, projected")));
                assert_eq!(projected.width, 30);
                let energy = |matrix: &Matrix<f32>| {
                    matrix.values.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>()
                };
                // The best there is: the largest eigenvalues of the Gram matrix.
                let s =
                    DMatrix::from_row_iterator(300, 120, full.values.iter().map(|&x| f64::from(x)));
                let mut eigen: Vec<f64> =
                    SymmetricEigen::new(s.transpose() * s).eigenvalues.iter().copied().collect();
                eigen.sort_by(|a, b| b.total_cmp(a));
                let best: f64 = eigen[..30].iter().sum();
                let found = energy(&projected);
                assert!(found <= best * 1.0001 && found > 0.97 * best, "{name}: {found} of {best}");
                let twin = energy(&of(&twins, &format!("{name}, projected")));
                assert!((twin - found).abs() < 1e-3 * found, "{name}: {twin} and {found}");
            }
        }
    }
}
