//! Embeddings on disk: written as they are made, read back as a whole.
//!
//! Three formats, told by the name: Parquet holds everything; `.npy` holds the
//! numbers, with a file of ids beside it; the text format of word2vec is for
//! the programs that know it. A writer holds one block of rows, so a result may
//! be larger than memory, and its file appears when it is whole.

mod npy;
mod parquet;
mod text;

use std::path::{Path, PathBuf};

use crate::error::{Error, Place, Result, shown};
use crate::graph::{Ids, MAX_NODES};
use crate::math::Matrix;
use crate::model::Status;

/// Embeddings of some nodes, one row each.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddingRows<'a> {
    /// The nodes, by their numbers in the graph.
    pub nodes: &'a [u32],
    /// Numbers in a row.
    pub width: usize,
    /// (rows, width).
    pub values: &'a [f32],
    /// What stands behind each row.
    pub status: &'a [Status],
    /// Nodes in each context.
    pub context_size: &'a [u32],
    /// PageRank that each context holds.
    pub mass: &'a [f32],
}

/// How embeddings lie in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingFormat {
    /// A table with id, embedding, status, size and mass.
    Parquet,
    /// A NumPy matrix, and the ids beside it.
    Npy,
    /// The text format of word2vec.
    Word2Vec,
}

impl EmbeddingFormat {
    /// The format that a file's name tells.
    pub fn of_path(path: &Path) -> Result<EmbeddingFormat> {
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        match ending.as_str() {
            "parquet" | "pq" => Ok(EmbeddingFormat::Parquet),
            "npy" => Ok(EmbeddingFormat::Npy),
            "txt" | "vec" | "w2v" => Ok(EmbeddingFormat::Word2Vec),
            _ => Err(Error::input(
                path,
                "the name does not tell the format of embeddings",
                "use .parquet, .npy, or .txt, .vec or .w2v for word2vec's text",
            )),
        }
    }
}

/// Writes embeddings block by block.
pub struct EmbeddingWriter<'a> {
    path: PathBuf,
    ids: &'a Ids,
    width: usize,
    /// Rows that are still to come.
    left: u64,
    sink: Sink,
}

enum Sink {
    Parquet(Box<parquet::ParquetWriter>),
    Npy(npy::NpyWriter),
    Text(text::TextWriter),
}

impl<'a> EmbeddingWriter<'a> {
    /// Begins a file of `rows` embeddings of `width` numbers, of nodes with
    /// these `ids`. Unless `force`, files that are already there are an error.
    pub fn create(
        path: &Path,
        format: EmbeddingFormat,
        ids: &'a Ids,
        width: usize,
        rows: u64,
        force: bool,
    ) -> Result<EmbeddingWriter<'a>> {
        assert!(width > 0 && i32::try_from(width).is_ok(), "embeddings of {width} numbers");
        let sink = match format {
            EmbeddingFormat::Parquet => {
                Sink::Parquet(Box::new(parquet::ParquetWriter::create(path, ids, width, force)?))
            }
            EmbeddingFormat::Npy => {
                Sink::Npy(npy::NpyWriter::create(path, ids, width, rows, force)?)
            }
            EmbeddingFormat::Word2Vec => {
                Sink::Text(text::TextWriter::create(path, ids, width, rows, force)?)
            }
        };
        Ok(EmbeddingWriter { path: path.to_path_buf(), ids, width, left: rows, sink })
    }

    /// Writes the next rows. However rows are cut into calls, the file is the same.
    pub fn write(&mut self, rows: &EmbeddingRows<'_>) -> Result<()> {
        let count = rows.nodes.len();
        assert_eq!((rows.width, rows.values.len()), (self.width, count * self.width));
        let lengths = [rows.status.len(), rows.context_size.len(), rows.mass.len()];
        assert_eq!(lengths, [count; 3], "every row has a status, a size and a mass");
        let left = self.left.checked_sub(count as u64);
        self.left = left.expect("no more rows than were announced");
        if let Some(place) = rows.values.iter().position(|value| !value.is_finite()) {
            let id = shown(&self.ids.text(rows.nodes[place / self.width]));
            let (value, column) = (rows.values[place], place % self.width);
            let problem = format!("the embedding of node id {id} holds {value} in column {column}");
            let remedy = "numbers have grown out of range: scale the features or train again";
            return Err(Error::store(&self.path, problem, remedy));
        }
        match &mut self.sink {
            Sink::Parquet(sink) => sink.write(self.ids, rows),
            Sink::Npy(sink) => sink.write(self.ids, rows),
            Sink::Text(sink) => sink.write(self.ids, rows),
        }
    }

    /// Makes the file durable and gives it its name.
    pub fn finish(self) -> Result<()> {
        assert_eq!(self.left, 0, "every announced row has come");
        match self.sink {
            Sink::Parquet(sink) => sink.finish(self.ids),
            Sink::Npy(sink) => sink.finish(),
            Sink::Text(sink) => sink.finish(),
        }
    }
}

/// Embeddings in memory, row i with id i.
#[derive(Debug, Clone)]
pub struct Embeddings {
    /// The ids, each of them once.
    pub ids: Ids,
    /// (rows, width), finite.
    pub matrix: Matrix<f32>,
}

/// Reads embeddings in any of the formats.
pub fn read_embeddings(path: &Path) -> Result<Embeddings> {
    let (ids, width, values) = match EmbeddingFormat::of_path(path)? {
        EmbeddingFormat::Parquet => parquet::read(path)?,
        EmbeddingFormat::Npy => npy::read(path)?,
        EmbeddingFormat::Word2Vec => text::read(path)?,
    };
    if let Some(place) = values.iter().position(|value| !value.is_finite()) {
        let (row, column) = (place / width, place % width);
        let beyond = if values[place].is_infinite() { ", or more than 32 bits hold" } else { "" };
        let problem = format!("number {column} of the embedding is {}{beyond}", values[place]);
        let remedy = "write a finite number there";
        return Err(Error::input(Place::row(path, row as u64), problem, remedy));
    }
    if let Err(twice) = ids.index() {
        let (first, again) = (twice.first, twice.again);
        let problem = format!("id {} stands twice: in rows {first} and {again}", shown(&twice.id));
        return Err(Error::input(path, problem, "keep one row for each id"));
    }
    Ok(Embeddings { matrix: Matrix::of(ids.len(), width, values), ids })
}

/// Rows of a file, as many as ids can number.
fn checked_rows(path: &Path, rows: u64, width: usize) -> Result<usize> {
    let refuse = |problem| Err(Error::input(path, problem, "give a file of embeddings"));
    if rows > MAX_NODES {
        return refuse(format!("has {rows} rows, more than {MAX_NODES}"));
    }
    if width == 0 {
        return refuse("has rows without numbers".to_owned());
    }
    Ok(rows as usize)
}

/// An id that a text format cannot hold.
fn unfit(path: &Path, id: &str, problem: &str) -> Error {
    let problem = format!("node id {} {problem}", shown(id));
    Error::input(path, problem, "write .parquet, which holds any id")
}

/// Where every node is going to be written, looks at all ids before hours of
/// work rather than after them.
fn check_ahead(ids: &Ids, rows: u64, check: impl Fn(&str) -> Result<()>) -> Result<()> {
    match ids {
        Ids::Strings(texts) if rows == texts.len() as u64 => texts.iter().try_for_each(check),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
