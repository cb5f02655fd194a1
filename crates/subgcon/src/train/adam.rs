//! How parameters move.
//!
//! Adam as PyTorch has it: g ← g + decay · w; m ← β₁ m + (1 − β₁) g;
//! v ← β₂ v + (1 − β₂) g²; w ← w − rate / (1 − β₁ᵗ) · m / (√(v / (1 − β₂ᵗ)) + ε).

use crate::config::{Decay, OptimizerSettings};
use crate::encoder::Encoder;
use crate::math::Real;

/// The numbers of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adam<T> {
    /// rate / (1 − β₁ᵗ).
    pub rate: T,
    /// 1 / √(1 − β₂ᵗ).
    pub correction: T,
    /// Of the first moment.
    pub beta1: T,
    /// Of the second moment.
    pub beta2: T,
    /// Added to the root of the second moment.
    pub epsilon: T,
    /// Times the parameter, added to the gradient.
    pub weight_decay: T,
}

/// Both moments of every parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Moments<T> {
    /// First moments.
    pub first: Encoder<T>,
    /// Second moments.
    pub second: Encoder<T>,
}

impl<T: Real> Moments<T> {
    /// Before the first step.
    pub fn zeros(encoder: &Encoder<T>) -> Moments<T> {
        Moments { first: encoder.zeros_like(), second: encoder.zeros_like() }
    }
}

impl<T: Real> Adam<T> {
    /// For step `step`, counted from 1, of `steps`.
    pub fn at(settings: &OptimizerSettings, step: u64, steps: u64) -> Adam<T> {
        let power = |beta: f64| 1.0 - beta.powf(step as f64);
        Adam {
            rate: T::of(rate(settings, step, steps) / power(settings.beta1)),
            correction: T::of(1.0 / power(settings.beta2).sqrt()),
            beta1: T::of(settings.beta1),
            beta2: T::of(settings.beta2),
            epsilon: T::of(settings.epsilon),
            weight_decay: T::of(settings.weight_decay),
        }
    }

    /// Moves one parameter.
    #[inline(always)]
    pub fn apply(&self, w: &mut T, m: &mut T, v: &mut T, gradient: T) {
        let g = gradient + self.weight_decay * *w;
        *m = self.beta1 * *m + (T::ONE - self.beta1) * g;
        *v = self.beta2 * *v + (T::ONE - self.beta2) * g * g;
        *w -= self.rate * *m / (v.sqrt() * self.correction + self.epsilon);
    }

    /// Moves parameters that lie side by side with their moments and gradients.
    pub fn apply_all(&self, w: &mut [T], m: &mut [T], v: &mut [T], g: &[T]) {
        let lengths = (m.len(), v.len(), g.len());
        assert_eq!(lengths, (w.len(), w.len(), w.len()), "moments and a gradient for each");
        for (((w, m), v), &g) in w.iter_mut().zip(m).zip(v).zip(g) {
            self.apply(w, m, v, g);
        }
    }
}

/// The learning rate at a step, counted from 1.
fn rate(settings: &OptimizerSettings, step: u64, steps: u64) -> f64 {
    let warm = (step as f64 / (settings.warmup + 1) as f64).min(1.0);
    // 0 at the first step after the warm-up, below 1 at the last.
    let done = step.saturating_sub(1 + settings.warmup) as f64;
    let share = done / (steps.saturating_sub(settings.warmup).max(1)) as f64;
    settings.rate
        * warm
        * match settings.decay {
            Decay::None => 1.0,
            Decay::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * share).cos()),
            Decay::Linear => 1.0 - share,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(warmup: u64, decay: Decay, steps: u64) -> Vec<f64> {
        let settings = OptimizerSettings { rate: 2.0, warmup, decay, ..Default::default() };
        // The last one is that of the step that is not made any more.
        (1..=steps + 1).map(|step| rate(&settings, step, steps)).collect()
    }

    fn close(found: &[f64], wanted: &[f64], within: f64) {
        assert_eq!(found.len(), wanted.len());
        for (found_one, wanted_one) in found.iter().zip(wanted) {
            assert!((found_one - wanted_one).abs() < within, "{found:?} {wanted:?}");
        }
    }

    #[test]
    fn the_rate_rises_and_falls_as_told() {
        close(&rates(0, Decay::None, 3), &[2.0; 4], 1e-15);
        close(&rates(4, Decay::None, 6), &[0.4, 0.8, 1.2, 1.6, 2.0, 2.0, 2.0], 1e-15);
        close(&rates(0, Decay::Linear, 4), &[2.0, 1.5, 1.0, 0.5, 0.0], 1e-15);
        close(&rates(4, Decay::Linear, 8)[4..], &[2.0, 1.5, 1.0, 0.5, 0.0], 1e-15);
        // 1 + cos of 0, 45, 90, 135 and 180 degrees.
        let half = 0.5f64.sqrt();
        let cosine = [2.0, 1.0 + half, 1.0, 1.0 - half, 0.0];
        close(&rates(0, Decay::Cosine, 4), &cosine, 1e-15);
        close(&rates(4, Decay::Cosine, 8)[..4], &[0.4, 0.8, 1.2, 1.6], 1e-15);
        close(&rates(4, Decay::Cosine, 8)[4..], &cosine, 1e-15);
    }

    #[test]
    fn the_rate_stays_above_zero_until_the_last_step() {
        for decay in [Decay::Cosine, Decay::Linear] {
            for (warmup, steps) in [(0, 1), (0, 100), (10, 100), (99, 100), (100, 100)] {
                let rates = rates(warmup, decay, steps);
                let (after, made) = rates.split_last().unwrap();
                assert!(made.iter().all(|&rate| rate > 0.0), "{decay:?} {warmup} {steps}");
                assert!(*after < 1e-15 || warmup == steps, "{decay:?} {warmup} {steps}");
            }
        }
    }

    #[test]
    fn two_steps_by_hand() {
        let settings = OptimizerSettings { rate: 0.1, ..Default::default() };
        let (mut w, mut m, mut v) = ([1f64], [0.0], [0.0]);
        // m̂ = .5 and √v̂ = .5: one whole rate, but for ε.
        Adam::at(&settings, 1, 9).apply_all(&mut w, &mut m, &mut v, &[0.5]);
        close(&[w[0], m[0], v[0]], &[0.9 + 2e-9, 0.05, 0.00025], 1e-15);
        // m = .9 · .05 − .1, v = .999 · .00025 + .001; m̂ = −.055 / .19 and √v̂ =
        // √(.00124975 / .001999) = .7906880509.
        Adam::at(&settings, 2, 9).apply_all(&mut w, &mut m, &mut v, &[-1.0]);
        close(&[w[0], m[0], v[0]], &[0.9366103542405656, -0.055, 0.00124975], 1e-15);
    }

    #[test]
    fn steps_equal_those_of_the_textbook() {
        let settings = OptimizerSettings {
            rate: 0.03,
            weight_decay: 0.2,
            beta1: 0.8,
            beta2: 0.95,
            epsilon: 1e-3,
            warmup: 3,
            decay: Decay::Cosine,
        };
        let steps = 20;
        let gradient = |at: usize, t: u64| ((at + 1) as f64 * t as f64).sin();
        let mut w: Vec<f64> = (0..5).map(|at| at as f64 - 1.5).collect();
        let (mut m, mut v) = (vec![0.0; 5], vec![0.0; 5]);
        let mut narrow: Vec<f32> = w.iter().map(|&x| x as f32).collect();
        let (mut narrow_m, mut narrow_v) = (vec![0.0; 5], vec![0.0; 5]);
        let (mut book_w, mut book_m, mut book_v) = (w.clone(), m.clone(), v.clone());
        for t in 1..=steps {
            let g: Vec<f64> = (0..5).map(|at| gradient(at, t)).collect();
            let narrow_g: Vec<f32> = g.iter().map(|&x| x as f32).collect();
            Adam::at(&settings, t, steps).apply_all(&mut w, &mut m, &mut v, &g);
            Adam::at(&settings, t, steps).apply_all(
                &mut narrow,
                &mut narrow_m,
                &mut narrow_v,
                &narrow_g,
            );
            for at in 0..5 {
                let g = gradient(at, t) + 0.2 * book_w[at];
                book_m[at] = 0.8 * book_m[at] + 0.2 * g;
                book_v[at] = 0.95 * book_v[at] + 0.05 * g.powi(2);
                let m_hat = book_m[at] / (1.0 - 0.8f64.powi(t as i32));
                let v_hat = book_v[at] / (1.0 - 0.95f64.powi(t as i32));
                book_w[at] -= rate(&settings, t, steps) * m_hat / (v_hat.sqrt() + 1e-3);
            }
        }
        close(&w, &book_w, 1e-13);
        close(&m, &book_m, 1e-13);
        close(&v, &book_v, 1e-13);
        let narrow: Vec<f64> = narrow.iter().map(|&x| f64::from(x)).collect();
        close(&narrow, &book_w, 1e-5);
    }

    #[test]
    #[should_panic(expected = "moments and a gradient for each")]
    fn lengths_have_to_agree() {
        let adam = Adam::at(&OptimizerSettings::default(), 1, 1);
        adam.apply_all(&mut [0f32; 2], &mut [0.0; 2], &mut [0.0; 2], &[0.0]);
    }
}
