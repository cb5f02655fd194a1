//! A step of training gives what PyTorch's autograd gives.
//!
//! `state.json` is written by `make.py` beside it, which says what is in it. Batches
//! are assembled here by hand, from the file's contexts and edges, in every form that
//! a batch may have: features dense or sparse, nodes shown once or in every place.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod assemble;
mod fused;
mod state;

use assemble::{Form, adjacency, assemble, forms};
use state::{Case, EncoderState, State};
use subgcon::batch::Batch;
use subgcon::config::{Negatives, ObjectiveSettings, OptimizerSettings, Preset, ReadoutSettings};
use subgcon::context::{AdjacencyView, ContextSettings, Contexts, Flags, Method, context};
use subgcon::contrast::{Contrast, Pairs, contrast, d_summarize, summarize};
use subgcon::encoder::Encoder;
use subgcon::math::{Matrix, Real};
use subgcon::progress::Silent;
use subgcon::train::{Adam, Moments};

/// Everything that a step computes.
struct Step<T> {
    rows: Matrix<T>,
    centers: Matrix<T>,
    summaries: Matrix<T>,
    contrast: Contrast<T>,
    gradients: Encoder<T>,
}

fn step<T: Real>(
    encoder: &Encoder<T>,
    batch: &Batch<T>,
    readout: &ReadoutSettings,
    objective: &ObjectiveSettings,
    pairs: &Pairs,
) -> Step<T> {
    let (rows, tape) = encoder.forward(batch);
    let mut centers = Matrix::zeros(batch.contexts(), rows.width);
    for (context, &row) in batch.centers.iter().enumerate() {
        centers.row_mut(context).copy_from_slice(rows.row(row as usize));
    }
    let summaries = summarize(readout, &rows, &batch.members);
    let contrast = contrast(objective, pairs, &centers, &summaries);
    let mut d_rows = Matrix::zeros(rows.rows, rows.width);
    d_summarize(readout, &rows, &batch.members, &summaries, &contrast.d_summaries, &mut d_rows);
    for (context, &row) in batch.centers.iter().enumerate() {
        let d_center = contrast.d_centers.row(context);
        d_rows.row_mut(row as usize).iter_mut().zip(d_center).for_each(|(d, &x)| *d += x);
    }
    let mut gradients = encoder.zeros_like();
    encoder.backward(batch, &tape, &d_rows, &mut gradients);
    Step { rows, centers, summaries, contrast, gradients }
}

/// One step of Adam on every parameter.
fn adam<T: Real>(
    adam: &Adam<T>,
    encoder: &mut Encoder<T>,
    moments: &mut Moments<T>,
    gradients: &mut Encoder<T>,
) {
    let first = moments.first.parameters();
    let second = moments.second.parameters();
    let moving = encoder.parameters().into_iter().zip(gradients.parameters());
    for ((parameter, gradient), (first, second)) in moving.zip(first.into_iter().zip(second)) {
        adam.apply_all(parameter.values, first.values, second.values, gradient.values);
    }
}

/// The encoder of the file. Its names and sizes have to be the library's own.
fn encoder_of(state: &EncoderState, inputs: usize) -> Encoder<f64> {
    let mut encoder = Encoder::new(&state.settings, inputs, 0);
    let parameters = encoder.parameters();
    let mut names: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    names.sort_unstable();
    let expected: Vec<&str> = state.parameters.keys().map(String::as_str).collect();
    assert_eq!(names, expected);
    for parameter in parameters {
        let given = &state.parameters[&parameter.name];
        assert_eq!(parameter.shape, given.shape, "{}", parameter.name);
        parameter.values.copy_from_slice(&given.values);
    }
    encoder
}

fn matrix(rows: &[Vec<f64>]) -> Matrix<f64> {
    Matrix::of(rows.len(), rows[0].len(), rows.concat())
}

fn pairs_of(objective: &ObjectiveSettings, state: &State) -> Pairs {
    match objective.negatives {
        Negatives::Shuffles(shuffles) => Pairs::Shuffles(state.shuffles[..shuffles].to_vec()),
        Negatives::AllPairs => Pairs::All,
    }
}

/// Every number within `relative` of what it should be, or within `absolute` where it
/// is next to nothing.
#[track_caller]
fn close<T: Real>(what: &str, found: &[T], expected: &[f64], relative: f64, absolute: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let error = (found.wide() - expected).abs();
        assert!(
            error <= relative * expected.abs() + absolute,
            "{what}, number {at}: {found:?} instead of {expected:?}",
        );
    }
}

/// Rounding, in double precision, of sums of about a hundred terms of size 1.
fn same(what: &str, found: &[f64], expected: &[f64]) {
    close(what, found, expected, 1e-9, 1e-13);
}

/// All that the file knows of a case, in one form of the batch.
fn check(state: &State, case: &Case, form: Form) {
    let what = |part: &str| format!("{}, {form:?}: {part}", case.name);
    let of_file = &state.encoders[&case.encoder];
    let placed = assemble(state, of_file, &case.readout, form);
    let mut encoder = encoder_of(of_file, state.features[0].len());
    let pairs = pairs_of(&case.objective, state);
    let run = |encoder: &Encoder<f64>| {
        step(encoder, &placed.batch, &case.readout, &case.objective, &pairs)
    };

    let mut first = run(&encoder);
    for (place, expected) in of_file.rows.iter().enumerate() {
        let row = first.rows.row(placed.rows[place] as usize);
        same(&what(&format!("row {place}")), row, expected);
    }
    same(&what("centers"), &first.centers.values, &case.centers.concat());
    same(&what("summaries"), &first.summaries.values, &case.summaries.concat());
    same(&what("loss"), &[first.contrast.loss], &[case.loss]);
    same(&what("retrieval"), &[first.contrast.retrieval], &[case.retrieval]);
    for parameter in first.gradients.parameters() {
        let name = format!("gradient of {}", parameter.name);
        same(&what(&name), parameter.values, &case.gradients[&parameter.name]);
    }

    let optimizer =
        OptimizerSettings { weight_decay: case.weight_decay, ..OptimizerSettings::default() };
    let mut moments = Moments { first: encoder.zeros_like(), second: encoder.zeros_like() };
    let mut gradients = first.gradients;
    for (number, &expected) in case.losses.iter().enumerate() {
        let this = Adam::at(&optimizer, number as u64 + 1, case.losses.len() as u64);
        adam(&this, &mut encoder, &mut moments, &mut gradients);
        let next = run(&encoder);
        same(&what(&format!("loss after step {}", number + 1)), &[next.contrast.loss], &[expected]);
        gradients = next.gradients;
    }
}

/// All cases whose name passes, in all forms; at least `least` of them.
fn check_all(least: usize, passes: impl Fn(&str) -> bool) {
    let state = State::read();
    let mut checked = 0;
    for case in state.cases.iter().filter(|case| passes(&case.name)) {
        for form in forms(state.encoders[&case.encoder].settings.kind) {
            check(&state, case, form);
        }
        checked += 1;
    }
    assert!(checked >= least, "{checked} cases");
}

#[test]
fn contexts_are_those_of_a_dense_solve() {
    let state = State::read();
    let settings = ContextSettings {
        size: state.size,
        restart: state.restart,
        method: Method::Exact,
        ..ContextSettings::default()
    };
    for (name, graph) in &state.graphs {
        let adjacency = adjacency(graph, state.features.len());
        let view = AdjacencyView::new(&adjacency);
        let table = Contexts::sample(&view, &settings, &Silent).unwrap();
        for (node, expected) in graph.contexts.iter().enumerate() {
            let what = format!("{name}, node {node}");
            let alone = context(&view, node as u32, &settings).unwrap();
            assert_eq!(&alone.nodes, expected, "{what}");
            assert_eq!(alone.flags.has(Flags::SHORT), expected.len() < state.size, "{what}");
            // Single precision.
            close(&what, &alone.pagerank, &graph.pagerank[node], 1e-6, 0.0);
            assert_eq!(table.nodes(node), expected, "{what}, in the table");
        }
    }
}

#[test]
fn gcn() {
    check_all(7, |name| name.starts_with("gcn") && !name.contains(' '));
}

#[test]
fn gat() {
    check_all(5, |name| name.starts_with("gat"));
}

#[test]
fn gin() {
    check_all(4, |name| name.starts_with("gin"));
}

#[test]
fn mlp() {
    check_all(2, |name| name.starts_with("mlp"));
}

#[test]
fn objectives() {
    let kinds = ["margin", "logistic", "bpr", "info-nce"];
    check_all(25, |name| name.split(' ').nth(1).is_some_and(|kind| kinds.contains(&kind)));
}

#[test]
fn readouts() {
    check_all(16, |name| name.contains(" readout "));
}

#[test]
fn weight_decay() {
    check_all(1, |name| name == "gcn weight decay");
}

/// The preset means the released program's step, whose settings the file carries.
#[test]
fn the_reference_preset_is_the_released_step() {
    let state = State::read();
    let preset = Preset::Reference.settings();
    let case = state.cases.iter().find(|case| case.name == "reference").unwrap();
    let encoder = &state.encoders[&case.encoder].settings;
    assert_eq!(preset.objective, case.objective);
    assert_eq!(preset.readout, case.readout);
    assert_eq!((preset.encoder.kind, preset.encoder.layers), (encoder.kind, encoder.layers));
    let plain = OptimizerSettings { weight_decay: case.weight_decay, ..Default::default() };
    assert_eq!(preset.optimizer, plain);
    check_all(1, |name| name == "reference");
}

/// Summaries and objectives of the file's own rows: whoever fails here does not need to
/// look at encoders.
#[test]
fn contrast_of_given_rows() {
    let state = State::read();
    for case in &state.cases {
        let what = |part: &str| format!("{}: {part}", case.name);
        let of_file = &state.encoders[&case.encoder];
        // A row for each place, as in the file.
        let form = forms(of_file.settings.kind).last().unwrap();
        let batch = assemble(&state, of_file, &case.readout, form).batch;
        let rows = matrix(&of_file.rows);
        let summaries = summarize(&case.readout, &rows, &batch.members);
        same(&what("summaries"), &summaries.values, &case.summaries.concat());
        let pairs = pairs_of(&case.objective, &state);
        let found = contrast(&case.objective, &pairs, &matrix(&case.centers), &summaries);
        same(&what("loss"), &[found.loss], &[case.loss]);
        same(&what("retrieval"), &[found.retrieval], &[case.retrieval]);
    }
}

/// What runs in single precision is the same within its rounding.
#[test]
fn single_precision_is_near() {
    let state = State::read();
    for case in &state.cases {
        let of_file = &state.encoders[&case.encoder];
        let form = forms(of_file.settings.kind).next().unwrap();
        let batch = assemble(&state, of_file, &case.readout, form).batch.cast::<f32>();
        let encoder = encoder_of(of_file, state.features[0].len()).cast::<f32>();
        let pairs = pairs_of(&case.objective, &state);
        let mut found = step(&encoder, &batch, &case.readout, &case.objective, &pairs);
        let what = |part: &str| format!("{}: {part}", case.name);
        close(&what("loss"), &[found.contrast.loss], &[case.loss], 1e-5, 0.0);
        for parameter in found.gradients.parameters() {
            let expected = &case.gradients[&parameter.name];
            let largest = expected.iter().fold(0f64, |most, x| most.max(x.abs()));
            close(&what(&parameter.name), parameter.values, expected, 0.0, 1e-4 * largest);
        }
    }
}

/// Derivatives are added to what is there, as two batches of one step need it.
#[test]
fn gradients_are_added() {
    let state = State::read();
    for case in state.cases.iter().filter(|case| case.name == case.encoder) {
        let of_file = &state.encoders[&case.encoder];
        let form = forms(of_file.settings.kind).next().unwrap();
        let batch = assemble(&state, of_file, &case.readout, form).batch;
        let encoder = encoder_of(of_file, state.features[0].len());
        let (rows, tape) = encoder.forward(&batch);
        let d_rows = Matrix::of(rows.rows, rows.width, vec![0.5; rows.values.len()]);
        let (mut once, mut twice) = (encoder.zeros_like(), encoder.zeros_like());
        encoder.backward(&batch, &tape, &d_rows, &mut once);
        encoder.backward(&batch, &tape, &d_rows, &mut twice);
        encoder.backward(&batch, &tape, &d_rows, &mut twice);
        for (once, twice) in once.parameters().iter().zip(twice.parameters()) {
            let doubled: Vec<f64> = once.values.iter().map(|x| 2.0 * x).collect();
            same(&format!("{}: {}", case.name, once.name), twice.values, &doubled);
        }
    }
}
