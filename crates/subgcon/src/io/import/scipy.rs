//! Which edges or features does a SciPy sparse matrix in `.npz` hold?
//!
//! As `scipy.sparse.save_npz` writes it: `format` (`csr`, `csc` or `coo`),
//! `shape`, `data` and either `indices` and `indptr` or `row` and `col`.

use super::source::check_claim;
use crate::error::{Error, Result, shown};
use crate::graph::EdgeList;
use crate::io::csr::Csr;
use crate::io::npz::{Archive, Orientation};
use crate::progress::Progress;

/// Whether the members look like a SciPy matrix.
pub(super) fn looks_like(archive: &Archive) -> bool {
    archive.has("shape") && (archive.has("format") || archive.has("indptr"))
}

fn format(archive: &mut Archive) -> Result<String> {
    match archive.has("format") {
        true => archive.member("format")?.text(),
        // Early versions of SciPy's users saved the parts of a CSR by hand.
        false => Ok("csr".into()),
    }
}

fn unsupported(archive: &Archive, format: &str) -> Error {
    Error::input(
        archive.place("format"),
        format!("the matrix has format {}", shown(format)),
        "csr, csc and coo are read; convert it with .tocsr() and save it again",
    )
}

/// Nodes and edges of an adjacency matrix.
pub(super) fn edges(archive: &mut Archive, progress: &dyn Progress) -> Result<(u32, EdgeList)> {
    match format(archive)?.as_str() {
        "csr" => archive.compressed_edges("", Orientation::Rows, progress),
        "csc" => archive.compressed_edges("", Orientation::Columns, progress),
        "coo" => {
            let (nodes, edges) = archive.coordinate_edges("", progress)?;
            check_claim(archive.place("shape"), "nodes", nodes.into(), edges.len())?;
            Ok((nodes, edges))
        }
        other => Err(unsupported(archive, other)),
    }
}

/// A matrix of features.
pub(super) fn features(archive: &mut Archive) -> Result<Csr> {
    match format(archive)?.as_str() {
        "csr" => archive.csr(""),
        "csc" => archive.csc(""),
        "coo" => archive.coo(""),
        other => Err(unsupported(archive, other)),
    }
}
