//! Small random batches, and a random encoder for each kind.

use crate::batch::{Arcs, Batch, Inputs, Lists, Members, Propagation, SparseInputs, Units};
use crate::config::{EncoderKind, EncoderSettings};
use crate::encoder::Encoder;
use crate::math::Matrix;
use crate::rng::Stream;

pub(super) const KINDS: [(EncoderKind, usize); 6] = [
    (EncoderKind::Gcn, 1),
    (EncoderKind::GcnSkip, 1),
    (EncoderKind::Gat, 1),
    (EncoderKind::Gat, 2),
    (EncoderKind::Gin, 1),
    (EncoderKind::Mlp, 1),
];

/// Nodes with features, and contexts over them.
pub(super) struct World {
    /// (nodes, inputs), about half of them zero.
    pub(super) features: Matrix<f64>,
    /// Nodes, center first, and the weights of arcs between them, (places, places).
    pub(super) contexts: Vec<(Vec<u32>, Vec<Vec<f64>>)>,
    symmetric: bool,
}

/// How features lie in a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Lie {
    Sparse,
    Dense,
    /// Dense, and every row has a unit of its own.
    Unshared,
}

impl World {
    pub(super) fn new(
        (nodes, inputs): (usize, usize),
        (contexts, size): (usize, usize),
        weighted: bool,
        symmetric: bool,
    ) -> World {
        let mut stream = Stream::new(5, "world", 0);
        let mut number = || if stream.unit() < 0.5 { 0.0 } else { stream.normal() };
        let features = (0..nodes * inputs).map(|_| number()).collect();
        let context = |_| {
            let mut left: Vec<u32> = (0..nodes as u32).collect();
            // Sizes differ, and one place has no arcs but those to itself.
            let size = 2 + stream.below(size as u64 - 1) as usize;
            let mut draw = |_| left.swap_remove(stream.below(left.len() as u64) as usize);
            let places: Vec<u32> = (0..size).map(&mut draw).collect();
            let mut arcs = vec![vec![0.0; size]; size];
            let pairs = (0..size - 1).flat_map(|i| (0..size - 1).map(move |j| (i, j)));
            for (i, j) in pairs.filter(|(i, j)| i != j) {
                if stream.unit() < 0.4 {
                    arcs[i][j] = if weighted { 0.5 + stream.unit() } else { 1.0 };
                    if symmetric {
                        arcs[j][i] = arcs[i][j];
                    }
                }
            }
            (places, arcs)
        };
        let contexts = (0..contexts).map(context).collect();
        World { features: Matrix::of(nodes, inputs, features), contexts, symmetric }
    }

    /// A batch of some of the contexts.
    pub(super) fn batch(&self, which: &[usize], kind: EncoderKind, lie: Lie) -> Batch<f64> {
        let contexts: Vec<_> = which.iter().map(|&at| &self.contexts[at]).collect();
        let places: Vec<u32> = contexts.iter().flat_map(|context| context.0.clone()).collect();
        let mut nodes = places.clone();
        nodes.sort_unstable();
        nodes.dedup();
        let unit_of = |node: &u32| nodes.iter().position(|other| other == node).unwrap() as u32;
        let mut batch = Batch {
            nodes: contexts.iter().map(|context| context.0[0]).collect(),
            inputs: self.inputs(if lie == Lie::Unshared { &places } else { &nodes }, lie),
            units: Units::Same,
            pieces: vec![0],
            arcs: Arcs { symmetric: self.symmetric, offsets: vec![0], ..Arcs::default() },
            centers: Vec::new(),
            members: Members::default(),
        };
        if kind.propagation() == Propagation::None {
            let shown = |context: &&(Vec<u32>, _)| match lie {
                Lie::Unshared => {
                    places.iter().position(|&node| node == context.0[0]).unwrap() as u32
                }
                _ => unit_of(&context.0[0]),
            };
            batch.centers = contexts.iter().map(shown).collect();
            batch.arcs = Arcs::default();
            batch.pieces.push(batch.rows() as u32);
            return batch;
        }
        for (nodes, arcs) in contexts {
            let start = batch.pieces[batch.pieces.len() - 1];
            batch.centers.push(start);
            batch.pieces.push(start + nodes.len() as u32);
            for (i, line) in coefficients(arcs, kind.propagation()).iter().enumerate() {
                for (j, &weight) in line.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
                    batch.arcs.heads.push(start + j as u32);
                    batch.arcs.weights.push(weight);
                }
                assert_eq!(batch.arcs.offsets.len(), start as usize + i + 1);
                batch.arcs.offsets.push(batch.arcs.heads.len() as u32);
            }
        }
        if lie != Lie::Unshared {
            let of_row: Vec<u32> = places.iter().map(unit_of).collect();
            let mut rows = Lists { offsets: vec![0], items: Vec::new() };
            for unit in 0..nodes.len() as u32 {
                let shown = (0u32..).zip(&of_row).filter(|(_, shown)| **shown == unit);
                rows.items.extend(shown.map(|(row, _)| row));
                rows.offsets.push(rows.items.len() as u32);
            }
            batch.units = Units::Shown { of_row, rows };
        }
        batch
    }

    fn inputs(&self, nodes: &[u32], lie: Lie) -> Inputs<f64> {
        let width = self.features.width;
        let rows = nodes.iter().map(|&node| self.features.row(node as usize));
        if lie != Lie::Sparse {
            return Inputs::Dense(Matrix::of(
                nodes.len(),
                width,
                rows.flatten().copied().collect(),
            ));
        }
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in rows {
            let entries = row.iter().enumerate().filter(|(_, x)| **x != 0.0);
            for (column, &value) in entries {
                columns.push(column as u32);
                values.push(value);
            }
            offsets.push(columns.len() as u32);
        }
        Inputs::Sparse(SparseInputs::new(width, offsets, columns, values))
    }
}

fn coefficients(arcs: &[Vec<f64>], propagation: Propagation) -> Vec<Vec<f64>> {
    let mut arcs = arcs.to_vec();
    if propagation == Propagation::Plain {
        return arcs;
    }
    (0..arcs.len()).for_each(|i| arcs[i][i] = 1.0);
    if propagation == Propagation::Normalized {
        let degrees: Vec<f64> = arcs.iter().map(|line| line.iter().sum()).collect();
        for (i, line) in arcs.iter_mut().enumerate() {
            for (weight, degree) in line.iter_mut().zip(&degrees) {
                *weight /= (degrees[i] * degree).sqrt();
            }
        }
    }
    arcs
}

/// Every parameter moved off its start, so that none is zero and none equals another. Two
/// layers have a linear map after them.
pub(super) fn encoder(
    (kind, heads): (EncoderKind, usize),
    layers: usize,
    width: usize,
    inputs: usize,
) -> Encoder<f64> {
    let settings = EncoderSettings { kind, layers, width, heads, linear: layers == 2 };
    let mut encoder = Encoder::new(&settings, inputs, 11);
    for (index, parameter) in (0u64..).zip(encoder.parameters()) {
        let mut stream = Stream::new(7, "moved", index);
        parameter.values.iter_mut().for_each(|x| *x += 0.3 * stream.normal());
    }
    encoder
}

/// Random numbers in the shape of rows.
pub(super) fn random(rows: usize, width: usize) -> Matrix<f64> {
    let mut stream = Stream::new(9, "functional", 0);
    Matrix::of(rows, width, (0..rows * width).map(|_| stream.normal()).collect())
}
