//! A batch holds what the definition says: compared with adjacency looked up arc by
//! arc and features looked up node by node.

use proptest::prelude::*;

use super::*;
use crate::config::{EncoderKind, FeatureSettings, ReadoutKind, ReadoutSettings};
use crate::context::{AdjacencyView, ContextSettings, Contexts, build};
use crate::graph::{Adjacency, Features};
use crate::progress::Silent;
use crate::rng::Stream;
use crate::transform::{Mask, Transform};

struct Graph {
    adjacency: Adjacency,
    features: Features,
    contexts: Contexts,
    transform: Transform,
}

/// A random graph with as many features as nodes: node v has 1 in column v, so that a
/// unit's column tells its node.
fn graph(
    seed: u64,
    nodes: u32,
    edges: usize,
    weighted: bool,
    directed: bool,
    size: usize,
) -> Graph {
    let mut stream = Stream::new(seed, "test graph", 0);
    let mut draw = || stream.below(nodes.into()) as u32;
    let pairs: Vec<(u32, u32)> = (0..edges).map(|_| (draw(), draw())).collect();
    let arcs: Vec<(u32, u32, f32)> =
        pairs.iter().map(|&(a, b)| (a, b, 0.5 + stream.unit() as f32)).collect();
    let adjacency = build(nodes as usize, &arcs, weighted, directed);
    let features = Features::Sparse(crate::math::Sparse {
        width: nodes as usize,
        offsets: (0..=u64::from(nodes)).collect::<Vec<_>>().into(),
        columns: (0..nodes).collect::<Vec<_>>().into(),
        values: vec![1.0; nodes as usize].into(),
    });
    let settings = ContextSettings { size, ..ContextSettings::default() };
    let contexts = Contexts::sample(&AdjacencyView::new(&adjacency), &settings, &Silent).unwrap();
    let transform =
        Transform::fit(&FeatureSettings::default(), &features, &adjacency, 0, &Silent).unwrap();
    Graph { adjacency, features, contexts, transform }
}

fn assembler<'a>(
    graph: &'a Graph,
    kind: EncoderKind,
    readout: &'a ReadoutSettings,
) -> Assembler<'a> {
    let Graph { adjacency, features, contexts, transform } = graph;
    Assembler::new(adjacency, features, contexts, transform, kind, readout)
}

/// The node that each unit shows, by its feature; none where it is masked.
fn nodes_of_units(batch: &Batch<f32>) -> Vec<Option<u32>> {
    let Inputs::Sparse(inputs) = &batch.inputs else { panic!("features are sparse") };
    (0..batch.inputs.units()).map(|unit| inputs.unit(unit).0.first().copied()).collect()
}

fn weight(adjacency: &Adjacency, from: u32, to: u32) -> f32 {
    let listed = adjacency.neighbours(from).iter().position(|&node| node == to);
    listed.map_or(0.0, |at| adjacency.weights(from).map_or(1.0, |weights| weights[at]))
}

/// Every arc of a piece, by the definition.
fn naive(adjacency: &Adjacency, context: &[u32], propagation: Propagation) -> Vec<Vec<f32>> {
    let with_self = if propagation == Propagation::Plain { 0.0 } else { 1.0 };
    let mut rows: Vec<Vec<f32>> = context
        .iter()
        .map(|&a| {
            context
                .iter()
                .map(|&b| if a == b { with_self } else { weight(adjacency, a, b) })
                .collect()
        })
        .collect();
    if propagation == Propagation::Normalized {
        let sums: Vec<f32> = rows.iter().map(|row| row.iter().sum()).collect();
        for (a, row) in rows.iter_mut().enumerate() {
            row.iter_mut().enumerate().for_each(|(b, w)| *w /= (sums[a] * sums[b]).sqrt());
        }
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn rows_and_arcs_are_the_induced_ones(
        seed in 0u64..1000,
        weighted: bool,
        directed: bool,
        size in 1usize..40,
        kind in prop::sample::select(vec![EncoderKind::Gcn, EncoderKind::Gat, EncoderKind::Gin]),
    ) {
        let graph = graph(seed, 40, 60, weighted, directed, size);
        let readout = ReadoutSettings::default();
        let nodes = [3, 0, 39, 17, 20];
        let batch = assembler(&graph, kind, &readout).batch(&nodes, &Augmentation::NONE);
        let Units::Shown { of_row, rows } = &batch.units else { panic!("rows show units") };
        let units = nodes_of_units(&batch);
        let mut distinct = units.clone();
        distinct.sort_unstable();
        distinct.dedup();
        prop_assert_eq!(distinct.len(), units.len(), "each node is a unit once");
        prop_assert_eq!(batch.pieces.len(), nodes.len() + 1);
        for (context, &node) in nodes.iter().enumerate() {
            let range = batch.pieces[context] as usize..batch.pieces[context + 1] as usize;
            let shown: Vec<u32> =
                of_row[range.clone()].iter().map(|&unit| units[unit as usize].unwrap()).collect();
            prop_assert_eq!(&shown, graph.contexts.nodes(node as usize));
            prop_assert_eq!(batch.centers[context] as usize, range.start);
            let wanted = naive(&graph.adjacency, &shown, kind.propagation());
            for (a, row) in range.clone().enumerate() {
                let (heads, weights) = batch.arcs.of(row);
                prop_assert!(heads.is_sorted());
                let mut found = vec![0.0; shown.len()];
                for (&head, &weight) in heads.iter().zip(weights) {
                    found[head as usize - range.start] = weight;
                }
                for (found, wanted) in found.iter().zip(&wanted[a]) {
                    prop_assert!((found - wanted).abs() < 1e-6, "{found} {wanted}");
                }
            }
        }
        for (unit, _) in units.iter().enumerate() {
            for &row in rows.get(unit) {
                prop_assert_eq!(of_row[row as usize] as usize, unit);
            }
        }
        prop_assert_eq!(rows.items.len(), of_row.len());
    }
}

/// What one layer makes a row from: its unit, and units and weights of its arcs, by unit.
fn makings(batch: &Batch<f32>, row: u32) -> (u32, Vec<(u32, u32)>) {
    let Units::Shown { of_row, .. } = &batch.units else { panic!("rows show units") };
    let (heads, weights) = batch.arcs.of(row as usize);
    let drawn_on = heads.iter().map(|&head| of_row[head as usize]);
    let mut drawn_on: Vec<_> = drawn_on.zip(weights.iter().map(|w| w.to_bits())).collect();
    drawn_on.sort_unstable();
    (of_row[row as usize], drawn_on)
}

#[test]
fn distinct_rows_are_made_from_the_same_and_no_two_are_alike() {
    for (weighted, directed) in [(false, false), (true, false), (false, true)] {
        let graph = graph(6, 60, 90, weighted, directed, 8);
        let readout = ReadoutSettings { center: false, ..ReadoutSettings::default() };
        let nodes: Vec<u32> = (0..60).collect();
        let mask = |key| Some(Mask { share: 0.5, key });
        let hidden =
            Augmentation { centers: mask(1), summaries: mask(2), drop_edges: 0.2, edge_key: 3 };
        for (kind, augmentation) in [
            (EncoderKind::Gin, Augmentation::NONE),
            (EncoderKind::Gat, Augmentation::NONE),
            (EncoderKind::Gin, hidden),
        ] {
            let all = assembler(&graph, kind, &readout).batch(&nodes, &augmentation);
            let some = all.clone().distinct();
            let mut made: Vec<_> = (0..some.rows() as u32).map(|row| makings(&some, row)).collect();
            made.sort_unstable();
            assert!(made.is_sorted_by(|a, b| a < b), "no two are alike");
            assert!(some.rows() < all.rows() * 9 / 10, "{} of {}", some.rows(), all.rows());
            let rows = |batch: &Batch<f32>| [&batch.centers[..], &batch.members.rows].concat();
            for (before, after) in rows(&all).into_iter().zip(rows(&some)) {
                assert_eq!(makings(&all, before), makings(&some, after));
            }
            assert_eq!(some.members.weights, all.members.weights);
            let Units::Shown { of_row, rows } = &some.units else { panic!("rows show units") };
            for unit in 0..some.inputs.units() {
                assert!(rows.get(unit).iter().all(|&row| of_row[row as usize] as usize == unit));
            }
            assert_eq!(rows.items.len(), some.rows());
        }
    }
    // Without arcs rows are units, and stay what they are.
    let graph = graph(6, 60, 90, false, false, 8);
    let readout = ReadoutSettings::default();
    let batch = assembler(&graph, EncoderKind::Mlp, &readout).batch(&[1, 2], &Augmentation::NONE);
    assert_eq!(batch.clone().distinct().rows(), batch.rows());
}

#[test]
fn members_have_the_weights_of_their_readout() {
    let graph = graph(5, 30, 60, false, false, 6);
    let node = (0..30).find(|&node| graph.contexts.nodes(node as usize).len() == 6).unwrap();
    let pagerank = graph.contexts.pagerank(node as usize);
    for (kind, center) in [
        (ReadoutKind::Mean, true),
        (ReadoutKind::Mean, false),
        (ReadoutKind::Sum, false),
        (ReadoutKind::Mass, true),
        (ReadoutKind::Mass, false),
    ] {
        let readout = ReadoutSettings { kind, sigmoid: false, center };
        for encoder in [EncoderKind::Gcn, EncoderKind::Mlp] {
            let batch = assembler(&graph, encoder, &readout).batch(&[node], &Augmentation::NONE);
            let first = usize::from(!center);
            let (rows, weights) = batch.members.of(0);
            assert_eq!(rows, (first as u32..6).collect::<Vec<_>>());
            for (at, weight) in weights.iter().enumerate() {
                let wanted = match kind {
                    ReadoutKind::Mean => 1.0 / rows.len() as f32,
                    ReadoutKind::Mass => {
                        pagerank[first + at] / pagerank[first..].iter().sum::<f32>()
                    }
                    _ => 1.0,
                };
                assert!((weight - wanted).abs() < 1e-6);
            }
        }
    }
}

#[test]
fn an_isolated_node_keeps_its_center_in_its_summary() {
    let graph = graph(5, 30, 0, false, false, 6);
    let readout = ReadoutSettings { center: false, ..ReadoutSettings::default() };
    for kind in [EncoderKind::Gcn, EncoderKind::Mlp] {
        let batch = assembler(&graph, kind, &readout).batch(&[4, 7], &Augmentation::NONE);
        assert_eq!(batch.members.rows, [0, 1]);
        assert_eq!(batch.members.weights, [1.0, 1.0]);
    }
}

#[test]
fn separate_masks_encode_centers_apart() {
    let graph = graph(8, 30, 90, false, false, 6);
    let readout = ReadoutSettings::default();
    let mask = |key| Some(Mask { share: 0.5, key });
    let hidden = Augmentation { centers: mask(1), summaries: mask(2), ..Augmentation::NONE };
    let nodes = [3, 9, 12];
    let batch = assembler(&graph, EncoderKind::Gcn, &readout).batch(&nodes, &hidden);
    let plain = assembler(&graph, EncoderKind::Gcn, &readout).batch(&nodes, &Augmentation::NONE);
    assert_eq!((batch.rows(), batch.pieces.len()), (2 * plain.rows(), 7));
    let members = batch.members.rows.iter().max().unwrap();
    assert!(batch.centers.iter().all(|center| center > members), "outside of the summaries");
    // Without arcs one unit more for each center is all it takes.
    let batch = assembler(&graph, EncoderKind::Mlp, &readout).batch(&nodes, &hidden);
    let plain = assembler(&graph, EncoderKind::Mlp, &readout).batch(&nodes, &Augmentation::NONE);
    assert_eq!(batch.rows(), plain.rows() + 3);
    // The same mask for both is shared.
    let shared = Augmentation { centers: mask(2), ..hidden };
    let batch = assembler(&graph, EncoderKind::Mlp, &readout).batch(&nodes, &shared);
    assert_eq!(batch.rows(), plain.rows());
}

#[test]
fn dropped_edges_go_both_ways_and_at_their_rate() {
    let graph = graph(2, 200, 900, false, false, 20);
    let readout = ReadoutSettings::default();
    let nodes: Vec<u32> = (0..200).collect();
    let arcs = |drop_edges, edge_key| {
        let hidden = Augmentation { drop_edges, edge_key, ..Augmentation::NONE };
        assembler(&graph, EncoderKind::Gin, &readout).batch(&nodes, &hidden).arcs
    };
    let (all, some) = (arcs(0.0, 1), arcs(0.3, 1));
    let share = some.heads.len() as f64 / all.heads.len() as f64;
    assert!((share - 0.7).abs() < 0.02, "{share}");
    for row in 0..some.offsets.len() - 1 {
        for &head in some.of(row).0 {
            assert!(some.of(head as usize).0.contains(&(row as u32)), "symmetric");
        }
    }
    assert_eq!(arcs(0.3, 1), some);
    assert_ne!(arcs(0.3, 2), some);
}
