//! From a pile of edges to sorted neighbour lists.
//!
//! Self-loops and repeats are dropped and counted; an undirected graph gets
//! both directions of every edge. The work is two passes that stay in cache:
//!
//! 1. *Scatter*: every chunk of edges is sorted, on its own, into blocks of
//!    2^15 source nodes. An arc becomes a 16-bit key (source within its block,
//!    and whether the arc is the mirror image of one that was given) and a
//!    32-bit target: six bytes.
//! 2. *Gather*: every block collects its arcs from all chunks, sorts the given
//!    and the mirrored targets of each node separately and merges the two.
//!
//! Chunks and blocks are handed to threads; blocks leave in order. The result
//! depends neither on the order of the edges nor on the number of threads.
//! Peak memory is the larger of the edges (8 bytes each) and the arcs (6 bytes
//! each), plus a few blocks: nothing is held twice.

use rayon::prelude::*;

use super::edges::{EdgeChunk, EdgeList};
use crate::error::Result;
use crate::progress::Progress;

/// Nodes whose lists are made together: 2^15, so that a source and one more bit
/// fit in 16.
const BLOCK_BITS: u32 = 15;
const BLOCK_NODES: usize = 1 << BLOCK_BITS;

/// What to do where a pair of nodes is given more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// Keep one; of different weights the largest.
    #[default]
    Largest,
    /// Add weights up, a missing weight counting as one. Where an undirected
    /// edge is given in both directions, the larger of the two sums stays:
    /// files that list every edge twice must not double its weight.
    Sum,
}

/// How edges become neighbour lists.
#[derive(Debug, Clone, Copy, Default)]
pub struct EdgeRules {
    /// Keep arcs as they are given; otherwise both directions are made.
    pub directed: bool,
    /// What to do with repeats.
    pub duplicates: Duplicates,
}

/// What merging saw, dropped and added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MergeCounts {
    /// Edges that came in.
    pub given: u64,
    /// Edges from a node to itself, dropped.
    pub self_loops: u64,
    /// Edges of weight zero, dropped.
    pub zero_weights: u64,
    /// Edges that were given before, in the same direction, dropped or added up.
    pub duplicates: u64,
    /// Arcs made so that every edge goes both ways.
    pub mirrored: u64,
    /// Arcs in the result.
    pub arcs: u64,
}

/// Where finished neighbour lists go, one block of nodes after another: a
/// growing [`super::Adjacency`] in memory, or the files of a store.
pub trait ArcSink: Send {
    /// The lists of the next `degrees.len()` nodes. `weights` is empty in an
    /// unweighted graph.
    fn block(&mut self, degrees: &[u32], neighbours: &[u32], weights: &[f32]) -> Result<()>;
}

/// Makes neighbour lists of `nodes` nodes from `edges` and hands them to `sink`.
///
/// # Panics
/// Where an edge names a node that is not below `nodes`: callers check that,
/// since only they can name the file and line.
pub fn merge(
    nodes: u32,
    edges: EdgeList,
    rules: EdgeRules,
    sink: &mut dyn ArcSink,
    progress: &dyn Progress,
) -> Result<MergeCounts> {
    let weighted = edges.weighted() || rules.duplicates == Duplicates::Sum;
    let mut counts = MergeCounts { given: edges.len(), ..MergeCounts::default() };
    let blocks = (nodes as usize).div_ceil(BLOCK_NODES);

    progress.begin("sorting edges", counts.given, "edges");
    let scattered: Vec<Scattered> = edges
        .into_chunks()
        .into_par_iter()
        .map(|chunk| {
            let scattered = Scattered::new(&chunk, nodes, blocks, rules, weighted);
            progress.advance(chunk.len() as u64);
            scattered
        })
        .collect();
    progress.end();
    for chunk in &scattered {
        counts.self_loops += chunk.self_loops;
        counts.zero_weights += chunk.zero_weights;
    }

    // While one wave of blocks is being written the next one is made.
    progress.begin("merging edges", u64::from(nodes), "nodes");
    let wave = 2 * rayon::current_num_threads();
    let mut ready: Vec<Block> = Vec::new();
    for start in (0..=blocks).step_by(wave) {
        let make = || -> Vec<Block> {
            (start..blocks.min(start + wave))
                .into_par_iter()
                .map(|block| Block::new(block, nodes, &scattered, rules, weighted))
                .collect()
        };
        let (made, written) = rayon::join(make, || write(&ready, sink, &mut counts, progress));
        written?;
        ready = made;
    }
    write(&ready, sink, &mut counts, progress)?;
    progress.end();
    Ok(counts)
}

fn write(
    blocks: &[Block],
    sink: &mut dyn ArcSink,
    counts: &mut MergeCounts,
    progress: &dyn Progress,
) -> Result<()> {
    for block in blocks {
        counts.duplicates += block.duplicates;
        counts.mirrored += block.mirrored;
        counts.arcs += block.neighbours.len() as u64;
        sink.block(&block.degrees, &block.neighbours, &block.weights)?;
        progress.advance(block.degrees.len() as u64);
    }
    Ok(())
}

/// The arcs of one chunk, sorted by block.
struct Scattered {
    /// Where each block's arcs begin; blocks + 1 places.
    starts: Vec<usize>,
    /// Source within its block, and in the lowest bit whether it is mirrored.
    keys: Vec<u16>,
    targets: Vec<u32>,
    /// Empty where edges have no weights.
    weights: Vec<f32>,
    self_loops: u64,
    zero_weights: u64,
}

impl Scattered {
    fn new(
        chunk: &EdgeChunk,
        nodes: u32,
        blocks: usize,
        rules: EdgeRules,
        weighted: bool,
    ) -> Scattered {
        let weight_of = |edge: usize| chunk.weights.get(edge).copied().unwrap_or(1.0);
        let kept = |edge: usize, source: u32, target: u32| {
            source != target && (!weighted || weight_of(edge) > 0.0)
        };
        let pairs = || chunk.sources.iter().copied().zip(chunk.targets.iter().copied());

        // First pass: how many arcs each block gets.
        let mut starts = vec![0usize; blocks + 1];
        let (mut self_loops, mut zero_weights) = (0, 0);
        for (edge, (source, target)) in pairs().enumerate() {
            assert!(source < nodes && target < nodes, "edges are checked by whoever reads them");
            if kept(edge, source, target) {
                starts[(source >> BLOCK_BITS) as usize] += 1;
                if !rules.directed {
                    starts[(target >> BLOCK_BITS) as usize] += 1;
                }
            } else if source == target {
                self_loops += 1;
            } else {
                zero_weights += 1;
            }
        }
        let mut total = 0;
        for start in &mut starts {
            total += std::mem::replace(start, total);
        }

        // Second pass: every arc to its place.
        let mut next = starts.clone();
        let mut keys = vec![0u16; total];
        let mut targets = vec![0u32; total];
        let mut weights = vec![0f32; if weighted { total } else { 0 }];
        let mut put = |edge: usize, source: u32, target: u32, mirrored: u16| {
            let place = &mut next[(source >> BLOCK_BITS) as usize];
            keys[*place] = ((source as u16) << 1) | mirrored;
            targets[*place] = target;
            if weighted {
                weights[*place] = weight_of(edge);
            }
            *place += 1;
        };
        for (edge, (source, target)) in pairs().enumerate() {
            if kept(edge, source, target) {
                put(edge, source, target, 0);
                if !rules.directed {
                    put(edge, target, source, 1);
                }
            }
        }
        Scattered { starts, keys, targets, weights, self_loops, zero_weights }
    }

    fn of(&self, block: usize) -> std::ops::Range<usize> {
        self.starts[block]..self.starts[block + 1]
    }
}

/// The finished lists of one block of nodes.
struct Block {
    degrees: Vec<u32>,
    neighbours: Vec<u32>,
    weights: Vec<f32>,
    duplicates: u64,
    mirrored: u64,
}

impl Block {
    fn new(
        block: usize,
        nodes: u32,
        scattered: &[Scattered],
        rules: EdgeRules,
        weighted: bool,
    ) -> Block {
        let size = BLOCK_NODES.min(nodes as usize - block * BLOCK_NODES);
        // Lists 2i and 2i + 1 are the given and the mirrored arcs of node i.
        let mut starts = vec![0usize; 2 * size + 1];
        for chunk in scattered {
            chunk.keys[chunk.of(block)].iter().for_each(|&key| starts[key as usize] += 1);
        }
        let mut total = 0;
        for start in &mut starts {
            total += std::mem::replace(start, total);
        }
        let mut made = Block {
            degrees: Vec::with_capacity(size),
            neighbours: Vec::with_capacity(total),
            weights: Vec::new(),
            duplicates: 0,
            mirrored: 0,
        };
        if weighted {
            // Target and weight in one number, so that they are sorted together: the
            // bits of floats that are not negative are in the order of their values.
            let mut arcs = vec![0u64; total];
            let mut next = starts.clone();
            for chunk in scattered {
                for place in chunk.of(block) {
                    let slot = &mut next[chunk.keys[place] as usize];
                    let weight = chunk.weights[place].to_bits();
                    arcs[*slot] = u64::from(chunk.targets[place]) << 32 | u64::from(weight);
                    *slot += 1;
                }
            }
            made.weights.reserve(total);
            let (mut given, mut mirrored) = (Vec::new(), Vec::new());
            made.fill(&starts, size, |made, list, second| {
                let before = list.len();
                combine(&mut arcs[list], rules.duplicates, &mut given);
                made.duplicates += (before - given.len()) as u64;
                combine(&mut arcs[second], rules.duplicates, &mut mirrored);
                made.merge_weighted(&given, &mirrored);
            });
        } else {
            let mut arcs = vec![0u32; total];
            let mut next = starts.clone();
            for chunk in scattered {
                let range = chunk.of(block);
                for (&key, &target) in chunk.keys[range.clone()].iter().zip(&chunk.targets[range]) {
                    let slot = &mut next[key as usize];
                    arcs[*slot] = target;
                    *slot += 1;
                }
            }
            made.fill(&starts, size, |made, list, second| {
                let (front, back) = arcs.split_at_mut(second.start);
                let given = sort_unique(&mut front[list.clone()]);
                made.duplicates += (list.len() - given.len()) as u64;
                let mirrored = sort_unique(&mut back[..second.len()]);
                made.merge_targets(given, mirrored);
            });
        }
        made
    }

    /// Calls `list` with the places of each node's given and mirrored arcs.
    fn fill(
        &mut self,
        starts: &[usize],
        size: usize,
        mut list: impl FnMut(&mut Block, std::ops::Range<usize>, std::ops::Range<usize>),
    ) {
        for node in 0..size {
            let before = self.neighbours.len();
            let [a, b, c] = [starts[2 * node], starts[2 * node + 1], starts[2 * node + 2]];
            list(self, a..b, b..c);
            self.degrees.push((self.neighbours.len() - before) as u32);
        }
    }

    /// Appends the union of two rising lists; counts what only the second has.
    fn merge_targets(&mut self, given: &[u32], mirrored: &[u32]) {
        let before = self.neighbours.len();
        let (mut i, mut j) = (0, 0);
        while i < given.len() && j < mirrored.len() {
            let (a, b) = (given[i], mirrored[j]);
            self.neighbours.push(a.min(b));
            i += usize::from(a <= b);
            j += usize::from(b <= a);
        }
        self.neighbours.extend_from_slice(&given[i..]);
        self.neighbours.extend_from_slice(&mirrored[j..]);
        self.mirrored += (self.neighbours.len() - before - given.len()) as u64;
    }

    /// The same with weights; where both lists have a target the larger weight stays.
    fn merge_weighted(&mut self, given: &[(u32, f32)], mirrored: &[(u32, f32)]) {
        let before = self.neighbours.len();
        let (mut i, mut j) = (0, 0);
        while i < given.len() || j < mirrored.len() {
            let a = given.get(i).map_or(u64::MAX, |arc| u64::from(arc.0));
            let b = mirrored.get(j).map_or(u64::MAX, |arc| u64::from(arc.0));
            let mut weight = 0f32;
            if a <= b {
                weight = given[i].1;
                i += 1;
            }
            if b <= a {
                weight = weight.max(mirrored[j].1);
                j += 1;
            }
            self.neighbours.push(a.min(b) as u32);
            self.weights.push(weight);
        }
        self.mirrored += (self.neighbours.len() - before - given.len()) as u64;
    }
}

/// Sorts a list and moves its distinct values to the front.
fn sort_unique(list: &mut [u32]) -> &[u32] {
    list.sort_unstable();
    let mut kept = 0;
    for place in 0..list.len() {
        if place == 0 || list[place] != list[kept - 1] {
            list[kept] = list[place];
            kept += 1;
        }
    }
    &list[..kept]
}

/// Sorts arcs and puts one per target into `combined`. Weights of one target
/// come in rising order, so that their sum does not depend on the input's order.
fn combine(arcs: &mut [u64], duplicates: Duplicates, combined: &mut Vec<(u32, f32)>) {
    arcs.sort_unstable();
    combined.clear();
    for same in arcs.chunk_by(|a, b| a >> 32 == b >> 32) {
        let weights = same.iter().map(|&arc| f32::from_bits(arc as u32));
        let weight = match duplicates {
            Duplicates::Largest => weights.fold(0.0, f32::max),
            // Infinity is not a weight: the largest finite one stands for it.
            Duplicates::Sum => (weights.map(f64::from).sum::<f64>() as f32).min(f32::MAX),
        };
        combined.push(((same[0] >> 32) as u32, weight));
    }
}

#[cfg(test)]
mod tests;
