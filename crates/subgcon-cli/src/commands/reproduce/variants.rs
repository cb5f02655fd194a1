//! How are settings compared that need their own learning rate?
//!
//! For each graph and variant a rate is chosen by its validation figure, on seeds of its own; then all
//! seeds run with it. Test nodes are seen in the second part only.

use std::collections::VecDeque;
use std::ops::Range;

use subgcon::Error;
use subgcon::config::Settings;

use super::page::{Page, Table, figure, printed};
use super::{Dataset, EVERY, EVERY_SLOWLY, Lab, paper};

/// Rates to choose from.
const RATES: [f64; 8] = [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2];
/// Which of them are always tried; others only next to one at an end of those tried that is the best.
const ALWAYS: Range<usize> = 2..6;
/// Runs for each of them, and their first seed.
const TRIALS: u64 = 2;
const TRIAL_SEED: u64 = 1_000_000;

/// A variant: as the paper calls it, and its settings.
pub(super) type Variant = (&'static str, Settings);

/// Compares variants on all graphs.
pub(super) fn compared(
    lab: &Lab<'_>,
    title: &str,
    variants: &[Variant],
    rows: paper::Rows,
    note: &str,
) -> anyhow::Result<Page> {
    let mut table =
        Table::new(&["graph", "variant", "paper", "ours", "validation", "rate", "steps kept"]);
    for dataset in &lab.datasets {
        for (name, settings) in variants {
            let rate = best_rate(lab, dataset, settings)?;
            let mut settings = settings.clone();
            settings.optimizer.rate = rate;
            let row = lab.measure(dataset, &settings)?;
            let steps = row.steps.iter().sum::<u64>() as f64 / row.steps.len().max(1) as f64;
            table.rows.push(vec![
                dataset.shown.into(),
                (*name).into(),
                printed(paper::number(rows, name, dataset.column)),
                figure(&row),
                format!("{:.1}", 100.0 * row.validation_mean),
                rate.to_string(),
                format!("{steps:.0}"),
            ]);
        }
    }
    Ok(Page {
        title: title.into(),
        how: format!(
            "Accuracy on the test nodes in percent (micro-F1 where a node may have several classes), the \
             step and C chosen on validation nodes. Each variant has its own learning rate for each \
             graph: of {:?}, and of the next ones as far as {} and {} as long as the best is at an end, \
             the one with the best validation figure over {TRIALS} runs with seeds of their own. \
             Candidates for the step are looked at every {EVERY} steps; on PPI every {EVERY_SLOWLY}, \
             and on some of the nodes, as rates are there.",
            &RATES[ALWAYS],
            RATES[0],
            RATES[RATES.len() - 1]
        ),
        tables: vec![table],
        note: note.into(),
        settings: vec![("of the first variant, but for the rate".into(), variants[0].1.clone())],
        seeds: lab.arguments.seeds,
        picture: None,
    })
}

/// The learning rate with the best validation figure.
fn best_rate(lab: &Lab<'_>, dataset: &Dataset, settings: &Settings) -> anyhow::Result<f64> {
    let best = best_place(RATES.len(), ALWAYS, |place| {
        let mut settings = settings.clone();
        settings.optimizer.rate = RATES[place];
        settings.seed = TRIAL_SEED;
        or_worst(lab.validated(dataset, &settings, TRIALS))
    })?;
    Ok(RATES[best])
}

/// The figure of a rate; one with which training diverges is worse than all others.
fn or_worst(figure: anyhow::Result<f64>) -> anyhow::Result<f64> {
    figure.or_else(|error| match error.downcast_ref() {
        Some(Error::Diverged { .. }) => Ok(f64::NEG_INFINITY),
        _ => Err(error),
    })
}

/// The place with the largest figure, the first of equals, among those that are tried: `tried`, and of the
/// others below `count` the next one as long as the best is at an end.
fn best_place<E>(
    count: usize,
    mut tried: Range<usize>,
    mut figure: impl FnMut(usize) -> Result<f64, E>,
) -> Result<usize, E> {
    let mut figures = tried.clone().map(&mut figure).collect::<Result<VecDeque<_>, E>>()?;
    loop {
        let mut best = 0;
        for (place, figure) in figures.iter().enumerate() {
            if *figure > figures[best] {
                best = place;
            }
        }
        if best == 0 && tried.start > 0 {
            tried.start -= 1;
            figures.push_front(figure(tried.start)?);
        } else if best + 1 == tried.len() && tried.end < count {
            figures.push_back(figure(tried.end)?);
            tried.end += 1;
        } else {
            return Ok(tried.start + best);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The best place among these figures, and the places that were tried.
    fn found(figures: &[f64], tried: Range<usize>) -> (usize, Vec<usize>) {
        let mut seen = Vec::new();
        let best = best_place(figures.len(), tried, |place| {
            seen.push(place);
            Ok::<_, ()>(figures[place])
        });
        (best.unwrap(), seen)
    }

    #[test]
    fn rates_beyond_those_always_tried_are_tried_where_the_best_is_at_an_end() {
        // Not at an end: what lies beyond is not asked.
        assert_eq!(found(&[9.0, 1.0, 3.0, 2.0, 9.0], 1..4), (2, vec![1, 2, 3]));
        // Upwards as long as it gets better, downwards as well, and no further than there are rates.
        assert_eq!(found(&[0.0, 1.0, 2.0, 3.0, 2.5, 9.0], 0..3), (3, vec![0, 1, 2, 3, 4]));
        assert_eq!(found(&[9.0, 1.0, 3.0, 2.0, 1.0], 2..4), (2, vec![2, 3, 1]));
        assert_eq!(found(&[1.0, 2.0, 3.0], 0..2), (2, vec![0, 1, 2]));
        assert_eq!(found(&[3.0, 2.0, 1.0], 1..3), (0, vec![1, 2, 0]));
        // Figures need not rise and fall: all that are always tried are.
        assert_eq!(found(&[0.0, 3.0, 1.0, 4.0, 0.0], 1..4), (3, vec![1, 2, 3, 4]));
        // Of equals the first, so one as good beyond the upper end ends the search.
        assert_eq!(found(&[0.0, 1.0, 2.0, 2.0], 1..3), (2, vec![1, 2, 3]));
        assert_eq!(found(&[2.0, 2.0, 2.0], 1..3), (0, vec![1, 2, 0]));
    }

    #[test]
    fn a_figure_that_cannot_be_had_is_told() {
        assert_eq!(best_place(3, 0..3, Err::<f64, _>), Err(0));
        assert_eq!(
            or_worst(Err(anyhow::anyhow!("disk full"))).unwrap_err().to_string(),
            "disk full"
        );
    }

    #[test]
    fn a_rate_that_diverges_is_worse_than_all_others() {
        let diverged = || Err(Error::Diverged { step: 3, remedy: "a lower rate".into() }.into());
        let figures = |place: usize| if place > 1 { diverged() } else { Ok(0.25 * place as f64) };
        assert_eq!(best_place(4, 0..3, |place| or_worst(figures(place))).unwrap(), 1);
    }
}
