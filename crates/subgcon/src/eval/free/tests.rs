use nalgebra::{DMatrix, SymmetricEigen};

use super::*;
use crate::eval::{Sizes, random_splits};
use crate::graph::{EdgeChunk, EdgeList, EdgeRules, merge, smooth};
use crate::math::Sparse;
use crate::progress::Silent;

/// A ring with chords.
fn graph(nodes: u32, directed: bool) -> Adjacency {
    let edges = (0..nodes).flat_map(|a| [(a, (a + 1) % nodes), (a, (a * a + 7) % nodes)]);
    let (sources, targets): (Vec<u32>, Vec<u32>) = edges.unzip();
    let mut list = EdgeList::new();
    list.push(EdgeChunk { sources, targets, weights: Vec::new() });
    let mut builder = Adjacency::empty(directed);
    let rules = EdgeRules { directed, ..EdgeRules::default() };
    merge(nodes, list, rules, &mut builder, &Silent).unwrap();
    builder.finish()
}

/// About one entry in four is there, more of the first columns.
fn numbers(nodes: usize, width: usize) -> Matrix<f32> {
    let mut stream = Stream::new(4, "features", 0);
    let value = |at: usize| {
        let there = stream.unit() < 0.5 / (1.0 + (at % width) as f64 / 20.0);
        if there { stream.unit() as f32 + 0.1 } else { 0.0 }
    };
    Matrix::of(nodes, width, (0..nodes * width).map(value).collect())
}

fn sparse(matrix: &Matrix<f32>) -> Features {
    let (mut offsets, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for row in 0..matrix.rows {
        for (column, &x) in matrix.row(row).iter().enumerate().filter(|(_, x)| **x != 0.0) {
            columns.push(column as u32);
            values.push(x);
        }
        offsets.push(columns.len() as u64);
    }
    Features::Sparse(Sparse {
        width: matrix.width,
        offsets: offsets.into(),
        columns: columns.into(),
        values: values.into(),
    })
}

/// Name and rows of each.
struct Found {
    name: String,
    rows: Matrix<f32>,
}

fn all(adjacency: &Adjacency, features: &Features, width: usize) -> Vec<Found> {
    let mut rows = Vec::new();
    free_rows(adjacency, features, false, width, |row| {
        let found = row.rows().into_owned();
        assert_eq!(row.width, found.width);
        rows.push(Found { name: row.name.clone(), rows: found });
        Ok::<(), Error>(())
    })
    .unwrap();
    rows
}

#[test]
fn full_rows_are_scaled_and_smoothed_features() {
    let (adjacency, x) = (graph(90, false), numbers(90, 40));
    let rows = all(&adjacency, &sparse(&x), 8);
    let names: Vec<&str> = rows.iter().map(|row| &row.name[..]).collect();
    assert_eq!(
        names,
        [
            "raw features",
            "SGC features",
            "SGC features, projected",
            "PageRank-smoothed features",
            "PageRank-smoothed features, projected",
            "S2GC features",
            "S2GC features, projected",
        ]
    );
    let mut scaled = x.clone();
    for row in scaled.values.chunks_exact_mut(40) {
        let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
        row.iter_mut().for_each(|x| *x /= length);
    }
    let close = |a: &Matrix<f32>, b: &Matrix<f32>| {
        assert_eq!((a.rows, a.width), (b.rows, b.width));
        a.values.iter().zip(&b.values).for_each(|(a, b)| assert!((a - b).abs() < 1e-5));
    };
    close(&rows[0].rows, &scaled);
    for (name, smoothing) in KINDS {
        let mut wanted = scaled.clone();
        smooth(&adjacency, smoothing, &mut wanted);
        close(&rows.iter().find(|row| row.name == name).unwrap().rows, &wanted);
    }
    // Nothing to project where there are no more columns than that.
    assert_eq!(all(&adjacency, &sparse(&x), 40).len(), 4);
}

#[test]
fn projected_rows_hold_nearly_all_that_so_many_columns_can() {
    for directed in [false, true] {
        let (adjacency, x) = (graph(300, directed), numbers(300, 120));
        let dense = Features::Dense { width: 120, values: x.values.clone().into() };
        let (rows, twins) = (all(&adjacency, &sparse(&x), 30), all(&adjacency, &dense, 30));
        for (name, _) in KINDS {
            let of = |rows: &[Found], name: &str| {
                rows.iter().find(|row| row.name == name).unwrap().rows.clone()
            };
            let (full, projected) = (of(&rows, name), of(&rows, &format!("{name}, projected")));
            assert_eq!(projected.width, 30);
            let energy = |matrix: &Matrix<f32>| {
                matrix.values.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>()
            };
            // The best there is: the largest eigenvalues of the Gram matrix.
            let s = DMatrix::from_row_iterator(300, 120, full.values.iter().map(|&x| f64::from(x)));
            let mut eigen: Vec<f64> =
                SymmetricEigen::new(s.transpose() * s).eigenvalues.iter().copied().collect();
            eigen.sort_by(|a, b| b.total_cmp(a));
            let best: f64 = eigen[..30].iter().sum();
            let found = energy(&projected);
            assert!(found <= best * 1.0001 && found > 0.97 * best, "{name}: {found} of {best}");
            let twin = energy(&of(&twins, &format!("{name}, projected")));
            assert!((twin - found).abs() < 1e-3 * found, "{name}: {twin} and {found}");
        }
    }
}

#[test]
fn a_probe_is_told_the_same_without_all_rows() {
    let classes: Vec<Option<i64>> = (0..300).map(|node| Some(node % 100 / 34)).collect();
    let labels = Labels::from_integers(&classes);
    // Two splits, 15 training nodes each.
    let splits =
        random_splits(&labels, Sizes::PerClass { train: 5, validation: 20 }, 1, 2).unwrap();
    let fitted = |split: &Split| Parts::of(&labels, split).unwrap().train;
    // Larger c would ask for what rounding has left of weak directions.
    let settings = ProbeSettings { tolerance: 1e-7, ..ProbeSettings::default() };
    let settings = settings.with_grid(vec![0.01, 0.1, 1.0, 10.0, 100.0]);
    for directed in [false, true] {
        let (adjacency, mut x) = (graph(300, directed), numbers(300, 120));
        // Something to learn, and two training nodes that say the same.
        for node in 0..300 {
            x.row_mut(node)[node % 100 / 34] += 0.5;
        }
        let [one, other, ..] = fitted(&splits[0])[..] else { panic!("two nodes") };
        let line = x.row(one as usize).to_vec();
        x.row_mut(other as usize).copy_from_slice(&line);
        let mut rows_seen = 0;
        free_rows(&adjacency, &sparse(&x), false, 80, |row| {
            let (reports, _) = row.probe(&labels, &splits, &settings)?;
            let Source::Features(smoothed) = &row.source else { panic!("of features") };
            let rows = row.rows();
            for ((found, split), first) in reports.iter().zip(&splits).zip([true, false]) {
                let seen = smoothed.seen_by(&fitted(split)).unwrap();
                let same = first && row.name == "raw features";
                assert_eq!((seen.rows, seen.width), (300, if same { 14 } else { 15 }));
                // What was told is what these few columns tell, and what all of them do.
                assert_eq!(*found, probe(&seen, &labels, split, &settings)?, "{}", row.name);
                let wanted = probe(&rows, &labels, split, &settings)?;
                assert_eq!((found.c, found.test), (wanted.c, wanted.test), "{}", row.name);
                assert_eq!(found.validation, wanted.validation, "{}", row.name);
                for (found, wanted) in found.tried.iter().zip(&wanted.tried) {
                    let (found, wanted) = (found.surprise.unwrap(), wanted.surprise.unwrap());
                    assert!((found - wanted).abs() < 1e-3, "{}: {found} {wanted}", row.name);
                }
            }
            rows_seen += 1;
            Ok::<(), Error>(())
        })
        .unwrap();
        assert_eq!(rows_seen, 7);
    }
}

#[test]
fn features_that_are_no_numbers_are_named() {
    let mut x = numbers(40, 90);
    x.row_mut(7)[3] = f32::NAN;
    let labels = Labels::from_integers(&(0..40).map(|node| Some(node % 2)).collect::<Vec<_>>());
    let splits = random_splits(&labels, Sizes::PerClass { train: 2, validation: 2 }, 1, 1).unwrap();
    let found = free_rows(&graph(40, false), &sparse(&x), false, 90, |row| {
        row.probe(&labels, &splits, &ProbeSettings::default()).map(|_| ())
    });
    let told = found.unwrap_err().to_string();
    assert!(told.contains("row 7") || told.contains("NaN"), "{told}");
}

#[test]
fn rows_of_zeros_span_nothing() {
    let (adjacency, features) = (graph(40, false), sparse(&Matrix::zeros(40, 30)));
    let plain = &Plain::new(&adjacency, &features, false).unwrap();
    let (smoother, transposed) = (&Smoother::new(&adjacency), &OnceCell::new());
    let rows = Smoothed { plain, smoother, transposed, smoothing: None, basis: None };
    assert_eq!(rows.seen_by(&[3, 4]), Some(Matrix::zeros(40, 1)));
    // And there is nothing to project.
    assert_eq!(all(&adjacency, &features, 8).len(), 4);
}
