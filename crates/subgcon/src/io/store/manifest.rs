//! What a store says of itself: `manifest.json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::array_file::{ArrayEntry, checksum_of};
use super::super::kind::kind_of;
use super::names;
use crate::error::{Error, Result};
use crate::graph::{Adjacency, MAX_NODES};

/// The version of the format that this program writes, and the newest it reads.
pub const VERSION: u32 = 1;

const FORMAT: &str = "subgcon-graph";

/// The manifest: counts, checksums and where the graph came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Always "subgcon-graph".
    pub format: String,
    /// See [`VERSION`].
    pub version: u32,
    /// The program that wrote it.
    pub written_by: String,
    /// Number of nodes.
    pub nodes: u64,
    /// Pairs of connected nodes; arcs of a directed graph.
    pub edges: u64,
    /// Entries of `neighbours.npy`.
    pub arcs: u64,
    /// Whether arcs go one way.
    pub directed: bool,
    /// Whether there is a `weights.npy`.
    pub weighted: bool,
    /// Names the graph's structure: the same nodes, arcs and weights have the
    /// same fingerprint, wherever they came from.
    pub fingerprint: String,
    /// The user's ids.
    pub ids: IdEntry,
    /// Features, where there are any.
    pub features: Option<FeatureEntry>,
    /// Labels, where there are any.
    pub labels: Option<LabelEntry>,
    /// Splits, in the order of the rows of `splits.npy`.
    pub splits: Vec<SplitEntry>,
    /// What was left out of the graph or added to it on the way in.
    pub dropped: Dropped,
    /// Where it came from.
    pub origin: Origin,
    /// Every file of the store but this one.
    pub arrays: BTreeMap<String, ArrayEntry>,
}

/// The kind of the user's ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdKind {
    /// 64-bit integers.
    Integer,
    /// Texts.
    String,
}

/// The user's ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdEntry {
    /// Integers or texts.
    pub kind: IdKind,
    /// Whether each id is its node's number.
    pub contiguous: bool,
}

/// How features are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureStorage {
    /// `features.npy`.
    Dense,
    /// `feature_offsets.npy`, `feature_columns.npy`, `feature_values.npy`.
    Sparse,
}

/// The features.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureEntry {
    /// Dense or sparse.
    pub storage: FeatureStorage,
    /// Number of columns.
    pub width: u64,
    /// Entries that are not zero.
    pub nonzeros: u64,
    /// Nodes whose entries are all zero.
    pub zero_rows: u64,
    /// The user's names of the columns; empty where they have none.
    #[serde(default)]
    pub names: Vec<String>,
}

/// How labels are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelKind {
    /// One class a node, -1 for none.
    Single,
    /// Any number of classes a node.
    Multi,
}

/// The labels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelEntry {
    /// Single or multi-label.
    pub kind: LabelKind,
    /// Number of classes.
    pub classes: u64,
    /// Nodes with a label.
    pub labelled: u64,
    /// The user's names of the classes.
    pub names: Vec<String>,
    /// Nodes in each class.
    pub sizes: Vec<u64>,
}

/// One split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitEntry {
    /// How the source calls it.
    pub name: String,
    /// Nodes for training.
    pub train: u64,
    /// Nodes for validation.
    pub validation: u64,
    /// Nodes for test.
    pub test: u64,
}

/// What import left out or added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dropped {
    /// Edges as they were given, before anything was dropped.
    pub given: u64,
    /// Edges from a node to itself, dropped.
    pub self_loops: u64,
    /// Edges given again in the same direction, dropped (or added up).
    pub duplicates: u64,
    /// Edges of weight zero, dropped.
    pub zero_weights: u64,
    /// Arcs added so that every edge goes both ways.
    pub mirrored: u64,
    /// Nodes that only edges name, created on request.
    pub created_nodes: u64,
}

/// Where a graph came from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The importer or generator.
    pub format: String,
    /// The files it read, without their folders.
    pub files: Vec<String>,
    /// Settings that shaped the result, by name.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
}

impl Origin {
    /// An origin with the names of its files.
    pub fn new<P: AsRef<Path>>(format: &str, files: impl IntoIterator<Item = P>) -> Origin {
        let name =
            |path: P| path.as_ref().file_name().unwrap_or_default().to_string_lossy().into_owned();
        Origin {
            format: format.to_owned(),
            files: files.into_iter().map(name).collect(),
            settings: BTreeMap::new(),
        }
    }
}

impl Manifest {
    /// The manifest's own constants.
    pub(super) fn header() -> (String, u32, String) {
        (FORMAT.into(), VERSION, format!("subgcon {}", env!("CARGO_PKG_VERSION")))
    }

    /// Names a structure by the checksums of the files that hold it.
    pub(super) fn structure_fingerprint(
        nodes: u64,
        directed: bool,
        arrays: &BTreeMap<String, ArrayEntry>,
    ) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"subgcon structure 1\n");
        hasher.update(&nodes.to_le_bytes());
        hasher.update(&[u8::from(directed)]);
        for name in [names::OFFSETS, names::NEIGHBOURS, names::WEIGHTS] {
            hasher.update(arrays.get(name).map_or("-", |entry| &entry.blake3).as_bytes());
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }

    /// The fingerprint that a store of this graph would have.
    pub fn fingerprint_of(adjacency: &Adjacency) -> String {
        let (nodes, arcs) = (adjacency.nodes() as u64, adjacency.arcs());
        let mut arrays = BTreeMap::new();
        let offsets = checksum_of(&adjacency.offsets, &[nodes + 1]);
        arrays.insert(names::OFFSETS.to_owned(), offsets);
        let neighbours = checksum_of(&adjacency.neighbours, &[arcs]);
        arrays.insert(names::NEIGHBOURS.to_owned(), neighbours);
        if let Some(weights) = &adjacency.weights {
            arrays.insert(names::WEIGHTS.to_owned(), checksum_of(weights, &[arcs]));
        }
        Manifest::structure_fingerprint(nodes, adjacency.directed, &arrays)
    }

    /// Whether a folder (not a link to one) says that it is a store, of whatever
    /// version and in whatever condition.
    pub(super) fn is_store(root: &Path) -> bool {
        let folder = root.symlink_metadata().is_ok_and(|entry| entry.is_dir());
        let manifest = fs::read(root.join(names::MANIFEST)).unwrap_or_default();
        folder && memchr::memmem::find(&manifest, FORMAT.as_bytes()).is_some()
    }

    /// Reads and checks the manifest of a store.
    pub(super) fn read(root: &Path) -> Result<Manifest> {
        let path = root.join(names::MANIFEST);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(_) if root.is_dir() => {
                let problem = match kind_of(root) {
                    Some(kind) => format!("is {kind}, not a graph store"),
                    None => "not a graph store: it has no manifest.json".into(),
                };
                let remedy = "name a folder made by `subgcon import` or `subgcon generate`";
                return Err(Error::store(root, problem, remedy));
            }
            Err(source) => return Err(Error::io("open the graph store", root)(source)),
        };
        let damaged = |problem: String| {
            Error::store(&path, problem, "the store is damaged: import the graph again")
        };
        // The version comes first: a newer manifest may have any shape.
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u64,
        }
        let head: Head =
            serde_json::from_slice(&text).map_err(|e| damaged(format!("cannot be read: {e}")))?;
        if head.format != FORMAT {
            let problem = match kind_of(root) {
                Some(kind) => format!("is that of {kind}"),
                None => format!("says its format is {:?}", head.format),
            };
            return Err(Error::store(&path, problem, format!("a graph store says {FORMAT:?}")));
        }
        if head.version > VERSION.into() {
            return Err(Error::store(
                &path,
                format!("has format version {}, this program reads up to {VERSION}", head.version),
                "install a newer subgcon, or import the graph again with this one",
            ));
        }
        let manifest: Manifest =
            serde_json::from_slice(&text).map_err(|e| damaged(format!("cannot be read: {e}")))?;
        let widest = manifest.features.as_ref().map_or(0, |entry| entry.width);
        if manifest.version == 0 || widest > MAX_NODES || manifest.arcs > u64::MAX / 16 {
            return Err(damaged("claims what no store has".into()));
        }
        let mut sizes = manifest.arrays.values().map(|entry| entry.bytes);
        if sizes.try_fold(0u64, u64::checked_add).is_none() {
            return Err(damaged("claims files of more than 2^64 bytes".into()));
        }
        if manifest.nodes == 0 || manifest.nodes > MAX_NODES {
            return Err(damaged(format!("claims {} nodes", manifest.nodes)));
        }
        if let Some(name) = manifest.arrays.keys().find(|name| name.contains(['/', '\\'])) {
            return Err(damaged(format!("names a file outside the store: {name:?}")));
        }
        Ok(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Store, StoreOptions, StoreWriter};
    use super::*;
    use crate::graph::{EdgeChunk, EdgeList, EdgeRules, Ids};
    use crate::progress::Silent;

    #[test]
    fn a_graph_in_memory_has_the_fingerprint_of_its_store() {
        let folder = tempfile::tempdir().unwrap();
        for (at, weights) in [vec![], vec![1.5, 2.0]].into_iter().enumerate() {
            for directed in [false, true] {
                let rules = EdgeRules { directed, ..EdgeRules::default() };
                let options = StoreOptions { edges: rules, ..StoreOptions::default() };
                let path = folder.path().join(format!("{at}{directed}.graph"));
                let mut edges = EdgeList::new();
                let (sources, targets) = (vec![0, 2], vec![1, 1]);
                edges.push(EdgeChunk { sources, targets, weights: weights.clone() });
                let mut writer = StoreWriter::create(&path, options, &Silent).unwrap();
                writer.topology(&Ids::Range(4), edges.clone()).unwrap();
                writer.finish(Origin::default()).unwrap();
                let stored = Store::open(&path).unwrap().manifest().fingerprint.clone();
                let (graph, _) = Adjacency::from_edges(4, edges, rules, &Silent).unwrap();
                assert_eq!(Manifest::fingerprint_of(&graph), stored);
            }
        }
    }
}
