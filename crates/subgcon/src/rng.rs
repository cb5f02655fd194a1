//! Random numbers with a purpose each.
//!
//! A stream is named by the user's seed, a purpose and an index (a block of
//! edges, a row of features). Streams never share numbers, so work may be cut
//! into blocks and handed to any thread in any order: the same seed gives the
//! same bytes. `ChaCha8` is counter-based, portable and fast enough (about a
//! gigabyte a second); its output is fixed by its definition, not by a version
//! of a crate.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng};

/// One stream of random numbers.
#[derive(Debug, Clone)]
pub struct Stream {
    inner: ChaCha8Rng,
}

impl Stream {
    /// The stream for `purpose` and `index` under `seed`.
    pub fn new(seed: u64, purpose: &str, index: u64) -> Stream {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&seed.to_le_bytes());
        hasher.update(purpose.as_bytes());
        let mut inner = ChaCha8Rng::from_seed(*hasher.finalize().as_bytes());
        inner.set_stream(index);
        Stream { inner }
    }

    /// Uniform over all 64-bit values.
    pub fn bits(&mut self) -> u64 {
        self.inner.next_u64()
    }

    /// Uniform in [0, 1), with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..bound, without bias (Lemire's multiplication with rejection).
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "an empty range has no element to draw");
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.bits()) * u128::from(bound);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }

    /// Standard normal (Box–Muller, the cosine half).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// A number that looks random and follows from another (the finisher of
/// `SplitMix64`): for decisions that many threads take about many things, each by
/// its own number and a key drawn from a [`Stream`].
#[inline]
pub fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// `most` of some things in the order that they have, all where they are no more: as if drawn by
/// lot, always the same ones. Not every so many, since what they are may come in turn.
pub fn some_of<T: Copy>(things: &[T], most: usize) -> Vec<T> {
    if things.len() <= most {
        return things.to_vec();
    }
    let mut places: Vec<usize> = (0..things.len()).collect();
    if most > 0 {
        places.select_nth_unstable_by_key(most - 1, |&place| mix(place as u64));
    }
    places.truncate(most);
    places.sort_unstable();
    places.into_iter().map(|place| things[place]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_drawn_by_lot_and_stay_in_order() {
        let things: Vec<u32> = (0..1000).map(|at| 3 * at).collect();
        assert_eq!(some_of(&things, 1000), things);
        assert!(some_of(&things, 0).is_empty());
        let some = some_of(&things, 100);
        assert_eq!(some.len(), 100);
        assert!(some.is_sorted() && some.windows(2).all(|pair| pair[0] < pair[1]));
        // Of things that come in turn, about as many of each: 10 ± 3 at one deviation.
        for turn in 0..10 {
            let count = some.iter().filter(|&&thing| thing / 3 % 10 == turn).count();
            assert!((2..=22).contains(&count), "{turn}: {count}");
        }
        assert_eq!(some, some_of(&things, 100));
    }

    #[test]
    fn streams_repeat_and_differ() {
        let draw = |seed, purpose, index| Stream::new(seed, purpose, index).bits();
        assert_eq!(draw(1, "edges", 0), draw(1, "edges", 0));
        let others = [draw(2, "edges", 0), draw(1, "rows", 0), draw(1, "edges", 1)];
        assert!(others.iter().all(|&x| x != draw(1, "edges", 0)));
    }

    #[test]
    fn draws_have_the_moments_they_should() {
        let mut stream = Stream::new(3, "moments", 0);
        let n = 100_000;
        let mean_unit = (0..n).map(|_| stream.unit()).sum::<f64>() / f64::from(n);
        assert!((mean_unit - 0.5).abs() < 0.005, "{mean_unit}");
        let normals: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let mean = normals.iter().sum::<f64>() / f64::from(n);
        let variance = normals.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
        assert!(mean.abs() < 0.015 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
        let mut counts = [0u32; 7];
        (0..70_000).for_each(|_| counts[stream.below(7) as usize] += 1);
        assert!(counts.iter().all(|&c| (9_500..10_500).contains(&c)), "{counts:?}");
    }
}
