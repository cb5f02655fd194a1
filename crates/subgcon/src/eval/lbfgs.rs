//! Where is a smooth convex function least?
//!
//! L-BFGS (Nocedal, 1980): the direction is −H g, H the inverse Hessian as the last
//! [`HISTORY`] pairs s = x' − x, y = g' − g show it, found by the two-loop recursion
//! from γ H₀ with γ = s·y / y·H₀y; H₀ is I unless the caller knows better. The step t along it is 1, or less until
//!
//! f(t) ≤ f(0) + 1e-4 t f'(0),
//!
//! or, where f(t) and f(0) differ by no more than their rounding, f'(t) ≤ 0.8 |f'(0)|
//! (Hager and Zhang, 2005): close to the minimum the slope still has digits where the
//! difference of values has none. Wolfe's bound on the slope from below is not asked
//! for: it keeps s·y above 0, which a convex function does by itself, and a short first
//! step costs less than lengthening it.

/// Pairs that are remembered.
const HISTORY: usize = 10;
/// Share of the promised descent that a step has to keep.
const DESCENT: f64 = 1e-4;
/// Largest slope after an approximate step, as a share of the slope before it.
const APPROXIMATE: f64 = 0.8;
/// Values looked at along one direction: what was cut so often is no step any more.
const LOOKS: usize = 30;
/// Steps that only the slope spoke for and that brought no smaller gradient, after which
/// what is left is taken for rounding.
const IDLE: usize = 100;

/// Before the first step γ is not known: the descent that is left may be this much more.
const UNSURE: f64 = 1e-3;

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stop {
    /// At this largest |gradient|,
    pub(super) tolerance: f64,
    /// and where ½ g·Hg, the descent that is left as far as H can tell, is no more than
    /// this. Worth something where H₀ is: from a ball, H does not know of long flat ways
    /// before it went them. Infinity asks for none of it.
    pub(super) left: f64,
    /// After this many steps.
    pub(super) steps: usize,
    /// How far a value may be from the true one, as a share of it.
    pub(super) rounding: f64,
    /// A history is forgotten where the first gradient is longer than this.
    pub(super) familiar: f64,
}

/// What was found, the place itself being in the caller's slice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// Largest |gradient|.
    pub(super) gradient: f64,
    /// Length of the first one.
    pub(super) first: f64,
    pub(super) steps: usize,
    /// Whether it is where the caller wanted to stop.
    pub(super) done: bool,
}

/// What is known of the curvature beforehand, as what turns g into H₀ g.
#[derive(Clone, Copy)]
pub(super) enum Known<'a> {
    /// How far to go where no pair tells,
    First(&'a dyn Fn(&mut [f64])),
    /// or something for every step.
    Metric(&'a dyn Fn(&mut [f64])),
}

/// Moves `x` to where `function` is least; it writes the gradient and gives the value.
/// `history` may come from another function that is curved much the same.
pub(super) fn minimise(
    x: &mut Vec<f64>,
    history: &mut History,
    stop: Stop,
    known: Known<'_>,
    mut function: impl FnMut(&[f64], &mut [f64]) -> f64,
) -> Found {
    let mut gradient = vec![0.0; x.len()];
    let mut value = function(x, &mut gradient);
    let first = dot(&gradient, &gradient).sqrt();
    if first > stop.familiar {
        history.0.clear();
    }
    let (mut next, mut next_gradient) = (x.clone(), gradient.clone());
    let (mut steps, mut idle, mut least) = (0, 0, f64::INFINITY);
    let done = loop {
        let small = largest(&gradient) <= stop.tolerance;
        if small && stop.left == f64::INFINITY {
            break true;
        }
        if steps == stop.steps || idle == IDLE {
            break false;
        }
        let mut direction = history.direction(&gradient, known);
        let mut slope = dot(&direction, &gradient);
        // Rounding can turn the direction uphill: the memory is wrong then.
        if slope >= 0.0 {
            history.0.clear();
            direction = history.direction(&gradient, known);
            slope = dot(&direction, &gradient);
            if slope >= 0.0 {
                break small;
            }
        }
        let sure = if history.is_empty() { UNSURE } else { 1.0 };
        if small && -slope / 2.0 <= sure * stop.left {
            break true;
        }
        let line = Line { value, slope, rounding: stop.rounding };
        let found = line.search(|t| {
            for ((next, x), d) in next.iter_mut().zip(x.iter()).zip(&direction) {
                *next = x + t * d;
            }
            let value = function(&next, &mut next_gradient);
            (value, dot(&direction, &next_gradient))
        });
        let Some((found, only_slope)) = found else {
            if history.is_empty() {
                break false;
            }
            history.0.clear();
            continue;
        };
        value = found;
        history.remember(x, &next, &gradient, &next_gradient);
        std::mem::swap(x, &mut next);
        std::mem::swap(&mut gradient, &mut next_gradient);
        steps += 1;
        let gradient = largest(&gradient);
        idle = if gradient < least { 0 } else { idle + usize::from(only_slope) };
        least = least.min(gradient);
    };
    Found { gradient: largest(&gradient), first, steps, done }
}

/// A line from the present place along a direction.
struct Line {
    value: f64,
    slope: f64,
    rounding: f64,
}

impl Line {
    /// The value at the first step that will do, and whether only the slope spoke for
    /// it; `at` gives value and slope after a step and is called last with the one that
    /// is taken. None where there is none.
    fn search(&self, mut at: impl FnMut(f64) -> (f64, f64)) -> Option<(f64, bool)> {
        let mut t = 1.0;
        for _ in 0..LOOKS {
            let (value, slope) = at(t);
            let descends = value <= self.value + DESCENT * t * self.slope;
            let approximately = value <= self.value + self.rounding * self.value.abs()
                && slope <= -APPROXIMATE * self.slope;
            if descends || approximately {
                return Some((value, !descends));
            }
            // Where the slope, taken as a straight line, is zero.
            let share = self.slope / (self.slope - slope);
            t *= if share.is_finite() { share.clamp(0.1, 0.5) } else { 0.1 };
        }
        None
    }
}

/// s, y and 1 / s·y of the last steps, oldest first.
#[derive(Default)]
pub(super) struct History(Vec<(Vec<f64>, Vec<f64>, f64)>);

impl History {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn remember(&mut self, x: &[f64], next: &[f64], gradient: &[f64], next_gradient: &[f64]) {
        let less = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>();
        let (s, y) = (less(next, x), less(next_gradient, gradient));
        let product = dot(&s, &y);
        // A pair without curvature would make H indefinite.
        if product <= f64::EPSILON * dot(&y, &y) {
            return;
        }
        if self.0.len() == HISTORY {
            self.0.remove(0);
        }
        self.0.push((s, y, 1.0 / product));
    }

    /// −H g. Without pairs nothing is known of γ, which is 1.
    fn direction(&self, gradient: &[f64], known: Known<'_>) -> Vec<f64> {
        let mut q: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut shares = [0.0; HISTORY];
        for (share, (s, y, inverse)) in shares[..self.0.len()].iter_mut().zip(&self.0).rev() {
            *share = inverse * dot(s, &q);
            add(&mut q, -*share, y);
        }
        match known {
            Known::First(known) if self.is_empty() => known(&mut q),
            Known::First(_) => {}
            Known::Metric(known) => known(&mut q),
        }
        if let Some((_, y, inverse)) = self.0.last() {
            let mut turned = y.clone();
            if let Known::Metric(known) = known {
                known(&mut turned);
            }
            let gamma = 1.0 / (inverse * dot(y, &turned));
            q.iter_mut().for_each(|q| *q *= gamma);
        }
        for (share, (s, y, inverse)) in shares.iter().zip(&self.0) {
            let back = inverse * dot(y, &q);
            add(&mut q, share - back, s);
        }
        q
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a.zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

fn add(to: &mut [f64], share: f64, of: &[f64]) {
    to.iter_mut().zip(of).for_each(|(to, of)| *to += share * of);
}

fn largest(gradient: &[f64]) -> f64 {
    // A NaN must not look like a minimum: max would pass over it.
    gradient.iter().fold(0.0, |m, g| if g.is_nan() { f64::INFINITY } else { g.abs().max(m) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of length 1 at the most.
    const SHORT: Known<'static> = Known::First(&|g| {
        let length = dot(g, g).sqrt().max(1.0);
        g.iter_mut().for_each(|g| *g /= length);
    });
    const STOP: Stop = Stop {
        tolerance: 1e-9,
        steps: 500,
        left: f64::INFINITY,
        rounding: 1e-15,
        familiar: f64::INFINITY,
    };

    #[test]
    fn a_quadratic_bowl_has_its_minimum_where_it_was_put() {
        // Σ k² (x_k − k)² / 2, k = 1 … 30: condition 900. SciPy's takes 215 steps.
        let mut x = vec![0.0; 30];
        let found = minimise(&mut x, &mut History::default(), STOP, SHORT, |x, gradient| {
            let mut value = 0.0;
            for (at, (x, g)) in x.iter().zip(gradient).enumerate() {
                let k = at as f64 + 1.0;
                *g = k * k * (x - k);
                value += k * k * (x - k).powi(2) / 2.0;
            }
            value
        });
        assert!(found.gradient <= 1e-9 && found.steps < 300, "{found:?}");
        x.iter().enumerate().for_each(|(at, x)| assert!((x - at as f64 - 1.0).abs() < 1e-9));
    }

    #[test]
    fn what_is_known_of_the_curvature_saves_steps() {
        // Σ k⁴ (x_k − k)² / 2, with k⁴ known but for a factor of five.
        let bowl = |x: &[f64], gradient: &mut [f64]| {
            let mut value = 0.0;
            for (at, (x, g)) in x.iter().zip(gradient).enumerate() {
                let k = at as f64 + 1.0;
                *g = k.powi(4) * (x - k);
                value += k.powi(4) * (x - k).powi(2) / 2.0;
            }
            value
        };
        let known = |g: &mut [f64]| {
            g.iter_mut().enumerate().for_each(|(at, g)| *g /= 5.0 * (at as f64 + 1.0).powi(4));
        };
        let stop = Stop { left: 1e-12, ..STOP };
        let mut x = vec![0.0; 30];
        let found = minimise(&mut x, &mut History::default(), stop, Known::Metric(&known), bowl);
        assert!(found.done && found.steps < 10, "{found:?}");
        x.iter().enumerate().for_each(|(at, x)| assert!((x - at as f64 - 1.0).abs() < 1e-5));
        // At the minimum there is no way down, and nothing is done.
        let mut there: Vec<f64> = (1..=30).map(f64::from).collect();
        let found =
            minimise(&mut there, &mut History::default(), stop, Known::Metric(&known), bowl);
        assert!(found.done && found.steps == 0, "{found:?}");
    }

    #[test]
    fn a_bent_valley_is_followed_to_its_end() {
        // Rosenbrock: the minimum is (1, 1), by hand.
        let mut x = vec![-1.2, 1.0];
        let found = minimise(&mut x, &mut History::default(), STOP, SHORT, |x, gradient| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            gradient[0] = -2.0 * a - 400.0 * x[0] * b;
            gradient[1] = 200.0 * b;
            a * a + 100.0 * b * b
        });
        assert!(found.gradient <= 1e-9 && found.steps < 100, "{found:?}");
        assert!((x[0] - 1.0).abs() < 1e-9 && (x[1] - 1.0).abs() < 1e-9, "{x:?}");
    }

    #[test]
    fn a_minimum_that_is_given_is_left_alone() {
        let mut x = vec![3.0];
        let found = minimise(&mut x, &mut History::default(), STOP, SHORT, |x, gradient| {
            gradient[0] = x[0] - 3.0;
            (x[0] - 3.0).powi(2) / 2.0
        });
        assert_eq!((found.steps, x[0]), (0, 3.0));
    }

    #[test]
    fn what_is_known_of_another_function_is_forgotten_where_the_gradient_is_too_long() {
        let bowl = |x: &[f64], gradient: &mut [f64]| {
            (gradient[0], gradient[1]) = (3.0 * x[0], 4.0 * x[1]);
            1.5 * x[0] * x[0] + 2.0 * x[1] * x[1]
        };
        let mut known = History::default();
        minimise(&mut vec![5.0, -1.0], &mut known, STOP, SHORT, bowl);
        let pairs = known.0.len();
        assert!(pairs > 0);
        let after = |familiar| {
            let mut history = History(known.0.clone());
            let stop = Stop { familiar, steps: 0, ..STOP };
            let found = minimise(&mut vec![1.0, 1.0], &mut history, stop, SHORT, bowl);
            (found.first, history.0.len())
        };
        assert_eq!(after(4.9), (5.0, 0));
        assert_eq!(after(5.1), (5.0, pairs));
    }

    #[test]
    fn no_number_is_never_taken_for_a_minimum() {
        let mut x = vec![1.0];
        let found = minimise(&mut x, &mut History::default(), STOP, SHORT, |_, gradient| {
            gradient[0] = f64::NAN;
            f64::NAN
        });
        assert!(found.gradient.is_infinite());
        assert_eq!(found.steps, 0);
    }
}
