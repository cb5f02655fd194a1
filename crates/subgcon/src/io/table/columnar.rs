//! Columnar tables: Parquet, and Arrow IPC files (Feather).
//!
//! Rows come in groups (row groups, record batches) that any thread may read
//! on its own.

use std::fs::File;
use std::io::{BufReader, Seek};
use std::path::{Path, PathBuf};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_schema::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::RowGroupMetaData;

use super::values::BadValue;
use super::{TableKind, arrow_footer};
use crate::error::{Error, Place, Result};
use crate::io::guard::{guarded, unreadable};

/// Rows decoded at a time.
const BATCH: usize = 1 << 16;

/// An open table of columns.
pub(crate) struct ColumnarTable {
    pub(crate) path: PathBuf,
    pub(crate) schema: SchemaRef,
    source: Source,
}

enum Source {
    Parquet {
        metadata: ArrowReaderMetadata,
    },
    /// Batches, read in runs of `run`: opening the file once for each of very
    /// many small ones would take longer than reading them.
    Arrow {
        batches: usize,
        run: usize,
    },
}

/// Into this many runs a file of many batches is cut.
const MOST_RUNS: usize = 256;

/// Some rows of the chosen columns, in the order in which they were chosen.
pub(crate) struct Rows {
    pub(crate) columns: Vec<ArrayRef>,
    /// The group they belong to.
    group: usize,
    /// The first one's place in its group.
    first: usize,
}

impl ColumnarTable {
    pub(crate) fn open(path: &Path, kind: TableKind) -> Result<ColumnarTable> {
        guarded(path, || ColumnarTable::open_unguarded(path, kind))
    }

    fn open_unguarded(path: &Path, kind: TableKind) -> Result<ColumnarTable> {
        let mut file = File::open(path).map_err(Error::io("open", path))?;
        let (schema, source) = if kind == TableKind::Parquet {
            let metadata = ArrowReaderMetadata::load(&file, Default::default())
                .map_err(|error| unreadable(path, &error))?;
            let length = file.metadata().map_err(Error::io("open", path))?.len();
            let groups = metadata.metadata().row_groups().iter();
            for column in groups.flat_map(RowGroupMetaData::columns) {
                let (start, bytes) = column.byte_range();
                if start.checked_add(bytes).is_none_or(|end| end > length) {
                    return Err(unreadable(path, &"a column lies outside the file"));
                }
            }
            (metadata.schema().clone(), Source::Parquet { metadata })
        } else {
            arrow_footer::check(&mut file).map_err(|problem| unreadable(path, &problem))?;
            file.rewind().map_err(Error::io("read", path))?;
            let reader = FileReader::try_new(BufReader::new(file), None)
                .map_err(|error| unreadable(path, &error))?;
            let batches = reader.num_batches();
            let run = batches.div_ceil(MOST_RUNS).max(1);
            (reader.schema(), Source::Arrow { batches, run })
        };
        Ok(ColumnarTable { path: path.to_path_buf(), schema, source })
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Number of rows where the file tells it up front.
    pub(crate) fn rows(&self) -> Option<u64> {
        match &self.source {
            Source::Parquet { metadata } => {
                u64::try_from(metadata.metadata().file_metadata().num_rows()).ok()
            }
            Source::Arrow { .. } => None,
        }
    }

    pub(crate) fn groups(&self) -> usize {
        match &self.source {
            Source::Parquet { metadata } => metadata.metadata().num_row_groups(),
            Source::Arrow { batches, run } => batches.div_ceil(*run),
        }
    }

    /// Reads the chosen columns of one group.
    pub(crate) fn read_group(
        &self,
        group: usize,
        columns: &[usize],
        each: impl FnMut(Rows) -> Result<()>,
    ) -> Result<()> {
        guarded(&self.path, || self.read_group_unguarded(group, columns, each))
    }

    fn read_group_unguarded(
        &self,
        group: usize,
        columns: &[usize],
        mut each: impl FnMut(Rows) -> Result<()>,
    ) -> Result<()> {
        let file = File::open(&self.path).map_err(Error::io("open", &self.path))?;
        let mut sorted = columns.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut first = 0;
        let mut hand_out = |batch: RecordBatch| {
            let place = |column| sorted.binary_search(column).expect("it was asked for");
            let columns = columns.iter().map(|column| batch.column(place(column)).clone());
            let rows = Rows { columns: columns.collect(), group, first };
            first += batch.num_rows();
            each(rows)
        };
        match &self.source {
            Source::Parquet { metadata } => {
                let reader =
                    ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone());
                let roots = reader.parquet_schema().root_schema().get_fields().len();
                if sorted.last().is_some_and(|&last| last >= roots) {
                    return Err(unreadable(&self.path, &"its two schemas differ"));
                }
                let mask = ProjectionMask::roots(reader.parquet_schema(), sorted.iter().copied());
                let reader = reader
                    .with_row_groups(vec![group])
                    .with_projection(mask)
                    .with_batch_size(BATCH)
                    .build()
                    .map_err(|error| unreadable(&self.path, &error))?;
                for batch in reader {
                    hand_out(batch.map_err(|error| unreadable(&self.path, &error))?)?;
                }
            }
            Source::Arrow { batches, run } => {
                let first = group * run;
                let reader = FileReader::try_new(BufReader::new(file), Some(sorted.clone()));
                let mut reader = reader.map_err(|error| unreadable(&self.path, &error))?;
                reader.set_index(first).map_err(|error| unreadable(&self.path, &error))?;
                for batch in reader.take((*run).min(batches - first)) {
                    hand_out(batch.map_err(|error| unreadable(&self.path, &error))?)?;
                }
            }
        }
        Ok(())
    }

    /// The place of a row in the whole table, for an error message.
    pub(crate) fn place(&self, rows: &Rows, row: usize) -> Place {
        let before: u64 = match &self.source {
            Source::Parquet { metadata } => metadata.metadata().row_groups()[..rows.group]
                .iter()
                .map(|group| u64::try_from(group.num_rows()).unwrap_or(0))
                .sum(),
            Source::Arrow { run, .. } => self.arrow_rows_before(rows.group * run).unwrap_or(0),
        };
        Place::row(&self.path, before + (rows.first + row) as u64)
    }

    fn arrow_rows_before(&self, batch: usize) -> Option<u64> {
        let file = File::open(&self.path).ok()?;
        let reader = FileReader::try_new(BufReader::new(file), Some(vec![0])).ok()?;
        let counts = reader.take(batch).map(|batch| batch.map_or(0, |batch| batch.num_rows()));
        Some(counts.map(|count| count as u64).sum())
    }

    /// The user's error for a value of one of the chosen columns.
    pub(crate) fn bad_value(&self, rows: &Rows, column: usize, bad: &BadValue) -> Error {
        let name = self.schema.field(column).name();
        let problem = format!("column {name:?}: {}", bad.problem);
        Error::input(self.place(rows, bad.row), problem, bad.remedy)
    }
}
