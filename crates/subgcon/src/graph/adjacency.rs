//! Who is connected to whom (CSR).

use super::merge::ArcSink;
use crate::error::{Error, Result};
use crate::math::Array;

/// Nodes are numbered with `u32`; the largest value is kept free for "none" and
/// the one below it so that n itself is a valid number too.
pub const MAX_NODES: u64 = (1 << 32) - 2;

/// Checks a number of nodes against [`MAX_NODES`].
pub fn node_count(nodes: u64) -> Result<u32> {
    if nodes > MAX_NODES {
        return Err(Error::setting(
            "nodes",
            nodes,
            format!("a graph holds at most {MAX_NODES} nodes (2^32 - 2); split it"),
        ));
    }
    Ok(nodes as u32)
}

/// The neighbours of every node, sorted and without repeats or self-loops. In
/// an undirected graph every edge stands in both its nodes' lists.
#[derive(Debug, Clone)]
pub struct Adjacency {
    /// nodes + 1 positions in `neighbours`.
    pub offsets: Array<u64>,
    /// Neighbour lists, one node after another.
    pub neighbours: Array<u32>,
    /// Weight of each arc, where the graph has weights.
    pub weights: Option<Array<f32>>,
    /// Whether an arc u → v may be there without v → u.
    pub directed: bool,
}

impl Adjacency {
    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Stored arcs: twice the edges of an undirected graph.
    pub fn arcs(&self) -> u64 {
        self.neighbours.len() as u64
    }

    /// Pairs of connected nodes, or arcs of a directed graph.
    pub fn edges(&self) -> u64 {
        if self.directed { self.arcs() } else { self.arcs() / 2 }
    }

    /// Every edge once with its weight (1 where there are none), rising; the smaller node first
    /// where the graph is undirected.
    pub fn each_edge(&self) -> impl Iterator<Item = (u32, u32, f32)> + '_ {
        let arcs = (0..self.nodes() as u32).flat_map(|node| {
            let weights = self.weights(node);
            let others = self.neighbours(node).iter().enumerate();
            others.map(move |(at, &other)| (node, other, weights.map_or(1.0, |all| all[at])))
        });
        arcs.filter(|&(node, other, _)| self.directed || node < other)
    }

    fn range(&self, node: u32) -> std::ops::Range<usize> {
        let node = node as usize;
        self.offsets[node] as usize..self.offsets[node + 1] as usize
    }

    /// Neighbours of a node, rising.
    pub fn neighbours(&self, node: u32) -> &[u32] {
        &self.neighbours[self.range(node)]
    }

    /// Weights of a node's arcs, in the order of its neighbours.
    pub fn weights(&self, node: u32) -> Option<&[f32]> {
        self.weights.as_ref().map(|weights| &weights[self.range(node)])
    }

    /// Number of neighbours.
    pub fn degree(&self, node: u32) -> usize {
        self.range(node).len()
    }
}

/// An [`Adjacency`] that grows in memory, block by block.
#[derive(Debug)]
pub struct AdjacencyBuilder {
    offsets: Vec<u64>,
    neighbours: Vec<u32>,
    weights: Vec<f32>,
    directed: bool,
}

impl Adjacency {
    /// No nodes yet; [`super::merge`] fills it.
    pub fn empty(directed: bool) -> AdjacencyBuilder {
        AdjacencyBuilder { offsets: vec![0], neighbours: Vec::new(), weights: Vec::new(), directed }
    }
}

impl AdjacencyBuilder {
    /// All nodes are in. Weights that are all one are forgotten.
    pub fn finish(self) -> Adjacency {
        let weighted = self.weights.iter().any(|&weight| weight != 1.0);
        Adjacency {
            offsets: self.offsets.into(),
            neighbours: self.neighbours.into(),
            weights: weighted.then(|| self.weights.into()),
            directed: self.directed,
        }
    }
}

impl ArcSink for AdjacencyBuilder {
    fn block(&mut self, degrees: &[u32], neighbours: &[u32], weights: &[f32]) -> Result<()> {
        let mut end = self.neighbours.len() as u64;
        self.offsets.extend(degrees.iter().map(|&degree| {
            end += u64::from(degree);
            end
        }));
        self.neighbours.extend_from_slice(neighbours);
        self.weights.extend_from_slice(weights);
        Ok(())
    }
}
