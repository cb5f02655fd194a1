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
//! Memory is that of the visited nodes: 32 bytes each, and 8 to 16 in an index of
//! open addressing. Measured and left out, as ratios of time on a graph of 1 M
//! nodes: states inside the index instead of beside (1.0), a byte of log degree
//! instead of offsets (1.0 to 1.1), leaving out nodes of degree over 1/ε (1.2),
//! f32 instead of f64 (1.0).

use super::hub::Hubs;
use super::settings::Ranking;
use super::view::{GraphView, touch};

/// Visited nodes for which a thread keeps memory from one node to the next, and
/// which a push stops at while lowering ε: about 8 MB.
pub(super) const MAX_VISITED: usize = 150_000;

/// Queued nodes whose lists are fetched together.
const AHEAD: usize = 8;

/// A visited node.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    pub node: u32,
    /// Pushed at least once.
    pub pushed: bool,
    /// g; infinite where nothing leaves, so that it is never pushed.
    pub divisor: f64,
    pub residual: f64,
    pub settled: f64,
}

/// What a push needs to know beside the graph.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub restart: f64,
    pub ranking: Ranking,
    pub budget: u64,
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
    /// In the order in which they were first visited; the centre is first.
    pub states: Vec<State>,
    /// Place of a node in `states`, plus one; 0 is free.
    index: Vec<u32>,
    bits: u32,
    /// Places in `states`.
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

/// Multiplication by the golden ratio; the high bits choose the place.
#[inline]
fn place(node: u32, bits: u32) -> usize {
    (node.wrapping_mul(0x9E37_79B1) >> (32 - bits)) as usize
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
        if self.states.capacity() > 2 * MAX_VISITED {
            *self = Push { hubs: std::mem::take(&mut self.hubs), ..Push::default() };
        }
        self.states.clear();
        self.queue.clear();
        (self.head, self.arcs, self.pushes, self.stopped) = (0, 0, 0, false);
        self.untracked = 0.0;
        self.bits = ((1.0 / epsilon).log2() as u32).clamp(9, 13);
        self.reindex();

        // In units of out-weight(i) the centre begins with D(i) / out-weight(i),
        // which is 1 in an undirected graph; PageRank begins with 1.
        let out = view.weight_out(centre);
        let start = match rules.ranking {
            Ranking::Row if view.directed() && out > 0.0 => view.weight_in(centre) / out,
            _ => 1.0,
        };
        let divisor = rules.divisor(view, centre);
        self.states.push(State {
            node: centre,
            pushed: true,
            divisor,
            residual: 0.0,
            settled: rules.restart * start,
        });
        self.index[place(centre, self.bits)] = 1;
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
                touch(view, next.iter().map(|&at| self.states[at as usize].node));
            }
            self.head += 1;
            let node = self.states[at as usize].node;
            if self.arcs + view.degree(node) as u64 > rules.budget {
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
        for (at, state) in self.states.iter().enumerate() {
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
        while self.states.len() < size {
            let share = |state: &State| match rules.ranking {
                Ranking::Row => state.residual / state.divisor,
                Ranking::PageRank => state.residual,
            };
            let best = self
                .states
                .iter()
                .enumerate()
                .filter(|(_, state)| !state.pushed)
                .max_by(|(_, a), (_, b)| share(a).total_cmp(&share(b)).then(b.node.cmp(&a.node)))
                .map(|(at, _)| at);
            let Some(at) = best else { break };
            if all_tracked || view.degree(self.states[at].node) <= 4 * size {
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
        let state = &mut self.states[at];
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
        let neighbours = view.neighbours(node);
        let (weights, extra) = (view.weights(node), view.extra(node));
        self.pushes += 1;
        self.arcs += neighbours.len() as u64 + 1;
        self.reserve(neighbours.len() + 1);
        match weights {
            None => {
                for &neighbour in neighbours {
                    self.add(view, neighbour, amount, rules, epsilon);
                }
            }
            Some(weights) => {
                for (&neighbour, &weight) in neighbours.iter().zip(weights) {
                    // An arc of weight zero is none.
                    if weight > 0.0 {
                        let part = amount * f64::from(weight);
                        self.add(view, neighbour, part, rules, epsilon);
                    }
                }
            }
        }
        if let Some((neighbour, weight)) = extra.filter(|&(_, weight)| weight > 0.0) {
            self.add(view, neighbour, amount * f64::from(weight), rules, epsilon);
        }
    }

    #[inline(always)]
    pub(super) fn add<V: GraphView>(
        &mut self,
        view: &V,
        node: u32,
        part: f64,
        rules: &Rules,
        epsilon: f64,
    ) {
        let mask = (1usize << self.bits) - 1;
        let mut at = place(node, self.bits);
        loop {
            let known = self.index[at];
            if known == 0 {
                let divisor = rules.divisor(view, node);
                self.index[at] = self.states.len() as u32 + 1;
                if part >= epsilon * divisor {
                    self.queue.push(self.states.len() as u32);
                }
                let state = State { node, pushed: false, divisor, residual: part, settled: 0.0 };
                self.states.push(state);
                return;
            }
            let state = &mut self.states[known as usize - 1];
            if state.node == node {
                let before = state.residual;
                state.residual = before + part;
                let threshold = epsilon * state.divisor;
                if before < threshold && state.residual >= threshold {
                    self.queue.push(known - 1);
                }
                return;
            }
            at = (at + 1) & mask;
        }
    }

    /// What was visited at this node.
    #[inline]
    pub(super) fn find(&self, node: u32) -> Option<&State> {
        let mask = (1usize << self.bits) - 1;
        let mut at = place(node, self.bits);
        loop {
            match self.index[at] {
                0 => return None,
                known => {
                    let state = &self.states[known as usize - 1];
                    if state.node == node {
                        return Some(state);
                    }
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// Keeps the index at most half full when `more` nodes come in.
    #[inline]
    pub(super) fn reserve(&mut self, more: usize) {
        let wanted = 2 * (self.states.len() + more);
        if wanted > 1 << self.bits {
            self.bits = wanted.next_power_of_two().trailing_zeros();
            self.reindex();
        }
    }

    #[cold]
    fn reindex(&mut self) {
        let size = 1usize << self.bits;
        if self.index.len() < size {
            self.index.resize(size, 0);
        }
        self.index[..size].fill(0);
        for (known, state) in self.states.iter().enumerate() {
            let mut at = place(state.node, self.bits);
            while self.index[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.index[at] = known as u32 + 1;
        }
    }
}
