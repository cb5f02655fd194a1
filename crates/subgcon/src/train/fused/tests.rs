//! The fast step against its twin.

mod cases;
mod twin;

use super::layout::{Lane, TILE};
use super::*;
use crate::math::Real;
use crate::train::Adam;
use cases::{Case, Centers, PLAIN, batch, start};
use twin::{BETA1, BETA2, DECAY, EPSILON, RATE, Twin, flat, logistic};

fn fused(case: Case, level: Simd) -> Fused {
    let (weight, skip, bias, slope) = start(case);
    Fused::new(&weight, skip.as_ref(), &bias, &slope, case.sigmoid, level)
}

fn adam(t: i32) -> Adam<f32> {
    Adam {
        rate: (RATE / (1.0 - BETA1.powi(t))) as f32,
        correction: (1.0 / (1.0 - BETA2.powi(t)).sqrt()) as f32,
        beta1: BETA1 as f32,
        beta2: BETA2 as f32,
        epsilon: EPSILON as f32,
        weight_decay: DECAY as f32,
    }
}

/// Largest difference, as a share of the largest number.
fn far(fast: &[f64], slow: &[f64]) -> f64 {
    assert_eq!(fast.len(), slow.len());
    let largest = slow.iter().fold(0f64, |most, x| most.max(x.abs()));
    fast.iter().zip(slow).fold(0f64, |most, (a, b)| most.max((a - b).abs())) / largest
}

/// Ten steps on ten batches beside the twin.
fn beside_twin(case: Case, level: Simd) {
    let (mut fast, mut slow) = (fused(case, level), Twin::new(case));
    for t in 1..=10 {
        let batch = batch(case, t as u64);
        let (loss, retrieval) = fast.step(&batch, &adam(t), logistic);
        let wanted = slow.step(&batch, t);
        assert!((loss - wanted).abs() < 1e-5 * wanted, "{case:?} {level:?} {t}: {loss} {wanted}");
        assert_eq!(retrieval, 0.5);
        let pairs = [
            (fast.parameters(), &slow.values),
            (fast.first_moments(), &slow.first),
            (fast.second_moments(), &slow.second),
        ];
        for (at, (fast, slow)) in pairs.iter().enumerate() {
            let far = far(&flat(fast), slow);
            assert!(far < 1e-5, "{case:?} {level:?} step {t} part {at}: {far}");
        }
        padding_is_zero(&fast);
    }
}

fn padding_is_zero(fused: &Fused) {
    let live = fused.width - (fused.tiles.len() - 1) * TILE;
    let tile = &fused.tiles[fused.tiles.len() - 1];
    let moving = [Some(&tile.weight), tile.skip.as_ref(), Some(&tile.bias), Some(&tile.slope)];
    for moving in moving.into_iter().flatten() {
        for part in 0..3 {
            let zero = |lane: &Lane| lane.0[live..].iter().all(|&x| x == 0.0);
            assert!(moving.part(part).iter().all(zero));
        }
    }
}

fn levels() -> impl Iterator<Item = Simd> {
    Simd::ALL.into_iter().filter(|level| level.is_here())
}

#[test]
fn the_twin_agrees_with_central_differences() {
    for (sigmoid, centers) in [(false, Centers::Members), (true, Centers::Apart)] {
        let case = Case { width: 3, skip: true, sigmoid, centers, weighted: true, ..PLAIN };
        let case = Case { symmetric: false, ..case };
        let (batch, twin) = (batch(case, 0), Twin::new(case));
        let (_, gradient) = twin.look(&batch);
        for (at, &wanted) in gradient.iter().enumerate() {
            let moved = |by: f64| {
                let mut twin = twin.clone();
                twin.values[at] += by;
                twin.look(&batch).0
            };
            let found = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!((found - wanted).abs() < 1e-8, "{case:?} {at}: {found} {wanted}");
        }
    }
}

#[test]
fn ten_steps_of_every_kind_agree_with_the_twin() {
    for bits in 0..64 {
        let on = |bit: u32| bits >> bit & 1 == 1;
        let case = Case {
            dense: on(0),
            skip: on(1),
            sigmoid: on(2),
            symmetric: on(3),
            weighted: on(4),
            same: on(5),
            ..PLAIN
        };
        beside_twin(case, Simd::detect());
    }
}

#[test]
fn centers_may_lie_anywhere() {
    for centers in [Centers::Members, Centers::Beside, Centers::Apart, Centers::Shared] {
        for symmetric in [true, false] {
            beside_twin(Case { centers, symmetric, skip: true, ..PLAIN }, Simd::detect());
            beside_twin(Case { centers, symmetric, weighted: true, ..PLAIN }, Simd::detect());
        }
    }
}

#[test]
fn any_width_at_any_level() {
    for level in levels() {
        for width in [1, 63, 64, 65, 130] {
            for dense in [true, false] {
                let case = Case { width, dense, skip: true, sigmoid: true, ..PLAIN };
                beside_twin(case, level);
            }
        }
    }
}

#[test]
fn one_thread_and_two_give_equal_bits() {
    for dense in [true, false] {
        let case = Case { width: 300, dense, skip: true, sigmoid: true, ..PLAIN };
        let trained = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut fused = fused(case, Simd::detect());
                let mut losses = Vec::new();
                for t in 1..=10 {
                    losses.push(fused.step(&batch(case, t as u64), &adam(t), logistic));
                }
                (losses, fused.parameters(), fused.first_moments(), fused.second_moments())
            })
        };
        let one = trained(1);
        assert_eq!(one, trained(2));
        assert_eq!(one, trained(3));
    }
}

#[test]
fn a_layer_that_was_put_back_goes_on_the_same_way() {
    let case = Case { skip: true, ..PLAIN };
    let mut whole = fused(case, Simd::detect());
    let step = |fused: &mut Fused, t| fused.step(&batch(case, t as u64), &adam(t), logistic);
    (1..4).for_each(|t| _ = step(&mut whole, t));
    let mut other = fused(case, Simd::detect());
    other.put_parameters(&whole.parameters());
    other.put_first_moments(&whole.first_moments());
    other.put_second_moments(&whole.second_moments());
    for t in 4..7 {
        assert_eq!(step(&mut whole, t), step(&mut other, t));
    }
    assert_eq!(whole.parameters(), other.parameters());
}

#[test]
fn sigmoids_without_a_call_are_right() {
    for at in -400_000..=400_000 {
        let x = at as f32 * 2.5e-4;
        let wanted = Real::sigmoid(f64::from(x));
        for found in [kernels::sigmoid::<false>(x), kernels::sigmoid::<true>(x)] {
            let far = (f64::from(found) - wanted).abs();
            assert!(far < 2e-7 * wanted || far < 1e-37, "{x}: {found} {wanted}");
        }
    }
    assert!(kernels::sigmoid::<true>(f32::NAN).is_nan());
}

#[test]
#[should_panic(expected = "member twice")]
fn a_row_in_two_summaries_is_refused() {
    let mut batch = batch(PLAIN, 0);
    batch.members.rows[0] = batch.members.rows[1];
    fused(PLAIN, Simd::Baseline).step(&batch, &adam(1), logistic);
}
