//! Which directions in the space of features matter, after smoothing?
//!
//! V (width, k): the leading right singular vectors of Π X̂, where X̂ (nodes, width) are
//! the scaled features and Π the smoothing; they are the leading eigenvectors of
//! M = X̂ᵀ Πᵀ Π X̂. Found by block power iteration with a few columns more than asked:
//!
//! 1. B random, (width, k + 16);
//! 2. `rounds` times B ← orthonormal(M B), nearly so but the last time;
//! 3. BᵀM B = U Λ Uᵀ (Rayleigh–Ritz), V = the first k columns of B U, singular values √Λ.
//!
//! So M is applied to `rounds` + 1 matrices of k + 16 columns, and to two where B has as many columns
//! as there are features. Where those are more columns in all than M has itself, M is found
//! first, from the unit vectors, and the rest is small (but for weak directions, see
//! [`DOUBTFUL`]). V is orthonormal and not whitened: X̂ V keeps the lengths that X̂ has in
//! these directions.
//!
//! M B is made 64 columns at a time, since Π takes every column by itself: memory is
//! a few matrices of (nodes, 64) and of (width, k), and M, whatever X̂ is. Products with X̂ and
//! Π run in f32, sums over nodes and all that is (width, k) in f64.

use nalgebra::{DMatrix, SymmetricEigen};
use rayon::prelude::*;

use super::orthonormal::{nearly_orthonormal, orthonormal};
use super::products::{times, transposed_times};
use super::rows::Scaled;
use crate::config::ProjectionSettings;
use crate::error::{Error, Result};
use crate::graph::{Adjacency, Smoother, Smoothing};
use crate::math::{Matrix, Write, gemm};
use crate::progress::Progress;
use crate::rng::Stream;

/// Columns beyond those asked for: the last ones of a block converge last.
const EXTRA: usize = 16;

/// Columns of B that go through Π together.
const COLUMNS: usize = 64;

/// Columns of M, a matrix of f64, up to which it may be made.
const WHOLE: usize = 2048;

/// Singular values below this share of the largest are rounding: products in f32
/// know about seven digits.
const NOTHING: f64 = 1e-5;

/// Of M itself, whose rounding is that of its largest entries, no singular values below this share
/// are told: then B goes through two more rounds, in which every direction has its own rounding.
const DOUBTFUL: f32 = 2e-3;

/// What was found.
pub(super) struct Projection {
    /// V, (width, k).
    pub(super) vectors: Matrix<f32>,
    /// (k), falling.
    pub(super) singular_values: Vec<f32>,
}

/// The leading right singular vectors of Π X̂, of X̂ where there is no smoothing; fewer than
/// asked for where the rank is lower.
pub(super) fn project(
    settings: &ProjectionSettings,
    smoothing: Option<Smoothing>,
    rows: &Scaled<'_>,
    adjacency: &Adjacency,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Projection> {
    let (nodes, width) = (rows.features.nodes(), rows.features.width());
    let count = (settings.width + EXTRA).min(width).min(nodes);
    // A basis of all there is has nothing to converge to: one round puts strong before weak.
    let rounds = if count == width { settings.rounds.min(1) } else { settings.rounds };
    let whole = width <= WHOLE.min(count * (rounds + 1));
    let blocks = match whole {
        true => width.div_ceil(COLUMNS) as u64,
        false => count.div_ceil(COLUMNS) as u64 * (rounds as u64 + 1),
    };
    progress.begin("projecting features", blocks, "blocks");
    let smoothers = smoothing.map(|smoothing| {
        let forward = Smoother::new(adjacency);
        (smoothing, forward.transposed(), forward)
    });
    let product = |b: &Matrix<f64>| {
        let mut z = Matrix::zeros(width, b.width);
        for start in (0..b.width).step_by(COLUMNS) {
            let columns = start..(start + COLUMNS).min(b.width);
            let block = (0..width).flat_map(|row| &b.row(row)[columns.clone()]);
            let block = block.map(|&x| x as f32).collect();
            let mut y = times(rows, &Matrix::of(width, columns.len(), block));
            if let Some((smoothing, backward, forward)) = &smoothers {
                forward.apply(*smoothing, &mut y);
                backward.apply(*smoothing, &mut y);
            }
            let part = transposed_times(rows, &y);
            for row in 0..width {
                z.row_mut(row)[columns.clone()].copy_from_slice(part.row(row));
            }
            progress.advance(1);
        }
        if z.values.iter().all(|x| x.is_finite()) {
            Ok(z)
        } else {
            Err(Error::setting(
                "features.projection",
                "overflow",
                "the features are too large to multiply; standardize them, or scale their rows \
                 to norm 1",
            ))
        }
    };
    let m = match whole {
        true => Some(product(&unit_vectors(width))?),
        false => None,
    };
    let image_of = |b: &Matrix<f64>| match &m {
        None => product(b),
        Some(m) => {
            let mut image = Matrix::zeros(width, b.width);
            gemm(&mut image, m.view(), b.view(), Write::Set);
            Ok(image)
        }
    };
    let mut basis = start(width, count, seed);
    for round in 0..rounds {
        let mut stream = Stream::new(seed, "projection-fill", round as u64);
        let image = image_of(&basis)?;
        let last = round + 1 == rounds;
        basis = if last { orthonormal } else { nearly_orthonormal }(&image, &mut stream);
    }
    let mut found = ritz(&basis, &image_of(&basis)?, settings.width);
    let sure = |found: &Projection| {
        let values = &found.singular_values;
        let ends = values.first().zip(values.last());
        let even = ends.is_some_and(|(first, last)| *last > DOUBTFUL * first);
        even && values.len() == settings.width.min(count)
    };
    if m.is_some() && !found.as_ref().is_some_and(sure) {
        progress.end();
        // A basis of all there is has the weak directions in it, another may have lost them.
        let again = if count == width { 0 } else { rounds.min(2) };
        let blocks = count.div_ceil(COLUMNS) as u64 * (again as u64 + 1);
        progress.begin("projecting onto weak directions", blocks, "blocks");
        for round in 0..again {
            let mut stream = Stream::new(seed, "projection-again", round as u64);
            basis = orthonormal(&product(&basis)?, &mut stream);
        }
        found = ritz(&basis, &product(&basis)?, settings.width);
    }
    progress.end();
    found.ok_or_else(|| {
        Error::setting(
            "features.projection.width",
            settings.width,
            "all features are zero and there is nothing to project; give the nodes features",
        )
    })
}

fn unit_vectors(width: usize) -> Matrix<f64> {
    let mut vectors = Matrix::zeros(width, width);
    (0..width).for_each(|at| vectors.row_mut(at)[at] = 1.0);
    vectors
}

/// Normal numbers, a stream a row.
fn start(width: usize, count: usize, seed: u64) -> Matrix<f64> {
    let mut start = Matrix::zeros(width, count);
    start.values.par_chunks_mut(count.max(1)).enumerate().for_each(|(row, out)| {
        let mut stream = Stream::new(seed, "projection", row as u64);
        out.iter_mut().for_each(|x| *x = stream.normal());
    });
    start
}

/// The best vectors within the span of B, given M B; none where M B is zero.
fn ritz(basis: &Matrix<f64>, image: &Matrix<f64>, width: usize) -> Option<Projection> {
    let count = basis.width;
    let mut small = Matrix::zeros(count, count);
    gemm(&mut small, basis.view().transposed(), image.view(), Write::Set);
    // Both triangles are the same but for rounding. Columns of B come strong to weak and an
    // image is rounded relative to its length: the later of two knows better.
    let symmetric =
        DMatrix::from_fn(count, count, |row, column| small.row(row.min(column))[row.max(column)]);
    let eigen = SymmetricEigen::new(symmetric);
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
    let largest = order.first().map_or(0.0, |&first| eigen.eigenvalues[first]);
    order.retain(|&at| {
        let value = eigen.eigenvalues[at];
        value > 0.0 && value > NOTHING * NOTHING * largest
    });
    order.truncate(width);
    if order.is_empty() {
        return None;
    }
    let mut rotation = Matrix::zeros(count, order.len());
    for row in 0..count {
        for (out, &at) in rotation.row_mut(row).iter_mut().zip(&order) {
            *out = eigen.eigenvectors[(row, at)];
        }
    }
    let mut vectors = Matrix::zeros(basis.rows, order.len());
    gemm(&mut vectors, basis.view(), rotation.view(), Write::Set);
    fix_signs(&mut vectors);
    let singular_values = order.iter().map(|&at| eigen.eigenvalues[at].sqrt() as f32).collect();
    Some(Projection { vectors: vectors.cast(), singular_values })
}

/// The entry of largest magnitude of each column, the first of equals, becomes positive.
fn fix_signs(vectors: &mut Matrix<f64>) {
    let mut largest = vec![0f64; vectors.width];
    for row in vectors.values.chunks_exact(vectors.width) {
        for (largest, &x) in largest.iter_mut().zip(row) {
            if x.abs() > largest.abs() {
                *largest = x;
            }
        }
    }
    for row in vectors.values.chunks_exact_mut(vectors.width) {
        for (x, largest) in row.iter_mut().zip(&largest) {
            *x *= largest.signum();
        }
    }
}
