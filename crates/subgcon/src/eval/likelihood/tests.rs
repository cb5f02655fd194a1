use super::*;
use crate::rng::Stream;

const WIDTH: usize = 5;
const OUTPUTS: usize = 4;

struct Case {
    rows: Matrix<f32>,
    classes: Vec<u32>,
    members: Vec<u8>,
    weights: Vec<f64>,
}

impl Case {
    fn new(count: usize) -> Case {
        let mut stream = Stream::new(5, "likelihood", 0);
        let rows = (0..count * WIDTH).map(|_| stream.normal() as f32).collect();
        Case {
            rows: Matrix::of(count, WIDTH, rows),
            classes: (0..count).map(|_| stream.below(OUTPUTS as u64) as u32).collect(),
            members: (0..count * OUTPUTS).map(|_| stream.below(2) as u8).collect(),
            weights: (0..OUTPUTS * (WIDTH + 1)).map(|_| stream.normal()).collect(),
        }
    }

    fn both(&self) -> [Likelihood<'_>; 2] {
        [Targets::Classes(&self.classes), Targets::Members(&self.members)]
            .map(|targets| Likelihood { rows: &self.rows, targets, outputs: OUTPUTS, some: None })
    }
}

/// The equations, as they are written.
fn naive(likelihood: &Likelihood<'_>, weights: &[f64]) -> f64 {
    let mut sum = 0.0;
    for row in 0..likelihood.rows.rows {
        let z: Vec<f64> = (0..OUTPUTS)
            .map(|k| {
                let x = likelihood.rows.row(row).iter().map(|&x| f64::from(x));
                let w = &weights[k * WIDTH..(k + 1) * WIDTH];
                x.zip(w).map(|(x, w)| x * w).sum::<f64>() + weights[OUTPUTS * WIDTH + k]
            })
            .collect();
        sum += match likelihood.targets {
            Targets::Classes(of) => {
                z.iter().map(|z| z.exp()).sum::<f64>().ln() - z[of[row] as usize]
            }
            Targets::Members(of) => (0..OUTPUTS)
                .map(|k| (1.0 + z[k].exp()).ln() - f64::from(of[row * OUTPUTS + k]) * z[k])
                .sum(),
        };
    }
    sum / likelihood.rows.rows as f64
}

#[test]
fn values_equal_the_naive_ones() {
    // Three parts and a bit.
    let case = Case::new(3500);
    let mut gradient = vec![0.0; case.weights.len()];
    for likelihood in case.both() {
        let wanted = naive(&likelihood, &case.weights);
        assert!((likelihood.mean::<f64>(&case.weights, &mut gradient) - wanted).abs() < 1e-12);
        let mut single = gradient.clone();
        let found = likelihood.mean::<f32>(&case.weights, &mut single);
        assert!((found - wanted).abs() < 1e-6);
        let far = single.iter().zip(&gradient).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far < 1e-6, "{far}");
    }
}

#[test]
fn derivatives_equal_central_differences() {
    let case = Case::new(300);
    for likelihood in case.both() {
        let mut gradient = vec![0.0; case.weights.len()];
        likelihood.mean::<f64>(&case.weights, &mut gradient);
        for at in 0..gradient.len() {
            let moved = |by: f64| {
                let mut weights = case.weights.clone();
                weights[at] += by;
                naive(&likelihood, &weights)
            };
            let wanted = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((gradient[at] - wanted).abs() < 1e-8, "{at}: {} {wanted}", gradient[at]);
        }
    }
}

#[test]
fn large_scores_do_not_overflow() {
    let mut case = Case::new(40);
    case.weights.iter_mut().for_each(|w| *w *= 1e4);
    for likelihood in case.both() {
        let mut gradient = vec![0.0; case.weights.len()];
        assert!(likelihood.mean::<f32>(&case.weights, &mut gradient).is_finite());
        assert!(gradient.iter().all(|g| g.is_finite() && g.abs() < 10.0));
    }
}

#[test]
fn a_sample_counts_as_its_rows_do_by_themselves() {
    let case = Case::new(4000);
    for likelihood in case.both() {
        assert!((400..600).contains(&likelihood.sample(8).len()));
        // Of several parts.
        let sample = likelihood.sample(2);
        assert!((1900..2100).contains(&sample.len()), "{}", sample.len());
        let rows = case.rows.picked(&sample);
        let members = |of: &[u8]| -> Vec<u8> {
            sample
                .iter()
                .flat_map(|&row| of[row as usize * OUTPUTS..][..OUTPUTS].to_vec())
                .collect()
        };
        let (classes, members) = match likelihood.targets {
            Targets::Classes(of) => (sample.iter().map(|&row| of[row as usize]).collect(), vec![]),
            Targets::Members(of) => (Vec::new(), members(of)),
        };
        let targets = match likelihood.targets {
            Targets::Classes(_) => Targets::Classes(&classes),
            Targets::Members(_) => Targets::Members(&members),
        };
        let alone = Likelihood { rows: &rows, targets, outputs: OUTPUTS, some: None };
        let some = Likelihood { some: Some(&sample), ..likelihood };
        let found = |of: &Likelihood<'_>| {
            let mut gradient = vec![0.0; case.weights.len()];
            let single = of.mean::<f32>(&case.weights, &mut gradient);
            let mut wide = vec![0.0; case.weights.len()];
            let double = of.mean::<f64>(&case.weights, &mut wide);
            (single, double, of.first_step(&gradient, 0.1), gradient, wide)
        };
        assert_eq!(found(&some), found(&alone));
    }
}

#[test]
fn the_first_step_goes_to_the_bottom_of_the_parabola() {
    // As many rows as it looks at: the parabola is that of the whole loss, by differences of derivatives
    // at zero weights.
    let case = Case::new(60);
    for likelihood in case.both() {
        let (penalty, zero) = (0.01, vec![0.0; likelihood.weights()]);
        let penalised = OUTPUTS * WIDTH;
        let derivative = |weights: &[f64]| {
            let mut derivative = vec![0.0; weights.len()];
            likelihood.mean::<f64>(weights, &mut derivative);
            (0..penalised).for_each(|at| derivative[at] += penalty * weights[at]);
            derivative
        };
        let down = derivative(&zero);
        let a_little: Vec<f64> = down.iter().map(|d| -1e-6 * d).collect();
        let after = derivative(&a_little);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        // The slope along the way falls from |d|² to d·d' in 1e-6, and to nothing in:
        let wanted = 1e-6 * dot(&down, &down) / (dot(&down, &down) - dot(&down, &after));
        let found = likelihood.first_step(&down, penalty);
        assert!((found / wanted - 1.0).abs() < 1e-4, "{found} instead of {wanted}");
    }
}

#[test]
fn a_first_step_that_cannot_be_told_is_short() {
    let case = Case::new(100);
    for likelihood in case.both() {
        let rows = Matrix::of(100, WIDTH, vec![3e38f32; 100 * WIDTH]);
        let huge = Likelihood { rows: &rows, ..likelihood };
        // Of length 100; nowhere to go; no number.
        let mut down = vec![0.0; likelihood.weights()];
        assert_eq!(likelihood.first_step(&down, 0.1), 1.0);
        (down[0], down[1]) = (60.0, -80.0);
        assert!(likelihood.first_step(&down, 0.1) > 0.0);
        (down[0], down[1]) = (60.0, 80.0);
        assert_eq!(huge.first_step(&down, 0.1), 0.01);
        down[0] = f64::NAN;
        assert!(likelihood.first_step(&down, 0.1) > 0.0);
    }
}
