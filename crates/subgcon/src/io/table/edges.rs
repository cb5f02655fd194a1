//! Edge tables.
//!
//! Rows are read in pieces; whichever thread reads a piece also turns its ids
//! into node numbers (where the nodes are known) or into a compact form (where
//! they are to be discovered). Pieces are put together in the order of the
//! rows, so that the first bad row is the one reported, whatever the threads.

use std::path::Path;

use rayon::prelude::*;

use super::columnar::{ColumnarTable, Rows};
use super::csv::{Block, Records, TextTable, field_text, ragged};
use super::discover::{Compact, Discovery, RawEdges};
use super::values::{self, BadValue, RawIds};
use super::{EdgeColumns, EdgePlaces, TableKind, TextOptions};
use crate::error::{Error, Place, Result, shown};
use crate::graph::{EdgeChunk, EdgeList, IdIndex, Ids, Strings, canonical_integer, check_weight};
use crate::progress::Progress;

/// What is to be read, and how.
pub(crate) struct EdgeTables<'a> {
    pub(crate) files: &'a [std::path::PathBuf],
    pub(crate) columns: &'a EdgeColumns,
    pub(crate) text: TextOptions,
    pub(crate) progress: &'a dyn Progress,
}

/// Nodes that edges may name.
pub(crate) struct KnownNodes<'a> {
    pub(crate) index: &'a IdIndex<'a>,
    /// Where they are listed, for the message about one that is not.
    pub(crate) listed_in: String,
    /// What to do about one that is not.
    pub(crate) remedy: &'static str,
}

/// How ids in text are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Integers,
    Texts,
}

/// Why reading stopped.
enum Stop {
    /// An id is not an integer: ids have to be read as texts.
    NotAnInteger,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
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
        let mut agree = |path: &Path, places: EdgePlaces| {
            let weights = places.weight.is_some();
            if *weighted.get_or_insert(weights) == weights {
                return Ok(());
            }
            let problem = "some edge files have weights and some have none";
            Err(Error::input(path, problem, "give all of them a weight column or none"))
        };
        for path in self.files {
            match TableKind::of(path, self.text.delimiter)? {
                TableKind::Text { delimiter } => {
                    let table = TextTable::open(path, delimiter, self.text)?;
                    let header = !self.text.no_header;
                    let places = self.columns.places(path, &table.names, header)?;
                    agree(path, places)?;
                    self.read_text(table, places, spelling, &compact, take)?;
                }
                kind @ (TableKind::Parquet | TableKind::Arrow) => {
                    let table = ColumnarTable::open(path, kind)?;
                    let places = self.columns.places(path, &table.names(), true)?;
                    agree(path, places)?;
                    self.read_columns(&table, places, &compact, take)?;
                }
            }
        }
        Ok(())
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

fn bad_weight(place: Place, value: &str, problem: &str) -> Error {
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

/// What a piece of text has to know of its table.
struct TextShape {
    path: std::path::PathBuf,
    delimiter: u8,
    comment: Option<u8>,
    fields: usize,
    places: EdgePlaces,
}

impl TextShape {
    fn of(table: &TextTable, places: EdgePlaces) -> TextShape {
        TextShape {
            path: table.path.clone(),
            delimiter: table.delimiter,
            comment: table.comment,
            fields: table.names.len(),
            places,
        }
    }
}

/// Whole records of a text table.
struct TextPiece<'a> {
    bytes: &'a [u8],
    line: u64,
    quoted: bool,
    shape: &'a TextShape,
}

impl TextPiece<'_> {
    fn parse(&self, spelling: Spelling) -> Result<RawEdges, Stop> {
        match (self.quoted, spelling) {
            (false, Spelling::Integers) => self.parse_plain_integers(),
            (false, Spelling::Texts) => {
                let mut rows = TextRows::default();
                for (line, bytes) in self.plain_lines() {
                    let fields = || bytes.split(|&byte| byte == self.shape.delimiter);
                    let count = fields().count();
                    rows.push(self, line, count, |column| fields().nth(column))?;
                }
                Ok(rows.texts())
            }
            (true, spelling) => {
                let mut rows = TextRows::default();
                let mut records = self.records();
                while let Some((line, record)) = records.next(&self.shape.path)? {
                    rows.push(self, line, record.len(), |column| record.get(column))?;
                }
                match spelling {
                    Spelling::Integers => rows.integers().ok_or(Stop::NotAnInteger),
                    Spelling::Texts => Ok(rows.texts()),
                }
            }
        }
    }

    /// Lines that are records, with their numbers. There are no quotes.
    fn plain_lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let lines = self.bytes.split(|&byte| byte == b'\n').enumerate();
        let numbered = lines.map(|(place, line)| (self.line + place as u64, line));
        let trimmed =
            numbered.map(|(number, line)| (number, line.strip_suffix(b"\r").unwrap_or(line)));
        trimmed.filter(|(_, line)| !line.is_empty() && line.first().copied() != self.shape.comment)
    }

    /// The line of a record, found by going through the piece again.
    fn line_of(&self, row: usize) -> u64 {
        if !self.quoted {
            return self.plain_lines().nth(row).map_or(self.line, |(line, _)| line);
        }
        let mut records = self.records();
        for _ in 0..row {
            let _ = records.next(&self.shape.path);
        }
        records.next(&self.shape.path).ok().flatten().map_or(self.line, |(line, _)| line)
    }

    fn records(&self) -> Records<'_> {
        Records::new(self.bytes, self.line, self.shape.delimiter, self.shape.comment)
    }

    fn weight(&self, line: u64, field: &[u8]) -> Result<f32> {
        let text = String::from_utf8_lossy(field);
        let place = || Place::line(&self.shape.path, line);
        let weight: f32 = text.trim().parse().map_err(|_| {
            let problem = format!("weight {} is not a number", shown(&text));
            Error::input(place(), problem, "mend it or pass --unweighted")
        })?;
        check_weight(weight).map_err(|problem| bad_weight(place(), text.trim(), problem))
    }

    /// The fast way: digits are read where they stand. Whatever is unusual in a
    /// line is left to the careful way.
    fn parse_plain_integers(&self) -> Result<RawEdges, Stop> {
        let TextShape { delimiter, fields, places, .. } = *self.shape;
        let guess = self.bytes.len() / 12 + 1;
        let (mut sources, mut targets) = (Vec::with_capacity(guess), Vec::with_capacity(guess));
        let mut weights = Vec::new();
        let mut rest = self.bytes;
        let mut line = self.line;
        while !rest.is_empty() {
            let mut ends = [0i64; 2];
            let mut weight = 0..0;
            let mut at = 0;
            let mut usual =
                self.shape.comment.is_none() || rest.first().copied() != self.shape.comment;
            for field in 0..fields {
                let start = at;
                if field == places.source || field == places.target {
                    let mut value = 0u64;
                    while let Some(digit) = rest.get(at).map(|b| b.wrapping_sub(b'0')) {
                        if digit > 9 {
                            break;
                        }
                        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
                        at += 1;
                    }
                    let digits = at - start;
                    // One to eighteen digits, none of them a leading zero.
                    usual &= digits.wrapping_sub(1) < 18 && (rest[start] != b'0' || digits == 1);
                    ends[usize::from(field == places.target)] = value as i64;
                } else {
                    let skip = memchr::memchr2(delimiter, b'\n', &rest[at..]);
                    at += skip.unwrap_or(rest.len() - at);
                    if Some(field) == places.weight {
                        weight = start..at;
                    }
                }
                if field + 1 < fields {
                    usual &= rest.get(at) == Some(&delimiter);
                    at += 1;
                    if !usual || at > rest.len() {
                        usual = false;
                        break;
                    }
                }
            }
            if usual && rest.get(at) == Some(&b'\r') {
                at += 1;
            }
            usual &= matches!(rest.get(at), None | Some(b'\n'));
            if usual {
                if places.weight.is_some() {
                    weights.push(self.weight(line, trim_return(&rest[weight]))?);
                }
                rest = rest.get(at + 1..).unwrap_or_default();
            } else {
                let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                let (unusual, after) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
                rest = after;
                let piece = TextPiece { bytes: unusual, line, ..*self };
                let mut rows = TextRows::default();
                for (line, bytes) in piece.plain_lines() {
                    let fields = || bytes.split(|&byte| byte == delimiter);
                    rows.push(self, line, fields().count(), |column| fields().nth(column))?;
                }
                line += 1;
                let Some(RawEdges { sources: s, targets: t, weights: w }) = rows.integers() else {
                    return Err(Stop::NotAnInteger);
                };
                if let (RawIds::Integers(s), RawIds::Integers(t)) = (s, t) {
                    sources.extend(s);
                    targets.extend(t);
                    weights.extend(w);
                }
                continue;
            }
            line += 1;
            sources.push(ends[0]);
            targets.push(ends[1]);
        }
        let (sources, targets) = (RawIds::Integers(sources), RawIds::Integers(targets));
        Ok(RawEdges { sources, targets, weights })
    }
}

fn trim_return(field: &[u8]) -> &[u8] {
    field.strip_suffix(b"\r").unwrap_or(field)
}

/// Rows read the careful way, ids as texts.
#[derive(Default)]
struct TextRows {
    sources: Strings,
    targets: Strings,
    weights: Vec<f32>,
}

impl TextRows {
    fn push<'f>(
        &mut self,
        piece: &TextPiece<'_>,
        line: u64,
        count: usize,
        field: impl Fn(usize) -> Option<&'f [u8]>,
    ) -> Result<()> {
        let places = piece.shape.places;
        if count != piece.shape.fields {
            return Err(ragged(&piece.shape.path, line, count, piece.shape.fields));
        }
        let id = |column: usize| -> Result<&str> {
            let bytes = field(column).unwrap_or_default().trim_ascii();
            let place = || Place::line(&piece.shape.path, line);
            let text = field_text(bytes, &place)?;
            match text.is_empty() {
                true => Err(Error::input(place(), "the id is empty", "give every row two ids")),
                false => Ok(text),
            }
        };
        self.sources.push(id(places.source)?);
        self.targets.push(id(places.target)?);
        if let Some(column) = places.weight {
            self.weights.push(piece.weight(line, field(column).unwrap_or_default())?);
        }
        Ok(())
    }

    fn texts(self) -> RawEdges {
        RawEdges {
            sources: RawIds::Texts(self.sources),
            targets: RawIds::Texts(self.targets),
            weights: self.weights,
        }
    }

    /// The ids as integers, where all of them are.
    fn integers(self) -> Option<RawEdges> {
        let read = |ids: &Strings| -> Option<Vec<i64>> {
            ids.iter().map(|id| canonical_integer(id.as_bytes())).collect()
        };
        Some(RawEdges {
            sources: RawIds::Integers(read(&self.sources)?),
            targets: RawIds::Integers(read(&self.targets)?),
            weights: self.weights,
        })
    }
}
