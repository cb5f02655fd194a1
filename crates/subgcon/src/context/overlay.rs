//! A graph with one node more.
//!
//! A request may describe a node that the graph does not hold: its arcs, and so
//! its context. The graph below stays as it is; the new node gets the number
//! after the last one.

use super::view::{AdjacencyView, GraphView, precise_sum};
use crate::error::{Error, Result};

/// A view and one node more, connected to nodes of the view.
#[derive(Debug)]
pub struct WithNode<'a> {
    below: &'a AdjacencyView<'a>,
    node: u32,
    /// Leaving arcs, rising.
    heads: Vec<u32>,
    head_weights: Option<Vec<f32>>,
    /// Arriving arcs, rising: the same in an undirected graph.
    tails: Vec<(u32, f32)>,
    sum_out: f64,
    sum_in: f64,
}

impl<'a> WithNode<'a> {
    /// Adds a node to an undirected view; `arcs` are its neighbours with their
    /// weights, 1 in an unweighted graph.
    pub fn undirected(below: &'a AdjacencyView<'a>, arcs: &[(u32, f32)]) -> Result<WithNode<'a>> {
        if below.directed() {
            return Err(Error::setting(
                "arcs",
                arcs.len(),
                "the graph is directed; give leaving and arriving arcs",
            ));
        }
        WithNode::new(below, arcs, arcs)
    }

    /// Adds a node to a directed view, with its leaving and arriving arcs.
    pub fn directed(
        below: &'a AdjacencyView<'a>,
        leaving: &[(u32, f32)],
        arriving: &[(u32, f32)],
    ) -> Result<WithNode<'a>> {
        if !below.directed() {
            return Err(Error::setting(
                "arcs",
                arriving.len(),
                "the graph is undirected; give one list of neighbours",
            ));
        }
        WithNode::new(below, leaving, arriving)
    }

    fn new(
        below: &'a AdjacencyView<'a>,
        leaving: &[(u32, f32)],
        arriving: &[(u32, f32)],
    ) -> Result<WithNode<'a>> {
        let weighted = below.nodes() > 0 && below.weights(0).is_some();
        let leaving = checked(below, leaving, weighted)?;
        let tails = checked(below, arriving, weighted)?;
        let (heads, weights): (Vec<u32>, Vec<f32>) = leaving.into_iter().unzip();
        let tail_weights: Vec<f32> = tails.iter().map(|&(_, weight)| weight).collect();
        Ok(WithNode {
            below,
            node: below.nodes() as u32,
            heads,
            sum_out: precise_sum(&weights),
            sum_in: precise_sum(&tail_weights),
            head_weights: weighted.then_some(weights),
            tails,
        })
    }

    /// The number of the new node.
    pub fn node(&self) -> u32 {
        self.node
    }

    /// Weight of the arc that arrives at the new node from `node`.
    fn arriving(&self, node: u32) -> Option<f32> {
        let at = self.tails.binary_search_by_key(&node, |&(tail, _)| tail).ok()?;
        Some(self.tails[at].1)
    }

    fn leaving(&self, node: u32) -> Option<f32> {
        let at = self.heads.binary_search(&node).ok()?;
        Some(self.head_weights.as_ref().map_or(1.0, |weights| weights[at]))
    }
}

fn checked(
    below: &AdjacencyView<'_>,
    arcs: &[(u32, f32)],
    weighted: bool,
) -> Result<Vec<(u32, f32)>> {
    let mut arcs = arcs.to_vec();
    arcs.sort_by_key(|&(node, _)| node);
    for (at, &(node, weight)) in arcs.iter().enumerate() {
        if node as usize >= below.nodes() {
            return Err(Error::setting(
                "arcs",
                node,
                format!("the graph has {} nodes, numbered from 0", below.nodes()),
            ));
        }
        if at > 0 && arcs[at - 1].0 == node {
            return Err(Error::setting("arcs", node, "name every neighbour once"));
        }
        let fits = if weighted { weight.is_finite() && weight >= 0.0 } else { weight == 1.0 };
        if !fits {
            let remedy = if weighted {
                "a weight is finite and not negative"
            } else {
                "the graph has no weights; every arc weighs 1"
            };
            return Err(Error::setting("weight", weight, remedy));
        }
    }
    Ok(arcs)
}

impl GraphView for WithNode<'_> {
    fn nodes(&self) -> usize {
        self.below.nodes() + 1
    }

    fn directed(&self) -> bool {
        self.below.directed()
    }

    fn neighbours(&self, node: u32) -> &[u32] {
        if node == self.node { &self.heads } else { self.below.neighbours(node) }
    }

    fn weights(&self, node: u32) -> Option<&[f32]> {
        if node == self.node { self.head_weights.as_deref() } else { self.below.weights(node) }
    }

    fn extra(&self, node: u32) -> Option<(u32, f32)> {
        self.arriving(node).map(|weight| (self.node, weight))
    }

    fn weight_out(&self, node: u32) -> f64 {
        if node == self.node {
            self.sum_out
        } else {
            self.below.weight_out(node) + self.arriving(node).map_or(0.0, f64::from)
        }
    }

    fn weight_in(&self, node: u32) -> f64 {
        if node == self.node {
            self.sum_in
        } else {
            self.below.weight_in(node) + self.leaving(node).map_or(0.0, f64::from)
        }
    }
}
