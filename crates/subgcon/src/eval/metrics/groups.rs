//! Do two ways to group the same things agree?
//!
//! With n_ij things in group i of the one and j of the other, a_i and b_j the sums:
//!
//! - NMI: Σ n_ij / n · ln(n n_ij / (a_i b_j)), over the mean of the two entropies;
//! - ARI: with pairs of things that both put together (tp), only one (fp, fn), or none
//!   (tn): 2 (tp tn − fn fp) / ((tp + fn)(fn + tn) + (tp + fp)(fp + tn)).

/// Sizes of the cells that are not empty, and of both sides' groups.
struct Table {
    /// (a_i, b_j, n_ij).
    cells: Vec<(f64, f64, f64)>,
    left: Vec<f64>,
    right: Vec<f64>,
    things: f64,
}

impl Table {
    fn of(left: &[u32], right: &[u32]) -> Table {
        assert_eq!(left.len(), right.len(), "two groups for each thing");
        let sizes = |groups: &[u32]| {
            let mut sizes = vec![0.0; groups.iter().max().map_or(0, |&g| g as usize + 1)];
            groups.iter().for_each(|&g| sizes[g as usize] += 1.0);
            sizes
        };
        let (a, b) = (sizes(left), sizes(right));
        let mut pairs: Vec<(u32, u32)> = left.iter().copied().zip(right.iter().copied()).collect();
        pairs.sort_unstable();
        let cells = pairs
            .chunk_by(|x, y| x == y)
            .map(|same| (a[same[0].0 as usize], b[same[0].1 as usize], same.len() as f64))
            .collect();
        let kept = |sizes: Vec<f64>| sizes.into_iter().filter(|&size| size > 0.0).collect();
        Table { cells, left: kept(a), right: kept(b), things: left.len() as f64 }
    }

    fn entropy(&self, sizes: &[f64]) -> f64 {
        sizes.iter().map(|size| size / self.things).map(|p| -p * p.ln()).sum()
    }
}

/// Normalised mutual information, between 0 and 1.
pub fn mutual_information(left: &[u32], right: &[u32]) -> f64 {
    let table = Table::of(left, right);
    if table.left.len() <= 1 && table.right.len() <= 1 {
        return 1.0;
    }
    let n = table.things;
    let information: f64 =
        table.cells.iter().map(|&(a, b, both)| both / n * (n * both / (a * b)).ln()).sum();
    // Independent groups leave rounding only.
    if information <= f64::EPSILON {
        return 0.0;
    }
    let mean = (table.entropy(&table.left) + table.entropy(&table.right)) / 2.0;
    information / mean
}

/// Adjusted Rand index: 1 where both agree, about 0 by chance.
pub fn adjusted_rand(left: &[u32], right: &[u32]) -> f64 {
    let table = Table::of(left, right);
    let squares = |sizes: &[f64]| sizes.iter().map(|size| size * size).sum::<f64>();
    let n = table.things;
    let both: f64 = table.cells.iter().map(|cell| cell.2 * cell.2).sum();
    let (left, right) = (squares(&table.left), squares(&table.right));
    let together = both - n;
    let (left_only, right_only) = (left - both, right - both);
    let apart = n * n + both - left - right;
    if left_only == 0.0 && right_only == 0.0 {
        return 1.0;
    }
    2.0 * (together * apart - left_only * right_only)
        / ((together + left_only) * (left_only + apart)
            + (together + right_only) * (right_only + apart))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_groups_under_other_names_agree() {
        let (left, right) = ([0, 0, 1, 1, 2], [5, 5, 0, 0, 3]);
        assert!((mutual_information(&left, &right) - 1.0).abs() < 1e-15);
        assert_eq!(adjusted_rand(&left, &right), 1.0);
        assert_eq!(mutual_information(&[0, 0], &[3, 3]), 1.0);
        assert_eq!(adjusted_rand(&[0, 0], &[3, 3]), 1.0);
    }

    #[test]
    fn by_hand() {
        // Halves against quarters of another cut: independent.
        let (left, right) = ([0, 0, 1, 1], [0, 1, 0, 1]);
        assert_eq!(mutual_information(&left, &right), 0.0);
        // tp 0, tn 4, fn 4, fp 4 of ordered pairs: −32 / 64.
        assert_eq!(adjusted_rand(&left, &right), -0.5);
        // One group says nothing.
        assert_eq!(mutual_information(&left, &[0; 4]), 0.0);
        assert_eq!(adjusted_rand(&left, &[0; 4]), 0.0);
        // ln 2 of information over entropies ln 2 and ln 4.
        assert!((mutual_information(&left, &[0, 1, 2, 3]) - 2.0 / 3.0).abs() < 1e-15);
    }
}
