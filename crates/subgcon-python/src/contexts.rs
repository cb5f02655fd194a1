//! Which nodes matter to a node?

use std::sync::Arc;

use numpy::ndarray::{Ix1, Ix2};
use pyo3::prelude::*;
use pyo3::types::PyAny;
use subgcon::context::{self, AdjacencyView, ContextSettings, Flags, NO_NODE, distances, sample};
use subgcon::io::contexts::ContextTable;
use subgcon::progress::Progress;

use crate::arrays::view;
use crate::errors::wrong;
use crate::graph::Graph;
use crate::parts::Parts;
use crate::settings::read;
use crate::watch::{Watch, run};

/// Contexts of all nodes of a graph.
#[pyclass(frozen, module = "subgcon._native")]
#[derive(Clone)]
pub(crate) struct Contexts {
    pub(crate) found: Arc<context::Contexts>,
    settings: Arc<ContextSettings>,
    parts: Parts,
}

impl Contexts {
    /// Those of the table beside the store, where the graph has one that can be written;
    /// in memory otherwise.
    pub(crate) fn find(
        parts: &Parts,
        settings: &ContextSettings,
        watch: &Watch,
    ) -> subgcon::Result<Contexts> {
        let made = |found| Contexts {
            found: Arc::new(found),
            settings: Arc::new(settings.clone()),
            parts: parts.clone(),
        };
        if let Some(store) = &parts.store {
            match ContextTable::sample(store, settings, watch) {
                Ok(table) => {
                    table.check_members()?;
                    return Ok(made(table.contexts));
                }
                // A store in a folder that only others may write to.
                Err(subgcon::Error::Io { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let adjacency = &parts.adjacency;
        let view = AdjacencyView::new(adjacency);
        let nodes: Vec<u32> = (0..adjacency.nodes() as u32).collect();
        watch.begin("sampling contexts", nodes.len() as u64, "nodes");
        let found = sample(&view, &nodes, settings, watch)?;
        watch.end();
        Ok(made(found))
    }

    /// Whether these are the contexts of this graph by these settings.
    pub(crate) fn fit(&self, parts: &Parts, settings: &ContextSettings) -> bool {
        *self.settings == *settings && self.parts.fingerprint() == parts.fingerprint()
    }
}

#[pymethods]
impl Contexts {
    /// Samples them; `settings` are whole settings as JSON.
    #[new]
    #[pyo3(signature = (graph, settings, jobs = None, show = None))]
    fn new(
        py: Python<'_>,
        graph: &Bound<'_, Graph>,
        settings: &str,
        jobs: Option<usize>,
        show: Option<Py<PyAny>>,
    ) -> PyResult<Contexts> {
        let settings = read(settings)?;
        let parts = graph.get().parts.clone();
        run(py, jobs, show, move |watch| Contexts::find(&parts, &settings.contexts, watch))
    }

    /// Places in a context.
    #[getter]
    fn size(&self) -> usize {
        self.found.size
    }

    /// (nodes, size): members, filled up with 2^32 - 1.
    fn nodes<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let found = &slf.get().found;
        view(slf.clone().into_any(), &found.nodes, Ix2(found.rows(), found.size))
    }

    /// (nodes, size): PageRank of members.
    fn pagerank<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let found = &slf.get().found;
        view(slf.clone().into_any(), &found.pagerank, Ix2(found.rows(), found.size))
    }

    /// (nodes): PageRank that contexts hold.
    fn captured<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let found = &slf.get().found;
        view(slf.clone().into_any(), &found.captured, Ix1(found.rows()))
    }

    /// (nodes): what is known of contexts, as bits.
    fn flags<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let found = &slf.get().found;
        view(slf.clone().into_any(), &found.flags, Ix1(found.rows()))
    }

    /// (nodes): members of each.
    fn sizes(&self) -> Vec<u32> {
        let members = self.found.nodes.chunks_exact(self.found.size);
        members
            .map(|row| row.iter().position(|&node| node == NO_NODE).unwrap_or(row.len()) as u32)
            .collect()
    }

    /// Members of one context: numbers, PageRank and distances (none beyond the ones looked
    /// at); then whether it is proven to be right.
    #[allow(clippy::type_complexity)]
    fn of(
        &self,
        py: Python<'_>,
        node: usize,
    ) -> PyResult<(Vec<u32>, Vec<f32>, Vec<Option<usize>>, bool)> {
        if node >= self.found.rows() {
            return Err(wrong(format!("node {node} is outside 0 to {}", self.found.rows() - 1)));
        }
        let members = self.found.nodes(node).to_vec();
        let hops = py.detach(|| distances(&AdjacencyView::new(&self.parts.adjacency), &members));
        let certified = self.found.flags(node).has(Flags::CERTIFIED);
        Ok((members, self.found.pagerank(node).to_vec(), hops, certified))
    }
}
