//! Tables: what is understood, and what is refused with file, line, value and
//! remedy.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod columns;
#[path = "../imports/harness.rs"]
#[allow(dead_code)]
mod harness;
mod hostile;
mod meanings;
mod mutation;
mod regressions;
mod valid;

use std::path::{Path, PathBuf};

use harness::{Imported, import};
use subgcon::io::import::Table;

/// Files in a folder of their own.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Imports an edge table and perhaps a node table, given as text.
pub(crate) fn import_text(
    edges: &str,
    nodes: Option<&str>,
    more: Table,
) -> subgcon::Result<Imported> {
    let folder = Folder::new();
    let table = Table {
        edges: vec![folder.write("edges.csv", edges)],
        nodes: nodes.map(|nodes| folder.write("nodes.csv", nodes)),
        ..more
    };
    import(|store| table.import(store))
}

/// The message of a refused import, with the folder's name taken out.
pub(crate) fn refused(edges: &str, nodes: Option<&str>, more: Table) -> String {
    without_folder(&import_text(edges, nodes, more).err().expect("refused").to_string())
}

pub(crate) fn without_folder(message: &str) -> String {
    match message.find("edges.").into_iter().chain(message.find("nodes.")).min() {
        Some(start) => message[start..].to_owned(),
        None => message.to_owned(),
    }
}
