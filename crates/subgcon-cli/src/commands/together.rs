//! One step and one C for all runs of a benchmark: those with the best mean figure on the
//! validation nodes. How long to train is then a setting of the graph, found once, and no
//! run's luck: a few hundred validation nodes hardly tell one run's steps apart.
//!
//! Runs are taken twice, to look at their candidates and then to the step that all of them
//! agree on, rather than every candidate of every run being kept.

use std::time::Instant;

use anyhow::Context as _;
use subgcon::config::Settings;
use subgcon::model::Model;
use subgcon::train::Trainer;
use subgcon::transform::Transform;

use super::figures::{Run, Seconds};
use super::measure::Measure;
use super::runs::{Ground, candidate, embedded};

/// What the validation nodes say of a run after some step.
pub(super) struct Candidate {
    step: u64,
    /// By value of C.
    figures: Vec<f64>,
}

/// What all runs agree on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Agreed {
    pub(super) step: u64,
    /// Which of the values of C.
    pub(super) strength: usize,
}

/// The candidates of one run, every so many steps and after the last one, or what there is where a run
/// ends before that. No test node is looked at.
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
        let figures = measure.validated_by_strength(&rows)?;
        Ok(Candidate { step: model.provenance.step, figures })
    };
    let mut trainer = Trainer::new(settings, material)?;
    let mut candidates = Vec::new();
    while let Some(report) = trainer.advance()? {
        if report.step == settings.training.steps || report.step.is_multiple_of(every) {
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
    let figures = candidates.iter().flat_map(|candidate| candidate.figures.iter().copied());
    figures.fold(0.0, f64::max)
}

/// The step and C with the best mean figure; of equals the last step with its smallest C. Steps
/// that some run has not got to, or not looked at, are nobody's.
pub(super) fn agreed(runs: &[Vec<Candidate>]) -> anyhow::Result<Agreed> {
    let mut best: Option<(f64, Agreed)> = None;
    for step in runs.iter().take(1).flatten().map(|candidate| candidate.step) {
        let looked = runs.iter().map(|run| run.iter().find(|candidate| candidate.step == step));
        let all: Option<Vec<&Candidate>> = looked.collect();
        let Some(all) = all else { continue };
        for strength in 0..all[0].figures.len() {
            let sum: f64 = all.iter().map(|candidate| candidate.figures[strength]).sum();
            let better =
                best.is_none_or(|(most, agreed)| sum > most || (sum == most && step > agreed.step));
            if better {
                best = Some((sum, Agreed { step, strength }));
            }
        }
    }
    let agreed = best.map(|(_, agreed)| agreed);
    agreed.context("runs ended early, each at a step of its own: look more often (--select-every)")
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
    let mut trainer = Trainer::new(settings, material)?;
    while trainer.advance()?.is_some_and(|report| report.step < step) {}
    let train = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let model = candidate(&trainer, None, settings, material)?;
    let embeddings = embedded(&model, material, None)?;
    let embed = started.elapsed().as_secs_f64();
    let seconds = Seconds { contexts: ground.seconds, train, embed, ..Seconds::default() };
    Ok((measure.run(&embeddings, step, seconds)?, model))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(figures: &[[f64; 2]]) -> Vec<Candidate> {
        let candidate = |(at, figures): (usize, &[f64; 2])| Candidate {
            step: 5 * (at as u64 + 1),
            figures: figures.to_vec(),
        };
        figures.iter().enumerate().map(candidate).collect()
    }

    #[test]
    fn the_mean_decides_and_of_equals_the_last_step_with_its_smallest_c() {
        // Each run for itself would take another step.
        let runs = [run(&[[0.5, 0.9], [0.5, 0.75]]), run(&[[0.5, 0.25], [0.5, 0.75]])];
        assert_eq!(agreed(&runs).unwrap(), Agreed { step: 10, strength: 1 });
        let equal = [run(&[[0.5, 0.5], [0.5, 0.5], [0.25, 0.5]])];
        assert_eq!(agreed(&equal).unwrap(), Agreed { step: 15, strength: 1 });
        assert_eq!(agreed(&[run(&[[0.5, 0.5]])]).unwrap(), Agreed { step: 5, strength: 0 });
        // What one run has not got to is nobody's.
        let short = [run(&[[0.5, 0.25], [0.75, 0.9]]), run(&[[0.5, 0.25]])];
        assert_eq!(agreed(&short).unwrap(), Agreed { step: 5, strength: 0 });
        let ended = vec![Candidate { step: 3, figures: vec![0.5, 0.5] }];
        assert!(agreed(&[run(&[[0.5, 0.5]]), ended]).is_err());
    }
}
