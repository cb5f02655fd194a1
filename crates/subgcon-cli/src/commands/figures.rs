//! What did runs come to? Figures of a run, of a kind of embedding over its runs, and of two
//! kinds beside each other.

use serde::{Deserialize, Serialize};

use super::eval::{deviation, mean};
use crate::format::bytes;

/// Means over runs.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Seconds {
    pub(super) contexts: f64,
    pub(super) train: f64,
    pub(super) embed: f64,
    pub(super) probe: f64,
}

impl Seconds {
    /// A line for people; `last`: what stands for the probe.
    pub(super) fn text(&self, last: &str, peak: Option<u64>) -> String {
        let Seconds { contexts, train, embed, probe } = self;
        let peak = peak.map_or_else(String::new, |peak| format!("; peak memory {}", bytes(peak)));
        format!(
            "a learnt run: contexts {contexts:.2} s, training {train:.2} s, embedding {embed:.2} s, {last} \
             {probe:.2} s{peak}\n"
        )
    }
}

/// Figures of one run; lists are by split.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) test: Vec<f64>,
    pub(super) validation: Vec<f64>,
    pub(super) c: Vec<f64>,
    pub(super) step: u64,
    pub(super) width: usize,
    pub(super) seconds: Seconds,
}

/// One kind of embedding, over its runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) accuracy_mean: f64,
    /// Over what `spread_over` says.
    pub(super) accuracy_std: f64,
    /// Half of the 95 % interval of the mean, by the same.
    pub(super) accuracy_interval: f64,
    pub(super) spread_over: Spread,
    pub(super) validation_mean: f64,
    pub(super) width: usize,
    /// By run and split.
    pub(super) c: Vec<f64>,
    /// Steps that were kept, by run.
    pub(super) steps: Vec<u64>,
    pub(super) seconds: Seconds,
    /// The largest that the process had been when this row was done. Learnt rows come first.
    pub(super) peak_rss_bytes: Option<u64>,
    /// What the learnt row has more than this one, split by split.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) difference: Option<Difference>,
}

/// What a deviation is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Spread {
    /// Runs, each the mean over its splits.
    Runs,
    /// The splits of a single run.
    Splits,
    /// There is one of either.
    Nothing,
}

/// A paired difference.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Difference {
    #[serde(rename = "difference_mean")]
    pub(super) mean: f64,
    /// Standard error over splits, or over runs where there is one split; none with one
    /// of either.
    #[serde(rename = "difference_error")]
    pub(super) error: Option<f64>,
}

impl Row {
    /// Of all runs so far.
    pub(super) fn of(runs: &[Run]) -> Row {
        // Splits of one run share its encoder: a run is one sample, unless it is the only one.
        let (samples, spread_over) = match runs {
            [only] if only.test.len() > 1 => (only.test.clone(), Spread::Splits),
            [_] => (means(runs, |run| &run.test), Spread::Nothing),
            _ => (means(runs, |run| &run.test), Spread::Runs),
        };
        let deviation = deviation(&samples);
        let of = |take: fn(&Seconds) -> f64| {
            mean(&runs.iter().map(|run| take(&run.seconds)).collect::<Vec<f64>>())
        };
        Row {
            accuracy_mean: mean(&samples),
            accuracy_std: deviation,
            accuracy_interval: student(samples.len()) * deviation / (samples.len() as f64).sqrt(),
            spread_over,
            validation_mean: mean(&means(runs, |run| &run.validation)),
            width: runs.first().map_or(0, |run| run.width),
            c: runs.iter().flat_map(|run| run.c.clone()).collect(),
            steps: runs.iter().map(|run| run.step).collect(),
            seconds: Seconds {
                contexts: of(|s| s.contexts),
                train: of(|s| s.train),
                embed: of(|s| s.embed),
                probe: of(|s| s.probe),
            },
            peak_rss_bytes: peak_memory(),
            difference: None,
        }
    }
}

impl Difference {
    /// Learnt runs against as many free ones with the same seeds, or against a single one that has
    /// none, on the same splits.
    pub(super) fn of(learnt: &[Run], free: &[Run]) -> Difference {
        assert!(free.len() == 1 || free.len() == learnt.len(), "a free run for each learnt one");
        let pairs = || learnt.iter().zip(free.iter().cycle());
        let on = |split: usize| pairs().map(move |(run, free)| run.test[split] - free.test[split]);
        let samples: Vec<f64> = match free[0].test.len() {
            1 => on(0).collect(),
            splits => (0..splits).map(|split| mean(&on(split).collect::<Vec<f64>>())).collect(),
        };
        let error = (samples.len() > 1).then(|| standard_error(&samples));
        Difference { mean: mean(&samples), error }
    }
}

fn means(runs: &[Run], of: fn(&Run) -> &Vec<f64>) -> Vec<f64> {
    runs.iter().map(|run| mean(of(run))).collect()
}

/// Of a mean.
pub(super) fn standard_error(samples: &[f64]) -> f64 {
    deviation(samples) / (samples.len() as f64).sqrt()
}

/// The 97.5 % point of Student's t for a mean of so many samples.
fn student(samples: usize) -> f64 {
    const FEW: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    match samples {
        0 | 1 => 0.0,
        few if few <= FEW.len() + 1 => FEW[few - 2],
        // Two terms of the expansion around the normal distribution.
        many => {
            let (z, freedom) = (1.959_964_f64, (many - 1) as f64);
            z + (z.powi(3) + z) / (4.0 * freedom)
                + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * freedom * freedom)
        }
    }
}

/// The largest that this process has been, where the system tells.
pub(super) fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilo| 1024 * kilo)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(test: &[f64]) -> Run {
        Run {
            test: test.to_vec(),
            validation: vec![0.5; test.len()],
            c: vec![1.0; test.len()],
            step: 7,
            width: 3,
            seconds: Seconds { train: 2.0, ..Seconds::default() },
        }
    }

    #[test]
    fn what_a_deviation_is_over_is_said() {
        let one = Row::of(&[run(&[0.8])]);
        assert_eq!((one.accuracy_std, one.spread_over), (0.0, Spread::Nothing));
        // By hand: deviation of 0.7, 0.8, 0.9 is 0.1; of 3 samples t is 4.303.
        let splits = Row::of(&[run(&[0.7, 0.8, 0.9])]);
        assert!((splits.accuracy_std - 0.1).abs() < 1e-12);
        assert!((splits.accuracy_interval - 4.303 * 0.1 / 3f64.sqrt()).abs() < 1e-12);
        assert_eq!(splits.spread_over, Spread::Splits);
        // Means of runs are 0.6 and 0.8: splits differ much, runs by 0.2.
        let runs = Row::of(&[run(&[0.2, 1.0]), run(&[0.6, 1.0])]);
        assert!((runs.accuracy_std - 0.02f64.sqrt()).abs() < 1e-12);
        assert_eq!((runs.spread_over, runs.steps), (Spread::Runs, vec![7, 7]));
        assert!((runs.accuracy_mean - 0.7).abs() < 1e-12);
    }

    #[test]
    fn differences_are_paired() {
        // Learnt by split: 0.7 and 0.9; free: 0.6 and 0.9. Differences 0.1 and 0.
        let learnt = [run(&[0.6, 0.8]), run(&[0.8, 1.0])];
        let found = Difference::of(&learnt, &[run(&[0.6, 0.9])]);
        assert!((found.mean - 0.05).abs() < 1e-12);
        assert!((found.error.unwrap() - 0.05).abs() < 1e-12);
        let found = Difference::of(&[run(&[0.6]), run(&[0.8])], &[run(&[0.5])]);
        assert!((found.mean - 0.2).abs() < 1e-12 && (found.error.unwrap() - 0.1).abs() < 1e-12);
        assert!(Difference::of(&[run(&[0.6])], &[run(&[0.5])]).error.is_none());
        // Run by run 0.1 and 0.2: nothing of how far runs are from each other is in the error.
        let found = Difference::of(&[run(&[0.6]), run(&[0.9])], &[run(&[0.5]), run(&[0.7])]);
        assert!((found.mean - 0.15).abs() < 1e-12 && (found.error.unwrap() - 0.05).abs() < 1e-12);
        // By split: 0.1 and 0.0 of the one run, 0.3 and 0.2 of the other; 0.2 and 0.1 in the mean.
        let found = Difference::of(&learnt, &[run(&[0.5, 0.8]), run(&[0.5, 0.8])]);
        assert!((found.mean - 0.15).abs() < 1e-12 && (found.error.unwrap() - 0.05).abs() < 1e-12);
    }

    #[test]
    fn intervals_shrink_to_the_normal_ones() {
        assert_eq!(student(2), 12.706);
        // From tables: 19 degrees of freedom 2.093, 30 2.042, infinitely many 1.960.
        assert!((student(20) - 2.093).abs() < 2e-3);
        assert!((student(31) - 2.042).abs() < 1e-3);
        assert!((student(1_000_000) - 1.960).abs() < 1e-3);
    }
}
