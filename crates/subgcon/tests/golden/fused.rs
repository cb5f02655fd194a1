//! The fused step of a one-layer GCN gives the same, in single precision.

use subgcon::config::{EncoderKind, OptimizerSettings, ReadoutKind};
use subgcon::contrast::contrast;
use subgcon::math::{Matrix, Simd};
use subgcon::train::{Adam, Fused};

use crate::assemble::{Form, assemble, forms};
use crate::state::{Case, EncoderState, State};
use crate::{close, pairs_of};

fn covers(encoder: &EncoderState, case: &Case) -> bool {
    matches!(encoder.settings.kind, EncoderKind::Gcn | EncoderKind::GcnSkip)
        && encoder.settings.layers == 1
        && case.readout.kind != ReadoutKind::Max
}

#[test]
fn fused_steps_are_the_same() {
    let state = State::read();
    let mut checked = 0;
    for case in &state.cases {
        let encoder = &state.encoders[&case.encoder];
        if !covers(encoder, case) {
            continue;
        }
        for form in forms(encoder.settings.kind) {
            check(&state, encoder, case, form);
        }
        checked += 1;
    }
    assert!(checked >= 40, "{checked} cases");
}

fn check(state: &State, encoder: &EncoderState, case: &Case, form: Form) {
    let what = |part: &str| format!("{}, {form:?}: {part}", case.name);
    let batch = assemble(state, encoder, &case.readout, form).batch.cast::<f32>();
    let narrow = |name: &str| -> Option<Vec<f32>> {
        let given = encoder.parameters.get(&format!("layers.0.{name}"))?;
        Some(given.values.iter().map(|&x| x as f32).collect())
    };
    let width = encoder.settings.width;
    let matrix = |name| narrow(name).map(|values| Matrix::of(values.len() / width, width, values));
    let (weight, skip) = (matrix("weight").unwrap(), matrix("skip"));
    let (bias, slope) = (narrow("bias").unwrap(), narrow("slope").unwrap());
    let sigmoid = case.readout.sigmoid;
    let mut fused = Fused::new(&weight, skip.as_ref(), &bias, &slope, sigmoid, Simd::detect());

    let optimizer =
        OptimizerSettings { weight_decay: case.weight_decay, ..OptimizerSettings::default() };
    let pairs = pairs_of(&case.objective, state);
    let losses = [&[case.loss], case.losses.as_slice()].concat();
    for (number, &expected) in losses.iter().enumerate() {
        let adam = Adam::at(&optimizer, number as u64 + 1, losses.len() as u64);
        let (loss, retrieval) = fused.step(&batch, &adam, |centers, summaries| {
            contrast(&case.objective, &pairs, centers, summaries)
        });
        close(&what(&format!("loss after {number} steps")), &[loss], &[expected], 1e-5, 0.0);
        if number > 0 {
            continue;
        }
        close(&what("retrieval"), &[retrieval], &[case.retrieval], 1e-9, 0.0);
        // After one step the first moment is a tenth of the gradient, decay included.
        let (d_weight, d_skip, d_bias, d_slope) = fused.first_moments();
        let found = [
            ("weight", Some(d_weight.values)),
            ("skip", d_skip.map(|skip| skip.values)),
            ("bias", Some(d_bias)),
            ("slope", Some(d_slope)),
        ];
        for (name, found) in found {
            let name = format!("layers.0.{name}");
            assert_eq!(found.is_some(), case.gradients.contains_key(&name), "{}", what(&name));
            let Some(found) = found else { continue };
            let given = &encoder.parameters[&name].values;
            let expected: Vec<f64> = case.gradients[&name]
                .iter()
                .zip(given)
                .map(|(d, w)| 0.1 * (d + case.weight_decay * w))
                .collect();
            let largest = expected.iter().fold(0f64, |most, x| most.max(x.abs()));
            close(&what(&name), &found, &expected, 0.0, 1e-5 * largest);
        }
    }
}
