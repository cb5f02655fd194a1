//! What a model makes of a node.
//!
//! A row is a function of the model, the graph and the node: it does not depend on
//! which nodes are embedded together, nor on threads.
//!
//! Blocks that are smoothed over the graph need the rows of all nodes. They lie in
//! memory that the caller gives (which may be a mapped file, so that they need
//! not fit), tile after tile of up to [`TILE`] columns, each (nodes, tile width). Where
//! all nodes are wanted at once and in memory, [`Embedder::all`] needs no such room.
//! Company (`company`) is found once all rows can be had, and mixed into those that are asked for.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::Model;
use super::company::Company;
use crate::batch::{Assembler, Augmentation, Batch, Inputs};
use crate::config::{BlockSettings, EncoderKind, Pick, ReadoutKind, ReadoutSettings, Source};
use crate::context::{Contexts, Flags};
use crate::contrast::summarize;
use crate::encoder::Spare;
use crate::error::Result;
use crate::graph::{Adjacency, Features, Smoother};
use crate::math::{Matrix, center_and_scale};
use crate::progress::Progress;

/// Columns that are smoothed together.
const TILE: usize = 64;

/// Nodes whose rows are computed together. It decides nothing but speed.
pub(super) const CHUNK: usize = 256;

/// A block whose rows are no longer than this has no say in who is like whom.
const LIGHT: f64 = 0.05;

/// How an embedding came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// As it should.
    Ok,
    /// The node has no neighbours: its own features are all there is.
    Isolated,
    /// The node has no features.
    NoFeatures,
    /// Fewer nodes can be reached than a context has places.
    ShortContext,
}

impl Status {
    /// As it is written in files.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Isolated => "isolated",
            Status::NoFeatures => "no_features",
            Status::ShortContext => "short_context",
        }
    }
}

/// A weighted mean by PageRank, of all nodes of a context.
const BY_MASS: ReadoutSettings =
    ReadoutSettings { kind: ReadoutKind::Mass, sigmoid: false, center: true };

/// Embeds the nodes of one graph.
#[derive(Debug)]
pub struct Embedder<'a> {
    model: &'a Model,
    adjacency: &'a Adjacency,
    features: &'a Features,
    contexts: &'a Contexts,
    assembler: Assembler<'a>,
    /// Smoothed rows of each block, where it has them.
    smoothed: Vec<Option<&'a [f32]>>,
    /// Who is like a node, where that matters and once all rows can be had.
    company: Option<Company>,
    /// For the encoder to write over, one for each chunk in work.
    spare: Mutex<Vec<Spare<f32>>>,
}

impl<'a> Embedder<'a> {
    /// For a graph whose features have the model's columns.
    pub fn new(
        model: &'a Model,
        adjacency: &'a Adjacency,
        features: &'a Features,
        contexts: &'a Contexts,
    ) -> Result<Embedder<'a>> {
        model.transform.check(features)?;
        let assembler = Assembler::new(
            adjacency,
            features,
            contexts,
            &model.transform,
            model.settings.encoder.kind,
            &BY_MASS,
        );
        let smoothed = vec![None; model.settings.output.len()];
        Ok(Embedder {
            model,
            adjacency,
            features,
            contexts,
            assembler,
            smoothed,
            company: None,
            spare: Mutex::default(),
        })
    }

    /// Numbers that [`Embedder::smooth`] needs room for.
    pub fn room(&self) -> usize {
        let smoothed = self.blocks().filter(|(_, block)| block.smoothing.is_some());
        let width: usize = smoothed.map(|(at, _)| self.model.block_width(at)).sum();
        width * self.adjacency.nodes()
    }

    fn blocks(&self) -> impl Iterator<Item = (usize, &'a BlockSettings)> + use<'a> {
        self.model.settings.output.iter().enumerate()
    }

    /// Computes what takes the whole graph: blocks that are smoothed, into `room`
    /// ([`Embedder::room`] numbers), and company. To be called once before [`Embedder::rows`].
    pub fn smooth(&mut self, room: &'a mut [f32], progress: &dyn Progress) -> Result<()> {
        assert_eq!(room.len(), self.room(), "room for all smoothed blocks");
        let nodes = self.adjacency.nodes();
        if nodes == 0 {
            return Ok(());
        }
        let smoother = Smoother::new(self.adjacency);
        let mut rest = room;
        for (at, _) in self.blocks() {
            let Some(smoothing) = self.model.block_smoothing(at) else { continue };
            let width = self.model.block_width(at);
            let (part, more) = rest.split_at_mut(width * nodes);
            rest = more;
            progress.begin("encoding nodes", nodes as u64, "nodes");
            self.fill(at, width, part, progress);
            progress.end();
            progress.begin("smoothing columns", width as u64, "columns");
            for tile in part.chunks_mut(nodes * TILE) {
                let columns = tile.len() / nodes;
                let mut matrix = Matrix::of(nodes, columns, tile.to_vec());
                smoother.apply(smoothing, &mut matrix);
                tile.copy_from_slice(&matrix.values);
                progress.advance(columns as u64);
            }
            progress.end();
            self.smoothed[at] = Some(part);
        }
        self.company = self.find_company(
            |some| {
                let mut rows = Matrix::zeros(some.len(), self.model.width());
                self.finished(some, &mut rows.values);
                self.compared(&rows, 0..some.len())
            },
            progress,
        );
        Ok(())
    }

    /// Where the model wants it; `rows` gives what is compared.
    fn find_company(
        &self,
        rows: impl Fn(&[u32]) -> Matrix<f32> + Sync,
        progress: &dyn Progress,
    ) -> Option<Company> {
        let settings = self.model.settings.company?;
        Some(Company::find(settings, self.adjacency.nodes(), rows, progress))
    }

    /// Some rows of finished ones, only the blocks that have a norm and weigh something (all
    /// of them where none does): their products tell how alike nodes are.
    fn compared(
        &self,
        rows: &Matrix<f32>,
        some: impl ExactSizeIterator<Item = usize>,
    ) -> Matrix<f32> {
        let mut start = 0;
        let mut spans = Vec::new();
        for (at, block) in self.blocks() {
            let columns = start..start + self.model.block_width(at);
            start = columns.end;
            let norm = block.norm.map_or(0.0, |norm| norm * self.model.block_weight(at));
            if norm > LIGHT {
                spans.push(columns);
            }
        }
        if spans.is_empty() {
            spans.push(0..start);
        }
        let (count, width) = (some.len(), spans.iter().map(ExactSizeIterator::len).sum());
        let mut values = Vec::with_capacity(count * width);
        for row in some {
            spans.iter().for_each(|span| values.extend_from_slice(&rows.row(row)[span.clone()]));
        }
        Matrix::of(count, width, values)
    }

    /// Unsmoothed rows of all nodes, tile after tile.
    fn fill(&self, block: usize, width: usize, part: &mut [f32], progress: &dyn Progress) {
        let nodes = self.adjacency.nodes();
        let together = CHUNK * rayon::current_num_threads();
        for first in (0..nodes).step_by(together) {
            let some: Vec<u32> = (first as u32..(first + together).min(nodes) as u32).collect();
            let rows: Vec<Matrix<f32>> =
                some.par_chunks(CHUNK).map(|chunk| self.plain(block, chunk)).collect();
            for (at, tile) in part.chunks_mut(nodes * TILE).enumerate() {
                let (start, columns) = (at * TILE, (width - at * TILE).min(TILE));
                let places = tile[first * columns..].chunks_exact_mut(columns);
                let rows = rows.iter().flat_map(|rows| rows.values.chunks_exact(width));
                places.zip(rows).for_each(|(place, row)| {
                    place.copy_from_slice(&row[start..start + columns]);
                });
            }
            progress.advance(some.len() as u64);
        }
    }

    /// Rows of one block before smoothing, centring and scaling. `nodes` are different.
    pub(super) fn plain(&self, block: usize, nodes: &[u32]) -> Matrix<f32> {
        let mut rows = self.rows_of(block, nodes);
        if self.model.settings.output[block].unit_rows {
            let width = rows.width.max(1);
            let each = rows.values.chunks_exact_mut(width);
            each.for_each(|row| center_and_scale(row, None, Some(1.0)));
        }
        rows
    }

    fn rows_of(&self, block: usize, nodes: &[u32]) -> Matrix<f32> {
        let model = self.model;
        let block = &model.settings.output[block];
        match (block.source, block.pick) {
            (Source::Features, Pick::Center) => model.transform.apply_dense(self.features, nodes),
            (Source::Projected, Pick::Center) => {
                model.transform.apply_projection(self.features, nodes)
            }
            (Source::Projected, Pick::Context) => unreachable!("such settings are refused"),
            (Source::Features, Pick::Context) => {
                let context = Assembler::new(
                    self.adjacency,
                    self.features,
                    self.contexts,
                    &model.transform,
                    EncoderKind::Mlp,
                    &BY_MASS,
                );
                let batch = context.batch(nodes, &Augmentation::NONE);
                match &batch.inputs {
                    Inputs::Dense(inputs) => summarize(&BY_MASS, inputs, &batch.members),
                    Inputs::Sparse(inputs) => {
                        let mut sums = Matrix::zeros(nodes.len(), inputs.width);
                        for context in 0..nodes.len() {
                            let (rows, weights) = batch.members.of(context);
                            for (&row, &weight) in rows.iter().zip(weights) {
                                let (columns, values) = inputs.unit(row as usize);
                                for (&column, &value) in columns.iter().zip(values) {
                                    sums.row_mut(context)[column as usize] += weight * value;
                                }
                            }
                        }
                        sums
                    }
                }
            }
            (Source::Encoder, Pick::Center) => {
                let batch = match model.settings.encoder.kind {
                    EncoderKind::Mlp => self.assembler.lone_centers(nodes),
                    _ => self.assembler.batch(nodes, &Augmentation::NONE),
                };
                self.encode(&batch, &batch.centers)
            }
            (Source::Encoder, Pick::Context) => {
                let batch = self.assembler.batch(nodes, &Augmentation::NONE);
                let all: Vec<u32> = (0..batch.rows() as u32).collect();
                let rows = self.encode(&batch, &all);
                summarize(&BY_MASS, &rows, &batch.members)
            }
        }
    }

    /// Some rows of a batch by the encoder.
    fn encode(&self, batch: &Batch<f32>, wanted: &[u32]) -> Matrix<f32> {
        let lock = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let mut spare = lock().pop().unwrap_or_else(Spare::new);
        let rows = self.model.encoder.rows_with(batch, wanted, &mut spare);
        lock().push(spare);
        rows
    }

    /// Embeddings of all nodes, row after row into `out`, on all threads of the current
    /// pool: the same as [`Embedder::smooth`] and [`Embedder::rows`] give, without room beside.
    pub fn all(&self, out: &mut Matrix<f32>, progress: &dyn Progress) {
        let (nodes, width) = (self.adjacency.nodes(), self.model.width());
        assert_eq!((out.rows, out.width), (nodes, width), "a row for each node");
        let smoother = Smoother::new(self.adjacency);
        let mut start = 0;
        for (at, _) in self.blocks() {
            let columns = start..start + self.model.block_width(at);
            start = columns.end;
            progress.begin("encoding nodes", nodes as u64, "nodes");
            let together = CHUNK * rayon::current_num_threads();
            for (turn, out) in out.values.chunks_mut(together * width).enumerate() {
                let chunks = out.par_chunks_mut(CHUNK * width).enumerate();
                chunks.for_each(|(chunk, out)| {
                    let first = (turn * together + chunk * CHUNK) as u32;
                    let some: Vec<u32> = (first..first + (out.len() / width) as u32).collect();
                    let rows = self.plain(at, &some);
                    let rows = rows.values.chunks_exact(columns.len());
                    rows.zip(out.chunks_exact_mut(width))
                        .for_each(|(row, out)| out[columns.clone()].copy_from_slice(row));
                });
                progress.advance((out.len() / width) as u64);
            }
            progress.end();
            if let Some(smoothing) = self.model.block_smoothing(at) {
                progress.begin("smoothing columns", columns.len() as u64, "columns");
                let together = smoother.columns();
                for first in columns.clone().step_by(together) {
                    let some = first..(first + together).min(columns.end);
                    smoother.apply_to(smoothing, out, some.clone());
                    progress.advance(some.len() as u64);
                }
                progress.end();
            }
            let rows = out.values.par_chunks_mut(width).with_min_len(CHUNK);
            rows.for_each(|row| self.finish(at, &mut row[columns.clone()]));
        }
        let company = self.find_company(
            |some| self.compared(out, some.iter().map(|&node| node as usize)),
            progress,
        );
        if let Some(company) = company {
            company.mix(out);
        }
    }

    /// What is done to a row of a block last of all.
    fn finish(&self, block: usize, row: &mut [f32]) {
        let (model, norm) = (self.model, self.model.settings.output[block].norm);
        center_and_scale(row, model.means[block].as_deref(), norm);
        let weight = model.block_weight(block) as f32;
        if weight != 1.0 {
            row.iter_mut().for_each(|x| *x *= weight);
        }
    }

    /// Embeddings of some different nodes, row after row into `out`, on all threads of
    /// the current pool.
    pub fn rows(&self, nodes: &[u32], out: &mut [f32]) {
        let width = self.model.width();
        assert_eq!(out.len(), nodes.len() * width, "a row for each node");
        nodes.par_chunks(CHUNK).zip(out.par_chunks_mut(CHUNK * width)).for_each(|(nodes, out)| {
            self.finished(nodes, out);
            let Some(company) = &self.company else {
                assert!(self.model.settings.company.is_none(), "smooth() comes first");
                return;
            };
            let mut others: Vec<u32> =
                nodes.iter().flat_map(|&node| company.of(node).0.iter().copied()).collect();
            others.sort_unstable();
            others.dedup();
            let mut rows = Matrix::zeros(others.len(), width);
            // As many at a time as always: the encoder's room grows with them.
            for (some, rows) in others.chunks(CHUNK).zip(rows.values.chunks_mut(CHUNK * width)) {
                self.finished(some, rows);
            }
            for (&node, out) in nodes.iter().zip(out.chunks_exact_mut(width)) {
                company.mix_one(node, out, |member| {
                    rows.row(others.binary_search(&member).expect("all members are there"))
                });
            }
        });
    }

    /// Rows of some different nodes, before company.
    fn finished(&self, nodes: &[u32], out: &mut [f32]) {
        let width = self.model.width();
        let mut start = 0;
        for (at, block) in self.blocks() {
            let columns = self.model.block_width(at);
            let rows = match self.smoothed[at] {
                Some(all) => self.gather(all, columns, nodes),
                None => {
                    assert!(block.smoothing.is_none(), "smooth() comes first");
                    self.plain(at, nodes)
                }
            };
            for (row, out) in rows.values.chunks_exact(columns).zip(out.chunks_exact_mut(width)) {
                let out = &mut out[start..start + columns];
                out.copy_from_slice(row);
                self.finish(at, out);
            }
            start += columns;
        }
    }

    fn gather(&self, all: &[f32], width: usize, nodes: &[u32]) -> Matrix<f32> {
        let count = self.adjacency.nodes();
        let mut rows = Matrix::zeros(nodes.len(), width);
        for (at, tile) in all.chunks(count * TILE).enumerate() {
            let (start, columns) = (at * TILE, tile.len() / count);
            for (row, &node) in nodes.iter().enumerate() {
                let from = node as usize * columns;
                rows.row_mut(row)[start..start + columns]
                    .copy_from_slice(&tile[from..from + columns]);
            }
        }
        rows
    }

    /// How the embedding of a node came about.
    pub fn status(&self, node: u32) -> Status {
        let empty = match self.features {
            Features::Dense { width, values } => {
                values[node as usize * width..][..*width].iter().all(|&x| x == 0.0)
            }
            Features::Sparse(matrix) => matrix.row(node as usize).0.is_empty(),
        };
        if empty {
            Status::NoFeatures
        } else if self.adjacency.degree(node) == 0 {
            Status::Isolated
        } else if self.contexts.flags(node as usize).has(Flags::SHORT) {
            Status::ShortContext
        } else {
            Status::Ok
        }
    }
}
