//! What a model makes of a node.
//!
//! A row is a function of the model, the graph and the node: it does not depend on
//! which nodes are embedded together, nor on threads.
//!
//! Blocks that are smoothed over the graph need the rows of all nodes, and company
//! (`company`) those of all blocks, too. They are prepared in memory that the caller gives
//! (`tiles`). Where all nodes are wanted at once and in memory, [`Embedder::all`] needs no such
//! room.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::company::Company;
use super::tiles::Tiles;
use super::{LIGHT, Model};
use crate::batch::{Assembler, Augmentation, Batch, Inputs};
use crate::config::{BlockSettings, EncoderKind, Pick, ReadoutKind, ReadoutSettings, Source};
use crate::context::{Contexts, Flags};
use crate::contrast::summarize;
use crate::encoder::Spare;
use crate::error::Result;
use crate::graph::{Adjacency, Features, Smoother};
use crate::math::{Matrix, center_and_scale};
use crate::progress::{Progress, Silent};

/// Nodes whose rows are computed together. It decides nothing but speed.
pub(super) const CHUNK: usize = 256;
/// Numbers that rows of tiles may have for them to be held while company is looked for.
const HELD_NUMBERS: usize = 1 << 24;

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
    /// Rows of each block that had to be prepared: smoothed, and, where there is company,
    /// all that is done to them.
    prepared: Vec<Option<Tiles<'a>>>,
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
        let prepared = model.settings.output.iter().map(|_| None).collect();
        Ok(Embedder {
            model,
            adjacency,
            features,
            contexts,
            assembler,
            prepared,
            spare: Mutex::default(),
        })
    }

    /// Those that have columns.
    fn blocks(&self) -> impl Iterator<Item = (usize, &'a BlockSettings)> + use<'a> {
        let model = self.model;
        model.settings.output.iter().enumerate().filter(|(at, _)| model.block_width(*at) > 0)
    }

    /// Whether a block's rows take the whole graph.
    fn needs_preparing(&self, block: &BlockSettings) -> bool {
        block.smoothing.is_some() || self.model.settings.company.is_some()
    }

    /// Numbers that [`Embedder::prepare`] needs room for.
    pub fn room(&self) -> usize {
        let prepared = self.blocks().filter(|(_, block)| self.needs_preparing(block));
        let width: usize = prepared.map(|(at, _)| self.model.block_width(at)).sum();
        width * self.adjacency.nodes()
    }

    /// Computes what takes the whole graph, smoothing and company, in `room`
    /// ([`Embedder::room`] numbers). To be called once before [`Embedder::rows`].
    pub fn prepare(&mut self, room: &'a mut [f32], progress: &dyn Progress) {
        assert_eq!(room.len(), self.room(), "room for all blocks that are prepared");
        let nodes = self.adjacency.nodes();
        if nodes == 0 {
            return;
        }
        let smoother = Smoother::new(self.adjacency);
        let mut rest = room;
        for (at, block) in self.blocks() {
            if !self.needs_preparing(block) {
                continue;
            }
            let width = self.model.block_width(at);
            let (part, more) = rest.split_at_mut(width * nodes);
            rest = more;
            let mut tiles = Tiles::of(nodes, width, part);
            progress.begin("encoding nodes", nodes as u64, "nodes");
            tiles.fill(|_, some| self.plain(at, some), progress);
            progress.end();
            if let Some(smoothing) = self.model.block_smoothing(at) {
                progress.begin("smoothing columns", width as u64, "columns");
                tiles.columns(|columns| smoother.apply(smoothing, columns), progress);
                progress.end();
            }
            if self.model.settings.company.is_some() {
                let finished = |tiles: &Tiles<'_>, some: &[u32]| {
                    let mut rows = tiles.rows(some);
                    rows.values.chunks_exact_mut(width).for_each(|row| self.finish(at, row));
                    rows
                };
                progress.begin("finishing rows", nodes as u64, "nodes");
                tiles.fill(finished, progress);
                progress.end();
            }
            self.prepared[at] = Some(tiles);
        }
        let Some(settings) = self.model.settings.company else { return };
        let spans = self.compared();
        let width = spans.iter().map(|(_, span)| span.len()).sum();
        let rows = |some: &[u32]| {
            let parts = spans.iter().filter_map(|(block, _)| self.prepared[*block].as_ref());
            let (mut rows, mut start) = (Matrix::zeros(some.len(), width), 0);
            for tiles in parts {
                start = tiles.read(some, &mut rows, start);
            }
            rows
        };
        // A row lies scattered over tiles, and is asked for some ten times.
        let held = (width > 0 && nodes * width <= HELD_NUMBERS).then(|| {
            let mut held = Matrix::zeros(nodes, width);
            held.values.par_chunks_mut(CHUNK * width).enumerate().for_each(|(chunk, out)| {
                let first = (chunk * CHUNK) as u32;
                let some: Vec<u32> = (first..first + (out.len() / width) as u32).collect();
                out.copy_from_slice(&rows(&some).values);
            });
            held
        });
        let rows = |some: &[u32]| match &held {
            Some(held) => held.picked(some),
            None => rows(some),
        };
        let company = Company::find(settings, nodes, rows, progress);
        progress.begin("mixing columns", self.model.width() as u64, "columns");
        for tiles in self.prepared.iter_mut().flatten() {
            tiles.columns(|columns| company.mix(columns, &Silent), progress);
        }
        progress.end();
    }

    /// Blocks, with their columns, whose products tell how alike nodes are: those that have
    /// a norm and weigh something, all of them where none does.
    fn compared(&self) -> Vec<(usize, Range<usize>)> {
        let mut start = 0;
        let mut all = Vec::new();
        for (at, _) in self.blocks() {
            let columns = start..start + self.model.block_width(at);
            start = columns.end;
            all.push((at, columns));
        }
        let normed = all.iter().filter(|(at, _)| {
            let norm = self.model.settings.output[*at].norm;
            norm.is_some_and(|norm| norm * self.model.block_weight(*at) > LIGHT)
        });
        let normed: Vec<_> = normed.cloned().collect();
        if normed.is_empty() { all } else { normed }
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
            (Source::Own, Pick::Center) => {
                let own = model.own.as_ref().expect("a model has what its blocks need");
                own.apply_projection(self.features, nodes)
            }
            (Source::Random, Pick::Center) => {
                let seed = model.settings.seed;
                model.transform.answers(self.features, nodes, block.columns, seed)
            }
            (Source::Projected | Source::Own | Source::Random, Pick::Context) => {
                unreachable!("such settings are refused")
            }
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
    /// pool: the same as [`Embedder::prepare`] and [`Embedder::rows`] give, without room beside.
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
            progress.begin("finishing rows", nodes as u64, "nodes");
            out.values.par_chunks_mut(CHUNK * width).for_each(|some| {
                let rows = some.chunks_exact_mut(width);
                rows.for_each(|row| self.finish(at, &mut row[columns.clone()]));
                progress.advance((some.len() / width) as u64);
            });
            progress.end();
        }
        let Some(settings) = self.model.settings.company else { return };
        let spans = self.compared();
        let width = spans.iter().map(|(_, span)| span.len()).sum();
        let rows = |some: &[u32]| {
            let rows = some.iter().map(|&node| out.row(node as usize));
            let lines = rows.flat_map(|row| spans.iter().map(|(_, span)| &row[span.clone()]));
            let mut values = Vec::with_capacity(some.len() * width);
            lines.for_each(|line| values.extend_from_slice(line));
            Matrix::of(some.len(), width, values)
        };
        let company = Company::find(settings, nodes, rows, progress);
        progress.begin("mixing columns", out.width as u64, "columns");
        company.mix(out, progress);
        progress.end();
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
            let mut start = 0;
            for (at, block) in self.blocks() {
                let columns = start..start + self.model.block_width(at);
                start = columns.end;
                let rows = match &self.prepared[at] {
                    Some(tiles) => tiles.rows(nodes),
                    None => {
                        assert!(!self.needs_preparing(block), "prepare() comes first");
                        self.plain(at, nodes)
                    }
                };
                let rows = rows.values.chunks_exact(columns.len());
                for (row, out) in rows.zip(out.chunks_exact_mut(width)) {
                    let out = &mut out[columns.clone()];
                    out.copy_from_slice(row);
                    if self.model.settings.company.is_none() {
                        self.finish(at, out);
                    }
                }
            }
        });
    }

    /// How the embedding of a node came about.
    pub fn status(&self, node: u32) -> Status {
        if !self.features.is_described(node as usize) {
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
