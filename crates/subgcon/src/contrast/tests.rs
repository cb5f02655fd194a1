//! The objectives against hand calculations, a naive twin, central differences of that
//! twin, and the laws they have to keep.

use super::*;
use crate::config::{Directions, Negatives, ObjectiveKind, Similarity};
use crate::rng::Stream;

const KINDS: [ObjectiveKind; 4] = [
    ObjectiveKind::Margin { margin: 0.5 },
    ObjectiveKind::Logistic,
    ObjectiveKind::Bpr,
    ObjectiveKind::InfoNce,
];
const SIMILARITIES: [Similarity; 2] = [Similarity::Dot, Similarity::Cosine { temperature: 0.4 }];
const DIRECTIONS: [Directions; 3] = [Directions::Centers, Directions::Both, Directions::Reference];
const NEGATIVES: [Negatives; 3] =
    [Negatives::Shuffles(1), Negatives::Shuffles(3), Negatives::AllPairs];

fn every_setting() -> Vec<ObjectiveSettings> {
    let mut all = Vec::new();
    for kind in KINDS {
        for similarity in SIMILARITIES {
            for negatives in NEGATIVES {
                for directions in DIRECTIONS {
                    all.push(ObjectiveSettings { kind, similarity, negatives, directions });
                }
            }
        }
    }
    all
}

fn random(rows: usize, width: usize, index: u64) -> Matrix<f64> {
    let mut stream = Stream::new(7, "contrast", index);
    Matrix::of(rows, width, (0..rows * width).map(|_| stream.normal()).collect())
}

fn pairs(settings: &ObjectiveSettings, contexts: usize) -> Pairs {
    draw(settings.negatives, contexts, &mut Stream::new(3, "negatives", 0))
}

/// By direction and anchor: the (center, summary) pairs its positive is compared with.
fn compared(directions: Directions, pairs: &Pairs, n: usize) -> Vec<Vec<Vec<(usize, usize)>>> {
    let mut first = vec![Vec::new(); n];
    let mut second = vec![Vec::new(); n];
    let shuffles = match pairs {
        Pairs::Shuffles(shuffles) => shuffles.clone(),
        Pairs::All => {
            (1..n).map(|k| (0..n).map(|i| ((i + k) % n) as u32).collect()).collect::<Vec<_>>()
        }
    };
    for shuffle in &shuffles {
        for (i, &j) in shuffle.iter().enumerate() {
            let j = j as usize;
            if directions == Directions::Reference && *pairs != Pairs::All {
                first[i].push((j, i));
                second[j].push((i, j));
            } else {
                first[i].push((i, j));
                second[i].push((j, i));
            }
        }
    }
    if directions == Directions::Centers { vec![first] } else { vec![first, second] }
}

/// The objective as it is written: value and retrieval.
fn naive(
    settings: &ObjectiveSettings,
    pairs: &Pairs,
    h: &Matrix<f64>,
    s: &Matrix<f64>,
) -> (f64, f64) {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let score = |i: usize, j: usize| {
        let (h, s) = (h.row(i), s.row(j));
        match settings.similarity {
            Similarity::Dot => product(h, s),
            Similarity::Cosine { temperature } => {
                let lengths = (product(h, h) * product(s, s)).sqrt();
                if lengths == 0.0 { 0.0 } else { product(h, s) / (lengths * temperature) }
            }
        }
    };
    let sigma = |x: f64| 1.0 / (1.0 + (-x).exp());
    let (mut value, mut won, mut met) = (0.0, 0.0, 0.0);
    for direction in compared(settings.directions, pairs, h.rows) {
        let (mut sum, mut terms) = (0.0, 0.0);
        for (anchor, others) in direction.iter().enumerate() {
            let p = score(anchor, anchor);
            let negatives: Vec<f64> = others.iter().map(|&(i, j)| score(i, j)).collect();
            for &n in &negatives {
                won += if p > n { 1.0 } else { f64::from(p == n) / 2.0 };
                met += 1.0;
                sum += match settings.kind {
                    ObjectiveKind::Margin { margin } => (sigma(n) - sigma(p) + margin).max(0.0),
                    ObjectiveKind::Logistic => -sigma(p).ln() - sigma(-n).ln(),
                    ObjectiveKind::Bpr => -sigma(p - n).ln(),
                    ObjectiveKind::InfoNce => 0.0,
                };
            }
            if settings.kind == ObjectiveKind::InfoNce {
                let others: f64 = negatives.iter().map(|n| n.exp()).sum();
                sum -= (p.exp() / (p.exp() + others)).ln();
                terms += 1.0;
            } else {
                terms += negatives.len() as f64;
            }
        }
        value += sum / terms;
    }
    (value, won / met)
}

fn close(found: f64, wanted: f64, within: f64, what: &str) {
    let far = (found - wanted).abs() / wanted.abs().max(1.0);
    assert!(far < within, "{what}: {found} {wanted}");
}

#[test]
fn values_and_derivatives_equal_the_naive_ones() {
    for settings in every_setting() {
        let (mut h, mut s) = (random(5, 3, 0), random(5, 3, 1));
        let pairs = pairs(&settings, 5);
        let found = contrast(&settings, &pairs, &h, &s);
        let what = format!("{settings:?}");
        let (value, retrieval) = naive(&settings, &pairs, &h, &s);
        close(found.loss, value, 1e-12, &what);
        assert_eq!(found.retrieval, retrieval, "{what}");
        let step = 1e-5;
        for at in 0..h.values.len() {
            for center in [true, false] {
                let mut moved = |by: f64| {
                    let x = if center { &mut h.values[at] } else { &mut s.values[at] };
                    let kept = *x;
                    *x += by;
                    let value = naive(&settings, &pairs, &h, &s).0;
                    if center {
                        h.values[at] = kept;
                    } else {
                        s.values[at] = kept;
                    }
                    value
                };
                let wanted = (moved(step) - moved(-step)) / (2.0 * step);
                let d = if center { &found.d_centers } else { &found.d_summaries };
                close(d.values[at], wanted, 1e-6, &what);
            }
        }
    }
}

#[test]
fn larger_batches_equal_the_naive_ones() {
    // Over a block of the transposition and not a multiple of anything.
    let (h, s) = (random(37, 21, 2), random(37, 21, 3));
    for settings in every_setting() {
        let pairs = pairs(&settings, 37);
        let (value, retrieval) = naive(&settings, &pairs, &h, &s);
        let found = contrast(&settings, &pairs, &h, &s);
        close(found.loss, value, 1e-11, &format!("{settings:?}"));
        close(found.retrieval, retrieval, 1e-12, &format!("{settings:?}"));
        let narrow = contrast(&settings, &pairs, &h.cast::<f32>(), &s.cast::<f32>());
        close(narrow.loss, value, 1e-5, &format!("{settings:?}"));
        for (d, wanted) in
            [(narrow.d_centers, found.d_centers), (narrow.d_summaries, found.d_summaries)]
        {
            for (d, wanted) in d.values.iter().zip(&wanted.values) {
                close(f64::from(*d), *wanted, 1e-5, &format!("{settings:?}"));
            }
        }
    }
}

#[test]
fn all_shuffles_together_are_all_pairs() {
    let (h, s) = (random(6, 4, 4), random(6, 4, 5));
    for settings in every_setting() {
        // The released program holds summaries only; over all pairs there is no such.
        if settings.directions == Directions::Reference {
            continue;
        }
        let shuffles = draw(Negatives::Shuffles(5), 6, &mut Stream::new(1, "negatives", 0));
        let one = contrast(&settings, &shuffles, &h, &s);
        let other = contrast(&settings, &Pairs::All, &h, &s);
        close(one.loss, other.loss, 1e-13, "loss");
        assert_eq!(one.retrieval, other.retrieval);
        for (one, other) in one.d_centers.values.iter().zip(&other.d_centers.values) {
            close(*one, *other, 1e-13, "centers");
        }
        for (one, other) in one.d_summaries.values.iter().zip(&other.d_summaries.values) {
            close(*one, *other, 1e-13, "summaries");
        }
    }
}

#[test]
fn two_contexts_by_hand() {
    // Scores h_i · s_j: 1, 0; 2, −1. With σ(1) = .7310585786, σ(2) = .8807970780 and
    // ln(1 + eˣ) = .3132616875 at −1, .6931471806 at 0, 1.3132616875 at 1,
    // 2.1269280110 at 2, 3.0485873516 at 3:
    let h = Matrix::of(2, 2, vec![1.0, 0.0, 2.0, 1.0]);
    let s = Matrix::of(2, 2, vec![1.0, 0.0, 0.0, -1.0]);
    let swap = Pairs::Shuffles(vec![vec![1, 0]]);
    let value = |kind, directions, pairs: &Pairs| {
        let settings = ObjectiveSettings { kind, directions, ..ObjectiveSettings::default() };
        contrast(&settings, pairs, &h, &s)
    };
    let [margin, logistic, bpr, info_nce] = KINDS;
    for (kind, centers, both, reference) in [
        // ((.5 − .73 + .5) + (.88 − .27 + .5)) / 2, then (.88 − .73 + .5 + .5 − .27 + .5) / 2.
        (margin, 0.690398539, 1.380797078, 1.380797078),
        // (.31 + .69 + 1.31 + 2.13) / 2, whichever negative belongs to whom.
        (logistic, 2.2232992833, 4.4465985666, 4.4465985666),
        // (ln(1 + e⁻¹) + ln(1 + e³)) / 2, then (ln(1 + e¹) + ln(1 + e¹)) / 2.
        (bpr, 1.6809245195, 2.994186207, 2.626523375),
        (info_nce, 1.6809245195, 2.994186207, 2.626523375),
    ] {
        for (directions, shuffled, all) in [
            (Directions::Centers, centers, centers),
            (Directions::Both, both, both),
            (Directions::Reference, reference, both),
        ] {
            let what = format!("{kind:?} {directions:?}");
            close(value(kind, directions, &swap).loss, shuffled, 1e-9, &what);
            close(value(kind, directions, &Pairs::All).loss, all, 1e-9, &what);
        }
    }
    for (directions, retrieval) in
        [(Directions::Centers, 0.5), (Directions::Both, 0.25), (Directions::Reference, 0.0)]
    {
        assert_eq!(value(bpr, directions, &swap).retrieval, retrieval);
    }
    // By scores: ∓ σ(−1) / 2 in the first row, ± σ(3) / 2 in the second.
    let found = value(bpr, Directions::Centers, &swap);
    let (a, b) = (0.1344707107, 0.4762870634);
    for (d, wanted) in
        [(found.d_centers, [-a, -a, b, b]), (found.d_summaries, [2.0 * b - a, b, a - 2.0 * b, -b])]
    {
        for (&found, wanted) in d.values.iter().zip(wanted) {
            close(found, wanted, 1e-9, "derivatives");
        }
    }
}

#[test]
fn ties_count_half() {
    let same = Matrix::of(3, 1, vec![1.0f32; 3]);
    for settings in every_setting() {
        let negatives = match settings.negatives {
            Negatives::Shuffles(_) => Negatives::Shuffles(2),
            all => all,
        };
        let pairs = draw(negatives, 3, &mut Stream::new(1, "negatives", 0));
        assert_eq!(contrast(&settings, &pairs, &same, &same).retrieval, 0.5);
    }
}

#[test]
fn scores_of_any_size_give_finite_numbers() {
    let mut h = random(9, 4, 6).cast::<f32>();
    let mut s = random(9, 4, 7).cast::<f32>();
    h.values.iter_mut().for_each(|x| *x *= 1e2);
    s.values.iter_mut().for_each(|x| *x *= 1e2);
    for mut settings in every_setting() {
        if settings.similarity != Similarity::Dot {
            settings.similarity = Similarity::Cosine { temperature: 1e-4 };
        }
        let found = contrast(&settings, &pairs(&settings, 9), &h, &s);
        assert!(found.loss.is_finite() && found.loss >= 0.0, "{settings:?} {}", found.loss);
        let all = found.d_centers.values.iter().chain(&found.d_summaries.values);
        assert!(all.clone().all(|x| x.is_finite()), "{settings:?}");
        if !matches!(settings.kind, ObjectiveKind::Margin { .. }) {
            assert!(all.into_iter().any(|&x| x != 0.0), "{settings:?}");
        }
    }
}

#[test]
fn zero_rows_have_no_cosine() {
    let (mut h, mut s) = (random(4, 3, 8), random(4, 3, 9));
    h.row_mut(0).fill(0.0);
    s.row_mut(1).fill(0.0);
    for settings in every_setting() {
        if settings.similarity == Similarity::Dot {
            continue;
        }
        let pairs = pairs(&settings, 4);
        let found = contrast(&settings, &pairs, &h, &s);
        close(found.loss, naive(&settings, &pairs, &h, &s).0, 1e-12, "loss");
        assert!(found.d_centers.row(0).iter().all(|&x| x == 0.0));
        assert!(found.d_summaries.row(1).iter().all(|&x| x == 0.0));
        let all = found.d_centers.values.iter().chain(&found.d_summaries.values);
        assert!(all.clone().all(|x| x.is_finite()) && all.into_iter().any(|&x| x != 0.0));
    }
}

#[test]
fn what_is_no_number_is_not_hidden() {
    for settings in every_setting() {
        let (mut h, s) = (random(4, 3, 8), random(4, 3, 9));
        h.row_mut(2)[1] = f64::NAN;
        assert!(contrast(&settings, &pairs(&settings, 4), &h, &s).loss.is_nan(), "{settings:?}");
    }
}

#[test]
fn the_kink_has_the_slope_of_the_inside() {
    // A zero center scores 0 with everything; σ(1000) is 1: .5 − 1 + .5 = 0.
    let h = Matrix::of(2, 1, vec![0f32, 1000.0]);
    let s = Matrix::of(2, 1, vec![1f32, 1.0]);
    let settings =
        ObjectiveSettings { directions: Directions::Reference, ..ObjectiveSettings::default() };
    let found = contrast(&settings, &Pairs::Shuffles(vec![vec![1, 0]]), &h, &s);
    // Anchor 0: 1 − .5 + .5 with slopes σ'(1000) = 0 and σ'(0) = ¼, by p; anchor 1: 0, with
    // slope ¼ by n. Twice, of two pairs each: they cancel.
    assert_eq!(found.loss, 1.0);
    assert_eq!(found.d_centers.row(0), [0.0]);
    assert_eq!(found.d_summaries.values, [0.0, 0.0]);
}

#[test]
fn threads_do_not_matter() {
    let (h, s) = (random(150, 96, 10).cast::<f32>(), random(150, 96, 11).cast::<f32>());
    for settings in every_setting() {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| contrast(&settings, &pairs(&settings, 150), &h, &s))
        };
        let (one, two) = (run(1), run(2));
        assert_eq!(one.loss.to_bits(), two.loss.to_bits());
        assert!(one == two, "{settings:?}");
    }
}
