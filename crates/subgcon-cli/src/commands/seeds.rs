//! One piece of work for each seed, several at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::{iter, thread};

use anyhow::Context as _;
use subgcon::config::Settings;

use crate::STACK;

/// The seed of the last of so many runs, which begin with the settings' own.
pub(super) fn last_seed(settings: &Settings, seeds: u64) -> anyhow::Result<u64> {
    let Some(more) = seeds.checked_sub(1) else {
        anyhow::bail!("--seeds = 0: run at least one");
    };
    let last = settings.seed.checked_add(more).filter(|&last| i64::try_from(last).is_ok());
    last.with_context(|| {
        let first = settings.seed;
        format!("--seeds = {seeds}: seeds from {first} on reach 2^63; ask for fewer, or begin with a smaller one")
    })
}

/// One piece of work for each seed, several at once, each on its share of the threads and on no more
/// than `threads`. In the order of the seeds; the first error of that order, after which no
/// further piece is begun.
pub(super) fn each_seed<R: Send>(
    seeds: u64,
    at_once: usize,
    threads: usize,
    one: impl Fn(u64) -> anyhow::Result<R> + Sync,
) -> anyhow::Result<Vec<R>> {
    let at_once = at_once.min(usize::try_from(seeds).unwrap_or(usize::MAX));
    if at_once <= 1 {
        return (0..seeds).map(one).collect();
    }
    let threads = (rayon::current_num_threads() / at_once).clamp(1, threads.max(1));
    let pool = || rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build();
    let pools: Vec<_> = (0..at_once).map(|_| pool()).collect::<Result<_, _>>()?;
    let next = AtomicU64::new(0);
    let taken = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&seed| seed < seeds);
    let work = || -> Vec<(u64, anyhow::Result<R>)> {
        let mut done = Vec::new();
        for seed in iter::from_fn(taken) {
            let found = one(seed);
            if found.is_err() {
                next.store(seeds, Ordering::Relaxed);
            }
            done.push((seed, found));
        }
        done
    };
    let mut done: Vec<(u64, anyhow::Result<R>)> = thread::scope(|scope| {
        let workers: Vec<_> = pools.iter().map(|pool| scope.spawn(|| pool.install(work))).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, _>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().flat_map(join).collect()
    });
    done.sort_by_key(|(seed, _)| *seed);
    done.into_iter().map(|(_, found)| found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_that_no_file_holds_are_refused_before_the_first_run() {
        let from = |seed| Settings { seed, ..Settings::default() };
        let largest = i64::MAX as u64;
        assert_eq!(last_seed(&from(7), 3).unwrap(), 9);
        assert_eq!(last_seed(&from(largest - 1), 2).unwrap(), largest);
        for (first, seeds) in [(largest, 2), (7, u64::MAX), (0, 0)] {
            assert!(last_seed(&from(first), seeds).is_err());
        }
    }

    #[test]
    fn work_at_once_comes_back_in_order() {
        let squares = |seed: u64| Ok(seed * seed);
        assert_eq!(each_seed(5, 3, 1, squares).unwrap(), [0, 1, 4, 9, 16]);
        assert_eq!(each_seed(2, 1, 1, squares).unwrap(), [0, 1]);
        assert!(each_seed(0, 4, 1, squares).unwrap().is_empty());
        // The first to fail by seed, whoever was first by the clock; and nothing is begun then.
        let begun = AtomicU64::new(0);
        let failing = |seed: u64| {
            begun.fetch_add(1, Ordering::Relaxed);
            if seed > 1 { Err(anyhow::anyhow!("{seed}")) } else { Ok(()) }
        };
        assert_eq!(each_seed(600, 2, 1, failing).unwrap_err().to_string(), "2");
        assert!(begun.load(Ordering::Relaxed) < 10);
    }
}
