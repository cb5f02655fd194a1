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

/// Places of up to 64 nodes by number: open addressing in 256 bytes.
struct Places<'a> {
    nodes: &'a [u32],
    slots: [u8; 256],
}

impl<'a> Places<'a> {
    fn new(nodes: &'a [u32]) -> Places<'a> {
        let mut places = Places { nodes, slots: [0; 256] };
        for (place, &node) in nodes.iter().enumerate() {
            let mut at = Places::slot(node);
            while places.slots[at as usize] != 0 {
                at = at.wrapping_add(1);
            }
            places.slots[at as usize] = place as u8 + 1;
        }
        places
    }

    fn slot(node: u32) -> u8 {
        (node.wrapping_mul(0x9E37_79B1) >> 24) as u8
    }

    #[inline]
    fn find(&self, node: u32) -> Option<usize> {
        let mut at = Places::slot(node);
        loop {
            match self.slots[at as usize] {
                0 => return None,
                place if self.nodes[place as usize - 1] == node => return Some(place as usize - 1),
                _ => at = at.wrapping_add(1),
            }
        }
    }
}

/// The induced adjacency of up to 64 different nodes, into one word each.
pub fn induced_bits<V: GraphView>(view: &V, nodes: &[u32], rows: &mut [u64]) {
    assert!(nodes.len() <= MAX_BIT_SIZE, "{} nodes do not fit a bit row", nodes.len());
    assert_eq!(nodes.len(), rows.len(), "one row a node");
    rows.fill(0);
    touch(view, nodes.iter().copied());
    let places = Places::new(nodes);
    let (mirrored, mut long) = (!view.directed(), 0u64);
    for (a, &node) in nodes.iter().enumerate() {
        if view.degree(node) > MAX_SCAN {
            long |= 1 << a;
            continue;
        }
        let listed = view.neighbours(node).iter().copied();
        for neighbour in listed.chain(view.extra(node).map(|(neighbour, _)| neighbour)) {
            if let Some(b) = places.find(neighbour) {
                rows[a] |= 1 << b;
                if mirrored {
                    rows[b] |= 1 << a;
                }
            }
        }
    }
    while long != 0 {
        let a = long.trailing_zeros() as usize;
        long &= long - 1;
        if mirrored {
            // Shorter lists have told already; of two long ones ask the shorter.
            let mut others = long;
            while others != 0 {
                let b = others.trailing_zeros() as usize;
                others &= others - 1;
                let swap = view.degree(nodes[b]) < view.degree(nodes[a]);
                let (from, to) = if swap { (b, a) } else { (a, b) };
                if view.connects(nodes[from], nodes[to]) {
                    rows[a] |= 1 << b;
                    rows[b] |= 1 << a;
                }
            }
        } else {
            for (b, &to) in nodes.iter().enumerate() {
                if a != b && view.connects(nodes[a], to) {
                    rows[a] |= 1 << b;
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
