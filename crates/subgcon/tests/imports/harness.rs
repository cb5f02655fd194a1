//! What an importer handed over, in a form that tests can compare.
//!
//! The only file of these tests that knows how a store is written and read.

use std::collections::BTreeSet;

use subgcon::error::Result;
use subgcon::graph::{EdgeRules, Features, Ids, Labels, Split};
use subgcon::io::store::{Dropped, Origin, Store, StoreOptions, StoreWriter};
use subgcon::progress::{Progress, Silent};

pub(crate) struct Imported {
    pub(crate) origin: Origin,
    pub(crate) ids: Ids,
    pub(crate) dropped: Dropped,
    /// Arcs in the direction in which they were given, in the order of their nodes.
    pub(crate) arcs: Vec<(u32, u32)>,
    /// Empty in an unweighted graph.
    pub(crate) weights: Vec<f32>,
    pub(crate) width: usize,
    /// Columns and values that are not zero, row by row.
    pub(crate) rows: Vec<Vec<(u32, f32)>>,
    pub(crate) labels: Option<Labels>,
    pub(crate) splits: Vec<Split>,
}

/// Runs an importer into a fresh store that keeps directions, checks every
/// invariant of it and reads it back. Nothing is left where the importer fails.
pub(crate) fn import(run: impl FnOnce(&mut StoreWriter<'_>) -> Result<Origin>) -> Result<Imported> {
    watched(run, &Silent)
}

/// The same under someone's eyes.
pub(crate) fn watched(
    run: impl FnOnce(&mut StoreWriter<'_>) -> Result<Origin>,
    progress: &dyn Progress,
) -> Result<Imported> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.graph");
    let edges = EdgeRules { directed: true, ..EdgeRules::default() };
    let options = StoreOptions { edges, ..StoreOptions::default() };
    let mut writer = StoreWriter::create(&path, options, progress)?;
    let run = run(&mut writer).and_then(|origin| writer.finish(origin));
    if let Err(error) = run {
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
        return Err(error);
    }
    let store = Store::open(&path)?;
    store.verify(&Silent)?;
    let adjacency = store.adjacency()?;
    let nodes = 0..adjacency.nodes() as u32;
    let arcs =
        nodes.clone().flat_map(|node| adjacency.neighbours(node).iter().map(move |&o| (node, o)));
    let features = store.features()?;
    let row = |node: usize| -> Vec<(u32, f32)> {
        match features {
            None => Vec::new(),
            Some(Features::Sparse(matrix)) => {
                let (columns, values) = matrix.row(node);
                columns.iter().copied().zip(values.iter().copied()).collect()
            }
            Some(Features::Dense { width, values }) => {
                let row = values[node * width..(node + 1) * width].iter().copied().enumerate();
                row.filter(|x| x.1 != 0.0).map(|(column, value)| (column as u32, value)).collect()
            }
        }
    };
    Ok(Imported {
        origin: store.manifest().origin.clone(),
        ids: store.ids()?.clone(),
        dropped: store.manifest().dropped.clone(),
        arcs: arcs.collect(),
        weights: adjacency.weights.as_ref().map(|w| w.to_vec()).unwrap_or_default(),
        width: features.map_or(0, Features::width),
        rows: nodes.map(|node| row(node as usize)).collect(),
        labels: store.labels()?.cloned(),
        splits: store.splits()?,
    })
}

impl Imported {
    /// Unordered pairs of different nodes.
    pub(crate) fn pairs(&self) -> BTreeSet<(u32, u32)> {
        self.arcs.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect()
    }

    pub(crate) fn nonzeros(&self) -> usize {
        self.rows.iter().map(Vec::len).sum()
    }

    /// The class of each node, -1 for none; only of single labels.
    pub(crate) fn classes(&self) -> Vec<i32> {
        match &self.labels {
            Some(Labels::Single { classes, .. }) => classes.to_vec(),
            other => panic!("single labels, not {other:?}"),
        }
    }

    /// Class membership, row by row; only of multiple labels.
    pub(crate) fn members(&self) -> Vec<u8> {
        match &self.labels {
            Some(Labels::Multi { members, .. }) => members.to_vec(),
            other => panic!("multiple labels, not {other:?}"),
        }
    }

    pub(crate) fn class_names(&self) -> Vec<String> {
        self.labels.as_ref().map(|labels| labels.names().to_vec()).unwrap_or_default()
    }
}
