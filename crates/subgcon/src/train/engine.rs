//! One step: a function of parameters and a batch.
//!
//! One-layer GCN and GCN + Skip with a readout that is a weighted sum, and no linear map
//! after them, take the fused path ([`Fused`]); everything else takes the general one. Both agree on the same
//! encoder up to rounding.

use super::adam::{Adam, Moments};
use super::fused::{Arrays, Fused};
use crate::batch::Batch;
use crate::config::{ObjectiveSettings, ReadoutKind, ReadoutSettings, Settings};
use crate::contrast::{
    Contrast, Pairs, contrast, d_summarize, judge, named_pairs, summarize, summarize_prelu,
};
use crate::encoder::{Encoder, Gcn, Layer, Spare, linear};
use crate::math::{Matrix, Real, Simd};

/// What a step tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// The value of the objective before the step.
    pub loss: f64,
    /// Share of pairs in which the own summary scores higher.
    pub retrieval: f64,
}

/// Parameters, their moments, and the way they are moved.
#[derive(Debug)]
pub(super) enum Engine {
    Fused(Box<Fused>),
    General(Box<General<f32>>),
}

impl Engine {
    pub(super) fn new(settings: &Settings, encoder: Encoder<f32>, moments: Moments<f32>) -> Engine {
        let sums = settings.readout.kind != ReadoutKind::Max;
        let one_gcn = matches!(encoder.layers.as_slice(), [Layer::Gcn(_)]);
        if !(sums && one_gcn && encoder.linear.is_none()) {
            return Engine::General(Box::new(General::new(encoder, moments)));
        }
        let (sigmoid, level) = (settings.readout.sigmoid, Simd::detect());
        // One after another: they are the largest things in memory.
        let (weight, skip, bias, slope) = arrays(encoder);
        let mut fused = Fused::new(&weight, skip.as_ref(), &bias, &slope, sigmoid, level);
        drop((weight, skip));
        fused.put_first_moments(&arrays(moments.first));
        fused.put_second_moments(&arrays(moments.second));
        Engine::Fused(Box::new(fused))
    }

    pub(super) fn step(
        &mut self,
        settings: &Settings,
        batch: &Batch<f32>,
        pairs: &Pairs,
        adam: &Adam<f32>,
    ) -> Outcome {
        match self {
            Engine::Fused(fused) => {
                let (objective, contexts) = (&settings.objective, batch.contexts());
                let (loss, retrieval) = match named_pairs(objective, pairs, contexts) {
                    Some(named) => fused.step_pairs(batch, adam, &named, |scores| {
                        judge(objective, pairs, contexts, scores)
                    }),
                    None => fused.step(batch, adam, |centers, summaries| {
                        contrast(objective, pairs, centers, summaries)
                    }),
                };
                Outcome { loss, retrieval }
            }
            Engine::General(general) => {
                general.step(&settings.readout, &settings.objective, batch, pairs, adam)
            }
        }
    }

    /// Parameters in plain layout.
    pub(super) fn encoder(&self) -> Encoder<f32> {
        match self {
            Engine::Fused(fused) => encoder(fused.parameters()),
            Engine::General(general) => general.encoder.clone(),
        }
    }

    /// Moments in plain layout.
    pub(super) fn moments(&self) -> Moments<f32> {
        match self {
            Engine::Fused(fused) => Moments {
                first: encoder(fused.first_moments()),
                second: encoder(fused.second_moments()),
            },
            Engine::General(general) => general.moments.clone(),
        }
    }
}

/// Of a one-layer GCN.
fn arrays(mut encoder: Encoder<f32>) -> Arrays {
    match encoder.layers.pop() {
        Some(Layer::Gcn(Gcn { weight, skip, bias, slope })) => (weight, skip, bias, slope),
        _ => unreachable!("parameters and moments are those of one GCN layer"),
    }
}

fn encoder((weight, skip, bias, slope): Arrays) -> Encoder<f32> {
    Encoder { layers: vec![Layer::Gcn(Gcn { weight, skip, bias, slope })], linear: None }
}

/// Any encoder, readout and objective, in `f32` or, to be checked, in `f64`.
#[derive(Debug)]
pub struct General<T> {
    /// The parameters.
    pub encoder: Encoder<T>,
    /// Their moments.
    pub moments: Moments<T>,
    gradient: Encoder<T>,
    spare: Spare<T>,
}

impl<T: Real> General<T> {
    /// Starts from parameters and moments.
    pub fn new(encoder: Encoder<T>, moments: Moments<T>) -> General<T> {
        let gradient = encoder.zeros_like();
        General { encoder, moments, gradient, spare: Spare::new() }
    }

    /// Value and gradient at the present parameters.
    pub fn gradient(
        &mut self,
        readout: &ReadoutSettings,
        objective: &ObjectiveSettings,
        batch: &Batch<T>,
        pairs: &Pairs,
    ) -> (Outcome, &mut Encoder<T>) {
        for parameter in self.gradient.parameters() {
            parameter.values.fill(T::ZERO);
        }
        let (encoder, gradient) = (&self.encoder, &mut self.gradient);
        // What stands between the layers' rows and the contrast: a linear map may wait
        // until rows are summed up, but not for what is no sum.
        let sums = readout.kind != ReadoutKind::Max && !readout.sigmoid;
        if encoder.linear.is_some() && !sums {
            let (rows, tape) = encoder.forward(batch);
            let summaries = summarize(readout, &rows, &batch.members);
            let made = contrast(objective, pairs, &rows.picked(&batch.centers), &summaries);
            let mut d_rows = Matrix::zeros(rows.rows, rows.width);
            to_rows(readout, batch, (&rows, &summaries), &made, &mut d_rows);
            encoder.backward(batch, &tape, &d_rows, gradient);
            return (made.outcome(), gradient);
        }
        let spare = &mut self.spare;
        let wants_rows = readout.kind == ReadoutKind::Max;
        let (rows, tape) = encoder.layers_forward(batch, wants_rows, spare);
        let last = encoder.last_prelu(&tape);
        let (summaries, centers) = match &rows {
            Some(rows) => (summarize(readout, rows, &batch.members), rows.picked(&batch.centers)),
            None => {
                let mut centers = Matrix::zeros(batch.contexts(), last.z.width);
                for (at, &row) in batch.centers.iter().enumerate() {
                    last.write(row, centers.row_mut(at));
                }
                (summarize_prelu(readout, last, &batch.members), centers)
            }
        };
        let made = match (&encoder.linear, &mut gradient.linear) {
            (Some(weight), Some(d)) => {
                let (h, s) =
                    (linear::forward(&centers, weight), linear::forward(&summaries, weight));
                let mut made = contrast(objective, pairs, &h, &s);
                made.d_centers = linear::backward((&centers, weight), &made.d_centers, d);
                made.d_summaries = linear::backward((&summaries, weight), &made.d_summaries, d);
                made
            }
            _ => contrast(objective, pairs, &centers, &summaries),
        };
        let mut d_rows = spare.take(last.z.rows, last.z.width);
        let seen = rows.as_ref().unwrap_or(last.z);
        to_rows(readout, batch, (seen, &summaries), &made, &mut d_rows);
        rows.into_iter().for_each(|rows| spare.give(rows));
        encoder.layers_backward(batch, &tape, d_rows, gradient, spare);
        tape.give_to(spare);
        (made.outcome(), gradient)
    }

    /// One step of Adam.
    pub fn step(
        &mut self,
        readout: &ReadoutSettings,
        objective: &ObjectiveSettings,
        batch: &Batch<T>,
        pairs: &Pairs,
        adam: &Adam<T>,
    ) -> Outcome {
        let (outcome, _) = self.gradient(readout, objective, batch, pairs);
        let moments = &mut self.moments;
        let first = moments.first.parameters();
        let second = moments.second.parameters();
        let gradient = self.gradient.parameters();
        let all = self.encoder.parameters().into_iter().zip(first).zip(second).zip(gradient);
        for (((w, m), v), g) in all {
            adam.apply_all(w.values, m.values, v.values, g.values);
        }
        outcome
    }
}

/// Writes the derivative by the rows that centers and summaries were made from.
fn to_rows<T: Real>(
    readout: &ReadoutSettings,
    batch: &Batch<T>,
    (rows, summaries): (&Matrix<T>, &Matrix<T>),
    made: &Contrast<T>,
    d_rows: &mut Matrix<T>,
) {
    d_summarize(readout, rows, &batch.members, summaries, &made.d_summaries, d_rows);
    for (context, &row) in batch.centers.iter().enumerate() {
        let d_center = made.d_centers.row(context);
        d_rows.row_mut(row as usize).iter_mut().zip(d_center).for_each(|(d, &more)| *d += more);
    }
}

impl<T> Contrast<T> {
    fn outcome(&self) -> Outcome {
        Outcome { loss: self.loss, retrieval: self.retrieval }
    }
}
