//! Evaluation gives what scikit-learn gives.
//!
//! `golden/eval.json` is written by `eval.py` beside it, which says what is in it.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use serde_json::Value;
use subgcon::eval::kmeans::{KMeansSettings, group_probe, k_means};
use subgcon::eval::logistic::classes_of;
use subgcon::eval::neighbours::nearest;
use subgcon::eval::{Figures, Logistic, LogisticSettings, ProbeSettings, metrics, probe, sim_at};
use subgcon::graph::{Labels, Split};
use subgcon::math::Matrix;

fn state(part: &str) -> Value {
    let mut state: Value = serde_json::from_str(include_str!("golden/eval.json")).unwrap();
    state[part].take()
}

fn cases(part: &str) -> Vec<Value> {
    state(part).as_array().unwrap().clone()
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn integers(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|x| x.as_u64().unwrap() as u32).collect()
}

fn count(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

fn matrix(values: &Value, width: &Value) -> Matrix<f32> {
    let values: Vec<f32> = floats(values).into_iter().map(|x| x as f32).collect();
    Matrix::of(values.len() / count(width), count(width), values)
}

fn labels(classes: &Value) -> Labels {
    let classes: Vec<Option<i64>> = floats(classes).iter().map(|&c| Some(c as i64)).collect();
    Labels::from_integers(&classes)
}

fn near(found: f64, wanted: &Value, tolerance: f64) {
    let wanted = wanted.as_f64().unwrap();
    assert!((found - wanted).abs() <= tolerance, "{found} instead of {wanted}");
}

/// Relative to the largest: what is close to zero by chance has no digits of its own.
fn all_near(found: &[f64], wanted: &[f64], tolerance: f64) {
    assert_eq!(found.len(), wanted.len());
    let scale = wanted.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((found - wanted).abs() <= tolerance * scale, "{found} instead of {wanted}");
    }
}

/// How far a weight may be off at a tolerance of 1e-9, as a share of the largest.
const CLOSE: f64 = 2e-5;

fn tight(c: &Value) -> LogisticSettings {
    LogisticSettings { c: c.as_f64().unwrap(), tolerance: 1e-9, steps: 10_000 }
}

/// Coefficients and intercepts, where they are determined.
fn same_model(found: &Logistic, wanted: &Value, tolerance: f64) {
    assert!(found.converged, "{}", found.gradient);
    all_near(&found.coefficients.values, &floats(&wanted["coefficients"]), tolerance);
    all_near(&found.intercepts, &floats(&wanted["intercepts"]), tolerance);
}

#[test]
fn one_class_a_row() {
    for case in cases("fits") {
        let (x, y) = (matrix(&case["x"], &case["width"]), integers(&case["y"]));
        let (fresh, classes) = (matrix(&case["fresh"], &case["width"]), count(&case["classes"]));
        let mut previous: Option<Logistic> = None;
        for wanted in case["models"].as_array().unwrap() {
            let settings = tight(&wanted["c"]);
            let fit = Logistic::fit(&x, &y, classes, &settings, None).unwrap();
            same_model(&fit, wanted, CLOSE);
            assert_eq!(classes_of(&fit.scores(&fresh)), integers(&wanted["answers"]));
            // From another c the same is reached.
            let start = previous.replace(fit);
            same_model(
                &Logistic::fit(&x, &y, classes, &settings, start.as_ref()).unwrap(),
                wanted,
                CLOSE,
            );
            // At the usual tolerance flat directions are still open (scikit-learn's own are),
            // but answers hardly change.
            let usual = LogisticSettings { c: settings.c, ..LogisticSettings::default() };
            let usual = Logistic::fit(&x, &y, classes, &usual, None).unwrap();
            assert!(usual.converged);
            let answers = classes_of(&usual.scores(&fresh));
            assert!(metrics::accuracy(&integers(&wanted["answers"]), &answers) > 0.97);
        }
    }
}

#[test]
fn any_number_of_classes_a_row() {
    for case in cases("rest") {
        let (x, outputs) = (matrix(&case["x"], &case["width"]), count(&case["outputs"]));
        let y: Vec<u8> = integers(&case["y"]).iter().map(|&y| y as u8).collect();
        for wanted in case["models"].as_array().unwrap() {
            let fit = Logistic::fit_members(&x, &y, outputs, &tight(&wanted["c"]), None).unwrap();
            same_model(&fit, wanted, CLOSE);
            let scores = fit.scores(&x).values;
            let answers: Vec<u32> = scores.iter().map(|&score| u32::from(score > 0.0)).collect();
            assert_eq!(answers, integers(&wanted["answers"]));
        }
    }
}

#[test]
fn whole_probes() {
    for case in cases("probes") {
        let x = matrix(&case["x"], &case["width"]);
        let roles = integers(&case["roles"]).iter().map(|&role| role as u8).collect();
        let labels = if case["several"].as_bool().unwrap() {
            let members: Vec<u8> = integers(&case["y"]).iter().map(|&y| y as u8).collect();
            let names = (0..members.len() / x.rows).map(|class| class.to_string()).collect();
            Labels::Multi { members: members.into(), names }
        } else {
            labels(&case["y"])
        };
        let settings = ProbeSettings {
            normalise: case["normalise"].as_bool().unwrap(),
            standardise: case["standardise"].as_bool().unwrap(),
            tolerance: 1e-8,
            steps: 20_000,
            ..ProbeSettings::default()
        };
        // The grid that scikit-learn was given.
        let settings = settings.with_grid(vec![1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3]);
        let split = Split { name: "golden".into(), roles };
        let found = probe(&x, &labels, &split, &settings).unwrap();
        let wanted = &case["report"];
        assert!(found.tried.iter().all(|tried| tried.converged), "{:?}", found.tried);
        near(found.c, &wanted["c"], 0.0);
        for (tried, wanted) in found.tried.iter().zip(wanted["tried"].as_array().unwrap()) {
            match tried.surprise {
                Some(surprise) => near(-surprise, wanted, 1e-6),
                None => near(tried.validation.unwrap(), wanted, 1e-12),
            }
        }
        let agree = |found: Figures, wanted: &Value| {
            near(found.accuracy, &wanted["accuracy"], 1e-12);
            near(found.micro_f1, &wanted["micro_f1"], 1e-12);
            near(found.macro_f1, &wanted["macro_f1"], 1e-12);
            match found.auc {
                Some(auc) => near(auc, &wanted["auc"], 1e-12),
                None => assert!(wanted["auc"].is_null()),
            }
        };
        agree(found.train, &wanted["train"]);
        agree(found.validation.unwrap(), &wanted["validation"]);
        agree(found.test, &wanted["test"]);
    }
}

#[test]
fn answers_and_groups() {
    for case in cases("answers") {
        let (truth, answers) = (integers(&case["truth"]), integers(&case["answers"]));
        near(metrics::accuracy(&truth, &answers), &case["accuracy"], 1e-14);
        let f1 = metrics::f1(&truth, &answers);
        near(f1.micro, &case["micro_f1"], 1e-14);
        near(f1.macro_mean, &case["macro_f1"], 1e-14);
        near(metrics::mutual_information(&truth, &answers), &case["nmi"], 1e-12);
        near(metrics::adjusted_rand(&truth, &answers), &case["ari"], 1e-12);
    }
}

#[test]
fn rankings() {
    for case in cases("scores") {
        let (truths, falses) = (floats(&case["truths"]), floats(&case["falses"]));
        near(metrics::roc_auc(&truths, &falses).unwrap(), &case["auc"], 1e-13);
        let precision = metrics::average_precision(&truths, &falses).unwrap();
        near(precision, &case["average_precision"], 1e-13);
    }
}

#[test]
fn neighbours() {
    let case = state("neighbours");
    let (x, labels) = (matrix(&case["x"], &case["width"]), labels(&case["y"]));
    let nodes: Vec<u32> = (0..x.rows as u32).collect();
    let found: Vec<u32> =
        nearest(&x, &nodes, &nodes, 10).iter().flatten().map(|near| near.node).collect();
    assert_eq!(found, integers(&case["near"]));
    let sim = sim_at(&x, &labels, &[5, 10]).unwrap().at;
    near(sim[0].unwrap(), &case["sim_5"], 1e-14);
    near(sim[1].unwrap(), &case["sim_10"], 1e-14);
}

#[test]
fn groups_of_rows() {
    let case = state("groups");
    let (x, labels) = (matrix(&case["x"], &case["width"]), labels(&case["y"]));
    let found = k_means(&x, &KMeansSettings::new(5, 1)).unwrap();
    near(found.inertia, &case["inertia"], 1e-4);
    let report = group_probe(x, &labels, 2).unwrap().unwrap();
    near(report.nmi, &case["nmi"], 1e-12);
    near(report.ari, &case["ari"], 1e-12);
}
