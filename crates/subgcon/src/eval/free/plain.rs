//! Products with X̂, the features with rows of L2 norm 1, some nodes at a time.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::batch::Inputs;
use crate::config::{FeatureSettings, RowScale, Standardize};
use crate::error::Result;
use crate::graph::{Adjacency, Features};
use crate::math::{Matrix, Write, add_rows, gemm, gemm_slice};
use crate::progress::Silent;
use crate::transform::Transform;

/// Nodes whose features are scaled together.
const NODES: usize = 4096;

/// X̂.
#[derive(Debug)]
pub(super) struct Plain<'a> {
    features: &'a Features,
    transform: Transform,
    nodes: Vec<u32>,
    /// All of it, where that is not much.
    scaled: Option<Inputs<f32>>,
}

impl<'a> Plain<'a> {
    pub(super) fn new(
        adjacency: &Adjacency,
        features: &'a Features,
        structural: bool,
    ) -> Result<Plain<'a>> {
        let settings = FeatureSettings {
            structural,
            standardize: Standardize::Auto,
            rows: RowScale::Norm(1.0),
            ..FeatureSettings::default()
        };
        let transform = Transform::fit(&settings, features, adjacency, 0, &Silent)?;
        let nodes: Vec<u32> = (0..adjacency.nodes() as u32).collect();
        let scaled = (nodes.len() <= NODES).then(|| transform.inputs(features, &nodes, &[]));
        Ok(Plain { features, transform, nodes, scaled })
    }

    /// Some rows of X̂.
    fn inputs(&self, nodes: &[u32]) -> Cow<'_, Inputs<f32>> {
        match &self.scaled {
            Some(all) => Cow::Borrowed(all),
            None => Cow::Owned(self.transform.inputs(self.features, nodes, &[])),
        }
    }

    pub(super) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn is_sparse(&self) -> bool {
        matches!(self.features, Features::Sparse(_))
    }

    /// All of it, (nodes, width).
    pub(super) fn rows(&self) -> Matrix<f32> {
        self.transform.apply_dense(self.features, &self.nodes)
    }

    /// X̂ B, (nodes, k).
    pub(super) fn times(&self, b: &Matrix<f32>) -> Matrix<f32> {
        let mut out = Matrix::zeros(self.nodes.len(), b.width);
        if b.width == 0 {
            return out;
        }
        for (nodes, out) in self.nodes.chunks(NODES).zip(out.values.chunks_mut(NODES * b.width)) {
            match &*self.inputs(nodes) {
                Inputs::Dense(x) => gemm_slice(out, b.width, x.view(), b.view(), Write::Set),
                Inputs::Sparse(x) => {
                    let rows = out.par_chunks_mut(b.width).enumerate().with_min_len(16);
                    rows.for_each(|(unit, out)| {
                        let (columns, values) = x.unit(unit);
                        let entries = values.iter().zip(columns);
                        add_rows(out, b, entries.map(|(&x, &column)| (x, column as usize)));
                    });
                }
            }
        }
        out
    }

    /// X̂ᵀ Y, (width, k).
    pub(super) fn transposed_times(&self, y: &Matrix<f32>) -> Matrix<f32> {
        let mut out = Matrix::zeros(self.features.width(), y.width);
        if y.width == 0 {
            return out;
        }
        for (at, nodes) in self.nodes.chunks(NODES).enumerate() {
            let start = at * NODES;
            match &*self.inputs(nodes) {
                Inputs::Dense(x) => {
                    let y = y.view().some_rows(start..start + nodes.len());
                    gemm(&mut out, x.view().transposed(), y, Write::Add);
                }
                Inputs::Sparse(x) => {
                    let rows = out.values.par_chunks_mut(y.width).enumerate().with_min_len(16);
                    rows.for_each(|(column, out)| {
                        let (units, values) = x.column(column);
                        let entries = values.iter().zip(units);
                        add_rows(out, y, entries.map(|(&x, &unit)| (x, start + unit as usize)));
                    });
                }
            }
        }
        out
    }
}
