//! Edges in text: a piece of whole records becomes ids and weights.
//!
//! Integers are read where they stand, a line at a time; whatever is unusual in a
//! line (blanks, signs, quotes, too many digits) is left to a careful way that
//! says what is wrong with it.

use std::path::PathBuf;

use super::EdgePlaces;
use super::csv::{Records, TextTable, field_text, ragged};
use super::discover::RawEdges;
use super::edges::bad_weight;
use super::inspect::has_number_commas;
use super::values::RawIds;
use crate::error::{Error, Place, Result, shown};
use crate::graph::{Strings, canonical_integer, check_weight};

/// How ids in text are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    Integers,
    Texts,
}

/// Why reading stopped.
pub(super) enum Stop {
    /// An id is not an integer: ids have to be read as texts.
    NotAnInteger,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

/// What a piece of text has to know of its table.
pub(super) struct TextShape {
    pub(super) path: PathBuf,
    delimiter: u8,
    comment: Option<u8>,
    fields: usize,
    places: EdgePlaces,
}

impl TextShape {
    pub(super) fn of(table: &TextTable, places: EdgePlaces) -> TextShape {
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
pub(super) struct TextPiece<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) line: u64,
    pub(super) quoted: bool,
    pub(super) shape: &'a TextShape,
}

impl TextPiece<'_> {
    pub(super) fn parse(&self, spelling: Spelling) -> Result<RawEdges, Stop> {
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
    pub(super) fn line_of(&self, row: usize) -> u64 {
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
            let remedy = match has_number_commas(text.trim()) {
                true => "write a point for a decimal comma (0.5), nothing for thousands (1000)",
                false => "mend it or pass --unweighted",
            };
            Error::input(place(), problem, remedy)
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
