//! What is learnt, and what does it make of nodes?

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use numpy::PyArray1;
use numpy::ndarray::Ix1;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBytes};
use subgcon::config::{BlockSettings, FeatureSettings, Settings};
use subgcon::graph::{Adjacency, Features};
use subgcon::io::embeddings::{EmbeddingFormat, EmbeddingRows, EmbeddingWriter};
use subgcon::io::model::{read_model, write_model};
use subgcon::io::training::{Identity, TrainingFolder, Unfinished};
use subgcon::math::Matrix;
use subgcon::model::{self, Embedder, Likeness, Status};
use subgcon::progress::{Progress, Silent};
use subgcon::train::{Material, StepReport, Trainer};
use subgcon::transform::Transform;
use subgcon::{Error, Result};

use crate::arrays::{lend, matrix, places};
use crate::contexts::Contexts;
use crate::errors::wrong;
use crate::graph::Graph;
use crate::parts::Parts;
use crate::settings::{read, told};
use crate::watch::{Watch, run};
use crate::widths;

/// Nodes that are embedded together.
const BATCH: usize = 8192;

/// Between two notes on how training goes.
const NOTED: Duration = Duration::from_millis(100);

/// The files of a model folder.
const FILES: [&str; 2] = ["model.safetensors", "config.json"];

/// A trained model.
#[pyclass(frozen, module = "subgcon._native")]
#[derive(Clone)]
pub(crate) struct Model {
    model: Arc<model::Model>,
    names: Vec<String>,
}

/// Where a training is kept while it runs.
struct Keep {
    path: PathBuf,
    every: u64,
}

/// What training gives: the model, contexts, losses and retrievals of this run's steps, and
/// the step that it went on from.
struct Learnt {
    model: Model,
    contexts: Contexts,
    losses: Vec<f64>,
    retrievals: Vec<f64>,
    resumed_from: u64,
}

/// Learns from a graph. `settings` are JSON; `columns` is the width of an embedding.
#[pyfunction]
#[pyo3(signature = (graph, settings, columns = None, contexts = None, checkpoint = None, every = 50, jobs = None, show = None))]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
pub(crate) fn train<'py>(
    py: Python<'py>,
    graph: &Bound<'py, Graph>,
    settings: &str,
    columns: Option<usize>,
    contexts: Option<&Bound<'py, Contexts>>,
    checkpoint: Option<PathBuf>,
    every: u64,
    jobs: Option<usize>,
    show: Option<Py<PyAny>>,
) -> PyResult<(Model, Contexts, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, u64)> {
    let settings = read(settings)?;
    let parts = graph.get().parts.clone();
    let contexts = contexts.map(|contexts| contexts.get().clone());
    let keep = checkpoint.map(|path| Keep { path, every: every.max(1) });
    let learnt = run(py, jobs, show, move |watch| {
        learn(&parts, settings, columns, contexts, keep.as_ref(), watch)
    })?;
    let Learnt { model, contexts, losses, retrievals, resumed_from } = learnt;
    let (losses, retrievals) = (PyArray1::from_vec(py, losses), PyArray1::from_vec(py, retrievals));
    Ok((model, contexts, losses, retrievals, resumed_from))
}

/// By what it is told which blocks have no columns, where that may be.
fn light_blocks(
    settings: &Settings,
    adjacency: &Adjacency,
    features: &Features,
) -> Result<Option<Likeness>> {
    if !settings.output.iter().any(BlockSettings::needs_likeness) {
        return Ok(None);
    }
    let plain = FeatureSettings { projection: None, ..settings.features.clone() };
    let transform = Transform::fit(&plain, features, adjacency, settings.seed, &Silent)?;
    Ok(Some(Likeness::of(adjacency, features, &transform)))
}

fn how_it_goes(report: &StepReport) -> String {
    format!("loss {:.4} retrieval {:.3}", report.loss, report.retrieval)
}

fn learn(
    parts: &Parts,
    mut settings: Settings,
    columns: Option<usize>,
    contexts: Option<Contexts>,
    keep: Option<&Keep>,
    watch: &Watch,
) -> Result<Learnt> {
    let (features, names) = parts.inputs(&settings)?;
    let mut light = None;
    if let Some(columns) = columns {
        light = light_blocks(&settings, &parts.adjacency, &features)?;
        widths::share(&mut settings, light, columns, features.width())?;
    }
    let contexts = match contexts.filter(|given| given.fit(parts, &settings.contexts)) {
        Some(contexts) => contexts,
        None => Contexts::find(parts, &settings.contexts, watch)?,
    };
    let (adjacency, seed) = (&parts.adjacency, settings.seed);
    let transform = Transform::fit(&settings.features, &features, adjacency, seed, watch)?;
    if let Some(columns) = columns {
        let most_own = features.width().min(adjacency.nodes());
        widths::rest(&mut settings, light, columns, transform.output_width(), most_own)?;
    }
    settings.validate()?;
    let mut folder = match keep {
        None => None,
        Some(keep) => {
            let own = parts.features.as_ref();
            let identity = Identity::in_memory(&settings, parts.fingerprint(), own);
            Some(TrainingFolder::open(&keep.path, identity, Unfinished::Resume)?)
        }
    };
    let material = Material {
        adjacency,
        features: &features,
        contexts: &contexts.found,
        transform: &transform,
    };
    let state = match &mut folder {
        None => None,
        Some(folder) => folder.state(transform.output_width())?,
    };
    let resumed_from = state.as_ref().map_or(0, |state| state.step);
    let mut trainer = match state {
        Some(state) => Trainer::resume(&settings, material, state)?,
        None => Trainer::new(&settings, material)?,
    };
    watch.begin("training", settings.training.steps, "steps");
    watch.keeps(folder.is_some());
    watch.advance(resumed_from);
    let (mut losses, mut retrievals) = (Vec::new(), Vec::new());
    let mut noted: Option<Instant> = None;
    let mut last = None;
    loop {
        if watch.stopped() {
            if let Some(folder) = &mut folder {
                folder.checkpoint(&trainer.state())?;
            }
            watch.keeps(false);
            watch.go_on();
        }
        let Some(report) = trainer.advance()? else { break };
        if let (Some(folder), Some(keep)) = (&mut folder, keep) {
            folder.log(&report)?;
            let due = report.step.is_multiple_of(keep.every);
            if due && report.step < settings.training.steps {
                folder.checkpoint(&trainer.state())?;
            }
        }
        losses.push(report.loss);
        retrievals.push(report.retrieval);
        if !watch.stopped() {
            watch.advance(1);
        }
        if noted.is_none_or(|noted| noted.elapsed() > NOTED) {
            noted = Some(Instant::now());
            watch.note(&how_it_goes(&report));
        }
        last = Some(report);
    }
    if let Some(report) = &last {
        watch.note(&how_it_goes(report));
    }
    watch.end();
    watch.keeps(false);
    let trained = trainer.finish()?;
    let model = model::Model::new(&settings, trained, material, parts.fingerprint())?;
    if let (Some(folder), Some(keep)) = (folder, keep) {
        folder.finish(&keep.path, &model, &names, true)?;
    }
    let model = Model { model: Arc::new(model), names };
    Ok(Learnt { model, contexts, losses, retrievals, resumed_from })
}

/// Embeddings of some nodes with what is told of each.
struct Embedded {
    values: Vec<f32>,
    status: Vec<u8>,
    mass: Vec<f32>,
    sizes: Vec<u32>,
    contexts: Contexts,
}

fn status_of(byte: u8) -> Status {
    match byte {
        1 => Status::Isolated,
        2 => Status::NoFeatures,
        3 => Status::ShortContext,
        _ => Status::Ok,
    }
}

impl Model {
    fn check(&self, parts: &Parts, features: &Features, names: &[String]) -> Result<()> {
        self.model.transform.check(features)?;
        let named = !self.names.is_empty() && !names.is_empty();
        let mut pairs = self.names.iter().zip(names).enumerate();
        if let Some((column, (mine, theirs))) = pairs.find(|(_, (a, b))| named && a != b) {
            let value = format!("{theirs:?} as column {column}");
            let remedy = format!("the model was trained with {mine:?} there; give its columns");
            return Err(Error::setting("features", value, remedy));
        }
        let structural = self.model.settings.features.structural;
        if structural && self.model.provenance.graph != parts.fingerprint() {
            let remedy = "the model learnt from positions in another graph, which mean nothing \
                          in this one; fit one on this graph";
            return Err(Error::setting("structural", true, remedy));
        }
        Ok(())
    }

    fn embedded(
        &self,
        parts: &Parts,
        contexts: Option<Contexts>,
        nodes: Option<&[u32]>,
        watch: &Watch,
    ) -> Result<Embedded> {
        let model = &self.model;
        let (features, names) = parts.inputs(&model.settings)?;
        self.check(parts, &features, &names)?;
        let wanted = &model.settings.contexts;
        let contexts = match contexts.filter(|given| given.fit(parts, wanted)) {
            Some(contexts) => contexts,
            None => Contexts::find(parts, wanted, watch)?,
        };
        let adjacency = &parts.adjacency;
        let found = &contexts.found;
        let mut embedder = Embedder::new(model, adjacency, &features, found)?;
        let width = model.width();
        let (mut room, mut values) = (Vec::new(), Vec::new());
        let all: Vec<u32>;
        let nodes = match nodes {
            None => {
                let mut rows = Matrix::zeros(adjacency.nodes(), width);
                embedder.all(&mut rows, watch);
                values = rows.values;
                all = (0..adjacency.nodes() as u32).collect();
                &all
            }
            Some(nodes) => {
                values.resize(nodes.len() * width, 0.0);
                room.resize(embedder.room(), 0.0);
                embedder.prepare(&mut room, watch);
                watch.begin("embedding", nodes.len() as u64, "nodes");
                for (some, out) in nodes.chunks(BATCH).zip(values.chunks_mut(BATCH * width)) {
                    embedder.rows(some, out);
                    watch.advance(some.len() as u64);
                }
                watch.end();
                nodes
            }
        };
        if let Some(at) = values.iter().position(|x| !x.is_finite()) {
            let id = parts.ids.text(nodes[at / width]);
            let value = format!("{} in the embedding of node {id:?}", values[at]);
            return Err(Error::setting("features", value, "scale the features, or fit again"));
        }
        let status = nodes.iter().map(|&node| embedder.status(node) as u8).collect();
        let mass = nodes.iter().map(|&node| found.captured[node as usize]).collect();
        let sizes = nodes.iter().map(|&node| found.nodes(node as usize).len() as u32).collect();
        drop(embedder);
        Ok(Embedded { values, status, mass, sizes, contexts })
    }
}

#[pymethods]
impl Model {
    /// Embeddings of all nodes, or of some different ones by their numbers; statuses, context
    /// sizes and masses; the contexts.
    #[pyo3(signature = (graph, contexts = None, nodes = None, jobs = None, show = None))]
    #[allow(clippy::type_complexity)]
    fn embed<'py>(
        &self,
        py: Python<'py>,
        graph: &Bound<'py, Graph>,
        contexts: Option<&Bound<'py, Contexts>>,
        nodes: Option<&Bound<'py, PyAny>>,
        jobs: Option<usize>,
        show: Option<Py<PyAny>>,
    ) -> PyResult<(
        Bound<'py, PyAny>,
        Bound<'py, PyArray1<u8>>,
        Bound<'py, PyArray1<u32>>,
        Bound<'py, PyArray1<f32>>,
        Contexts,
    )> {
        let (model, parts) = (self.clone(), graph.get().parts.clone());
        let contexts = contexts.map(|contexts| contexts.get().clone());
        let nodes = nodes.map(places).transpose()?;
        let count = parts.adjacency.nodes();
        if let Some(&node) = nodes.iter().flat_map(|all| all.iter()).find(|&&n| n as usize >= count)
        {
            return Err(wrong(format!("node {node} is outside 0 to {}", count - 1)));
        }
        let made = run(py, jobs, show, move |watch| {
            model.embedded(&parts, contexts, nodes.as_deref(), watch)
        })?;
        let Embedded { values, status, mass, sizes, contexts } = made;
        let rows = status.len();
        let values = matrix(py, values, rows, self.model.width())?;
        let status = PyArray1::from_vec(py, status);
        let (sizes, mass) = (PyArray1::from_vec(py, sizes), PyArray1::from_vec(py, mass));
        Ok((values, status, sizes, mass, contexts))
    }

    /// Settings as JSON.
    #[getter]
    fn settings(&self) -> String {
        told(&self.model.settings)
    }

    /// Columns of an embedding.
    #[getter]
    fn width(&self) -> usize {
        self.model.width()
    }

    /// Widths of its blocks.
    #[getter]
    fn block_widths(&self) -> Vec<usize> {
        let blocks = self.model.settings.output.len();
        (0..blocks).map(|block| self.model.block_width(block)).collect()
    }

    /// Columns of the features that it takes.
    #[getter]
    fn feature_width(&self) -> usize {
        self.model.transform.width
    }

    /// Their names, where they have any.
    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// The step that its parameters are from.
    #[getter]
    fn step(&self) -> u64 {
        self.model.provenance.step
    }

    /// Writes a folder that the command reads.
    fn save(&self, py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<()> {
        let Model { model, names } = self.clone();
        run(py, None, None, move |_| write_model(&path, &model, &names, None, overwrite))
    }

    /// Reads a folder.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Model> {
        run(py, None, None, move |_| {
            let (model, config) = read_model(&path)?;
            Ok(Model { model: Arc::new(model), names: config.features.names })
        })
    }

    /// The files of its folder, for pickle.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("model");
        self.save(py, path.clone(), false)?;
        FILES.iter().map(|name| Ok(PyBytes::new(py, &fs::read(path.join(name))?))).collect()
    }

    /// From the files of a folder.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, files: Vec<Vec<u8>>) -> PyResult<Model> {
        let folder = tempfile::tempdir()?;
        for (name, bytes) in FILES.iter().zip(&files) {
            fs::write(folder.path().join(name), bytes)?;
        }
        Model::load(py, folder.path().to_path_buf())
    }

    /// Writes embeddings of all nodes of a graph as the command does.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)]
    fn write_embeddings(
        py: Python<'_>,
        path: PathBuf,
        graph: &Bound<'_, Graph>,
        values: &Bound<'_, PyAny>,
        status: &Bound<'_, PyAny>,
        sizes: &Bound<'_, PyAny>,
        mass: &Bound<'_, PyAny>,
        overwrite: bool,
    ) -> PyResult<()> {
        let parts = graph.get().parts.clone();
        let (values, shape) = lend::<f32, numpy::ndarray::Ix2>(values)?;
        let (status, _) = lend::<u8, Ix1>(status)?;
        let (sizes, _) = lend::<u32, Ix1>(sizes)?;
        let (mass, _) = lend::<f32, Ix1>(mass)?;
        let count = parts.adjacency.nodes();
        if [shape[0], status.len(), sizes.len(), mass.len()] != [count; 4] {
            return Err(wrong(format!("{} rows for {count} nodes", shape[0])));
        }
        let width = shape[1];
        run(py, None, None, move |watch| {
            let path: &Path = &path;
            let format = EmbeddingFormat::of_path(path)?;
            let rows = count as u64;
            let mut writer =
                EmbeddingWriter::create(path, format, &parts.ids, width, rows, overwrite)?;
            for first in (0..count).step_by(BATCH) {
                let some = first..count.min(first + BATCH);
                watch.go_on();
                writer.write(&EmbeddingRows {
                    nodes: &some.clone().map(|node| node as u32).collect::<Vec<u32>>(),
                    width,
                    values: &values[some.start * width..some.end * width],
                    status: &status[some.clone()].iter().map(|&s| status_of(s)).collect::<Vec<_>>(),
                    context_size: &sizes[some.clone()],
                    mass: &mass[some.clone()],
                })?;
            }
            writer.finish()
        })
    }
}
