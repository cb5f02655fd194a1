//! A feature matrix in a file of its own: `.npy`, or a SciPy sparse `.npz`.
//!
//! Row r belongs to node r.

use std::path::{Path, PathBuf};

use super::scipy;
use crate::error::{Error, Result};
use crate::io::csr::Csr;
use crate::io::npy::NpyReader;
use crate::io::npz::Archive;
use crate::io::store::StoreWriter;

/// A feature matrix whose shape is known and whose values are not read yet.
pub(crate) struct MatrixFile {
    path: PathBuf,
    pub(crate) rows: u64,
    pub(crate) width: usize,
    sparse: Option<Csr>,
}

impl MatrixFile {
    pub(crate) fn open(path: &Path) -> Result<MatrixFile> {
        let ends = |ending: &str| {
            path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(ending))
        };
        if ends("npy") {
            let (rows, width) = NpyReader::open(path)?.matrix()?;
            return Ok(MatrixFile { path: path.to_path_buf(), rows, width, sparse: None });
        }
        if ends("npz") {
            let matrix = scipy::features(&mut Archive::open(path)?)?;
            return Ok(MatrixFile {
                path: path.to_path_buf(),
                rows: matrix.rows() as u64,
                width: matrix.width,
                sparse: Some(matrix),
            });
        }
        Err(Error::input(
            path,
            "the name does not tell the format",
            "give features as .npy (numpy.save) or .npz (scipy.sparse.save_npz)",
        ))
    }

    /// Refuses a matrix that has not one row a node.
    pub(crate) fn check_rows(&self, nodes: u64) -> Result<()> {
        if self.rows == nodes {
            return Ok(());
        }
        Err(Error::input(
            &self.path,
            format!("{} feature rows for {nodes} nodes", self.rows),
            "give each node exactly one row, in the order of the nodes",
        ))
    }

    /// Writes the rows into a store.
    pub(crate) fn store(&self, store: &mut StoreWriter<'_>) -> Result<()> {
        let progress = store.progress();
        progress.begin("reading features", self.rows, "nodes");
        store.features(self.width, |sink| {
            if let Some(matrix) = &self.sparse {
                for row in 0..matrix.rows() {
                    let (columns, values) = matrix.row(row);
                    sink.sparse(columns, values).map_err(|error| error.at(&self.path))?;
                    progress.advance(1);
                }
                return Ok(());
            }
            NpyReader::open(&self.path)?.rows::<f32>(|rows| {
                progress.advance((rows.len() / self.width) as u64);
                sink.dense(rows).map_err(|error| error.at(&self.path))
            })
        })?;
        progress.end();
        Ok(())
    }
}
