//! Which nodes are like a node, wherever in the graph they are?
//!
//! Smoothing averages over neighbours; a node with few of them keeps much noise. Its company
//! are the nodes whose rows are most like its own, by the product of the blocks that are
//! scaled to a norm, and its row r becomes
//!
//! r ← (1 − share) r + share Σ w(j) r(j), w in proportion to the products, those below 0 left out.
//!
//! All products would be nodes² of them. So some nodes, √nodes evenly spread, are anchors,
//! every node belongs to the cell of the anchor that it is most like, and company is looked
//! for in the node's cell and in the cells of the anchors most like its own: as many cells as
//! hold about [`LOOKED_AT`] nodes, and three at the least, so that a node of a graph of a
//! million is compared with some 3,000.
//!
//! It is a function of the rows of all nodes: who is looked up together, and on how many
//! threads, changes nothing.

use rayon::prelude::*;

use crate::config::CompanySettings;
use crate::math::{Gather, Matrix, Write, gather, gemm};
use crate::progress::Progress;

/// Nodes that a node is compared with, about: their cells are taken whole.
const LOOKED_AT: usize = 1024;
/// Cells that are looked at, at the least.
const FEWEST_CELLS: usize = 3;
/// Nodes that a node is compared with at the most, evenly spread over those of its cells.
const MOST_COMPARED: usize = 4096;
/// Nodes whose products are made together.
const CHUNK: usize = 256;
/// A graph has so many nodes for each place of a company, at the least.
const NODES_PER_PLACE: usize = 5;
/// Columns that are mixed together.
const COLUMNS: usize = 64;

/// The company of every node of a graph.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Company {
    /// Places for each node.
    places: usize,
    /// (nodes, places), the most alike first; the node itself where a place is empty.
    members: Vec<u32>,
    /// (nodes, places): weights as they are added to the node's own row, 0 of an empty place.
    weights: Vec<f32>,
    /// (nodes): what the sum is multiplied with.
    scale: Vec<f32>,
}

impl Company {
    /// Of all nodes; `rows` gives, for different nodes, what is compared, some ten times for
    /// each.
    pub(super) fn find(
        settings: CompanySettings,
        nodes: usize,
        rows: impl Fn(&[u32]) -> Matrix<f32> + Sync,
        progress: &dyn Progress,
    ) -> Company {
        let places = settings.nearest.min(nodes / NODES_PER_PLACE);
        let mut company = Company {
            places,
            members: (0..nodes * places).map(|at| (at / places) as u32).collect(),
            weights: vec![0.0; nodes * places],
            scale: vec![1.0; nodes],
        };
        if places == 0 {
            return company;
        }
        let all: Vec<u32> = (0..nodes as u32).collect();
        let cells = Cells::of(&all, &rows, progress);
        progress.begin("finding company", cells.lists.len() as u64, "cells");
        let found: Vec<Vec<(u32, Chosen)>> = (0..cells.lists.len())
            .into_par_iter()
            .map(|cell| {
                let found = in_cell(&cells, cell, places, &rows);
                progress.advance(1);
                found
            })
            .collect();
        progress.end();
        let share = settings.share;
        for (node, chosen) in found.into_iter().flatten() {
            let total: f64 = chosen.iter().map(|&(product, _)| f64::from(product)).sum();
            let start = node as usize * places;
            for (place, &(product, member)) in chosen.iter().enumerate() {
                company.members[start + place] = member;
                company.weights[start + place] =
                    (share / (1.0 - share) * f64::from(product) / total) as f32;
            }
            if !chosen.is_empty() {
                company.scale[node as usize] = (1.0 - share) as f32;
            }
        }
        company
    }

    /// All rows, in place, some columns at a time, which are told as done.
    pub(super) fn mix(&self, rows: &mut Matrix<f32>, progress: &dyn Progress) {
        if self.places == 0 {
            return;
        }
        let nodes = rows.rows;
        let offsets: Vec<u64> = (0..=nodes as u64).map(|at| at * self.places as u64).collect();
        let (mut from, mut to) = (Matrix::default(), Vec::new());
        for start in (0..rows.width).step_by(COLUMNS) {
            let columns = start..(start + COLUMNS).min(rows.width);
            let width = columns.len();
            from.values.resize(nodes * width, 0.0);
            (from.rows, from.width) = (nodes, width);
            to.resize(nodes * width, 0f32);
            let lines = from.values.par_chunks_mut(width).zip(rows.values.par_chunks(rows.width));
            lines.with_min_len(CHUNK).for_each(|(from, row)| {
                from.copy_from_slice(&row[columns.clone()]);
            });
            let of = Gather {
                rows: &from,
                offsets: &offsets,
                neighbours: &self.members,
                weights: Some(&self.weights),
                scale: &self.scale,
                rest: None,
            };
            let tasks = to.par_chunks_mut(CHUNK * width).enumerate();
            tasks.for_each(|(at, to)| gather(to, at * CHUNK, &of));
            let whole = rows.width;
            let lines = rows.values.par_chunks_mut(whole).zip(to.par_chunks(width));
            lines.with_min_len(CHUNK).for_each(|(row, to)| {
                row[columns.clone()].copy_from_slice(to);
            });
            progress.advance(width as u64);
        }
    }
}

/// Products and nodes, falling; of equals the first node first.
pub(super) type Chosen = Vec<(f32, u32)>;

/// Anchors, and the nodes that are most like each.
struct Cells {
    /// Nodes of each cell, rising.
    lists: Vec<Vec<u32>>,
    /// For each cell, itself and those whose anchors are most like its own.
    near: Vec<Vec<u32>>,
}

impl Cells {
    fn of(
        all: &[u32],
        rows: &(impl Fn(&[u32]) -> Matrix<f32> + Sync),
        progress: &dyn Progress,
    ) -> Cells {
        let nodes = all.len();
        let count = ((nodes as f64).sqrt().ceil() as usize).clamp(1, nodes);
        let anchors: Vec<u32> = (0..count).map(|at| (at * nodes / count) as u32).collect();
        let anchors = rows(&anchors);
        progress.begin("grouping nodes", nodes as u64, "nodes");
        let cell_of: Vec<Vec<u32>> = all
            .par_chunks(CHUNK)
            .map(|some| {
                let products = products(&rows(some), &anchors);
                let first = |row| most_alike(products.row(row), 1).first().map_or(0, |&(_, at)| at);
                let cells = (0..some.len()).map(first).collect();
                progress.advance(some.len() as u64);
                cells
            })
            .collect();
        progress.end();
        let mut lists = vec![Vec::new(); count];
        for (node, cell) in cell_of.into_iter().flatten().enumerate() {
            lists[cell as usize].push(node as u32);
        }
        let wanted = (LOOKED_AT * count / nodes).clamp(FEWEST_CELLS.min(count), count);
        let products = products(&anchors, &anchors);
        let near = (0..count).map(|cell| {
            let mut like = products.row(cell).to_vec();
            like[cell] = f32::INFINITY;
            most_alike(&like, wanted).into_iter().map(|(_, cell)| cell).collect()
        });
        let near = near.collect();
        Cells { lists, near }
    }
}

/// The company of the nodes of one cell.
fn in_cell(
    cells: &Cells,
    cell: usize,
    places: usize,
    rows: &(impl Fn(&[u32]) -> Matrix<f32> + Sync),
) -> Vec<(u32, Chosen)> {
    if cells.lists[cell].is_empty() {
        return Vec::new();
    }
    let near = cells.near[cell].iter();
    let mut others: Vec<u32> =
        near.flat_map(|&cell| cells.lists[cell as usize].iter().copied()).collect();
    others.sort_unstable();
    if others.len() > MOST_COMPARED {
        others = (0..MOST_COMPARED).map(|at| others[at * others.len() / MOST_COMPARED]).collect();
    }
    let compared = rows(&others);
    let mut found = Vec::with_capacity(cells.lists[cell].len());
    for some in cells.lists[cell].chunks(CHUNK) {
        let mut products = products(&rows(some), &compared);
        for (row, &node) in some.iter().enumerate() {
            if let Ok(itself) = others.binary_search(&node) {
                products.row_mut(row)[itself] = 0.0;
            }
            let mut chosen = most_alike(products.row(row), places);
            chosen.retain(|&(product, _)| product > 0.0);
            chosen.iter_mut().for_each(|(_, at)| *at = others[*at as usize]);
            found.push((node, chosen));
        }
    }
    found
}

/// A Bᵀ.
fn products(a: &Matrix<f32>, b: &Matrix<f32>) -> Matrix<f32> {
    let mut products = Matrix::zeros(a.rows, b.rows);
    gemm(&mut products, a.view(), b.view().transposed(), Write::Set);
    products
}

/// The largest of some numbers with their places, falling; of equals the first.
pub(super) fn most_alike(like: &[f32], count: usize) -> Chosen {
    let mut chosen: Chosen = Vec::with_capacity(count + 1);
    for (at, &x) in like.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
        if chosen.len() == count && x <= chosen[count - 1].0 {
            continue;
        }
        let place = chosen.partition_point(|&(other, _)| other >= x);
        chosen.insert(place, (x, at as u32));
        chosen.truncate(count);
    }
    chosen
}

#[cfg(test)]
mod tests;
