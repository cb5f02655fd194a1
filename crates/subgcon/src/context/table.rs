//! Contexts as plain arrays.

use super::bits::{BitPart, BitRows, Words};
use crate::math::Array;

/// Fills the places after the end of a short context.
pub const NO_NODE: u32 = u32::MAX;

/// What is known of a context, as bits of one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// Proven to be the right set of nodes.
    pub const CERTIFIED: Flags = Flags(1);
    /// Proven but for equal scores around the last place, taken by node number.
    pub const TIED: Flags = Flags(2);
    /// The budget ended the work before ε or the proof did.
    pub const BUDGET: Flags = Flags(4);
    /// Shorter than asked for, since no more nodes can be reached.
    pub const SHORT: Flags = Flags(8);

    /// Whether all bits of `other` are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Bits of both.
    #[must_use]
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// The context of one node.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    /// The centre, then score descending, then node ascending.
    pub nodes: Vec<u32>,
    /// PageRank of each, seen from the centre.
    pub pagerank: Vec<f32>,
    /// Sum of `pagerank`: how much of a walk's end lies inside.
    pub captured: f32,
    /// PageRank that no node was given yet; 0 means that all of it is known.
    pub residual: f32,
    /// What is known of it.
    pub flags: Flags,
}

/// Contexts of many nodes, row by row. Short ones end in [`NO_NODE`] and zeros.
#[derive(Debug, Clone, PartialEq)]
pub struct Contexts {
    /// Places in a row.
    pub size: usize,
    /// (rows, size).
    pub nodes: Array<u32>,
    /// (rows, size).
    pub pagerank: Array<f32>,
    /// (rows, size), bit rows; for sizes up to 64.
    pub bits: BitRows,
    /// (rows).
    pub captured: Array<f32>,
    /// (rows).
    pub residual: Array<f32>,
    /// (rows).
    pub flags: Array<u8>,
}

impl Contexts {
    /// Number of contexts.
    pub fn rows(&self) -> usize {
        self.flags.len()
    }

    /// Nodes of a context, without the filling.
    pub fn nodes(&self, row: usize) -> &[u32] {
        let places = &self.nodes[row * self.size..(row + 1) * self.size];
        &places[..places.iter().position(|&node| node == NO_NODE).unwrap_or(self.size)]
    }

    /// PageRank of these nodes.
    pub fn pagerank(&self, row: usize) -> &[f32] {
        &self.pagerank[row * self.size..][..self.nodes(row).len()]
    }

    /// What is known of a context.
    pub fn flags(&self, row: usize) -> Flags {
        Flags(self.flags[row])
    }
}

/// Rows that are being filled.
pub(super) struct Rows {
    size: usize,
    nodes: Vec<u32>,
    pagerank: Vec<f32>,
    words32: Vec<u32>,
    words64: Vec<u64>,
    captured: Vec<f32>,
    residual: Vec<f32>,
    flags: Vec<u8>,
}

impl Rows {
    pub(super) fn new(rows: usize, size: usize) -> Rows {
        let words = |wanted: bool| if wanted { rows * size } else { 0 };
        Rows {
            size,
            nodes: vec![NO_NODE; rows * size],
            pagerank: vec![0.0; rows * size],
            words32: vec![0; words(Words::of(size) == Words::Narrow)],
            words64: vec![0; words(Words::of(size) == Words::Wide)],
            captured: vec![0.0; rows],
            residual: vec![0.0; rows],
            flags: vec![0; rows],
        }
    }

    /// Parts of `rows` rows to be filled by different threads.
    pub(super) fn parts(&mut self, rows: usize) -> Vec<Part<'_>> {
        let places = rows * self.size;
        let bits: Box<dyn Iterator<Item = BitPart<'_>>> = match Words::of(self.size) {
            Words::None => Box::new(std::iter::repeat_with(|| BitPart::None)),
            Words::Narrow => Box::new(self.words32.chunks_mut(places).map(BitPart::Words32)),
            Words::Wide => Box::new(self.words64.chunks_mut(places).map(BitPart::Words64)),
        };
        let nodes = self.nodes.chunks_mut(places);
        let pagerank = self.pagerank.chunks_mut(places);
        let captured = self.captured.chunks_mut(rows);
        let residual = self.residual.chunks_mut(rows);
        let flags = self.flags.chunks_mut(rows);
        nodes
            .zip(pagerank)
            .zip(bits)
            .zip(captured)
            .zip(residual)
            .zip(flags)
            .map(|(((((nodes, pagerank), bits), captured), residual), flags)| Part {
                nodes,
                pagerank,
                bits,
                captured,
                residual,
                flags,
            })
            .collect()
    }

    pub(super) fn finish(self) -> Contexts {
        Contexts {
            size: self.size,
            nodes: self.nodes.into(),
            pagerank: self.pagerank.into(),
            bits: match Words::of(self.size) {
                Words::None => BitRows::None,
                Words::Narrow => BitRows::Words32(self.words32.into()),
                Words::Wide => BitRows::Words64(self.words64.into()),
            },
            captured: self.captured.into(),
            residual: self.residual.into(),
            flags: self.flags.into(),
        }
    }
}

/// Some of the [`Rows`].
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub nodes: &'a mut [u32],
    pub pagerank: &'a mut [f32],
    pub bits: BitPart<'a>,
    pub captured: &'a mut [f32],
    pub residual: &'a mut [f32],
    pub flags: &'a mut [u8],
}
