//! The k best, without sorting all.

use std::cmp::Ordering;

/// A node that may enter a context.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    /// A lower bound of its score, and the estimate it is ranked by.
    pub score: f64,
    /// The score is at most `score + slack`.
    pub slack: f64,
    /// What its PageRank is divided by in a row of S.
    pub divisor: f64,
    /// Its PageRank, as estimated.
    pub pagerank: f64,
    /// Its number.
    pub node: u32,
}

/// Score descending, then node ascending.
pub(super) fn order(a: &Candidate, b: &Candidate) -> Ordering {
    b.score.total_cmp(&a.score).then(a.node.cmp(&b.node))
}

/// Keeps the best of all that is offered. A buffer of a few times `keep` is cut
/// back whenever it is full: one comparison for most offers, and the result does
/// not depend on their order.
#[derive(Debug, Default)]
pub(super) struct Best {
    keep: usize,
    floor: f64,
    kept: Vec<Candidate>,
}

impl Best {
    pub(super) fn reset(&mut self, keep: usize) {
        self.keep = keep;
        self.floor = 0.0;
        self.kept.clear();
    }

    /// No score below this enters any more.
    #[inline]
    pub(super) fn floor(&self) -> f64 {
        self.floor
    }

    pub(super) fn offer(&mut self, candidate: Candidate) {
        if self.keep == 0 || candidate.score < self.floor {
            return;
        }
        self.kept.push(candidate);
        if self.kept.len() >= 2 * self.keep + 16 {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.kept.len() > self.keep {
            self.kept.select_nth_unstable_by(self.keep - 1, order);
            self.kept.truncate(self.keep);
            self.floor = self.kept[self.keep - 1].score;
        }
    }

    /// What is kept, as it stands.
    pub(super) fn kept(&mut self) -> &mut Vec<Candidate> {
        &mut self.kept
    }

    /// The best, in order.
    pub(super) fn finish(&mut self) -> &mut Vec<Candidate> {
        if self.keep > 0 {
            self.cut();
        }
        self.kept.sort_unstable_by(order);
        &mut self.kept
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
            all.iter().for_each(|&candidate| best.offer(candidate));
            let mut sorted = all;
            sorted.sort_by(order);
            sorted.truncate(keep);
            prop_assert_eq!(best.finish(), &sorted);
        }
    }
}
