//! How are settings compared that need their own learning rate?
//!
//! For each graph and variant a rate is chosen by its validation figure, on seeds of its own
//! (three of four are tried: figures are taken to rise and then fall with the rate); then all seeds run with it. Test nodes are seen in the second part only.

use subgcon::config::Settings;

use super::page::{Page, Table, figure, printed};
use super::{Dataset, EVERY, EVERY_SLOWLY, Lab, paper};

/// Rates to choose from.
const RATES: [f64; 4] = [1e-4, 3e-4, 1e-3, 3e-3];
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
             graph: of {RATES:?} the one with the best validation figure over {TRIALS} runs with seeds \
             of their own. Three of the four are tried, from the middle on towards the better side, as if \
             figures rose and then fell with the rate. Candidates for the step are looked at every {EVERY} steps; on PPI every {EVERY_SLOWLY}, and on some of the nodes, as \
             rates are there."
        ),
        tables: vec![table],
        note: note.into(),
        settings: vec![("of the first variant, but for the rate".into(), variants[0].1.clone())],
        picture: None,
    })
}

/// The learning rate with the best validation figure, the smaller of equals, as if figures rose and then
/// fell with the rate: of neighbours the better one's side is looked at, from the middle on.
fn best_rate(lab: &Lab<'_>, dataset: &Dataset, settings: &Settings) -> anyhow::Result<f64> {
    let place = peak(RATES.len(), |place| {
        let mut settings = settings.clone();
        settings.optimizer.rate = RATES[place];
        settings.seed = TRIAL_SEED;
        lab.validated(dataset, &settings, TRIALS)
    })?;
    Ok(RATES[place])
}

/// Where a figure is largest that rises and then falls over so many places, the first of equals. It is
/// asked for at no place twice, and of four or more not everywhere.
fn peak(
    places: usize,
    mut figure: impl FnMut(usize) -> anyhow::Result<f64>,
) -> anyhow::Result<usize> {
    let (mut first, mut last) = (0, places - 1);
    let mut known = vec![None; places];
    let mut at = |place: usize| -> anyhow::Result<f64> {
        match known[place] {
            Some(figure) => Ok(figure),
            None => Ok(*known[place].insert(figure(place)?)),
        }
    };
    while first < last {
        let middle = first.midpoint(last);
        if at(middle + 1)? > at(middle)? {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_found_without_looking_everywhere() {
        for wanted in 0..4 {
            let mut looks = Vec::new();
            let found = peak(4, |place| {
                looks.push(place);
                Ok(-(place as f64 - wanted as f64).abs())
            });
            assert_eq!(found.unwrap(), wanted);
            assert_eq!(looks.len(), 3, "{looks:?}");
        }
        assert_eq!(peak(1, |_| unreachable!("nothing to compare")).unwrap(), 0);
        assert_eq!(peak(3, |_| Ok(0.5)).unwrap(), 0, "the first of equals");
        assert_eq!(peak(2, |_| anyhow::bail!("broken")).unwrap_err().to_string(), "broken");
    }
}
