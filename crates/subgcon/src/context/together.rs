//! Whole steps over an undirected graph, for several centres at once.
//!
//! What `power` does for one centre, number by number: a node's sum takes its neighbours in the order in
//! which `power` lets them give, and those that have nothing to give add a zero. But an arc is
//! looked up once for [`LANES`] centres, whose numbers lie side by side: on Cora and Pubmed, where ten steps
//! reach most of the graph, contexts take a seventh of the time.
//!
//! Every step goes over all nodes and arcs, also where a centre reaches few of them. So some centres are
//! taken alone now and then, and what they cost decides how the next ones are taken; who is taken how
//! changes no number, as every arc of an undirected graph has its reverse, of the same weight.
//!
//! Memory is 192 bytes a node of the graph and thread.

use super::settings::Ranking;
use super::top::{Best, Candidate, score};
use super::view::GraphView;
use crate::math::{Blend, Signs, Simd, Work};

/// Centres whose steps are taken together: a cache line of numbers.
pub(super) const LANES: usize = 8;

/// Nodes of the largest graph that is gone over for several centres.
const NODES: usize = 1 << 17;

/// What an arc costs a centre alone, in units of what it costs one of [`LANES`] together, at the
/// least: contexts of Cora and Pubmed are found 6.9 times as fast together, although a centre alone does not
/// go over all arcs at every step.
const ALONE: f64 = 6.0;

/// Arcs that take as long as what is done for a node itself.
const NODE: u64 = 2;

/// Groups of centres for each that is taken alone in any case.
const GROUPS: u32 = 64;

/// A number for each centre. Aligned, since what crosses cache lines is read twice.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Lanes([f64; LANES]);

/// Node-long arrays, and what was found in them.
#[derive(Debug, Default)]
pub(super) struct Together {
    settled: Vec<Lanes>,
    now: Vec<Lanes>,
    next: Vec<Lanes>,
    best: [Best; LANES],
    /// Centres whose best are known but were not asked for, the next one last.
    ready: Vec<(u32, Vec<Candidate>)>,
    /// Groups since one was taken alone in any case.
    groups: u32,
    /// What one step over all the graph costs, in arcs; known once it was asked for.
    whole: Option<u64>,
    /// Centres that were taken alone last, and the arcs that they went over.
    alone: (u64, u64),
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) restart: f64,
    pub(super) ranking: Ranking,
    pub(super) steps: u32,
    /// Nodes of a context, the centre among them.
    pub(super) size: usize,
    /// What a score becomes before it is compared.
    pub(super) seen: fn(f64) -> f64,
}

impl Together {
    /// What was found for a centre, if it is the next.
    pub(super) fn take(&mut self, centre: u32) -> Option<Vec<Candidate>> {
        self.ready.pop_if(|(next, _)| *next == centre).map(|(_, found)| found)
    }

    /// A centre was taken alone, and went over so many arcs.
    pub(super) fn learn(&mut self, arcs: u64) {
        self.alone = (self.alone.0 + 1, self.alone.1 + arcs);
    }

    /// The next centres, [`LANES`] at most, are found if that is likely to be faster than one by one.
    pub(super) fn ahead<V: GraphView>(&mut self, view: &V, centres: &[u32], asked: &Asked) {
        self.ready.clear();
        if view.directed() || view.nodes() > NODES || centres.len() < LANES {
            return;
        }
        if self.groups == 0 {
            self.alone = (0, 0);
        } else if self.pays(view, asked.steps) {
            self.run(view, centres, asked);
        }
        self.groups = (self.groups + 1) % GROUPS;
    }

    fn pays<V: GraphView>(&mut self, view: &V, steps: u32) -> bool {
        let (centres, arcs) = self.alone;
        let cost = |node: u32| view.degree(node) as u64 + NODE;
        let whole = *self.whole.get_or_insert_with(|| (0..view.nodes() as u32).map(cost).sum());
        ALONE * arcs as f64 > centres as f64 * whole as f64 * f64::from(steps)
    }

    /// The best of every centre go to `ready`, each centre first.
    pub(super) fn run<V: GraphView>(&mut self, view: &V, centres: &[u32], asked: &Asked) {
        assert!(!view.directed() && centres.len() <= LANES, "undirected, and a lane a centre");
        let Asked { restart, steps, size, .. } = *asked;
        let nodes = view.nodes();
        for lanes in [&mut self.settled, &mut self.now, &mut self.next] {
            lanes.clear();
            lanes.resize(nodes, Lanes::default());
        }
        for (lane, &centre) in centres.iter().enumerate() {
            let out = view.weight_out(centre);
            self.settled[centre as usize].0[lane] = restart;
            // Of a centre without arcs nothing leaves, and all of it stays there.
            self.now[centre as usize].0[lane] =
                if out > 0.0 { (1.0 - restart) * (1.0 / out) } else { 0.0 };
        }
        let level = Simd::detect();
        for step in 1..=steps {
            let (settled, now, next) = (&mut self.settled[..], &self.now[..], &mut self.next[..]);
            level.run(Step { view, restart, last: step == steps, settled, now, next });
            std::mem::swap(&mut self.now, &mut self.next);
        }
        self.best.iter_mut().for_each(|best| best.reset(size - 1));
        for (node, settled) in (0u32..).zip(&self.settled) {
            let divisor = view.weight_in(node);
            for (lane, &pagerank) in settled.0[..centres.len()].iter().enumerate() {
                if pagerank > 0.0 && centres[lane] != node {
                    let score = (asked.seen)(score(asked.ranking, pagerank, divisor));
                    self.best[lane].offer(score, node, node as usize);
                }
            }
        }
        for (lane, &centre) in centres.iter().enumerate().rev() {
            let mut found = Vec::with_capacity(size);
            let best = self.best[lane].finish().map(|node| node as u32);
            for node in std::iter::once(centre).chain(best) {
                let (pagerank, divisor) =
                    (self.settled[node as usize].0[lane], view.weight_in(node));
                let score = (asked.seen)(score(asked.ranking, pagerank, divisor));
                found.push(Candidate { score, slack: 0.0, divisor, pagerank, node });
            }
            self.ready.push((centre, found));
        }
    }
}

/// One step: from what every node gives along an arc of weight 1 to what it settles and gives next.
struct Step<'a, V> {
    view: &'a V,
    restart: f64,
    /// All that arrives is settled, and nothing is given.
    last: bool,
    settled: &'a mut [Lanes],
    now: &'a [Lanes],
    next: &'a mut [Lanes],
}

impl<V: GraphView> Work for Step<'_, V> {
    type Made = ();

    #[inline(always)]
    fn run<const FMA: bool>(self, _: impl Signs, _: impl Blend) {
        let Step { view, restart, last, settled, now, next } = self;
        for (node, (settled, next)) in (0u32..).zip(settled.iter_mut().zip(next)) {
            let mut sum = [0.0; LANES];
            match view.weights(node) {
                None => {
                    for &neighbour in view.neighbours(node) {
                        let given = &now[neighbour as usize].0;
                        (0..LANES).for_each(|lane| sum[lane] += given[lane]);
                    }
                }
                Some(weights) => {
                    for (&neighbour, &weight) in view.neighbours(node).iter().zip(weights) {
                        let (given, weight) = (&now[neighbour as usize].0, f64::from(weight));
                        (0..LANES).for_each(|lane| sum[lane] += given[lane] * weight);
                    }
                }
            }
            if let Some((neighbour, weight)) = view.extra(node) {
                let (given, weight) = (&now[neighbour as usize].0, f64::from(weight));
                (0..LANES).for_each(|lane| sum[lane] += given[lane] * weight);
            }
            let (share, divisor) = (if last { 1.0 } else { restart }, view.weight_out(node));
            let lanes = settled.0.iter_mut().zip(&mut next.0).zip(sum);
            lanes.for_each(|((settled, next), sum)| {
                *settled += share * sum;
                *next = if divisor > 0.0 { (1.0 - restart) * (sum / divisor) } else { 0.0 };
            });
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use tests::check_together;
