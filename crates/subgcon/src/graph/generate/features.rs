//! What is known of a node, given its class.
//!
//! Sparse rows are bags of words. Class c of k prefers the part of the
//! vocabulary that begins at c · width / k and is a quarter longer than
//! width / k, so that it shares words with the next class. Word j of a part of L
//! words has the probability of Zipf and Mandelbrot,
//!
//! ```text
//! P(j) ~ 1 / (j + s)         j = floor(s · ((1 + L / s)^u - 1)),  u uniform
//! ```
//!
//! and with probability `noise` a word is any word instead. Dense rows are
//! centroid(class) + noise · Gaussian, with centroids that are Gaussian too.
//! Every row has a stream of its own: any cut into blocks gives the same bytes.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::rng::Stream;

/// s: with a shift the commonest words are not in every row.
const ZIPF_SHIFT: f64 = 8.0;
/// Draws a word of a row may take on average before the row is left shorter.
const PATIENCE: usize = 8;
/// Rows that one thread makes at a time.
const ROWS: usize = 1024;

/// Which features a generated graph has.
#[derive(Debug, Clone, PartialEq)]
pub enum FeatureKind {
    /// None.
    None,
    /// Words that are there or not: ones among zeros.
    Sparse {
        /// Words in the vocabulary.
        width: usize,
        /// Words of a node on average; rows have between half and one and a
        /// half times as many. A row whose class has too few words is shorter.
        per_node: usize,
        /// Share of words that say nothing of the class.
        noise: f64,
    },
    /// Numbers around a centroid for each class.
    Dense {
        /// Numbers of a node.
        width: usize,
        /// Standard deviation around the centroid; centroids have 1.
        noise: f64,
    },
}

/// Features of some nodes, row by row.
#[derive(Debug, Clone, PartialEq)]
pub enum FeatureBlock {
    /// (rows, width).
    Dense(Vec<f32>),
    /// Sparse rows.
    Sparse {
        /// rows + 1 positions, from 0.
        offsets: Vec<u64>,
        /// Column of each entry, rising in a row.
        columns: Vec<u32>,
        /// Value of each entry.
        values: Vec<f32>,
    },
}

impl FeatureKind {
    /// Number of columns.
    pub fn width(&self) -> usize {
        match *self {
            FeatureKind::None => 0,
            FeatureKind::Sparse { width, .. } | FeatureKind::Dense { width, .. } => width,
        }
    }

    pub(super) fn validate(&self) -> Result<()> {
        let width = self.width();
        if *self != FeatureKind::None && !(1..=u32::MAX as usize).contains(&width) {
            let remedy = "choose between 1 and 2^32 - 1 columns, or no features";
            return Err(Error::setting("--feature-width", width, remedy));
        }
        match *self {
            FeatureKind::Sparse { per_node, .. } if !(1..=width).contains(&per_node) => {
                let remedy = format!("choose between 1 and the width of features, {width}");
                Err(Error::setting("--features-per-node", per_node, remedy))
            }
            FeatureKind::Sparse { noise, .. } if !(0.0..=1.0).contains(&noise) => {
                Err(Error::setting("--feature-noise", noise, "choose a share between 0 and 1"))
            }
            FeatureKind::Dense { noise, .. } if !(noise >= 0.0 && noise.is_finite()) => {
                let remedy = "choose a standard deviation of 0 or more";
                Err(Error::setting("--feature-noise", noise, remedy))
            }
            _ => Ok(()),
        }
    }

    /// Rows of nodes whose classes `class` tells. Without features these are
    /// dense rows of width 0.
    pub(super) fn rows(
        &self,
        rows: Range<u32>,
        classes: u64,
        seed: u64,
        class: impl Fn(u32) -> u64 + Sync,
    ) -> FeatureBlock {
        match *self {
            FeatureKind::None => FeatureBlock::Dense(Vec::new()),
            FeatureKind::Sparse { width, per_node, noise } => {
                let words = Words::new(width, per_node, noise, classes);
                sparse_rows(rows, |node, row| {
                    words.draw(class(node), &mut Stream::new(seed, "words", node.into()), row);
                })
            }
            FeatureKind::Dense { width, noise } => {
                FeatureBlock::Dense(dense_rows(rows, width, noise, classes, seed, class))
            }
        }
    }
}

/// Joins rows that `fill` writes into an empty vector each.
fn sparse_rows(rows: Range<u32>, fill: impl Fn(u32, &mut Vec<u32>) + Sync) -> FeatureBlock {
    let parts: Vec<(Vec<usize>, Vec<u32>)> = (0..rows.len().div_ceil(ROWS))
        .into_par_iter()
        .map(|part| {
            let first = rows.start + (part * ROWS) as u32;
            let (mut lengths, mut columns, mut row) = (Vec::new(), Vec::new(), Vec::new());
            for node in first..rows.end.min(first.saturating_add(ROWS as u32)) {
                row.clear();
                fill(node, &mut row);
                lengths.push(row.len());
                columns.extend_from_slice(&row);
            }
            (lengths, columns)
        })
        .collect();
    let mut offsets = Vec::with_capacity(rows.len() + 1);
    let mut columns = Vec::with_capacity(parts.iter().map(|(_, columns)| columns.len()).sum());
    let mut end = 0;
    offsets.push(end);
    for (lengths, part) in parts {
        columns.extend_from_slice(&part);
        for length in lengths {
            end += length as u64;
            offsets.push(end);
        }
    }
    let values = vec![1.0; columns.len()];
    FeatureBlock::Sparse { offsets, columns, values }
}

fn dense_rows(
    rows: Range<u32>,
    width: usize,
    noise: f64,
    classes: u64,
    seed: u64,
    class: impl Fn(u32) -> u64 + Sync,
) -> Vec<f32> {
    let draw_centroid = |class: u64, to: &mut [f32]| {
        let mut stream = Stream::new(seed, "centroid", class);
        to.iter_mut().for_each(|x| *x = stream.normal() as f32);
    };
    // (classes, width), unless it would be longer than the rows themselves:
    // then each row draws its centroid again.
    let mut centroids = Vec::new();
    if classes <= rows.len() as u64 {
        centroids = vec![0.0; classes as usize * width];
        let each = centroids.par_chunks_exact_mut(width).enumerate();
        each.for_each(|(class, centroid)| draw_centroid(class as u64, centroid));
    }
    let mut values = vec![0.0f32; rows.len() * width];
    let each = values.par_chunks_exact_mut(width).zip(rows.into_par_iter());
    each.with_min_len(16).for_each(|(row, node)| {
        let class = class(node);
        if centroids.is_empty() {
            draw_centroid(class, row);
        } else {
            row.copy_from_slice(&centroids[class as usize * width..][..width]);
        }
        let mut stream = Stream::new(seed, "dense", node.into());
        row.iter_mut().for_each(|x| *x += (noise * stream.normal()) as f32);
    });
    values
}

/// Draws the words of a node.
struct Words {
    width: u64,
    per_node: u64,
    noise: f64,
    classes: u64,
    /// Words in the part of a class.
    part: u64,
    /// ln(1 + L / s).
    spread: f64,
}

impl Words {
    fn new(width: usize, per_node: usize, noise: f64, classes: u64) -> Words {
        let (width, per_node) = (width as u64, per_node as u64);
        let part = (5 * width).div_ceil(4 * classes).min(width);
        let spread = (part as f64 / ZIPF_SHIFT).ln_1p();
        Words { width, per_node, noise, classes, part, spread }
    }

    /// First word of a class's part.
    fn start(&self, class: u64) -> u64 {
        (u128::from(class) * u128::from(self.width) / u128::from(self.classes)) as u64
    }

    /// Fills `row` with distinct rising columns.
    fn draw(&self, class: u64, stream: &mut Stream, row: &mut Vec<u32>) {
        let half = self.per_node / 2;
        let wanted = self.per_node - half + stream.below(2 * half + 1);
        let wanted = wanted.min(self.width) as usize;
        for _ in 0..PATIENCE * wanted {
            let word = if stream.unit() < self.noise {
                stream.below(self.width)
            } else {
                let place = ZIPF_SHIFT * (self.spread * stream.unit()).exp_m1();
                (self.start(class) + (place as u64).min(self.part - 1)) % self.width
            } as u32;
            if let Err(place) = row.binary_search(&word) {
                row.insert(place, word);
                if row.len() == wanted {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares of a part's words, integrated rank by rank, against drawn ones.
    #[test]
    fn words_follow_the_law_of_their_class() {
        let words = Words::new(100, 1, 0.2, 4);
        assert_eq!((words.part, words.start(3)), (32, 75));
        let mut counts = [0u32; 100];
        let draws = 200_000;
        for node in 0..draws {
            let mut row = Vec::new();
            words.draw(3, &mut Stream::new(1, "words", node), &mut row);
            counts[row[0] as usize] += 1;
        }
        let norm: f64 = (1.0 + 32.0 / 8.0f64).ln();
        for word in 0..100u32 {
            // The last part goes on at the first word.
            let j = f64::from((word + 100 - 75) % 100);
            let own = if j < 32.0 { ((j + 9.0) / (j + 8.0)).ln() / norm } else { 0.0 };
            let expected = draws as f64 * (0.8 * own + 0.2 / 100.0);
            let error = (f64::from(counts[word as usize]) - expected).abs();
            assert!(error < 5.0 * expected.sqrt(), "{word}: {error} of {expected}");
        }
    }

    #[test]
    fn rows_are_about_as_long_as_asked_and_end_where_words_do() {
        let lengths = |width, per_node, classes| -> Vec<usize> {
            let words = Words::new(width, per_node, 0.0, classes);
            let draw = |node| {
                let mut row = Vec::new();
                words.draw(0, &mut Stream::new(1, "words", node), &mut row);
                assert!(row.windows(2).all(|pair| pair[0] < pair[1]));
                row.len()
            };
            (0..2000).map(draw).collect()
        };
        let common = lengths(500, 15, 2);
        assert_eq!((common.iter().min(), common.iter().max()), (Some(&8), Some(&22)));
        let mean = common.iter().sum::<usize>() as f64 / 2000.0;
        assert!((mean - 15.0).abs() < 0.5, "{mean}");
        assert!(lengths(10, 10, 10).iter().all(|&length| (1..=2).contains(&length)));
        assert!(lengths(1, 1, 1000).iter().all(|&length| length == 1));
    }

    #[test]
    fn dense_rows_scatter_around_their_class() {
        let kind = FeatureKind::Dense { width: 50, noise: 0.5 };
        let FeatureBlock::Dense(values) = kind.rows(0..2000, 2, 1, |node| u64::from(node % 2))
        else {
            panic!("dense")
        };
        let squares = |step: usize| {
            let pairs = values.chunks(50).zip(values[50 * step..].chunks(50));
            let sum: f32 =
                pairs.flat_map(|(a, b)| a.iter().zip(b)).map(|(x, y)| (x - y).powi(2)).sum();
            f64::from(sum) / ((2000 - step) * 50) as f64
        };
        // Two rows of a class differ by noise alone: variance 2 · 0.5².
        assert!((squares(2) - 0.5).abs() < 0.02, "{}", squares(2));
        // Centroids differ by variance 2 on top, over 50 numbers.
        assert!((squares(1) - 2.5).abs() < 1.5, "{}", squares(1));
        // Whether centroids are kept or drawn again shows nowhere.
        let one = kind.rows(1..2, 2, 1, |node| u64::from(node % 2));
        assert_eq!(one, FeatureBlock::Dense(values[50..100].to_vec()));
    }
}
