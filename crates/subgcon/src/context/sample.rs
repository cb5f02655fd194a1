//! One node, or all of them in parallel.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use super::certify::certify;
use super::power::{Power, exact_steps, rounded};
use super::push::{MAX_VISITED, Push, Rules};
use super::rank::Ranked;
use super::settings::{ContextSettings, Method};
use super::table::{Context, Contexts, Flags, Rows};
use super::together::{Asked, LANES, Together};
use super::top::{Candidate, order};
use super::view::{GraphView, touch};
use crate::error::{Error, Result};
use crate::progress::Progress;

/// Nodes that a thread takes at a time. It decides nothing but who works.
const BLOCK: usize = 128;

/// Nodes whose lists are fetched together, or whose steps are taken together.
const AHEAD: usize = LANES;

/// Samples one context after another, keeping its memory. One for each thread.
#[derive(Debug)]
pub struct Sampler<'a, V> {
    view: &'a V,
    settings: ContextSettings,
    push: Push,
    ranked: Ranked,
    power: Power,
    together: Together,
    found: Vec<Candidate>,
}

impl<'a, V: GraphView> Sampler<'a, V> {
    /// Checks the settings.
    pub fn new(view: &'a V, settings: &ContextSettings) -> Result<Sampler<'a, V>> {
        settings.validate()?;
        Ok(Sampler {
            view,
            settings: settings.clone(),
            push: Push::default(),
            ranked: Ranked::default(),
            power: Power::default(),
            together: Together::default(),
            found: Vec::new(),
        })
    }

    /// The context of `node`.
    pub fn context(&mut self, node: u32) -> Result<Context> {
        check_node(self.view, node)?;
        let (flags, residual) = self.find(node);
        let pagerank: Vec<f32> = self.found.iter().map(|found| found.pagerank as f32).collect();
        Ok(Context {
            nodes: self.found.iter().map(|found| found.node).collect(),
            captured: captured(&self.found),
            pagerank,
            residual: residual as f32,
            flags,
        })
    }

    /// Leaves the context in `found`; its flags and the PageRank still missing.
    fn find(&mut self, node: u32) -> (Flags, f64) {
        let (view, size) = (self.view, self.settings.size);
        let (mut flags, residual) = match self.settings.method {
            Method::Push { epsilon, lookahead } => self.by_push(node, epsilon, lookahead),
            Method::Power { .. } | Method::Exact => self.by_steps(node),
        };
        if self.found.len() < size {
            flags = flags.with(Flags::SHORT);
        }
        if self.found.len() == 1 && view.weight_out(node) == 0.0 {
            self.found[0].pagerank = 1.0;
            return (flags, 0.0);
        }
        (flags, residual)
    }

    fn by_push(&mut self, node: u32, epsilon: f64, lookahead: bool) -> (Flags, f64) {
        let (view, settings) = (self.view, &self.settings);
        let (restart, size) = (settings.restart, settings.size);
        let rules = Rules {
            restart,
            ranking: settings.ranking,
            budget: settings.budget,
            most_visited: if settings.certify { MAX_VISITED } else { usize::MAX },
        };
        let (push, ranked) = (&mut self.push, &mut self.ranked);
        push.begin(view, node, &rules, epsilon);
        push.run(view, &rules, epsilon);
        push.fill(view, &rules, epsilon, size, settings.certify);
        let flags = if settings.certify {
            certify(view, push, ranked, &rules, size, epsilon)
        } else {
            ranked.rank(view, push, &rules, size, lookahead);
            if push.stopped { Flags::BUDGET } else { Flags::default() }
        };
        self.found.clear();
        let centre = ranked.centre;
        let first = Candidate { score: 0.0, slack: 0.0, divisor: 0.0, pagerank: centre, node };
        self.found.push(first);
        let residual = (1.0 - restart) * ranked.residual;
        self.found.extend(ranked.candidates().iter().take(size - 1));
        (flags, residual)
    }

    /// What whole steps are asked for, where they are.
    fn asked(&self) -> Option<Asked> {
        let ContextSettings { restart, ranking, size, .. } = self.settings;
        let (steps, seen): (u32, fn(f64) -> f64) = match self.settings.method {
            Method::Push { .. } => return None,
            Method::Power { steps } => (steps, |score| score),
            Method::Exact => (exact_steps(restart), rounded),
        };
        Some(Asked { restart, ranking, steps, size, seen })
    }

    /// The next nodes that will be asked for.
    fn ahead(&mut self, nodes: &[u32]) {
        touch(self.view, nodes.iter().copied());
        if let Some(asked) = self.asked() {
            self.together.ahead(self.view, nodes, &asked);
        }
    }

    fn by_steps(&mut self, node: u32) -> (Flags, f64) {
        let asked = self.asked().expect("a method of whole steps");
        self.found = match self.together.take(node) {
            Some(found) => found,
            None => {
                let Asked { restart, ranking, steps, size, seen } = asked;
                let mut found = self.power.run(self.view, node, restart, ranking, steps);
                self.together.learn(self.power.arcs);
                found.iter_mut().for_each(|found| found.score = seen(found.score));
                if found.len() > size {
                    found[1..].select_nth_unstable_by(size.max(2) - 2, order);
                    found.truncate(size);
                }
                found[1..].sort_unstable_by(order);
                found
            }
        };
        (Flags::default(), 0.0)
    }
}

fn captured(found: &[Candidate]) -> f32 {
    found.iter().map(|found| found.pagerank).sum::<f64>() as f32
}

fn check_node<V: GraphView>(view: &V, node: u32) -> Result<()> {
    if node as usize >= view.nodes() {
        return Err(Error::setting(
            "node",
            node,
            format!("the graph has {} nodes, numbered from 0", view.nodes()),
        ));
    }
    Ok(())
}

/// The context of one node of any graph view.
pub fn context<V: GraphView>(view: &V, node: u32, settings: &ContextSettings) -> Result<Context> {
    Sampler::new(view, settings)?.context(node)
}

impl Contexts {
    /// The contexts of all nodes, on all threads of the current pool.
    pub fn sample<V: GraphView>(
        view: &V,
        settings: &ContextSettings,
        progress: &dyn Progress,
    ) -> Result<Contexts> {
        let nodes: Vec<u32> = (0..view.nodes() as u32).collect();
        progress.begin("sampling contexts", nodes.len() as u64, "nodes");
        let contexts = sample(view, &nodes, settings, progress)?;
        progress.end();
        Ok(contexts)
    }
}

/// The contexts of `nodes`, in their order, on all threads of the current pool.
/// Rows do not depend on each other: a table may be sampled in parts. Progress
/// is advanced by the nodes; whoever calls begins and ends it.
pub fn sample<V: GraphView>(
    view: &V,
    nodes: &[u32],
    settings: &ContextSettings,
    progress: &dyn Progress,
) -> Result<Contexts> {
    settings.validate()?;
    nodes.iter().try_for_each(|&node| check_node(view, node))?;
    let size = settings.size;
    let mut rows = Rows::new(nodes.len(), size);
    // One sampler a thread, whatever pieces the pool cuts the work into: what a
    // sampler remembers of hubs is worth keeping.
    let idle = Mutex::new(Vec::new());
    nodes.par_chunks(BLOCK).zip(rows.parts(BLOCK)).try_for_each(
        |(nodes, mut part)| -> Result<()> {
            let taken = lock(&idle).pop();
            let mut sampler = match taken {
                Some(sampler) => sampler,
                None => Sampler::new(view, settings)?,
            };
            for (row, &node) in nodes.iter().enumerate() {
                if row % AHEAD == 0 {
                    sampler.ahead(&nodes[row..(row + AHEAD).min(nodes.len())]);
                }
                let (flags, residual) = sampler.find(node);
                let start = row * size;
                for (at, found) in sampler.found.iter().enumerate() {
                    part.nodes[start + at] = found.node;
                    part.pagerank[start + at] = found.pagerank as f32;
                }
                let members = &part.nodes[start..start + sampler.found.len()];
                part.bits.write(view, members, start);
                part.captured[row] = captured(&sampler.found);
                part.residual[row] = residual as f32;
                part.flags[row] = flags.0;
            }
            lock(&idle).push(sampler);
            progress.advance(nodes.len() as u64);
            Ok(())
        },
    )?;
    Ok(rows.finish())
}

/// What a panicking thread leaves in the pool is as good as new: `begin` resets it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
