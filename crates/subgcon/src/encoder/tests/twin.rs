//! Layers as their equations are written: a dense matrix of arcs, no units, no order
//! but the formula's.

use crate::batch::{Batch, Inputs, Units};
use crate::config::EncoderKind;
use crate::encoder::Encoder;

type Rows = Vec<Vec<f64>>;

fn product(a: &Rows, b: &Rows) -> Rows {
    let column = |row: &Vec<f64>, j: usize| row.iter().zip(b).map(|(x, b)| x * b[j]).sum();
    a.iter().map(|row| (0..b[0].len()).map(|j| column(row, j)).collect()).collect()
}

fn sum(a: &Rows, b: &Rows) -> Rows {
    let add = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a + b).collect();
    a.iter().zip(b).map(add).collect()
}

fn activated(z: &Rows, bias: &[f64], slope: &[f64]) -> Rows {
    let one = |(z, (b, a)): (&f64, (&f64, &f64))| if z + b > 0.0 { z + b } else { a * (z + b) };
    z.iter().map(|z| z.iter().zip(bias.iter().zip(slope)).map(one).collect()).collect()
}

/// Features of every row.
fn shown(batch: &Batch<f64>) -> Rows {
    let unit = |unit: usize| match &batch.inputs {
        Inputs::Dense(matrix) => matrix.row(unit).to_vec(),
        Inputs::Sparse(sparse) => {
            let mut row = vec![0.0; sparse.width];
            let (columns, values) = sparse.unit(unit);
            columns.iter().zip(values).for_each(|(&c, &x)| row[c as usize] = x);
            row
        }
    };
    match &batch.units {
        Units::Same => (0..batch.rows()).map(unit).collect(),
        Units::Shown { of_row, .. } => of_row.iter().map(|&u| unit(u as usize)).collect(),
    }
}

fn arcs(batch: &Batch<f64>) -> Rows {
    let mut matrix = vec![vec![0.0; batch.rows()]; batch.rows()];
    // Without propagation there are no offsets.
    let rows = batch.arcs.offsets.len().saturating_sub(1);
    for (row, line) in matrix.iter_mut().enumerate().take(rows) {
        let (heads, weights) = batch.arcs.of(row);
        heads.iter().zip(weights).for_each(|(&j, &w)| line[j as usize] = w);
    }
    matrix
}

fn attention(y: &Rows, arcs: &Rows, source: &Rows, target: &Rows) -> Rows {
    let width = source[0].len();
    let mut z = vec![vec![0.0; y[0].len()]; y.len()];
    for (head, (source, target)) in source.iter().zip(target).enumerate() {
        let columns = head * width..(head + 1) * width;
        let score = |a: &[f64], y: &[f64]| -> f64 {
            a.iter().zip(&y[columns.clone()]).map(|(a, y)| a * y).sum()
        };
        for i in 0..y.len() {
            let e = |j: usize| {
                let p = score(target, &y[i]) + score(source, &y[j]);
                arcs[i][j] * (if p > 0.0 { p } else { 0.2 * p }).exp()
            };
            let total: f64 = (0..y.len()).map(e).sum();
            for (j, y) in y.iter().enumerate() {
                columns.clone().for_each(|c| z[i][c] += e(j) / total * y[c]);
            }
        }
    }
    z
}

pub(super) fn rows(encoder: &Encoder<f64>, kind: EncoderKind, batch: &Batch<f64>) -> Rows {
    let named = encoder.named();
    let arcs = arcs(batch);
    let mut x = shown(batch);
    for layer in 0..encoder.layers.len() {
        let find = |name: &str| {
            let name = format!("layers.{layer}.{name}");
            named.iter().find(|named| named.0 == name).unwrap_or_else(|| panic!("{name}"))
        };
        let vector = |name: &str| find(name).2;
        let matrix = |name: &str| -> Rows {
            find(name).2.chunks(find(name).1[1]).map(<[f64]>::to_vec).collect()
        };
        x = match kind {
            EncoderKind::Mlp => {
                activated(&product(&x, &matrix("weight")), vector("bias"), vector("slope"))
            }
            EncoderKind::Gcn | EncoderKind::GcnSkip => {
                let mut z = product(&product(&arcs, &x), &matrix("weight"));
                if kind == EncoderKind::GcnSkip {
                    z = sum(&z, &product(&x, &matrix("skip")));
                }
                activated(&z, vector("bias"), vector("slope"))
            }
            EncoderKind::Gat => {
                let y = product(&x, &matrix("weight"));
                let (source, target) = (matrix("attention_source"), matrix("attention_target"));
                let z = attention(&y, &arcs, &source, &target);
                activated(&z, vector("bias"), vector("slope"))
            }
            EncoderKind::Gin => {
                let own = 1.0 + vector("epsilon")[0];
                let own: Rows = x.iter().map(|x| x.iter().map(|x| own * x).collect()).collect();
                let t = product(&sum(&own, &product(&arcs, &x)), &matrix("weight1"));
                let u = activated(&t, vector("bias1"), vector("slope1"));
                let z = product(&u, &matrix("weight2"));
                activated(&z, vector("bias2"), vector("slope2"))
            }
        };
    }
    match named.iter().find(|named| named.0 == "linear.weight") {
        Some((_, shape, values)) => {
            product(&x, &values.chunks(shape[1]).map(<[f64]>::to_vec).collect())
        }
        None => x,
    }
}
