//! How are settings compared that need their own learning rate?
//!
//! For each graph and variant a rate is chosen by its validation figure, on seeds of its own; then all
//! seeds run with it. Test nodes are seen in the second part only.

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
             of their own. Candidates for the step are looked at every {EVERY} steps; on PPI every \
             {EVERY_SLOWLY}, and on some of the nodes, as rates are there."
        ),
        tables: vec![table],
        note: note.into(),
        settings: vec![("of the first variant, but for the rate".into(), variants[0].1.clone())],
        picture: None,
    })
}

/// The learning rate with the best validation figure, the smaller of equals.
fn best_rate(lab: &Lab<'_>, dataset: &Dataset, settings: &Settings) -> anyhow::Result<f64> {
    let mut best = (RATES[0], f64::NEG_INFINITY);
    for rate in RATES {
        let mut settings = settings.clone();
        settings.optimizer.rate = rate;
        settings.seed = TRIAL_SEED;
        let figure = lab.validated(dataset, &settings, TRIALS)?;
        if figure > best.1 {
            best = (rate, figure);
        }
    }
    Ok(best.0)
}
