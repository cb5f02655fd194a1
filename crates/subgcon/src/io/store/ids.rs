//! The user's ids as an Arrow file: one column `id`, one row a node.
//!
//! Written in blocks of rows; integers as Int64, texts as LargeUtf8.

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, Int64Array, LargeStringArray, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};

use super::damaged;
use super::manifest::{IdEntry, IdKind};
use crate::error::{Error, Result};
use crate::graph::{Ids, Strings};
use crate::io::guard::guarded;
use crate::io::table::arrow_footer;

const BLOCK: usize = 1 << 20;

pub(super) fn write_ids(path: &Path, ids: &Ids) -> Result<IdEntry> {
    let (kind, data_type) = match ids {
        Ids::Range(_) | Ids::Integers(_) => (IdKind::Integer, DataType::Int64),
        Ids::Strings(_) => (IdKind::String, DataType::LargeUtf8),
    };
    let schema = Arc::new(Schema::new(vec![Field::new("id", data_type, false)]));
    let file = File::create(path).map_err(Error::io("create", path))?;
    let failed = |error| match error {
        ArrowError::IoError(_, source) => Error::io("write", path)(source),
        other => Error::io("write", path)(std::io::Error::other(other)),
    };
    let mut writer = FileWriter::try_new(BufWriter::new(file), &schema).map_err(failed)?;
    for start in (0..ids.len()).step_by(BLOCK) {
        let rows = start..ids.len().min(start + BLOCK);
        let column: ArrayRef = match ids {
            Ids::Range(_) => Arc::new(Int64Array::from_iter_values(rows.map(|node| node as i64))),
            Ids::Integers(ids) => Arc::new(Int64Array::from(ids[rows].to_vec())),
            Ids::Strings(ids) => {
                Arc::new(LargeStringArray::from_iter_values(rows.map(|node| ids.get(node))))
            }
        };
        let batch = RecordBatch::try_new(schema.clone(), vec![column]).map_err(failed)?;
        writer.write(&batch).map_err(failed)?;
    }
    writer.finish().map_err(failed)?;
    let buffered = writer.into_inner().map_err(failed)?;
    buffered.into_inner().map_err(|e| Error::io("write", path)(e.into_error()))?;
    Ok(IdEntry { kind, contiguous: matches!(ids, Ids::Range(_)) })
}

/// Reads the ids. A damaged file is an error, whatever its reader makes of it.
pub(super) fn read_ids(path: &Path, entry: &IdEntry, nodes: u64) -> Result<Ids> {
    guarded(path, || read_ids_unguarded(path, entry, nodes)).map_err(|error| match error {
        Error::Input { problem, .. } => damaged(path, problem),
        other => other,
    })
}

fn read_ids_unguarded(path: &Path, entry: &IdEntry, nodes: u64) -> Result<Ids> {
    let mut file = File::open(path).map_err(Error::io("open", path))?;
    arrow_footer::check(&mut file).map_err(|problem| damaged(path, problem))?;
    file.rewind().map_err(Error::io("read", path))?;
    let failed = |error: ArrowError| damaged(path, error.to_string());
    let reader = FileReader::try_new(BufReader::new(file), None).map_err(failed)?;
    let (mut integers, mut texts) = (Vec::new(), Strings::default());
    for batch in reader {
        let batch = batch.map_err(failed)?;
        if batch.num_columns() != 1 || batch.column(0).null_count() > 0 {
            return Err(damaged(path, "is not one column without gaps"));
        }
        let column = batch.column(0).as_any();
        match entry.kind {
            IdKind::Integer => {
                let column = column.downcast_ref::<Int64Array>();
                integers.extend_from_slice(
                    column.ok_or_else(|| damaged(path, "holds no integers"))?.values(),
                );
            }
            IdKind::String => {
                let column = column.downcast_ref::<LargeStringArray>();
                let column = column.ok_or_else(|| damaged(path, "holds no texts"))?;
                texts.extend(column.iter().flatten());
            }
        }
    }
    let ids = match entry.kind {
        IdKind::Integer => Ids::from_integers(integers),
        IdKind::String => Ids::Strings(texts),
    };
    if ids.len() as u64 != nodes {
        let problem = format!("holds {} ids, the manifest says {nodes}", ids.len());
        return Err(damaged(path, problem));
    }
    Ok(ids)
}
