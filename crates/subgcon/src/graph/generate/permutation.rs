//! Where does each of n things go in a shuffle that no memory has to hold?
//!
//! A Feistel network is a bijection of 0..2^b for any round functions:
//!
//! ```text
//! l ^= F0(r), r ^= F1(l), l ^= F2(r), ...        (l, r) = the two halves of b bits
//! ```
//!
//! With b the bits of n - 1, a result outside 0..n is sent through again until
//! it falls inside ("cycle walking"). As 2^b < 2n for n > 2, that is less than
//! two passes on average. The halves may differ by one bit; a balanced network
//! over an even number of bits would walk up to four passes.

use crate::rng::Stream;

/// Four rounds make a good permutation out of good round functions (Luby and
/// Rackoff 1988); halves are a few bits in small graphs, so take two more.
const ROUNDS: usize = 6;

/// A pseudo-random bijection of 0..n.
#[derive(Debug, Clone)]
pub struct Permutation {
    len: u64,
    right_bits: u32,
    left_mask: u64,
    right_mask: u64,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// A bijection of 0..`len` with keys from `stream`; `len` is at most 2^62.
    pub fn new(len: u64, stream: &mut Stream) -> Permutation {
        assert!((1..=1 << 62).contains(&len), "a permutation of {len} things");
        let bits = (u64::BITS - (len - 1).leading_zeros()).max(2);
        let right_bits = bits / 2;
        Permutation {
            len,
            right_bits,
            left_mask: (1 << (bits - right_bits)) - 1,
            right_mask: (1 << right_bits) - 1,
            keys: std::array::from_fn(|_| stream.bits()),
        }
    }

    /// Where `index` goes.
    pub fn forward(&self, index: u64) -> u64 {
        assert!(index < self.len, "{index} is not below {}", self.len);
        self.walk(index, |left, right| {
            for pair in self.keys.chunks_exact(2) {
                *left ^= round(*right, pair[0]) & self.left_mask;
                *right ^= round(*left, pair[1]) & self.right_mask;
            }
        })
    }

    /// What goes to `index`.
    pub fn inverse(&self, index: u64) -> u64 {
        assert!(index < self.len, "{index} is not below {}", self.len);
        self.walk(index, |left, right| {
            for pair in self.keys.chunks_exact(2).rev() {
                *right ^= round(*left, pair[1]) & self.right_mask;
                *left ^= round(*right, pair[0]) & self.left_mask;
            }
        })
    }

    /// Passes through the network until the result is below n.
    fn walk(&self, index: u64, pass: impl Fn(&mut u64, &mut u64)) -> u64 {
        let (mut left, mut right) = (index >> self.right_bits, index & self.right_mask);
        loop {
            pass(&mut left, &mut right);
            let index = left << self.right_bits | right;
            if index < self.len {
                return index;
            }
        }
    }
}

/// Spreads every bit of `half` over the low bits of the result (the finalizer
/// of MurmurHash3, less its last step).
fn round(half: u64, key: u64) -> u64 {
    let mixed = (half ^ key).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (mixed ^ mixed >> 32).wrapping_mul(0xc4ce_b9fe_1a85_ec53) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permutation(len: u64, seed: u64) -> Permutation {
        Permutation::new(len, &mut Stream::new(seed, "permutation", 0))
    }

    #[test]
    fn every_number_is_met_once_and_found_back() {
        for len in [1, 2, 3, 4, 5, 7, 16, 17, 1000, 1024, 65_537] {
            let shuffle = permutation(len, len);
            let mut met = vec![false; len as usize];
            for index in 0..len {
                let to = shuffle.forward(index);
                assert!(!std::mem::replace(&mut met[to as usize], true), "{to} twice of {len}");
                assert_eq!(shuffle.inverse(to), index);
            }
        }
    }

    #[test]
    fn large_ranges_stay_in_range() {
        for len in [u64::from(u32::MAX) - 1, 1 << 40, 1 << 62] {
            let shuffle = permutation(len, 1);
            for index in (0..100).chain(len - 100..len) {
                assert!(shuffle.forward(index) < len);
                assert_eq!(shuffle.inverse(shuffle.forward(index)), index);
            }
        }
    }

    /// A uniform permutation has one fixed point on average, rises in half of
    /// its steps, and over many seeds sends each element everywhere.
    #[test]
    fn things_move_as_in_a_random_shuffle() {
        let shuffle = permutation(100_000, 9);
        let fixed = (0..100_000).filter(|&i| shuffle.forward(i) == i).count();
        assert!(fixed < 10, "{fixed}");
        let rising =
            (1..100_000).filter(|&i| shuffle.forward(i) > shuffle.forward(i - 1)).count() as f64;
        // The number of rises has variance (n + 1) / 12, here 91 squared.
        assert!((rising - 50_000.0).abs() < 5.0 * 91.3, "{rising}");

        let mut places = [0u32; 10];
        (0..20_000).for_each(|seed| places[permutation(10, seed).forward(3) as usize] += 1);
        // 2,000 each, standard deviation 42.
        assert!(places.iter().all(|&count| count.abs_diff(2000) < 5 * 43), "{places:?}");
        assert_ne!(permutation(1000, 1).keys, permutation(1000, 2).keys);
    }
}
