//! Graph isomorphism network (Xu et al.), with an inner layer.
//!
//! y = X W1, t = (1 + ε) y + A y + b1, u = PReLU(t), z = u W2 + b2, rows = PReLU(z). The sum
//! over neighbours is linear, so W1 goes first, once a unit. X (units, inputs),
//! W1 (inputs, width), W2 (width, width), t, u and z (rows, width); ε is learnt and
//! starts at 0.
//!
//! Backward: d_u = d_z W2ᵀ, d_W2 = uᵀ d_z, d_t by PReLU,
//! d_y = (1 + ε) d_t + Aᵀ d_t added up by units, d_ε = Σ d_t · y,
//! d_W1 = Xᵀ d_y, d_x = d_y W1ᵀ.

use super::alone::Seen;
use super::init::{Draw, SLOPE};
use super::layer::{Fields, FieldsMut, cast};
use super::prelu;
use super::rows::{add_over_rows, dot};
use super::source::Source;
use super::spare::Spare;
use super::spread::{Spread, collect};
use crate::batch::Arcs;
use crate::math::{Matrix, Real, Write, gemm, rows_product};

/// A layer of a graph isomorphism network.
#[derive(Debug, Clone, PartialEq)]
pub struct Gin<T> {
    /// W1, (inputs, width).
    pub weight1: Matrix<T>,
    /// b1, (width).
    pub bias1: Vec<T>,
    /// Of the inner PReLU, (width).
    pub slope1: Vec<T>,
    /// ε.
    pub epsilon: T,
    /// W2, (width, width).
    pub weight2: Matrix<T>,
    /// b2, (width).
    pub bias2: Vec<T>,
    /// Of the outer PReLU, (width).
    pub slope2: Vec<T>,
}

/// What backward needs; u is had from t.
#[derive(Debug)]
pub(super) struct Kept<T> {
    y: Matrix<T>,
    t: Matrix<T>,
    pub(super) z: Matrix<T>,
}

impl<T: Real> Kept<T> {
    pub(super) fn give_to(self, spare: &mut Spare<T>) {
        [self.y, self.t, self.z].into_iter().for_each(|matrix| spare.give(matrix));
    }
}

impl<T: Real> Gin<T> {
    pub(super) fn new(inputs: usize, width: usize, draw: &mut Draw) -> Gin<T> {
        let (zeros, slopes) = (vec![T::ZERO; width], vec![T::of(SLOPE); width]);
        Gin {
            weight1: draw.matrix(inputs, width),
            bias1: zeros.clone(),
            slope1: slopes.clone(),
            epsilon: T::ZERO,
            weight2: draw.matrix(width, width),
            bias2: zeros,
            slope2: slopes,
        }
    }

    pub(super) fn cast<U: Real>(&self) -> Gin<U> {
        Gin {
            weight1: self.weight1.cast(),
            bias1: cast(&self.bias1),
            slope1: cast(&self.slope1),
            epsilon: U::of(self.epsilon.wide()),
            weight2: self.weight2.cast(),
            bias2: cast(&self.bias2),
            slope2: cast(&self.slope2),
        }
    }

    pub(super) fn fields(&self) -> Fields<'_, T> {
        let width = self.bias1.len();
        vec![
            ("weight1", vec![self.weight1.rows, width], &self.weight1.values),
            ("bias1", vec![width], &self.bias1),
            ("slope1", vec![width], &self.slope1),
            ("epsilon", vec![1], std::slice::from_ref(&self.epsilon)),
            ("weight2", vec![width, width], &self.weight2.values),
            ("bias2", vec![width], &self.bias2),
            ("slope2", vec![width], &self.slope2),
        ]
    }

    pub(super) fn fields_mut(&mut self) -> FieldsMut<'_, T> {
        vec![
            &mut self.weight1.values,
            &mut self.bias1,
            &mut self.slope1,
            std::slice::from_mut(&mut self.epsilon),
            &mut self.weight2.values,
            &mut self.bias2,
            &mut self.slope2,
        ]
    }

    pub(super) fn forward(
        &self,
        at: &Source<'_, T>,
        arcs: &Arcs<T>,
        spare: &mut Spare<T>,
    ) -> (Matrix<T>, Kept<T>) {
        let (rows, width) = (at.shown(), self.bias1.len());
        let mut y = spare.take(at.units(), width);
        at.product(&self.weight1, &mut y);
        let (mut t, mut u) = (spare.take(rows, width), spare.take(rows, width));
        let own = Some((T::ONE + self.epsilon, &y));
        Spread { y: &y, own, bias: &self.bias1, slope: &self.slope1 }.run(at, arcs, &mut t, &mut u);
        let mut z = spare.take(rows, width);
        gemm(&mut z, u.view(), self.weight2.view(), Write::Set);
        // u is done with: the rows go where it lay.
        let mut out = u;
        prelu::biased(&mut z, &self.bias2, &self.slope2, &mut out);
        (out, Kept { y, t, z })
    }

    /// Adds to the derivatives by all but b2 and the outer slopes; returns that by the
    /// source where it is asked for.
    pub(super) fn backward(
        &self,
        (at, kept): (&Source<'_, T>, &Kept<T>),
        back: &Arcs<T>,
        d_z: Matrix<T>,
        d: &mut Gin<T>,
        wants_source: bool,
        spare: &mut Spare<T>,
    ) -> Option<Matrix<T>> {
        let (rows, width) = (d_z.rows, d_z.width);
        let mut u = spare.take(rows, width);
        prelu::forward(&kept.t, &self.slope1, &mut u);
        gemm(&mut d.weight2, u.view().transposed(), d_z.view(), Write::Add);
        let mut d_u = u;
        gemm(&mut d_u, d_z.view(), self.weight2.view().transposed(), Write::Set);
        spare.give(d_z);
        let mut d_t = d_u;
        prelu::backward(&kept.t, &self.slope1, &mut d_t, (&mut d.bias1, &mut d.slope1));

        let mut d_epsilon = [T::ZERO];
        add_over_rows(&mut d_epsilon, rows, |rows, sum| {
            sum[0] = rows.map(|row| dot(d_t.row(row), kept.y.row(at.unit(row)))).sum();
        });
        d.epsilon += d_epsilon[0];

        let mut d_y = spare.take(at.units(), width);
        collect(at, Some(back), Some(T::ONE + self.epsilon), &d_t, &mut d_y);
        spare.give(d_t);
        at.add_d_weight(&d_y, &mut d.weight1);
        let d_source = wants_source.then(|| {
            let mut d_source = spare.take(at.units(), self.weight1.rows);
            gemm(&mut d_source, d_y.view(), self.weight1.view().transposed(), Write::Set);
            d_source
        });
        spare.give(d_y);
        d_source
    }

    /// Some rows before the outer bias and PReLU, each by itself.
    pub(super) fn alone(
        &self,
        seen: &Seen<'_, T>,
        arcs: &Arcs<T>,
        wanted: &[u32],
        spare: &mut Spare<T>,
    ) -> Matrix<T> {
        let mut t = seen.mixed(wanted, arcs, Some(T::ONE + self.epsilon), &self.weight1, spare);
        prelu::in_place(&mut t, &self.bias1, &self.slope1);
        let mut z = spare.take(t.rows, self.weight2.width);
        rows_product(t.view(), &self.weight2, &mut z);
        spare.give(t);
        z
    }
}
