//! Graph convolution (paper, section III-C; Kipf and Welling).
//!
//! rows = PReLU(Ã X W + b), with skip PReLU(Ã X W + b + X W_skip); Ã = D̂^-½ Â D̂^-½ is in
//! the batch's arcs. X (units, inputs), W and W_skip (inputs, width), b and the
//! slopes (width), rows (rows, width).
//!
//! Y = X W comes first, once a unit, because units are shown by many rows. Backward, with
//! d_z the derivative before PReLU: d_y = Ãᵀ d_z added up by units,
//! d_W = Xᵀ d_y, d_x = d_y Wᵀ; the skip goes the same way without Ã.

use super::alone::Seen;
use super::init::{Draw, SLOPE};
use super::layer::{Fields, FieldsMut, cast};
use super::source::Source;
use super::spare::Spare;
use super::spread::{Spread, collect};
use crate::batch::Arcs;
use crate::math::{Matrix, Real, Write, gemm};

/// A layer of graph convolution.
#[derive(Debug, Clone, PartialEq)]
pub struct Gcn<T> {
    /// W, (inputs, width).
    pub weight: Matrix<T>,
    /// W_skip, (inputs, width).
    pub skip: Option<Matrix<T>>,
    /// b, (width).
    pub bias: Vec<T>,
    /// Of PReLU, (width).
    pub slope: Vec<T>,
}

impl<T: Real> Gcn<T> {
    pub(super) fn new(inputs: usize, width: usize, skip: bool, draw: &mut Draw) -> Gcn<T> {
        Gcn {
            weight: draw.matrix(inputs, width),
            skip: skip.then(|| draw.matrix(inputs, width)),
            bias: vec![T::ZERO; width],
            slope: vec![T::of(SLOPE); width],
        }
    }

    pub(super) fn cast<U: Real>(&self) -> Gcn<U> {
        Gcn {
            weight: self.weight.cast(),
            skip: self.skip.as_ref().map(Matrix::cast),
            bias: cast(&self.bias),
            slope: cast(&self.slope),
        }
    }

    pub(super) fn fields(&self) -> Fields<'_, T> {
        let mut fields = vec![("weight", shape(&self.weight), &self.weight.values[..])];
        fields.extend(self.skip.iter().map(|skip| ("skip", shape(skip), &skip.values[..])));
        fields.push(("bias", vec![self.bias.len()], &self.bias));
        fields.push(("slope", vec![self.slope.len()], &self.slope));
        fields
    }

    pub(super) fn fields_mut(&mut self) -> FieldsMut<'_, T> {
        let mut fields = vec![&mut self.weight.values[..]];
        fields.extend(self.skip.iter_mut().map(|skip| &mut skip.values[..]));
        fields.extend([&mut self.bias[..], &mut self.slope[..]]);
        fields
    }

    /// Rows where they are wanted, and what stood before PReLU.
    pub(super) fn forward(
        &self,
        at: &Source<'_, T>,
        arcs: &Arcs<T>,
        wants_rows: bool,
        spare: &mut Spare<T>,
    ) -> (Option<Matrix<T>>, Matrix<T>) {
        let (rows, width) = (at.shown(), self.bias.len());
        let product = |weight: &Matrix<T>, spare: &mut Spare<T>| {
            let mut y = spare.take(at.units(), width);
            at.product(weight, &mut y);
            y
        };
        let y = product(&self.weight, spare);
        let skip = self.skip.as_ref().map(|weight| product(weight, spare));
        let own = skip.as_ref().map(|skip| (T::ONE, skip));
        let mut z = spare.take(rows, width);
        let mut out = wants_rows.then(|| spare.take(rows, width));
        let spread = Spread { y: &y, own, bias: &self.bias, slope: &self.slope };
        match &mut out {
            Some(out) => spread.run(at, arcs, &mut z, out),
            None => spread.run_before_prelu(at, arcs, &mut z),
        }
        spare.give(y);
        skip.into_iter().for_each(|skip| spare.give(skip));
        (out, z)
    }

    /// Adds to the derivatives by the weights; returns that by the source where it is
    /// asked for.
    pub(super) fn backward(
        &self,
        at: &Source<'_, T>,
        back: &Arcs<T>,
        d_z: Matrix<T>,
        d: &mut Gcn<T>,
        wants_source: bool,
        spare: &mut Spare<T>,
    ) -> Option<Matrix<T>> {
        let mut d_y = spare.take(at.units(), d_z.width);
        collect(at, Some(back), None, &d_z, &mut d_y);
        at.add_d_weight(&d_y, &mut d.weight);
        let Some((skip, d_skip)) = self.skip.as_ref().zip(d.skip.as_mut()) else {
            spare.give(d_z);
            let d_source = wants_source.then(|| {
                let mut d_source = spare.take(at.units(), self.weight.rows);
                gemm(&mut d_source, d_y.view(), self.weight.view().transposed(), Write::Set);
                d_source
            });
            spare.give(d_y);
            return d_source;
        };
        let mut d_source = wants_source.then(|| spare.take(at.units(), self.weight.rows));
        if let Some(d_source) = &mut d_source {
            gemm(d_source, d_y.view(), self.weight.view().transposed(), Write::Set);
        }
        // Where rows are units, d_z already is what the skip needs.
        let d_own = if at.is_same() {
            &d_z
        } else {
            collect(at, None, Some(T::ONE), &d_z, &mut d_y);
            &d_y
        };
        at.add_d_weight(d_own, d_skip);
        if let Some(d_source) = &mut d_source {
            gemm(d_source, d_own.view(), skip.view().transposed(), Write::Add);
        }
        spare.give(d_z);
        spare.give(d_y);
        d_source
    }

    /// Some rows before bias and PReLU, each by itself.
    pub(super) fn alone(
        &self,
        seen: &Seen<'_, T>,
        arcs: &Arcs<T>,
        wanted: &[u32],
        spare: &mut Spare<T>,
    ) -> Matrix<T> {
        let mut z = seen.mixed(wanted, arcs, None, &self.weight, spare);
        if let Some(skip) = &self.skip {
            let own = seen.own(wanted, skip, spare);
            super::rows::add(&mut z.values, &own.values);
            spare.give(own);
        }
        z
    }
}

fn shape<T>(matrix: &Matrix<T>) -> Vec<usize> {
    vec![matrix.rows, matrix.width]
}
