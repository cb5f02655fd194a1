//! Which features are hidden while the encoder learns?
//!
//! Entry (node, column) is hidden where a hash of key, node and column, uniform over 64
//! bits, is below share · 2⁶⁴. No stream is drawn from: the answer for one entry does not
//! depend on which others are asked about, or in which order.

/// Hides features while the encoder learns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mask {
    /// Probability of each non-zero feature to be taken for zero.
    pub share: f64,
    /// With the node and the column it decides; drawn for a step and a role.
    pub key: u64,
}

/// The mask of one node.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeMask {
    start: u64,
    below: u128,
}

impl Mask {
    /// Whether an entry is hidden.
    pub fn hides(&self, node: u32, column: u32) -> bool {
        self.of(node).hides(column)
    }

    pub(super) fn of(&self, node: u32) -> NodeMask {
        // 2⁶⁴ itself, for a share of 1, does not fit into 64 bits.
        let below = (self.share * 2f64.powi(64)) as u128;
        NodeMask { start: nth(nth(self.key, 0), node), below }
    }
}

impl NodeMask {
    #[inline]
    pub(super) fn hides(&self, column: u32) -> bool {
        u128::from(nth(self.start, column)) < self.below
    }
}

/// The n-th number of the `SplitMix64` generator (Steele, Lea and Flood 2014) that
/// starts from a number.
#[inline]
fn nth(start: u64, n: u32) -> u64 {
    let mut x = start.wrapping_add((u64::from(n) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hidden entries of a square of 300 nodes by 300 columns.
    fn hidden(mask: Mask) -> Vec<bool> {
        (0..90_000).map(|at| mask.hides(at / 300, at % 300)).collect()
    }

    #[test]
    fn the_generator_is_the_published_one() {
        // From seed 1234567, as in the list that comes with Rosetta Code's "Splitmix64".
        let wanted = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([nth(1_234_567, 0), nth(1_234_567, 1)], wanted);
    }

    #[test]
    fn the_share_is_right_in_all_and_in_every_row_and_column() {
        for share in [0.1, 0.5, 0.8] {
            let hidden = hidden(Mask { share, key: 7 });
            let count = |entries: &mut dyn Iterator<Item = &bool>| {
                entries.filter(|&&hidden| hidden).count() as f64
            };
            // Five standard deviations of a binomial.
            let near = |found: f64, of: f64| {
                assert!((found - share * of).abs() < 5.0 * (of * share * (1.0 - share)).sqrt());
            };
            near(count(&mut hidden.iter()), 90_000.0);
            for line in 0..300 {
                near(count(&mut hidden[line * 300..(line + 1) * 300].iter()), 300.0);
                near(count(&mut hidden.iter().skip(line).step_by(300)), 300.0);
            }
        }
        assert!(hidden(Mask { share: 0.0, key: 7 }).iter().all(|hidden| !hidden));
        assert!(hidden(Mask { share: 1.0, key: 7 }).iter().all(|&hidden| hidden));
    }

    #[test]
    fn keys_nodes_and_columns_are_independent() {
        let first = hidden(Mask { share: 0.5, key: 1 });
        assert_eq!(first, hidden(Mask { share: 0.5, key: 1 }));
        // Agreement of halves drawn independently: 1/2, deviation 1/600.
        let agreement = |other: &mut dyn Iterator<Item = bool>| {
            let same = first.iter().zip(other).filter(|(a, b)| **a == *b).count();
            assert!((same as f64 / 90_000.0 - 0.5).abs() < 5.0 / 600.0, "{same}");
        };
        for key in [0, 2, 1 << 40, u64::MAX] {
            agreement(&mut hidden(Mask { share: 0.5, key }).into_iter());
        }
        // Rows against the next, columns against the next, and transposed.
        agreement(&mut first.iter().cycle().skip(300).copied());
        agreement(&mut first.iter().cycle().skip(1).copied());
        let mut transposed = (0..90_000).map(|at| first[at % 300 * 300 + at / 300]);
        let same = first.iter().zip(&mut transposed).filter(|(a, b)| **a == *b).count();
        // Pairs are counted twice and the diagonal agrees with itself.
        assert!((same as f64 / 90_000.0 - 0.5).abs() < 10.0 / 600.0, "{same}");
    }
}
