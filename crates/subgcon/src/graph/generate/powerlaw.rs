//! A graph with the skewed degrees of web and social graphs (R-MAT).
//!
//! The adjacency matrix is cut into quadrants with probabilities (a, b, c, d),
//! the chosen quadrant again, and so on down to one cell:
//!
//! ```text
//! P(u, v) = product over levels i of q[bit i of u, bit i of v]
//! ```
//!
//! (Chakrabarti, Zhan and Faloutsos 2004). Four levels at a time are one draw
//! from 4^4 = 256 outcomes by an alias table, with 32 random bits; level by level
//! would take four times the work. The matrix is as wide as the next
//! power of two and cells outside n × n are drawn again. As a is the largest
//! probability, at least a quarter of the draws are inside. A [`Permutation`]
//! then renames the nodes, which without it would be sorted by degree.

use super::{Permutation, check_size, draw_edges};
use crate::error::{Error, Result};
use crate::graph::EdgeList;
use crate::progress::Progress;
use crate::rng::Stream;

/// Levels that one draw from the table settles.
const LEVELS: u32 = 4;
/// Outcomes of that many levels.
const CELLS: usize = 1 << (2 * LEVELS);
/// Random bits that decide between a slot's own outcome and its alias.
const FRACTION_BITS: u32 = 24;

/// Settings of a power-law graph.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerLaw {
    /// Number of nodes.
    pub nodes: u64,
    /// Number of draws; repeats and self-loops among them go when merging.
    pub edges: u64,
    /// Probabilities of the quadrants: (low, low), (low, high), (high, low),
    /// (high, high). They add up to one and the first is the largest.
    pub quadrants: [f64; 4],
    /// What all random numbers follow from.
    pub seed: u64,
}

impl Default for PowerLaw {
    fn default() -> PowerLaw {
        PowerLaw { nodes: 10_000, edges: 100_000, quadrants: [0.57, 0.19, 0.19, 0.05], seed: 0 }
    }
}

impl PowerLaw {
    /// Checks every setting.
    pub fn validate(&self) -> Result<()> {
        check_size(self.nodes, self.edges)?;
        let [first, rest @ ..] = self.quadrants;
        let sum: f64 = self.quadrants.iter().sum();
        let remedy = if !self.quadrants.iter().all(|q| (0.0..=1.0).contains(q)) {
            "choose four probabilities between 0 and 1"
        } else if (sum - 1.0).abs() > 1e-6 {
            "choose four probabilities that add up to 1"
        } else if rest.iter().any(|&q| q > first) {
            "put the largest probability first"
        } else {
            return Ok(());
        };
        Err(Error::setting("--quadrants", format!("{:?}", self.quadrants), remedy))
    }

    /// Draws the edges.
    pub fn edges(&self, progress: &dyn Progress) -> Result<EdgeList> {
        self.validate()?;
        let cells = Cells::new(self.nodes, &self.quadrants);
        let names = Permutation::new(self.nodes, &mut Stream::new(self.seed, "powerlaw nodes", 0));
        Ok(draw_edges(self.edges, self.seed, "powerlaw edges", progress, |stream| {
            let (source, target) = cells.draw(stream);
            (names.forward(source) as u32, names.forward(target) as u32)
        }))
    }
}

/// Draws cells (u, v) of the n × n matrix.
struct Cells {
    nodes: u64,
    /// Draws from the table that settle all levels.
    groups: u32,
    /// Levels that the last of them settles in excess.
    excess: u32,
    /// Slot i holds `threshold << 8 | alias`: a fraction below the threshold
    /// means outcome i. An outcome is four bits of u above four bits of v.
    slots: [u32; CELLS],
}

impl Cells {
    fn new(nodes: u64, quadrants: &[f64; 4]) -> Cells {
        let levels = u64::BITS - (nodes - 1).leading_zeros();
        let groups = levels.div_ceil(LEVELS);
        let sum: f64 = quadrants.iter().sum();
        let shares = std::array::from_fn(|cell| {
            let level = |bit| quadrants[(cell >> (LEVELS + bit) & 1) << 1 | cell >> bit & 1] / sum;
            (0..LEVELS).map(level).product()
        });
        Cells { nodes, groups, excess: groups * LEVELS - levels, slots: alias_table(shares) }
    }

    fn draw(&self, stream: &mut Stream) -> (u64, u64) {
        loop {
            let (mut source, mut target) = (0u64, 0u64);
            let mut bits = 0;
            for group in 0..self.groups {
                bits = if group % 2 == 0 { stream.bits() } else { bits >> 32 };
                let slot = bits as u32 >> FRACTION_BITS;
                let fraction = bits as u32 & ((1 << FRACTION_BITS) - 1);
                let entry = self.slots[slot as usize];
                let cell = u64::from(if fraction < entry >> 8 { slot } else { entry & 0xff });
                source = source << LEVELS | cell >> LEVELS;
                target = target << LEVELS | cell & ((1 << LEVELS) - 1);
            }
            (source, target) = (source >> self.excess, target >> self.excess);
            if source < self.nodes && target < self.nodes {
                return (source, target);
            }
        }
    }
}

/// Vose's construction: every slot is filled up to an equal share, by its own
/// outcome and one other that has too much.
fn alias_table(shares: [f64; CELLS]) -> [u32; CELLS] {
    let mut left = shares.map(|share| share * CELLS as f64);
    let (mut short, mut long): (Vec<usize>, Vec<usize>) =
        (0..CELLS).partition(|&cell| left[cell] < 1.0);
    // A slot without entry is full: whatever the fraction, it means itself.
    let mut slots: [u32; CELLS] = std::array::from_fn(|cell| cell as u32);
    while let (Some(cell), Some(&giver)) = (short.pop(), long.last()) {
        let threshold = (left[cell] * f64::from(1u32 << FRACTION_BITS)) as u32;
        slots[cell] = threshold.min((1 << FRACTION_BITS) - 1) << 8 | giver as u32;
        left[giver] -= 1.0 - left[cell];
        if left[giver] < 1.0 {
            long.pop();
            short.push(giver);
        }
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::super::tests::{on_threads, pairs};
    use super::*;
    use crate::progress::Silent;

    /// The naive twin: the product over levels, one by one.
    fn probability(u: u64, v: u64, levels: u32, q: &[f64; 4]) -> f64 {
        (0..levels).map(|i| q[((u >> i & 1) << 1 | v >> i & 1) as usize]).product()
    }

    #[test]
    fn cells_are_drawn_with_the_products_of_their_levels() {
        let q = [0.5, 0.3, 0.15, 0.05];
        // Five levels take two draws from the table, of which three are in excess.
        for (nodes, levels) in [(1u64, 0), (2, 1), (4, 2), (16, 4), (11, 4), (23, 5)] {
            let cells = Cells::new(nodes, &q);
            let mut stream = Stream::new(5, "cells", nodes);
            let mut counts = vec![0u32; (nodes * nodes) as usize];
            let draws = 200_000;
            for _ in 0..draws {
                let (u, v) = cells.draw(&mut stream);
                counts[(u * nodes + v) as usize] += 1;
            }
            let cell = |i: usize| probability(i as u64 / nodes, i as u64 % nodes, levels, &q);
            let inside: f64 = (0..counts.len()).map(cell).sum();
            for (i, &count) in counts.iter().enumerate() {
                let expected = f64::from(draws) * cell(i) / inside;
                let slack = 5.0 * expected.sqrt() + 5.0;
                assert!(
                    (f64::from(count) - expected).abs() < slack,
                    "{nodes}: {i} {count} {expected}"
                );
            }
        }
    }

    #[test]
    fn degrees_are_skewed_and_numbers_do_not_tell_them() {
        let settings = PowerLaw { nodes: 5000, edges: 100_000, ..PowerLaw::default() };
        let mut degrees = vec![0u64; 5000];
        for (u, v) in pairs(&settings.edges(&Silent).unwrap()) {
            degrees[u as usize] += 1;
            degrees[v as usize] += 1;
        }
        let low: u64 = degrees[..2500].iter().sum();
        degrees.sort_unstable();
        // Unnamed, the lower half would hold three quarters of the ends.
        assert!((0.4..0.6).contains(&(low as f64 / 200_000.0)), "{low}");
        let top: u64 = degrees[4950..].iter().sum();
        assert!(top > 20_000, "one in a hundred nodes has a tenth of all ends, not {top}");
    }

    #[test]
    fn threads_do_not_matter_and_the_seed_does() {
        let draw = |threads, seed| {
            let settings = PowerLaw { nodes: 777, edges: 2_200_000, seed, ..PowerLaw::default() };
            on_threads(threads, || pairs(&settings.edges(&Silent).unwrap()))
        };
        let one = draw(1, 4);
        assert_eq!(one.len(), 2_200_000);
        assert!(one == draw(2, 4));
        assert!(one != draw(2, 5));
    }

    #[test]
    fn bad_settings_are_refused() {
        let refused = |quadrants| {
            let settings = PowerLaw { quadrants, ..PowerLaw::default() };
            settings.edges(&Silent).unwrap_err().to_string()
        };
        assert!(refused([0.5, 0.5, 0.5, -0.5]).contains("between 0 and 1"));
        assert!(refused([f64::NAN, 0.2, 0.2, 0.2]).contains("between 0 and 1"));
        assert!(refused([0.5, 0.2, 0.2, 0.2]).contains("add up to 1"));
        assert!(refused([0.2, 0.2, 0.2, 0.4]).contains("largest probability first"));
        assert!(PowerLaw { nodes: 0, ..PowerLaw::default() }.validate().is_err());
        assert!(PowerLaw { edges: 0, ..PowerLaw::default() }.validate().is_err());
        assert!(PowerLaw::default().validate().is_ok());
    }
}
