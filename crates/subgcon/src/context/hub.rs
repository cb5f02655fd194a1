//! The best of a very long list.
//!
//! A context that is still short has to go through a node u with so many arcs that
//! ε kept it from being pushed. Of all that u gives, amount · w(u, v) each, only
//! the best by w(u, v)/D(v) (by w(u, v) for PageRank) can enter the context: for
//! an unweighted graph the neighbours of smallest degree. They are a property of
//! u, found once for a thread and remembered. What goes to the others is added up
//! as `untracked`; each of them gets less than ε times its degree, as u's
//! residual was, so the bound of the push stands.
//!
//! On an R-MAT graph of 1 M nodes one node in six ends in a hub so.

use hashbrown::HashMap;

use super::push::{Push, Rules};
use super::settings::Ranking;
use super::top::{Best, Candidate};
use super::view::GraphView;

/// Entries that a thread remembers, of 8 bytes each.
const MAX_REMEMBERED: usize = 1 << 18;

/// Best neighbours of hubs, with their weights.
#[derive(Debug, Default)]
pub(super) struct Hubs {
    known: HashMap<u32, Vec<(u32, f32)>>,
    entries: usize,
}

impl Hubs {
    fn best<V: GraphView>(view: &V, hub: u32, rules: &Rules, keep: usize) -> Vec<(u32, f32)> {
        let mut best = Best::default();
        best.reset(keep);
        for (node, weight) in view.arcs(hub).filter(|&(_, weight)| weight > 0.0) {
            let divisor = rules.divisor(view, node);
            let score = match rules.ranking {
                Ranking::Row => f64::from(weight) / divisor,
                Ranking::PageRank => f64::from(weight),
            };
            let pagerank = f64::from(weight);
            best.offer(Candidate { score, slack: 0.0, divisor, pagerank, node });
        }
        best.finish().iter().map(|found| (found.node, found.pagerank as f32)).collect()
    }
}

impl Push {
    /// Pushes a state with more than `4 · size` arcs to those of its neighbours that
    /// are visited already and to the `2 · size` best; fewer than `size` are visited.
    pub(super) fn push_hub<V: GraphView>(
        &mut self,
        view: &V,
        at: usize,
        rules: &Rules,
        epsilon: f64,
        size: usize,
    ) {
        let (hub, amount) = self.settle(at, rules);
        let mut hubs = std::mem::take(&mut self.hubs);
        let found;
        let best = if let Some(best) = hubs.known.get(&hub) {
            best
        } else {
            found = Hubs::best(view, hub, rules, 2 * size);
            if hubs.entries + found.len() <= MAX_REMEMBERED {
                hubs.entries += found.len();
                hubs.known.entry(hub).insert(found).into_mut()
            } else {
                &found
            }
        };
        self.pushes += 1;
        self.arcs += best.len() as u64;
        self.reserve(best.len());
        let visited = self.states.len();
        let mut given = 0.0;
        for at in 0..visited {
            let node = self.states[at].node;
            if best.iter().all(|&(other, _)| other != node)
                && let Some(weight) = weight_of(view, hub, node)
            {
                given += weight;
                self.add(view, node, amount * weight, rules, epsilon);
            }
        }
        for &(node, weight) in best {
            given += f64::from(weight);
            self.add(view, node, amount * f64::from(weight), rules, epsilon);
        }
        self.untracked += amount * (view.weight_out(hub) - given).max(0.0);
        self.hubs = hubs;
    }
}

/// Weight of the arc `from` → `to`, where there is one.
fn weight_of<V: GraphView>(view: &V, from: u32, to: u32) -> Option<f64> {
    match view.neighbours(from).binary_search(&to) {
        Ok(at) => Some(view.weights(from).map_or(1.0, |weights| f64::from(weights[at]))),
        Err(_) => view.extra(from).filter(|&(node, _)| node == to).map(|(_, w)| f64::from(w)),
    }
    .filter(|&weight| weight > 0.0)
}
