//! The projection against an exact SVD of the smoothed features.

use super::*;

const PAGERANK: Smoothing = Smoothing::PageRank { steps: 15, restart: 0.15 };
const POWERS: Smoothing = Smoothing::Powers { steps: 4, weight: 0.3 };
const WALK: Smoothing = Smoothing::Walk { steps: 2 };

/// Π, dense, by its definition.
fn smoothing(a: &Dense, smoothing: Smoothing) -> Dense {
    let nodes = a.nrows();
    let identity = Dense::identity(nodes, nodes);
    let with_self = a + &identity;
    let root: Vec<f64> = with_self.row_iter().map(|row| row.sum().sqrt()).collect();
    let a = Dense::from_fn(nodes, nodes, |u, v| with_self[(u, v)] / (root[u] * root[v]));
    match smoothing {
        Smoothing::PageRank { steps, restart } => {
            (0..steps).fold(identity.clone(), |h, _| &a * h * (1.0 - restart) + &identity * restart)
        }
        Smoothing::Powers { steps, weight } => {
            let powers = (1..=steps).map(|k| a.pow(k)).sum::<Dense>();
            identity * weight + powers * ((1.0 - weight) / f64::from(steps))
        }
        Smoothing::Walk { steps } => {
            Dense::from_fn(nodes, nodes, |u, v| with_self[(u, v)] / (root[u] * root[u])).pow(steps)
        }
    }
}

fn settings(width: usize, smoothing: Smoothing) -> FeatureSettings {
    FeatureSettings {
        structural: false,
        standardize: Standardize::No,
        rows: RowScale::None,
        projection: Some(ProjectionSettings {
            width,
            smoothing,
            norm: Some(1.0),
            ..Default::default()
        }),
    }
}

/// Sparse columns whose lengths fall: a spectrum that falls.
fn falling(nodes: usize, width: usize, ratio: f64, seed: u64) -> Dense {
    let mut x = random(nodes, width, 0.3, seed);
    for (column, mut values) in x.column_iter_mut().enumerate() {
        values *= ratio.powi(column as i32);
        values.apply(|x| *x = f64::from(*x as f32));
    }
    x
}

/// The sine of the largest angle between the span of V's columns and that of W's.
fn sine(v: &Dense, w: &Dense) -> f64 {
    (w - v * (v.transpose() * w)).svd(false, false).singular_values[0]
}

/// Compares with the exact decomposition, and looks at everything that is promised.
fn assert_exact(transform: &Transform, smoothed: &Dense, k: usize) {
    let exact = smoothed.clone().svd(false, true);
    let vectors = transform.vectors.as_ref().unwrap();
    let found = wide(vectors);
    assert_eq!(found.ncols(), k);
    assert_close(&(found.transpose() * &found), &Dense::identity(k, k), 1e-5);
    let values = transform.singular_values.as_ref().unwrap();
    assert_eq!(values.len(), k);
    for (at, &found) in values.iter().enumerate() {
        let wanted = exact.singular_values[at];
        assert!((f64::from(found) / wanted - 1.0).abs() < 1e-3, "{at}: {found} is not {wanted}");
    }
    let wanted = exact.v_t.unwrap().transpose().columns(0, k).clone_owned();
    assert!(sine(&found, &wanted) < 1e-2, "{}", sine(&found, &wanted));
    for column in found.column_iter() {
        assert!(column.max() >= column.amax(), "the largest entry is positive");
    }
}

#[test]
fn vectors_and_values_are_those_of_the_exact_decomposition() {
    for (seed, (sparse, directed, how)) in [
        (true, false, PAGERANK),
        (true, true, PAGERANK),
        (true, true, POWERS),
        (false, false, POWERS),
        (true, false, WALK),
        (false, true, WALK),
        (false, true, PAGERANK),
    ]
    .into_iter()
    .enumerate()
    {
        let x = falling(150, 110, 0.85, seed as u64);
        let (adjacency, a) = graph(150, directed, seed as u64);
        // Four times 28 columns are more than 110, and M is made; four times 24 are not.
        for k in [12, 8] {
            let transform = fit(&settings(k, how), &features(&x, sparse), &adjacency);
            assert_exact(&transform, &(smoothing(&a, how) * &x), k);
        }
    }
}

/// Dense features near one, where M's rounding hides what is ten thousand times weaker than the
/// strongest direction: neither vectors nor values are lost.
#[test]
fn weak_directions_are_found_behind_a_strong_one() {
    let (nodes, width, k) = (300, 110, 24);
    let noise = random(nodes, width, 1.0, 5);
    let mut x = Dense::from_element(nodes, width, 1.0);
    for (column, mut values) in x.column_iter_mut().enumerate() {
        let share = 3e-2 * 0.7f64.powi(column as i32 % 40);
        values.iter_mut().zip(noise.column(column).iter()).for_each(|(x, noise)| {
            *x = f64::from((*x + share * noise) as f32);
        });
    }
    let (adjacency, a) = graph(nodes, false, 5);
    let smoothed = smoothing(&a, PAGERANK) * &x;
    let exact = smoothed.clone().svd(false, false).singular_values;
    assert!(exact[k - 1] / exact[0] < 1e-3, "{}", exact[k - 1] / exact[0]);
    let transform = fit(&settings(k, PAGERANK), &features(&x, false), &adjacency);
    assert_exact(&transform, &smoothed, k);
}

#[test]
fn own_directions_are_those_of_features_that_are_not_smoothed() {
    let settings = FeatureSettings { rows: RowScale::Norm(1.0), ..settings(9, PAGERANK) };
    for sparse in [true, false] {
        let x = falling(150, 110, 0.85, 4);
        let (adjacency, _) = graph(150, false, 4);
        let given = features(&x, sparse);
        let transform = fit(&settings, &given, &adjacency);
        let own = transform.own(&given, &adjacency, 9, 3).unwrap();
        let scaled = scaled(&x, sparse, &settings);
        let exact = scaled.clone().svd(false, true).v_t.unwrap().transpose();
        let found = wide(own.vectors.as_ref().unwrap());
        assert!(sine(&found, &exact.columns(0, 9).clone_owned()) < 1e-2);
        let nodes: Vec<u32> = (0..150).collect();
        assert_close(&wide(&own.apply_projection(&given, &nodes)), &(scaled * found), 1e-5);
        let plain = FeatureSettings { projection: None, ..settings.clone() };
        let whole = fit(&plain, &given, &adjacency);
        assert_eq!(whole.own(&given, &adjacency, 9, 3).unwrap(), whole);
    }
    // Fewer of their own than asked for: zeros.
    let x = random(60, 4, 0.8, 7);
    let (adjacency, _) = graph(60, false, 7);
    let mut few = fit(&settings, &features(&x, true), &adjacency);
    few.vectors = Some(Matrix::zeros(4, 6));
    let own = few.own(&features(&x, true), &adjacency, 6, 3).unwrap().vectors.unwrap();
    assert_eq!((own.rows, own.width), (4, 6));
    assert!((0..4).all(|row| own.row(row)[4..] == [0.0, 0.0] && own.row(row)[3] != 0.0));
}

#[test]
fn scales_come_before_the_projection() {
    let x = falling(150, 110, 0.85, 8);
    let (adjacency, a) = graph(150, false, 8);
    let settings = FeatureSettings { rows: RowScale::Norm(2.0), ..settings(6, PAGERANK) };
    for sparse in [true, false] {
        let transform = fit(&settings, &features(&x, sparse), &adjacency);
        assert_exact(&transform, &(smoothing(&a, PAGERANK) * scaled(&x, sparse, &settings)), 6);
    }
}

#[test]
fn one_column_of_huge_numbers_does_not_hide_the_others() {
    let mut x = random(120, 40, 0.4, 3);
    x.column_mut(7).iter_mut().for_each(|x| *x *= 8192.0);
    let (adjacency, a) = graph(120, false, 3);
    for sparse in [true, false] {
        let mut settings = settings(40, PAGERANK);
        settings.projection.as_mut().unwrap().rounds = 4;
        let transform = fit(&settings, &features(&x, sparse), &adjacency);
        assert_exact(&transform, &(smoothing(&a, PAGERANK) * &x), 40);
    }
}

#[test]
fn fewer_vectors_where_the_rank_is_lower() {
    // Three directions, 30 columns, small whole numbers: exactly of rank 3.
    let whole = |x: Dense| x.map(|x| (2.0 * x).round());
    let x = whole(random(90, 3, 0.6, 5)) * whole(random(3, 30, 0.8, 6));
    let (adjacency, a) = graph(90, true, 5);
    for sparse in [true, false] {
        let transform = fit(&settings(20, PAGERANK), &features(&x, sparse), &adjacency);
        assert_exact(&transform, &(smoothing(&a, PAGERANK) * &x), 3);
        assert_eq!(transform.output_width(), 3);
    }
    // Fewer nodes than columns, fewer columns than asked for.
    let x = random(9, 30, 0.8, 7);
    let (adjacency, a) = graph(9, false, 7);
    let transform = fit(&settings(20, PAGERANK), &features(&x, true), &adjacency);
    assert_exact(&transform, &(smoothing(&a, PAGERANK) * &x), 9);
    let x = random(60, 7, 0.8, 7);
    let (adjacency, a) = graph(60, false, 7);
    let transform = fit(&settings(256, PAGERANK), &features(&x, true), &adjacency);
    assert_exact(&transform, &(smoothing(&a, PAGERANK) * &x), 7);
}

#[test]
fn nothing_to_project_is_said() {
    let (adjacency, _) = graph(6, false, 1);
    let fitted = |x: &Dense, sparse| {
        Transform::fit(&settings(4, PAGERANK), &features(x, sparse), &adjacency, 1, &Silent)
    };
    for sparse in [true, false] {
        let error = fitted(&Dense::zeros(6, 3), sparse).unwrap_err().to_string();
        assert!(
            error.starts_with("features.projection.width = 4: all features are zero"),
            "{error}"
        );
    }
    let error = fitted(&Dense::repeat(6, 3, 3e38), false).unwrap_err().to_string();
    assert!(error.contains("too large to multiply"), "{error}");
}

#[test]
fn rows_of_zeros_stay_so_without_a_mean_and_are_its_opposite_with_one() {
    let mut x = random(40, 10, 0.5, 4);
    x.row_mut(3).fill(0.0);
    let (adjacency, _) = graph(40, false, 4);
    for sparse in [true, false] {
        let features = features(&x, sparse);
        let mut settings = settings(5, PAGERANK);
        let centered = fit(&settings, &features, &adjacency);
        let mean = centered.mean.as_ref().unwrap();
        let length = mean.iter().map(|x| x * x).sum::<f32>().sqrt();
        for (found, mean) in centered.apply_dense(&features, &[3]).values.iter().zip(mean) {
            assert!((found + mean / length).abs() < 1e-5);
        }
        settings.projection.as_mut().unwrap().center = false;
        let plain = fit(&settings, &features, &adjacency);
        assert_eq!(plain.mean, None);
        assert_eq!(plain.apply_dense(&features, &[3]).values, [0.0; 5]);
    }
}

#[test]
fn one_thread_and_two_give_the_same_bytes_and_seeds_the_same_vectors() {
    let (words, table) = (falling(3000, 60, 0.9, 2), units::table(3000, 60, 15, 2));
    let (adjacency, _) = graph(3000, true, 2);
    let kinds = [(&words, Standardize::All), (&table, Standardize::Auto)];
    for ((x, standardize), sparse) in kinds.iter().flat_map(|&kind| [(kind, true), (kind, false)]) {
        let features = features(x, sparse);
        let run = |threads, seed| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let settings = FeatureSettings { standardize, ..settings(10, PAGERANK) };
            pool.install(|| {
                let fitted = Transform::fit(&settings, &features, &adjacency, seed, &Silent);
                let transform = fitted.unwrap();
                let rows = transform.apply_dense(&features, &[0, 5, 2999]);
                (transform, rows)
            })
        };
        let first = run(1, 1);
        assert_eq!(first.0.measures.is_some(), standardize == Standardize::Auto);
        assert_eq!(first, run(2, 1));
        // Another start: other bytes.
        assert_ne!(first.0.vectors, run(2, 2).0.vectors);
    }
}
