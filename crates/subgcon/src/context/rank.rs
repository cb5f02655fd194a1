//! From settled and residual mass to scores, each with its error.
//!
//! With p and r of a push (see `push`) and ρ(u) = r(u)/D(u), M = max ρ, R = Σ r:
//!
//! ```text
//! x(j) = (p(j) + restart · r(j)) / D(j)                x(j) ≤ score(j) ≤ x(j) + (1 − restart) · M
//! ```
//!
//! because the residual at j itself settles its `restart` share there, and
//! Σ_u S(u, j) ≤ 1 with S(j, j) ≥ restart. In an undirected graph the PageRank
//! that is still missing anywhere is also at most (1 − restart) · R.
//!
//! **Lookahead.** The scores satisfy score(j) = (1 − restart) · Σ_v w(j, v) score(v) / d_j for
//! every j but the centre. Putting x into the right side gives a second estimate
//!
//! ```text
//! y(j) = (1 − restart) · Σ_v w(j, v) x(v) / d_j        y(j) ≤ score(j) ≤ y(j) + (1 − restart)² · M
//! ```
//!
//! which is never below x: y(j) − x(j) = restart (1 − restart) Σ_v w(j, v) ρ(v) / d_j. It also gives
//! nodes with the same neighbours the same bits, so ties are seen as ties. It is
//! done for the best candidates by x whose list is short; undirected graphs only
//! (it reads arriving arcs).

use super::push::{Push, Rules};
use super::settings::Ranking;
use super::top::{Best, Candidate, order};
use super::view::{GraphView, touch};
use super::visited::State;

/// Longest list that a lookahead reads: a hub has no high score to begin with.
const MAX_LOOKAHEAD: usize = 64;

/// Candidates beyond which lowering ε is cheaper than telling them apart.
const MAX_CONTENDERS: usize = 1 << 16;

/// The candidates of a push, and what bounds their scores.
#[derive(Debug, Default)]
pub(super) struct Ranked {
    best: Best,
    candidates: Vec<Candidate>,
    slack: Slack,
    /// R: sum of the residuals.
    pub residual: f64,
    /// PageRank of the centre, as estimated.
    pub centre: f64,
}

impl Ranked {
    /// Ranks what a push has visited, the centre aside.
    pub(super) fn rank<V: GraphView>(
        &mut self,
        view: &V,
        push: &Push,
        rules: &Rules,
        size: usize,
        lookahead: bool,
    ) {
        let lookahead = lookahead && !view.directed() && size > 1;
        let others = size - 1;
        let keep = if lookahead { others + (size / 2).max(8) } else { others };
        let (restart, by_row) = (rules.restart, rules.ranking == Ranking::Row);
        let states = &push.visited.states;
        self.best.reset(keep);
        let mut residual = push.untracked;
        self.centre = states[0].settled + restart * states[0].residual;
        for (at, state) in states.iter().enumerate() {
            if state.divisor.is_finite() {
                residual += state.residual;
            }
            let pagerank = state.settled + restart * state.residual;
            let divisor = if by_row { state.divisor } else { 1.0 };
            // A division is for those that may enter: this is below the floor times
            // the divisor whatever the rounding.
            if pagerank < self.best.floor() * (1.0 - 4.0 * f64::EPSILON) * divisor || at == 0 {
                continue;
            }
            self.best.offer(pagerank / divisor, state.node, at);
        }
        self.residual = residual;
        self.candidates.clear();
        for at in self.best.finish() {
            let State { node, divisor, settled, residual, .. } = states[at];
            let pagerank = settled + restart * residual;
            let score = if by_row { pagerank / divisor } else { pagerank };
            self.candidates.push(Candidate { score, slack: 0.0, divisor, pagerank, node });
        }
        if lookahead {
            let candidates = &mut self.candidates;
            touch(view, candidates.iter().map(|candidate| candidate.node));
            candidates.iter_mut().for_each(|candidate| look_ahead(view, push, rules, candidate));
            candidates.sort_unstable_by(order);
        }
    }

    /// How far off the estimates of the last ranking may be.
    pub(super) fn bound<V: GraphView>(&mut self, view: &V, push: &Push, rules: &Rules) {
        let shares = push.visited.states.iter().map(|state| state.residual / state.divisor);
        self.slack = Slack::new(view, rules, shares.fold(0.0, f64::max), self.residual);
    }

    /// Makes every visited node that may have a score of at least `least` a
    /// candidate, with its slack and lookahead. False where these are too many.
    pub(super) fn contenders<V: GraphView>(
        &mut self,
        view: &V,
        push: &Push,
        rules: &Rules,
        least: f64,
    ) -> bool {
        let candidates = &mut self.candidates;
        candidates.clear();
        for state in &push.visited.states[1..] {
            let (node, divisor) = (state.node, state.divisor);
            let pagerank = state.settled + rules.restart * state.residual;
            let score = if self.slack.by_row { pagerank / divisor } else { pagerank };
            let slack = self.slack.of(divisor);
            if score + slack >= least {
                candidates.push(Candidate { score, slack, divisor, pagerank, node });
                if candidates.len() > MAX_CONTENDERS {
                    return false;
                }
            }
        }
        if !view.directed() {
            candidates.iter_mut().for_each(|candidate| look_ahead(view, push, rules, candidate));
        }
        candidates.sort_unstable_by(order);
        true
    }

    /// The candidates of the last ranking.
    pub(super) fn candidates(&mut self) -> &mut Vec<Candidate> {
        &mut self.candidates
    }

    /// Upper bound of the score of every node that was not visited, after `bound`.
    pub(super) fn unseen(&self) -> f64 {
        self.slack.most
    }
}

/// Replaces x by y.
fn look_ahead<V: GraphView>(view: &V, push: &Push, rules: &Rules, candidate: &mut Candidate) {
    if view.degree(candidate.node) > MAX_LOOKAHEAD {
        return;
    }
    let part = |node: u32| {
        push.visited
            .find(node)
            .map_or(0.0, |v| (v.settled + rules.restart * v.residual) / v.divisor)
    };
    let mut sum = 0.0;
    let neighbours = view.neighbours(candidate.node);
    match view.weights(candidate.node) {
        None => neighbours.iter().for_each(|&node| sum += part(node)),
        Some(weights) => {
            for (&node, &weight) in neighbours.iter().zip(weights) {
                sum += part(node) * f64::from(weight);
            }
        }
    }
    if let Some((node, weight)) = view.extra(candidate.node) {
        sum += part(node) * f64::from(weight);
    }
    candidate.pagerank = (1.0 - rules.restart) * sum;
    candidate.score = match rules.ranking {
        Ranking::Row => candidate.pagerank / candidate.divisor,
        Ranking::PageRank => candidate.pagerank,
    };
    candidate.slack *= 1.0 - rules.restart;
}

/// How far a score may lie above its estimate x.
#[derive(Debug, Clone, Copy, Default)]
struct Slack {
    by_row: bool,
    /// (1 − restart) · M, where it bounds anything.
    share: f64,
    /// (1 − restart) · R, where it bounds anything.
    mass: f64,
    /// The bound of a node of which nothing is known.
    most: f64,
}

impl Slack {
    fn new<V: GraphView>(view: &V, rules: &Rules, largest: f64, residual: f64) -> Slack {
        let by_row = rules.ranking == Ranking::Row;
        let share = (1.0 - rules.restart) * largest;
        let mass = (1.0 - rules.restart) * residual;
        match (by_row, view.directed()) {
            (true, false) => Slack { by_row, share, mass, most: share },
            // D-weighted mass is not conserved along directed arcs.
            (true, true) => Slack { by_row, share, mass: f64::INFINITY, most: share },
            (false, false) => Slack { by_row, share, mass, most: mass },
            // M bounds S, which is not what a directed PageRank ranks by.
            (false, true) => Slack { by_row, share: f64::INFINITY, mass, most: mass },
        }
    }

    fn of(&self, divisor: f64) -> f64 {
        if self.by_row {
            self.share.min(self.mass / divisor)
        } else {
            (self.share * divisor).min(self.mass)
        }
    }
}
