//! Embeddings as a NumPy matrix `NAME.npy`, with the ids beside it.
//!
//! Integers are in `NAME.ids.npy` (int64), texts in `NAME.ids.txt`, one a line and
//! as they are. An id with a line break in it is refused: escapes would be one more
//! thing for every reader to know, and Parquet is there. A matrix and ids that do
//! not belong together never stand under their names: an old matrix goes before
//! the new ids come, and the new matrix comes last.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{EmbeddingRows, check_ahead, checked_rows, unfit};
use crate::error::{Error, Place, Result};
use crate::graph::{Ids, Strings};
use crate::io::atomic::PartialFile;
use crate::io::npy::{NpyReader, header};

pub(super) struct NpyWriter {
    path: PathBuf,
    matrix: PartialFile,
    ids: PartialFile,
    /// The ids file of the other kind, which an earlier matrix may have.
    other: PathBuf,
    force: bool,
}

/// Files of ids: integers, texts.
fn beside(path: &Path) -> (PathBuf, PathBuf) {
    (path.with_extension("ids.npy"), path.with_extension("ids.txt"))
}

impl NpyWriter {
    pub(super) fn create(
        path: &Path,
        ids: &Ids,
        width: usize,
        rows: u64,
        force: bool,
    ) -> Result<NpyWriter> {
        check_ahead(ids, rows, |id| check_id(path, id))?;
        let (integers, texts) = beside(path);
        let (own, other) = match ids {
            Ids::Strings(_) => (texts, integers),
            _ => (integers, texts),
        };
        if !force && other.symlink_metadata().is_ok() {
            return Err(Error::Exists(other));
        }
        let mut matrix = PartialFile::create(path, force)?;
        matrix.put(&header("<f4", &[rows, width as u64]))?;
        let mut file = PartialFile::create(&own, force)?;
        if !matches!(ids, Ids::Strings(_)) {
            file.put(&header("<i8", &[rows]))?;
        }
        Ok(NpyWriter { path: path.to_path_buf(), matrix, ids: file, other, force })
    }

    pub(super) fn write(&mut self, ids: &Ids, rows: &EmbeddingRows<'_>) -> Result<()> {
        self.matrix.put(bytemuck::cast_slice(rows.values))?;
        for &node in rows.nodes {
            match ids {
                Ids::Range(_) => self.ids.put(&i64::from(node).to_le_bytes())?,
                Ids::Integers(ids) => self.ids.put(&ids[node as usize].to_le_bytes())?,
                Ids::Strings(ids) => {
                    let id = ids.get(node as usize);
                    check_id(&self.path, id)?;
                    self.ids.put(id.as_bytes())?;
                    self.ids.put(b"\n")?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<()> {
        self.matrix.seal()?;
        self.ids.seal()?;
        if self.force {
            remove(&self.path)?;
            remove(&self.other)?;
        }
        self.ids.publish()?;
        self.matrix.publish()
    }
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(Error::io("replace", path)),
    }
}

/// Python's `splitlines` and others know more ends of a line than the line feed.
fn check_id(path: &Path, id: &str) -> Result<()> {
    let ends = |c: char| matches!(c, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    match id.contains(ends) {
        true => Err(unfit(path, id, "has a line break, and ids lie beside .npy as lines")),
        false => Ok(()),
    }
}

/// Ids, width and numbers. A matrix without ids beside it is numbered from 0.
pub(super) fn read(path: &Path) -> Result<(Ids, usize, Vec<f32>)> {
    let matrix = NpyReader::open(path)?;
    let (rows, width) = matrix.matrix()?;
    let rows = checked_rows(path, rows, width)?;
    let (integers, texts) = beside(path);
    let ids = match (integers.exists(), texts.exists()) {
        (false, false) => Ids::Range(rows as u32),
        (true, false) => {
            let reader = NpyReader::open(&integers)?;
            counted(&integers, reader.length()?, rows)?;
            Ids::from_integers(reader.all()?)
        }
        (false, true) => {
            let ids = read_lines(&texts)?;
            counted(&texts, ids.len() as u64, rows)?;
            Ids::Strings(ids)
        }
        (true, true) => {
            let problem = format!("has ids both in {} and beside it", integers.display());
            return Err(Error::input(texts, problem, "remove the file that is not its own"));
        }
    };
    Ok((ids, width, matrix.all()?))
}

fn counted(path: &Path, ids: u64, rows: usize) -> Result<()> {
    if ids == rows as u64 {
        return Ok(());
    }
    let problem = format!("holds {ids} ids for {rows} embeddings");
    Err(Error::input(path, problem, "write both files again"))
}

fn read_lines(path: &Path) -> Result<Strings> {
    let bytes = fs::read(path).map_err(Error::io("open", path))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let place = Place::byte(path, error.utf8_error().valid_up_to() as u64);
        Error::input(place, "the text is not UTF-8", "save the file as UTF-8")
    })?;
    // The last id would be a shorter one.
    if !text.is_empty() && !text.ends_with('\n') {
        return Err(Error::input(path, "ends inside a line", "write both files again"));
    }
    Ok(text.lines().collect())
}
