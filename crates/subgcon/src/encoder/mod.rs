//! From features to rows: weights and a batch.
//!
//! One file a layer, forward and backward side by side. A layer's derivative has
//! the layer's own type. All of them are written for any [`Real`]: `f64` is what
//! central differences check.
//!
//! Every layer ends as PReLU(z + bias). What forward keeps of a layer is z, (rows, width):
//! the rows themselves are had from it. `source` says what a layer multiplies,
//! `spread` goes along the arcs and back, `alone` makes rows for embedding.

mod alone;
mod attention;
mod gat;
mod gcn;
mod gin;
mod init;
mod layer;
mod mlp;
mod prelu;
mod rows;
mod source;
mod spare;
mod spread;
#[cfg(test)]
mod tests;

use crate::batch::{Batch, Propagation};
use crate::config::{EncoderKind, EncoderSettings};
use crate::math::{Matrix, Real};

use alone::Seen;
use init::Draw;
use layer::{Kept, Paths};
use source::Source;
use spare::Spare;

pub use gat::Gat;
pub use gcn::Gcn;
pub use gin::Gin;
pub use layer::Layer;
pub use mlp::Mlp;

/// A parameter with its name, to be saved or moved.
#[derive(Debug)]
pub struct Parameter<'a, T> {
    /// Such as `layers.0.weight`.
    pub name: String,
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// Row-major.
    pub values: &'a mut [T],
}

/// Layers, one on another.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoder<T> {
    /// First to last.
    pub layers: Vec<Layer<T>>,
}

impl EncoderKind {
    /// What the arcs of a batch have to be for it.
    pub fn propagation(self) -> Propagation {
        match self {
            EncoderKind::Gcn | EncoderKind::GcnSkip => Propagation::Normalized,
            EncoderKind::Gat => Propagation::WithSelf,
            EncoderKind::Gin => Propagation::Plain,
            EncoderKind::Mlp => Propagation::None,
        }
    }
}

/// What forward keeps for backward, a layer each.
#[derive(Debug)]
pub struct Tape<T>(Vec<Kept<T>>);

impl<T: Real> Encoder<T> {
    /// Random weights (Xavier, uniform), zero biases, slopes of 0.25.
    pub fn new(settings: &EncoderSettings, inputs: usize, seed: u64) -> Encoder<T> {
        assert!(settings.layers > 0 && settings.width > 0, "an encoder has layers and width");
        let inputs = |layer| if layer == 0 { inputs } else { settings.width };
        let layer = |at| Layer::new(settings, inputs(at), &mut Draw::of_layer(seed, at));
        Encoder { layers: (0..settings.layers).map(layer).collect() }
    }

    /// The same shape, all zero: where derivatives are added up.
    pub fn zeros_like(&self) -> Encoder<T> {
        let mut zeros = self.clone();
        zeros.layers.iter_mut().flat_map(Layer::fields_mut).for_each(|values| values.fill(T::ZERO));
        zeros
    }

    /// Every parameter, always in the same order.
    pub fn parameters(&mut self) -> Vec<Parameter<'_, T>> {
        let names: Vec<_> =
            self.named().into_iter().map(|(name, shape, _)| (name, shape)).collect();
        let values = self.layers.iter_mut().flat_map(Layer::fields_mut);
        let named = names.into_iter().zip(values);
        named.map(|((name, shape), values)| Parameter { name, shape, values }).collect()
    }

    /// Name, shape and values of every parameter, in the order of [`Encoder::parameters`].
    pub fn named(&self) -> Vec<(String, Vec<usize>, &[T])> {
        let mut named = Vec::new();
        for (at, layer) in self.layers.iter().enumerate() {
            let name = |name| format!("layers.{at}.{name}");
            let fields = layer.fields().into_iter();
            named.extend(fields.map(|(field, shape, values)| (name(field), shape, values)));
        }
        named
    }

    /// In other numbers.
    pub fn cast<U: Real>(&self) -> Encoder<U> {
        Encoder { layers: self.layers.iter().map(Layer::cast).collect() }
    }

    /// Rows of the last layer, (rows, width), and what backward needs.
    pub fn forward(&self, batch: &Batch<T>) -> (Matrix<T>, Tape<T>) {
        let mut spare = Spare::new();
        let mut tape = Vec::with_capacity(self.layers.len());
        let mut rows: Option<Matrix<T>> = None;
        for layer in &self.layers {
            let at = rows.as_ref().map_or_else(|| Source::batch(batch), Source::rows);
            let (out, kept) = layer.forward(&at, &batch.arcs, &mut spare);
            tape.push(kept);
            if let Some(before) = rows.replace(out) {
                spare.give(before);
            }
        }
        (rows.expect("an encoder has layers"), Tape(tape))
    }

    /// Adds the derivatives by all parameters, given those by the rows.
    pub fn backward(
        &self,
        batch: &Batch<T>,
        tape: &Tape<T>,
        d_rows: &Matrix<T>,
        d: &mut Encoder<T>,
    ) {
        let mut spare = Spare::new();
        let paths = Paths::of(&batch.arcs, &self.layers);
        let mut d_out: Option<Matrix<T>> = None;
        for (at, (layer, d)) in self.layers.iter().zip(&mut d.layers).enumerate().rev() {
            let kept = &tape.0[at];
            let z = kept.z();
            let mut d_z = spare.take(z.rows, z.width);
            let d_last = d_out.as_ref().unwrap_or(d_rows);
            prelu::backward(z, layer.last().1, d_last, &mut d_z, d.last_mut());
            d_out.into_iter().for_each(|d_out| spare.give(d_out));
            // The rows before: a pass over z is little beside a product with them.
            let before = (at > 0).then(|| {
                let z = tape.0[at - 1].z();
                let mut rows = spare.take(z.rows, z.width);
                prelu::forward(z, self.layers[at - 1].last().1, &mut rows);
                rows
            });
            let source = before.as_ref().map_or_else(|| Source::batch(batch), Source::rows);
            d_out = layer.backward((&source, kept), &paths, d_z, d, at > 0, &mut spare);
            before.into_iter().for_each(|rows| spare.give(rows));
        }
    }

    /// Rows of the centers, (contexts, width), as [`Encoder::rows`].
    pub fn centers(&self, batch: &Batch<T>) -> Matrix<T> {
        self.rows(batch, &batch.centers)
    }

    /// Some rows of the last layer, (wanted, width): those of [`Encoder::forward`] up to
    /// rounding, but made alone. A row's bits do not depend on what else is
    /// wanted or in the batch.
    pub fn rows(&self, batch: &Batch<T>, wanted: &[u32]) -> Matrix<T> {
        // What is wanted of each layer, last to first.
        let mut wanted_of = vec![wanted.to_vec()];
        for _ in 1..self.layers.len() {
            let next = alone::before(&wanted_of[wanted_of.len() - 1], &batch.arcs);
            wanted_of.push(next);
        }
        wanted_of.reverse();
        let mut made: Option<Matrix<T>> = None;
        for (at, (layer, wanted)) in self.layers.iter().zip(&wanted_of).enumerate() {
            let seen = match &made {
                None => Seen::batch(batch, self.layers.len()),
                Some(rows) => Seen::rows(rows, &wanted_of[at - 1], batch.rows()),
            };
            let out = layer.alone(&seen, &batch.arcs, wanted);
            made = Some(out);
        }
        made.expect("an encoder has layers")
    }
}
