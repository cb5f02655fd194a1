//! Tables of measures: which columns they are, and that no unit matters.

use super::*;

/// Mostly zeros, every other column of marks; the last columns are measures far from zero, each in a
/// unit of its own. One node in nine has nothing at all.
pub(super) fn table(nodes: usize, width: usize, measures: usize, seed: u64) -> Dense {
    let mut x = random(nodes, width, 0.3, seed);
    for mut column in x.column_iter_mut().step_by(2) {
        column.apply(|x| *x = f64::from(u8::from(*x != 0.0)));
    }
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
    let all: Vec<usize> = (0..x.nrows()).collect();
    let described: Vec<usize> =
        all.iter().copied().filter(|&row| x.row(row).amax() > 0.0).collect();
    let Some((measures, table)) = measures_of(x, &described) else { return 0 };
    // Whatever the kind, a measure far from zero tells that zeros are no numbers.
    let mut columns = 0..x.ncols();
    let far = columns.any(|c| is_measure(x, &described, c) && is_far(x, &described, c));
    let again = measures_of(x, &all).filter(|again| again.1 == table);
    let (measures, rows) = match again {
        Some(again) if !far => (again.0, all),
        _ => (measures, described),
    };
    let size = |columns: &[usize]| {
        let all: Vec<f64> = columns.iter().flat_map(|&c| entries(x, &rows, c)).collect();
        (all.iter().map(|x| x * x).sum::<f64>() / all.len().max(1) as f64).sqrt()
    };
    let drowned: Vec<usize> = (0..x.ncols())
        .filter(|column| !measures.contains(column) && !is_constant(x, &rows, *column))
        .collect();
    let units: Vec<(f64, f64)> = (0..x.ncols())
        .map(|column| {
            let values = x.column(column).select_rows(&rows);
            match (measures.contains(&column), !table && drowned.contains(&column)) {
                (true, _) => (values.mean(), values.variance().sqrt()),
                (false, false) => (0.0, size(&[column])),
                (false, true) => (0.0, size(&drowned)),
            }
        })
        .collect();
    for (column, (shift, size)) in units.into_iter().enumerate() {
        for &row in &rows {
            x[(row, column)] = (x[(row, column)] - shift) / if size > 0.0 { size } else { 1.0 };
        }
    }
    measures.len()
}

fn entries(x: &Dense, rows: &[usize], column: usize) -> Vec<f64> {
    rows.iter().map(|&row| x[(row, column)]).filter(|&x| x != 0.0).collect()
}

fn differ(x: &Dense, rows: &[usize], column: usize) -> bool {
    let found = entries(x, rows, column);
    found.iter().any(|&x| (x - found[0]).abs() > 1e-6 * x.abs())
}

fn is_measure(x: &Dense, rows: &[usize], column: usize) -> bool {
    2 * entries(x, rows, column).len() > rows.len() && differ(x, rows, column)
}

fn is_far(x: &Dense, rows: &[usize], column: usize) -> bool {
    let values = x.column(column).select_rows(rows);
    values.mean().abs() > 3.0 * values.variance().sqrt()
}

fn is_constant(x: &Dense, rows: &[usize], column: usize) -> bool {
    !differ(x, rows, column) && entries(x, rows, column).len() == rows.len()
}

/// Which columns are measures, and whether rows are a table of them.
fn measures_of(x: &Dense, rows: &[usize]) -> Option<(Vec<usize>, bool)> {
    let columns = 0..x.ncols();
    let measures: Vec<usize> = columns.clone().filter(|&c| is_measure(x, rows, c)).collect();
    let others = columns.clone().filter(|c| differ(x, rows, *c) && !measures.contains(c));
    let count =
        |columns: &[usize]| columns.iter().map(|&c| entries(x, rows, c).len()).sum::<usize>();
    if !measures.is_empty() && count(&measures) >= count(&others.collect::<Vec<_>>()) {
        return Some((measures, true));
    }
    let whole = |&c: &usize| entries(x, rows, c).len() == rows.len() || is_far(x, rows, c);
    let heavy: Vec<usize> = measures.into_iter().filter(whole).collect();
    let weight = |c: usize| entries(x, rows, c).iter().map(|x| x * x).sum::<f64>();
    let rest = columns.filter(|c| !heavy.contains(c) && !is_constant(x, rows, *c));
    let rest: f64 = rest.map(weight).sum();
    let drown = heavy.iter().map(|&c| weight(c)).sum::<f64>() > 20.0 * rest;
    drown.then_some((heavy, false))
}

fn auto() -> FeatureSettings {
    FeatureSettings { standardize: Standardize::Auto, ..Default::default() }
}

#[test]
fn measures_by_hand() {
    // An age, a sum of money that few have, a mark, the same for all; the last node has no row.
    #[rustfmt::skip]
    let x = Dense::from_row_slice(5, 4, &[
        40.0, 0.0, 1.0, 7.0,
        60.0, 0.0, 0.0, 7.0,
        40.0, 0.0, 0.0, 7.0,
        60.0, 500.0, 0.0, 7.0,
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
        let measures = transform.measures.as_ref().unwrap();
        assert_eq!((&measures.columns[..], measures.absent), (&[0][..], true));
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
    for (measures, sparse) in [(4, true), (4, false), (20, false), (16, true)] {
        let x = table(60, 20, measures, 5);
        let mut other = x.clone();
        for (column, mut values) in other.column_iter_mut().enumerate() {
            values *= 2f64.powi(column as i32 - 9);
        }
        let rows = [x, other].map(|x| {
            let features = features(&x, sparse);
            let transform = fit(&settings, &features, &adjacency);
            assert_eq!(transform.measures.as_ref().map(|m| m.columns.len()), Some(measures));
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
    // Counts of words as texts have them: the k-th most frequent 20 / k times in the mean, so that
    // the first dozens are in most of them.
    let mut stream = Stream::new(4, "words", 0);
    let words = Dense::from_fn(100, 2000, |_, column| {
        let mean = 20.0 / (column + 1) as f64;
        let drawn = (0..(20.0 * mean).ceil() as usize).filter(|_| stream.unit() < 0.05);
        if mean < 0.05 {
            f64::from(u8::from(stream.unit() < mean)) * 2.0
        } else {
            drawn.count() as f64
        }
    });
    let common = words.column_iter().filter(|c| c.iter().filter(|&&x| x != 0.0).count() > 50);
    assert!(common.count() > 15);
    assert!(plain(&words));
    assert!(plain(&words.map(|x| x.sqrt() / 100.0)));
    // Marks that most nodes have.
    let mut marks = random(100, 30, 0.8, 5).map(|x| f64::from(u8::from(x != 0.0)));
    assert!(plain(&marks));
    // A constant, written with and without rounding.
    let constant =
        |node: usize| f64::from(if node.is_multiple_of(2) { 0.1f32 } else { 0.1f32.next_up() });
    assert!(plain(&Dense::from_fn(100, 2, |node, column| match column {
        0 => constant(node),
        _ => 1.0,
    })));
    // Rounding makes no measures of marks, nor anything else that would outvote three of them.
    let mut rounded = marks.map(|x| 0.1 * x);
    rounded.row_iter_mut().step_by(2).for_each(|mut row| {
        row.apply(|x| {
            *x = if *x == 0.0 { 0.0 } else { f64::from((*x as f32).next_up()) };
        });
    });
    assert!(plain(&rounded));
    for column in 0..3 {
        rounded.column_mut(column).iter_mut().enumerate().for_each(|(at, x)| *x = (1 + at) as f64);
    }
    assert!(!plain(&rounded));
    // A single measure beside marks is enough, in whatever unit.
    for unit in [1e-6, 1.0, 1e6] {
        marks.column_mut(7).iter_mut().enumerate().for_each(|(at, x)| *x = unit * (1 + at) as f64);
        assert!(!plain(&marks));
    }
}

#[test]
fn measures_do_not_drown_weighted_words() {
    let (adjacency, _) = graph(80, false, 3);
    let nodes: Vec<u32> = (0..80).collect();
    let mut words = random(80, 120, 0.1, 7).map(f64::abs);
    words.column_mut(5).iter_mut().enumerate().for_each(|(at, x)| *x = (900 + 7 * at) as f64);
    // A year, the same for all.
    words.column_mut(6).fill(2020.0);
    // As they come, rows that add up to one, counts; and one price that was not known.
    for (unit, price) in [(1.0, 907.0), (1e-3, 907.0), (30.0, 907.0), (1.0, 0.0)] {
        let mut x = words.clone();
        for column in (0..120).filter(|column| ![5, 6].contains(column)) {
            x.column_mut(column).apply(|x| *x *= unit);
        }
        x[(1, 5)] = price;
        let mut wanted = x.clone();
        let prices = x.column(5);
        let (mean, deviation) = (prices.mean(), prices.variance().sqrt());
        wanted.column_mut(5).apply(|x| *x = (*x - mean) / deviation);
        wanted.column_mut(6).fill(1.0);
        let others = x.clone().remove_columns(5, 2);
        let entries = others.iter().filter(|x| **x != 0.0).count();
        let size = (others.norm_squared() / entries as f64).sqrt();
        for column in (0..120).filter(|column| ![5, 6].contains(column)) {
            wanted.column_mut(column).apply(|x| *x /= size);
        }
        for sparse in [false, true] {
            let features = features(&x, sparse);
            let transform = fit(&auto(), &features, &adjacency);
            assert_eq!(transform.measures.as_ref().unwrap().columns, [5]);
            assert_close(&wide(&transform.apply_dense(&features, &nodes)), &wanted, 1e-5);
        }
    }
    // In a unit in which it drowns nothing it is one column of many.
    words.column_mut(5).apply(|x| *x *= 1e-3);
    assert_eq!(fit(&auto(), &features(&words, true), &adjacency).measures, None);
}

#[test]
fn rows_that_nodes_lack_are_absent_where_zero_is_no_number_or_most_lack_them() {
    // Two nodes in five, or three, have no row. Ages around 40 are never zero; counts from 1 to 25, 13 in the
    // mean with a deviation of 7, may be, and zero is a number like others unless most are zero.
    let (adjacency, _) = graph(100, false, 3);
    for (least, lacking, absent) in [(28, 2, true), (28, 3, true), (1, 2, false), (1, 3, true)] {
        let mut x = Dense::from_fn(100, 2, |node, column| {
            let drawn = (node * 37 + column * 11) % 25;
            if node % 5 < lacking { 0.0 } else { (least + drawn) as f64 }
        });
        x[(4, 0)] = 0.0;
        let transform = fit(&auto(), &features(&x, false), &adjacency);
        assert_eq!(transform.measures.as_ref().unwrap().absent, absent, "{least}, {lacking}");
        let none = transform.apply_dense(&features(&x, false), &[0]).values;
        assert_eq!(none == [0.0, 0.0], absent, "{none:?}");
    }
}

#[test]
fn rows_of_zeros_are_rows_where_every_measure_may_be_zero() {
    // Two counts: a node that has neither is below the mean in both, not at it.
    let x =
        Dense::from_row_slice(6, 2, &[0.0, 0.0, 2.0, 0.0, 0.0, 3.0, 4.0, 1.0, 2.0, 2.0, 1.0, 3.0]);
    let (adjacency, _) = graph(6, false, 1);
    for sparse in [false, true] {
        let features = features(&x, sparse);
        let transform = fit(&auto(), &features, &adjacency);
        assert!(!transform.measures.as_ref().unwrap().absent);
        let found = transform.apply_dense(&features, &[0]).values;
        // By hand: means 1.5 and 1.5, variances 23/12 and 19/12.
        assert!((found[0] + 1.5 / (23f32 / 12.0).sqrt()).abs() < 1e-6, "{found:?}");
        assert!((found[1] + 1.5 / (19f32 / 12.0).sqrt()).abs() < 1e-6, "{found:?}");
    }
}

#[test]
fn numbers_as_large_and_small_as_they_come_are_scaled() {
    let (adjacency, _) = graph(40, false, 1);
    let nodes: Vec<u32> = (0..40).collect();
    let x = Dense::from_fn(40, 3, |node, column| {
        let sign = if node.is_multiple_of(2) { 1.0 } else { -1.0 };
        [3e38, 1e-40, 1.5][column] * (sign + if column == 2 { 3.0 } else { 0.0 })
    });
    for sparse in [false, true] {
        let features = features(&x, sparse);
        let transform = fit(&auto(), &features, &adjacency);
        // What is too small to be divided is left alone.
        assert_eq!(transform.measures.as_ref().unwrap().columns, [0, 2]);
        for (node, row) in transform.apply_dense(&features, &nodes).values.chunks(3).enumerate() {
            let sign = if node % 2 == 0 { 1.0 } else { -1.0 };
            assert!((row[0] - sign).abs() < 1e-5 && (row[2] - sign).abs() < 1e-5, "{row:?}");
        }
    }
    // Nothing but that: as it was.
    let tiny = features(&Dense::from_fn(40, 2, |node, _| 1e-40 * (1.0 + node as f64)), false);
    assert_eq!(fit(&auto(), &tiny, &adjacency).measures, None);
}

#[test]
fn structural_columns_are_all_standardised() {
    let (adjacency, _) = graph(60, false, 2);
    let features = crate::graph::structural(&adjacency, 1);
    let settings = FeatureSettings { structural: true, ..auto() };
    let transform = fit(&settings, &features, &adjacency);
    let all = FeatureSettings { standardize: Standardize::All, ..settings };
    let wanted = fit(&all, &features, &adjacency);
    assert_eq!((&transform.scale, &transform.shift), (&wanted.scale, &wanted.shift));
    assert!(transform.shift.is_some() && transform.measures.is_none());
    assert!(fit(&auto(), &features, &adjacency).measures.is_some());
}

#[test]
fn features_stored_the_other_way_are_in_the_same_units() {
    let (adjacency, _) = graph(60, false, 2);
    let nodes: Vec<u32> = (0..60).collect();
    for measures in [4, 15] {
        let x = table(60, 20, measures, 6);
        for learnt in [true, false] {
            let transform = fit(&auto(), &features(&x, learnt), &adjacency);
            assert!(transform.measures.is_some());
            let [same, other] = [learnt, !learnt]
                .map(|sparse| wide(&transform.apply_dense(&features(&x, sparse), &nodes)));
            assert_close(&other, &same, 1e-5);
        }
    }
}
