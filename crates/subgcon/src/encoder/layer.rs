//! One layer, whichever it is, and what it keeps for backward.

use std::borrow::Cow;

use super::alone::Seen;
use super::init::Draw;
use super::source::Source;
use super::spare::Spare;
use super::spread::{Reverse, turned};
use super::{Gat, Gcn, Gin, Mlp, gat, gin, prelu};
use crate::batch::Arcs;
use crate::config::{EncoderKind, EncoderSettings};
use crate::math::{Matrix, Real};

/// Names, shapes and values of a layer's parameters.
pub(super) type Fields<'a, T> = Vec<(&'static str, Vec<usize>, &'a [T])>;
/// The same values in the same order, to be changed.
pub(super) type FieldsMut<'a, T> = Vec<&'a mut [T]>;

/// One layer.
#[derive(Debug, Clone, PartialEq)]
pub enum Layer<T> {
    /// GCN, with or without a skip.
    Gcn(Gcn<T>),
    /// GAT.
    Gat(Gat<T>),
    /// GIN.
    Gin(Gin<T>),
    /// No propagation.
    Mlp(Mlp<T>),
}

/// What one layer keeps.
#[derive(Debug)]
pub(super) enum Kept<T> {
    Z(Matrix<T>),
    Gat(gat::Kept<T>),
    Gin(gin::Kept<T>),
}

impl<T: Real> Kept<T> {
    /// What stood before the last PReLU.
    pub(super) fn z(&self) -> &Matrix<T> {
        match self {
            Kept::Z(z) => z,
            Kept::Gat(kept) => &kept.z,
            Kept::Gin(kept) => &kept.z,
        }
    }

    pub(super) fn give_to(self, spare: &mut Spare<T>) {
        match self {
            Kept::Z(z) => spare.give(z),
            Kept::Gat(kept) => kept.give_to(spare),
            Kept::Gin(kept) => kept.give_to(spare),
        }
    }
}

/// Arcs, and the way back along them in the form that a layer needs.
pub(super) struct Paths<'a, T: Real> {
    arcs: &'a Arcs<T>,
    /// Of layers whose weights are the arcs' own.
    turned: Option<Cow<'a, Arcs<T>>>,
    /// Of attention, which gives every arc a weight of its own.
    reverse: Option<Reverse>,
}

impl<'a, T: Real> Paths<'a, T> {
    pub(super) fn of(arcs: &'a Arcs<T>, layers: &[Layer<T>]) -> Paths<'a, T> {
        let gat = layers.iter().any(|layer| matches!(layer, Layer::Gat(_)));
        let plain = layers.iter().any(|layer| matches!(layer, Layer::Gcn(_) | Layer::Gin(_)));
        Paths {
            arcs,
            turned: plain.then(|| turned(arcs)),
            reverse: gat.then(|| Reverse::new(arcs)),
        }
    }

    fn turned(&self) -> &Arcs<T> {
        self.turned.as_ref().expect("made for layers that need it")
    }

    fn reverse(&self) -> &Reverse {
        self.reverse.as_ref().expect("made for layers that need it")
    }
}

impl<T: Real> Layer<T> {
    pub(super) fn new(settings: &EncoderSettings, inputs: usize, draw: &mut Draw) -> Layer<T> {
        let EncoderSettings { kind, width, heads, .. } = *settings;
        match kind {
            EncoderKind::Gcn => Layer::Gcn(Gcn::new(inputs, width, false, draw)),
            EncoderKind::GcnSkip => Layer::Gcn(Gcn::new(inputs, width, true, draw)),
            EncoderKind::Gat => Layer::Gat(Gat::new(inputs, width, heads, draw)),
            EncoderKind::Gin => Layer::Gin(Gin::new(inputs, width, draw)),
            EncoderKind::Mlp => Layer::Mlp(Mlp::new(inputs, width, draw)),
        }
    }

    pub(super) fn fields(&self) -> Fields<'_, T> {
        match self {
            Layer::Gcn(layer) => layer.fields(),
            Layer::Gat(layer) => layer.fields(),
            Layer::Gin(layer) => layer.fields(),
            Layer::Mlp(layer) => layer.fields(),
        }
    }

    pub(super) fn fields_mut(&mut self) -> FieldsMut<'_, T> {
        match self {
            Layer::Gcn(layer) => layer.fields_mut(),
            Layer::Gat(layer) => layer.fields_mut(),
            Layer::Gin(layer) => layer.fields_mut(),
            Layer::Mlp(layer) => layer.fields_mut(),
        }
    }

    pub(super) fn cast<U: Real>(&self) -> Layer<U> {
        match self {
            Layer::Gcn(layer) => Layer::Gcn(layer.cast()),
            Layer::Gat(layer) => Layer::Gat(layer.cast()),
            Layer::Gin(layer) => Layer::Gin(layer.cast()),
            Layer::Mlp(layer) => Layer::Mlp(layer.cast()),
        }
    }

    /// Last bias and slopes.
    pub(super) fn last(&self) -> (&[T], &[T]) {
        match self {
            Layer::Gcn(layer) => (&layer.bias, &layer.slope),
            Layer::Gat(layer) => (&layer.bias, &layer.slope),
            Layer::Gin(layer) => (&layer.bias2, &layer.slope2),
            Layer::Mlp(layer) => (&layer.bias, &layer.slope),
        }
    }

    /// The same, to be changed.
    pub(super) fn last_mut(&mut self) -> (&mut [T], &mut [T]) {
        match self {
            Layer::Gcn(layer) => (&mut layer.bias, &mut layer.slope),
            Layer::Gat(layer) => (&mut layer.bias, &mut layer.slope),
            Layer::Gin(layer) => (&mut layer.bias2, &mut layer.slope2),
            Layer::Mlp(layer) => (&mut layer.bias, &mut layer.slope),
        }
    }

    /// Rows, which need not be made where they are not wanted, and what is kept.
    pub(super) fn forward(
        &self,
        at: &Source<'_, T>,
        arcs: &Arcs<T>,
        wants_rows: bool,
        spare: &mut Spare<T>,
    ) -> (Option<Matrix<T>>, Kept<T>) {
        match self {
            Layer::Gcn(layer) => {
                let (out, z) = layer.forward(at, arcs, wants_rows, spare);
                (out, Kept::Z(z))
            }
            Layer::Gat(layer) => {
                let (out, kept) = layer.forward(at, arcs, spare);
                (Some(out), Kept::Gat(kept))
            }
            Layer::Gin(layer) => {
                let (out, kept) = layer.forward(at, arcs, spare);
                (Some(out), Kept::Gin(kept))
            }
            Layer::Mlp(layer) => {
                let (out, z) = layer.forward(at, spare);
                (Some(out), Kept::Z(z))
            }
        }
    }

    /// From d_z on: adds to all derivatives but those by the last bias and slopes.
    pub(super) fn backward(
        &self,
        (at, kept): (&Source<'_, T>, &Kept<T>),
        paths: &Paths<'_, T>,
        d_z: Matrix<T>,
        d: &mut Layer<T>,
        wants_source: bool,
        spare: &mut Spare<T>,
    ) -> Option<Matrix<T>> {
        match (self, kept, d) {
            (Layer::Gcn(layer), Kept::Z(_), Layer::Gcn(d)) => {
                layer.backward(at, paths.turned(), d_z, d, wants_source, spare)
            }
            (Layer::Gat(layer), Kept::Gat(kept), Layer::Gat(d)) => {
                let paths = (paths.arcs, paths.reverse());
                layer.backward((at, kept), paths, d_z, d, wants_source, spare)
            }
            (Layer::Gin(layer), Kept::Gin(kept), Layer::Gin(d)) => {
                layer.backward((at, kept), paths.turned(), d_z, d, wants_source, spare)
            }
            (Layer::Mlp(layer), Kept::Z(_), Layer::Mlp(d)) => {
                layer.backward(at, d_z, d, wants_source, spare)
            }
            _ => panic!("tape and derivatives are of this encoder"),
        }
    }

    /// Some rows, each by itself.
    pub(super) fn alone(
        &self,
        seen: &Seen<'_, T>,
        arcs: &Arcs<T>,
        wanted: &[u32],
        spare: &mut Spare<T>,
    ) -> Matrix<T> {
        let mut z = match self {
            Layer::Gcn(layer) => layer.alone(seen, arcs, wanted, spare),
            Layer::Gat(layer) => layer.alone(seen, arcs, wanted, spare),
            Layer::Gin(layer) => layer.alone(seen, arcs, wanted, spare),
            Layer::Mlp(layer) => layer.alone(seen, wanted, spare),
        };
        let (bias, slope) = self.last();
        prelu::in_place(&mut z, bias, slope);
        z
    }
}

/// In other numbers.
pub(super) fn cast<T: Real, U: Real>(values: &[T]) -> Vec<U> {
    values.iter().map(|x| U::of(x.wide())).collect()
}
