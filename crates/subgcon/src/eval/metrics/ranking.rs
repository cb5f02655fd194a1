//! Do true things score above false ones?
//!
//! - ROC AUC: chance that a true one scores above a false one, equal scores counting
//!   half; by ranks, (Σ rank of true − t (t + 1) / 2) / (t f), equal scores sharing
//!   the mean of their ranks.
//! - Average precision: Σ (R_i − R_{i−1}) P_i over the distinct scores from the top.
//! - Hits@k: share of true ones above the k-th best false one.
//! - MRR: mean of 1 / rank of each true one among the false ones, in the middle of its
//!   equals.

/// (score, is true), best first. Equals stay together, in any order.
fn ranked(truths: &[f64], falses: &[f64]) -> Vec<(f64, bool)> {
    let mut all: Vec<(f64, bool)> = truths.iter().map(|&score| (score, true)).collect();
    all.extend(falses.iter().map(|&score| (score, false)));
    assert!(all.iter().all(|(score, _)| !score.is_nan()), "a score is a number");
    all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    all
}

fn falling(scores: &[f64]) -> Vec<f64> {
    ranked(&[], scores).into_iter().map(|(score, _)| score).collect()
}

/// Calls with the number of true and of false ones at each distinct score, from the top.
fn levels(truths: &[f64], falses: &[f64], mut level: impl FnMut(f64, f64)) {
    // By `==`: the order of −0 and 0 above is not one of scores.
    for equal in ranked(truths, falses).chunk_by(|a, b| a.0 == b.0) {
        let positive = equal.iter().filter(|(_, positive)| *positive).count();
        level(positive as f64, (equal.len() - positive) as f64);
    }
}

/// Area under the receiver operating characteristic; none where a side is empty.
pub fn roc_auc(truths: &[f64], falses: &[f64]) -> Option<f64> {
    if truths.is_empty() || falses.is_empty() {
        return None;
    }
    let (mut won, mut above) = (0.0, 0.0);
    levels(truths, falses, |t, f| {
        won += f * (above + t / 2.0);
        above += t;
    });
    Some(won / (truths.len() as f64 * falses.len() as f64))
}

/// Average precision; none where nothing is true.
pub fn average_precision(truths: &[f64], falses: &[f64]) -> Option<f64> {
    if truths.is_empty() {
        return None;
    }
    let (mut sum, mut true_above, mut above) = (0.0, 0.0, 0.0);
    levels(truths, falses, |t, f| {
        true_above += t;
        above += t + f;
        sum += t * true_above / above;
    });
    Some(sum / truths.len() as f64)
}

/// Share of true ones that score above the k-th best false one, all of them where there
/// are fewer than k false ones; none where nothing is true.
pub fn hits_at(k: usize, truths: &[f64], falses: &[f64]) -> Option<f64> {
    assert!(k > 0, "the best is the first");
    if truths.is_empty() {
        return None;
    }
    let falses = falling(falses);
    let hits = match falses.get(k - 1) {
        None => truths.len(),
        Some(bar) => truths.iter().filter(|&score| score > bar).count(),
    };
    Some(hits as f64 / truths.len() as f64)
}

/// Mean of 1 / rank of each true one among all false ones; none where nothing is true.
pub fn mean_reciprocal_rank(truths: &[f64], falses: &[f64]) -> Option<f64> {
    if truths.is_empty() {
        return None;
    }
    let falses = falling(falses);
    let reciprocal = |&score: &f64| {
        let above = falses.partition_point(|&other| other > score);
        let not_below = falses.partition_point(|&other| other >= score);
        1.0 / (1.0 + (above + not_below) as f64 / 2.0)
    };
    Some(truths.iter().map(reciprocal).sum::<f64>() / truths.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUTHS: [f64; 3] = [0.9, 0.5, 0.2];
    const FALSES: [f64; 4] = [0.7, 0.5, 0.1, 0.0];

    #[test]
    fn by_hand() {
        // Pairs won: 4, 2 + ½, 2 of 12.
        assert_eq!(roc_auc(&TRUTHS, &FALSES), Some(8.5 / 12.0));
        // Precision 1 of 1; then 2 of 4 with an equal; then 3 of 5.
        let wanted = (1.0 + 0.5 + 0.6) / 3.0;
        assert!((average_precision(&TRUTHS, &FALSES).unwrap() - wanted).abs() < 1e-15);
        assert_eq!(hits_at(1, &TRUTHS, &FALSES), Some(1.0 / 3.0));
        assert_eq!(hits_at(3, &TRUTHS, &FALSES), Some(1.0));
        assert_eq!(hits_at(2, &TRUTHS, &FALSES), Some(1.0 / 3.0));
        assert_eq!(hits_at(5, &TRUTHS, &FALSES), Some(1.0));
        // Ranks 1, 2½ and 3.
        let wanted = (1.0 + 0.4 + 1.0 / 3.0) / 3.0;
        assert!((mean_reciprocal_rank(&TRUTHS, &FALSES).unwrap() - wanted).abs() < 1e-15);
    }

    #[test]
    fn nothing_to_compare_is_no_figure() {
        assert_eq!(roc_auc(&TRUTHS, &[]), None);
        assert_eq!(roc_auc(&[], &FALSES), None);
        assert_eq!(average_precision(&[], &FALSES), None);
        assert_eq!(mean_reciprocal_rank(&[], &FALSES), None);
        assert_eq!(hits_at(1, &[], &FALSES), None);
    }

    #[test]
    fn minus_zero_equals_zero() {
        assert_eq!(roc_auc(&[0.0], &[-0.0]), Some(0.5));
        assert_eq!(roc_auc(&[-0.0], &[0.0]), Some(0.5));
    }

    proptest::proptest! {
        /// The definition, pair by pair.
        #[test]
        fn area_is_the_share_of_pairs_won(
            truths in proptest::collection::vec(0i8..12, 1..40),
            falses in proptest::collection::vec(0i8..12, 1..40),
        ) {
            let (truths, falses): (Vec<f64>, Vec<f64>) = (
                truths.into_iter().map(f64::from).collect(),
                falses.into_iter().map(f64::from).collect(),
            );
            let won: f64 = truths.iter().flat_map(|t| falses.iter().map(move |f| (t, f)))
                .map(|(t, f)| if t > f { 1.0 } else if t == f { 0.5 } else { 0.0 })
                .sum();
            let area = roc_auc(&truths, &falses).unwrap();
            proptest::prop_assert!((area - won / (truths.len() * falses.len()) as f64).abs() < 1e-12);
            let turned = roc_auc(&falses, &truths).unwrap();
            proptest::prop_assert!((area + turned - 1.0).abs() < 1e-12);
        }
    }
}
