//! Who is connected inside a context?
//!
//! Row a, bit b of the induced adjacency is set when the arc from the a-th to the
//! b-th node of the context is there. A row is one word: `u32` for contexts of up
//! to 32 nodes, `u64` for up to 64.

use super::settings::MAX_BIT_SIZE;
use super::view::{GraphView, touch};
use crate::math::Array;

/// Longest list that is read from end to end; the arcs between two longer ones
/// are searched for.
const MAX_SCAN: usize = 256;

/// Places for members by a hash of their number.
const SLOTS: usize = 4096;

/// How wide the words of a bit row are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Words {
    None,
    Narrow,
    Wide,
}

impl Words {
    /// The width for contexts of this size.
    pub(crate) fn of(size: usize) -> Words {
        match size {
            0..=32 => Words::Narrow,
            33..=MAX_BIT_SIZE => Words::Wide,
            _ => Words::None,
        }
    }
}

/// Bit rows of many contexts, (rows, size).
#[derive(Debug, Clone, PartialEq)]
pub enum BitRows {
    /// Contexts of more than 64 nodes have none.
    None,
    /// For sizes up to 32.
    Words32(Array<u32>),
    /// For sizes up to 64.
    Words64(Array<u64>),
}

impl BitRows {
    /// Whether word `at` has bit `bit`; `at` is row · size + place.
    pub fn get(&self, at: usize, bit: usize) -> bool {
        match self {
            BitRows::None => false,
            BitRows::Words32(words) => words[at] >> bit & 1 == 1,
            BitRows::Words64(words) => words[at] >> bit & 1 == 1,
        }
    }
}

/// Some of the rows of [`BitRows`].
#[derive(Debug)]
pub(super) enum BitPart<'a> {
    None,
    Words32(&'a mut [u32]),
    Words64(&'a mut [u64]),
}

impl BitPart<'_> {
    /// Writes the induced adjacency of `nodes` from word `start` on.
    pub(super) fn write<V: GraphView>(&mut self, view: &V, nodes: &[u32], start: usize) {
        let mut rows = [0; MAX_BIT_SIZE];
        match self {
            BitPart::None => {}
            BitPart::Words32(words) => {
                let rows = &mut rows[..nodes.len()];
                induced_bits(view, nodes, rows);
                words[start..].iter_mut().zip(rows).for_each(|(word, row)| *word = *row as u32);
            }
            BitPart::Words64(words) => {
                induced_bits(view, nodes, &mut words[start..start + nodes.len()]);
            }
        }
    }
}

/// Places of up to 64 nodes by number: a table in which no two of them meet, so
/// that looking one up is two reads and no branch.
struct Places {
    /// Filled up with the first.
    nodes: [u32; MAX_BIT_SIZE],
    factor: u32,
    /// The place of the node that belongs here; 0 where none does, which is told
    /// by the first node being another.
    slots: [u8; SLOTS],
}

impl Places {
    fn new(nodes: &[u32]) -> Places {
        let mut places =
            Places { nodes: [0; MAX_BIT_SIZE], factor: 0x9E37_79B1, slots: [0; SLOTS] };
        let Some(&first) = nodes.first() else { return places };
        places.nodes.fill(first);
        places.nodes[..nodes.len()].copy_from_slice(nodes);
        // Of all odd factors at most 2 in SLOTS let a given two nodes meet, so that
        // one is found for up to 64 nodes (2,016 pairs); for 20 the first mostly does.
        // The steps go through all odd numbers.
        while !places.fill(nodes) {
            places.slots.fill(0);
            places.factor = places.factor.wrapping_add(0x3C6E_F372);
        }
        places
    }

    /// False when two nodes meet.
    fn fill(&mut self, nodes: &[u32]) -> bool {
        let first = self.slot(nodes[0]);
        nodes.iter().enumerate().skip(1).all(|(place, &node)| {
            let slot = self.slot(node);
            let free = self.slots[slot] == 0 && slot != first;
            self.slots[slot] = place as u8;
            free
        })
    }

    #[inline(always)]
    fn slot(&self, node: u32) -> usize {
        (node.wrapping_mul(self.factor) >> (32 - SLOTS.trailing_zeros())) as usize
    }

    /// The bit of this node's place, or none.
    #[inline(always)]
    fn bit(&self, node: u32) -> u64 {
        let place = self.slots[self.slot(node)];
        u64::from(self.nodes[place as usize % MAX_BIT_SIZE] == node) << (place % 64)
    }
}

/// The induced adjacency of up to 64 different nodes, into one word each.
pub fn induced_bits<V: GraphView>(view: &V, nodes: &[u32], rows: &mut [u64]) {
    assert!(nodes.len() <= MAX_BIT_SIZE, "{} nodes do not fit a bit row", nodes.len());
    assert_eq!(nodes.len(), rows.len(), "one row a node");
    touch(view, nodes.iter().copied());
    let places = Places::new(nodes);
    let mut long = 0u64;
    for (a, (&node, row)) in nodes.iter().zip(&mut *rows).enumerate() {
        *row = 0;
        if view.degree(node) > MAX_SCAN {
            long |= 1 << a;
            continue;
        }
        for &neighbour in view.neighbours(node) {
            *row |= places.bit(neighbour);
        }
        if let Some((neighbour, _)) = view.extra(node) {
            *row |= places.bit(neighbour);
        }
    }
    let (mut left, short) = (long, !long);
    while left != 0 {
        let a = left.trailing_zeros() as usize;
        left &= left - 1;
        if view.directed() {
            for (b, &to) in nodes.iter().enumerate() {
                if a != b && view.connects(nodes[a], to) {
                    rows[a] |= 1 << b;
                }
            }
            continue;
        }
        // Shorter lists have told already; of two long ones ask the shorter.
        for b in 0..nodes.len() {
            if short >> b & 1 == 1 {
                rows[a] |= (rows[b] >> a & 1) << b;
            } else if left >> b & 1 == 1 {
                let swap = view.degree(nodes[b]) < view.degree(nodes[a]);
                let (from, to) = if swap { (b, a) } else { (a, b) };
                if view.connects(nodes[from], nodes[to]) {
                    rows[a] |= 1 << b;
                    rows[b] |= 1 << a;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::AdjacencyView;
    use super::super::oracle::build;
    use super::*;

    #[test]
    fn every_member_has_a_slot_of_its_own() {
        for stride in (0..26).map(|bit| 1u32 << bit).chain([3, 0x9E37_79B1, 0x4_0001, u32::MAX]) {
            let nodes: Vec<u32> = (0..64).map(|at| stride.wrapping_mul(at)).collect();
            let places = Places::new(&nodes);
            for (at, &node) in nodes.iter().enumerate() {
                assert_eq!(places.bit(node), 1 << at, "{stride} {at}");
                let other = node ^ 0x8000_0001;
                let bit = nodes.iter().position(|&n| n == other).map_or(0, |at| 1 << at);
                assert_eq!(places.bit(other), bit, "{stride} {at}");
            }
        }
    }

    #[test]
    fn long_lists_are_searched() {
        // Nodes 0 to 4 have more than MAX_SCAN arcs each, 5 and 6 a few.
        let mut edges = vec![(0, 1, 1.0), (1, 2, 1.0), (3, 0, 1.0), (4, 5, 1.0), (6, 2, 1.0)];
        for hub in 0..5u32 {
            edges.extend((0..300).map(|leaf| (hub, 10 + 300 * hub + leaf, 1.0)));
        }
        for directed in [false, true] {
            let graph = build(2000, &edges, false, directed);
            let nodes = [6, 4, 2, 0, 5, 1, 3, 15];
            let mut rows = [0; 8];
            induced_bits(&AdjacencyView::new(&graph), &nodes, &mut rows);
            for (a, &from) in nodes.iter().enumerate() {
                for (b, to) in nodes.iter().enumerate() {
                    let there = graph.neighbours(from).contains(to);
                    assert_eq!(rows[a] >> b & 1 == 1, there, "{from} {to} {directed}");
                }
            }
        }
    }
}
