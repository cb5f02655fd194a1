//! One step and one C for all runs of a benchmark: those with the best mean figure on the
//! validation nodes. When to stop is then a setting of the graph and no run's luck: a few
//! hundred validation nodes hardly tell one run's steps apart. (Where the rate falls, it is a
//! step of that schedule.)
//!
//! Runs are taken twice, to look at their candidates and then to the step that all of them
//! agree on, rather than every candidate of every run being kept.

use std::time::Instant;

use subgcon::config::{Decay, Settings};
use subgcon::model::Model;
use subgcon::train::Trainer;
use subgcon::transform::Transform;

use super::figures::{Run, Seconds};
use super::measure::{ByStrength, Measure};
use super::runs::{Ground, candidate, embedded};

/// What the validation nodes say of a run after some step.
pub(super) struct Candidate {
    step: u64,
    by_strength: Vec<ByStrength>,
}

/// What all runs agree on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Agreed {
    pub(super) step: u64,
    pub(super) c: f64,
}

/// How many times the settings' steps are looked at where the rate does not fall.
const LOOKED: u64 = 3;

/// Mean figures that differ by less are the same: in which order they are added says nothing.
const SAME: f64 = 1e-9;

/// The settings with as many steps as are looked at. A run with a constant rate has no end of its own:
/// the settings' number is one that is good without labels, and the best may be beyond it.
pub(super) fn looked(settings: &Settings) -> Settings {
    let mut looked = settings.clone();
    if settings.optimizer.decay == Decay::None {
        looked.training.steps = settings.training.steps.saturating_mul(LOOKED);
    }
    looked
}

/// The candidates of one run, every so many steps and after the last one, or the one that is not
/// trained. No test node is looked at.
pub(super) fn candidates(
    settings: &Settings,
    transform: &Transform,
    ground: Ground<'_>,
    measure: &Measure<'_>,
    every: u64,
) -> anyhow::Result<Vec<Candidate>> {
    let material = ground.material(transform);
    let nodes = measure.held_in();
    let mut before = None;
    let mut look = |trainer: &Trainer<'_>| -> anyhow::Result<Candidate> {
        let model = before.insert(candidate(trainer, before.as_ref(), settings, material)?);
        let rows = embedded(model, material, Some(&nodes))?;
        let by_strength = measure.validated_by_strength(&rows)?;
        Ok(Candidate { step: model.provenance.step, by_strength })
    };
    let looked = looked(settings);
    let mut trainer = Trainer::new(&looked, material)?;
    let mut candidates = Vec::new();
    while let Some(report) = trainer.advance()? {
        if report.step == looked.training.steps || report.step.is_multiple_of(every) {
            candidates.push(look(&trainer)?);
        }
    }
    if candidates.is_empty() {
        candidates.push(look(&trainer)?);
    }
    Ok(candidates)
}

/// The best figure of a run's candidates, to show.
pub(super) fn most(candidates: &[Candidate]) -> f64 {
    let figures = candidates.iter().flat_map(|candidate| &candidate.by_strength);
    figures.map(|by| by.figure).fold(0.0, f64::max)
}

/// The step and C with the best mean figure over runs, which all have the same candidates; of equals
/// the last step with its smallest C.
pub(super) fn agreed(runs: &[Vec<Candidate>]) -> Agreed {
    let mut best: Option<(f64, Agreed)> = None;
    for (at, candidate) in runs[0].iter().enumerate() {
        for (strength, by) in candidate.by_strength.iter().enumerate() {
            let figures = runs.iter().map(|run| run[at].by_strength[strength].figure);
            let mean = figures.sum::<f64>() / runs.len() as f64;
            let better = best.is_none_or(|(most, agreed)| {
                mean > most + SAME || (mean > most - SAME && candidate.step > agreed.step)
            });
            if better {
                best = Some((mean, Agreed { step: candidate.step, c: by.c }));
            }
        }
    }
    best.expect("a run has a candidate, which was measured with some C").1
}

/// Whether the last candidate is better than all before it in the mean over runs, or the only one.
pub(super) fn still_rising(runs: &[Vec<Candidate>]) -> bool {
    let most = |at: usize| {
        let figures = (0..runs[0][at].by_strength.len()).map(|strength| {
            let figures = runs.iter().map(|run| run[at].by_strength[strength].figure);
            figures.sum::<f64>() / runs.len() as f64
        });
        figures.fold(f64::NEG_INFINITY, f64::max)
    };
    let last = runs[0].len() - 1;
    (0..last).all(|at| most(last) > most(at) + SAME)
}

/// A run to a step; and the model that it led to.
pub(super) fn learn_until(
    step: u64,
    settings: &Settings,
    transform: &Transform,
    ground: Ground<'_>,
    measure: &Measure<'_>,
) -> anyhow::Result<(Run, Model)> {
    let material = ground.material(transform);
    let started = Instant::now();
    let looked = looked(settings);
    let mut trainer = Trainer::new(&looked, material)?;
    while trainer.advance()?.is_some_and(|report| report.step < step) {}
    let train = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let model = candidate(&trainer, None, settings, material)?;
    let embeddings = embedded(&model, material, None)?;
    let embed = started.elapsed().as_secs_f64();
    let seconds = Seconds { contexts: ground.seconds, train, embed, ..Seconds::default() };
    Ok((measure.run(&embeddings, model.provenance.step, seconds)?, model))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(figures: &[[f64; 2]]) -> Vec<Candidate> {
        let candidate = |(at, figures): (usize, &[f64; 2])| Candidate {
            step: 5 * (at as u64 + 1),
            by_strength: [0.1, 1.0]
                .into_iter()
                .zip(*figures)
                .map(|(c, figure)| ByStrength { c, figure })
                .collect(),
        };
        figures.iter().enumerate().map(candidate).collect()
    }

    #[test]
    fn the_mean_decides_and_of_equals_the_last_step_with_its_smallest_c() {
        // Each run for itself would take another step.
        let runs = [run(&[[0.5, 0.9], [0.5, 0.75]]), run(&[[0.5, 0.25], [0.5, 0.75]])];
        assert_eq!(agreed(&runs), Agreed { step: 10, c: 1.0 });
        let equal = [run(&[[0.5, 0.5], [0.5, 0.5], [0.25, 0.5]])];
        assert_eq!(agreed(&equal), Agreed { step: 15, c: 1.0 });
        assert_eq!(agreed(&[run(&[[0.5, 0.5]])]), Agreed { step: 5, c: 0.1 });
        // The same three figures, whose sum depends on their order.
        let turned = [run(&[[0.3, 0.1]]), run(&[[0.2, 0.2]]), run(&[[0.1, 0.3]])];
        assert_eq!(agreed(&turned), Agreed { step: 5, c: 0.1 });
        let later = [0.1, 0.2, 0.3].map(|x| run(&[[x, 0.0], [0.4 - x, 0.0]]));
        assert_eq!(agreed(&later), Agreed { step: 10, c: 0.1 });
    }

    #[test]
    fn later_steps_may_be_better_where_the_last_is_better_than_all_before_it() {
        assert!(still_rising(&[run(&[[0.5, 0.6], [0.7, 0.1]])]));
        assert!(still_rising(&[run(&[[0.5, 0.6]])]));
        // A plateau, which has its last step chosen; and figures that fall.
        let level = [0.1, 0.2, 0.3].map(|x| run(&[[x, 0.0], [0.4 - x, 0.0]]));
        assert!(!still_rising(&level));
        assert!(!still_rising(&[run(&[[0.5, 0.9], [0.6, 0.8]])]));
    }
}
