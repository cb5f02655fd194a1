//! Feature rows on their way into a store.
//!
//! Rows arrive one after another, dense or sparse, and go to disk at once: the
//! matrix may be larger than memory. Which form they are kept in is decided by
//! their density when all have been seen; where that is the other form, the
//! rows are read back and written again.

use std::fs;
use std::path::{Path, PathBuf};

use super::manifest::{FeatureEntry, FeatureStorage};
use super::{DAMAGED, names};
use crate::error::{At, Error, Place, Result};
use crate::graph::Features;
use crate::io::array_file::{ArrayWriter, map_array};
use crate::math::{Array, Sparse};

/// Takes feature rows in the order of the nodes.
pub struct FeatureSink {
    folder: PathBuf,
    width: usize,
    rows: u64,
    nonzeros: u64,
    zero_rows: u64,
    form: Form,
    scratch: Scratch,
}

enum Form {
    Undecided,
    Dense(ArrayWriter<f32>),
    Sparse(SparseWriter),
}

#[derive(Default)]
struct Scratch {
    entries: Vec<(u32, f32)>,
    columns: Vec<u32>,
    values: Vec<f32>,
    row: Vec<f32>,
}

/// Why a row was refused. The importer knows the file: see [`FeatureError::at`].
#[derive(Debug)]
pub enum FeatureError {
    /// A value that is not a finite number.
    Value {
        /// Row, counted from 0.
        row: u64,
        /// Column, counted from 0.
        column: usize,
        /// The value.
        value: f32,
    },
    /// A column that the matrix does not have.
    Column {
        /// Row, counted from 0.
        row: u64,
        /// The column.
        column: u32,
        /// Number of columns.
        width: usize,
    },
    /// The row could not be written.
    Write(Error),
}

impl FeatureError {
    /// The error for the user. A place that names only a file gets the row added.
    pub fn at(self, place: impl Into<Place>) -> Error {
        let mut place = place.into();
        let (row, problem, remedy) = match self {
            FeatureError::Value { row, column, value } => (
                row,
                format!("feature {column} is {value}"),
                "features must be finite numbers: replace or remove it",
            ),
            FeatureError::Column { row, column, width } => (
                row,
                format!("feature column {column} is outside 0 to {}", width as i64 - 1),
                "mend the column numbers or the number of columns",
            ),
            FeatureError::Write(error) => return error,
        };
        if place.at == At::File {
            place.at = At::Row(row);
        }
        Error::input(place, problem, remedy)
    }
}

impl From<Error> for FeatureError {
    fn from(error: Error) -> FeatureError {
        FeatureError::Write(error)
    }
}

impl FeatureSink {
    pub(super) fn new(folder: &Path, width: usize) -> FeatureSink {
        FeatureSink {
            folder: folder.to_path_buf(),
            width,
            rows: 0,
            nonzeros: 0,
            zero_rows: 0,
            form: Form::Undecided,
            scratch: Scratch::default(),
        }
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// One or more whole rows, one after another.
    pub fn dense(&mut self, rows: &[f32]) -> Result<(), FeatureError> {
        assert_eq!(rows.len() % self.width, 0, "whole rows");
        if matches!(self.form, Form::Undecided) {
            let path = self.folder.join(names::FEATURES);
            self.form = Form::Dense(ArrayWriter::create(path)?);
        }
        for row in rows.chunks_exact(self.width) {
            if let Some(column) = row.iter().position(|x| !x.is_finite()) {
                return Err(FeatureError::Value { row: self.rows, column, value: row[column] });
            }
            let nonzeros = row.iter().filter(|&&x| x != 0.0).count();
            self.count_row(nonzeros);
            if let Form::Sparse(writer) = &mut self.form {
                writer.push_dense(row, &mut self.scratch)?;
            }
        }
        if let Form::Dense(writer) = &mut self.form {
            writer.write(rows)?;
        }
        Ok(())
    }

    /// One row. Columns in any order; repeats are added up, zeros left out.
    pub fn sparse(&mut self, columns: &[u32], values: &[f32]) -> Result<(), FeatureError> {
        assert_eq!(columns.len(), values.len(), "a value for each column");
        if matches!(self.form, Form::Undecided) {
            self.form = Form::Sparse(SparseWriter::create(&self.folder)?);
        }
        let row = self.rows;
        let Scratch { entries, .. } = &mut self.scratch;
        entries.clear();
        for (&column, &value) in columns.iter().zip(values) {
            if column as usize >= self.width {
                return Err(FeatureError::Column { row, column, width: self.width });
            }
            if !value.is_finite() {
                return Err(FeatureError::Value { row, column: column as usize, value });
            }
            entries.push((column, value));
        }
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            // Stable, so that repeats are added in the order in which they were given.
            entries.sort_by_key(|entry| entry.0);
            entries.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    kept.1 += next.1;
                }
                same
            });
        }
        entries.retain(|entry| entry.1 != 0.0);
        if let Some(&(column, value)) = entries.iter().find(|entry| !entry.1.is_finite()) {
            return Err(FeatureError::Value { row, column: column as usize, value });
        }
        let nonzeros = entries.len();
        match &mut self.form {
            Form::Sparse(writer) => writer.push_entries(&mut self.scratch)?,
            Form::Dense(writer) => {
                let Scratch { entries, row, .. } = &mut self.scratch;
                fill_dense(row, self.width, entries.iter().copied());
                writer.write(row)?;
            }
            Form::Undecided => {}
        }
        self.count_row(nonzeros);
        Ok(())
    }

    fn count_row(&mut self, nonzeros: usize) {
        self.rows += 1;
        self.nonzeros += nonzeros as u64;
        self.zero_rows += u64::from(nonzeros == 0);
    }

    /// Settles the form. Every node has a row by now.
    pub(super) fn finish(mut self) -> Result<FeatureEntry> {
        let cells = self.rows as f64 * self.width as f64;
        let sparse = (self.nonzeros as f64) < Features::SPARSE_BELOW * cells;
        let shape = [self.rows, self.width as u64];
        match std::mem::replace(&mut self.form, Form::Undecided) {
            Form::Undecided => unreachable!("a graph has at least one node, so a row was written"),
            Form::Dense(writer) => {
                writer.finish(&shape)?;
                if sparse {
                    self.rewrite_sparse(&shape)?;
                }
            }
            Form::Sparse(writer) => {
                writer.finish()?;
                if !sparse {
                    self.rewrite_dense(&shape)?;
                }
            }
        }
        Ok(FeatureEntry {
            storage: if sparse { FeatureStorage::Sparse } else { FeatureStorage::Dense },
            width: self.width as u64,
            nonzeros: self.nonzeros,
            zero_rows: self.zero_rows,
            names: Vec::new(),
        })
    }

    fn rewrite_sparse(&mut self, shape: &[u64]) -> Result<()> {
        let path = self.folder.join(names::FEATURES);
        let values: Array<f32> = map_array(&path, file_size(&path)?, shape, DAMAGED)?;
        let mut writer = SparseWriter::create(&self.folder)?;
        for row in values.chunks_exact(self.width) {
            writer.push_dense(row, &mut self.scratch)?;
        }
        writer.finish()?;
        drop(values);
        fs::remove_file(&path).map_err(Error::io("remove", &path))
    }

    fn rewrite_dense(&mut self, shape: &[u64]) -> Result<()> {
        let matrix = open_sparse(&self.folder, shape, self.nonzeros, |name| {
            file_size(&self.folder.join(name))
        })?;
        let mut writer = ArrayWriter::create(self.folder.join(names::FEATURES))?;
        for row in 0..matrix.rows() {
            let (columns, values) = matrix.row(row);
            let entries = columns.iter().copied().zip(values.iter().copied());
            fill_dense(&mut self.scratch.row, self.width, entries);
            writer.write(&self.scratch.row)?;
        }
        writer.finish(shape)?;
        drop(matrix);
        for name in [names::FEATURE_OFFSETS, names::FEATURE_COLUMNS, names::FEATURE_VALUES] {
            let path = self.folder.join(name);
            fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
        Ok(())
    }
}

fn file_size(path: &Path) -> Result<u64> {
    Ok(fs::metadata(path).map_err(Error::io("open", path))?.len())
}

fn fill_dense(row: &mut Vec<f32>, width: usize, entries: impl Iterator<Item = (u32, f32)>) {
    row.clear();
    row.resize(width, 0.0);
    entries.for_each(|(column, value)| row[column as usize] = value);
}

/// Maps the three arrays of sparse features; `bytes` tells each file's size.
pub(super) fn open_sparse(
    folder: &Path,
    shape: &[u64],
    nonzeros: u64,
    bytes: impl Fn(&str) -> Result<u64>,
) -> Result<Sparse> {
    use names::{FEATURE_COLUMNS, FEATURE_OFFSETS, FEATURE_VALUES};
    Ok(Sparse {
        width: shape[1] as usize,
        offsets: map_array(
            &folder.join(FEATURE_OFFSETS),
            bytes(FEATURE_OFFSETS)?,
            &[shape[0] + 1],
            DAMAGED,
        )?,
        columns: map_array(
            &folder.join(FEATURE_COLUMNS),
            bytes(FEATURE_COLUMNS)?,
            &[nonzeros],
            DAMAGED,
        )?,
        values: map_array(
            &folder.join(FEATURE_VALUES),
            bytes(FEATURE_VALUES)?,
            &[nonzeros],
            DAMAGED,
        )?,
    })
}

/// Rows on their way into the three arrays of sparse features.
struct SparseWriter {
    offsets: ArrayWriter<u64>,
    columns: ArrayWriter<u32>,
    values: ArrayWriter<f32>,
}

impl SparseWriter {
    fn create(folder: &Path) -> Result<SparseWriter> {
        let mut offsets = ArrayWriter::create(folder.join(names::FEATURE_OFFSETS))?;
        offsets.write(&[0])?;
        Ok(SparseWriter {
            offsets,
            columns: ArrayWriter::create(folder.join(names::FEATURE_COLUMNS))?,
            values: ArrayWriter::create(folder.join(names::FEATURE_VALUES))?,
        })
    }

    fn push_dense(&mut self, row: &[f32], scratch: &mut Scratch) -> Result<()> {
        let entries = row.iter().copied().enumerate().filter(|&(_, value)| value != 0.0);
        scratch.entries.clear();
        scratch.entries.extend(entries.map(|(column, value)| (column as u32, value)));
        self.push_entries(scratch)
    }

    /// Writes the row that lies in `scratch.entries`.
    fn push_entries(&mut self, scratch: &mut Scratch) -> Result<()> {
        let Scratch { entries, columns, values, .. } = scratch;
        columns.clear();
        values.clear();
        for &(column, value) in entries.iter() {
            columns.push(column);
            values.push(value);
        }
        self.columns.write(columns)?;
        self.values.write(values)?;
        self.offsets.write(&[self.columns.count()])
    }

    fn finish(self) -> Result<()> {
        let (rows, entries) = (self.offsets.count(), self.columns.count());
        self.offsets.finish(&[rows])?;
        self.columns.finish(&[entries])?;
        self.values.finish(&[entries])
    }
}
