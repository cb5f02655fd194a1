//! Edge tables.
//!
//! Rows are read in pieces; whichever thread reads a piece also turns its ids
//! into node numbers (where the nodes are known) or into a compact form (where
//! they are to be discovered). Pieces are put together in the order of the
//! rows, so that the first bad row is the one reported, whatever the threads.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::columnar::{ColumnarTable, Rows};
use super::csv::{Block, TextTable};
use super::discover::{Compact, Discovery, RawEdges};
use super::edge_text::{Spelling, Stop, TextPiece, TextShape};
use super::values::{self, BadValue, RawIds};
use super::{EdgeColumns, EdgePlaces, Header, TableKind, TextOptions};
use crate::error::{Error, Place, Result, shown};
use crate::graph::{EdgeChunk, EdgeList, IdIndex, Ids, check_weight};
use crate::progress::Progress;

/// What is to be read, and how.
pub(crate) struct EdgeTables<'a> {
    pub(crate) files: &'a [std::path::PathBuf],
    pub(crate) columns: &'a EdgeColumns,
    pub(crate) text: TextOptions,
    pub(crate) progress: &'a dyn Progress,
    /// Columns that nothing is taken from, known once the tables were read: a pipe
    /// cannot be opened a second time to look.
    pub(crate) unused: Mutex<Vec<String>>,
}

/// Nodes that edges may name.
pub(crate) struct KnownNodes<'a> {
    pub(crate) index: &'a IdIndex<'a>,
    /// Where they are listed, for the message about one that is not.
    pub(crate) listed_in: String,
    /// What to do about one that is not.
    pub(crate) remedy: &'static str,
}

impl EdgeTables<'_> {
    /// Edges between nodes that are known.
    pub(crate) fn known(&self, nodes: &KnownNodes<'_>) -> Result<EdgeList> {
        let mut edges = EdgeList::new();
        let spelling = match nodes.index {
            IdIndex::Strings { .. } => Spelling::Texts,
            _ => Spelling::Integers,
        };
        let mut take = |chunk: EdgeChunk| {
            edges.append(&chunk);
            Ok(())
        };
        match self.read(spelling, |raw, place| lookup(raw, nodes, place), &mut take) {
            Ok(()) => Ok(edges),
            Err(Stop::Failed(error)) => Err(error),
            // Whichever id is no integer, it is not among these.
            Err(Stop::NotAnInteger) => {
                let compact = |raw: RawEdges, place: &PlaceOf<'_>| lookup(raw, nodes, place);
                match self.read(Spelling::Texts, compact, &mut |_| Ok(())) {
                    Err(Stop::Failed(error)) => Err(error),
                    _ => {
                        let path = self.files.first().map_or(Path::new("edges"), |path| path);
                        let problem = "the file changed while it was read";
                        Err(Error::input(path, problem, "import it again; a pipe will not do"))
                    }
                }
            }
        }
    }

    /// Edges, and the nodes that they name: those of `table` first.
    pub(crate) fn discovered(&self, table: Option<&Ids>) -> Result<(Ids, EdgeList, u64)> {
        let mut discovery = Discovery::default();
        let compact = |raw: RawEdges, _: &PlaceOf<'_>| Ok(raw.compact());
        let mut spelling = Spelling::Integers;
        loop {
            let mut take = |piece: Compact| discovery.push(piece);
            match self.read(spelling, compact, &mut take) {
                Ok(()) => return discovery.finish(table),
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::NotAnInteger) => {
                    spelling = Spelling::Texts;
                    discovery = Discovery::default();
                }
            }
        }
    }

    fn read<T: Send>(
        &self,
        spelling: Spelling,
        compact: impl Fn(RawEdges, &PlaceOf<'_>) -> Result<T> + Sync,
        take: &mut dyn FnMut(T) -> Result<()>,
    ) -> Result<(), Stop> {
        let mut weighted = None;
        let mut understand = |header: &Header<'_>, path: &Path| {
            let (places, unused) = self.columns.places(header)?;
            let mut told = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
            for name in unused {
                if !told.contains(&name) {
                    told.push(name);
                }
            }
            let weights = places.weight.is_some();
            if *weighted.get_or_insert(weights) == weights {
                return Ok(places);
            }
            let problem = "some edge files have weights and some have none";
            Err(Error::input(path, problem, "give all of them a weight column or none"))
        };
        for path in self.files {
            let kind = TableKind::of(path, self.text.delimiter)?;
            if let TableKind::Text { delimiter } = kind {
                let table = TextTable::open(path, delimiter, self.text)?;
                let header = Header::of(path, &table.names, kind, self.text);
                let places = understand(&header, path)?;
                self.read_text(table, places, spelling, &compact, take)?;
            } else {
                let table = ColumnarTable::open(path, kind)?;
                let names = table.names();
                let places = understand(&Header::of(path, &names, kind, self.text), path)?;
                self.read_columns(&table, places, &compact, take)?;
            }
        }
        Ok(())
    }

    /// Columns that nothing was taken from.
    pub(crate) fn unused_columns(&self) -> Vec<String> {
        self.unused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn read_columns<T: Send>(
        &self,
        table: &ColumnarTable,
        places: EdgePlaces,
        compact: &(impl Fn(RawEdges, &PlaceOf<'_>) -> Result<T> + Sync),
        take: &mut dyn FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let columns: Vec<usize> =
            [places.source, places.target].into_iter().chain(places.weight).collect();
        let name = super::file_name(&table.path);
        self.progress.begin(&format!("reading {name}"), table.rows().unwrap_or(0), "edges");
        let groups: Vec<usize> = (0..table.groups()).collect();
        for wave in groups.chunks(2 * rayon::current_num_threads()) {
            let read = |&group: &usize| -> Result<Vec<T>> {
                let mut pieces = Vec::new();
                table.read_group(group, &columns, |rows| {
                    let raw = raw_edges(table, &rows, &columns)?;
                    let count = raw.sources.len() as u64;
                    pieces.push(compact(raw, &PlaceOf::Rows(table, &rows))?);
                    self.progress.advance(count);
                    Ok(())
                })?;
                Ok(pieces)
            };
            let read: Vec<Result<Vec<T>>> = wave.par_iter().map(read).collect();
            for pieces in read {
                pieces?.into_iter().try_for_each(&mut *take)?;
            }
        }
        self.progress.end();
        Ok(())
    }

    fn read_text<T: Send>(
        &self,
        mut table: TextTable,
        places: EdgePlaces,
        spelling: Spelling,
        compact: &(impl Fn(RawEdges, &PlaceOf<'_>) -> Result<T> + Sync),
        take: &mut dyn FnMut(T) -> Result<()>,
    ) -> Result<(), Stop> {
        const BLOCK: usize = 32 << 20;
        let name = super::file_name(&table.path);
        let size = std::fs::metadata(&table.path).map_or(0, |file| file.len());
        // Packed bytes are not the bytes that are counted here.
        let total = if name.ends_with(".gz") { 0 } else { size };
        self.progress.begin(&format!("reading {name}"), total, "bytes");
        let shape = TextShape::of(&table, places);
        let mut block = table.block(BLOCK)?;
        while let Some(current) = block {
            let parse = || -> Vec<Result<T, Stop>> {
                let parse_piece = |&(bytes, line): &(&[u8], u64)| {
                    let piece = TextPiece { bytes, line, quoted: current.quoted, shape: &shape };
                    let raw = piece.parse(spelling)?;
                    Ok(compact(raw, &PlaceOf::Piece(&piece))?)
                };
                current.pieces().par_iter().map(parse_piece).collect()
            };
            // The next block is read (and unpacked) while this one is parsed.
            let (parsed, next): (_, Result<Option<Block>>) =
                rayon::join(parse, || table.block(BLOCK));
            for piece in parsed {
                take(piece?)?;
            }
            self.progress.advance(current.bytes.len() as u64);
            block = next?;
        }
        self.progress.end();
        Ok(())
    }
}

/// Where a row of a piece stands in its file.
enum PlaceOf<'a> {
    Rows(&'a ColumnarTable, &'a Rows),
    Piece(&'a TextPiece<'a>),
}

impl PlaceOf<'_> {
    fn place(&self, row: usize) -> Place {
        match self {
            PlaceOf::Rows(table, rows) => table.place(rows, row),
            PlaceOf::Piece(piece) => Place::line(&piece.shape.path, piece.line_of(row)),
        }
    }
}

/// Node numbers for ids that have to be known.
fn lookup(raw: RawEdges, nodes: &KnownNodes<'_>, place: &PlaceOf<'_>) -> Result<EdgeChunk> {
    let column = |ids: &RawIds| -> Result<Vec<u32>, (usize, String)> {
        match ids {
            RawIds::Integers(ids) => {
                let node = |(row, &id): (usize, &i64)| {
                    nodes.index.integer(id).ok_or_else(|| (row, id.to_string()))
                };
                ids.iter().enumerate().map(node).collect()
            }
            RawIds::Texts(ids) => {
                let node = |(row, id): (usize, &str)| {
                    nodes.index.text(id.as_bytes()).ok_or_else(|| (row, shown(id)))
                };
                ids.iter().enumerate().map(node).collect()
            }
        }
    };
    match (column(&raw.sources), column(&raw.targets)) {
        (Ok(sources), Ok(targets)) => Ok(EdgeChunk { sources, targets, weights: raw.weights }),
        (sources, targets) => {
            let unknown = [sources.err(), targets.err()].into_iter().flatten().min();
            let (row, id) = unknown.expect("one of the two failed");
            let problem = format!("node id {id} is not in {}", nodes.listed_in);
            Err(Error::input(place.place(row), problem, nodes.remedy))
        }
    }
}

fn raw_edges(table: &ColumnarTable, rows: &Rows, columns: &[usize]) -> Result<RawEdges> {
    let bad = |which: usize, bad: BadValue| table.bad_value(rows, columns[which], &bad);
    let sources = values::ids(&rows.columns[0]).map_err(|e| bad(0, e))?;
    let targets = values::ids(&rows.columns[1]).map_err(|e| bad(1, e))?;
    let mut weights = match rows.columns.get(2) {
        Some(column) => values::numbers(column).map_err(|e| bad(2, e))?,
        None => Vec::new(),
    };
    for (row, weight) in weights.iter_mut().enumerate() {
        *weight = check_weight(*weight)
            .map_err(|problem| bad_weight(table.place(rows, row), &weight.to_string(), problem))?;
    }
    Ok(RawEdges { sources, targets, weights })
}

pub(super) fn bad_weight(place: Place, value: &str, problem: &str) -> Error {
    let remedy = "weights must be finite and not negative: mend it or pass --unweighted";
    Error::input(place, format!("weight {value} {problem}"), remedy)
}

impl RawIds {
    pub(super) fn len(&self) -> usize {
        match self {
            RawIds::Integers(ids) => ids.len(),
            RawIds::Texts(ids) => ids.len(),
        }
    }
}
