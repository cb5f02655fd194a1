//! Is this proven to be the right set?
//!
//! Every score lies in [score, score + slack] (see `rank`). The k chosen are
//! proven when the smallest of their lower bounds exceeds the largest upper bound
//! of any other node. If not, ε is lowered by [`STEP`] and the same push goes on,
//! until one of
//!
//! - **certified**: proven as a set (the order inside is that of the estimates);
//! - **tied**: proven but for nodes around the k-th place whose scores are equal,
//!   either because exchanging two of them does not change the graph (the same
//!   neighbours and weights), or because what remains is below the rounding error.
//!   Among these the smaller node numbers are taken;
//! - **budget spent** (of arcs, or of visited nodes: `MAX_VISITED`): the best that is
//!   known.
//!
//! Rounding: all terms are positive, so that every computed p, r, D and score is
//! the exact one times (1 ± γ) with γ at most the number of operations behind it
//! times 2⁻⁵³. That number is below 2 for every arc and 4 for every push of the
//! node, 128 for a lookahead and 64 for the rest; γ is taken twice as large. Two
//! scores differ when (1 − γ) times one exceeds (1 + γ) times the other.

use super::push::{Push, Rules};
use super::rank::Ranked;
use super::table::Flags;
use super::top::{Candidate, order};
use super::view::GraphView;

/// Factor by which ε is lowered.
const STEP: f64 = 2.0;

/// Below this nothing but underflow is left.
const LEAST: f64 = 1e-290;

/// Lowers ε until the context is proven; the candidates are left in `ranked`.
pub(super) fn certify<V: GraphView>(
    view: &V,
    push: &mut Push,
    ranked: &mut Ranked,
    rules: &Rules,
    size: usize,
    mut epsilon: f64,
) -> Flags {
    loop {
        ranked.rank(view, push, rules, size, true);
        let complete = push.visited.states.iter().all(|state| state.pushed);
        if complete && push.visited.states.len() <= size {
            return Flags::CERTIFIED;
        }
        match judge(view, push, ranked, rules, size - 1) {
            Verdict::Proven => return Flags::CERTIFIED,
            Verdict::Tied => return Flags::TIED,
            Verdict::Open => {}
        }
        if push.stopped || epsilon < LEAST {
            // Judging may have left a list that was cut off.
            ranked.rank(view, push, rules, size, true);
            return Flags::BUDGET;
        }
        epsilon /= STEP;
        push.lower(epsilon);
        push.run(view, rules, epsilon);
    }
}

enum Verdict {
    Proven,
    Tied,
    Open,
}

/// Judges the first `others` candidates.
fn judge<V: GraphView>(
    view: &V,
    push: &Push,
    ranked: &mut Ranked,
    rules: &Rules,
    others: usize,
) -> Verdict {
    if others == 0 {
        return Verdict::Proven;
    }
    let rounding = (2 * push.arcs + 4 * push.pushes + 192) as f64 * f64::EPSILON;
    let low = |c: &Candidate| c.score * (1.0 - rounding);
    let high = |c: &Candidate| (c.score + c.slack) * (1.0 + rounding);
    let least = match ranked.candidates().get(others - 1) {
        Some(last) => low(last),
        None => return Verdict::Open,
    };
    ranked.bound(view, push, rules);
    let unseen = ranked.unseen() * (1.0 + rounding);
    let least_estimate = least * (1.0 - 2.0 * rounding);
    if unseen >= least || !ranked.contenders(view, push, rules, least_estimate) {
        return Verdict::Open;
    }
    let candidates = ranked.candidates();
    assert!(candidates.len() >= others, "what was chosen contends too");
    let (chosen, left) = candidates.split_at(others);
    let weakest = chosen.iter().map(low).fold(f64::INFINITY, f64::min);
    let strongest = left.iter().map(high).fold(unseen, f64::max);
    if weakest > strongest {
        return Verdict::Proven;
    }
    // The nodes that cannot be told apart: chosen ones that another may overtake,
    // and others that may overtake one.
    let first = chosen.iter().position(|c| low(c) <= strongest).unwrap_or(others);
    let end = others + left.iter().rposition(|c| high(c) >= weakest).map_or(0, |at| at + 1);
    let group = &candidates[first..end];
    let slack = group.iter().map(|c| c.slack).fold(0.0, f64::max);
    let spread = group[0].score - group[group.len() - 1].score;
    let rounded_away = slack.max(spread) <= rounding * group[0].score;
    let twins =
        !view.directed() && group[1..].iter().all(|c| are_twins(view, group[0].node, c.node));
    if !(twins || rounded_away) {
        return Verdict::Open;
    }
    // Equal scores: one estimate for all of them, then by node number.
    let (score, pagerank) = (group[0].score, group[0].pagerank);
    for candidate in &mut candidates[first..end] {
        candidate.score = score;
        if twins {
            candidate.pagerank = pagerank;
        }
    }
    candidates.sort_unstable_by(order);
    Verdict::Tied
}

/// Whether exchanging two nodes leaves an undirected graph as it is.
fn are_twins<V: GraphView>(view: &V, a: u32, b: u32) -> bool {
    let without = |node: u32, other: u32| view.arcs(node).filter(move |&(to, _)| to != other);
    view.degree(a) == view.degree(b) && without(a, b).eq(without(b, a))
}
