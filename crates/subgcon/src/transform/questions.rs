//! What do random questions say of a node's features?
//!
//! A question weighs every column +1 or −1 by a hash; its answer is the sum of a node's scaled
//! features so weighed where that is above 0, and 0 elsewhere: max(0, x̂ · r). The sum alone
//! would be one more direction. Cut off, it knows of columns that come together, which no
//! mean over neighbours does: how many neighbours have both this and that is in the mean of
//! answers and not in the mean of features.
//!
//! Nothing is learnt and nothing stored: the hash is of the seed, the column and the question.

use rayon::prelude::*;

use super::Transform;
use super::rows::Entries;
use crate::graph::Features;
use crate::math::Matrix;
use crate::rng::{Stream, mix};

/// Nodes that one task takes.
const NODES: usize = 64;
/// Questions that one hash weighs a column for.
const TOGETHER: usize = 64;

impl Transform {
    /// Answers of some nodes, (nodes, questions). Features are scaled and not projected.
    pub(crate) fn answers(
        &self,
        features: &Features,
        nodes: &[u32],
        questions: usize,
        seed: u64,
    ) -> Matrix<f32> {
        let scaled = self.scaled(features);
        let key = Stream::new(seed, "questions", 0).bits();
        let mut answers = Matrix::zeros(nodes.len(), questions);
        let tasks = answers.values.par_chunks_mut(NODES * questions.max(1));
        tasks.zip(nodes.par_chunks(NODES)).for_each(|(answers, nodes)| {
            let mut entries = Entries::default();
            let mut whole = Vec::new();
            for (row, &node) in answers.chunks_exact_mut(questions).zip(nodes) {
                match scaled.sparse_features() {
                    Some(matrix) => {
                        scaled.sparse(matrix, node, None, &mut entries);
                        let columns = entries.columns.iter().zip(&entries.values);
                        columns.for_each(|(&column, &x)| add(row, key, column, x));
                    }
                    None => {
                        whole.resize(self.width, 0.0);
                        scaled.dense(node, None, &mut whole);
                        let columns = (0..).zip(&whole).filter(|(_, x)| **x != 0.0);
                        columns.for_each(|(column, &x)| add(row, key, column, x));
                    }
                }
                row.iter_mut().for_each(|sum| *sum = sum.max(0.0));
            }
        });
        answers
    }
}

/// Adds a column's share to all sums.
#[inline]
fn add(sums: &mut [f32], key: u64, column: u32, x: f32) {
    for (at, sums) in sums.chunks_mut(TOGETHER).enumerate() {
        let signs = mix(key ^ (u64::from(column) << 32 | at as u64));
        for (bit, sum) in sums.iter_mut().enumerate() {
            let sign = ((signs >> bit) as u32) << 31;
            *sum += f32::from_bits(x.to_bits() ^ sign);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FeatureSettings;
    use crate::graph::Adjacency;
    use crate::math::Sparse;
    use crate::progress::Silent;

    fn transform(features: &Features) -> Transform {
        let nodes = features.nodes();
        let alone = Adjacency {
            offsets: vec![0; nodes + 1].into(),
            neighbours: Vec::new().into(),
            weights: None,
            directed: false,
        };
        Transform::fit(&FeatureSettings::default(), features, &alone, 0, &Silent).unwrap()
    }

    /// Columns as rows: what each question weighs them with.
    fn weights(width: usize, questions: usize, seed: u64) -> Matrix<f32> {
        let one = |sign: f32| {
            let values = (0..width * width)
                .map(|at| if at / width == at % width { sign } else { 0.0 })
                .collect::<Vec<f32>>();
            let features = Features::Dense { width, values: values.into() };
            let all: Vec<u32> = (0..width as u32).collect();
            transform(&features).answers(&features, &all, questions, seed)
        };
        // max(0, r) − max(0, −r) = r.
        let (mut above, below) = (one(1.0), one(-1.0));
        above.values.iter_mut().zip(&below.values).for_each(|(a, b)| *a -= b);
        above
    }

    #[test]
    fn weights_are_signs_that_do_not_hang_together() {
        let (width, questions) = (300, 448);
        let signs = weights(width, questions, 7);
        assert!(signs.values.iter().all(|&sign| sign.abs() == 1.0));
        let largest = |count: usize, length: usize, product: &dyn Fn(usize, usize) -> f32| {
            let pairs = (0..count).flat_map(|a| (0..a).map(move |b| (a, b)));
            pairs.map(|(a, b)| product(a, b).abs()).fold(0.0, f32::max) / (length as f32).sqrt()
        };
        let rows = |a: usize, b: usize| -> f32 {
            signs.row(a).iter().zip(signs.row(b)).map(|(a, b)| a * b).sum()
        };
        let columns = |a: usize, b: usize| -> f32 {
            (0..width).map(|row| signs.row(row)[a] * signs.row(row)[b]).sum()
        };
        // Of 10⁵ pairs the largest is 4.4 deviations off in the mean.
        assert!(largest(width, questions, &rows) < 5.5);
        assert!(largest(questions, width, &columns) < 5.5);
        let other = weights(width, questions, 8);
        let same = signs.values.iter().zip(&other.values).filter(|(a, b)| a == b).count();
        let share = same as f64 / signs.values.len() as f64;
        assert!((share - 0.5).abs() < 0.01, "{share}");
    }

    #[test]
    fn answers_are_sums_cut_off_at_zero() {
        // Three nodes over five columns, against the weights one by one.
        let signs = weights(5, 70, 3);
        let rows = [[0.0, 2.0, 0.0, -1.0, 0.5], [0.0; 5], [1.0, 0.0, 0.0, 0.0, 3.0]];
        let dense = Features::Dense { width: 5, values: rows.concat().into() };
        let sparse = Features::Sparse(Sparse {
            offsets: vec![0, 3, 3, 5].into(),
            columns: vec![1, 3, 4, 0, 4].into(),
            values: vec![2.0, -1.0, 0.5, 1.0, 3.0].into(),
            width: 5,
        });
        for features in [&dense, &sparse] {
            let answers = transform(features).answers(features, &[2, 1, 0], 70, 3);
            for (at, row) in [2, 1, 0].into_iter().enumerate() {
                for question in 0..70 {
                    let weighed = rows[row].iter().enumerate();
                    let sum: f32 = weighed.map(|(c, x)| x * signs.row(c)[question]).sum();
                    assert_eq!(answers.row(at)[question], sum.max(0.0));
                }
            }
        }
    }

    #[test]
    fn more_questions_begin_like_fewer() {
        let features = Features::Dense { width: 2, values: vec![1.0, 2.0, 3.0, 4.0].into() };
        let transform = transform(&features);
        let (few, many) = (
            transform.answers(&features, &[0, 1], 65, 1),
            transform.answers(&features, &[0, 1], 130, 1),
        );
        assert_eq!(few.row(1), &many.row(1)[..65]);
    }
}
