//! What is a graph made of?

use std::sync::{Arc, OnceLock};

use subgcon::config::Settings;
use subgcon::graph::{
    Adjacency, EdgeChunk, EdgeList, Features, Ids, Labels, MergeCounts, Split, structural,
    structural_names,
};
use subgcon::io::store::{Manifest, Store};

/// Edges that are handed over together.
const CHUNK: usize = 1 << 20;

/// Nodes, edges and what is known of them. Cloning is free.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) adjacency: Adjacency,
    pub(crate) features: Option<Features>,
    pub(crate) names: Vec<String>,
    pub(crate) ids: Arc<Ids>,
    pub(crate) labels: Option<Labels>,
    pub(crate) splits: Arc<Vec<Split>>,
    pub(crate) counts: MergeCounts,
    /// Where it lies on disk, if it does.
    pub(crate) store: Option<Arc<Store>>,
    pub(crate) fingerprint: Arc<OnceLock<String>>,
}

impl Parts {
    pub(crate) fn new(adjacency: Adjacency, ids: Ids, counts: MergeCounts) -> Parts {
        Parts {
            adjacency,
            features: None,
            names: Vec::new(),
            ids: Arc::new(ids),
            labels: None,
            splits: Arc::default(),
            counts,
            store: None,
            fingerprint: Arc::default(),
        }
    }

    /// Names the structure, as the manifest of a store does.
    pub(crate) fn fingerprint(&self) -> &str {
        self.fingerprint.get_or_init(|| match &self.store {
            Some(store) => store.manifest().fingerprint.clone(),
            None => Manifest::fingerprint_of(&self.adjacency),
        })
    }

    /// What an encoder learns from, with the names of columns: features of the graph's own,
    /// or those made from its structure where the settings ask for them.
    pub(crate) fn inputs(&self, settings: &Settings) -> subgcon::Result<(Features, Vec<String>)> {
        let refuse =
            |value: &str, remedy: &str| Err(subgcon::Error::setting("features", value, remedy));
        match (&self.features, settings.features.structural) {
            (Some(own), false) => Ok((own.clone(), self.names.clone())),
            (None, true) => Ok((structural(&self.adjacency, settings.seed), structural_names())),
            (Some(_), true) => refuse(
                "structural",
                "the graph has features of its own; learn from them (structural=False), or give \
                 the graph without",
            ),
            (None, false) => refuse(
                "none",
                "the graph has no features, and an encoder learns from them; give X, or \
                 structural=True to learn from degrees and positions",
            ),
        }
    }

    /// Every edge once, as they go into a store.
    pub(crate) fn edges(&self) -> EdgeList {
        let (mut edges, mut chunk) = (EdgeList::new(), EdgeChunk::default());
        let weighted = self.adjacency.weights.is_some();
        for (node, other, weight) in self.adjacency.each_edge() {
            chunk.push(node, other);
            chunk.weights.extend(weighted.then_some(weight));
            if chunk.len() >= CHUNK {
                edges.push(std::mem::take(&mut chunk));
            }
        }
        edges.push(chunk);
        edges
    }
}
