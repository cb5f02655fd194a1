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

#[test]
fn a_quarter_first_ends_at_the_same_place() {
    let (x, y) = blobs(3 * MANY, 4);
    let fit = Logistic::fit(&x, &y, 4, &tight(1.0), None).unwrap();
    let zero =
        Logistic { coefficients: Matrix::zeros(4, 4), intercepts: vec![0.0; 4], ..fit.clone() };
    let whole = Logistic::fit(&x, &y, 4, &tight(1.0), Some(&zero)).unwrap();
    assert!(fit.converged && whole.converged);
    assert!(far(&fit, &whole) < 1e-6, "{}", far(&fit, &whole));
    let again = Logistic::fit(&x, &y, 4, &tight(1.0), Some(&fit)).unwrap();
    assert_eq!(again.steps, 0);
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let (x, y) = blobs(6000, 4);
    let fits: Vec<Logistic> = [1, 3]
        .map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Logistic::fit(&x, &y, 4, &LogisticSettings::default(), None))
        })
        .into_iter()
        .map(|fit| fit.unwrap())
        .collect();
    assert_eq!(fits[0], fits[1]);
}

#[test]
fn settings_outside_their_range_are_refused() {
    let usual = LogisticSettings::default();
    for (settings, wanted) in [
        (LogisticSettings { c: 0.0, ..usual }, "c = 0: choose a number above 0"),
        (LogisticSettings { c: f64::NAN, ..usual }, "c = NaN: choose a number above 0"),
        (LogisticSettings { tolerance: -1.0, ..usual }, "tolerance = -1: choose a number above 0"),
        (LogisticSettings { steps: 0, ..usual }, "steps = 0: choose at least 1"),
    ] {
        assert_eq!(settings.validate().unwrap_err().to_string(), wanted);
    }
    let (x, y) = blobs(60, 3);
    let fit = Logistic::fit(&x, &y, 3, &LogisticSettings { steps: 1, ..tight(1.0) }, None);
    assert!(!fit.unwrap().converged);
}
