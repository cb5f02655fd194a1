//! How do other programs' files and made-up graphs become stores?

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyAny;
use serde::Deserialize;
use subgcon::graph::generate::{Communities, FeatureKind, PowerLaw};
use subgcon::graph::{Duplicates, EdgeRules};
use subgcon::io::import::{GraphSage, GraphSaint, Musae, Npz, Ogb, Planetoid, Table};
use subgcon::io::store::{StoreOptions, StoreWriter};

use crate::errors::wrong;
use crate::watch::run;

/// How edges are taken.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edges {
    directed: bool,
    unweighted: bool,
    sum: bool,
}

/// Files of one format.
#[derive(Deserialize)]
#[serde(tag = "format", rename_all = "kebab-case", deny_unknown_fields)]
enum Files {
    Table {
        edges: Vec<PathBuf>,
        nodes: Option<PathBuf>,
        features: Option<PathBuf>,
        node_count: Option<u64>,
        source_column: Option<String>,
        target_column: Option<String>,
        weight_column: Option<String>,
        id_column: Option<String>,
        label_column: Option<String>,
        split_column: Option<String>,
        feature_columns: Vec<String>,
        no_features: bool,
        create_missing: bool,
        delimiter: Option<char>,
        no_header: bool,
        comment: Option<char>,
    },
    Planetoid {
        dir: PathBuf,
        name: String,
    },
    Graphsaint {
        dir: PathBuf,
    },
    Graphsage {
        prefix: PathBuf,
    },
    Npz {
        file: PathBuf,
        features: Option<PathBuf>,
        labels: Option<PathBuf>,
    },
    Ogb {
        dir: PathBuf,
    },
    Musae {
        dir: PathBuf,
        label_column: Option<String>,
    },
}

/// Graphs that are made up.
#[derive(Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case", deny_unknown_fields)]
enum MadeUp {
    Communities {
        nodes: u64,
        edges: u64,
        classes: u64,
        mixing: f64,
        degree_exponent: f64,
        feature_width: usize,
        dense: bool,
        features_per_node: usize,
        feature_noise: f64,
        splits: usize,
        train_per_class: u64,
        validation_per_class: u64,
        seed: u64,
    },
    Powerlaw {
        nodes: u64,
        edges: u64,
        quadrants: [f64; 4],
        seed: u64,
    },
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| wrong(error.to_string()))
}

fn byte(character: Option<char>) -> PyResult<Option<u8>> {
    let byte = |c: char| u8::try_from(c).map_err(|_| wrong(format!("{c:?} is no ASCII character")));
    character.map(byte).transpose()
}

/// Imports files into a store; `files` and `edges` are JSON.
#[pyfunction]
#[pyo3(signature = (files, edges, output, overwrite, jobs = None, show = None))]
pub(crate) fn import_files(
    py: Python<'_>,
    files: &str,
    edges: &str,
    output: PathBuf,
    overwrite: bool,
    jobs: Option<usize>,
    show: Option<Py<PyAny>>,
) -> PyResult<()> {
    let Edges { directed, unweighted, sum } = read(edges)?;
    let duplicates = if sum { Duplicates::Sum } else { Duplicates::Largest };
    let edges = EdgeRules { directed, duplicates };
    let options = StoreOptions { edges, unweighted, replace: overwrite };
    let files: Files = read(files)?;
    let (delimiter, comment) = match &files {
        Files::Table { delimiter, comment, .. } => (byte(*delimiter)?, byte(*comment)?),
        _ => (None, None),
    };
    run(py, jobs, show, move |watch| {
        let mut store = StoreWriter::create(&output, options, watch)?;
        let origin = match files {
            Files::Table {
                edges,
                nodes,
                features,
                node_count,
                source_column,
                target_column,
                weight_column,
                id_column,
                label_column,
                split_column,
                feature_columns,
                no_features,
                create_missing,
                no_header,
                ..
            } => {
                let table = Table {
                    edges,
                    nodes,
                    features,
                    node_count,
                    source_column,
                    target_column,
                    weight_column,
                    id_column,
                    label_column,
                    split_column,
                    feature_columns,
                    no_features,
                    create_missing,
                    delimiter,
                    no_header,
                    comment,
                };
                table.import(&mut store)?
            }
            Files::Planetoid { dir, name } => Planetoid { dir, name }.import(&mut store)?,
            Files::Graphsaint { dir } => GraphSaint { dir }.import(&mut store)?,
            Files::Graphsage { prefix } => GraphSage { prefix }.import(&mut store)?,
            Files::Npz { file, features, labels } => {
                Npz { file, features, labels }.import(&mut store)?
            }
            Files::Ogb { dir } => Ogb { dir }.import(&mut store)?,
            Files::Musae { dir, label_column } => Musae { dir, label_column }.import(&mut store)?,
        };
        store.finish(origin).map(drop)
    })
}

/// Makes a graph up, into a store; `model` is JSON.
#[pyfunction]
#[pyo3(signature = (model, output, overwrite, jobs = None, show = None))]
pub(crate) fn generate(
    py: Python<'_>,
    model: &str,
    output: PathBuf,
    overwrite: bool,
    jobs: Option<usize>,
    show: Option<Py<PyAny>>,
) -> PyResult<()> {
    let model: MadeUp = read(model)?;
    let options = StoreOptions { replace: overwrite, ..StoreOptions::default() };
    run(py, jobs, show, move |watch| match model {
        MadeUp::Communities {
            nodes,
            edges,
            classes,
            mixing,
            degree_exponent,
            feature_width: width,
            dense,
            features_per_node: per_node,
            feature_noise: noise,
            splits,
            train_per_class,
            validation_per_class,
            seed,
        } => {
            let features = match (width, dense) {
                (0, _) => FeatureKind::None,
                (_, true) => FeatureKind::Dense { width, noise },
                (_, false) => FeatureKind::Sparse { width, per_node, noise },
            };
            let settings = Communities {
                nodes,
                edges,
                classes,
                mixing,
                degree_exponent,
                features,
                splits,
                train_per_class,
                validation_per_class,
                seed,
            };
            settings.validate()?;
            let mut store = StoreWriter::create(&output, options, watch)?;
            let origin = settings.store(&mut store)?;
            store.finish(origin).map(drop)
        }
        MadeUp::Powerlaw { nodes, edges, quadrants, seed } => {
            let settings = PowerLaw { nodes, edges, quadrants, seed };
            settings.validate()?;
            let mut store = StoreWriter::create(&output, options, watch)?;
            let origin = settings.store(&mut store)?;
            store.finish(origin).map(drop)
        }
    })
}
