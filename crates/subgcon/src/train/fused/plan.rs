//! What all tiles have to know of a batch, found once.
//!
//! Rows are gone through in order. A **run** is a stretch of rows inside one piece
//! that belong to the same summary, or to none; so the sums of a summary stay in
//! registers for a whole run.

use crate::batch::{Batch, Units};

/// No context.
pub(super) const NONE: u32 = u32::MAX;

/// Rows `start..end`, all members of one context or of none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Run {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) context: u32,
    /// Whether the context has no earlier run.
    pub(super) first: bool,
}

/// Rows `start..end` of a subgraph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Piece {
    pub(super) start: u32,
    pub(super) end: u32,
    /// Its runs are `runs..runs_end`.
    pub(super) runs: u32,
    pub(super) runs_end: u32,
    /// Whether a row of it is a member of a summary.
    pub(super) members: bool,
}

/// How the rows of a batch hang together.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Unit that a row shows, (rows).
    pub(super) units: Vec<u32>,
    /// Unit that the head of an arc shows, (arcs): one look-up less an arc and tile.
    pub(super) head_units: Vec<u32>,
    /// Context whose summary a row is in, (rows).
    contexts: Vec<u32>,
    /// Its weight there, (rows).
    pub(super) weights: Vec<f32>,
    pub(super) runs: Vec<Run>,
    pub(super) pieces: Vec<Piece>,
    /// Rising.
    pub(super) centers: Vec<Center>,
    /// Whether a context was met, (contexts).
    met: Vec<bool>,
    /// Rows of the largest piece.
    pub(super) longest: usize,
}

/// A row and the context whose center it is.
pub(super) type Center = (u32, u32);

/// Centers before row `end`, and the others. They are few: no search.
#[inline(always)]
pub(super) fn split(centers: &[Center], end: u32) -> (&[Center], &[Center]) {
    let mut at = 0;
    while at < centers.len() && centers[at].0 < end {
        at += 1;
    }
    centers.split_at(at)
}

impl Plan {
    /// Looks at a batch; panics where it is not one that this layer can learn from.
    pub(super) fn look(&mut self, batch: &Batch<f32>) {
        let rows = batch.rows();
        let contexts = batch.contexts();
        assert_eq!(batch.arcs.offsets.len(), rows + 1, "a GCN needs the arcs of every row");
        assert_eq!(batch.centers.len(), contexts, "a center a context");
        assert_eq!(batch.members.offsets.len(), contexts + 1, "members of every context");

        self.units.clear();
        match &batch.units {
            Units::Same => self.units.extend(0..rows as u32),
            Units::Shown { of_row, .. } => self.units.extend_from_slice(of_row),
        }
        let units = &self.units;
        self.head_units.clear();
        self.head_units.extend(batch.arcs.heads.iter().map(|&head| units[head as usize]));

        self.contexts.clear();
        self.contexts.resize(rows, NONE);
        self.weights.clear();
        self.weights.resize(rows, 0.0);
        for context in 0..contexts {
            let (members, weights) = batch.members.of(context);
            for (&row, &weight) in members.iter().zip(weights) {
                let of = &mut self.contexts[row as usize];
                assert_eq!(*of, NONE, "row {row} is a member twice");
                *of = context as u32;
                self.weights[row as usize] = weight;
            }
        }
        self.centers.clear();
        self.centers.extend(batch.centers.iter().zip(0..).map(|(&row, context)| (row, context)));
        self.centers.sort_unstable();
        self.cut(batch);
    }

    fn cut(&mut self, batch: &Batch<f32>) {
        self.met.clear();
        self.met.resize(batch.contexts(), false);
        self.runs.clear();
        self.pieces.clear();
        self.longest = 0;
        for ends in batch.pieces.windows(2) {
            let (start, end) = (ends[0], ends[1]);
            let runs = self.runs.len() as u32;
            let mut members = false;
            let mut at = start;
            for of in self.contexts[start as usize..end as usize].chunk_by(|a, b| a == b) {
                let context = of[0];
                let first =
                    context != NONE && !std::mem::replace(&mut self.met[context as usize], true);
                members |= context != NONE;
                self.runs.push(Run { start: at, end: at + of.len() as u32, context, first });
                at += of.len() as u32;
            }
            let runs_end = self.runs.len() as u32;
            self.pieces.push(Piece { start, end, runs, runs_end, members });
            self.longest = self.longest.max((end - start) as usize);
        }
        let covered = batch.pieces.first() == Some(&0)
            && batch.pieces.last().map(|&end| end as usize) == Some(batch.rows());
        assert!(covered, "pieces hold all rows");
        assert!(self.met.iter().all(|&met| met), "a context has no members");
    }
}
