//! Oracle: Â as a dense matrix in f64, written down as it is defined.

use proptest::prelude::*;

use super::*;
use crate::rng::Stream;

/// A dense matrix of weights becomes lists.
fn graph(weights: &[Vec<f32>], directed: bool, weighted: bool) -> Adjacency {
    let mut offsets = vec![0u64];
    let (mut neighbours, mut values) = (Vec::new(), Vec::new());
    for row in weights {
        for (to, &weight) in row.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
            neighbours.push(to as u32);
            values.push(weight);
        }
        offsets.push(neighbours.len() as u64);
    }
    Adjacency {
        offsets: offsets.into(),
        neighbours: neighbours.into(),
        weights: weighted.then(|| values.into()),
        directed,
    }
}

fn random_weights(nodes: usize, directed: bool, weighted: bool, seed: u64) -> Vec<Vec<f32>> {
    let mut stream = Stream::new(seed, "graph", 0);
    let mut weights = vec![vec![0.0; nodes]; nodes];
    for (u, v) in (0..nodes).flat_map(|u| (0..nodes).map(move |v| (u, v))) {
        // Node 0 stays alone.
        if u == v || u == 0 || v == 0 || (!directed && v < u) || stream.unit() > 0.3 {
            continue;
        }
        weights[u][v] = if weighted { 0.1 + 3.0 * stream.unit() as f32 } else { 1.0 };
        if !directed {
            weights[v][u] = weights[u][v];
        }
    }
    weights
}

fn random_rows(nodes: usize, width: usize, seed: u64) -> Matrix<f32> {
    let mut stream = Stream::new(seed, "rows", 0);
    Matrix::of(nodes, width, (0..nodes * width).map(|_| stream.normal() as f32).collect())
}

/// Â, dense.
fn dense(weights: &[Vec<f32>]) -> Vec<Vec<f64>> {
    let sums: Vec<f64> =
        weights.iter().map(|row| 1.0 + row.iter().map(|&w| f64::from(w)).sum::<f64>()).collect();
    let entry = |u: usize, v: usize| {
        (f64::from(weights[u][v]) + f64::from(u8::from(u == v))) / (sums[u] * sums[v]).sqrt()
    };
    (0..weights.len()).map(|u| (0..weights.len()).map(|v| entry(u, v)).collect()).collect()
}

fn times(a: &[Vec<f64>], rows: &Matrix<f64>) -> Matrix<f64> {
    let mut out = Matrix::zeros(rows.rows, rows.width);
    for (u, a) in a.iter().enumerate() {
        for column in 0..rows.width {
            out.row_mut(u)[column] = (0..rows.rows).map(|v| a[v] * rows.row(v)[column]).sum();
        }
    }
    out
}

fn mixed(a: f64, x: &Matrix<f64>, b: f64, y: &Matrix<f64>) -> Matrix<f64> {
    let values = x.values.iter().zip(&y.values).map(|(x, y)| a * x + b * y).collect();
    Matrix::of(x.rows, x.width, values)
}

fn naive(a: &[Vec<f64>], smoothing: Smoothing, rows: &Matrix<f64>) -> Matrix<f64> {
    match smoothing {
        Smoothing::PageRank { steps, restart } => {
            (0..steps).fold(rows.clone(), |h, _| mixed(1.0 - restart, &times(a, &h), restart, rows))
        }
        Smoothing::Powers { steps, weight } => {
            let (mut sum, mut power) = (Matrix::zeros(rows.rows, rows.width), rows.clone());
            for _ in 0..steps {
                power = times(a, &power);
                sum = mixed(1.0, &sum, 1.0, &power);
            }
            mixed(weight, rows, (1.0 - weight) / f64::from(steps), &sum)
        }
        Smoothing::Walk { steps } => (0..steps).fold(rows.clone(), |h, _| times(a, &h)),
    }
}

const KINDS: [Smoothing; 3] = [
    Smoothing::PageRank { steps: 15, restart: 0.15 },
    Smoothing::steps(2),
    Smoothing::Powers { steps: 5, weight: 0.5 },
];

fn assert_close(found: &Matrix<f32>, wanted: &Matrix<f64>) {
    // Âᵏ of a directed graph may grow.
    let size = wanted.values.iter().fold(1.0, |size: f64, x| size.max(x.abs()));
    for (found, wanted) in found.values.iter().zip(&wanted.values) {
        assert!((f64::from(*found) - wanted).abs() < 2e-6 * size, "{found} is not {wanted}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn smoothing_is_the_polynomial_of_the_dense_matrix(
        nodes in 1usize..30, width in 1usize..140, directed: bool, weighted: bool, seed: u64,
    ) {
        let weights = random_weights(nodes, directed, weighted, seed);
        let smoother = Smoother::new(&graph(&weights, directed, weighted));
        let rows = random_rows(nodes, width, seed);
        let a = dense(&weights);
        let transposed: Vec<Vec<f64>> =
            (0..nodes).map(|u| (0..nodes).map(|v| a[v][u]).collect()).collect();
        for smoothing in KINDS {
            let mut found = rows.clone();
            smoother.apply(smoothing, &mut found);
            assert_close(&found, &naive(&a, smoothing, &rows.cast()));
            let mut found = rows.clone();
            smoother.transposed().apply(smoothing, &mut found);
            assert_close(&found, &naive(&transposed, smoothing, &rows.cast()));
        }
        // P, row by row: what is left of a node's row after it is divided by its sum.
        let p: Vec<Vec<f64>> = (0..nodes)
            .map(|u| {
                let entry = |v: usize| f64::from(weights[u][v]) + f64::from(u8::from(u == v));
                let sum: f64 = (0..nodes).map(entry).sum();
                (0..nodes).map(|v| entry(v) / sum).collect()
            })
            .collect();
        let turned: Vec<Vec<f64>> =
            (0..nodes).map(|u| (0..nodes).map(|v| p[v][u]).collect()).collect();
        for (smoother, p) in [(smoother.clone(), p), (smoother.transposed(), turned)] {
            let mut found = rows.clone();
            smoother.apply(Smoothing::Walk { steps: 3 }, &mut found);
            assert_close(&found, &naive(&p, Smoothing::Walk { steps: 3 }, &rows.cast()));
        }
        let mut found = rows.clone();
        smoother.apply(Smoothing::Powers { steps: 1, weight: 0.0 }, &mut found);
        assert_close(&found, &times(&a, &rows.cast()));
    }

    #[test]
    fn small_graphs_get_the_bits_of_large_ones(
        nodes in 1usize..60, width in 1usize..140, from in 0usize..140, len in 1usize..140,
        directed: bool, weighted: bool, seed: u64,
    ) {
        let weights = random_weights(nodes, directed, weighted, seed);
        let small = Smoother::new(&graph(&weights, directed, weighted));
        prop_assert!(small.order.is_some());
        let rows = random_rows(nodes, width, seed);
        let from = from % width;
        let columns = from..(from + len).min(width);
        let bits = |rows: &Matrix<f32>| -> Vec<u32> { rows.values.iter().map(|x| x.to_bits()).collect() };
        for small in [small.transposed(), small] {
            let large = Smoother { order: None, ..small.clone() };
            for smoothing in KINDS.into_iter().chain([Smoothing::Walk { steps: 3 }]) {
                let (mut found, mut wanted) = (rows.clone(), rows.clone());
                small.apply_to(smoothing, &mut found, columns.clone());
                large.apply_to(smoothing, &mut wanted, columns.clone());
                prop_assert_eq!(bits(&found), bits(&wanted));
            }
        }
    }

    #[test]
    fn columns_are_smoothed_as_if_they_were_alone(
        width in 2usize..150, from in 0usize..150, len in 1usize..70, seed: u64,
    ) {
        let adjacency = graph(&random_weights(20, false, true, seed), false, true);
        let rows = random_rows(20, width, seed);
        let from = from % width;
        let to = (from + len).min(width);
        let part = |rows: &Matrix<f32>| {
            let values = (0..20).flat_map(|row| rows.row(row)[from..to].to_vec()).collect();
            Matrix::of(20, to - from, values)
        };
        for smoothing in KINDS {
            let (mut all, mut some) = (rows.clone(), part(&rows));
            smooth(&adjacency, smoothing, &mut all);
            smooth(&adjacency, smoothing, &mut some);
            prop_assert_eq!(part(&all), some);
        }
    }
}

#[test]
fn a_path_of_two_nodes_by_hand() {
    // Â is ½ everywhere: one step gives the mean, and stays there.
    let adjacency = graph(&[vec![0.0, 1.0], vec![1.0, 0.0]], false, false);
    let mut rows = Matrix::of(2, 1, vec![4.0, 8.0]);
    smooth(&adjacency, Smoothing::PageRank { steps: 1, restart: 0.25 }, &mut rows);
    assert_close(&rows, &Matrix::of(2, 1, vec![0.75 * 6.0 + 1.0, 0.75 * 6.0 + 2.0]));
    let mut rows = Matrix::of(2, 1, vec![4.0, 8.0]);
    smooth(&adjacency, Smoothing::Powers { steps: 3, weight: 0.5 }, &mut rows);
    assert_close(&rows, &Matrix::of(2, 1, vec![5.0, 7.0]));
}

#[test]
fn nodes_without_neighbours_keep_their_rows() {
    let adjacency = graph(&vec![vec![0.0; 3]; 3], false, false);
    for smoothing in KINDS {
        let rows = random_rows(3, 5, 1);
        let mut smoothed = rows.clone();
        smooth(&adjacency, smoothing, &mut smoothed);
        assert_close(&smoothed, &rows.cast());
    }
    // Neither columns nor nodes.
    smooth(&adjacency, KINDS[0], &mut Matrix::zeros(3, 0));
    smooth(&graph(&[], false, false), KINDS[1], &mut Matrix::zeros(0, 4));
}

#[test]
fn one_thread_and_two_give_the_same_bytes() {
    // Four panels of columns, or two blocks and three tasks of nodes.
    let small = Smoother::new(&graph(&random_weights(600, true, true, 3), true, true));
    let large = Smoother { order: None, ..small.clone() };
    for smoothing in KINDS {
        let run = |smoother: &Smoother, threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut rows = random_rows(600, 100, 4);
            pool.install(|| smoother.apply(smoothing, &mut rows));
            rows
        };
        let one = run(&small, 1);
        assert!([2, 3, 8].into_iter().all(|threads| run(&small, threads) == one));
        assert!([1, 2, 3, 8].into_iter().all(|threads| run(&large, threads) == one));
    }
}
