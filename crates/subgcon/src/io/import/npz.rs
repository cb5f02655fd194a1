//! Which graph does a single `.npz` file hold?
//!
//! Three layouts are told apart by the names of their members:
//!
//! | layout | adjacency | features | classes | splits |
//! | --- | --- | --- | --- | --- |
//! | gnn-benchmark | CSR under `adj_` or `adj_matrix.` | CSR under `attr_` or `attr_matrix.`, or dense `attr_matrix` | `labels` | |
//! | heterophilous | `edges` (edges, 2) | `node_features` (nodes, width) | `node_labels` | `train_masks`, `val_masks`, `test_masks` (splits, nodes) |
//! | SciPy matrix | `format`, `shape`, `data`, … | | | |
//!
//! Features and classes may also lie in files beside the archive. Members with
//! other names are never decoded.

use std::io::Read;
use std::path::PathBuf;

use super::matrix::MatrixFile;
use super::scipy;
use super::source::{array_labels, check_width, dense_features, sparse_features};
use crate::error::{Error, Result};
use crate::graph::{EdgeChunk, EdgeList, Ids, MAX_NODES, Role, Split};
use crate::io::npy::NpyReader;
use crate::io::npz::{Archive, Orientation};
use crate::io::store::{Origin, StoreWriter};
use crate::progress::Progress;

/// Edges in a chunk.
const CHUNK: u64 = 1 << 20;

/// The masks of the heterophilous layout.
const MASKS: [(&str, Role); 3] =
    [("train_masks", Role::Train), ("val_masks", Role::Validation), ("test_masks", Role::Test)];

/// A graph in a `.npz` archive.
#[derive(Debug, Clone)]
pub struct Npz {
    /// The archive.
    pub file: PathBuf,
    /// Features beside it: `.npy`, or a SciPy sparse matrix in `.npz`.
    pub features: Option<PathBuf>,
    /// Classes beside it: `.npy` with one integer a node, or a row of noughts and ones.
    pub labels: Option<PathBuf>,
}

impl Npz {
    /// Reads the archive and hands its graph to the store.
    pub fn import(&self, store: &mut StoreWriter<'_>) -> Result<Origin> {
        let mut archive = Archive::open(&self.file)?;
        let layout = if let Some(prefix) = benchmark_prefix(&archive) {
            self.benchmark(store, &mut archive, prefix)?;
            "gnn-benchmark npz"
        } else if archive.has("edges") && archive.has("node_features") {
            self.heterophilous(store, &mut archive)?;
            "heterophilous npz"
        } else if scipy::looks_like(&archive) {
            let (nodes, edges) = scipy::edges(&mut archive, store.progress())?;
            store.topology(&Ids::Range(nodes), edges)?;
            self.beside(store, nodes as usize)?;
            "scipy npz"
        } else {
            return Err(Error::input(
                archive.path(),
                format!("has no graph in a known layout: it holds {}", archive.shown_names()),
                "gnn-benchmark (adj_data, …), heterophilous (edges, node_features, …) and SciPy \
                 sparse matrices are read",
            ));
        };
        let files = [Some(&self.file), self.features.as_ref(), self.labels.as_ref()];
        Ok(Origin::new(layout, files.into_iter().flatten()))
    }

    fn benchmark(
        &self,
        store: &mut StoreWriter<'_>,
        archive: &mut Archive,
        prefix: &str,
    ) -> Result<()> {
        let progress = store.progress();
        let (count, edges) = archive.compressed_edges(prefix, Orientation::Rows, progress)?;
        let nodes = count as usize;
        store.topology(&Ids::Range(count), edges)?;
        if self.features.is_none() {
            let sparse = ["attr_", "attr_matrix."]
                .into_iter()
                .find(|prefix| archive.has(&format!("{prefix}indptr")));
            if let Some(prefix) = sparse {
                let features = archive.csr(prefix)?;
                let place = archive.place(&format!("{prefix}data"));
                sparse_features(store, &place, &features, nodes)?;
            } else if archive.has("attr_matrix") {
                dense_features(store, archive.member("attr_matrix")?, nodes)?;
            }
        }
        if self.labels.is_none() && archive.has("labels") {
            store.labels(&array_labels(archive.member("labels")?, nodes)?)?;
        }
        self.beside(store, nodes)
    }

    fn heterophilous(&self, store: &mut StoreWriter<'_>, archive: &mut Archive) -> Result<()> {
        // The features say how many nodes there are, also where others beside
        // the archive are taken.
        let (rows, width) = archive.member("node_features")?.matrix()?;
        check_width(&archive.place("node_features"), width)?;
        if rows > MAX_NODES {
            return Err(Error::input(
                archive.place("node_features"),
                format!("has {rows} rows"),
                "a graph holds at most 2^32 - 2 nodes; split it",
            ));
        }
        let (count, nodes) = (rows as u32, rows as usize);
        let edges = pairs(archive.member("edges")?, count, store.progress())?;
        store.topology(&Ids::Range(count), edges)?;
        if self.features.is_none() {
            dense_features(store, archive.member("node_features")?, nodes)?;
        }
        if self.labels.is_none() && archive.has("node_labels") {
            store.labels(&array_labels(archive.member("node_labels")?, nodes)?)?;
        }
        if MASKS.iter().any(|(name, _)| archive.has(name)) {
            store.splits(&masks(archive, nodes)?)?;
        }
        self.beside(store, nodes)
    }

    /// Features and classes from files beside the archive.
    fn beside(&self, store: &mut StoreWriter<'_>, nodes: usize) -> Result<()> {
        if let Some(path) = &self.features {
            let matrix = MatrixFile::open(path)?;
            matrix.check_rows(nodes as u64)?;
            matrix.store(store)?;
        }
        if let Some(path) = &self.labels {
            store.labels(&array_labels(NpyReader::open(path)?, nodes)?)?;
        }
        Ok(())
    }
}

fn benchmark_prefix(archive: &Archive) -> Option<&'static str> {
    ["adj_", "adj_matrix."].into_iter().find(|prefix| archive.has(&format!("{prefix}indptr")))
}

/// Edges from an (edges, 2) array of node numbers.
fn pairs<R: Read>(
    mut reader: NpyReader<R>,
    nodes: u32,
    progress: &dyn Progress,
) -> Result<EdgeList> {
    let (count, width) = reader.matrix()?;
    if width != 2 {
        return Err(reader.refuse(
            format!("has shape {} but an edge has two ends", reader.header().shown_shape()),
            "save the edges as (edges, 2)",
        ));
    }
    let check = |reader: &NpyReader<R>, edge: u64, node: u32| match node < nodes {
        true => Ok(node),
        false => Err(reader.refuse(
            format!("edge {edge} has node {node} but there are {nodes} nodes"),
            "node numbers begin at 0 and end below the rows of node_features",
        )),
    };
    let mut edges = EdgeList::new();
    let (mut ends, mut done) = (Vec::<u32>::new(), 0);
    progress.begin("reading edges", count, "edges");
    // In column order all sources come before all targets.
    if reader.header().fortran && count > 1 {
        let mut chunk = EdgeChunk::default();
        reader.read(&mut chunk.sources, count)?;
        reader.read(&mut chunk.targets, count)?;
        for (edge, &node) in chunk.sources.iter().enumerate() {
            check(&reader, edge as u64, node)?;
            check(&reader, edge as u64, chunk.targets[edge])?;
        }
        edges.push(chunk);
        progress.advance(count);
        progress.end();
        return Ok(edges);
    }
    while done < count {
        ends.clear();
        reader.read(&mut ends, 2 * CHUNK)?;
        let mut chunk = EdgeChunk::default();
        for pair in ends.chunks_exact(2) {
            chunk.push(check(&reader, done, pair[0])?, check(&reader, done, pair[1])?);
            done += 1;
        }
        progress.advance(chunk.len() as u64);
        edges.push(chunk);
    }
    progress.end();
    Ok(edges)
}

/// Splits from masks, named by their number.
fn masks(archive: &mut Archive, nodes: usize) -> Result<Vec<Split>> {
    let mut splits: Vec<Split> = Vec::new();
    for (name, role) in MASKS {
        let member = archive.member(name)?;
        let (count, width) = member.matrix()?;
        let first = role == Role::Train;
        if width != nodes || (!first && count != splits.len() as u64) {
            return Err(member.refuse(
                format!("has shape {} for {nodes} nodes", member.header().shown_shape()),
                "the three masks need one row a split and one column a node",
            ));
        }
        let place = member.place().clone();
        let bits = member.all::<bool>()?;
        if first {
            splits = (0..bits.len() / nodes.max(1))
                .map(|number| Split::unused(number.to_string(), nodes))
                .collect();
        }
        for (split, bits) in splits.iter_mut().zip(bits.chunks_exact(nodes.max(1))) {
            for node in (0..nodes).filter(|&node| bits[node]) {
                split.assign(node, role).map_err(|old| {
                    Error::input(
                        place.clone(),
                        format!(
                            "node {node} is in {} and in {} of split {}",
                            old.name(),
                            role.name(),
                            split.name
                        ),
                        "the masks of a split must not overlap",
                    )
                })?;
            }
        }
    }
    Ok(splits)
}
