//! Where does the score of a node go? (Forward push: Andersen, Chung, Lang 2006.)
//!
//! Two numbers a visited node: settled mass p and residual r, in units of
//! PageRank. Pushing u moves its residual on, with g(u) what u's residual is
//! divided by (D(u) for [`Ranking::Row`], the out-weight for PageRank; the degree
//! for both in an undirected graph):
//!
//! ```text
//! p(u) += restart · r(u);   r(v) += (1 − restart) · r(u) / g(u) · w(u, v);   r(u) = 0
//! ```
//!
//! What holds after every push, exactly: score(j) = p(j)/D(j) + Σ_u r(u)/D(u) · S(u, j)
//! in units of out-weight(i), and Σ_u S(u, j) ≤ 1. So p(j)/D(j) is too small by at
//! most the largest r(u)/D(u), which is below ε when no node is left to push.
//!
//! Nodes are pushed first in, first out. Which nodes are visited, in which order
//! and with which sums is a function of the graph, the node and the settings.
//!
//! Measured on graphs of 1 M nodes and left out, as ratios of time: states inside
//! the index instead of beside (1.0), a byte of log degree that is made exact when
//! needed (0.9 to 1.2), not visiting nodes of degree over 1/ε (1.0 to 1.3), f32
//! instead of f64 (1.0), fetching the degrees of sixteen neighbours before any is
//! added (1.09).

use super::hub::Hubs;
use super::settings::Ranking;
use super::view::{GraphView, touch};
use super::visited::{Open, Place, State, Visited};

/// Visited nodes that a push stops at while it lowers ε to certify, and up to which
/// a thread keeps its memory from one node to the next: 6.4 MB and 2.1 MB of index.
pub(super) const MAX_VISITED: usize = 200_000;

/// Queued nodes whose lists are fetched together.
const AHEAD: usize = 16;

/// What a push needs to know beside the graph.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub restart: f64,
    pub ranking: Ranking,
    /// Arcs to look at.
    pub budget: u64,
    /// Nodes to visit.
    pub most_visited: usize,
}

impl Rules {
    /// g, in this ranking.
    #[inline]
    pub(super) fn divisor<V: GraphView>(&self, view: &V, node: u32) -> f64 {
        let sum = match self.ranking {
            Ranking::Row => view.weight_in(node),
            Ranking::PageRank => view.weight_out(node),
        };
        if sum > 0.0 { sum } else { f64::INFINITY }
    }
}

/// Scratch of one thread, and after a push its result.
#[derive(Debug, Default)]
pub(super) struct Push {
    pub visited: Visited,
    /// Places in the states that are to be pushed.
    queue: Vec<u32>,
    head: usize,
    /// Arcs looked at.
    pub arcs: u64,
    /// Nodes pushed, repeats counted.
    pub pushes: u64,
    /// Whether the budget ended a push before ε did.
    pub stopped: bool,
    /// Residual given to nodes that were not visited (see `hub`).
    pub untracked: f64,
    pub(super) hubs: Hubs,
}

impl Push {
    /// Starts at `centre` and spreads its first push. `epsilon` only guesses how
    /// large the index will have to be.
    pub(super) fn begin<V: GraphView>(
        &mut self,
        view: &V,
        centre: u32,
        rules: &Rules,
        epsilon: f64,
    ) {
        if self.visited.states.capacity() > 2 * MAX_VISITED {
            *self = Push { hubs: std::mem::take(&mut self.hubs), ..Push::default() };
        }
        self.queue.clear();
        (self.head, self.arcs, self.pushes, self.stopped) = (0, 0, 0, false);
        self.untracked = 0.0;
        // An index that is nearly empty: a place taken by another is a branch guessed
        // wrong, and clearing it costs less.
        self.visited.reset(((1.0 / epsilon).log2() as u32 + 2).clamp(9, 14));

        // In units of out-weight(i) the centre begins with D(i) / out-weight(i),
        // which is 1 in an undirected graph; PageRank begins with 1.
        let out = view.weight_out(centre);
        let start = match rules.ranking {
            Ranking::Row if view.directed() && out > 0.0 => view.weight_in(centre) / out,
            _ => 1.0,
        };
        let divisor = rules.divisor(view, centre);
        let settled = rules.restart * start;
        let state = State { node: centre, pushed: true, divisor, residual: 0.0, settled };
        let mut open = self.visited.open(1);
        if let Place::Free(at) = open.place(centre) {
            open.insert(at, state);
        }
        if out > 0.0 {
            // start / divisor, also where nothing arrives at the centre.
            self.spread(view, centre, (1.0 - rules.restart) / out, rules, epsilon);
        }
    }

    /// Pushes until every residual is below `epsilon` times its divisor, or the
    /// budget is spent.
    pub(super) fn run<V: GraphView>(&mut self, view: &V, rules: &Rules, epsilon: f64) {
        let mut touched = 0;
        while let Some(&at) = self.queue.get(self.head) {
            if self.head >= touched {
                touched = self.queue.len().min(self.head + AHEAD);
                let next = &self.queue[self.head..touched];
                touch(view, next.iter().map(|&at| self.visited.states[at as usize].node));
            }
            self.head += 1;
            let node = self.visited.states[at as usize].node;
            let more = view.degree(node);
            if self.arcs + more as u64 > rules.budget
                || self.visited.states.len() + more > rules.most_visited
            {
                self.stopped = true;
                break;
            }
            self.push(view, at as usize, rules, epsilon);
        }
        self.queue.clear();
        self.head = 0;
    }

    /// Queues every node whose residual is not below a new, smaller `epsilon`.
    pub(super) fn lower(&mut self, epsilon: f64) {
        debug_assert!(self.queue.is_empty(), "a push ends with an empty queue");
        for (at, state) in self.visited.states.iter().enumerate() {
            if state.residual > 0.0 && state.residual >= epsilon * state.divisor {
                self.queue.push(at as u32);
            }
        }
    }

    /// While fewer than `size` nodes are visited: pushes the best residual that
    /// never was pushed, whatever its size, and what then exceeds `epsilon`. Ends
    /// short only when every visited node was pushed: then they are all there is.
    /// Unless `all_tracked`, a long list gives only its best (see `hub`).
    pub(super) fn fill<V: GraphView>(
        &mut self,
        view: &V,
        rules: &Rules,
        epsilon: f64,
        size: usize,
        all_tracked: bool,
    ) {
        while self.visited.states.len() < size {
            let share = |state: &State| match rules.ranking {
                Ranking::Row => state.residual / state.divisor,
                Ranking::PageRank => state.residual,
            };
            let best = self
                .visited
                .states
                .iter()
                .enumerate()
                .filter(|(_, state)| !state.pushed)
                .max_by(|(_, a), (_, b)| share(a).total_cmp(&share(b)).then(b.node.cmp(&a.node)))
                .map(|(at, _)| at);
            let Some(at) = best else { break };
            if all_tracked || view.degree(self.visited.states[at].node) <= 4 * size {
                self.push(view, at, rules, epsilon);
            } else {
                self.push_hub(view, at, rules, epsilon, size);
            }
            self.run(view, rules, epsilon);
        }
    }

    fn push<V: GraphView>(&mut self, view: &V, at: usize, rules: &Rules, epsilon: f64) {
        let (node, amount) = self.settle(at, rules);
        self.spread(view, node, amount, rules, epsilon);
    }

    /// Settles the residual of a state; its node, and what goes on per weight.
    pub(super) fn settle(&mut self, at: usize, rules: &Rules) -> (u32, f64) {
        let state = &mut self.visited.states[at];
        let residual = std::mem::take(&mut state.residual);
        state.settled += rules.restart * residual;
        state.pushed = true;
        (state.node, (1.0 - rules.restart) * residual / state.divisor)
    }

    /// r(v) += amount · w(node, v) for all v.
    fn spread<V: GraphView>(
        &mut self,
        view: &V,
        node: u32,
        amount: f64,
        rules: &Rules,
        epsilon: f64,
    ) {
        let (neighbours, extra) = (view.neighbours(node), view.extra(node));
        self.pushes += 1;
        self.arcs += neighbours.len() as u64 + u64::from(extra.is_some());
        let (queue, mut open) = (&mut self.queue, self.visited.open(neighbours.len() + 1));
        match view.weights(node) {
            None => {
                for &neighbour in neighbours {
                    add(view, &mut open, queue, neighbour, amount, rules, epsilon);
                }
            }
            Some(weights) => {
                for (&neighbour, &weight) in neighbours.iter().zip(weights) {
                    let part = amount * f64::from(weight);
                    // An arc of weight zero is none.
                    if weight > 0.0 {
                        add(view, &mut open, queue, neighbour, part, rules, epsilon);
                    }
                }
            }
        }
        if let Some((neighbour, weight)) = extra.filter(|&(_, weight)| weight > 0.0) {
            let part = amount * f64::from(weight);
            add(view, &mut open, queue, neighbour, part, rules, epsilon);
        }
    }

    /// r(v) += part for every (v, part).
    pub(super) fn give<V: GraphView>(
        &mut self,
        view: &V,
        parts: &[(u32, f64)],
        rules: &Rules,
        epsilon: f64,
    ) {
        self.pushes += 1;
        self.arcs += parts.len() as u64;
        let mut open = self.visited.open(parts.len());
        for &(node, part) in parts {
            add(view, &mut open, &mut self.queue, node, part, rules, epsilon);
        }
    }
}

/// r(node) += part; queues the node when that brings it to ε times its divisor.
#[inline(always)]
fn add<V: GraphView>(
    view: &V,
    open: &mut Open<'_>,
    queue: &mut Vec<u32>,
    node: u32,
    part: f64,
    rules: &Rules,
    epsilon: f64,
) {
    match open.place(node) {
        Place::Known(at) => {
            let state = &mut open.states[at];
            let before = state.residual;
            state.residual = before + part;
            let threshold = epsilon * state.divisor;
            if before < threshold && state.residual >= threshold {
                queue.push(at as u32);
            }
        }
        Place::Free(at) => {
            let divisor = rules.divisor(view, node);
            if part >= epsilon * divisor {
                queue.push(open.states.len() as u32);
            }
            open.insert(at, State { node, pushed: false, divisor, residual: part, settled: 0.0 });
        }
    }
}
