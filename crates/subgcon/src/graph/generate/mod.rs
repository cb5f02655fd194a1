//! Graphs of any size out of a seed: for demonstrations, tests and measurements.
//!
//! [`Communities`] plants classes that structure and features both show in
//! part; [`PowerLaw`] has the skewed degrees of web and social graphs and
//! nothing else. Edges are drawn independently of each other, in blocks of
//! 2^20 with a stream of random numbers each, so that the same settings give the
//! same bytes for any number of threads and nothing bigger than the edge list
//! is held. Repeated edges and self-loops are left in: merging removes and
//! counts them.
//!
//! Powers and logarithms come from the platform's mathematics library, so two
//! platforms may differ in single edges of [`Communities`]; [`PowerLaw`] draws
//! with integers only.

mod communities;
mod endpoints;
mod features;
mod members;
mod permutation;
mod powerlaw;

pub use communities::Communities;
pub use features::{FeatureBlock, FeatureKind};
pub use permutation::Permutation;
pub use powerlaw::PowerLaw;

use rayon::prelude::*;

use super::{EdgeChunk, EdgeList, node_count};
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::rng::Stream;

/// Edges in one chunk, all from one stream.
const BLOCK: u64 = 1 << 20;

/// More draws than this would need eight terabytes.
const MAX_DRAWS: u64 = 1 << 40;

/// Draws `count` edges in parallel; block i comes from stream i of `purpose`.
fn draw_edges(
    count: u64,
    seed: u64,
    purpose: &str,
    progress: &dyn Progress,
    draw: impl Fn(&mut Stream) -> (u32, u32) + Sync,
) -> EdgeList {
    progress.begin("drawing edges", count, "edges");
    let chunks: Vec<EdgeChunk> = (0..count.div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let mut stream = Stream::new(seed, purpose, block);
            let len = BLOCK.min(count - block * BLOCK);
            let (sources, targets) = (0..len).map(|_| draw(&mut stream)).unzip();
            progress.advance(len);
            EdgeChunk { sources, targets, weights: Vec::new() }
        })
        .collect();
    progress.end();
    let mut list = EdgeList::new();
    chunks.into_iter().for_each(|chunk| list.push(chunk));
    list
}

/// What both kinds of graph ask of their size.
fn check_size(nodes: u64, edges: u64) -> Result<u32> {
    if nodes == 0 {
        return Err(Error::setting("--nodes", nodes, "choose 1 or more"));
    }
    if edges == 0 || edges > MAX_DRAWS {
        let remedy = format!("choose a number of draws between 1 and {MAX_DRAWS} (2^40)");
        return Err(Error::setting("--edges", edges, remedy));
    }
    node_count(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    /// Runs `work` in a pool of its own.
    pub(super) fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
    }

    /// All edges in order.
    pub(super) fn pairs(list: &EdgeList) -> Vec<(u32, u32)> {
        list.chunks()
            .iter()
            .flat_map(|c| c.sources.iter().copied().zip(c.targets.iter().copied()))
            .collect()
    }

    #[test]
    fn blocks_are_full_but_the_last_and_differ() {
        let count = BLOCK + 5;
        let list =
            draw_edges(count, 1, "test", &Silent, |s| (s.below(1 << 30) as u32, s.bits() as u32));
        let lengths: Vec<usize> = list.chunks().iter().map(EdgeChunk::len).collect();
        assert_eq!(lengths, [BLOCK as usize, 5]);
        assert_ne!(list.chunks()[0].sources[..5], list.chunks()[1].sources[..]);
    }

    #[test]
    fn sizes_outside_the_range_are_refused() {
        let refused = |nodes, edges| check_size(nodes, edges).unwrap_err().to_string();
        assert_eq!(refused(0, 1), "--nodes = 0: choose 1 or more");
        assert!(refused(1 << 32, 1).contains("at most"));
        assert!(refused(5, 0).starts_with("--edges = 0: "));
        assert!(refused(5, MAX_DRAWS + 1).starts_with("--edges = "));
        assert_eq!(check_size(5, 7).unwrap(), 5);
    }
}
