//! Scores by whole steps over the graph.
//!
//! With r₀ the centre, the same g as in `push`, and t steps:
//!
//! ```text
//! r_{s+1}(v) = (1 − restart) · Σ_u r_s(u) / g(u) · w(u, v)
//! p = restart · Σ_{s<t} r_s + r_t
//! ```
//!
//! Ten steps, ranked by p/D, are what the released program does. The last term is
//! the whole of r_t there, so p is not a lower bound. What is wrong in p/D after t
//! steps is at most (1 − restart)^t · max r₀/D.
//!
//! Memory is 25 bytes a node of the graph and thread.

use super::settings::Ranking;
use super::top::{Candidate, score};
use super::view::GraphView;

/// Node-long arrays, all zero between two nodes.
#[derive(Debug, Default)]
pub(super) struct Power {
    settled: Vec<f64>,
    now: Vec<f64>,
    next: Vec<f64>,
    listed: Vec<bool>,
    front: Vec<u32>,
    coming: Vec<u32>,
    reached: Vec<u32>,
    /// Arcs that the last centre went over.
    pub(super) arcs: u64,
}

/// Steps after which (1 − restart)^t is below the rounding error of a score.
pub(super) fn exact_steps(restart: f64) -> u32 {
    (1e-17f64.ln() / (-restart).ln_1p()).ceil().min(f64::from(u32::MAX)) as u32
}

impl Power {
    /// PageRank of every node that `steps` steps reach, the centre first, then
    /// rising.
    pub(super) fn run<V: GraphView>(
        &mut self,
        view: &V,
        centre: u32,
        restart: f64,
        ranking: Ranking,
        steps: u32,
    ) -> Vec<Candidate> {
        let nodes = view.nodes();
        self.settled.resize(nodes, 0.0);
        self.now.resize(nodes, 0.0);
        self.next.resize(nodes, 0.0);
        self.listed.resize(nodes, false);
        let divisor = |node| match ranking {
            Ranking::Row => view.weight_in(node),
            Ranking::PageRank => view.weight_out(node),
        };
        let out = view.weight_out(centre);
        let start = match ranking {
            Ranking::Row if out > 0.0 => view.weight_in(centre) / out,
            _ => 1.0,
        };
        self.arcs = 0;
        self.now[centre as usize] = start;
        self.front.push(centre);
        self.reached.push(centre);
        for step in 0..steps {
            for &node in &self.front {
                let residual = std::mem::take(&mut self.now[node as usize]);
                self.settled[node as usize] += restart * residual;
                // In step 0 nothing may arrive at the centre: start / g is 1 / out.
                let share = if step == 0 { 1.0 / out } else { residual / divisor(node) };
                let amount = (1.0 - restart) * share;
                self.arcs += view.degree(node) as u64;
                for (neighbour, weight) in view.arcs(node).filter(|&(_, weight)| weight > 0.0) {
                    let at = neighbour as usize;
                    if !std::mem::replace(&mut self.listed[at], true) {
                        self.coming.push(neighbour);
                    }
                    self.next[at] += amount * f64::from(weight);
                }
            }
            self.front.clear();
            // Rising, so that nodes with the same neighbours sum in the same order.
            self.coming.sort_unstable();
            for &node in &self.coming {
                self.listed[node as usize] = false;
            }
            self.reached.extend_from_slice(&self.coming);
            if self.reached.len() > 2 * nodes {
                self.reached.sort_unstable();
                self.reached.dedup();
            }
            std::mem::swap(&mut self.front, &mut self.coming);
            std::mem::swap(&mut self.now, &mut self.next);
        }
        self.reached.sort_unstable();
        self.reached.dedup();
        let mut found = Vec::with_capacity(self.reached.len());
        for &node in &self.reached {
            let at = node as usize;
            let pagerank =
                std::mem::take(&mut self.settled[at]) + std::mem::take(&mut self.now[at]);
            // What has become less than the least number was not reached.
            if pagerank == 0.0 {
                continue;
            }
            let divisor = view.weight_in(node);
            let score = score(ranking, pagerank, divisor);
            found.push(Candidate { score, slack: 0.0, divisor, pagerank, node });
        }
        let centre_at = found.iter().position(|c| c.node == centre).unwrap_or(0);
        found[..=centre_at].rotate_right(1);
        self.front.clear();
        self.reached.clear();
        found
    }
}

/// Equal scores differ in their last bits by the order in which they were summed:
/// this keeps 40 bits, so that ties are seen as ties.
pub(super) fn rounded(score: f64) -> f64 {
    const LOST: u32 = 12;
    f64::from_bits((score.to_bits() + (1 << (LOST - 1))) >> LOST << LOST)
}

/// Row `centre` of S, or its PageRank, for all nodes of a small graph, in units in
/// which a row is PageRank over degree: S(i, j) / out-weight(i). The entry of the
/// centre means nothing where no arc arrives at it.
pub fn exact_scores<V: GraphView>(
    view: &V,
    centre: u32,
    restart: f64,
    ranking: Ranking,
) -> Vec<f64> {
    let mut scores = vec![0.0; view.nodes()];
    for found in Power::default().run(view, centre, restart, ranking, exact_steps(restart)) {
        scores[found.node as usize] = found.score;
    }
    scores
}
