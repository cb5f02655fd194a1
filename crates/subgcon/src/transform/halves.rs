//! What do two halves of a node's features say, each without the other?
//!
//! Every column falls into one of two halves. A half is folded into [`PLACES`] numbers:
//! column c adds x_c or −x_c, by a hash of c, to a place that is a hash of c too (a *count
//! sketch*; Charikar, Chen and Farach-Colton 2002). Inner products of folded rows are those
//! of the rows in the mean, off by about |x| |y| / √PLACES. Features that are narrow
//! enough are not folded: even columns are one half, odd ones the other.

use rayon::prelude::*;

use super::Transform;
use super::rows::Entries;
use crate::graph::Features;
use crate::math::Matrix;
use crate::rng::mix;

/// Numbers that a half is folded into at most.
const PLACES: usize = 256;

/// Nodes that one task takes.
const NODES: usize = 64;

impl Transform {
    /// Scaled features of some nodes, not projected, in two halves.
    pub(crate) fn halves(&self, features: &Features, nodes: &[u32]) -> [Matrix<f32>; 2] {
        let (scaled, fold) = (self.scaled(features), Fold::new(self.width));
        let [mut first, mut second] = [(); 2].map(|()| Matrix::zeros(nodes.len(), fold.places));
        let size = NODES * fold.places;
        let rows = first.values.par_chunks_mut(size).zip(second.values.par_chunks_mut(size));
        rows.zip(nodes.par_chunks(NODES)).for_each(|((first, second), nodes)| {
            let mut entries = Entries::default();
            let mut whole = Vec::new();
            let rows =
                first.chunks_exact_mut(fold.places).zip(second.chunks_exact_mut(fold.places));
            for (mut row, &node) in rows.map(|(a, b)| [a, b]).zip(nodes) {
                match scaled.sparse_features() {
                    Some(matrix) => {
                        scaled.sparse(matrix, node, None, &mut entries);
                        let columns = entries.columns.iter().copied();
                        columns.zip(&entries.values).for_each(|(c, &x)| fold.add(&mut row, c, x));
                    }
                    None => {
                        whole.resize(self.width, 0.0);
                        scaled.dense(node, None, &mut whole);
                        (0..).zip(&whole).for_each(|(c, &x)| fold.add(&mut row, c, x));
                    }
                }
            }
        });
        [first, second]
    }
}

/// Where a column goes.
#[derive(Debug, Clone, Copy)]
struct Fold {
    places: usize,
    narrow: bool,
}

impl Fold {
    fn new(width: usize) -> Fold {
        Fold { places: width.div_ceil(2).min(PLACES), narrow: width <= 2 * PLACES }
    }

    /// Adds an entry to a row of both halves.
    #[inline]
    fn add(self, halves: &mut [&mut [f32]; 2], column: u32, x: f32) {
        if self.narrow {
            halves[column as usize % 2][column as usize / 2] += x;
        } else {
            let hash = mix(u64::from(column));
            let place = hash as usize % (2 * PLACES);
            halves[place / PLACES][place % PLACES] += if hash >> 63 == 0 { x } else { -x };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{FeatureSettings, RowScale};
    use crate::rng::Stream;

    fn plain(width: usize) -> Transform {
        let settings = FeatureSettings {
            rows: RowScale::None,
            projection: None,
            ..FeatureSettings::default()
        };
        Transform {
            settings,
            width,
            scale: None,
            shift: None,
            measures: None,
            vectors: None,
            singular_values: None,
            mean: None,
        }
    }

    fn dot(a: &[f32], b: &[f32]) -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum()
    }

    #[test]
    fn narrow_features_are_cut_and_not_folded() {
        let values: Vec<f32> = (0..10).map(|x| x as f32).collect();
        let features = Features::Dense { width: 5, values: values.into() };
        let [even, odd] = plain(5).halves(&features, &[1, 0]);
        assert_eq!(even.row(0), [5.0, 7.0, 9.0]);
        assert_eq!(odd.row(0), [6.0, 8.0, 0.0]);
        assert_eq!((even.row(1)[1], odd.row(1)[1]), (2.0, 3.0));
    }

    #[test]
    fn folding_keeps_inner_products_in_the_mean() {
        let (nodes, width) = (200, 3000);
        let mut stream = Stream::new(5, "test", 0);
        let values: Vec<f32> =
            (0..nodes * width).map(|_| if stream.unit() < 0.02 { 1.0 } else { 0.0 }).collect();
        let features = Features::Dense { width, values: values.clone().into() };
        let all: Vec<u32> = (0..nodes as u32).collect();
        let [first, second] = plain(width).halves(&features, &all);
        let row = |node: usize| &values[node * width..(node + 1) * width];
        let (mut bias, mut spread, mut pairs) = (0.0, 0.0, 0.0);
        for i in 0..nodes {
            for j in 0..i {
                let folded = dot(first.row(i), first.row(j)) + dot(second.row(i), second.row(j));
                let off = folded - dot(row(i), row(j));
                bias += off;
                spread += off * off;
                pairs += 1.0;
            }
        }
        // Rows have a squared norm of 60: 60 / √512 is what one product may be off by.
        let (bias, spread) = (bias / pairs, f64::sqrt(spread / pairs));
        assert!((1.0..5.0).contains(&spread), "{spread}");
        assert!(bias.abs() < 0.5, "{bias}");
        // Half of the columns each.
        let share = dot(&first.values, &first.values) / values.iter().sum::<f32>() as f64;
        assert!((0.4..0.6).contains(&share), "{share}");
    }
}
