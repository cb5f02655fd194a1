//! How do the rows of a context become one?
//!
//! With rows R (rows, width) and context c of the member rows r with weights w,
//!
//! - mean, sum, mass: S(c) = Σ w R(r); whoever made the batch set w to 1/n, 1 or the
//!   share of PageRank; weights are constants;
//! - max: S(c, k) = the largest R(r, k); its derivative goes to the first largest;
//!
//! and then, where asked, a sigmoid: d_before = d_S · S (1 − S).
//!
//! A row may be a member of many contexts (an encoder without propagation has a row a
//! node), so derivatives are gathered: a row sums over its contexts, in their order.
//! Where every row has at most one context its chunk of `d_rows` could be handed out
//! directly, but the list that serves both costs two passes over members, each of
//! which costs `width` multiplications anyway.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::batch::Members;
use crate::config::{ReadoutKind, ReadoutSettings};
use crate::encoder::Prelu;
use crate::math::{Matrix, Real, add_scaled};

/// (contexts, width).
pub(super) fn summarize<T: Real>(
    settings: &ReadoutSettings,
    rows: &Matrix<T>,
    members: &Members<T>,
) -> Matrix<T> {
    let mut summaries = Matrix::zeros(members.offsets.len() - 1, rows.width);
    summaries.values.par_chunks_mut(rows.width.max(1)).enumerate().for_each(
        |(context, summary)| {
            let (places, weights) = members.of(context);
            if settings.kind == ReadoutKind::Max {
                largest(rows, places, summary, |_, _| ());
            } else {
                let terms = places.iter().zip(weights);
                add_scaled(summary, terms.map(|(&row, &weight)| (weight, rows.row(row as usize))));
            }
            if settings.sigmoid {
                summary.iter_mut().for_each(|x| *x = x.sigmoid());
            }
        },
    );
    summaries
}

/// As [`summarize`], of rows that are made while they are read; not for
/// [`ReadoutKind::Max`].
pub(super) fn summarize_prelu<T: Real>(
    settings: &ReadoutSettings,
    rows: Prelu<'_, T>,
    members: &Members<T>,
) -> Matrix<T> {
    assert_ne!(settings.kind, ReadoutKind::Max, "reads its rows more than once");
    let width = rows.z.width;
    let mut summaries = Matrix::zeros(members.offsets.len() - 1, width);
    summaries.values.par_chunks_mut(width.max(1)).enumerate().for_each(|(context, summary)| {
        let (places, weights) = members.of(context);
        places.iter().zip(weights).for_each(|(&row, &weight)| rows.add(row, weight, summary));
        if settings.sigmoid {
            summary.iter_mut().for_each(|x| *x = x.sigmoid());
        }
    });
    summaries
}

/// Writes `d_rows`. Of `rows` only the shape is looked at but for [`ReadoutKind::Max`].
pub(super) fn d_summarize<T: Real>(
    settings: &ReadoutSettings,
    rows: &Matrix<T>,
    members: &Members<T>,
    summaries: &Matrix<T>,
    d_summaries: &Matrix<T>,
    d_rows: &mut Matrix<T>,
) {
    let shape = (members.offsets.len() - 1, rows.width);
    assert_eq!(shape, (d_summaries.rows, d_summaries.width), "a derivative for each summary");
    assert_eq!((rows.rows, rows.width), (d_rows.rows, d_rows.width), "a derivative for each row");
    let width = rows.width.max(1);
    let d = before_sigmoid(settings, summaries, d_summaries);
    let seats = Seats::new(members, rows.rows);
    if settings.kind == ReadoutKind::Max {
        // (contexts, width): the place among members that has the largest.
        let mut winners = vec![0u32; d.values.len()];
        winners.par_chunks_mut(width).enumerate().for_each_init(
            || vec![T::ZERO; rows.width],
            |largest_so_far, (context, winners)| {
                let start = members.offsets[context];
                let places = members.of(context).0;
                winners.fill(start);
                largest(rows, places, largest_so_far, |column, place| {
                    winners[column] = start + place as u32;
                });
            },
        );
        d_rows.values.par_chunks_mut(width).enumerate().for_each(|(row, d_row)| {
            d_row.fill(T::ZERO);
            for &(context, place) in seats.of(row) {
                let start = context as usize * width;
                let winners = &winners[start..start + d_row.len()];
                for ((to, &d), &winner) in
                    d_row.iter_mut().zip(d.row(context as usize)).zip(winners)
                {
                    if winner == place {
                        *to += d;
                    }
                }
            }
        });
    } else {
        d_rows.values.par_chunks_mut(width).enumerate().for_each(|(row, d_row)| {
            d_row.fill(T::ZERO);
            let terms = seats.of(row).iter();
            add_scaled(
                d_row,
                terms.map(|&(context, place)| {
                    (members.weights[place as usize], d.row(context as usize))
                }),
            );
        });
    }
}

/// The largest of each column; `beaten` hears of every member that is larger than all
/// before it, the first being larger than none.
fn largest<T: Real>(
    rows: &Matrix<T>,
    places: &[u32],
    largest: &mut [T],
    mut beaten: impl FnMut(usize, usize),
) {
    let (first, others) = places.split_first().expect("a context has a member");
    largest.copy_from_slice(rows.row(*first as usize));
    for (place, &row) in others.iter().enumerate() {
        for (column, (largest, &x)) in largest.iter_mut().zip(rows.row(row as usize)).enumerate() {
            if x > *largest {
                *largest = x;
                beaten(column, place + 1);
            }
        }
    }
}

/// The derivative by what a sigmoid may have been applied to.
fn before_sigmoid<'a, T: Real>(
    settings: &ReadoutSettings,
    summaries: &Matrix<T>,
    d_summaries: &'a Matrix<T>,
) -> Cow<'a, Matrix<T>> {
    if !settings.sigmoid {
        return Cow::Borrowed(d_summaries);
    }
    assert_eq!(summaries.values.len(), d_summaries.values.len(), "a derivative for each summary");
    let mut d = d_summaries.clone();
    d.values.par_iter_mut().zip(&summaries.values).for_each(|(d, &s)| *d *= s * (T::ONE - s));
    Cow::Owned(d)
}

/// Which contexts a row is a member of, and at which place of [`Members::rows`]: a
/// counting sort of the places by rows.
struct Seats {
    offsets: Vec<u32>,
    /// (context, place), places rising within a row.
    seats: Vec<(u32, u32)>,
}

impl Seats {
    fn new<T: Real>(members: &Members<T>, rows: usize) -> Seats {
        let mut offsets = vec![0u32; rows + 1];
        members.rows.iter().for_each(|&row| offsets[row as usize + 1] += 1);
        (0..rows).for_each(|row| offsets[row + 1] += offsets[row]);
        let mut next = offsets.clone();
        let mut seats = vec![(0, 0); members.rows.len()];
        for (context, ends) in members.offsets.windows(2).enumerate() {
            for place in ends[0]..ends[1] {
                let seat = &mut next[members.rows[place as usize] as usize];
                seats[*seat as usize] = (context as u32, place);
                *seat += 1;
            }
        }
        Seats { offsets, seats }
    }

    fn of(&self, row: usize) -> &[(u32, u32)] {
        &self.seats[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    const KINDS: [ReadoutKind; 4] =
        [ReadoutKind::Mean, ReadoutKind::Sum, ReadoutKind::Max, ReadoutKind::Mass];

    fn every_setting() -> Vec<ReadoutSettings> {
        let both =
            |kind| [false, true].map(|sigmoid| ReadoutSettings { kind, sigmoid, center: true });
        KINDS.into_iter().flat_map(both).collect()
    }

    fn random(rows: usize, width: usize, index: u64) -> Matrix<f64> {
        let mut stream = Stream::new(9, "readout", index);
        Matrix::of(rows, width, (0..rows * width).map(|_| stream.normal()).collect())
    }

    fn members<T: Real>(lists: &[Vec<u32>]) -> Members<T> {
        let mut members = Members { offsets: vec![0], ..Members::default() };
        for list in lists {
            members.rows.extend(list);
            members.offsets.push(members.rows.len() as u32);
        }
        let weight = |at: usize| T::of(0.3 + 0.1 * (at % 4) as f64);
        members.weights = (0..members.rows.len()).map(weight).collect();
        members
    }

    /// Contexts apart, and contexts that share rows.
    fn shapes() -> [Vec<Vec<u32>>; 2] {
        [
            vec![vec![0, 1, 2], vec![3], vec![5, 6]],
            vec![vec![4, 0, 6], vec![4], vec![6, 2, 4, 1], vec![0, 4]],
        ]
    }

    /// One number of a summary, as it is written.
    fn naive(
        settings: &ReadoutSettings,
        rows: &Matrix<f64>,
        members: &Members<f64>,
        context: usize,
        column: usize,
    ) -> f64 {
        let (places, weights) = members.of(context);
        let column = places.iter().map(|&row| rows.row(row as usize)[column]);
        let before: f64 = match settings.kind {
            ReadoutKind::Max => column.fold(f64::MIN, f64::max),
            _ => column.zip(weights).map(|(x, w)| x * w).sum(),
        };
        if settings.sigmoid { 1.0 / (1.0 + (-before).exp()) } else { before }
    }

    #[test]
    fn values_and_derivatives_equal_the_naive_ones() {
        for settings in every_setting() {
            for lists in shapes() {
                let members = members::<f64>(&lists);
                let mut rows = random(7, 3, 0);
                let slopes = random(lists.len(), 3, 1);
                let value = |rows: &Matrix<f64>| -> f64 {
                    (0..slopes.values.len())
                        .map(|at| {
                            slopes.values[at] * naive(&settings, rows, &members, at / 3, at % 3)
                        })
                        .sum()
                };
                let summaries = summarize(&settings, &rows, &members);
                for (at, &found) in summaries.values.iter().enumerate() {
                    let wanted = naive(&settings, &rows, &members, at / 3, at % 3);
                    assert!((found - wanted).abs() < 1e-14, "{settings:?}");
                }
                if settings.kind != ReadoutKind::Max {
                    // The same rows as PReLU of others, with negative slopes among them.
                    let slope = [0.5, -2.0, 1.0];
                    let mut z = rows.clone();
                    for (at, z) in z.values.iter_mut().enumerate() {
                        *z = if slope[at % 3] > 0.0 && *z < 0.0 { *z / slope[at % 3] } else { *z };
                    }
                    let mut seen = rows.clone();
                    let prelu = Prelu { z: &z, slope: &slope };
                    (0..7).for_each(|row| prelu.write(row, seen.row_mut(row as usize)));
                    let of_seen = summarize(&settings, &seen, &members);
                    let of_prelu = summarize_prelu(&settings, prelu, &members);
                    for (a, b) in of_prelu.values.iter().zip(&of_seen.values) {
                        assert!((a - b).abs() < 1e-14, "{settings:?}");
                    }
                }
                // Whatever lay there is written over.
                let mut d = random(7, 3, 2);
                d_summarize(&settings, &rows, &members, &summaries, &slopes, &mut d);
                for at in 0..rows.values.len() {
                    let (kept, step) = (rows.values[at], 1e-5);
                    rows.values[at] = kept + step;
                    let above = value(&rows);
                    rows.values[at] = kept - step;
                    let wanted = (above - value(&rows)) / (2.0 * step);
                    rows.values[at] = kept;
                    let found = d.values[at];
                    let far = (found - wanted).abs() / wanted.abs().max(1.0);
                    assert!(far < 1e-6, "{settings:?} {found} {wanted}");
                }
            }
        }
    }

    #[test]
    fn readouts_by_hand() {
        let rows = Matrix::of(3, 2, vec![1.0, -2.0, 3.0, 4.0, 3.0, 0.0]);
        let members = Members {
            offsets: vec![0, 3, 4],
            rows: vec![0, 1, 2, 0],
            weights: vec![0.5, 0.25, 0.25, 1.0],
        };
        let plain = |kind| ReadoutSettings { kind, sigmoid: false, center: true };
        let mass = summarize(&plain(ReadoutKind::Mass), &rows, &members);
        assert_eq!(mass.values, [2.0, 0.0, 1.0, -2.0]);
        let settings = plain(ReadoutKind::Max);
        let max = summarize(&settings, &rows, &members);
        assert_eq!(max.values, [3.0, 4.0, 1.0, -2.0]);
        // Rows 1 and 2 tie in the first column: the first of them has it.
        let slopes = Matrix::of(2, 2, vec![10.0, 20.0, 30.0, 40.0]);
        let mut d = Matrix::of(3, 2, vec![1.0; 6]);
        d_summarize(&settings, &rows, &members, &max, &slopes, &mut d);
        assert_eq!(d.values, [30.0, 40.0, 10.0, 20.0, 0.0, 0.0]);
    }

    #[test]
    fn threads_do_not_matter() {
        let lists: Vec<Vec<u32>> =
            (0..200u32).map(|c| (0..12).map(|k| (c * 7 + k * k * 13) % 300).collect()).collect();
        let members = members::<f32>(&lists);
        let (rows, slopes) = (random(300, 40, 3).cast::<f32>(), random(200, 40, 4).cast::<f32>());
        for settings in every_setting() {
            let run = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let summaries = summarize(&settings, &rows, &members);
                    let mut d = Matrix::zeros(300, 40);
                    d_summarize(&settings, &rows, &members, &summaries, &slopes, &mut d);
                    (summaries, d)
                })
            };
            assert!(run(1) == run(2), "{settings:?}");
        }
    }
}
