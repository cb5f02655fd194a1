//! What does a graph look like at a glance?
//!
//! Degrees in bins by powers of two, as they span orders of magnitude, and
//! connected components by a forest of parents: every arc joins two trees,
//!
//! ```text
//! parent[larger root] = smaller root
//! ```
//!
//! and a path is halved whenever it is walked. Parents only ever fall, so many
//! threads may join at once with one compare-and-swap each, and the trees they
//! end with hold the same nodes in whatever order arcs come. A search in breadth
//! would need the arcs of directed graphs in both directions.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;
use serde::Serialize;

use super::Adjacency;

/// How many neighbours nodes have. In a directed graph a degree counts the
/// arcs that leave a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DegreeSummary {
    /// The smallest degree.
    pub min: u64,
    /// The largest degree.
    pub max: u64,
    /// The mean degree.
    pub mean: f64,
    /// The middle degree, or the mean of the two in the middle.
    pub median: f64,
    /// Nodes that no arc leaves or enters.
    pub isolated: u64,
    /// Nodes by degree: 0, 1, 2 to 3, 4 to 7 and so on up to the largest.
    pub histogram: Vec<DegreeBin>,
}

/// The nodes of some degrees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DegreeBin {
    /// The smallest degree in the bin.
    pub from: u64,
    /// The largest degree in the bin.
    pub to: u64,
    /// Number of nodes.
    pub nodes: u64,
}

/// Parts of a graph that no arc joins, whichever way arcs point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Components {
    /// Number of components; an isolated node is one.
    pub count: u64,
    /// Nodes in the largest.
    pub largest: u64,
}

/// Summarizes degrees. Takes four bytes a node, and a bit more in directed graphs.
pub fn degrees(adjacency: &Adjacency) -> DegreeSummary {
    let mut degrees: Vec<u32> =
        adjacency.offsets.windows(2).map(|pair| (pair[1] - pair[0]) as u32).collect();
    // Bin b > 0 holds the degrees of b significant bits.
    let mut bins = [0u64; 33];
    degrees.iter().for_each(|d| bins[(u32::BITS - d.leading_zeros()) as usize] += 1);
    let used = bins.iter().rposition(|&nodes| nodes > 0).map_or(0, |last| last + 1);
    let histogram = bins[..used].iter().enumerate().map(|(bits, &nodes)| {
        let to = (1u64 << bits) - 1;
        DegreeBin { from: to.div_ceil(2), to, nodes }
    });
    DegreeSummary {
        isolated: if adjacency.directed { untouched(adjacency, &degrees) } else { bins[0] },
        histogram: histogram.collect(),
        min: degrees.iter().min().copied().unwrap_or(0).into(),
        max: degrees.iter().max().copied().unwrap_or(0).into(),
        mean: adjacency.arcs() as f64 / degrees.len().max(1) as f64,
        median: median(&mut degrees),
    }
}

/// Nodes of a directed graph that no arc leaves or enters.
fn untouched(adjacency: &Adjacency, degrees: &[u32]) -> u64 {
    let mut entered = vec![0u64; degrees.len().div_ceil(64)];
    adjacency.neighbours.iter().for_each(|&v| entered[v as usize / 64] |= 1 << (v % 64));
    let alone = |&(node, &d): &(usize, &u32)| d == 0 && entered[node / 64] >> (node % 64) & 1 == 0;
    degrees.iter().enumerate().filter(alone).count() as u64
}

fn median(values: &mut [u32]) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    let even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable(middle);
    let lower = if even { below.iter().max().copied().unwrap_or(upper) } else { upper };
    f64::midpoint(lower.into(), upper.into())
}

/// Counts connected components (weakly connected ones of a directed graph).
/// Takes eight bytes a node.
pub fn components(adjacency: &Adjacency) -> Components {
    let nodes = adjacency.nodes() as u32;
    let parents: Vec<AtomicU32> = (0..nodes).into_par_iter().map(AtomicU32::new).collect();
    (0..nodes).into_par_iter().with_min_len(256).for_each(|node| {
        let list = adjacency.neighbours(node);
        // The other end of an undirected edge has it too; one end is enough.
        let skip = if adjacency.directed { 0 } else { list.partition_point(|&v| v < node) };
        list[skip..].iter().for_each(|&neighbour| join(&parents, node, neighbour));
    });
    let mut sizes = vec![0u32; nodes as usize];
    for node in 0..nodes as usize {
        // A parent is smaller, so it points to its root already.
        let root = parents[parents[node].load(Relaxed) as usize].load(Relaxed);
        parents[node].store(root, Relaxed);
        sizes[root as usize] += 1;
    }
    Components {
        count: sizes.iter().filter(|&&size| size > 0).count() as u64,
        largest: sizes.iter().max().copied().unwrap_or(0).into(),
    }
}

/// Puts two nodes into one tree.
fn join(parents: &[AtomicU32], a: u32, b: u32) {
    let (mut a, mut b) = (root(parents, a), root(parents, b));
    while a != b {
        let (small, large) = (a.min(b), a.max(b));
        // Fails where another thread has just joined `large` elsewhere.
        if parents[large as usize].compare_exchange(large, small, Relaxed, Relaxed).is_ok() {
            return;
        }
        (a, b) = (root(parents, small), root(parents, large));
    }
}

/// The root of a node's tree; every node on the way is hung one step higher.
/// A store may overwrite a newer parent with an older one, which is still an
/// ancestor; a node that has a parent never becomes a root again.
fn root(parents: &[AtomicU32], mut node: u32) -> u32 {
    loop {
        let parent = parents[node as usize].load(Relaxed);
        let above = parents[parent as usize].load(Relaxed);
        if parent == above {
            return parent;
        }
        parents[node as usize].store(above, Relaxed);
        node = above;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn adjacency(nodes: u32, edges: &[(u32, u32)], directed: bool) -> Adjacency {
        let mut arcs: BTreeSet<(u32, u32)> = edges.iter().copied().filter(|e| e.0 != e.1).collect();
        if !directed {
            arcs.extend(edges.iter().filter(|e| e.0 != e.1).map(|&(u, v)| (v, u)));
        }
        let offsets: Vec<u64> =
            (0..=nodes).map(|node| arcs.range(..(node, 0)).count() as u64).collect();
        let neighbours: Vec<u32> = arcs.iter().map(|arc| arc.1).collect();
        Adjacency {
            offsets: offsets.into(),
            neighbours: neighbours.into(),
            weights: None,
            directed,
        }
    }

    /// The naive twin: one search in breadth after another over all pairs.
    fn searched(nodes: u32, edges: &[(u32, u32)]) -> Components {
        let mut seen = vec![false; nodes as usize];
        let mut found = Components { count: 0, largest: 0 };
        for start in 0..nodes {
            if std::mem::replace(&mut seen[start as usize], true) {
                continue;
            }
            let mut queue = vec![start];
            let mut next = 0;
            while next < queue.len() {
                for &(u, v) in edges {
                    for (from, to) in [(u, v), (v, u)] {
                        if from == queue[next] && !std::mem::replace(&mut seen[to as usize], true) {
                            queue.push(to);
                        }
                    }
                }
                next += 1;
            }
            found.count += 1;
            found.largest = found.largest.max(queue.len() as u64);
        }
        found
    }

    fn small_graph() -> impl Strategy<Value = (u32, Vec<(u32, u32)>)> {
        (1u32..40).prop_flat_map(|nodes| {
            (Just(nodes), prop::collection::vec((0..nodes, 0..nodes), 0..60))
        })
    }

    proptest! {
        #[test]
        fn components_are_those_of_a_search((nodes, edges) in small_graph(), directed: bool) {
            let graph = adjacency(nodes, &edges, directed);
            prop_assert_eq!(components(&graph), searched(nodes, &edges));
        }

        #[test]
        fn degrees_are_those_of_a_sorted_list((nodes, edges) in small_graph(), directed: bool) {
            let graph = adjacency(nodes, &edges, directed);
            let summary = degrees(&graph);
            let mut sorted: Vec<u64> = (0..nodes).map(|v| graph.degree(v) as u64).collect();
            sorted.sort_unstable();
            let n = sorted.len();
            prop_assert_eq!((summary.min, summary.max), (sorted[0], sorted[n - 1]));
            prop_assert_eq!(summary.mean, sorted.iter().sum::<u64>() as f64 / n as f64);
            prop_assert_eq!(summary.median, (sorted[(n - 1) / 2] + sorted[n / 2]) as f64 / 2.0);
            for bin in &summary.histogram {
                let inside = sorted.iter().filter(|&&d| (bin.from..=bin.to).contains(&d));
                prop_assert_eq!(inside.count() as u64, bin.nodes);
            }
            prop_assert_eq!(summary.histogram.iter().map(|bin| bin.nodes).sum::<u64>(), n as u64);
            let touched: BTreeSet<u32> =
                edges.iter().filter(|e| e.0 != e.1).flat_map(|&(u, v)| [u, v]).collect();
            prop_assert_eq!(summary.isolated, u64::from(nodes) - touched.len() as u64);
        }
    }

    #[test]
    fn a_star_beside_a_pair_and_a_hermit() {
        let edges = [(0, 1), (0, 2), (0, 3), (0, 4), (5, 6)];
        let summary = degrees(&adjacency(8, &edges, false));
        let bin = |from, to, nodes| DegreeBin { from, to, nodes };
        let histogram = vec![bin(0, 0, 1), bin(1, 1, 6), bin(2, 3, 0), bin(4, 7, 1)];
        let expected =
            DegreeSummary { min: 0, max: 4, mean: 1.25, median: 1.0, isolated: 1, histogram };
        assert_eq!(summary, expected);
        let directed = adjacency(8, &edges, true);
        assert_eq!(degrees(&directed).isolated, 1);
        assert_eq!(degrees(&directed).histogram[0].nodes, 6);
        assert_eq!(components(&directed), Components { count: 3, largest: 5 });
    }

    #[test]
    fn no_nodes_at_all() {
        let graph = adjacency(0, &[], false);
        assert_eq!(components(&graph), Components { count: 0, largest: 0 });
        let summary = degrees(&graph);
        assert_eq!((summary.max, summary.median, summary.histogram.len()), (0, 0.0, 0));
    }

    /// Long paths in falling order make the deepest trees.
    #[test]
    fn threads_do_not_matter() {
        let nodes = 20_000u32;
        let offsets: Vec<u64> = (0..=u64::from(nodes)).map(|v| v.saturating_sub(1)).collect();
        // Node v points to v - 1, but every hundredth starts a path of its own.
        let neighbours: Vec<u32> =
            (1..nodes).map(|v| if v % 100 == 0 { v + 1 } else { v - 1 }).collect();
        let graph = Adjacency {
            offsets: offsets.into(),
            neighbours: neighbours.into(),
            weights: None,
            directed: true,
        };
        for threads in [1, 2, 4] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let found = pool.install(|| components(&graph));
            assert_eq!(found, Components { count: 200, largest: 100 });
        }
    }
}
