//! Sums of rows with weights: out += Σ c_k · row k, in the order given.
//!
//! The product of one sparse row with a dense matrix, and of one row of a graph's
//! matrix with the rows of its nodes. What comes out depends on the entries and
//! their order alone, number by number: not on other rows, on the width or on threads.

use super::Matrix;

/// Adds rows of a matrix, each times its factor, to `out` (rows.width).
///
/// Four at a time: `out` is read and written once for four rows, and sums of
/// many entries lose less to rounding than one by one.
#[inline]
pub(crate) fn add_rows(
    out: &mut [f32],
    rows: &Matrix<f32>,
    entries: impl Iterator<Item = (f32, usize)>,
) {
    let mut entries = entries.fuse();
    loop {
        match (entries.next(), entries.next(), entries.next(), entries.next()) {
            (Some(a), Some(b), Some(c), Some(d)) => {
                let four = [a.1, b.1, c.1, d.1].map(|row| rows.row(row));
                add_four(out, [a.0, b.0, c.0, d.0], four);
            }
            (a, b, c, _) => {
                for (factor, row) in [a, b, c].into_iter().flatten() {
                    out.iter_mut().zip(rows.row(row)).for_each(|(out, x)| *out += factor * x);
                }
                return;
            }
        }
    }
}

#[inline]
fn add_four(out: &mut [f32], factors: [f32; 4], rows: [&[f32]; 4]) {
    // Equal lengths, told to the compiler once: the loop has no checks and is
    // turned into vectors.
    let [a, b, c, d] = rows.map(|row| &row[..out.len()]);
    for at in 0..out.len() {
        out[at] +=
            (factors[0] * a[at] + factors[1] * b[at]) + (factors[2] * c[at] + factors[3] * d[at]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_added_with_their_factors() {
        let rows = Matrix::of(3, 2, vec![1.0, 2.0, 10.0, 20.0, 100.0, 200.0]);
        for count in 0..10 {
            let entries: Vec<(f32, usize)> = (0..count).map(|k| (k as f32 + 1.0, k % 3)).collect();
            let mut out = [0.5, -0.5];
            add_rows(&mut out, &rows, entries.iter().copied());
            let sum: f32 =
                entries.iter().map(|&(factor, row)| factor * 10f32.powi(row as i32)).sum();
            assert_eq!(out, [0.5 + sum, 2.0 * sum - 0.5]);
        }
    }
}
