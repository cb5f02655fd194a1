//! The k best, without sorting all.

use std::cmp::Ordering;

use super::settings::Ranking;

/// A node that may enter a context.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    /// A lower bound of its score, and the estimate it is ranked by.
    pub score: f64,
    /// The score is at most `score + slack`, where a proof asks for it.
    pub slack: f64,
    /// What its PageRank is divided by in a row of S.
    pub divisor: f64,
    /// Its PageRank, as estimated.
    pub pagerank: f64,
    /// Its number.
    pub node: u32,
}

/// What nodes are ranked by.
pub(super) fn score(ranking: Ranking, pagerank: f64, divisor: f64) -> f64 {
    match ranking {
        Ranking::Row => pagerank / divisor,
        Ranking::PageRank => pagerank,
    }
}

/// Score descending, then node ascending.
pub(super) fn order(a: &Candidate, b: &Candidate) -> Ordering {
    b.score.total_cmp(&a.score).then(a.node.cmp(&b.node))
}

/// What is offered, as one number that is compared at once: the score turned
/// round, then the node, then where it stands among all that is offered.
type Key = u128;

/// Keeps the best of all that is offered. A buffer of a few times `keep` is cut
/// back whenever it is full: one comparison for most offers, and the result does
/// not depend on their order. Scores are not negative.
#[derive(Debug, Default)]
pub(super) struct Best {
    keep: usize,
    floor: f64,
    kept: Vec<Key>,
}

impl Best {
    pub(super) fn reset(&mut self, keep: usize) {
        self.keep = keep;
        self.floor = 0.0;
        self.kept.clear();
    }

    /// No score below this enters any more.
    #[inline(always)]
    pub(super) fn floor(&self) -> f64 {
        self.floor
    }

    #[inline]
    pub(super) fn offer(&mut self, score: f64, node: u32, at: usize) {
        if self.keep == 0 || score < self.floor {
            return;
        }
        // Of numbers that are not negative the bits are in order.
        let rank = u128::from(!score.to_bits());
        self.kept.push(rank << 64 | u128::from(node) << 32 | at as u128);
        if self.kept.len() >= 2 * self.keep + 16 {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.kept.len() > self.keep {
            let (_, last, _) = self.kept.select_nth_unstable(self.keep - 1);
            self.floor = f64::from_bits(!((*last >> 64) as u64));
            self.kept.truncate(self.keep);
        }
    }

    /// The best, in order: where they stand among all that was offered.
    pub(super) fn finish(&mut self) -> impl Iterator<Item = usize> {
        if self.keep > 0 {
            self.cut();
        }
        self.kept.sort_unstable();
        self.kept.iter().map(|&key| key as u32 as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_best_are_those_of_a_full_sort(
            scores in prop::collection::vec(0u8..12, 0..300),
            keep in 0usize..40,
        ) {
            let all: Vec<Candidate> = scores
                .iter()
                .enumerate()
                .map(|(node, &score)| Candidate {
                    score: f64::from(score),
                    slack: 0.0,
                    divisor: 1.0,
                    pagerank: 0.0,
                    node: (node * 7919 % 1009) as u32,
                })
                .collect();
            let mut best = Best::default();
            best.reset(keep);
            for (at, candidate) in all.iter().enumerate() {
                best.offer(candidate.score, candidate.node, at);
            }
            let found: Vec<Candidate> = best.finish().map(|at| all[at]).collect();
            let mut sorted = all.clone();
            sorted.sort_by(order);
            sorted.truncate(keep);
            prop_assert_eq!(found, sorted);
        }
    }
}
