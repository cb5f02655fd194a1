//! The golden file, as `make.py` writes it.

use std::collections::BTreeMap;

use serde::Deserialize;
use subgcon::config::{EncoderSettings, ObjectiveSettings, ReadoutSettings};

#[derive(Deserialize)]
pub(crate) struct State {
    pub(crate) restart: f64,
    pub(crate) size: usize,
    /// (nodes, inputs).
    pub(crate) features: Vec<Vec<f64>>,
    pub(crate) graphs: BTreeMap<String, GraphState>,
    /// Whose contexts the batch holds.
    pub(crate) centers: Vec<u32>,
    /// A case with n shuffles takes the first n.
    pub(crate) shuffles: Vec<Vec<u32>>,
    pub(crate) encoders: BTreeMap<String, EncoderState>,
    pub(crate) cases: Vec<Case>,
}

#[derive(Deserialize)]
pub(crate) struct GraphState {
    pub(crate) edges: Vec<[u32; 2]>,
    /// One an edge, or 1 for all.
    pub(crate) weights: Option<Vec<f32>>,
    pub(crate) directed: bool,
    /// Of every node.
    pub(crate) contexts: Vec<Vec<u32>>,
    pub(crate) pagerank: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
pub(crate) struct EncoderState {
    pub(crate) graph: String,
    pub(crate) settings: EncoderSettings,
    pub(crate) parameters: BTreeMap<String, ParameterState>,
    /// Context after context, each in its own order.
    pub(crate) rows: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
pub(crate) struct ParameterState {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f64>,
}

#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) encoder: String,
    pub(crate) readout: ReadoutSettings,
    pub(crate) objective: ObjectiveSettings,
    pub(crate) weight_decay: f64,
    pub(crate) centers: Vec<Vec<f64>>,
    pub(crate) summaries: Vec<Vec<f64>>,
    pub(crate) retrieval: f64,
    pub(crate) loss: f64,
    pub(crate) gradients: BTreeMap<String, Vec<f64>>,
    /// After one to ten steps of Adam on the same batch.
    pub(crate) losses: Vec<f64>,
}

impl State {
    pub(crate) fn read() -> State {
        let state: State = serde_json::from_str(include_str!("state.json")).unwrap();
        assert!(state.cases.iter().all(|case| case.losses.len() == 10));
        state
    }
}
