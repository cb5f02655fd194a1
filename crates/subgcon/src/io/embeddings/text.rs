//! Embeddings in the text format of word2vec, as gensim reads it.
//!
//! The first line is `rows width`; then a line for each row, `id v1 v2 …` with
//! single blanks. Numbers have the fewest digits that give the same 32 bits
//! back. An id with a blank or a control character in it cannot be told from
//! what follows, so it is refused.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::{EmbeddingRows, check_ahead, checked_rows, unfit};
use crate::error::{Error, Place, Result, shown};
use crate::graph::{Ids, Strings, canonical_integer};
use crate::io::atomic::PartialFile;

/// Rows that are text in memory at a time, and rows that a thread takes at once.
const BLOCK: usize = 1 << 12;
const PIECE: usize = 1 << 7;

pub(super) struct TextWriter {
    path: PathBuf,
    file: PartialFile,
}

impl TextWriter {
    pub(super) fn create(
        path: &Path,
        ids: &Ids,
        width: usize,
        rows: u64,
        force: bool,
    ) -> Result<TextWriter> {
        check_ahead(ids, rows, |id| check_id(path, id))?;
        let mut file = PartialFile::create(path, force)?;
        file.put(format!("{rows} {width}\n").as_bytes())?;
        Ok(TextWriter { path: path.to_path_buf(), file })
    }

    pub(super) fn write(&mut self, ids: &Ids, rows: &EmbeddingRows<'_>) -> Result<()> {
        // Spelling numbers is slow, so threads share it.
        for (nodes, values) in rows.nodes.chunks(BLOCK).zip(rows.values.chunks(BLOCK * rows.width))
        {
            let pieces = nodes.par_chunks(PIECE).zip(values.par_chunks(PIECE * rows.width));
            let lines = pieces.map(|(nodes, values)| lines(&self.path, ids, nodes, values));
            for lines in lines.collect::<Vec<Result<String>>>() {
                self.file.put(lines?.as_bytes())?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<()> {
        self.file.finish()
    }
}

/// Some rows as text.
fn lines(path: &Path, ids: &Ids, nodes: &[u32], values: &[f32]) -> Result<String> {
    let mut lines = String::new();
    for (&node, values) in nodes.iter().zip(values.chunks_exact(values.len() / nodes.len())) {
        let id = ids.text(node);
        check_id(path, &id)?;
        lines.push_str(&id);
        for value in values {
            // Debug's form: shortest, with an exponent where that is shorter.
            write!(lines, " {value:?}").expect("memory takes all text");
        }
        lines.push('\n');
    }
    Ok(lines)
}

fn check_id(path: &Path, id: &str) -> Result<()> {
    if id.is_empty() {
        return Err(unfit(path, id, "is empty, and word2vec's text separates by blanks"));
    }
    match id.contains(|c: char| c.is_whitespace() || c.is_control()) {
        true => Err(unfit(path, id, "has blanks in it, and word2vec's text separates by blanks")),
        false => Ok(()),
    }
}

/// A text file, one line after another.
struct Lines<'a> {
    path: &'a Path,
    file: BufReader<File>,
    line: Vec<u8>,
    number: u64,
}

impl Lines<'_> {
    /// Goes to the next line; false at the end of the file. A last line without
    /// an end may have lost digits.
    fn next(&mut self) -> Result<bool> {
        self.line.clear();
        self.number += 1;
        let read = self.file.read_until(b'\n', &mut self.line);
        let read = read.map_err(Error::io("read", self.path))?;
        match read > 0 && !self.line.ends_with(b"\n") {
            true => Err(self.refuse("the file ends inside a line")),
            false => Ok(read > 0),
        }
    }

    fn fields(&self) -> Result<impl Iterator<Item = &str>> {
        let text = std::str::from_utf8(&self.line);
        Ok(text.map_err(|_| self.refuse("the text is not UTF-8"))?.split_ascii_whitespace())
    }

    fn refuse(&self, problem: impl Into<String>) -> Error {
        Error::input(Place::line(self.path, self.number), problem, "write the file again")
    }
}

/// Ids, width and numbers. Ids that are all written as integers are integers.
pub(super) fn read(path: &Path) -> Result<(Ids, usize, Vec<f32>)> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let file = BufReader::with_capacity(1 << 20, file);
    let mut lines = Lines { path, file, line: Vec::new(), number: 0 };
    lines.next()?;
    let head: Vec<&str> = lines.fields()?.collect();
    let counts = match head[..] {
        [rows, width] => rows.parse::<u64>().ok().zip(width.parse::<usize>().ok()),
        _ => None,
    };
    let (rows, width) = counts.ok_or_else(|| {
        let head = shown(&head.join(" "));
        lines.refuse(format!("{head} is not the numbers of rows and columns"))
    })?;
    checked_rows(path, rows, width)?;

    // Both counts are claims: room grows with the lines that come.
    let (mut ids, mut values) = (Strings::default(), Vec::new());
    for row in 0..rows {
        if !lines.next()? {
            return Err(lines.refuse(format!("the file ends after {row} of {rows} rows")));
        }
        let mut fields = lines.fields()?;
        ids.push(fields.next().ok_or_else(|| lines.refuse("the line is empty"))?);
        let before = values.len();
        for field in fields {
            let value = field.parse::<f32>();
            let told = || lines.refuse(format!("{} is not a number", shown(field)));
            values.push(value.map_err(|_| told())?);
        }
        let found = values.len() - before;
        if found != width {
            return Err(lines.refuse(format!("{found} numbers follow the id, not {width}")));
        }
    }
    if lines.next()? {
        return Err(lines.refuse(format!("the file goes on after {rows} rows")));
    }
    let integers: Option<Vec<i64>> =
        ids.iter().map(|id| canonical_integer(id.as_bytes())).collect();
    let ids = integers.map_or(Ids::Strings(ids), Ids::from_integers);
    Ok((ids, width, values))
}
