//! Features of nodes that have none of their own: degree and position.
//!
//! - **Degree**, `DEGREES` columns: column k is 1 where ⌊log₂(degree + 1)⌋ = k; the
//!   last stands for all larger ones.
//! - **Position**, `POSITIONS` columns: random signs, one row a node, smoothed over
//!   the graph and scaled to norm 1. Nodes that a walk joins get similar rows: a
//!   random projection of personalised PageRank. It means something only within
//!   one graph: positions of two graphs are not comparable.

use rayon::prelude::*;

use super::{Adjacency, Features, Smoother, Smoothing};
use crate::math::Matrix;
use crate::rng::{Stream, mix};

/// Columns that tell the degree.
const DEGREES: usize = 16;
/// Columns that tell the position.
const POSITIONS: usize = 112;

const SMOOTHING: Smoothing = Smoothing::PageRank { steps: 10, restart: 0.15 };

/// Degree and position of every node, dense.
pub fn structural(adjacency: &Adjacency, seed: u64) -> Features {
    let nodes = adjacency.nodes();
    let key = Stream::new(seed, "positions", 0).bits();
    let mut positions = Matrix::zeros(nodes, POSITIONS);
    positions.values.par_chunks_mut(POSITIONS).enumerate().for_each(|(node, row)| {
        // Two words of 64 signs a node.
        let words = [mix(key ^ (2 * node as u64)), mix(key ^ (2 * node as u64 + 1))];
        for (column, sign) in row.iter_mut().enumerate() {
            *sign = if words[column / 64] >> (column % 64) & 1 == 1 { 1.0 } else { -1.0 };
        }
    });
    Smoother::new(adjacency).apply(SMOOTHING, &mut positions);
    let width = DEGREES + POSITIONS;
    let mut values = vec![0.0; nodes * width];
    values.par_chunks_mut(width).enumerate().for_each(|(node, row)| {
        let degree = adjacency.degree(node as u32) + 1;
        row[(degree.ilog2() as usize).min(DEGREES - 1)] = 1.0;
        let position = positions.row(node);
        let norm = position.iter().map(|x| x * x).sum::<f32>().sqrt();
        if norm > 0.0 {
            row[DEGREES..].iter_mut().zip(position).for_each(|(x, p)| *x = p / norm);
        }
    });
    Features::Dense { width, values: values.into() }
}

/// Names of the columns.
pub fn structural_names() -> Vec<String> {
    let degrees = (0..DEGREES).map(|k| format!("degree {k}"));
    degrees.chain((0..POSITIONS).map(|k| format!("position {k}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::build;

    #[test]
    fn degrees_are_binned_and_positions_tell_components_apart() {
        // A triangle, a pair and a lone node.
        let edges = [(0, 1, 1.0), (1, 2, 1.0), (0, 2, 1.0), (3, 4, 1.0)];
        let graph = build(6, &edges, false, false);
        let Features::Dense { width, values } = structural(&graph, 7) else {
            panic!("they are dense")
        };
        let row = |node: usize| &values[node * width..(node + 1) * width];
        // Degrees 2, 1 and 0: logarithms of 3, 2 and 1.
        for (node, bin) in [(0, 1), (3, 1), (5, 0)] {
            let wanted: Vec<f32> = (0..DEGREES).map(|k| f32::from(u8::from(k == bin))).collect();
            assert_eq!(row(node)[..DEGREES], wanted);
        }
        let cosine = |a: usize, b: usize| {
            let (a, b) = (&row(a)[DEGREES..], &row(b)[DEGREES..]);
            a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>()
        };
        assert!((cosine(0, 0) - 1.0).abs() < 1e-5);
        assert!(cosine(0, 1) > 0.8 && cosine(3, 4) > 0.6, "{} {}", cosine(0, 1), cosine(3, 4));
        assert!(cosine(0, 3).abs() < 0.35 && cosine(0, 5).abs() < 0.35);
        assert_eq!(structural_names().len(), width);
    }
}
