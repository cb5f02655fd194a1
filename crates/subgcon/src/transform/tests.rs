//! Oracles: the definitions in f64 with dense matrices, nalgebra's SVD, and hand
//! calculations.

use nalgebra::DMatrix;

use super::*;
use crate::batch::Inputs;
use crate::config::{ProjectionSettings, RowScale};
use crate::graph::Smoothing;
use crate::math::Sparse;
use crate::progress::Silent;
use crate::rng::Stream;

mod inputs;
mod projection;
mod units;

type Dense = DMatrix<f64>;

/// Some numbers, most of them zero; all of them f32.
fn random(nodes: usize, width: usize, density: f64, seed: u64) -> Dense {
    let mut stream = Stream::new(seed, "features", 0);
    DMatrix::from_fn(nodes, width, |_, _| {
        let drawn = stream.unit() < density;
        if drawn { f64::from(stream.normal() as f32) } else { 0.0 }
    })
}

fn features(x: &Dense, sparse: bool) -> Features {
    let (nodes, width) = x.shape();
    if !sparse {
        let values: Vec<f32> = x.transpose().iter().map(|&x| x as f32).collect();
        return Features::Dense { width, values: values.into() };
    }
    let (mut offsets, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for node in 0..nodes {
        for column in (0..width).filter(|&column| x[(node, column)] != 0.0) {
            columns.push(column as u32);
            values.push(x[(node, column)] as f32);
        }
        offsets.push(columns.len() as u64);
    }
    Features::Sparse(Sparse {
        width,
        offsets: offsets.into(),
        columns: columns.into(),
        values: values.into(),
    })
}

/// Edges at random, with weights; node 0 has none.
fn graph(nodes: usize, directed: bool, seed: u64) -> (Adjacency, Dense) {
    let mut stream = Stream::new(seed, "graph", 0);
    let mut a = Dense::zeros(nodes, nodes);
    for u in 1..nodes {
        for v in (1..nodes).filter(|&v| v != u && (directed || v > u)) {
            if stream.unit() < 4.0 / nodes as f64 {
                a[(u, v)] = f64::from(0.5 + stream.unit() as f32);
                if !directed {
                    a[(v, u)] = a[(u, v)];
                }
            }
        }
    }
    let (mut offsets, mut neighbours, mut weights) = (vec![0u64], Vec::new(), Vec::new());
    for u in 0..nodes {
        for v in (0..nodes).filter(|&v| a[(u, v)] != 0.0) {
            neighbours.push(v as u32);
            weights.push(a[(u, v)] as f32);
        }
        offsets.push(neighbours.len() as u64);
    }
    let adjacency = Adjacency {
        offsets: offsets.into(),
        neighbours: neighbours.into(),
        weights: Some(weights.into()),
        directed,
    };
    (adjacency, a)
}

/// X̂, as it is defined.
fn scaled(x: &Dense, sparse: bool, settings: &FeatureSettings) -> Dense {
    let (mut x, mut measures) = (x.clone(), 0.0);
    match settings.standardize {
        Standardize::No => {}
        Standardize::All => {
            for mut column in x.column_iter_mut() {
                let deviation = column.variance().sqrt();
                if !sparse {
                    let mean = column.mean();
                    column.add_scalar_mut(-mean);
                }
                column /= if deviation > 1e-12 { deviation } else { 1.0 };
            }
        }
        Standardize::Auto => measures = units::in_units(&mut x) as f64,
    }
    for mut row in x.row_iter_mut() {
        let (size, wanted) = match settings.rows {
            RowScale::None => continue,
            RowScale::Sum => (row.abs().sum() + measures, 1.0),
            RowScale::Norm(norm) => ((row.norm_squared() + measures).sqrt(), norm),
        };
        if size > 0.0 {
            row *= wanted / size;
        }
    }
    x
}

fn fit(settings: &FeatureSettings, features: &Features, adjacency: &Adjacency) -> Transform {
    Transform::fit(settings, features, adjacency, 1, &Silent).unwrap()
}

fn wide(matrix: &Matrix<f32>) -> Dense {
    let values = matrix.values.iter().map(|&x| f64::from(x));
    Dense::from_row_iterator(matrix.rows, matrix.width, values)
}

fn assert_close(found: &Dense, wanted: &Dense, far: f64) {
    assert_eq!(found.shape(), wanted.shape());
    let found_far = (found - wanted).amax();
    assert!(found_far < far, "{found_far}");
}

#[test]
fn columns_and_rows_by_hand() {
    // Columns: mean 2, deviation 2; constant; mean 3/4, deviation √27/4.
    let x =
        Dense::from_row_slice(4, 3, &[4.0, 5.0, 3.0, 0.0, 5.0, 0.0, 4.0, 5.0, 0.0, 0.0, 5.0, 0.0]);
    let (adjacency, _) = graph(4, false, 1);
    let settings = FeatureSettings { standardize: Standardize::All, ..Default::default() };
    let root = 27f64.sqrt();
    let sparse = fit(&settings, &features(&x, true), &adjacency);
    assert_eq!(sparse.scale, Some(vec![0.5, 1.0, (4.0 / root) as f32]));
    assert_eq!(sparse.shift, None);
    let found = sparse.apply_dense(&features(&x, true), &[0, 1]);
    assert_eq!(found.values, [2.0, 5.0, (12.0 / root) as f32, 0.0, 5.0, 0.0]);
    let dense = fit(&settings, &features(&x, false), &adjacency);
    assert_eq!(dense.scale, sparse.scale);
    assert_eq!(dense.shift, Some(vec![2.0, 5.0, 0.75]));
    let found = dense.apply_dense(&features(&x, false), &[0, 1]);
    assert_close(
        &wide(&found),
        &Dense::from_row_slice(2, 3, &[1.0, 0.0, 9.0 / root, -1.0, 0.0, -3.0 / root]),
        1e-6,
    );
    // Rows of 3 + 4 and of zeros.
    let x = Dense::from_row_slice(2, 2, &[3.0, -4.0, 0.0, 0.0]);
    let (adjacency, _) = graph(2, false, 1);
    for (rows, wanted) in [
        (RowScale::None, [3.0, -4.0, 0.0, 0.0]),
        (RowScale::Sum, [3.0 / 7.0, -4.0 / 7.0, 0.0, 0.0]),
        (RowScale::Norm(2.0), [1.2, -1.6, 0.0, 0.0]),
    ] {
        for sparse in [false, true] {
            let features = features(&x, sparse);
            let settings = FeatureSettings { rows, ..Default::default() };
            let found = fit(&settings, &features, &adjacency).apply_dense(&features, &[0, 1]);
            assert_close(&wide(&found), &Dense::from_row_slice(2, 2, &wanted), 1e-6);
        }
    }
}

#[test]
fn columns_far_from_zero_or_without_spread_are_not_torn_apart() {
    // A million and one more now and then; tiny; constants that are rounded when they
    // are squared and added.
    let nodes = 1000;
    let x = Dense::from_fn(nodes, 40, |node, column| match column {
        0 => 1e6 + f64::from(u8::from(node % 4 == 0)),
        1 => f64::from(1e-42f32 * (node % 2) as f32),
        _ => f64::from(0.1 * column as f32),
    });
    let (adjacency, _) = graph(nodes, false, 1);
    let settings = FeatureSettings { standardize: Standardize::All, ..Default::default() };
    for sparse in [false, true] {
        let scale = fit(&settings, &features(&x, sparse), &adjacency).scale.unwrap();
        assert!((f64::from(scale[0]) * 0.1875f64.sqrt() - 1.0).abs() < 1e-6, "{}", scale[0]);
        assert_eq!(scale[1..], [1.0; 39]);
    }
}

#[test]
fn other_columns_are_refused() {
    let (adjacency, _) = graph(5, false, 1);
    let x = features(&random(5, 7, 0.5, 1), true);
    let transform = fit(&FeatureSettings::default(), &x, &adjacency);
    assert!(transform.check(&x).is_ok());
    assert_eq!(
        transform.check(&features(&random(5, 9, 0.5, 1), false)).unwrap_err().to_string(),
        "features = 9 columns: the model was made for 7; embed a graph with the same 7 feature \
         columns"
    );
    let none = Features::Dense { width: 0, values: Vec::new().into() };
    let error = Transform::fit(&FeatureSettings::default(), &none, &adjacency, 1, &Silent);
    assert_eq!(error.unwrap_err().to_string(), "features = 0 columns: give the nodes features");
}

#[test]
fn features_stored_the_other_way_give_the_same_numbers() {
    // One graph's features may be just dense enough to be stored dense, another's not.
    let x = random(40, 9, 0.25, 3);
    let (adjacency, _) = graph(40, false, 3);
    let nodes: Vec<u32> = (0..40).collect();
    let projection = Some(ProjectionSettings { width: 5, ..Default::default() });
    for projection in [None, projection] {
        let settings = FeatureSettings {
            structural: false,
            standardize: Standardize::All,
            rows: RowScale::Norm(1.0),
            projection,
        };
        for learnt in [true, false] {
            let transform = fit(&settings, &features(&x, learnt), &adjacency);
            let same = transform.apply_dense(&features(&x, learnt), &nodes);
            let other = transform.apply_dense(&features(&x, !learnt), &nodes);
            assert_close(&wide(&other), &wide(&same), 1e-5);
            let inputs = transform.inputs(&features(&x, true), &nodes, &[]);
            let sparse = learnt && settings.projection.is_none();
            assert_eq!(matches!(inputs, Inputs::Sparse(_)), sparse);
        }
    }
}
