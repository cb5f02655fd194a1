//! Each node by itself: no arcs, rows are units.
//!
//! rows = PReLU(X W + b); X (units, inputs), W (inputs, width). Backward: d_W = Xᵀ d_z,
//! d_x = d_z Wᵀ.

use super::alone::Seen;
use super::init::{Draw, SLOPE};
use super::layer::{Fields, FieldsMut, cast};
use super::prelu;
use super::source::Source;
use super::spare::Spare;
use crate::math::{Matrix, Real, Write, gemm};

/// A layer without propagation.
#[derive(Debug, Clone, PartialEq)]
pub struct Mlp<T> {
    /// W, (inputs, width).
    pub weight: Matrix<T>,
    /// b, (width).
    pub bias: Vec<T>,
    /// Of PReLU, (width).
    pub slope: Vec<T>,
}

impl<T: Real> Mlp<T> {
    pub(super) fn new(inputs: usize, width: usize, draw: &mut Draw) -> Mlp<T> {
        Mlp {
            weight: draw.matrix(inputs, width),
            bias: vec![T::ZERO; width],
            slope: vec![T::of(SLOPE); width],
        }
    }

    pub(super) fn cast<U: Real>(&self) -> Mlp<U> {
        Mlp { weight: self.weight.cast(), bias: cast(&self.bias), slope: cast(&self.slope) }
    }

    pub(super) fn fields(&self) -> Fields<'_, T> {
        vec![
            ("weight", vec![self.weight.rows, self.weight.width], &self.weight.values),
            ("bias", vec![self.bias.len()], &self.bias),
            ("slope", vec![self.slope.len()], &self.slope),
        ]
    }

    pub(super) fn fields_mut(&mut self) -> FieldsMut<'_, T> {
        vec![&mut self.weight.values, &mut self.bias, &mut self.slope]
    }

    /// Rows, and what stood before PReLU.
    pub(super) fn forward(
        &self,
        at: &Source<'_, T>,
        spare: &mut Spare<T>,
    ) -> (Matrix<T>, Matrix<T>) {
        assert!(at.is_same(), "without propagation rows are units");
        let (rows, width) = (at.shown(), self.bias.len());
        let (mut z, mut out) = (spare.take(rows, width), spare.take(rows, width));
        at.product(&self.weight, &mut z);
        prelu::biased(&mut z, &self.bias, &self.slope, &mut out);
        (out, z)
    }

    /// Adds to the derivative by the weights; returns that by the source where it is
    /// asked for.
    pub(super) fn backward(
        &self,
        at: &Source<'_, T>,
        d_z: Matrix<T>,
        d: &mut Mlp<T>,
        wants_source: bool,
        spare: &mut Spare<T>,
    ) -> Option<Matrix<T>> {
        at.add_d_weight(&d_z, &mut d.weight);
        let d_source = wants_source.then(|| {
            let mut d_source = spare.take(at.units(), self.weight.rows);
            gemm(&mut d_source, d_z.view(), self.weight.view().transposed(), Write::Set);
            d_source
        });
        spare.give(d_z);
        d_source
    }

    /// Some rows before bias and PReLU, each by itself.
    pub(super) fn alone(
        &self,
        seen: &Seen<'_, T>,
        wanted: &[u32],
        spare: &mut Spare<T>,
    ) -> Matrix<T> {
        seen.own(wanted, &self.weight, spare)
    }
}
