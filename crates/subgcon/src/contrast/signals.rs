//! How do held-out contexts fare, without labels?
//!
//! On centers C and summaries (contexts, width) that no step was trained on:
//!
//! - hinge: with the scores of the objective's similarity (dot products, written here),
//!   mean over i ≠ j of max(0, σ(h_i·s_j) − σ(h_i·s_i) + margin), and of the
//!   same with the roles of h and s exchanged, added;
//! - retrieval: share of those pairs in which the own one scores higher;
//! - effective rank (RankMe): e to the entropy of σ_k / Σ σ, σ_k the singular values
//!   of C; between 1 and the smaller of its dimensions.

use nalgebra::DMatrix;

use super::all_pairs;
use super::similarity::Compared;
use crate::config::{Directions, ObjectiveKind, Similarity};
use crate::math::{Matrix, View, Write, gemm};

/// What held-out contexts say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signals {
    /// The hinge over all pairs, in both directions.
    pub hinge: f64,
    /// Share of pairs in which the own one scores higher; ties count half.
    pub retrieval: f64,
    /// Of the centers; 0 where all are zero, not a number where one is not.
    pub effective_rank: f64,
}

/// Looks at at least two held-out contexts.
pub fn held_out(
    similarity: Similarity,
    centers: &Matrix<f32>,
    summaries: &Matrix<f32>,
    margin: f64,
) -> Signals {
    let shape = (centers.rows, centers.width);
    assert_eq!(shape, (summaries.rows, summaries.width), "a summary for each center");
    assert!(centers.rows >= 2, "one context alone has nothing to be compared with");
    let (h, s) = Compared::both(similarity, centers, summaries);
    let scores = all_pairs::scores(&h.rows, &s.rows);
    let kind = ObjectiveKind::Margin { margin };
    let (_, found) = all_pairs::compare(kind, Directions::Both, scores);
    Signals {
        hinge: found.loss,
        retrieval: found.retrieval(),
        effective_rank: effective_rank(centers),
    }
}

/// Through the eigenvalues of the smaller of C Cᵀ and Cᵀ C: roots of what is left of
/// them below rounding would be taken for small singular values, and are left out.
fn effective_rank(rows: &Matrix<f32>) -> f64 {
    if !rows.values.iter().all(|x| x.is_finite()) {
        return f64::NAN;
    }
    let wide: Matrix<f64> = rows.cast();
    let gram = |a: View<'_, f64>, b: View<'_, f64>, size: usize| {
        let mut gram = Matrix::zeros(size, size);
        gemm(&mut gram, a, b, Write::Set);
        DMatrix::from_vec(size, size, gram.values)
    };
    let (plain, turned) = (wide.view(), wide.view().transposed());
    let gram = if wide.rows < wide.width {
        gram(plain, turned, wide.rows)
    } else {
        gram(turned, plain, wide.width)
    };
    let eigenvalues = gram.symmetric_eigenvalues();
    let largest = eigenvalues.iter().copied().fold(0.0, f64::max);
    let rounding = largest * f64::EPSILON * wide.rows.max(wide.width) as f64;
    let mut singular: Vec<f64> =
        eigenvalues.iter().filter(|&&x| x > rounding).map(|x| x.sqrt()).collect();
    if singular.is_empty() {
        return 0.0;
    }
    singular.sort_unstable_by(f64::total_cmp);
    let sum: f64 = singular.iter().sum();
    let entropy: f64 = singular.iter().map(|x| x / sum).map(|p| -p * p.ln()).sum();
    entropy.exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
    }

    #[test]
    fn ranks_by_hand() {
        let mut identity = Matrix::zeros(7, 5);
        (0..5).for_each(|at| identity.row_mut(at)[at] = 3.0);
        close(effective_rank(&identity), 5.0);
        let mut wide = Matrix::zeros(3, 9);
        (0..3).for_each(|at| wide.row_mut(at)[2 * at] = -0.5);
        close(effective_rank(&wide), 3.0);
        let one = Matrix::of(4, 3, (0..12).map(|i| ((i / 3 + 1) * (i % 3 + 1)) as f32).collect());
        close(effective_rank(&one), 1.0);
        // Singular values 3 and 1: entropy ln 4 − ¾ ln 3.
        close(effective_rank(&Matrix::of(2, 2, vec![3.0, 0.0, 0.0, 1.0])), 4.0 / 3f64.powf(0.75));
        assert_eq!(effective_rank(&Matrix::zeros(3, 2)), 0.0);
        assert!(effective_rank(&Matrix::of(1, 2, vec![f32::NAN, 1.0])).is_nan());
    }

    #[test]
    fn rank_does_not_change_when_rows_are_turned_or_transposed() {
        let mut stream = Stream::new(1, "rank", 0);
        let rows = Matrix::of(6, 4, (0..24).map(|_| stream.normal() as f32).collect());
        let mut turned = rows.clone();
        let (cos, sin) = (0.6f32, 0.8f32);
        for row in turned.values.chunks_mut(4) {
            (row[0], row[3]) = (cos * row[0] - sin * row[3], sin * row[0] + cos * row[3]);
        }
        let transposed =
            Matrix::of(4, 6, (0..24).map(|i| rows.row(i % 6)[i / 6]).collect::<Vec<f32>>());
        let rank = effective_rank(&rows);
        assert!(rank > 2.0 && rank < 4.0, "{rank}");
        close(effective_rank(&transposed), rank);
        assert!((effective_rank(&turned) - rank).abs() < 1e-6);
    }

    #[test]
    fn signals_of_two_contexts_by_hand() {
        // Scores 1, 0; 2, −1: rows have negatives 0 (own 1) and 2 (own −1), columns 2
        // (own 1) and 0 (own −1): one of four is won.
        let centers = Matrix::of(2, 2, vec![1.0, 0.0, 2.0, 1.0]);
        let summaries = Matrix::of(2, 2, vec![1.0, 0.0, 0.0, -1.0]);
        let sigma = |x: f64| 1.0 / (1.0 + (-x).exp());
        let pair = |n: f64, p: f64| (sigma(n) - sigma(p) + 0.5).max(0.0);
        let found = held_out(Similarity::Dot, &centers, &summaries, 0.5);
        let wanted =
            (pair(0.0, 1.0) + pair(2.0, -1.0)) / 2.0 + (pair(2.0, 1.0) + pair(0.0, -1.0)) / 2.0;
        assert!((found.hinge - wanted).abs() < 1e-6, "{found:?} {wanted}");
        assert_eq!(found.retrieval, 0.25);
        // Singular values √2 ± 1 … of [[1, 0], [2, 1]]: product 1, squares sum to 6.
        let (a, b) = (2f64.sqrt() + 1.0, 2f64.sqrt() - 1.0);
        let share = a / (a + b);
        let entropy = -share * share.ln() - (1.0 - share) * (1.0 - share).ln();
        close(found.effective_rank, entropy.exp());
    }
}
