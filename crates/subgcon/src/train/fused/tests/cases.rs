//! Batches and layers to be trained.

use crate::batch::{Arcs, Batch, Inputs, Lists, Members, SparseInputs, Units};
use crate::math::Matrix;
use crate::rng::Stream;
use crate::train::fused::Arrays;

/// What a batch of the tests is like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) width: usize,
    pub(super) dense: bool,
    pub(super) skip: bool,
    pub(super) sigmoid: bool,
    pub(super) symmetric: bool,
    pub(super) weighted: bool,
    /// Rows are units.
    pub(super) same: bool,
    pub(super) centers: Centers,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Centers {
    Members,
    /// In the piece of their context, but no members.
    Beside,
    /// In pieces of their own.
    Apart,
    /// In one piece for two contexts, whose rows alternate.
    Shared,
}

pub(super) const PLAIN: Case = Case {
    width: 65,
    dense: false,
    skip: false,
    sigmoid: false,
    symmetric: true,
    weighted: false,
    same: false,
    centers: Centers::Members,
};

pub(super) const INPUTS: usize = 7;
pub(super) const CONTEXTS: usize = 8;

pub(super) fn batch(case: Case, index: u64) -> Batch<f32> {
    let mut stream = Stream::new(5, "batch", index);
    let mut pieces = vec![0u32];
    let (mut centers, mut offsets) = (vec![0; CONTEXTS], vec![0u32]);
    let (mut members, mut weights) = (Vec::new(), Vec::new());
    let shared = case.centers == Centers::Shared;
    let mut context = 0;
    while context < CONTEXTS {
        let start = pieces[pieces.len() - 1];
        let size = 2 + stream.below(5) as u32;
        let together = if shared { 2 } else { 1 };
        for part in 0..together {
            let of = start + part..start + size * together;
            let mut rows: Vec<u32> = of.step_by(together as usize).collect();
            centers[context] = rows[rows.len() / 2];
            if case.centers == Centers::Beside {
                rows.retain(|&row| row != centers[context]);
            }
            if shared {
                // Two contexts have one center.
                centers[context] = start;
            }
            weights.extend(rows.iter().map(|_| match case.weighted {
                true => stream.unit() as f32 + 0.1,
                false => 1.0 / rows.len() as f32,
            }));
            members.extend(rows);
            offsets.push(members.len() as u32);
            context += 1;
        }
        pieces.push(start + size * together);
    }
    if case.centers == Centers::Apart {
        for center in &mut centers {
            let start = pieces[pieces.len() - 1];
            let size = 1 + stream.below(4) as u32;
            pieces.push(start + size);
            *center = start + stream.below(u64::from(size)) as u32;
        }
    }
    let rows = pieces[pieces.len() - 1] as usize;
    let units = if case.same { rows } else { 9 };
    Batch {
        nodes: (0..CONTEXTS as u32).collect(),
        inputs: inputs(case, units, &mut stream),
        units: if case.same { Units::Same } else { shown(rows, units, &mut stream) },
        arcs: arcs(case, &pieces, &mut stream),
        pieces,
        centers,
        members: Members { offsets, rows: members, weights },
    }
}

pub(super) fn inputs(case: Case, units: usize, stream: &mut Stream) -> Inputs<f32> {
    if case.dense {
        let values = (0..units * INPUTS).map(|_| stream.normal() as f32).collect();
        return Inputs::Dense(Matrix::of(units, INPUTS, values));
    }
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for _ in 0..units {
        // The last column has no entries, and some units have none.
        for column in 0..INPUTS as u32 - 1 {
            if stream.below(3) == 0 {
                columns.push(column);
                values.push(stream.normal() as f32);
            }
        }
        offsets.push(columns.len() as u32);
    }
    Inputs::Sparse(SparseInputs::new(INPUTS, offsets, columns, values))
}

pub(super) fn shown(rows: usize, units: usize, stream: &mut Stream) -> Units {
    let of_row: Vec<u32> = (0..rows).map(|_| stream.below(units as u64) as u32).collect();
    let mut lists = Lists { offsets: vec![0], items: Vec::new() };
    for unit in 0..units as u32 {
        lists.items.extend((0..rows as u32).filter(|&row| of_row[row as usize] == unit));
        lists.offsets.push(lists.items.len() as u32);
    }
    Units::Shown { of_row, rows: lists }
}

#[allow(clippy::needless_range_loop)] // both ends of an arc are places
fn arcs(case: Case, pieces: &[u32], stream: &mut Stream) -> Arcs<f32> {
    let rows = pieces[pieces.len() - 1] as usize;
    let mut dense = vec![vec![0f32; rows]; rows];
    for ends in pieces.windows(2) {
        let (start, end) = (ends[0] as usize, ends[1] as usize);
        for a in start..end {
            dense[a][a] = 0.5;
            for b in start..a {
                let mut arc = || if stream.below(2) == 0 { stream.unit() as f32 } else { 0.0 };
                dense[a][b] = arc();
                dense[b][a] = if case.symmetric { dense[a][b] } else { arc() };
            }
        }
    }
    let mut arcs = Arcs { symmetric: case.symmetric, offsets: vec![0], ..Arcs::default() };
    for row in dense {
        for (head, weight) in row.into_iter().enumerate().filter(|&(_, weight)| weight != 0.0) {
            arcs.heads.push(head as u32);
            arcs.weights.push(weight);
        }
        arcs.offsets.push(arcs.heads.len() as u32);
    }
    arcs
}

pub(super) fn start(case: Case) -> Arrays {
    let mut stream = Stream::new(6, "layer", 0);
    let mut draw = |count: usize, scale: f64| -> Vec<f32> {
        (0..count).map(|_| (scale * stream.normal()) as f32).collect()
    };
    let weight = Matrix::of(INPUTS, case.width, draw(INPUTS * case.width, 0.5));
    let skip = case.skip.then(|| Matrix::of(INPUTS, case.width, draw(INPUTS * case.width, 0.5)));
    (weight, skip, draw(case.width, 0.2), draw(case.width, 0.3))
}
