//! How do arrays become a graph, and a graph arrays?

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use numpy::PyArray1;
use numpy::ndarray::{Ix1, Ix2};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict};
use subgcon::graph::{
    Adjacency, Duplicates, EdgeChunk, EdgeList, EdgeRules, Features, Ids, Labels, MergeCounts,
    Role, Split, node_count,
};
use subgcon::io::store::{Origin, Store, StoreOptions, StoreWriter};
use subgcon::math::{Array, Sparse};

use crate::arrays::{lend, offsets, places, view};
use crate::errors::{raised, wrong};
use crate::ids::{Named, edges_between, told};
use crate::parts::Parts;
use crate::watch::run;

/// A graph that never changes.
#[pyclass(frozen, module = "subgcon._native")]
pub(crate) struct Graph {
    pub(crate) parts: Parts,
}

fn rules(directed: bool, duplicates: &str) -> PyResult<EdgeRules> {
    let duplicates = match duplicates {
        "largest" => Duplicates::Largest,
        "sum" => Duplicates::Sum,
        _ => {
            return Err(wrong(format!(
                "duplicates = {duplicates:?}: choose \"largest\" or \"sum\""
            )));
        }
    };
    Ok(EdgeRules { directed, duplicates })
}

#[pymethods]
impl Graph {
    /// A store, mapped.
    #[staticmethod]
    #[pyo3(signature = (path, keep_store = true))]
    fn open(py: Python<'_>, path: PathBuf, keep_store: bool) -> PyResult<Graph> {
        run(py, None, None, move |_| {
            let store = Store::open(&path)?;
            let manifest = store.manifest();
            let fingerprint = Arc::new(OnceLock::from(manifest.fingerprint.clone()));
            let dropped = &manifest.dropped;
            let parts = Parts {
                adjacency: store.adjacency()?.clone(),
                features: store.features()?.cloned(),
                names: manifest.features.as_ref().map_or(Vec::new(), |entry| entry.names.clone()),
                ids: Arc::new(store.ids()?.clone()),
                labels: store.labels()?.cloned(),
                splits: Arc::new(store.splits()?),
                counts: MergeCounts {
                    given: dropped.given,
                    self_loops: dropped.self_loops,
                    zero_weights: dropped.zero_weights,
                    duplicates: dropped.duplicates,
                    mirrored: dropped.mirrored,
                    arcs: manifest.arcs,
                },
                store: None,
                fingerprint,
            };
            Ok(Graph { parts: Parts { store: keep_store.then(|| Arc::new(store)), ..parts } })
        })
    }

    /// From a matrix by rows.
    #[staticmethod]
    #[pyo3(signature = (indptr, indices, data, directed = false, duplicates = "largest"))]
    fn from_rows(
        py: Python<'_>,
        indptr: &Bound<'_, PyAny>,
        indices: &Bound<'_, PyAny>,
        data: Option<&Bound<'_, PyAny>>,
        directed: bool,
        duplicates: &str,
    ) -> PyResult<Graph> {
        let rules = rules(directed, duplicates)?;
        let (offsets, neighbours) = (offsets(indptr)?, places(indices)?);
        let nodes = node_count(offsets.len().saturating_sub(1) as u64).map_err(raised)?;
        not_empty(nodes)?;
        let weights = data.map(|data| lend::<f32, Ix1>(data)).transpose()?.map(|(data, _)| data);
        if weights.as_ref().is_some_and(|weights| weights.len() != neighbours.len()) {
            return Err(wrong("a weight for each entry of the matrix"));
        }
        let (adjacency, counts) = run(py, None, None, move |watch| {
            Adjacency::from_rows(offsets, neighbours, weights, rules, watch)
        })?;
        Ok(Graph { parts: Parts::new(adjacency, Ids::Range(nodes), counts) })
    }

    /// From edges between node numbers below `nodes`.
    #[staticmethod]
    #[pyo3(signature = (nodes, sources, targets, weights, directed = false, duplicates = "largest"))]
    fn from_numbers(
        py: Python<'_>,
        nodes: u64,
        sources: &Bound<'_, PyAny>,
        targets: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
        directed: bool,
        duplicates: &str,
    ) -> PyResult<Graph> {
        let rules = rules(directed, duplicates)?;
        let (sources, targets) = (lend::<i64, Ix1>(sources)?.0, lend::<i64, Ix1>(targets)?.0);
        let weights = edge_weights(weights, sources.len(), targets.len())?;
        let count = node_count(nodes).map_err(raised)?;
        not_empty(count)?;
        let mut edges = EdgeList::new();
        let mut first = 0;
        while first < sources.len() {
            let last = sources.len().min(first + (1 << 20));
            let checked = |ends: &[i64]| -> PyResult<Vec<u32>> {
                let place = |(at, &end): (usize, &i64)| match u32::try_from(end) {
                    Ok(node) if node < count => Ok(node),
                    _ => Err(wrong(format!(
                        "edges, row {}: node {end} is outside 0 to {}; give as many rows of X as \
                         there are nodes, or num_nodes",
                        first + at,
                        i64::from(count) - 1
                    ))),
                };
                ends.iter().enumerate().map(place).collect()
            };
            edges.push(EdgeChunk {
                sources: checked(&sources[first..last])?,
                targets: checked(&targets[first..last])?,
                weights: weights.get(first..last).unwrap_or_default().to_vec(),
            });
            first = last;
        }
        let (adjacency, counts) =
            run(py, None, None, move |watch| Adjacency::from_edges(count, edges, rules, watch))?;
        Ok(Graph { parts: Parts::new(adjacency, Ids::Range(count), counts) })
    }

    /// From edges between ids.
    #[staticmethod]
    #[pyo3(signature = (ids, sources, targets, weights, directed = false, duplicates = "largest", create_missing = false))]
    #[allow(clippy::too_many_arguments)]
    fn from_ids(
        py: Python<'_>,
        ids: Option<&Bound<'_, PyAny>>,
        sources: &Bound<'_, PyAny>,
        targets: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
        directed: bool,
        duplicates: &str,
        create_missing: bool,
    ) -> PyResult<Graph> {
        let rules = rules(directed, duplicates)?;
        let (sources, targets) = (Named::of(sources)?, Named::of(targets)?);
        let weights = edge_weights(weights, sources.len(), targets.len())?;
        let known = ids.map(|ids| Named::of(ids)?.ids()).transpose()?;
        let (ids, edges, count) =
            edges_between(&sources, &targets, &weights, known, create_missing)?;
        not_empty(count as u32)?;
        let (adjacency, counts) = run(py, None, None, move |watch| {
            Adjacency::from_edges(count as u32, edges, rules, watch)
        })?;
        Ok(Graph { parts: Parts::new(adjacency, ids, counts) })
    }

    /// The same with other ids.
    fn with_ids(&self, ids: &Bound<'_, PyAny>) -> PyResult<Graph> {
        let ids = Named::of(ids)?.ids()?;
        self.of_all("ids", ids.len())?;
        Ok(Graph { parts: Parts { ids: Arc::new(ids), store: None, ..self.parts.clone() } })
    }

    /// The same with dense features.
    #[pyo3(signature = (values, names))]
    fn with_dense(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        names: Vec<String>,
    ) -> PyResult<Graph> {
        let (values, shape) = lend::<f32, Ix2>(values)?;
        self.of_all("feature rows", shape[0])?;
        let features = run(py, None, None, move |_| Features::from_dense(shape[1], values))?;
        Ok(self.with_features(features, names))
    }

    /// The same with sparse features.
    #[pyo3(signature = (indptr, indices, data, width, names))]
    fn with_sparse(
        &self,
        py: Python<'_>,
        indptr: &Bound<'_, PyAny>,
        indices: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        width: usize,
        names: Vec<String>,
    ) -> PyResult<Graph> {
        let (offsets, columns) = (offsets(indptr)?, places(indices)?);
        self.of_all("feature rows", offsets.len().saturating_sub(1))?;
        let (values, _) = lend::<f32, Ix1>(data)?;
        let given = Sparse { width, offsets, columns, values };
        let features = run(py, None, None, move |_| Features::from_rows(given))?;
        Ok(self.with_features(features, names))
    }

    /// The same with one class a node, -1 where there is none.
    fn with_classes(&self, classes: &Bound<'_, PyAny>, names: Vec<String>) -> PyResult<Graph> {
        let (classes, _) = lend::<i32, Ix1>(classes)?;
        self.of_all("labels", classes.len())?;
        let labels = Labels::Single { classes: classes.to_vec().into(), names };
        Ok(Graph { parts: Parts { labels: Some(labels), store: None, ..self.parts.clone() } })
    }

    /// The same with any number of classes a node.
    fn with_members(&self, members: &Bound<'_, PyAny>, names: Vec<String>) -> PyResult<Graph> {
        let (members, shape) = lend::<u8, Ix2>(members)?;
        self.of_all("labels", shape[0])?;
        let labels = Labels::Multi { members: members.to_vec().into(), names };
        Ok(Graph { parts: Parts { labels: Some(labels), store: None, ..self.parts.clone() } })
    }

    /// The same with splits: names, and a role for each node.
    fn with_splits(&self, splits: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<Graph> {
        let splits = splits.into_iter().map(|(name, roles)| {
            let (roles, _) = lend::<u8, Ix1>(&roles)?;
            self.of_all("roles", roles.len())?;
            if roles.iter().any(|&role| Role::from_byte(role).is_none()) {
                return Err(wrong(format!(
                    "split {name:?}: roles are 0 unused, 1 train, 2 validation and 3 test"
                )));
            }
            Ok(Split { name, roles: roles.to_vec() })
        });
        let splits = Arc::new(splits.collect::<PyResult<Vec<Split>>>()?);
        Ok(Graph { parts: Parts { splits, store: None, ..self.parts.clone() } })
    }

    #[getter]
    fn nodes(&self) -> usize {
        self.parts.adjacency.nodes()
    }

    #[getter]
    fn edges(&self) -> u64 {
        self.parts.adjacency.edges()
    }

    #[getter]
    fn directed(&self) -> bool {
        self.parts.adjacency.directed
    }

    #[getter]
    fn weighted(&self) -> bool {
        self.parts.adjacency.weights.is_some()
    }

    #[getter]
    fn feature_width(&self) -> Option<usize> {
        self.parts.features.as_ref().map(Features::width)
    }

    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.parts.names.clone()
    }

    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.parts.store.as_ref().map(|store| store.root().to_path_buf())
    }

    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> PyResult<String> {
        let parts = self.parts.clone();
        run(py, None, None, move |_| Ok(parts.fingerprint().to_owned()))
    }

    /// The manifest of its store as JSON, with the checksums of all arrays.
    #[getter]
    fn manifest(&self) -> PyResult<Option<String>> {
        let told = |store: &Arc<Store>| serde_json::to_string(store.manifest());
        self.parts.store.as_ref().map(told).transpose().map_err(|error| wrong(error.to_string()))
    }

    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        told(py, &self.parts.ids)
    }

    /// Whether ids are 0 to n - 1.
    #[getter]
    fn numbered(&self) -> bool {
        matches!(*self.parts.ids, Ids::Range(_))
    }

    /// What merging saw, dropped and added.
    #[getter]
    fn dropped<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = &self.parts.counts;
        let told = PyDict::new(py);
        for (name, count) in [
            ("given", counts.given),
            ("self_loops", counts.self_loops),
            ("duplicates", counts.duplicates),
            ("zero_weights", counts.zero_weights),
            ("mirrored", counts.mirrored),
        ] {
            told.set_item(name, count)?;
        }
        Ok(told)
    }

    /// Offsets, neighbours and weights.
    fn rows<'py>(slf: &Bound<'py, Self>) -> PyResult<[Option<Bound<'py, PyAny>>; 3]> {
        let owner = || slf.clone().into_any();
        let Adjacency { offsets, neighbours, weights, .. } = &slf.get().parts.adjacency;
        Ok([
            Some(view(owner(), offsets, Ix1(offsets.len()))?),
            Some(view(owner(), neighbours, Ix1(neighbours.len()))?),
            weights.as_ref().map(|w| view(owner(), w, Ix1(w.len()))).transpose()?,
        ])
    }

    /// The feature matrix where it is dense.
    fn dense<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &slf.get().parts.features {
            Some(Features::Dense { width, values }) => {
                let shape = Ix2(values.len() / width, *width);
                Ok(Some(view(slf.clone().into_any(), values, shape)?))
            }
            _ => Ok(None),
        }
    }

    /// Offsets, columns and values where it is sparse.
    fn sparse<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<[Bound<'py, PyAny>; 3]>> {
        let owner = || slf.clone().into_any();
        match &slf.get().parts.features {
            Some(Features::Sparse(Sparse { offsets, columns, values, .. })) => Ok(Some([
                view(owner(), offsets, Ix1(offsets.len()))?,
                view(owner(), columns, Ix1(columns.len()))?,
                view(owner(), values, Ix1(values.len()))?,
            ])),
            _ => Ok(None),
        }
    }

    /// Classes or members, and the names of the classes.
    fn labels<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<(Bound<'py, PyAny>, Vec<String>)>> {
        let owner = slf.clone().into_any();
        Ok(match &slf.get().parts.labels {
            None => None,
            Some(Labels::Single { classes, names }) => {
                Some((view(owner, classes, Ix1(classes.len()))?, names.clone()))
            }
            Some(Labels::Multi { members, names }) => {
                let shape = Ix2(members.len() / names.len().max(1), names.len());
                Some((view(owner, members, shape)?, names.clone()))
            }
        })
    }

    /// Names of splits with a role for each node.
    fn splits<'py>(&self, py: Python<'py>) -> Vec<(String, Bound<'py, PyArray1<u8>>)> {
        let told = |split: &Split| (split.name.clone(), PyArray1::from_slice(py, &split.roles));
        self.parts.splits.iter().map(told).collect()
    }

    /// Numbers of the nodes with these ids.
    fn numbers_of<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let index = self.parts.ids.index().map_err(|twice| wrong(format!("{twice:?}")))?;
        let nodes = Named::of(ids)?.nodes(&index)?;
        Ok(PyArray1::from_iter(py, nodes.into_iter().map(i64::from)))
    }

    /// Writes a store.
    #[pyo3(signature = (path, overwrite, jobs = None, show = None))]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        overwrite: bool,
        jobs: Option<usize>,
        show: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let parts = self.parts.clone();
        run(py, jobs, show, move |watch| {
            let adjacency = &parts.adjacency;
            let edges = EdgeRules { directed: adjacency.directed, ..EdgeRules::default() };
            let options = StoreOptions { edges, replace: overwrite, ..StoreOptions::default() };
            let mut writer = StoreWriter::create(&path, options, watch)?;
            writer.topology(&parts.ids, parts.edges())?;
            if let Some(features) = &parts.features {
                writer.features(features.width(), |sink| {
                    let written = match features {
                        Features::Dense { values, .. } => sink.dense(values),
                        Features::Sparse(matrix) => (0..matrix.rows()).try_for_each(|row| {
                            let (columns, values) = matrix.row(row);
                            sink.sparse(columns, values)
                        }),
                    };
                    written.map_err(|error| error.at(std::path::Path::new("features")))
                })?;
                if !parts.names.is_empty() {
                    writer.feature_names(parts.names.clone());
                }
            }
            if let Some(labels) = &parts.labels {
                writer.labels(labels)?;
            }
            writer.splits(&parts.splits)?;
            writer.finish(Origin::new("python", [""; 0])).map(drop)
        })
    }
}

impl Graph {
    fn with_features(&self, features: Features, names: Vec<String>) -> Graph {
        let features = Some(features);
        Graph { parts: Parts { features, names, store: None, ..self.parts.clone() } }
    }

    fn of_all(&self, what: &str, given: usize) -> PyResult<()> {
        match self.parts.adjacency.nodes() {
            nodes if nodes == given => Ok(()),
            nodes => Err(wrong(format!(
                "{given} {what} for a graph of {nodes} nodes; give one for each node, in their order"
            ))),
        }
    }
}

fn edge_weights(
    weights: Option<&Bound<'_, PyAny>>,
    sources: usize,
    targets: usize,
) -> PyResult<Array<f32>> {
    if sources != targets {
        return Err(wrong(format!("{sources} sources and {targets} targets; an edge has both")));
    }
    let weights = weights.map(|weights| lend::<f32, Ix1>(weights)).transpose()?;
    match weights {
        None => Ok(Vec::new().into()),
        Some((weights, _)) if weights.len() == sources => Ok(weights),
        Some((weights, _)) => {
            Err(wrong(format!("{} weights for {sources} edges; give one for each", weights.len())))
        }
    }
}

fn not_empty(nodes: u32) -> PyResult<()> {
    match nodes {
        0 => Err(wrong("the graph is empty: give at least one node")),
        _ => Ok(()),
    }
}
