//! Several centres at once against each of them alone, and who is taken how.

use proptest::prelude::*;

use super::super::oracle::{any_graph, build};
use super::super::power::Power;
use super::super::top::order;
use super::super::{AdjacencyView, ContextSettings, Method, context, sample};
use super::*;
use crate::graph::Adjacency;
use crate::progress::Silent;

/// What several centres at once find, to the last bit.
pub(in crate::context) fn check_together<V: GraphView>(
    view: &V,
    centres: &[u32],
    asked: &Asked,
) -> Result<(), TestCaseError> {
    let mut together = Together::default();
    // What was left of others before is no matter.
    together.run(view, &centres[..1], asked);
    let _ = together.take(centres[0]);
    together.run(view, centres, asked);
    prop_assert!(together.take(u32::MAX).is_none());
    for &centre in centres {
        let Asked { restart, ranking, steps, size, .. } = *asked;
        let mut alone = Power::default().run(view, centre, restart, ranking, steps);
        alone[1..].sort_by(order);
        alone.truncate(size);
        let found = together.take(centre).unwrap();
        let shown =
            |all: &[Candidate]| all.iter().map(|c| (c.node, c.pagerank)).collect::<Vec<_>>();
        prop_assert_eq!(shown(&found), shown(&alone));
    }
    Ok(())
}

proptest! {
    /// Several centres at once are found as each of them alone, to the last bit.
    #[test]
    fn steps_taken_together_are_those_taken_alone(
        graph in any_graph(Some(false)), first in 0u32..28, count in 1usize..=LANES,
        by_row in any::<bool>(), steps in 1u32..30, size in 1usize..12,
    ) {
        let view = AdjacencyView::new(&graph);
        // The same centre may come twice.
        let centre = |at: usize| (first + 3 * at as u32) % view.nodes() as u32;
        let centres: Vec<u32> = (0..count).map(centre).collect();
        let ranking = if by_row { Ranking::Row } else { Ranking::PageRank };
        let asked = Asked { restart: 0.15, ranking, steps, size, seen: |score| score };
        check_together(&view, &centres, &asked)?;
        // So small that it is lost on the way.
        check_together(&view, &centres, &Asked { restart: 1.0 - 1e-15, ..asked })?;
    }
}

/// With these chords a few steps reach every node of [`cycle`].
const FAR: [u32; 4] = [38, 91, 150, 233];

/// A cycle of 700 nodes and one chord more at each for every reach, weighted.
fn cycle(reaches: &[u32], directed: bool) -> Adjacency {
    let edges: Vec<(u32, u32, f32)> = (0..700)
        .flat_map(|a| {
            let chord = move |&reach: &u32| (a, (a + reach) % 700, 0.5 + ((a + reach) % 7) as f32);
            reaches.iter().map(chord).chain([(a, (a + 1) % 700, 1.0)])
        })
        .collect();
    build(700, &edges, true, directed)
}

#[test]
fn steps_are_taken_together_where_that_pays() {
    let asked =
        Asked { restart: 0.15, ranking: Ranking::Row, steps: 10, size: 20, seen: |score| score };
    // Ten steps go all over the first graph, get nowhere in the second, and one way in the third.
    for (reaches, directed, pays) in
        [(&FAR[..], false, true), (&[], false, false), (&FAR, true, false)]
    {
        let graph = cycle(reaches, directed);
        let view = AdjacencyView::new(&graph);
        let (mut together, mut power) = (Together::default(), Power::default());
        let groups: Vec<Vec<u32>> =
            (0..3).map(|group| (8 * group..8 * group + 8).collect()).collect();
        together.ahead(&view, &groups[0], &asked);
        assert!(together.take(0).is_none(), "nothing is known yet");
        for &centre in &groups[0] {
            power.run(&view, centre, 0.15, Ranking::Row, 10);
            together.learn(power.arcs);
        }
        together.ahead(&view, &groups[1], &asked);
        assert_eq!(together.take(8).is_some(), pays, "{reaches:?}");
        together.ahead(&view, &groups[2], &asked);
        assert!(together.take(9).is_none(), "it was not asked for in time");
        together.ahead(&view, &groups[2][..7], &asked);
        assert!(together.take(16).is_none(), "too few to be worth it");
    }
}

#[test]
fn a_table_by_steps_has_the_contexts_of_single_nodes() {
    for (reaches, directed) in [(&FAR[..], false), (&[], false), (&FAR, true)] {
        let graph = cycle(reaches, directed);
        let view = AdjacencyView::new(&graph);
        let nodes: Vec<u32> = (0..700).collect();
        for method in [Method::Power { steps: 10 }, Method::Exact] {
            let settings = ContextSettings { method, restart: 0.3, ..ContextSettings::default() };
            let table = sample(&view, &nodes, &settings, &Silent).unwrap();
            for &node in &nodes {
                let alone = context(&view, node, &settings).unwrap();
                let row = node as usize;
                assert_eq!(table.nodes(row), alone.nodes, "{node}");
                assert_eq!(table.pagerank(row), alone.pagerank, "{node}");
                assert_eq!(table.captured[row], alone.captured, "{node}");
                assert_eq!(table.flags[row], alone.flags.0, "{node}");
            }
        }
    }
}
