//! Which node does a random edge end at?
//!
//! Expected degrees follow a power law when the node of rank r has the weight
//!
//! ```text
//! w(r) = ∫ from r to r + 1 of (x + r0)^-g dx        g = 1 / (exponent - 1)
//! W(r) = ((r + r0)^(1 - g) - r0^(1 - g)) / (1 - g)   all ranks below r together
//! ```
//!
//! (Chung and Lu 2002; g = 0 makes all equal). W inverts in closed form: a
//! uniform number becomes a rank with one power and no table, whatever the
//! size. All communities share the law; a uniform number over their joined
//! weight gives the community by division and the rank by its remainder.
//!
//! The offset r0 bends the top of the law: it is the least one with which the
//! first node's expected degree is at most the square root of its community's
//! edge ends. Above that, most of its edges would be repeats.

use super::members::Seat;
use crate::rng::Stream;

/// Draws seats by weight.
#[derive(Debug, Clone)]
pub(super) struct Endpoints {
    classes: u64,
    /// Communities with one node more; they come first.
    larger: u64,
    /// Nodes in the others.
    size: u64,
    law: Law,
    /// Weight of a larger and of another community.
    weights: [f64; 2],
}

impl Endpoints {
    /// For `nodes` in `classes`, and about `ends` edge ends in each of them.
    pub(super) fn new(nodes: u64, classes: u64, exponent: f64, ends: f64) -> Endpoints {
        let (size, larger) = (nodes / classes, nodes % classes);
        let law = Law::capped(exponent, size, ends);
        let weights = [law.below(size + 1), law.below(size)];
        Endpoints { classes, larger, size, law, weights }
    }

    /// Any node.
    pub(super) fn anywhere(&self, stream: &mut Stream) -> Seat {
        self.seat(stream.unit() * self.start(self.classes))
    }

    /// A node of one community.
    pub(super) fn inside(&self, class: u64, stream: &mut Stream) -> Seat {
        Seat { class, rank: self.rank(class, stream.unit() * self.weight(class)) }
    }

    /// A node of any other community; there are at least two.
    pub(super) fn outside(&self, class: u64, stream: &mut Stream) -> Seat {
        let (start, weight) = (self.start(class), self.weight(class));
        let place = stream.unit() * (self.start(self.classes) - weight);
        let seat = self.seat(if place < start { place } else { place + weight });
        // Rounding can end on the border of the community that was left out.
        let next = if class + 1 < self.classes { class + 1 } else { 0 };
        if seat.class == class { Seat { class: next, rank: 0 } } else { seat }
    }

    fn weight(&self, class: u64) -> f64 {
        self.weights[usize::from(class >= self.larger)]
    }

    /// Weight of all communities below `class`.
    fn start(&self, class: u64) -> f64 {
        let larger = class.min(self.larger);
        larger as f64 * self.weights[0] + (class - larger) as f64 * self.weights[1]
    }

    /// The seat at a place in the joined weight.
    fn seat(&self, place: f64) -> Seat {
        let border = self.start(self.larger);
        let (first, end, weight, place) = if place < border {
            (0, self.larger, self.weights[0], place)
        } else {
            (self.larger, self.classes, self.weights[1], place - border)
        };
        let step = ((place / weight) as u64).min(end - first - 1);
        let class = first + step;
        Seat { class, rank: self.rank(class, place - step as f64 * weight) }
    }

    /// The rank at a place in one community's weight.
    fn rank(&self, class: u64, place: f64) -> u64 {
        let size = self.size + u64::from(class < self.larger);
        self.law.inverse(place).min(size - 1)
    }
}

/// The function W and its inverse.
#[derive(Debug, Clone)]
struct Law {
    /// 1 - g: in (0, 1].
    power: f64,
    /// r0.
    offset: f64,
    /// r0^(1 - g).
    offset_power: f64,
}

impl Law {
    fn new(exponent: f64, offset: f64) -> Law {
        let power = 1.0 - 1.0 / (exponent - 1.0);
        Law { power, offset, offset_power: offset.powf(power) }
    }

    /// The law with the least offset that keeps the first of `size` nodes from
    /// more than the square root of `ends`, or twice the mean if that is more.
    fn capped(exponent: f64, size: u64, ends: f64) -> Law {
        let limit = (1.0 / ends.max(1.0).sqrt()).max(2.0 / size as f64);
        let share = |offset| {
            let law = Law::new(exponent, offset);
            law.below(1) / law.below(size)
        };
        if share(0.0) <= limit {
            return Law::new(exponent, 0.0);
        }
        // With r0 = size the first weighs at most 2^g < 2 times the mean.
        let (mut low, mut high) = (0.0, size as f64);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if share(middle) > limit { low = middle } else { high = middle }
        }
        Law::new(exponent, high)
    }

    /// W: weight of all ranks below `rank`.
    fn below(&self, rank: u64) -> f64 {
        ((rank as f64 + self.offset).powf(self.power) - self.offset_power) / self.power
    }

    /// The rank whose share of W holds `weight`.
    fn inverse(&self, weight: f64) -> u64 {
        ((weight * self.power + self.offset_power).powf(1.0 / self.power) - self.offset) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The naive twin adds up weights rank by rank.
    #[test]
    fn ranks_are_drawn_by_their_weights() {
        for exponent in [2.01, 2.5, 4.0, f64::INFINITY] {
            let ends = Endpoints::new(103, 4, exponent, 400.0);
            let sizes = [26, 26, 26, 25];
            let weight = |rank: u64| ends.law.below(rank + 1) - ends.law.below(rank);
            let joined: f64 = sizes.iter().flat_map(|&size| (0..size).map(weight)).sum();
            assert!((joined / ends.start(4) - 1.0).abs() < 1e-9);

            let draws = 400_000;
            let mut counts = vec![[0u32; 26]; 4];
            let mut stream = Stream::new(1, "endpoints", 0);
            for _ in 0..draws {
                let seat = ends.anywhere(&mut stream);
                counts[seat.class as usize][seat.rank as usize] += 1;
            }
            for (class, &size) in sizes.iter().enumerate() {
                for rank in 0..26 {
                    let share = if rank < size { weight(rank) / joined } else { 0.0 };
                    let expected = f64::from(draws) * share;
                    let error = (f64::from(counts[class][rank as usize]) - expected).abs();
                    assert!(error <= 5.0 * expected.sqrt(), "{exponent} {class} {rank}: {error}");
                }
            }
        }
    }

    #[test]
    fn inside_stays_and_outside_leaves_for_all_others_alike() {
        let ends = Endpoints::new(103, 4, 2.5, 400.0);
        let mut stream = Stream::new(1, "endpoints", 1);
        for class in 0..4 {
            let mut counts = [0u32; 4];
            for _ in 0..30_000 {
                assert_eq!(ends.inside(class, &mut stream).class, class);
                counts[ends.outside(class, &mut stream).class as usize] += 1;
            }
            assert_eq!(counts[class as usize], 0);
            let others = counts.iter().enumerate().filter(|&(c, _)| c as u64 != class);
            others.for_each(|(c, &count)| assert!(count.abs_diff(10_000) < 500, "{c}: {count}"));
        }
    }

    #[test]
    fn the_first_node_is_capped() {
        let share = |size, ends: f64| {
            let law = Law::capped(2.2, size, ends);
            law.below(1) / law.below(size) * ends
        };
        assert!((share(1_000_000, 1e7) / 1e7f64.sqrt() - 1.0).abs() < 1e-6);
        // So dense that the root is below the mean: twice the mean.
        assert!((share(100, 1e6) / 2e4 - 1.0).abs() < 1e-6);
        assert_eq!(Law::capped(2.5, 1, 1e6).offset, 0.0);
        assert_eq!(Law::capped(f64::INFINITY, 1000, 1e6).offset, 0.0);
    }

    #[test]
    fn the_inverse_finds_every_rank_of_large_communities() {
        for exponent in [2.1, 3.0, f64::INFINITY] {
            let law = Law::capped(exponent, 4_000_000_000, 4e10);
            for rank in [0u64, 1, 77, 1_000_000, 3_999_999_998] {
                let middle = (law.below(rank) + law.below(rank + 1)) / 2.0;
                assert_eq!(law.inverse(middle), rank, "{exponent}");
            }
        }
    }
}
