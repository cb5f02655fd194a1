//! When to stop, without labels.
//!
//! Contexts that are held out of training are looked at every so many steps. What
//! was seen to be a bad rule is best retrieval: it keeps improving while embeddings get
//! worse.

use serde::{Deserialize, Serialize};

use crate::config::Stopping;
use crate::encoder::Encoder;

/// What held-out contexts looked like after some step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Look {
    /// Steps taken before.
    pub step: u64,
    /// Hinge of all pairs, both ways.
    pub hinge: f64,
    /// Share of pairs in which the own summary scores higher.
    pub retrieval: f64,
    /// Effective rank of the centers.
    pub effective_rank: f64,
}

/// Parameters as they were after some step.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Steps taken before.
    pub step: u64,
    /// The parameters.
    pub encoder: Encoder<f32>,
}

/// Looks so far, and the parameters that may still be chosen.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    /// Oldest first.
    pub looks: Vec<Look>,
    /// Oldest first.
    pub snapshots: Vec<Snapshot>,
}

impl History {
    /// Adds a look; keeps the parameters only while the rule may choose them.
    pub(super) fn add(
        &mut self,
        rule: Stopping,
        look: Look,
        encoder: impl FnOnce() -> Encoder<f32>,
    ) {
        // What is no better than before is never chosen, by either rule.
        let better =
            |value: fn(&Look) -> f64| self.looks.iter().all(|before| value(&look) < value(before));
        let record = match rule {
            Stopping::Never => false,
            Stopping::HeldOutHinge { .. } => better(|look| look.hinge),
            Stopping::EffectiveRank => better(|look| look.effective_rank),
        };
        self.looks.push(look);
        if record {
            self.snapshots.push(Snapshot { step: look.step, encoder: encoder() });
        }
        let chosen = self.chosen(rule);
        let still = |snapshot: &Snapshot| match rule {
            Stopping::Never => false,
            // The hinge that has to be reached only falls, so the choice only moves on.
            Stopping::HeldOutHinge { .. } => Some(snapshot.step) >= chosen,
            Stopping::EffectiveRank => Some(snapshot.step) == chosen,
        };
        self.snapshots.retain(still);
    }

    /// The step that the rule takes, as far as is known; none where it takes the last.
    pub fn chosen(&self, rule: Stopping) -> Option<u64> {
        let first = self.looks.first()?;
        match rule {
            Stopping::Never => None,
            Stopping::HeldOutHinge { share } => {
                let least = self.looks.iter().map(|look| look.hinge).fold(first.hinge, f64::min);
                // Rounding must not ask for more than the least there is.
                let enough = (first.hinge - share * (first.hinge - least)).max(least);
                self.looks.iter().find(|look| look.hinge <= enough).map(|look| look.step)
            }
            Stopping::EffectiveRank => {
                let mut best = first;
                for look in &self.looks {
                    if look.effective_rank < best.effective_rank {
                        best = look;
                    }
                }
                Some(best.step)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(rule: Stopping, hinges: &[f64]) -> History {
        let mut history = History::default();
        for (at, &hinge) in hinges.iter().enumerate() {
            let step = 10 * at as u64;
            let look = Look { step, hinge, retrieval: 0.5, effective_rank: 100.0 * hinge };
            history.add(rule, look, || Encoder { layers: Vec::new(), linear: None });
        }
        history
    }

    fn kept(history: &History) -> Vec<u64> {
        history.snapshots.iter().map(|snapshot| snapshot.step).collect()
    }

    #[test]
    fn the_hinge_has_to_make_a_share_of_its_fall() {
        let rule = Stopping::HeldOutHinge { share: 0.8 };
        // Falls from 1.0 to 0.5: 80 % of it is made at 0.6.
        let seen = history(rule, &[1.0, 0.9, 0.7, 0.58, 0.5, 0.52]);
        assert_eq!(seen.chosen(rule), Some(30));
        assert_eq!(kept(&seen), [30, 40]);
        // One that only rises is never better than before training.
        let rising = history(rule, &[1.0, 1.1, 1.2]);
        assert_eq!(rising.chosen(rule), Some(0));
    }

    #[test]
    fn only_what_may_be_chosen_is_kept() {
        let seen = history(Stopping::EffectiveRank, &[1.0, 0.4, 0.3, 0.35]);
        assert_eq!((seen.chosen(Stopping::EffectiveRank), kept(&seen)), (Some(20), vec![20]));
        let seen = history(Stopping::Never, &[1.0, 0.4]);
        assert_eq!((seen.chosen(Stopping::Never), kept(&seen)), (None, vec![]));
        assert_eq!(seen.looks.len(), 2);
    }
}
