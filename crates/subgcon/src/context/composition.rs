//! How far from its centre does a context reach? (Paper, Fig. 4.)
//!
//! The distance of a member is the number of arcs on the shortest way from the
//! centre, through the whole graph. It is found by going out from the centre,
//! one ring after another, until every member has been met. On a graph of
//! skewed degrees the third ring may hold most of the graph, so the work for one
//! context is bounded: a member not met by then counts as further away than the
//! last ring that was finished.

use rayon::prelude::*;

use super::table::Contexts;
use super::view::GraphView;

/// Rings that are told apart.
pub const MAX_HOPS: usize = 8;

/// A graph of more nodes has one walker.
const LARGE: usize = 1 << 17;

/// Arcs looked at for one context.
const BUDGET: usize = 500_000;

/// How many members of contexts lie at each distance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Composition {
    /// Contexts that were looked at.
    pub contexts: u64,
    /// Members, the centres aside, at distance 1 to [`MAX_HOPS`].
    pub at_hops: [u64; MAX_HOPS],
    /// Members further away than could be told.
    pub further: u64,
}

impl Composition {
    /// Members in all, the centres aside.
    pub fn members(&self) -> u64 {
        self.at_hops.iter().sum::<u64>() + self.further
    }

    /// Looks at every `step`-th context; row i is that of node i.
    pub fn of<V: GraphView>(view: &V, contexts: &Contexts, step: usize) -> Composition {
        let add = |mut sum: Composition, part: Composition| {
            sum.contexts += part.contexts;
            sum.further += part.further;
            sum.at_hops.iter_mut().zip(part.at_hops).for_each(|(sum, part)| *sum += part);
            sum
        };
        // One walker a thread, since each remembers which nodes it has seen: a mark for
        // every node, so that a large graph gets a single one.
        let large = view.nodes() > LARGE;
        let threads = if large { 1 } else { rayon::current_num_threads() };
        (0..threads)
            .into_par_iter()
            .map(|thread| {
                let mut rings = Rings::new(view.nodes());
                let mut composition = Composition::default();
                for row in (0..contexts.rows()).step_by(step.max(1)).skip(thread).step_by(threads) {
                    composition.contexts += 1;
                    let members = contexts.nodes(row);
                    for hops in rings.distances(view, members).into_iter().skip(1) {
                        match hops {
                            Some(hops) => composition.at_hops[hops - 1] += 1,
                            None => composition.further += 1,
                        }
                    }
                }
                composition
            })
            .reduce(Composition::default, add)
    }
}

/// Distances of `members` from the first of them; `None` where further away
/// than could be told.
pub fn distances<V: GraphView>(view: &V, members: &[u32]) -> Vec<Option<usize>> {
    Rings::new(view.nodes()).distances(view, members)
}

/// What one thread needs to go out from a node again and again.
struct Rings {
    /// The round in which a node was last seen.
    seen: Vec<u32>,
    round: u32,
    ring: Vec<u32>,
    next: Vec<u32>,
}

impl Rings {
    fn new(nodes: usize) -> Rings {
        Rings { seen: vec![0; nodes], round: 0, ring: Vec::new(), next: Vec::new() }
    }

    fn distances<V: GraphView>(&mut self, view: &V, members: &[u32]) -> Vec<Option<usize>> {
        let mut found = vec![None; members.len()];
        let Some(&centre) = members.first() else { return found };
        self.round += 1;
        if self.round == u32::MAX {
            self.seen.fill(0);
            self.round = 1;
        }
        found[0] = Some(0);
        let mut missing = members.len() - 1;
        self.seen[centre as usize] = self.round;
        self.ring.clear();
        self.ring.push(centre);
        let mut work = 0;
        for hops in 1..=MAX_HOPS {
            if missing == 0 || self.ring.is_empty() {
                break;
            }
            work += self.ring.iter().map(|&node| view.degree(node)).sum::<usize>();
            if work > BUDGET {
                break;
            }
            self.next.clear();
            for &node in &self.ring {
                for (other, _) in view.arcs(node) {
                    let seen = &mut self.seen[other as usize];
                    if *seen != self.round {
                        *seen = self.round;
                        self.next.push(other);
                    }
                }
            }
            for (place, member) in members.iter().enumerate() {
                if found[place].is_none() && self.seen[*member as usize] == self.round {
                    found[place] = Some(hops);
                    missing -= 1;
                }
            }
            std::mem::swap(&mut self.ring, &mut self.next);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{AdjacencyView, ContextSettings};
    use crate::graph::{Adjacency, EdgeList, EdgeRules, merge};
    use crate::progress::Silent;

    fn path(nodes: u32) -> Adjacency {
        let edges: EdgeList = (1..nodes).map(|node| (node - 1, node)).collect();
        let mut made = Adjacency::empty(false);
        merge(nodes, edges, EdgeRules::default(), &mut made, &Silent).unwrap();
        made.finish()
    }

    #[test]
    fn distances_on_a_path_are_differences() {
        let adjacency = path(30);
        let view = AdjacencyView::new(&adjacency);
        let told = distances(&view, &[10, 11, 9, 14, 3, 1, 29]);
        assert_eq!(told, [Some(0), Some(1), Some(1), Some(4), Some(7), None, None]);
        assert!(distances(&view, &[]).is_empty());
    }

    #[test]
    fn a_composition_counts_every_member_once() {
        let adjacency = path(12);
        let view = AdjacencyView::new(&adjacency);
        let settings = ContextSettings { size: 3, ..ContextSettings::default() };
        let contexts = Contexts::sample(&view, &settings, &Silent).unwrap();
        let composition = Composition::of(&view, &contexts, 1);
        assert_eq!((composition.contexts, composition.members()), (12, 24));
        // Both neighbours of an inner node; at the ends also the one behind.
        assert!(composition.at_hops[0] >= 20 && composition.further == 0, "{composition:?}");
    }
}
