//! The mean row of a model's output, which is subtracted.
//!
//! The mean over all nodes of smoothed rows is a weighted mean of the unsmoothed
//! ones: (1/n) 1ᵀ Π H = (1/n) (Πᵀ 1)ᵀ H. So nothing is smoothed but one column of
//! ones. In a large graph the mean is taken over [`MOST`] nodes, evenly spread.

use rayon::prelude::*;

use super::Model;
use super::embed::{CHUNK, Embedder};
use crate::error::Result;
use crate::graph::Smoother;
use crate::math::Matrix;
use crate::train::Material;

/// Nodes that are looked at.
const MOST: usize = 16_384;

/// The mean of each block that wants it, of those that are `asked` for.
pub(super) fn means(
    model: &Model,
    material: Material<'_>,
    asked: impl Fn(usize) -> bool,
) -> Result<Vec<Option<Vec<f32>>>> {
    let Material { adjacency, features, contexts, .. } = material;
    let embedder = Embedder::new(model, adjacency, features, contexts)?;
    let nodes = adjacency.nodes();
    let looked_at = nodes.min(MOST) as u64;
    let sample: Vec<u32> =
        (0..looked_at).map(|at| (at * nodes as u64 / looked_at) as u32).collect();
    let smoother = Smoother::new(adjacency).transposed();
    let mut means = Vec::new();
    for (at, block) in model.settings.output.iter().enumerate() {
        if !block.center || model.block_width(at) == 0 || !asked(at) {
            means.push(None);
            continue;
        }
        let weights = model.block_smoothing(at).map(|smoothing| {
            let mut ones = Matrix::of(nodes, 1, vec![1.0; nodes]);
            smoother.apply(smoothing, &mut ones);
            ones.values
        });
        let weight = |node: u32| weights.as_ref().map_or(1.0, |all| f64::from(all[node as usize]));
        let width = model.block_width(at);
        let sums: Vec<Vec<f64>> = sample
            .par_chunks(CHUNK)
            .map(|chunk| {
                let rows = embedder.plain(at, chunk);
                let mut sum = vec![0.0; width];
                for (row, &node) in rows.values.chunks_exact(width).zip(chunk) {
                    let weight = weight(node);
                    sum.iter_mut().zip(row).for_each(|(sum, &x)| *sum += weight * f64::from(x));
                }
                sum
            })
            .collect();
        // Weights of the sample stand for those of all nodes.
        let drawn: f64 = sample.iter().map(|&node| weight(node)).sum();
        let total: f64 = (0..nodes as u32).map(weight).sum();
        let factor = if drawn > 0.0 { total / nodes as f64 / drawn } else { 0.0 };
        let mut mean = vec![0.0; width];
        for sum in &sums {
            mean.iter_mut().zip(sum).for_each(|(mean, sum)| *mean += sum * factor);
        }
        means.push(Some(mean.into_iter().map(|mean| mean as f32).collect()));
    }
    Ok(means)
}
