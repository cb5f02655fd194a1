//! Merging against its definition.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::graph::Adjacency;
use crate::progress::Silent;

/// The same by the definition, one pair at a time.
fn naive(edges: &[(u32, u32, f32)], rules: EdgeRules) -> (BTreeMap<(u32, u32), f32>, MergeCounts) {
    let mut counts = MergeCounts { given: edges.len() as u64, ..MergeCounts::default() };
    let mut given: BTreeMap<(u32, u32), Vec<f32>> = BTreeMap::new();
    for &(source, target, weight) in edges {
        if source == target {
            counts.self_loops += 1;
        } else if weight == 0.0 {
            counts.zero_weights += 1;
        } else {
            given.entry((source, target)).or_default().push(weight);
        }
    }
    let mut arcs = BTreeMap::new();
    for (&(source, target), weights) in &given {
        counts.duplicates += weights.len() as u64 - 1;
        let mut sorted = weights.clone();
        sorted.sort_by(f32::total_cmp);
        let weight = match rules.duplicates {
            Duplicates::Largest => sorted[sorted.len() - 1],
            Duplicates::Sum => sorted.iter().map(|&w| f64::from(w)).sum::<f64>() as f32,
        };
        let mut keep = |pair| {
            let old: &mut f32 = arcs.entry(pair).or_insert(0.0);
            *old = old.max(weight);
        };
        keep((source, target));
        if !rules.directed {
            keep((target, source));
            counts.mirrored += u64::from(!given.contains_key(&(target, source)));
        }
    }
    counts.arcs = arcs.len() as u64;
    (arcs, counts)
}

fn list(edges: &[(u32, u32, f32)], weighted: bool, chunk: usize) -> EdgeList {
    let mut list = EdgeList::new();
    for part in edges.chunks(chunk) {
        list.push(EdgeChunk {
            sources: part.iter().map(|e| e.0).collect(),
            targets: part.iter().map(|e| e.1).collect(),
            weights: if weighted { part.iter().map(|e| e.2).collect() } else { Vec::new() },
        });
    }
    list
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn merging_equals_its_definition(
        raw in prop::collection::vec((0u32..40, 0u32..40, 0u8..4), 0..120),
        weighted: bool,
        directed: bool,
        sum: bool,
        chunk in 1usize..50,
        // Far apart, so that several blocks are in play.
        stride in prop::sample::select(vec![1u32, 5_000]),
    ) {
        let duplicates = if sum { Duplicates::Sum } else { Duplicates::Largest };
        let rules = EdgeRules { directed, duplicates };
        let edges: Vec<_> = raw
            .iter()
            .map(|&(s, t, w)| (s * stride, t * stride, if weighted { f32::from(w) } else { 1.0 }))
            .collect();
        let nodes = 40 * stride;
        let mut made = Adjacency::empty(directed);
        let counts =
            merge(nodes, list(&edges, weighted, chunk), rules, &mut made, &Silent).unwrap();
        let (arcs, expected) = naive(&edges, rules);
        prop_assert_eq!(counts, expected);
        let made = made.finish();
        prop_assert_eq!(made.nodes(), nodes as usize);
        let mut seen = Vec::new();
        for node in 0..nodes {
            for (place, &other) in made.neighbours(node).iter().enumerate() {
                let weight = made.weights(node).map_or(1.0, |w| w[place]);
                seen.push(((node, other), if weighted || sum { weight } else { 1.0 }));
            }
        }
        prop_assert_eq!(seen, arcs.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn neither_order_nor_threads_change_anything() {
    let mut stream = crate::rng::Stream::new(1, "merge", 0);
    let edges: Vec<_> = (0..200_000)
        .map(|_| {
            let weight = stream.unit() as f32;
            (stream.below(70_000) as u32, stream.below(70_000) as u32, weight)
        })
        .collect();
    let mut turned = edges.clone();
    turned.reverse();
    let rules = EdgeRules { directed: false, duplicates: Duplicates::Sum };
    let run = |edges: &[(u32, u32, f32)], threads, chunk| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut made = Adjacency::empty(false);
        pool.install(|| merge(70_000, list(edges, true, chunk), rules, &mut made, &Silent))
            .unwrap();
        made.finish()
    };
    let (one, two) = (run(&edges, 1, 1 << 14), run(&turned, 2, 999));
    assert_eq!(&one.offsets[..], &two.offsets[..]);
    assert_eq!(&one.neighbours[..], &two.neighbours[..]);
    assert_eq!(&one.weights.unwrap()[..], &two.weights.unwrap()[..]);
}
