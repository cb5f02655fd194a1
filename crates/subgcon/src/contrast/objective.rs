//! What is made small, given an anchor's scores?
//!
//! An anchor has one positive score p and some negatives n. Over all anchors of a
//! direction the value is the mean over pairs of
//!
//! | kind | value | by n | by p |
//! | --- | --- | --- | --- |
//! | margin | max(0, σ(n) − σ(p) + margin) | σ'(n) | −σ'(p) |
//! | logistic | −ln σ(p) − ln σ(−n) | σ(n) | −σ(−p) |
//! | BPR | −ln σ(p − n) | σ(n − p) | −σ(n − p) |
//!
//! or, for InfoNCE, the mean over anchors of −ln( eᵖ / (eᵖ + Σ eⁿ) ), whose derivative is
//! the softmax, less 1 for the positive. Several directions' means are added.
//!
//! Values are summed in f64; every exponent is at most 0, so scores of any size give
//! finite numbers. Scores that are no numbers make the value none: nothing is hidden.

use crate::config::ObjectiveKind;
use crate::math::{Real, sum};

/// What an anchor adds up to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Anchor<T> {
    /// Its part of the value, not yet divided.
    pub(super) loss: f64,
    /// Two for each negative that scores lower than the positive, one for each tie.
    pub(super) halves: u64,
    /// Derivative by the positive's score.
    pub(super) d_positive: T,
}

/// What a direction adds up to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Total {
    /// Its value.
    pub(super) loss: f64,
    /// See [`Anchor::halves`].
    pub(super) halves: u64,
    /// Number of pairs.
    pub(super) pairs: u64,
}

/// What every anchor's part is multiplied with: 1 / pairs, or 1 / anchors for InfoNCE.
pub(super) fn share(kind: ObjectiveKind, anchors: usize, negatives: usize) -> f64 {
    match kind {
        ObjectiveKind::InfoNce => 1.0 / anchors as f64,
        _ => 1.0 / (anchors as f64 * negatives as f64),
    }
}

/// One anchor. Its negatives' scores, in two parts because all pairs have the positive
/// in their middle, are replaced by the derivatives by them, times `share`.
pub(super) fn anchor<T: Real>(
    kind: ObjectiveKind,
    positive: T,
    mut negatives: [&mut [T]; 2],
    share: T,
) -> Anchor<T> {
    let scores = || negatives.iter().flat_map(|part| part.iter());
    let halves = scores().map(|&n| if positive > n { 2 } else { u64::from(positive == n) }).sum();
    let count = scores().count();
    let largest = scores().fold(positive, |largest, &n| largest.max(n));
    let each = negatives.iter_mut().flat_map(|part| part.iter_mut());
    let mut loss = 0.0;
    let d_positive = match kind {
        ObjectiveKind::Margin { margin } => {
            let margin = T::of(margin);
            let (own, slope) = sigmoid_and_slope(positive);
            let mut inside = 0usize;
            each.for_each(|n| {
                let (other, other_slope) = sigmoid_and_slope(*n);
                let value = other - own + margin;
                // At the kink itself the slope is that of the inside, as PyTorch's
                // clamp has it: with zero rows and saturated sigmoids it is met.
                if value < T::ZERO {
                    *n = T::ZERO;
                } else {
                    loss += value.wide();
                    inside += 1;
                    *n = share * other_slope;
                }
            });
            -T::of(inside as f64) * slope
        }
        ObjectiveKind::Logistic => {
            loss = count as f64 * (-positive).softplus().wide();
            each.for_each(|n| {
                loss += n.softplus().wide();
                *n = share * n.sigmoid();
            });
            -T::of(count as f64) * (-positive).sigmoid()
        }
        ObjectiveKind::Bpr => {
            let mut slopes = 0.0;
            each.for_each(|n| {
                let behind = *n - positive;
                loss += behind.softplus().wide();
                let slope = behind.sigmoid();
                slopes += slope.wide();
                *n = share * slope;
            });
            T::of(-slopes)
        }
        ObjectiveKind::InfoNce => {
            let own = (positive - largest).exp().wide();
            each.for_each(|n| *n -= largest);
            let mut others = 0.0;
            for part in &mut negatives {
                T::exp_all(part);
                others += sum(part);
            }
            // Where the positive leads, 1 + others would lose small others.
            loss = if own == 1.0 {
                others.ln_1p()
            } else {
                (own + others).ln() + (largest - positive).wide()
            };
            let factor = share * T::of(1.0 / (own + others));
            negatives.iter_mut().flat_map(|part| part.iter_mut()).for_each(|n| *n *= factor);
            // The softmax less 1, without the subtraction.
            T::of(-others / (own + others))
        }
    };
    Anchor { loss, halves, d_positive: share * d_positive }
}

/// The anchors of a direction, in their order.
pub(super) fn total<T>(anchors: &[Anchor<T>], negatives: usize, share: f64) -> Total {
    Total {
        loss: anchors.iter().map(|anchor| anchor.loss).sum::<f64>() * share,
        halves: anchors.iter().map(|anchor| anchor.halves).sum(),
        pairs: (anchors.len() * negatives) as u64,
    }
}

impl Total {
    /// Both directions.
    pub(super) fn plus(self, other: Total) -> Total {
        Total {
            loss: self.loss + other.loss,
            halves: self.halves + other.halves,
            pairs: self.pairs + other.pairs,
        }
    }

    /// Share of pairs in which the positive scores higher, ties counting half.
    pub(super) fn retrieval(self) -> f64 {
        self.halves as f64 / (2 * self.pairs) as f64
    }
}

/// σ(x) and σ'(x) = e⁻ˣ / (1 + e⁻ˣ)², from one exponential; σ (1 − σ) would lose the
/// slope of large scores to rounding.
fn sigmoid_and_slope<T: Real>(x: T) -> (T, T) {
    let e = (-x.abs()).exp();
    let sum = T::ONE + e;
    let sigmoid = if x < T::ZERO { e } else { T::ONE } / sum;
    (sigmoid, e / (sum * sum))
}
