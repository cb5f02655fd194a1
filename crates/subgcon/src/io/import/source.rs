//! What every importer does with its files: find them, read JSON as a stream,
//! and hand features and labels on once they fit the number of nodes.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use serde::de::DeserializeSeed;

use crate::error::{Error, Place, Result};
use crate::graph::Labels;
use crate::io::csr::Csr;
pub(super) use crate::io::csr::check_claim;
use crate::io::npy::NpyReader;
use crate::io::store::StoreWriter;
use crate::io::table::file_name;
use crate::progress::{Progress, Silent};

/// A file that has to be there; `expected` says what it would hold.
pub(super) fn require(path: PathBuf, expected: &str) -> Result<PathBuf> {
    match present(path.clone())? {
        Some(path) => Ok(path),
        None => Err(Error::input(
            path,
            "is missing",
            format!("put the file with {expected} there or name another folder"),
        )),
    }
}

/// A file that may be there.
pub(super) fn present(path: PathBuf) -> Result<Option<PathBuf>> {
    match path.try_exists() {
        Ok(true) => Ok(Some(path)),
        Ok(false) => Ok(None),
        Err(error) => Err(Error::io("look for", path)(error)),
    }
}

/// Reads a whole JSON file with `seed`.
pub(super) fn json<S, T>(path: &Path, seed: S) -> Result<T>
where
    S: for<'de> DeserializeSeed<'de, Value = T>,
{
    watched_json(path, seed, &Silent)
}

/// The same, telling of its bytes as they are read.
pub(super) fn watched_json<S, T>(path: &Path, seed: S, progress: &dyn Progress) -> Result<T>
where
    S: for<'de> DeserializeSeed<'de, Value = T>,
{
    let file = File::open(path).map_err(Error::io("open", path))?;
    let bytes = file.metadata().map_or(0, |about| about.len());
    progress.begin(&format!("reading {}", file_name(path)), bytes, "bytes");
    let file = BufReader::with_capacity(1 << 16, Watched { file, progress });
    let mut source = serde_json::Deserializer::from_reader(file);
    let value = seed.deserialize(&mut source).map_err(|error| json_error(path, &error))?;
    source.end().map_err(|error| json_error(path, &error))?;
    progress.end();
    Ok(value)
}

/// A file that tells how much of it is read.
struct Watched<'p> {
    file: File,
    progress: &'p dyn Progress,
}

impl Read for Watched<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.file.read(into)?;
        self.progress.advance(bytes as u64);
        Ok(bytes)
    }
}

fn json_error(path: &Path, error: &serde_json::Error) -> Error {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let problem = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    Error::input(
        Place::line(path, line as u64),
        format!("column {column}: {problem}"),
        "mend the JSON there or fetch the file again",
    )
}

/// Hands over a matrix of features, one row a node.
pub(super) fn dense_features<R: Read>(
    store: &mut StoreWriter<'_>,
    reader: NpyReader<R>,
    nodes: usize,
) -> Result<()> {
    let (rows, width) = reader.matrix()?;
    let place = reader.place().clone();
    check_rows(&place, "rows of features", rows, nodes)?;
    check_width(&place, width)?;
    let progress = store.progress();
    progress.begin("reading features", rows, "nodes");
    store.features(width, |sink| {
        reader.rows(|rows: &[f32]| {
            progress.advance((rows.len() / width) as u64);
            sink.dense(rows).map_err(|error| error.at(place.clone()))
        })
    })?;
    progress.end();
    Ok(())
}

/// Hands over sparse features, one row a node.
pub(super) fn sparse_features(
    store: &mut StoreWriter<'_>,
    place: &Place,
    features: &Csr,
    nodes: usize,
) -> Result<()> {
    check_rows(place, "rows of features", features.rows() as u64, nodes)?;
    check_width(place, features.width)?;
    let entries = features.indices.len() as u64;
    check_claim(place.clone(), "columns of features", features.width as u64, entries)?;
    let progress = store.progress();
    progress.begin("reading features", features.rows() as u64, "nodes");
    store.features(features.width, |sink| {
        for row in 0..features.rows() {
            let (columns, values) = features.row(row);
            sink.sparse(columns, values).map_err(|error| error.at(place.clone()))?;
            progress.advance(1);
        }
        Ok(())
    })?;
    progress.end();
    Ok(())
}

/// One row for each node.
pub(super) fn check_rows(place: &Place, what: &str, rows: u64, nodes: usize) -> Result<()> {
    if rows == nodes as u64 {
        return Ok(());
    }
    let problem = format!("has {rows} {what} but the graph has {nodes} nodes");
    Err(Error::input(place.clone(), problem, "give exactly one row a node"))
}

pub(super) fn check_width(place: &Place, width: usize) -> Result<()> {
    if width > 0 {
        return Ok(());
    }
    let problem = "has features without a single column";
    Err(Error::input(place.clone(), problem, "leave the features out or add columns"))
}

/// Labels from an array: one integer a node, or a row of noughts and ones.
pub(super) fn array_labels<R: Read>(reader: NpyReader<R>, nodes: usize) -> Result<Labels> {
    let place = reader.place().clone();
    match reader.header().shape[..] {
        [rows] | [rows, 1] => {
            check_rows(&place, "labels", rows, nodes)?;
            let labels: Vec<Option<i64>> = reader.all::<i64>()?.into_iter().map(Some).collect();
            Ok(Labels::from_integers(&labels))
        }
        [rows, classes] if classes > 1 => {
            check_rows(&place, "rows of labels", rows, nodes)?;
            let members: Vec<u8> = reader.all::<bool>()?.into_iter().map(u8::from).collect();
            Ok(Labels::Multi { members: members.into(), names: numbered(classes as usize) })
        }
        _ => Err(reader.refuse(
            format!("labels have shape {}", reader.header().shown_shape()),
            "give one class a node, or one row of noughts and ones a node",
        )),
    }
}

/// Names of classes that have only a number.
pub(super) fn numbered(classes: usize) -> Vec<String> {
    (0..classes).map(|class| class.to_string()).collect()
}
