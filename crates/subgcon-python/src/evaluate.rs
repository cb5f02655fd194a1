//! How good are embeddings?

use numpy::ndarray::{Ix1, Ix2};
use pyo3::prelude::*;
use pyo3::types::PyAny;
use serde::Serialize;
use subgcon::eval::{
    GroupReport, NeighbourReport, ProbeReport, ProbeSettings, Sizes, group_probe, neighbour_probe,
    probe, random_splits, sim_at,
};
use subgcon::graph::{Labels, Split};
use subgcon::math::Matrix;

use crate::arrays::lend;
use crate::watch::run;

/// What was found.
#[derive(Serialize)]
struct Report {
    splits: Vec<(String, ProbeReport)>,
    neighbours: Option<NeighbourReport>,
    groups: Option<GroupReport>,
    sim_nodes: Option<usize>,
    sim_at_5: Option<f64>,
    sim_at_10: Option<f64>,
}

/// Probes embeddings, on given splits or `random` ones (how many, training and validation
/// nodes of a class, `A/B/C` of the whole instead of those), and answers in JSON. `classes` are numbers, or rows of zeros and ones.
#[pyfunction]
#[pyo3(signature = (embeddings, classes, names, splits, random, strengths, normalise, standardise, seed, jobs = None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn evaluate(
    py: Python<'_>,
    embeddings: &Bound<'_, PyAny>,
    classes: &Bound<'_, PyAny>,
    names: Vec<String>,
    splits: Vec<(String, Bound<'_, PyAny>)>,
    random: (usize, usize, usize, Option<String>),
    strengths: Option<Vec<f64>>,
    normalise: bool,
    standardise: bool,
    seed: u64,
    jobs: Option<usize>,
) -> PyResult<String> {
    let (values, shape) = lend::<f32, Ix2>(embeddings)?;
    let labels = match lend::<i32, Ix1>(classes) {
        Ok((classes, _)) => Labels::Single { classes, names },
        Err(_) => Labels::Multi { members: lend::<u8, Ix2>(classes)?.0, names },
    };
    let splits = splits
        .into_iter()
        .map(|(name, roles)| Ok(Split { name, roles: lend::<u8, Ix1>(&roles)?.0.to_vec() }));
    let mut splits = splits.collect::<PyResult<Vec<Split>>>()?;
    let mut settings = ProbeSettings { normalise, standardise, ..ProbeSettings::default() };
    if let Some(strengths) = strengths {
        settings = settings.with_grid(strengths);
    }
    let report = run(py, jobs, None, move |watch| {
        let embeddings = Matrix::of(shape[0], shape[1], values.to_vec());
        let (count, train, validation, parts) = random;
        if count > 0 {
            let sizes = match parts {
                Some(parts) => parts.parse()?,
                None => Sizes::PerClass { train, validation },
            };
            splits = random_splits(&labels, sizes, seed, count)?;
        }
        let mut probed = Vec::new();
        for split in &splits {
            watch.go_on();
            probed.push((split.name.clone(), probe(&embeddings, &labels, split, &settings)?));
        }
        let single = matches!(labels, Labels::Single { .. });
        let neighbours = match (single, splits.first()) {
            (true, Some(split)) => {
                let [train, ..] = split.counts();
                Some(neighbour_probe(&embeddings, &labels, split, train.min(10))?)
            }
            _ => None,
        };
        watch.go_on();
        let sim = single.then(|| sim_at(&embeddings, &labels, &[5, 10])).transpose()?;
        Ok(Report {
            splits: probed,
            neighbours,
            groups: single.then(|| group_probe(embeddings, &labels, seed)).transpose()?.flatten(),
            sim_nodes: sim.as_ref().map(|sim| sim.nodes),
            sim_at_5: sim.as_ref().and_then(|sim| sim.at[0]),
            sim_at_10: sim.as_ref().and_then(|sim| sim.at[1]),
        })
    })?;
    Ok(serde_json::to_string(&report).expect("plain data becomes JSON"))
}
