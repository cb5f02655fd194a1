use super::*;
use crate::rng::Stream;

fn blobs(count: usize, classes: usize) -> (Matrix<f32>, Vec<u32>) {
    let mut stream = Stream::new(9, "blobs", classes as u64);
    let y: Vec<u32> = (0..count).map(|row| (row % classes) as u32).collect();
    let value = |at: usize, stream: &mut Stream| {
        let (row, column) = (at / 4, at % 4);
        let center = if row % classes == column { 1.0 } else { 0.0 };
        (center + stream.normal()) as f32
    };
    let x = (0..count * 4).map(|at| value(at, &mut stream)).collect();
    (Matrix::of(count, 4, x), y)
}

fn tight(c: f64) -> LogisticSettings {
    LogisticSettings { c, tolerance: 1e-10, steps: 5000 }
}

fn far(a: &Logistic, b: &Logistic) -> f64 {
    let both = a.coefficients.values.iter().zip(&b.coefficients.values);
    let both = both.chain(a.intercepts.iter().zip(&b.intercepts));
    both.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn two_points_by_hand() {
    // x = ±1 with classes 1 and 0: b = 0, and 2 c σ(−w) = w. With c = 1 / (2 σ(−1)),
    // w = 1.
    let x = Matrix::of(2, 1, vec![1.0, -1.0]);
    let c = (1.0 + 1f64.exp()) / 2.0;
    let fit = Logistic::fit(&x, &[1, 0], 2, &tight(c), None).unwrap();
    assert!(fit.converged);
    assert!((fit.coefficients.values[0] - 1.0).abs() < 1e-8, "{fit:?}");
    assert!(fit.intercepts[0].abs() < 1e-8);
    assert_eq!(classes_of(&fit.scores(&x)), [1, 0]);
}

#[test]
fn without_weight_on_rows_only_class_sizes_are_left() {
    let (x, mut y) = blobs(90, 3);
    y[0] = 1;
    let fit = Logistic::fit(&x, &y, 3, &tight(1e-9), None).unwrap();
    assert!(fit.coefficients.values.iter().all(|w| w.abs() < 1e-6));
    // softmax(b) = (29, 31, 30) / 90.
    assert!((fit.intercepts[1] - fit.intercepts[0] - (31f64 / 29.0).ln()).abs() < 1e-6);
    assert!((fit.intercepts[2] - fit.intercepts[0] - (30f64 / 29.0).ln()).abs() < 1e-6);
}

#[test]
fn every_row_twice_is_twice_the_c() {
    let (x, y) = blobs(80, 3);
    let twice = Matrix::of(160, 4, [x.values.clone(), x.values.clone()].concat());
    let fit = Logistic::fit(&x, &y, 3, &tight(2.0), None).unwrap();
    let other = Logistic::fit(&twice, &[y.clone(), y].concat(), 3, &tight(1.0), None).unwrap();
    assert!(fit.converged && other.converged);
    assert!(far(&fit, &other) < 1e-7, "{}", far(&fit, &other));
}

#[test]
fn larger_rows_and_smaller_c_undo_each_other() {
    // Rows times 8 and c over 64 give weights over 8: exact in binary up to rounding.
    let (x, y) = blobs(80, 4);
    let large = Matrix::of(80, 4, x.values.iter().map(|x| 8.0 * x).collect());
    let fit = Logistic::fit(&x, &y, 4, &tight(4.0), None).unwrap();
    let mut other = Logistic::fit(&large, &y, 4, &tight(4.0 / 64.0), None).unwrap();
    other.coefficients.values.iter_mut().for_each(|w| *w *= 8.0);
    assert!(far(&fit, &other) < 1e-6, "{}", far(&fit, &other));
}

#[test]
fn order_of_rows_does_not_count() {
    let (x, y) = blobs(120, 3);
    let turned: Vec<f32> = (0..120).rev().flat_map(|row| x.row(row).to_vec()).collect();
    let turned_y: Vec<u32> = y.iter().rev().copied().collect();
    let fit = Logistic::fit(&x, &y, 3, &tight(1.0), None).unwrap();
    let other =
        Logistic::fit(&Matrix::of(120, 4, turned), &turned_y, 3, &tight(1.0), None).unwrap();
    assert!(far(&fit, &other) < 1e-7);
}

/// Rows of two classes that one column tells, but for noise of this deviation, and too many others for a metric to be
/// found at once, so that an eighth of the rows is fitted first.
fn wide_blobs(width: usize, noise: f64) -> (Matrix<f32>, Vec<u32>) {
    let mut stream = Stream::new(12, "noise", 0);
    let mut values = Vec::with_capacity(MANY * width);
    for row in 0..MANY {
        values.push((if row % 2 == 0 { 1.0 } else { -1.0 } + noise * stream.normal()) as f32);
        values.extend((1..width).map(|_| stream.normal() as f32));
    }
    (Matrix::of(MANY, width, values), (0..MANY as u32).map(|row| row % 2).collect())
}

#[test]
fn an_eighth_first_ends_at_the_same_place() {
    let (x, y) = wide_blobs(40, 1.0);
    let settings = LogisticSettings { tolerance: 1e-9, ..LogisticSettings::default() };
    let fit = Logistic::fit(&x, &y, 2, &settings, None).unwrap();
    let start =
        Logistic { coefficients: Matrix::zeros(1, 40), intercepts: vec![0.0; 1], ..fit.clone() };
    let whole = Logistic::fit(&x, &y, 2, &settings, Some(&start)).unwrap();
    assert!(fit.converged && whole.converged);
    assert!(far(&fit, &whole) < 1e-6, "{}", far(&fit, &whole));
    let again = Logistic::fit(&x, &y, 2, &settings, Some(&fit)).unwrap();
    assert_eq!(again.steps, 0);
}

#[test]
fn what_an_eighth_showed_is_forgotten_where_it_was_learnt_by_heart() {
    // Some 512 rows; with 600 columns of noise they can be told apart knowing nothing.
    for (width, noise, by_heart) in [(600, 1e3, true), (40, 0.3, false)] {
        let (x, y) = wide_blobs(width, noise);
        let fitting = Fitting::one(&x, &y, 2);
        let likelihood = fitting.likelihood();
        let weights = vec![0.0; likelihood.weights()];
        let mut descent = Descent { weights, history: History::default(), steps: 0, penalty: 1e-5 };
        let familiar = descent.eighth(likelihood, 1e-4, 1000);
        assert!(!descent.history.is_empty());
        let (double, until) = (false, descent.steps);
        let goal = Goal { tolerance: 1e-4, double, until, familiar };
        descent.stage(likelihood, goal, None);
        assert_eq!(descent.history.is_empty(), by_heart, "{width} columns");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    for (x, y) in [blobs(6000, 4), wide_blobs(40, 1.0)] {
        let classes = 1 + *y.iter().max().unwrap() as usize;
        let fit = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let settings = LogisticSettings::default();
            pool.install(|| Logistic::fit(&x, &y, classes, &settings, None).unwrap())
        };
        assert_eq!(fit(1), fit(3));
    }
}

#[test]
fn settings_outside_their_range_are_refused() {
    let usual = LogisticSettings::default();
    for (settings, wanted) in [
        (LogisticSettings { c: 0.0, ..usual }, "c = 0: choose a finite number above 0"),
        (LogisticSettings { c: f64::NAN, ..usual }, "c = NaN: choose a finite number above 0"),
        (
            LogisticSettings { tolerance: -1.0, ..usual },
            "tolerance = -1: choose a finite number above 0",
        ),
        (LogisticSettings { steps: 0, ..usual }, "steps = 0: choose at least 1"),
    ] {
        assert_eq!(settings.validate().unwrap_err().to_string(), wanted);
    }
    let (x, y) = blobs(60, 3);
    let fit = Logistic::fit(&x, &y, 3, &LogisticSettings { steps: 1, ..tight(1.0) }, None);
    assert!(!fit.unwrap().converged);
}

/// Twelve columns of sizes 1 to 10⁻³ that hang together, and three classes among them.
fn flat_ways(count: usize) -> (Matrix<f32>, Vec<u32>) {
    let mut stream = Stream::new(5, "flat", 0);
    let mut values = Vec::new();
    let mut y = Vec::new();
    for _ in 0..count {
        let common = stream.normal();
        let row: Vec<f64> = (0..12).map(|_| stream.normal()).collect();
        y.push((row[11] > 0.4) as u32 + (row[11] + row[3] > 0.0) as u32);
        let size = |at: usize| 10f64.powf(-(at as f64) / 11.0 * 3.0);
        values.extend(row.iter().enumerate().map(|(at, x)| (size(at) * (x + common)) as f32));
    }
    (Matrix::of(count, 12, values), y)
}

#[test]
fn a_metric_leads_to_the_same_weights_in_fewer_steps() {
    // 12 columns for 3 classes: a metric costs four passes and is found at once. Repeated
    // columns of zeros leave too few rows a column for one.
    let (x, y) = flat_ways(600);
    let wide: Vec<f32> = x.values.chunks(12).flat_map(|x| [x, &[0.0; 150]].concat()).collect();
    let wide = Matrix::of(600, 162, wide);
    assert!(Fitting::one(&x, &y, 3).price() == Some(4));
    assert!(Fitting::one(&wide, &y, 3).price().is_none());
    for c in [1.0, 30.0, 1000.0] {
        let fast = Logistic::fit(&x, &y, 3, &tight(c), None).unwrap();
        let patient = LogisticSettings { steps: 50_000, ..tight(c) };
        let slow = Logistic::fit(&wide, &y, 3, &patient, None).unwrap();
        assert!(fast.converged && slow.converged, "{c}: {} {}", fast.gradient, slow.gradient);
        // What all classes have in common is free in b, and penalised in W.
        let scores = |mut fit: Logistic, rows: &Matrix<f32>| {
            let mean = fit.intercepts.iter().sum::<f64>() / 3.0;
            fit.intercepts.iter_mut().for_each(|b| *b -= mean);
            fit.scores(rows)
        };
        let steps = [fast.steps, slow.steps];
        let (fast_scores, slow_scores) = (scores(fast, &x), scores(slow, &wide));
        let largest = slow_scores.values.iter().fold(0.0, |m: f64, z| m.max(z.abs()));
        for (fast, slow) in fast_scores.values.iter().zip(&slow_scores.values) {
            assert!((fast - slow).abs() < 1e-4 * largest, "c = {c}: {fast} {slow}");
        }
        assert!(steps[0] < steps[1], "c = {c}: {steps:?}");
    }
}

#[test]
fn a_small_derivative_is_not_taken_for_the_end_of_a_flat_way() {
    // From the fit at one c to that at a thousand times as much, with the usual tolerance.
    let (x, y) = flat_ways(4000);
    let usual = LogisticSettings::default();
    let objective = |fit: &Logistic, c: f64| {
        let scores = fit.scores(&x);
        let loss = |z: &[f64], y: u32| z.iter().map(|z| z.exp()).sum::<f64>().ln() - z[y as usize];
        let losses: f64 = (0..4000).map(|row| loss(scores.row(row), y[row])).sum();
        c * losses + fit.coefficients.values.iter().map(|w| w * w).sum::<f64>() / 2.0
    };
    let fitting = Fitting::one(&x, &y, 3);
    let first = fitting.fit(&LogisticSettings { c: 1.0, ..usual }, None).unwrap();
    let found = fitting.fit(&LogisticSettings { c: 1e3, ..usual }, Some(&first)).unwrap();
    let exact = fitting.fit(&tight(1e3), None).unwrap();
    let (found, exact) = (objective(&found, 1e3), objective(&exact, 1e3));
    assert!(found < exact * 1.0001, "{found} {exact}");
}

#[test]
fn a_costly_metric_waits_until_it_is_needed() {
    // 80 columns for one output: 80 passes. The weak columns carry the class.
    let mut stream = Stream::new(6, "wait", 0);
    let y: Vec<u32> = (0..400).map(|row| row % 2).collect();
    let size = |at: usize| if at < 40 { 1.0 } else { 1e-3 };
    let value = |row: usize, at: usize, stream: &mut Stream| {
        let class = if at >= 40 { 0.4 * (row % 2) as f64 } else { 0.0 };
        (size(at) * (class + stream.normal())) as f32
    };
    let x: Vec<f32> = (0..400 * 80).map(|at| value(at / 80, at % 80, &mut stream)).collect();
    let x = Matrix::of(400, 80, x);
    let fitting = Fitting::one(&x, &y, 2);
    assert_eq!(fitting.price(), Some(80));
    let easy = fitting.fit(&LogisticSettings { c: 1e-3, ..Default::default() }, None).unwrap();
    assert!(easy.converged && fitting.moments.get().is_none());
    let hard = fitting.fit(&tight(1e5), None).unwrap();
    assert!(hard.converged && fitting.moments.get().is_some(), "{} steps", hard.steps);
    let few = LogisticSettings { steps: 80, ..tight(1e5) };
    let few = Fitting::one(&x, &y, 2).fit(&few, None).unwrap();
    assert!(!few.converged && few.steps == 80);
}

#[test]
fn classes_that_lie_far_apart_are_fitted_at_any_c_in_few_steps() {
    // Where hardly any loss is left, a share of it would ask for digits that are not there.
    let mut stream = Stream::new(8, "apart", 0);
    let y: Vec<u32> = (0..400).map(|row| row % 2).collect();
    let side = |row: usize| if row.is_multiple_of(2) { -3.0 } else { 3.0 };
    let x: Vec<f32> = (0..800).map(|at| (side(at / 2) + 0.5 * stream.normal()) as f32).collect();
    let x = Matrix::of(400, 2, x);
    let fitting = Fitting::one(&x, &y, 2);
    assert_eq!(fitting.price(), Some(2));
    let mut before: Option<Logistic> = None;
    let loss = |fit: &Logistic| -> f64 {
        let scores = fit.scores(&x).values;
        let sides = scores.iter().zip(&y).map(|(z, &y)| if y == 1 { -z } else { *z });
        sides.map(|z| z.exp().ln_1p()).sum::<f64>() / 400.0
    };
    for c in [1e-3, 1.0, 1e3, 1e6] {
        let settings = LogisticSettings { c, ..Default::default() };
        let warm = fitting.fit(&settings, before.as_ref()).unwrap();
        let cold = fitting.fit(&settings, None).unwrap();
        assert!(warm.converged && cold.converged && warm.steps + cold.steps < 100, "c = {c}");
        assert!((loss(&warm) - loss(&cold)).abs() < 1e-4, "c = {c}");
        before = Some(warm);
    }
}

#[test]
fn rows_without_columns_are_fitted_by_their_classes_alone() {
    let x = Matrix::of(4, 0, Vec::new());
    let fit = Logistic::fit(&x, &[0, 1, 1, 1], 2, &tight(1.0), None).unwrap();
    assert!((fit.intercepts[0] - 3f64.ln()).abs() < 1e-6, "{fit:?}");
}
