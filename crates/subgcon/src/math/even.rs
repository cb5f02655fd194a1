//! Sums of rows along lists, lists of one length after another.
//!
//! out(i) = scale(i) · (row i + Σ_j w(i, j) row j) + share(i) · rest(i), as
//! [`super::gather`] has it, to the same bits: rows are added in the order of the list, and nothing is fused.
//! It differs in how things lie. Rows have W numbers, so that sums are registers and a row a
//! place in a slice; and lists of one length follow one another, so that a processor foresees where each
//! ends. In the nodes' own order that is a surprise for most nodes, as most have few neighbours, and costs as much as
//! some of the sums.

use super::simd::{Blend, Signs, Work};

/// Lists in the order of their lengths.
#[derive(Debug, Clone, Default)]
pub(crate) struct EvenLists {
    /// (length, how many lists have it), one after another.
    pub(crate) runs: Vec<(usize, usize)>,
    /// The lists.
    pub(crate) items: Vec<u32>,
    /// A weight for each; 1 where there are none.
    pub(crate) weights: Option<Vec<f32>>,
}

/// A row of W numbers, from the start of a cache line: wherever it began, a row of 32 would lie across three
/// lines instead of two, and steps take a fifth longer.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Line<const W: usize>(pub(crate) [f32; W]);

/// One step, from rows to rows.
pub(crate) struct EvenStep<'a, const W: usize> {
    pub(crate) lists: &'a EvenLists,
    pub(crate) from: &'a [Line<W>],
    /// What a row's sum is multiplied with.
    pub(crate) scale: &'a [f32],
    /// A share for each row of others, which are added then.
    pub(crate) rest: Option<(&'a [f32], &'a [Line<W>])>,
    pub(crate) to: &'a mut [Line<W>],
    /// What is made is added to these rows too, this much of it.
    pub(crate) sum: Option<(f32, &'a mut [Line<W>])>,
}

impl<const W: usize> Work for EvenStep<'_, W> {
    type Made = ();

    #[inline(always)]
    fn run<const FMA: bool>(self, _: impl Signs, _: impl Blend) {
        let EvenStep { lists, from, scale, rest, to, mut sum } = self;
        let (mut row, mut start) = (0, 0);
        for &(length, count) in &lists.runs {
            for _ in 0..count {
                let span = start..start + length;
                let Line(mut sums) = from[row];
                match &lists.weights {
                    None => {
                        for &j in &lists.items[span] {
                            let Line(other) = &from[j as usize];
                            for k in 0..W {
                                sums[k] += other[k];
                            }
                        }
                    }
                    Some(weights) => {
                        for (&j, &weight) in lists.items[span.clone()].iter().zip(&weights[span]) {
                            let Line(other) = &from[j as usize];
                            for k in 0..W {
                                sums[k] += weight * other[k];
                            }
                        }
                    }
                }
                let scale = scale[row];
                for sum in &mut sums {
                    *sum *= scale;
                }
                if let Some((shares, rest)) = rest {
                    let Line(rest) = &rest[row];
                    for k in 0..W {
                        sums[k] += shares[row] * rest[k];
                    }
                }
                if let Some((share, sum)) = &mut sum {
                    let Line(sum) = &mut sum[row];
                    for k in 0..W {
                        sum[k] += *share * sums[k];
                    }
                }
                to[row] = Line(sums);
                start += length;
                row += 1;
            }
        }
    }
}
