//! A batch from the file's contexts and edges, by hand.

use subgcon::batch::{Arcs, Batch, Inputs, Lists, Members, Propagation, SparseInputs, Units};
use subgcon::config::{EncoderKind, ReadoutKind, ReadoutSettings};
use subgcon::graph::Adjacency;
use subgcon::math::Matrix;

use crate::state::{EncoderState, GraphState, State};

/// How the same batch may be written down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Form {
    sparse: bool,
    /// A unit for each node, not for each place in a context.
    distinct: bool,
    /// Say that arcs are symmetric where they are.
    told: bool,
}

/// A batch, and where in it the file's rows are.
pub(crate) struct Placed {
    pub(crate) batch: Batch<f64>,
    pub(crate) rows: Vec<u32>,
}

/// All forms for a kind of encoder.
pub(crate) fn forms(kind: EncoderKind) -> impl Iterator<Item = Form> {
    let arcs = kind.propagation() != Propagation::None;
    let both = [true, false];
    both.into_iter().flat_map(move |sparse| {
        both.into_iter().flat_map(move |distinct| {
            both.into_iter().filter(move |&told| told || arcs).map(move |told| Form {
                sparse,
                distinct,
                told,
            })
        })
    })
}

/// The weight of the arc from u to v; 0 where there is none.
fn weight(graph: &GraphState, u: u32, v: u32) -> f64 {
    let of = |edge: [u32; 2]| {
        let at = graph.edges.iter().position(|&other| other == edge);
        at.map(|at| graph.weights.as_ref().map_or(1.0, |weights| f64::from(weights[at])))
    };
    let found = of([u, v]).or_else(|| of([v, u]).filter(|_| !graph.directed));
    found.unwrap_or(0.0)
}

pub(crate) fn adjacency(graph: &GraphState, nodes: usize) -> Adjacency {
    let (mut offsets, mut neighbours, mut weights) = (vec![0], Vec::new(), Vec::new());
    for u in 0..nodes as u32 {
        for v in 0..nodes as u32 {
            let weight = weight(graph, u, v);
            if weight != 0.0 {
                neighbours.push(v);
                weights.push(weight as f32);
            }
        }
        offsets.push(neighbours.len() as u64);
    }
    Adjacency {
        offsets: offsets.into(),
        neighbours: neighbours.into(),
        weights: graph.weights.is_some().then(|| weights.into()),
        directed: graph.directed,
    }
}

/// The file's batch, for one encoder and readout.
pub(crate) fn assemble(
    state: &State,
    encoder: &EncoderState,
    readout: &ReadoutSettings,
    form: Form,
) -> Placed {
    let graph = &state.graphs[&encoder.graph];
    let propagation = encoder.settings.kind.propagation();
    let contexts: Vec<&[u32]> =
        state.centers.iter().map(|&center| graph.contexts[center as usize].as_slice()).collect();
    let places: Vec<u32> = contexts.concat();

    // Units, and the one that each place shows.
    let (units, shown): (Vec<u32>, Vec<u32>) = if form.distinct {
        let mut units = places.clone();
        units.sort_unstable();
        units.dedup();
        let shown = places.iter().map(|node| units.binary_search(node).unwrap() as u32).collect();
        (units, shown)
    } else {
        (places.clone(), (0..places.len() as u32).collect())
    };
    // Without propagation the rows are the units.
    let merged = propagation == Propagation::None && form.distinct;
    let rows: Vec<u32> = if merged { shown.clone() } else { (0..places.len() as u32).collect() };
    let batch = Batch {
        nodes: state.centers.clone(),
        inputs: inputs(&units, &state.features, form.sparse),
        units: if merged || !form.distinct {
            Units::Same
        } else {
            Units::Shown { rows: rows_of(&shown, units.len()), of_row: shown }
        },
        pieces: if propagation == Propagation::None {
            vec![0, if merged { units.len() } else { places.len() } as u32]
        } else {
            starts(&contexts)
        },
        arcs: arcs(graph, &contexts, propagation, form.told),
        centers: starts(&contexts)[..contexts.len()]
            .iter()
            .map(|&start| rows[start as usize])
            .collect(),
        members: members(state, graph, readout, &rows),
    };
    Placed { batch, rows }
}

/// Where each context begins, and where the last one ends.
fn starts(contexts: &[&[u32]]) -> Vec<u32> {
    let mut starts = vec![0];
    contexts.iter().for_each(|own| starts.push(starts[starts.len() - 1] + own.len() as u32));
    starts
}

fn inputs(units: &[u32], features: &[Vec<f64>], sparse: bool) -> Inputs<f64> {
    let width = features[0].len();
    let rows: Vec<&Vec<f64>> = units.iter().map(|&node| &features[node as usize]).collect();
    if !sparse {
        let values = rows.iter().flat_map(|row| row.iter().copied()).collect();
        return Inputs::Dense(Matrix::of(rows.len(), width, values));
    }
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in rows {
        for (column, &value) in row.iter().enumerate().filter(|&(_, &value)| value != 0.0) {
            columns.push(column as u32);
            values.push(value);
        }
        offsets.push(columns.len() as u32);
    }
    Inputs::Sparse(SparseInputs::new(width, offsets, columns, values))
}

/// The rows that show each unit, rising.
fn rows_of(shown: &[u32], units: usize) -> Lists {
    let mut lists = Lists { offsets: vec![0], items: Vec::new() };
    for unit in 0..units as u32 {
        let rows = (0..shown.len() as u32).filter(|&row| shown[row as usize] == unit);
        lists.items.extend(rows);
        lists.offsets.push(lists.items.len() as u32);
    }
    lists
}

fn arcs(
    graph: &GraphState,
    contexts: &[&[u32]],
    propagation: Propagation,
    told: bool,
) -> Arcs<f64> {
    let mut arcs = Arcs { offsets: vec![0], symmetric: told && !graph.directed, ..Arcs::default() };
    if propagation == Propagation::None {
        return Arcs { symmetric: true, offsets: Vec::new(), ..arcs };
    }
    for (context, &start) in contexts.iter().zip(&starts(contexts)) {
        // Â, or A; rows of a context are in its own order.
        let to_oneself = f64::from(propagation != Propagation::Plain);
        let own = |i: usize, j: usize| {
            if i == j { to_oneself } else { weight(graph, context[i], context[j]) }
        };
        let size = context.len();
        let sums: Vec<f64> = (0..size).map(|i| (0..size).map(|j| own(i, j)).sum()).collect();
        for i in 0..size {
            for j in (0..size).filter(|&j| own(i, j) != 0.0) {
                let scale = match propagation {
                    Propagation::Normalized => 1.0 / (sums[i] * sums[j]).sqrt(),
                    _ => 1.0,
                };
                arcs.heads.push(start + j as u32);
                arcs.weights.push(own(i, j) * scale);
            }
            arcs.offsets.push(arcs.heads.len() as u32);
        }
    }
    arcs
}

/// Rows of the summaries; weights of a mean add up to 1.
fn members(
    state: &State,
    graph: &GraphState,
    readout: &ReadoutSettings,
    rows: &[u32],
) -> Members<f64> {
    let mut members = Members { offsets: vec![0], ..Members::default() };
    let mut start = 0;
    for &center in &state.centers {
        let pagerank = &graph.pagerank[center as usize];
        let skipped = usize::from(!readout.center && pagerank.len() > 1);
        let mass = &pagerank[skipped..];
        let total: f64 = mass.iter().sum();
        members.rows.extend_from_slice(&rows[start + skipped..start + pagerank.len()]);
        members.weights.extend(mass.iter().map(|&mass| match readout.kind {
            ReadoutKind::Mean => 1.0 / (pagerank.len() - skipped) as f64,
            ReadoutKind::Mass => mass / total,
            ReadoutKind::Sum | ReadoutKind::Max => 1.0,
        }));
        members.offsets.push(members.rows.len() as u32);
        start += pagerank.len();
    }
    members
}
