//! Kernels against their twins, and the laws of `mod`.

use proptest::prelude::*;

use super::oracle::{any_graph, build, naive_push, plain, reachable, solved};
use super::power::Power;
use super::push::{Push, Rules};
use super::together::{Asked, check_together};
use super::*;
use crate::graph::Adjacency;
use crate::progress::Silent;

fn push(epsilon: f64) -> ContextSettings {
    ContextSettings { method: Method::Push { epsilon, lookahead: true }, ..Default::default() }
}

fn rankings() -> impl Strategy<Value = Ranking> {
    prop::sample::select(vec![Ranking::Row, Ranking::PageRank])
}

/// Settled and residual mass of the fast kernel.
fn pushed(view: &AdjacencyView<'_>, centre: u32, ranking: Ranking, epsilon: f64) -> Push {
    let rules = Rules { restart: 0.15, ranking, budget: u64::MAX, most_visited: usize::MAX };
    let mut push = Push::default();
    push.begin(view, centre, &rules, epsilon);
    push.run(view, &rules, epsilon);
    push
}

proptest! {
    #[test]
    fn the_fast_push_is_the_naive_one(
        graph in any_graph(None), centre in 0u32..28, ranking in rankings(), digits in 1..6i32,
    ) {
        let view = AdjacencyView::new(&graph);
        let (centre, epsilon) = (centre % view.nodes() as u32, 10f64.powi(-digits));
        let fast = pushed(&view, centre, ranking, epsilon);
        let naive = naive_push(&view, centre, 0.15, ranking, epsilon);
        prop_assert_eq!(fast.visited.states.len(), naive.len());
        for state in &fast.visited.states {
            prop_assert_eq!((state.settled, state.residual), naive[&state.node]);
        }
    }

    #[test]
    fn a_push_is_within_its_bound(
        graph in any_graph(None), centre in 0u32..28, digits in 1..6i32,
    ) {
        let view = AdjacencyView::new(&graph);
        let (centre, epsilon) = (centre % view.nodes() as u32, 10f64.powi(-digits));
        let exact = solved(&view, centre, 0.15, Ranking::Row);
        let fast = pushed(&view, centre, Ranking::Row, epsilon);
        for node in 0..view.nodes() as u32 {
            let found = fast.visited.find(node).map_or(0.0, |s| s.settled / s.divisor);
            if node != centre || (view.weight_in(node) > 0.0 && view.weight_out(node) > 0.0) {
                let error = exact[node as usize] - found;
                prop_assert!((-1e-12..=epsilon + 1e-12).contains(&error), "{node}: {error}");
            }
        }
    }

    #[test]
    fn many_steps_are_the_solution(
        graph in any_graph(None), centre in 0u32..28, ranking in rankings(),
    ) {
        let view = AdjacencyView::new(&graph);
        let centre = centre % view.nodes() as u32;
        let exact = solved(&view, centre, 0.15, ranking);
        let steps = exact_scores(&view, centre, 0.15, ranking);
        for (node, (a, b)) in exact.iter().zip(&steps).enumerate() {
            if node != centre as usize {
                prop_assert!((a - b).abs() < 1e-12, "{node}: {a} {b}");
            }
        }
    }

    /// After t steps no score of an undirected graph is wrong by more than
    /// (1 − restart)^t over the centre's degree, whether it was reached or not.
    #[test]
    fn a_few_steps_are_within_their_bound(
        graph in any_graph(Some(false)), centre in 0u32..28, steps in 1u32..30,
    ) {
        let view = AdjacencyView::new(&graph);
        let centre = centre % view.nodes() as u32;
        if view.weight_out(centre) > 0.0 {
            let exact = solved(&view, centre, 0.15, Ranking::Row);
            let mut scores = vec![0.0; view.nodes()];
            for found in Power::default().run(&view, centre, 0.15, Ranking::Row, steps) {
                scores[found.node as usize] = found.score;
            }
            let bound = 0.85f64.powi(steps as i32) / view.weight_out(centre) * (1.0 + 1e-9) + 1e-14;
            for node in (0..view.nodes()).filter(|&node| node != centre as usize) {
                let wrong = (scores[node] - exact[node]).abs();
                prop_assert!(wrong <= bound, "{node}: {wrong} above {bound}");
            }
        }
    }

    /// A certified context holds the nodes of the largest exact scores; a tied one
    /// up to scores that are equal. Every other flag claims nothing.
    #[test]
    fn certified_means_right(
        graph in any_graph(None), centre in 0u32..28, ranking in rankings(), size in 1usize..12,
    ) {
        let view = AdjacencyView::new(&graph);
        let centre = centre % view.nodes() as u32;
        let settings = ContextSettings { size, ranking, certify: true, ..push(1e-2) };
        let found = context(&view, centre, &settings).unwrap();
        let exact = solved(&view, centre, 0.15, ranking);
        let mut best: Vec<u32> = reachable(&view, centre).into_iter().filter(|&v| v != centre).collect();
        best.sort_by(|&a, &b| exact[b as usize].total_cmp(&exact[a as usize]).then(a.cmp(&b)));
        best.truncate(size - 1);
        prop_assert!(!found.flags.has(Flags::BUDGET), "{:?}", found.flags);
        prop_assert_eq!(found.nodes.len(), best.len() + 1);
        let mut members = found.nodes[1..].to_vec();
        members.sort_unstable();
        let mut right = best.clone();
        right.sort_unstable();
        if found.flags.has(Flags::CERTIFIED) {
            prop_assert_eq!(members, right);
        } else {
            let mut scores: Vec<f64> = members.iter().map(|&v| exact[v as usize]).collect();
            scores.sort_by(|a, b| b.total_cmp(a));
            for (score, &node) in scores.iter().zip(&best) {
                prop_assert!((score - exact[node as usize]).abs() < 1e-11);
            }
        }
    }

    #[test]
    fn contexts_obey_the_laws(
        graph in any_graph(None), ranking in rankings(), size in 1usize..40, digits in 1..6i32,
        lookahead in any::<bool>(), certify in any::<bool>(),
    ) {
        let view = AdjacencyView::new(&graph);
        let method = Method::Push { epsilon: 10f64.powi(-digits), lookahead };
        let settings = ContextSettings { size, ranking, method, certify, ..Default::default() };
        for centre in 0..view.nodes() as u32 {
            let found = context(&view, centre, &settings).unwrap();
            let reached = reachable(&view, centre);
            prop_assert_eq!(found.nodes[0], centre);
            prop_assert_eq!(found.nodes.len(), size.min(reached.len()));
            prop_assert_eq!(found.flags.has(Flags::SHORT), reached.len() < size);
            prop_assert!(found.nodes.iter().all(|node| reached.contains(node)));
            let mut distinct = found.nodes.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), found.nodes.len());
            prop_assert!(found.pagerank.iter().all(|&x| x.is_finite() && x >= 0.0));
            if !graph.directed {
                let all = found.captured + found.residual;
                prop_assert!(found.captured <= 1.0 + 1e-6 && all <= 1.15, "{all}");
            }
        }
    }

    #[test]
    fn exact_contexts_are_ordered_by_score(
        graph in any_graph(Some(false)), centre in 0u32..28,
    ) {
        let view = AdjacencyView::new(&graph);
        let centre = centre % view.nodes() as u32;
        let exact = solved(&view, centre, 0.15, Ranking::Row);
        let settings = ContextSettings { method: Method::Exact, ..Default::default() };
        let found = context(&view, centre, &settings).unwrap();
        for pair in found.nodes[1..].windows(2) {
            let (a, b) = (exact[pair[0] as usize], exact[pair[1] as usize]);
            prop_assert!(a > b * (1.0 - 1e-9), "{a} {b}");
            prop_assert!(a > b * (1.0 + 1e-9) || pair[0] < pair[1], "{pair:?} {a} {b}");
        }
    }

    #[test]
    fn bits_are_the_induced_adjacency(graph in any_graph(None), size in 1usize..64) {
        let view = AdjacencyView::new(&graph);
        let all: Vec<u32> = (0..view.nodes() as u32).collect();
        let contexts = sample(&view, &all, &ContextSettings { size, ..push(1e-3) }, &Silent).unwrap();
        for row in 0..contexts.rows() {
            let nodes = contexts.nodes(row);
            for (a, &from) in nodes.iter().enumerate() {
                for b in 0..size {
                    let there = nodes.get(b).is_some_and(|to| graph.neighbours(from).contains(to));
                    prop_assert_eq!(contexts.bits.get(row * size + a, b), there);
                }
            }
        }
    }

    /// Threads, order and split of the nodes leave no trace.
    #[test]
    fn every_way_to_sample_gives_the_same_bytes(
        graph in any_graph(None), cut in 0usize..28, certify in any::<bool>(),
    ) {
        let view = AdjacencyView::new(&graph);
        let nodes: Vec<u32> = (0..view.nodes() as u32).collect();
        let settings = ContextSettings { size: 6, certify, ..push(1e-2) };
        let all = sample(&view, &nodes, &settings, &Silent).unwrap();
        let cut = cut.min(nodes.len());
        let parts = [&nodes[..cut], &nodes[cut..]]
            .map(|part| sample(&view, part, &settings, &Silent).unwrap());
        prop_assert_eq!(&all.nodes[..], &[&parts[0].nodes[..], &parts[1].nodes[..]].concat());
        prop_assert_eq!(&all.residual[..], &[&parts[0].residual[..], &parts[1].residual[..]].concat());
        let backwards: Vec<u32> = nodes.iter().rev().copied().collect();
        let mirrored = sample(&view, &backwards, &settings, &Silent).unwrap();
        for row in 0..nodes.len() {
            let other = nodes.len() - 1 - row;
            prop_assert_eq!(all.nodes(row), mirrored.nodes(other));
            prop_assert_eq!(all.pagerank(row), mirrored.pagerank(other));
            prop_assert_eq!(all.flags(row), mirrored.flags(other));
        }
    }

    /// A node that is added as an overlay has the context it has in the whole graph.
    #[test]
    fn an_overlay_is_the_graph_with_the_node(
        graph in any_graph(None), ranking in rankings(), certify in any::<bool>(),
    ) {
        let whole = AdjacencyView::new(&graph);
        let last = whole.nodes() as u32 - 1;
        prop_assume!(last > 0);
        let mut edges = Vec::new();
        for node in 0..last {
            edges.extend(whole.arcs(node).filter(|&(to, _)| to != last).map(|(to, w)| (node, to, w)));
        }
        let weighted = graph.weights.is_some();
        let below = build(last as usize, &edges, weighted, graph.directed);
        let below = AdjacencyView::new(&below);
        let out: Vec<(u32, f32)> = whole.arcs(last).collect();
        let into: Vec<(u32, f32)> = (0..last)
            .flat_map(|node| whole.arcs(node).filter(move |&(to, _)| to == last).map(move |(_, w)| (node, w)))
            .collect();
        let view = if graph.directed {
            WithNode::directed(&below, &out, &into).unwrap()
        } else {
            WithNode::undirected(&below, &out).unwrap()
        };
        let settings = ContextSettings { size: 8, ranking, certify, ..push(1e-3) };
        for node in 0..=last {
            prop_assert_eq!(whole.degree(node), view.degree(node));
            prop_assert!((whole.weight_in(node) - view.weight_in(node)).abs() < 1e-4);
            let (a, b) =
                (context(&whole, node, &settings).unwrap(), context(&view, node, &settings).unwrap());
            prop_assert_eq!(a.flags, b.flags);
            if !weighted {
                prop_assert_eq!(a, b);
            }
        }
        if !graph.directed {
            let asked = Asked { restart: 0.15, ranking, steps: 7, size: 8, seen: |score| score };
            check_together(&view, &[last, 0], &asked)?;
        }
    }
}

fn hashed_graph(nodes: u32, draws: u64) -> Adjacency {
    let mut stream = crate::rng::Stream::new(5, "test graph", 0);
    let mut draw = || (stream.unit().powi(3) * f64::from(nodes)) as u32;
    let edges: Vec<(u32, u32)> = (0..draws).map(|_| (draw(), draw())).collect();
    plain(nodes as usize, &edges)
}

#[test]
fn one_thread_and_many_give_the_same_bytes() {
    let graph = hashed_graph(3000, 12_000);
    let view = AdjacencyView::new(&graph);
    let nodes: Vec<u32> = (0..3000).collect();
    for certify in [false, true] {
        let settings = ContextSettings { certify, budget: 20_000, ..push(1e-3) };
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| sample(&view, &nodes, &settings, &Silent).unwrap())
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(5));
        let mut sampler = Sampler::new(&view, &settings).unwrap();
        for row in (0..3000).rev().step_by(97) {
            let found = sampler.context(row as u32).unwrap();
            assert_eq!(found.nodes, one.nodes(row));
            assert_eq!(found.pagerank, one.pagerank(row));
            assert_eq!((found.captured, found.residual), (one.captured[row], one.residual[row]));
        }
    }
}

#[test]
fn a_smaller_epsilon_agrees_better_and_a_lookahead_helps() {
    let graph = hashed_graph(3000, 12_000);
    let view = AdjacencyView::new(&graph);
    let nodes: Vec<u32> = (0..3000).step_by(29).collect();
    let exact = ContextSettings { method: Method::Exact, ..Default::default() };
    let right = sample(&view, &nodes, &exact, &Silent).unwrap();
    let agreement = |epsilon, lookahead| {
        let method = Method::Push { epsilon, lookahead };
        let settings = ContextSettings { method, ..Default::default() };
        let found = sample(&view, &nodes, &settings, &Silent).unwrap();
        let hits = |row| found.nodes(row).iter().filter(|x| right.nodes(row).contains(x)).count();
        (0..nodes.len()).map(hits).sum::<usize>() as f64 / right.nodes.len() as f64
    };
    let plain = [1e-3, 1e-4, 1e-5].map(|epsilon| agreement(epsilon, false));
    assert!(plain[0] < plain[1] && plain[1] <= plain[2], "{plain:?}");
    assert!(agreement(1e-4, true) > plain[1], "{plain:?}");
    assert!(agreement(1e-6, true) > 0.999);
}

#[test]
fn small_graphs_by_hand() {
    // 0 – 1 – 2 and 3 alone. d = 1, 2, 1. From 0: row of S over degree.
    let graph = plain(4, &[(0, 1), (1, 2)]);
    let view = AdjacencyView::new(&graph);
    let found = context(&view, 0, &push(1e-6)).unwrap();
    assert_eq!((found.nodes, found.flags), (vec![0, 1, 2], Flags::SHORT));
    assert!((found.captured - 1.0).abs() < 1e-4);
    let alone = context(&view, 3, &push(1e-6)).unwrap();
    assert_eq!((alone.nodes, alone.pagerank), (vec![3], vec![1.0]));
    assert_eq!((alone.captured, alone.residual, alone.flags), (1.0, 0.0, Flags::SHORT));
    // Two nodes: π(0) = restart / (1 − (1 − restart)²), π(1) = (1 − restart) π(0).
    let graph = plain(2, &[(0, 1)]);
    let two = context(&AdjacencyView::new(&graph), 0, &push(1e-9)).unwrap();
    let own = 0.15 / (1.0 - 0.85f64 * 0.85);
    assert!((f64::from(two.pagerank[0]) - own).abs() < 1e-6, "{two:?}");
    assert!((f64::from(two.pagerank[1]) - 0.85 * own).abs() < 1e-6, "{two:?}");
    // A directed arc leads one way only.
    let graph = build(2, &[(0, 1, 1.0)], false, true);
    let view = AdjacencyView::new(&graph);
    assert_eq!(context(&view, 0, &push(1e-4)).unwrap().nodes, [0, 1]);
    assert_eq!(context(&view, 1, &push(1e-4)).unwrap().nodes, [1]);
}

#[test]
fn a_star_gives_its_first_leaves() {
    let leaves = 100_000;
    let edges: Vec<(u32, u32)> = (1..=leaves).map(|leaf| (0, leaf)).collect();
    let graph = plain(leaves as usize + 1, &edges);
    let view = AdjacencyView::new(&graph);
    let settings = ContextSettings { certify: true, ..push(1e-3) };
    for settings in [push(1e-3), push(1e-4), settings] {
        let leaf = context(&view, 77_777, &settings).unwrap();
        assert_eq!(leaf.nodes[0], 77_777);
        let mut rest = leaf.nodes[1..].to_vec();
        rest.sort_unstable();
        assert_eq!(rest, (0..19).collect::<Vec<u32>>());
        let hub = context(&view, 0, &settings).unwrap();
        assert_eq!(hub.nodes, (0..20).collect::<Vec<u32>>());
    }
}

/// Node 500 hangs on a hub that ε keeps from being pushed: what the hub gives is
/// the same for all, so the neighbours of smallest degree come first, then number.
#[test]
fn a_hub_gives_its_best() {
    let mut edges: Vec<(u32, u32, f32)> = (1..=500).map(|leaf| (0, leaf, 2.0)).collect();
    edges.extend((1..400u32).filter(|leaf| leaf % 3 > 0).map(|leaf| (leaf, leaf + 1, 2.0)));
    for weighted in [false, true] {
        let graph = build(501, &edges, weighted, false);
        let view = AdjacencyView::new(&graph);
        let mut best: Vec<u32> = (1..500).collect();
        best.sort_by_key(|&leaf| (graph.degree(leaf), leaf));
        let method = Method::Push { epsilon: 0.01, lookahead: false };
        let settings = ContextSettings { method, ..Default::default() };
        let found = context(&view, 500, &settings).unwrap();
        let leaves: Vec<u32> = found.nodes[1..].iter().copied().filter(|&node| node != 0).collect();
        assert_eq!((found.nodes[0], found.nodes.len()), (500, 20));
        assert_eq!(leaves, best[..leaves.len()], "{weighted}");
        // Settled, given to the visited, and untracked: nothing is lost.
        assert!(found.captured + found.residual <= 1.0 && found.residual > 0.6, "{found:?}");
        let certified = ContextSettings { certify: true, ..settings };
        assert!(context(&view, 500, &certified).unwrap().flags.has(Flags::TIED));
    }
}

#[test]
fn complete_graphs_and_paths_break_ties_by_number() {
    let edges: Vec<(u32, u32)> = (0..50).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
    let graph = plain(50, &edges);
    let view = AdjacencyView::new(&graph);
    let certified = ContextSettings { certify: true, ..push(1e-3) };
    let exact = ContextSettings { method: Method::Exact, ..Default::default() };
    for settings in [&certified, &exact] {
        let found = context(&view, 30, settings).unwrap();
        assert_eq!(found.nodes[0], 30);
        assert_eq!(found.nodes[1..], (0..19).collect::<Vec<u32>>());
    }
    assert!(context(&view, 30, &certified).unwrap().flags.has(Flags::TIED));

    let edges: Vec<(u32, u32)> = (0..999).map(|a| (a, a + 1)).collect();
    let graph = plain(1000, &edges);
    let found =
        context(&AdjacencyView::new(&graph), 500, &ContextSettings { size: 6, ..certified });
    let mut nodes = found.unwrap().nodes;
    nodes.sort_unstable();
    // Both ends of the interval are equally far: the smaller number is taken.
    assert_eq!(nodes, [497, 498, 499, 500, 501, 502]);
}

#[test]
fn extreme_weights_stay_finite() {
    let weights = [1e-30f32, 1e-10, 1.0, 1e10, 1e30, f32::MIN_POSITIVE, 1e38];
    let edges: Vec<(u32, u32, f32)> = (0..60u32)
        .flat_map(|a| {
            (1..5u32)
                .map(move |step| (a, (a + step * step) % 60, weights[(a * 5 + step) as usize % 7]))
        })
        .collect();
    for directed in [false, true] {
        let graph = build(60, &edges, true, directed);
        let view = AdjacencyView::new(&graph);
        for (certify, ranking) in
            [false, true].into_iter().flat_map(|c| [(c, Ranking::Row), (c, Ranking::PageRank)])
        {
            for epsilon in [1e-3, 1e-12] {
                let settings =
                    ContextSettings { certify, ranking, budget: 50_000, ..push(epsilon) };
                for node in 0..60 {
                    let found = context(&view, node, &settings).unwrap();
                    assert_eq!(found.nodes.len(), 20);
                    assert!(found.pagerank.iter().all(|x| x.is_finite() && *x >= 0.0), "{found:?}");
                    assert!(found.captured.is_finite() && found.residual.is_finite());
                }
            }
        }
    }
}

#[test]
fn a_tiny_epsilon_ends_with_its_budget() {
    let graph = hashed_graph(3000, 12_000);
    let view = AdjacencyView::new(&graph);
    let settings = ContextSettings { budget: 10_000, ..push(1e-300) };
    let found = context(&view, 17, &settings).unwrap();
    assert!(found.flags.has(Flags::BUDGET) && found.nodes.len() == 20);
    let settings = ContextSettings { certify: true, ..settings };
    assert_eq!(context(&view, 17, &settings).unwrap().nodes.len(), 20);
}

#[test]
fn power_sees_what_lies_within_its_steps() {
    let edges: Vec<(u32, u32)> = (0..9).map(|a| (a, a + 1)).collect();
    let graph = plain(10, &edges);
    let view = AdjacencyView::new(&graph);
    let power = |steps| ContextSettings { method: Method::Power { steps }, ..Default::default() };
    let found = context(&view, 0, &power(2)).unwrap();
    assert_eq!((found.nodes, found.flags), (vec![0, 2, 1], Flags::SHORT));
    assert!((found.captured - 1.0).abs() < 1e-6);
    // x₂ = .15 e₀ + .85 P (.15 e₀ + .85 P e₀): .15 + .7225 / 2, .1275, .7225 / 2.
    let expected = [0.51125, 0.36125, 0.1275];
    assert!(found.pagerank.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6));
}

#[test]
fn faults_of_a_request_are_refused() {
    let graph = plain(3, &[(0, 1)]);
    let view = AdjacencyView::new(&graph);
    let text = context(&view, 3, &push(1e-4)).unwrap_err().to_string();
    assert_eq!(text, "node = 3: the graph has 3 nodes, numbered from 0");
    assert!(sample(&view, &[0, 9], &push(1e-4), &Silent).is_err());
    let refused = |arcs: &[(u32, f32)]| WithNode::undirected(&view, arcs).unwrap_err().to_string();
    assert!(refused(&[(3, 1.0)]).contains("3 nodes"));
    assert!(refused(&[(1, 1.0), (1, 1.0)]).contains("once"));
    assert!(refused(&[(1, 2.0)]).contains("no weights"));
    assert!(WithNode::directed(&view, &[], &[]).is_err());
    let weighted = build(2, &[(0, 1, 2.0)], true, false);
    let weighted = AdjacencyView::new(&weighted);
    assert!(WithNode::undirected(&weighted, &[(0, f32::NAN)]).is_err());
}
