//! Dead simple twins of the kernels, and graphs to try them on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;

use super::{GraphView, Ranking};
use crate::graph::Adjacency;

/// A graph from arcs or edges; the last of repeated ones counts.
pub(crate) fn build(
    nodes: usize,
    edges: &[(u32, u32, f32)],
    weighted: bool,
    directed: bool,
) -> Adjacency {
    let mut arcs = BTreeMap::new();
    for &(from, to, weight) in edges {
        if from != to {
            arcs.insert((from, to), weight);
            if !directed {
                arcs.insert((to, from), weight);
            }
        }
    }
    let mut offsets = vec![0u64; nodes + 1];
    arcs.keys().for_each(|&(from, _)| offsets[from as usize + 1] += 1);
    for node in 0..nodes {
        offsets[node + 1] += offsets[node];
    }
    Adjacency {
        offsets: offsets.into(),
        neighbours: arcs.keys().map(|&(_, to)| to).collect::<Vec<_>>().into(),
        weights: weighted.then(|| arcs.values().copied().collect::<Vec<_>>().into()),
        directed,
    }
}

/// An unweighted, undirected graph.
pub(super) fn plain(nodes: usize, edges: &[(u32, u32)]) -> Adjacency {
    let edges: Vec<_> = edges.iter().map(|&(a, b)| (a, b, 1.0)).collect();
    build(nodes, &edges, false, false)
}

/// Any small graph, of the given direction or both.
pub(super) fn any_graph(directed: Option<bool>) -> impl Strategy<Value = Adjacency> {
    let weight = prop::sample::select(vec![0.0f32, 0.125, 0.3, 1.0, 1.0, 2.5, 40.0]);
    (1usize..28, any::<bool>(), directed.map_or(any::<bool>().boxed(), |d| Just(d).boxed()))
        .prop_flat_map(move |(nodes, weighted, directed)| {
            let node = 0..nodes as u32;
            prop::collection::vec((node.clone(), node, weight.clone()), 0..3 * nodes)
                .prop_map(move |edges| build(nodes, &edges, weighted, directed))
        })
}

/// Row `centre` of S over out-weight(centre), or PageRank, by elimination.
pub(super) fn solved<V: GraphView>(
    view: &V,
    centre: u32,
    restart: f64,
    ranking: Ranking,
) -> Vec<f64> {
    let nodes = view.nodes();
    // x (I − (1 − restart) P) = restart · e, as rows of the transpose, with the right side last.
    let mut rows = vec![vec![0.0; nodes + 1]; nodes];
    for u in 0..nodes as u32 {
        rows[u as usize][u as usize] += 1.0;
        for (v, weight) in view.arcs(u).filter(|&(_, weight)| weight > 0.0) {
            let divisor = match ranking {
                Ranking::Row => view.weight_in(v),
                Ranking::PageRank => view.weight_out(u),
            };
            rows[v as usize][u as usize] -= (1.0 - restart) * f64::from(weight) / divisor;
        }
    }
    rows[centre as usize][nodes] = restart;
    for at in 0..nodes {
        let pivot = (at..nodes).max_by(|&a, &b| rows[a][at].abs().total_cmp(&rows[b][at].abs()));
        rows.swap(at, pivot.unwrap());
        for other in 0..nodes {
            if other != at && rows[other][at] != 0.0 {
                let factor = rows[other][at] / rows[at][at];
                #[allow(clippy::needless_range_loop, reason = "two rows at once")]
                for column in at..=nodes {
                    let x = rows[at][column];
                    rows[other][column] -= factor * x;
                }
            }
        }
    }
    let out = match ranking {
        Ranking::Row if view.weight_out(centre) > 0.0 => view.weight_out(centre),
        _ => 1.0,
    };
    (0..nodes).map(|at| rows[at][nodes] / rows[at][at] / out).collect()
}

/// Settled and residual mass of a push, by the definition in `push`.
pub(super) fn naive_push<V: GraphView>(
    view: &V,
    centre: u32,
    restart: f64,
    ranking: Ranking,
    epsilon: f64,
) -> BTreeMap<u32, (f64, f64)> {
    let divisor = |node| match ranking {
        Ranking::Row => view.weight_in(node),
        Ranking::PageRank => view.weight_out(node),
    };
    let out = view.weight_out(centre);
    let start =
        if ranking == Ranking::Row && out > 0.0 { view.weight_in(centre) / out } else { 1.0 };
    let mut mass = BTreeMap::from([(centre, (restart * start, 0.0))]);
    let mut queue = VecDeque::new();
    let spread = |mass: &mut BTreeMap<u32, (f64, f64)>,
                  queue: &mut VecDeque<u32>,
                  node: u32,
                  amount: f64| {
        for (to, weight) in view.arcs(node).filter(|&(_, weight)| weight > 0.0) {
            let (_, residual) = mass.entry(to).or_default();
            let threshold = if divisor(to) > 0.0 { epsilon * divisor(to) } else { f64::INFINITY };
            let before = *residual;
            *residual += amount * f64::from(weight);
            if before < threshold && *residual >= threshold {
                queue.push_back(to);
            }
        }
    };
    if out > 0.0 {
        spread(&mut mass, &mut queue, centre, (1.0 - restart) / out);
    }
    while let Some(node) = queue.pop_front() {
        let (settled, residual) = mass.get_mut(&node).unwrap();
        let moved = std::mem::take(residual);
        *settled += restart * moved;
        spread(&mut mass, &mut queue, node, (1.0 - restart) * moved / divisor(node));
    }
    mass
}

/// All nodes that can be reached along arcs of positive weight.
pub(super) fn reachable<V: GraphView>(view: &V, centre: u32) -> BTreeSet<u32> {
    let mut seen = BTreeSet::from([centre]);
    let mut open = vec![centre];
    while let Some(node) = open.pop() {
        for (to, weight) in view.arcs(node) {
            if weight > 0.0 && seen.insert(to) {
                open.push(to);
            }
        }
    }
    seen
}
