//! A graph whose columns fit into a cache: every thread smooths some columns of its own from the
//! first step to the last.
//!
//! Nodes are put in the order of how many neighbours they have (`math/even.rs` says why) when
//! columns are copied out of the rows, and back into their own when they are copied back, which costs nothing beside
//! the copying. Lists keep their order, so every sum has the bits that it has in a large graph.

use std::ops::Range;

use rayon::prelude::*;

use super::{Smoother, Smoothing};
use crate::graph::Adjacency;
use crate::math::{EvenLists, EvenStep, Line, Matrix, Simd};

/// Columns of a panel: sums of a row are four registers of 32 bytes. Those that are missing in the last panel
/// are zeros.
pub(super) const COLUMNS: usize = 32;

/// Nodes and arcs of a graph up to which it is small: a thread has three panels of 128 bytes a node,
/// and arcs are copied once.
const NODES: usize = 1 << 15;
const ARCS: usize = 1 << 24;
/// Columns from which on a panel that they do not fill is worth it.
pub(super) const FEWEST: usize = 8;

type Row = Line<COLUMNS>;

const ZEROS: Row = Line([0.0; COLUMNS]);

/// Nodes in the order of how many neighbours they have.
#[derive(Debug)]
pub(super) struct Order {
    /// The node at every place.
    nodes: Vec<u32>,
    /// The place of every node.
    places: Vec<u32>,
    /// Places of each node's neighbours.
    lists: EvenLists,
}

impl Order {
    /// Whether a graph is small enough.
    pub(super) fn suits(adjacency: &Adjacency) -> bool {
        adjacency.nodes() <= NODES && adjacency.neighbours.len() <= ARCS
    }

    pub(super) fn of(adjacency: &Adjacency) -> Order {
        let mut nodes: Vec<u32> = (0..adjacency.nodes() as u32).collect();
        nodes.sort_by_key(|&node| adjacency.degree(node));
        let mut places = vec![0u32; nodes.len()];
        (0u32..).zip(&nodes).for_each(|(place, &node)| places[node as usize] = place);
        let near = nodes.iter().flat_map(|&node| adjacency.neighbours(node));
        let items = near.map(|&near| places[near as usize]).collect();
        let weights = nodes.iter().filter_map(|&node| adjacency.weights(node)).flatten();
        let weights = adjacency.weights.is_some().then(|| weights.copied().collect());
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for &node in &nodes {
            match (adjacency.degree(node), runs.last_mut()) {
                (degree, Some((length, count))) if *length == degree => *count += 1,
                (degree, _) => runs.push((degree, 1)),
            }
        }
        Order { nodes, places, lists: EvenLists { runs, items, weights } }
    }

    /// Of a number for each node, those of the places.
    fn placed(&self, of_nodes: impl Fn(usize) -> f32) -> Vec<f32> {
        self.nodes.iter().map(|&node| of_nodes(node as usize)).collect()
    }
}

/// What a panel is smoothed in.
#[derive(Default)]
struct Panel {
    here: Vec<Row>,
    there: Vec<Row>,
    /// The rows as they were, or a sum of powers.
    beside: Vec<Row>,
}

/// What every panel of some columns needs.
struct Steps<'a> {
    order: &'a Order,
    smoothing: Smoothing,
    level: Simd,
    /// [`Smoother::turn`] of every place.
    turns: Vec<f32>,
    /// What sums are multiplied with.
    scale: Vec<f32>,
    /// Of the rows as they were, where they are added at every step.
    shares: Option<Vec<f32>>,
}

impl Smoother {
    /// Smooths some columns of rows, one a node, in place.
    pub(super) fn apply_by_panels(
        &self,
        order: &Order,
        smoothing: Smoothing,
        rows: &mut Matrix<f32>,
        columns: Range<usize>,
    ) {
        let restart = match smoothing {
            Smoothing::PageRank { restart, .. } => restart,
            Smoothing::Powers { .. } | Smoothing::Walk { .. } => 0.0,
        };
        let scales = self.scales(1.0 - restart);
        let steps = Steps {
            order,
            smoothing,
            level: Simd::detect(),
            turns: order.placed(|node| self.turn(smoothing, node)),
            scale: order.placed(|node| scales[node]),
            shares: (restart > 0.0).then(|| order.placed(|node| restart as f32 * self.scale[node])),
        };
        let of = |start: usize| start..(start + COLUMNS).min(columns.end);
        let starts: Vec<usize> = columns.clone().step_by(COLUMNS).collect();
        let threads = rayon::current_num_threads().min(starts.len());
        let mut panels: Vec<Panel> = (0..threads).map(|_| Panel::default()).collect();
        for starts in starts.chunks(threads) {
            let given = &*rows;
            starts.par_iter().zip(&mut panels).for_each(|(&start, panel)| {
                steps.smooth(given, of(start), panel);
            });
            let lines = rows.values.par_chunks_mut(rows.width).zip(&order.places);
            lines.with_min_len(super::NODES).for_each(|(row, &place)| {
                let back = 1.0 / steps.turns[place as usize];
                for (&start, panel) in starts.iter().zip(&panels) {
                    let smoothed = panel.here[place as usize].0.map(|x| back * x);
                    let row = &mut row[of(start)];
                    match row.first_chunk_mut() {
                        Some(row) => *row = smoothed,
                        None => row.copy_from_slice(&smoothed[..row.len()]),
                    }
                }
            });
        }
    }
}

impl Steps<'_> {
    /// [`Smoother::turn`] times some of the columns, smoothed, to `panel.here`.
    fn smooth(&self, rows: &Matrix<f32>, columns: Range<usize>, panel: &mut Panel) {
        let Panel { here, there, beside } = panel;
        let nodes = &self.order.nodes;
        let keep = self.shares.is_some();
        [&mut *here, there].into_iter().for_each(|rows| rows.resize(nodes.len(), ZEROS));
        if keep {
            beside.resize(nodes.len(), ZEROS);
        }
        for (place, (&node, &turn)) in nodes.iter().zip(&self.turns).enumerate() {
            let row = &rows.row(node as usize)[columns.clone()];
            // A copy of known length is some registers, of any other a call.
            let given = row.first_chunk().copied().unwrap_or_else(|| {
                let mut given = [0.0; COLUMNS];
                given[..row.len()].copy_from_slice(row);
                given
            });
            here[place] = Line(given.map(|x| turn * x));
            if keep {
                beside[place] = Line(given);
            }
        }
        let (steps, share) = match self.smoothing {
            Smoothing::PageRank { steps, .. } | Smoothing::Walk { steps } => (steps, None),
            Smoothing::Powers { steps, weight } => {
                beside.clear();
                beside.extend(here.iter().map(|row| Line(row.0.map(|x| weight as f32 * x))));
                (steps, Some(((1.0 - weight) / f64::from(steps)) as f32))
            }
        };
        for _ in 0..steps {
            let (rest, sum) = match (&self.shares, share) {
                (Some(shares), _) => (Some((&shares[..], &beside[..])), None),
                (None, Some(share)) => (None, Some((share, &mut beside[..]))),
                (None, None) => (None, None),
            };
            self.level.run(EvenStep {
                lists: &self.order.lists,
                from: here,
                scale: &self.scale,
                rest,
                to: there,
                sum,
            });
            std::mem::swap(here, there);
        }
        if share.is_some() {
            std::mem::swap(here, beside);
        }
    }
}
