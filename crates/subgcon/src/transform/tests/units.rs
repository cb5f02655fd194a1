//! Tables of measures: which columns they are, and that no unit matters.

use super::*;

/// Mostly zeros; the last columns are measures far from zero, each in a unit of its own. One node in
/// nine has nothing at all.
pub(super) fn table(nodes: usize, width: usize, measures: usize, seed: u64) -> Dense {
    let mut x = random(nodes, width, 0.3, seed);
    let mut stream = Stream::new(seed, "measures", 0);
    for column in width - measures.min(width)..width {
        let unit = 10f64.powf(6.0 * stream.unit() - 3.0);
        for node in 0..nodes {
            x[(node, column)] = f64::from((unit * (stream.normal() + 3.0)) as f32);
        }
    }
    for mut row in x.row_iter_mut().step_by(9) {
        row.fill(0.0);
    }
    x
}

/// Brings a table to common units, as it is defined; how many columns are measures.
pub(super) fn in_units(x: &mut Dense) -> usize {
    let described: Vec<usize> = (0..x.nrows()).filter(|&row| x.row(row).amax() > 0.0).collect();
    let entries = |column: usize| -> Vec<f64> {
        described.iter().map(|&row| x[(row, column)]).filter(|&x| x != 0.0).collect()
    };
    let squares = |column: usize| entries(column).iter().map(|x| x * x).sum::<f64>();
    let is_measure = |column: usize| {
        let values = entries(column);
        2 * values.len() > described.len() && values.iter().any(|&x| x != values[0])
    };
    let (measures, others): (Vec<usize>, Vec<usize>) = (0..x.ncols()).partition(|&c| is_measure(c));
    let count = |columns: &[usize]| columns.iter().map(|&c| entries(c).len()).sum::<usize>() as f64;
    let weight = |columns: &[usize]| columns.iter().map(|&c| squares(c)).sum::<f64>();
    let many = count(&measures) >= 0.1 * (count(&measures) + count(&others));
    if measures.is_empty() || !(many || weight(&measures) > weight(&others)) {
        return 0;
    }
    let mut wanted = x.clone();
    for column in 0..x.ncols() {
        let values =
            Dense::from_iterator(described.len(), 1, described.iter().map(|&row| x[(row, column)]));
        let (shift, size) = match is_measure(column) {
            true => (values.mean(), values.variance().sqrt()),
            false => (0.0, (squares(column) / entries(column).len().max(1) as f64).sqrt()),
        };
        for &row in &described {
            wanted[(row, column)] =
                (x[(row, column)] - shift) / if size > 0.0 { size } else { 1.0 };
        }
    }
    *x = wanted;
    measures.len()
}

fn auto() -> FeatureSettings {
    FeatureSettings { standardize: Standardize::Auto, ..Default::default() }
}

#[test]
fn measures_by_hand() {
    // An age, a sum of money that few have, a mark, the same for all; the last node has no row.
    #[rustfmt::skip]
    let x = Dense::from_row_slice(5, 4, &[
        10.0, 0.0, 1.0, 7.0,
        30.0, 0.0, 0.0, 7.0,
        10.0, 0.0, 0.0, 7.0,
        30.0, 500.0, 0.0, 7.0,
        0.0, 0.0, 0.0, 0.0,
    ]);
    #[rustfmt::skip]
    let wanted = [
        -1.0, 0.0, 1.0, 1.0,
        1.0, 0.0, 0.0, 1.0,
        -1.0, 0.0, 0.0, 1.0,
        1.0, 1.0, 0.0, 1.0,
        0.0, 0.0, 0.0, 0.0,
    ];
    let (adjacency, _) = graph(5, false, 1);
    for sparse in [false, true] {
        let features = features(&x, sparse);
        let transform = fit(&auto(), &features, &adjacency);
        assert_eq!(transform.measures, Some(vec![0]));
        let found = transform.apply_dense(&features, &[0, 1, 2, 3, 4]);
        assert_close(&wide(&found), &Dense::from_row_slice(5, 4, &wanted), 1e-6);
        // A row's norm has a 1 for each measure in it: √(1 + 1 + 1 + 1) and √(1 + 1 + 1).
        let settings = FeatureSettings { rows: RowScale::Norm(1.0), ..auto() };
        let found = fit(&settings, &features, &adjacency).apply_dense(&features, &[0, 1, 4]);
        let root = 3f64.sqrt().recip();
        #[rustfmt::skip]
        let wanted = [-0.5, 0.0, 0.5, 0.5, root, 0.0, 0.0, root, 0.0, 0.0, 0.0, 0.0];
        assert_close(&wide(&found), &Dense::from_row_slice(3, 4, &wanted), 1e-6);
    }
}

#[test]
fn units_do_not_matter() {
    let (adjacency, _) = graph(60, false, 2);
    let nodes: Vec<u32> = (0..60).collect();
    let settings = FeatureSettings { rows: RowScale::Norm(1.0), ..auto() };
    for (measures, sparse) in [(3, true), (3, false), (20, false), (16, true)] {
        let x = table(60, 20, measures, 5);
        let mut other = x.clone();
        for (column, mut values) in other.column_iter_mut().enumerate() {
            values *= 2f64.powi(column as i32 - 9);
        }
        let rows = [x, other].map(|x| {
            let features = features(&x, sparse);
            let transform = fit(&settings, &features, &adjacency);
            assert_eq!(transform.measures.as_ref().map(Vec::len), Some(measures));
            wide(&transform.apply_dense(&features, &nodes))
        });
        assert_close(&rows[1], &rows[0], 1e-6);
    }
}

#[test]
fn words_marks_and_rounding_are_no_measures() {
    let (adjacency, _) = graph(100, false, 3);
    let plain = |x: &Dense| {
        let features = features(x, true);
        let transform = fit(&auto(), &features, &adjacency);
        (transform.scale, transform.shift, transform.measures) == (None, None, None)
    };
    // Counts of words, of which one is nearly everywhere.
    let mut words = random(100, 200, 0.1, 4).map(|x| (3.0 * x.abs()).ceil());
    words.column_mut(7).iter_mut().enumerate().for_each(|(at, x)| *x = (at % 4) as f64);
    assert!(plain(&words));
    // Marks that most nodes have.
    assert!(plain(&random(100, 5, 0.8, 5).map(|x| f64::from(u8::from(x != 0.0)))));
    // A constant, written with and without rounding.
    let constant =
        |node: usize| f64::from(if node.is_multiple_of(2) { 0.1f32 } else { 0.1f32.next_up() });
    assert!(plain(&Dense::from_fn(100, 2, |node, column| match column {
        0 => constant(node),
        _ => 1.0,
    })));
    // A single measure is enough where it outweighs all words.
    words.column_mut(7).iter_mut().enumerate().for_each(|(at, x)| *x = 1e4 + at as f64);
    assert!(!plain(&words));
}

#[test]
fn features_stored_the_other_way_are_in_the_same_units() {
    let (adjacency, _) = graph(60, false, 2);
    let nodes: Vec<u32> = (0..60).collect();
    for measures in [2, 15] {
        let x = table(60, 20, measures, 6);
        for learnt in [true, false] {
            let transform = fit(&auto(), &features(&x, learnt), &adjacency);
            let [same, other] = [learnt, !learnt]
                .map(|sparse| wide(&transform.apply_dense(&features(&x, sparse), &nodes)));
            assert_close(&other, &same, 1e-5);
        }
    }
}
