//! What does a benchmark tell people? A heading, a line for each row, and what stands behind the
//! learnt one.

use std::fmt::Display;

use super::super::eval::called;
use super::super::figures::{Row, Spread};
use super::{Baseline, ChosenForAll, Select, Summary};
use crate::format::{counted, short};

/// All of it.
pub(super) fn text(summary: &Summary) -> String {
    let head = format!("{} %", called(summary.metric));
    let mut text = format!(
        "{}\n\n{:<40}{head:>16}{:>14}{:>18}{:>7}{:>9}\n",
        heading(summary),
        "",
        "validation %",
        "learnt has more",
        "width",
        "seconds"
    );
    text += &line("learnt", &summary.row);
    let mut free: Vec<(&String, &Baseline)> = summary.baselines.iter().collect();
    free.sort_by(|a, b| b.1.row.validation_mean.total_cmp(&a.1.row.validation_mean));
    text.extend(free.iter().map(|(name, baseline)| line(name, &baseline.row)));
    text += match (summary.row.spread_over, summary.splits) {
        (Spread::Runs, 1) => {
            "\n± is the standard deviation over runs; of a difference the standard error over runs\n"
        }
        (Spread::Runs, _) => {
            "\n± is the standard deviation over runs for learnt and untrained rows and over splits for the \
             others; of a difference the standard error over splits\n"
        }
        (Spread::Splits, _) => {
            "\n± is the standard deviation over splits; of a difference the standard error over splits\n"
        }
        (Spread::Nothing, _) => {
            "\none run on one split: nothing tells how much of a difference is chance; use --seeds or \
             --random\n"
        }
    };
    text + &behind(summary)
}

/// What was measured, and how C and the step came about.
fn heading(summary: &Summary) -> String {
    let c = match &summary.strengths[..] {
        [] => "C chosen on validation nodes".into(),
        &[c] => format!("C = {}", short(c)),
        some => {
            let some: Vec<String> = some.iter().map(|&c| short(c)).collect();
            format!("C chosen from {} on validation nodes", some.join(", "))
        }
    };
    let step = match (summary.select, &summary.strengths[..]) {
        (Select::Settings, _) => "",
        (Select::ValidationEach, [_]) => ", the step chosen on validation nodes",
        (Select::ValidationEach, _) => ", and so is the step",
        (Select::ValidationMean, [_]) => {
            ", one step for all learnt runs chosen on validation nodes"
        }
        (Select::ValidationMean, _) => ", one for all learnt runs, and so is the step",
    };
    format!(
        "{}, preset {}, {}, {}, {c}{step}",
        summary.dataset,
        summary.preset,
        counted(summary.seeds, "run"),
        counted(summary.splits as u64, "split"),
    )
}

/// A row.
fn line(name: &str, row: &Row) -> String {
    let spread = match row.spread_over {
        Spread::Nothing => String::new(),
        _ => format!(" ± {:.2}", 100.0 * row.accuracy_std),
    };
    let figure = format!("{:.2}{spread}", 100.0 * row.accuracy_mean);
    let more = row.difference.map_or_else(String::new, |difference| {
        let error =
            difference.error.map_or_else(String::new, |error| format!(" ± {:.2}", 100.0 * error));
        format!("{:+.2}{error}", 100.0 * difference.mean)
    });
    let seconds = row.seconds.train + row.seconds.embed + row.seconds.probe;
    format!(
        "{name:<40}{figure:>16}{:>14.2}{more:>18}{:>7}{seconds:>9.2}\n",
        100.0 * row.validation_mean,
        row.width
    )
}

/// What stands behind the learnt row: how sure its mean is, what was chosen, what it cost.
fn behind(summary: &Summary) -> String {
    let row = &summary.row;
    let interval = || {
        let [least, most] = [-1.0, 1.0]
            .map(|side| 100.0 * (row.accuracy_mean + side * row.accuracy_interval).clamp(0.0, 1.0));
        format!("{least:.2} to {most:.2} %")
    };
    let mut said: Vec<String> = match row.spread_over {
        Spread::Runs => vec![format!("mean {} (95 % interval over runs)", interval())],
        Spread::Splits => vec![format!("mean {} (95 % interval over splits)", interval())],
        Spread::Nothing => Vec::new(),
    };
    if summary.chosen_for_all.is_none() {
        said.push(format!("step {}", range(&row.steps, u64::to_string)));
        if summary.strengths.len() != 1 {
            said.push(format!("C {}", range(&row.c, |&c| short(c))));
        }
    }
    let mut text = match said.is_empty() {
        true => String::new(),
        false => format!("learnt: {}\n", said.join("; ")),
    };
    text += &row.seconds.text("probe", row.peak_rss_bytes);
    if let Some(chosen) = &summary.chosen_for_all {
        text += &chosen.text(row, summary.strengths.len() != 1);
    }
    text
}

/// The least and the largest, and the one in the middle: the upper where there are two.
fn range<T: PartialOrd + Copy, D: Display>(values: &[T], shown: impl Fn(&T) -> D) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("steps and strengths are numbers"));
    match &sorted[..] {
        [] => "unknown".into(),
        [first, .., last] if first != last => {
            let middle = &sorted[sorted.len() / 2];
            format!("{} to {}, median {}", shown(first), shown(last), shown(middle))
        }
        [one, ..] => shown(one).to_string(),
    }
}

impl ChosenForAll {
    /// A line for people; `c`: C was chosen, too.
    fn text(&self, row: &Row, c: bool) -> String {
        let step = row.steps.first().copied().unwrap_or_default();
        let mut text =
            format!("chosen for all runs, of {} steps: step {step}", self.steps_looked_at);
        if self.later_may_be_better {
            text += ", the last (later ones may be better: more --steps)";
        }
        if let (true, Some(&c)) = (c, row.c.first()) {
            text += &format!(", C = {}", short(c));
        }
        text + &format!("; choosing took {:.1} s for all runs together\n", self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_told_as_short_as_can_be() {
        assert_eq!(range(&[60, 60, 60], u64::to_string), "60");
        assert_eq!(range(&[60], u64::to_string), "60");
        assert_eq!(range(&[10.0, 0.1, 1.0], |&c| short(c)), "0.1 to 10, median 1");
        assert_eq!(range(&[3, 1], u64::to_string), "1 to 3, median 3");
    }
}
