//! Which other pairs is the own pair compared with?
//!
//! With m shuffles of n contexts every context has m distinct negatives, never itself:
//!
//! - m = 1: a uniformly random permutation without fixed points, by shuffling until
//!   there are none (e tries on average, for any n);
//! - m > 1: the contexts in a random order p, in a circle, and m distinct random
//!   distances d_k in 1..n: the k-th shuffle sends p(t) to p(t + d_k mod n). No
//!   distance is 0 and no two are equal, so nothing is fixed and nothing agrees, and
//!   it ends for every m < n. Each context's m negatives are a uniformly random set;
//!   only those of different contexts are not independent. Rejection would take
//!   about e^(m (m + 1) / 2) tries.

use crate::config::Negatives;
use crate::rng::Stream;

/// The negatives of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pairs {
    /// Each shuffle has no fixed point, and no two agree anywhere.
    Shuffles(Vec<Vec<u32>>),
    /// All i ≠ j.
    All,
}

/// Draws the negatives of a batch: of at least two contexts, and more of them than
/// shuffles.
pub fn draw(negatives: Negatives, contexts: usize, stream: &mut Stream) -> Pairs {
    assert!(contexts >= 2, "one context alone has no negatives");
    let Negatives::Shuffles(shuffles) = negatives else { return Pairs::All };
    assert!(
        (1..contexts).contains(&shuffles),
        "{shuffles} shuffles of {contexts} contexts: each has {} others",
        contexts - 1
    );
    let mut order: Vec<u32> = (0..contexts as u32).collect();
    if shuffles == 1 {
        loop {
            shuffle(&mut order, contexts, stream);
            if order.iter().enumerate().all(|(at, &to)| at != to as usize) {
                return Pairs::Shuffles(vec![order]);
            }
        }
    }
    shuffle(&mut order, contexts, stream);
    let mut distances: Vec<u32> = (1..contexts as u32).collect();
    shuffle(&mut distances, shuffles, stream);
    let turned = distances[..shuffles].iter().map(|&distance| {
        let mut turned = vec![0; contexts];
        for (at, &from) in order.iter().enumerate() {
            turned[from as usize] = order[(at + distance as usize) % contexts];
        }
        turned
    });
    Pairs::Shuffles(turned.collect())
}

/// Makes the first `count` places a uniformly random choice of all, in random order.
fn shuffle(values: &mut [u32], count: usize, stream: &mut Stream) {
    for at in 0..count.min(values.len()) {
        let other = at + stream.below((values.len() - at) as u64) as usize;
        values.swap(at, other);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shuffles(count: usize, contexts: usize, seed: u64) -> Vec<Vec<u32>> {
        let mut stream = Stream::new(seed, "negatives", 0);
        match draw(Negatives::Shuffles(count), contexts, &mut stream) {
            Pairs::Shuffles(shuffles) => shuffles,
            Pairs::All => panic!("shuffles were asked for"),
        }
    }

    proptest! {
        #[test]
        fn negatives_are_others_and_distinct(
            (contexts, count) in (2usize..60).prop_flat_map(|n| (Just(n), 1..n)),
            seed: u64,
        ) {
            let drawn = shuffles(count, contexts, seed);
            prop_assert_eq!(drawn.len(), count);
            for shuffle in &drawn {
                let mut sorted = shuffle.clone();
                sorted.sort_unstable();
                prop_assert!(sorted.iter().copied().eq(0..contexts as u32));
            }
            for at in 0..contexts {
                let mut met: Vec<u32> = drawn.iter().map(|shuffle| shuffle[at]).collect();
                met.push(at as u32);
                met.sort_unstable();
                met.dedup();
                prop_assert_eq!(met.len(), count + 1);
            }
        }
    }

    #[test]
    fn every_derangement_of_four_is_as_likely() {
        // There are 9: 4! (1 − 1 + 1/2 − 1/6 + 1/24).
        let mut counts = std::collections::BTreeMap::new();
        let mut stream = Stream::new(5, "negatives", 0);
        for _ in 0..9000 {
            let Pairs::Shuffles(drawn) = draw(Negatives::Shuffles(1), 4, &mut stream) else {
                panic!("shuffles were asked for")
            };
            *counts.entry(drawn).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 9);
        // Five standard deviations of a binomial (9000, 1/9): 149.
        assert!(counts.values().all(|&count| count.abs_diff(1000) < 150), "{counts:?}");
    }

    #[test]
    fn every_pair_of_negatives_is_as_likely() {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..6000 {
            let drawn = shuffles(2, 5, seed);
            *counts.entry((drawn[0][2], drawn[1][2])).or_insert(0u32) += 1;
        }
        // 4 · 3 ordered pairs of the others; five standard deviations of 500: 107.
        assert_eq!(counts.len(), 12);
        assert!(counts.values().all(|&count| count.abs_diff(500) < 108), "{counts:?}");
    }

    #[test]
    fn all_pairs_need_no_numbers() {
        let mut stream = Stream::new(1, "negatives", 0);
        assert_eq!(draw(Negatives::AllPairs, 2, &mut stream), Pairs::All);
        assert_eq!(stream.bits(), Stream::new(1, "negatives", 0).bits());
    }

    #[test]
    #[should_panic(expected = "3 shuffles of 3 contexts: each has 2 others")]
    fn too_many_shuffles() {
        shuffles(3, 3, 0);
    }

    #[test]
    #[should_panic(expected = "one context alone")]
    fn too_few_contexts() {
        shuffles(1, 1, 0);
    }
}
