//! Embeddings as a Parquet table: `id`, `embedding`, `status`, `context_size`,
//! `mass`.
//!
//! Rows are gathered into blocks of a size that only the width decides, each of
//! them a row group: the same rows give the same bytes, however they arrive.
//! The embedding column is neither compressed nor encoded: of 100,000 rows of 128
//! normal numbers Snappy takes 0.9 % off the file and Zstandard 8.4 %, too little
//! for packing and unpacking every number.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float32Type;
use arrow_array::{
    Array as _, ArrayRef, FixedSizeListArray, Float32Array, Int64Array, LargeStringArray,
    RecordBatch, StringArray, UInt32Array,
};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::{EmbeddingRows, Status, checked_rows};
use crate::error::{Error, Result};
use crate::graph::{Ids, Strings};
use crate::io::atomic::PartialFile;
use crate::io::table::TableKind;
use crate::io::table::columnar::ColumnarTable;
use crate::io::table::values::{RawIds, ids, list_of_numbers, lists};

/// Bytes of embeddings in a block, about.
const BLOCK: usize = 16 << 20;

/// Rows of a block.
fn block_rows(width: usize) -> usize {
    (BLOCK / (4 * width)).clamp(128, 1 << 16)
}

pub(super) struct ParquetWriter {
    path: PathBuf,
    writer: ArrowWriter<PartialFile>,
    schema: SchemaRef,
    width: usize,
    block: Block,
}

/// Rows that wait for their block to be full.
#[derive(Default)]
struct Block {
    nodes: Vec<u32>,
    values: Vec<f32>,
    status: Vec<Status>,
    context_size: Vec<u32>,
    mass: Vec<f32>,
}

impl ParquetWriter {
    pub(super) fn create(
        path: &Path,
        ids: &Ids,
        width: usize,
        force: bool,
    ) -> Result<ParquetWriter> {
        let id = match ids {
            Ids::Range(_) | Ids::Integers(_) => DataType::Int64,
            Ids::Strings(_) => DataType::LargeUtf8,
        };
        let list = DataType::FixedSizeList(element(), width as i32);
        let schema = Arc::new(Schema::new(vec![
            Field::new("id", id, false),
            Field::new("embedding", list, false),
            Field::new("status", DataType::Utf8, false),
            Field::new("context_size", DataType::UInt32, false),
            Field::new("mass", DataType::Float32, false),
        ]));
        let embedding =
            ColumnPath::from(["embedding", "list", "element"].map(String::from).to_vec());
        let settings = WriterProperties::builder()
            .set_created_by(format!("subgcon {}", env!("CARGO_PKG_VERSION")))
            .set_max_row_group_row_count(Some(block_rows(width)))
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_column_compression(embedding.clone(), Compression::UNCOMPRESSED)
            .set_dictionary_enabled(false)
            .set_column_dictionary_enabled(ColumnPath::from("status"), true)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_column_statistics_enabled(embedding, EnabledStatistics::None)
            .build();
        let file = PartialFile::create(path, force)?;
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(settings));
        let writer = writer.map_err(|error| failed(path, error))?;
        Ok(ParquetWriter {
            path: path.to_path_buf(),
            writer,
            schema,
            width,
            block: Block::default(),
        })
    }

    pub(super) fn write(&mut self, ids: &Ids, rows: &EmbeddingRows<'_>) -> Result<()> {
        let (mut start, count) = (0, rows.nodes.len());
        while start < count {
            let room = block_rows(self.width) - self.block.nodes.len();
            let end = count.min(start + room);
            let block = &mut self.block;
            block.nodes.extend_from_slice(&rows.nodes[start..end]);
            block.values.extend_from_slice(&rows.values[start * self.width..end * self.width]);
            block.status.extend_from_slice(&rows.status[start..end]);
            block.context_size.extend_from_slice(&rows.context_size[start..end]);
            block.mass.extend_from_slice(&rows.mass[start..end]);
            if end - start == room {
                self.write_block(ids)?;
            }
            start = end;
        }
        Ok(())
    }

    fn write_block(&mut self, ids: &Ids) -> Result<()> {
        let block = std::mem::take(&mut self.block);
        let nodes = block.nodes.iter();
        let id: ArrayRef = match ids {
            Ids::Range(_) => Arc::new(Int64Array::from_iter_values(nodes.map(|&n| n.into()))),
            Ids::Integers(ids) => {
                Arc::new(Int64Array::from_iter_values(nodes.map(|&n| ids[n as usize])))
            }
            Ids::Strings(ids) => {
                Arc::new(LargeStringArray::from_iter_values(nodes.map(|&n| ids.get(n as usize))))
            }
        };
        let values = Arc::new(Float32Array::from(block.values));
        let status = block.status.iter().map(|status| status.name());
        let columns: Vec<ArrayRef> = vec![
            id,
            Arc::new(FixedSizeListArray::new(element(), self.width as i32, values, None)),
            Arc::new(StringArray::from_iter_values(status)),
            Arc::new(UInt32Array::from(block.context_size)),
            Arc::new(Float32Array::from(block.mass)),
        ];
        let batch = RecordBatch::try_new(self.schema.clone(), columns);
        let batch = batch.map_err(|error: ArrowError| failed(&self.path, error.into()))?;
        let written = self.writer.write(&batch).and_then(|()| self.writer.flush());
        written.map_err(|error| failed(&self.path, error))
    }

    pub(super) fn finish(mut self, ids: &Ids) -> Result<()> {
        if !self.block.nodes.is_empty() {
            self.write_block(ids)?;
        }
        let file = self.writer.into_inner().map_err(|error| failed(&self.path, error))?;
        file.finish()
    }
}

/// The numbers in a list, by the name that Parquet's specification gives them.
fn element() -> FieldRef {
    Arc::new(Field::new("element", DataType::Float32, false))
}

fn failed(path: &Path, error: ParquetError) -> Error {
    let cause = match error {
        ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
            Ok(cause) => *cause,
            Err(other) => std::io::Error::other(other),
        },
        other => std::io::Error::other(other),
    };
    Error::io("write", path)(cause)
}

/// Ids, width and numbers of a table; other columns are passed over.
pub(super) fn read(path: &Path) -> Result<(Ids, usize, Vec<f32>)> {
    let table = ColumnarTable::open(path, TableKind::Parquet)?;
    let names = table.names();
    let column = |name: &str| {
        names.iter().position(|other| other == name).ok_or_else(|| {
            let problem = format!("has no column {name:?}; its columns are {names:?}");
            Error::input(path, problem, "give a file of embeddings")
        })
    };
    let (id, embedding) = (column("id")?, column("embedding")?);
    let Some(mut width) = list_of_numbers(table.schema.field(embedding).data_type()) else {
        let problem =
            format!("column \"embedding\" is {}", table.schema.field(embedding).data_type());
        return Err(Error::input(path, problem, "store embeddings as lists of numbers"));
    };
    if let Some(rows) = table.rows() {
        checked_rows(path, rows, 1)?;
    }
    let (mut integers, mut texts, mut values) = (Vec::new(), Strings::default(), Vec::new());
    for group in 0..table.groups() {
        table.read_group(group, &[id, embedding], |rows| {
            let list = &rows.columns[1];
            if list.is_empty() {
                return Ok(());
            }
            // Lists of no fixed length are as long as the first one.
            let width = *width.get_or_insert_with(|| first_length(list));
            match ids(&rows.columns[0]).map_err(|bad| table.bad_value(&rows, id, &bad))? {
                RawIds::Integers(some) => integers.extend_from_slice(&some),
                RawIds::Texts(some) => texts.extend(some.iter()),
            }
            match plain(list) {
                Some(some) => values.extend_from_slice(some),
                None => values.extend_from_slice(
                    &lists(list, width).map_err(|bad| table.bad_value(&rows, embedding, &bad))?,
                ),
            }
            Ok(())
        })?;
    }
    let ids = match texts.is_empty() {
        true => Ids::from_integers(integers),
        false => Ids::Strings(texts),
    };
    // Of no rows at all it makes no difference.
    let width = width.unwrap_or(1);
    let rows = checked_rows(path, ids.len() as u64, width)?;
    if rows.checked_mul(width) != Some(values.len()) {
        let problem = format!("has {rows} ids for {} numbers of embeddings", values.len());
        return Err(Error::input(path, problem, "the file is damaged: write it again"));
    }
    Ok((ids, width, values))
}

fn first_length(lists: &ArrayRef) -> usize {
    match lists.data_type() {
        DataType::List(_) => lists.as_list::<i32>().value_length(0) as usize,
        DataType::LargeList(_) => lists.as_list::<i64>().value_length(0) as usize,
        _ => 0,
    }
}

/// The numbers of lists as this program writes them: no nulls, nothing to turn.
fn plain(lists: &ArrayRef) -> Option<&[f32]> {
    let lists = lists.as_fixed_size_list_opt()?;
    let values = lists.values().as_primitive_opt::<Float32Type>()?;
    let whole = lists.null_count() == 0 && values.null_count() == 0;
    whole.then(|| &values.values()[..])
}
