//! From features to rows: weights and a batch.
//!
//! One file a layer, forward and backward side by side. A layer's derivative has
//! the layer's own type. All of them are written for any [`Real`]: `f64` is what
//! central differences check.
//!
//! Every layer ends as PReLU(z + bias). Forward keeps z, (rows, width), of every layer, and
//! the rows of those that another follows. A linear map may come last. `source` says what a layer multiplies,
//! `spread` goes along the arcs and back, `alone` makes rows for embedding.

mod alone;
mod attention;
mod gat;
mod gcn;
mod gin;
mod init;
mod layer;
pub(crate) mod linear;
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
use crate::math::{Matrix, Real, rows_product};

use alone::Seen;
use init::Draw;
use layer::{Kept, Paths};
use source::Source;

pub use gat::Gat;
pub use gcn::Gcn;
pub use gin::Gin;
pub use layer::Layer;
pub use mlp::Mlp;
pub(crate) use prelu::Prelu;
pub(crate) use spare::Spare;

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
    /// What their rows are multiplied with at the end, (width, width). See `linear`.
    pub linear: Option<Matrix<T>>,
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

impl EncoderSettings {
    /// Whether rows that are the same are worth being found ([`Batch::distinct`]): a single layer that
    /// does more for a row than add up others.
    pub(crate) fn wants_distinct_rows(&self) -> bool {
        self.layers == 1 && matches!(self.kind, EncoderKind::Gat | EncoderKind::Gin)
    }
}

/// What forward keeps for backward.
#[derive(Debug)]
pub struct Tape<T> {
    /// A layer each.
    kept: Vec<Kept<T>>,
    /// Rows of every layer but the last. They could be had from `kept`, but making them
    /// again is a pass over memory that a large step feels.
    hidden: Vec<Matrix<T>>,
    /// Rows of the last layer, where a linear map follows them.
    last: Option<Matrix<T>>,
}

impl<T: Real> Tape<T> {
    /// When backward is done.
    pub(crate) fn give_to(self, spare: &mut Spare<T>) {
        self.kept.into_iter().for_each(|kept| kept.give_to(spare));
        self.hidden.into_iter().chain(self.last).for_each(|rows| spare.give(rows));
    }
}

impl<T: Real> Encoder<T> {
    /// Random weights (Xavier, uniform), zero biases, slopes of 0.25.
    pub fn new(settings: &EncoderSettings, inputs: usize, seed: u64) -> Encoder<T> {
        assert!(settings.layers > 0 && settings.width > 0, "an encoder has layers and width");
        let inputs = |layer| if layer == 0 { inputs } else { settings.width };
        let layer = |at| Layer::new(settings, inputs(at), &mut Draw::of_layer(seed, at));
        let layers = (0..settings.layers).map(layer).collect();
        let mut draw = Draw::of_layer(seed, settings.layers);
        let linear = settings.linear.then(|| draw.matrix(settings.width, settings.width));
        Encoder { layers, linear }
    }

    /// The same shape, all zero: where derivatives are added up.
    pub fn zeros_like(&self) -> Encoder<T> {
        let mut zeros = self.clone();
        zeros.fields_mut().for_each(|values| values.fill(T::ZERO));
        zeros
    }

    /// Every parameter, always in the same order.
    pub fn parameters(&mut self) -> Vec<Parameter<'_, T>> {
        let names: Vec<_> =
            self.named().into_iter().map(|(name, shape, _)| (name, shape)).collect();
        let named = names.into_iter().zip(self.fields_mut());
        named.map(|((name, shape), values)| Parameter { name, shape, values }).collect()
    }

    fn fields_mut(&mut self) -> impl Iterator<Item = &mut [T]> {
        let linear = self.linear.iter_mut().map(|linear| linear.values.as_mut_slice());
        self.layers.iter_mut().flat_map(Layer::fields_mut).chain(linear)
    }

    /// Name, shape and values of every parameter, in the order of [`Encoder::parameters`].
    pub fn named(&self) -> Vec<(String, Vec<usize>, &[T])> {
        let mut named = Vec::new();
        for (at, layer) in self.layers.iter().enumerate() {
            let name = |name| format!("layers.{at}.{name}");
            let fields = layer.fields().into_iter();
            named.extend(fields.map(|(field, shape, values)| (name(field), shape, values)));
        }
        if let Some(Matrix { rows, width, values }) = &self.linear {
            named.push(("linear.weight".into(), vec![*rows, *width], values));
        }
        named
    }

    /// In other numbers.
    pub fn cast<U: Real>(&self) -> Encoder<U> {
        Encoder {
            layers: self.layers.iter().map(Layer::cast).collect(),
            linear: self.linear.as_ref().map(Matrix::cast),
        }
    }

    /// What comes out, (rows, width), and what backward needs.
    pub fn forward(&self, batch: &Batch<T>) -> (Matrix<T>, Tape<T>) {
        let (rows, mut tape) = self.layers_forward(batch, true, &mut Spare::new());
        let mut rows = rows.expect("they were wanted");
        if let Some(weight) = &self.linear {
            let out = linear::forward(&rows, weight);
            tape.last = Some(std::mem::replace(&mut rows, out));
        }
        (rows, tape)
    }

    /// Rows of the last layer, before a linear map, written over matrices that are done
    /// with. Where they are not wanted they need not be made: the tape holds what PReLU
    /// makes them from.
    pub(crate) fn layers_forward(
        &self,
        batch: &Batch<T>,
        wants_rows: bool,
        spare: &mut Spare<T>,
    ) -> (Option<Matrix<T>>, Tape<T>) {
        let mut tape = Tape { kept: Vec::new(), hidden: Vec::new(), last: None };
        let mut rows: Option<Matrix<T>> = None;
        for (at, layer) in self.layers.iter().enumerate() {
            let source = rows.as_ref().map_or_else(|| Source::batch(batch), Source::rows);
            let wanted = wants_rows || at + 1 < self.layers.len();
            let (out, kept) = layer.forward(&source, &batch.arcs, wanted, spare);
            tape.kept.push(kept);
            tape.hidden.extend(std::mem::replace(&mut rows, out));
        }
        (rows, tape)
    }

    /// What the rows of the last layer are made from: z, (rows, width), and slopes.
    pub(crate) fn last_prelu<'a>(&'a self, tape: &'a Tape<T>) -> Prelu<'a, T> {
        let (layer, kept) = self.layers.last().zip(tape.kept.last()).expect("there are layers");
        Prelu { z: kept.z(), slope: layer.last().1 }
    }

    /// Adds the derivatives by all parameters, given those by the rows.
    pub fn backward(
        &self,
        batch: &Batch<T>,
        tape: &Tape<T>,
        d_rows: &Matrix<T>,
        d: &mut Encoder<T>,
    ) {
        let d_rows = match (&self.linear, &tape.last, &mut d.linear) {
            (Some(weight), Some(rows), Some(d)) => linear::backward((rows, weight), d_rows, d),
            _ => d_rows.clone(),
        };
        self.layers_backward(batch, tape, d_rows, d, &mut Spare::new());
    }

    /// Adds the derivatives by the parameters of all layers, given those by the rows of the
    /// last; written over matrices that are done with.
    pub(crate) fn layers_backward(
        &self,
        batch: &Batch<T>,
        tape: &Tape<T>,
        d_rows: Matrix<T>,
        d: &mut Encoder<T>,
        spare: &mut Spare<T>,
    ) {
        let paths = Paths::of(&batch.arcs, &self.layers);
        let mut d_out = Some(d_rows);
        for (at, (layer, d)) in self.layers.iter().zip(&mut d.layers).enumerate().rev() {
            let kept = &tape.kept[at];
            let mut d_z = d_out.expect("only the first layer is not asked for its source");
            prelu::backward(kept.z(), layer.last().1, &mut d_z, d.last_mut());
            let before = at.checked_sub(1).map(|before| &tape.hidden[before]);
            let source = before.map_or_else(|| Source::batch(batch), Source::rows);
            d_out = layer.backward((&source, kept), &paths, d_z, d, at > 0, spare);
        }
    }

    /// Rows of the centers, (contexts, width), as [`Encoder::rows`].
    pub fn centers(&self, batch: &Batch<T>) -> Matrix<T> {
        self.rows(batch, &batch.centers)
    }

    /// Some rows of what comes out, (wanted, width): those of [`Encoder::forward`] up to
    /// rounding, but made alone. A row's bits do not depend on what else is
    /// wanted or in the batch.
    pub fn rows(&self, batch: &Batch<T>, wanted: &[u32]) -> Matrix<T> {
        self.rows_with(batch, wanted, &mut Spare::new())
    }

    /// As [`Encoder::rows`], written over matrices that are done with.
    pub(crate) fn rows_with(
        &self,
        batch: &Batch<T>,
        wanted: &[u32],
        spare: &mut Spare<T>,
    ) -> Matrix<T> {
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
            let out = layer.alone(&seen, &batch.arcs, wanted, spare);
            made.replace(out).into_iter().for_each(|before| spare.give(before));
        }
        let made = made.expect("an encoder has layers");
        let Some(weight) = &self.linear else { return made };
        let mut out = spare.take(made.rows, weight.width);
        rows_product(made.view(), weight, &mut out);
        spare.give(made);
        out
    }
}
