//! Fig. 5: what do more threads bring?
//!
//! The paper trains on 20,000 contexts for 400 epochs with one to several GPUs. Here the same
//! training runs on one to all cores, each time as a process of its own.

use anyhow::Context as _;

use super::Lab;
use super::page::{Page, Table};
use crate::picture::{Series, lines_svg};

/// Contexts and steps of the paper, unless `--set` says otherwise.
const SUBGRAPHS: usize = 20_000;
const STEPS: u64 = 400;

pub(super) fn page(lab: &Lab<'_>) -> anyhow::Result<Page> {
    let mut settings = lab.arguments.preset.settings();
    (settings.training.steps, settings.training.subgraphs) = (STEPS, Some(SUBGRAPHS));
    let settings = lab.arguments.changed(settings)?;
    let steps = settings.training.steps;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counts: Vec<usize> = (0..).map(|power| 1 << power).take_while(|&n| n < cores).collect();
    counts.push(cores);
    let mut table = Table::new(&["graph", "threads", "training s", "times as fast", "accuracy"]);
    let mut series = Vec::new();
    for dataset in &lab.datasets {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for &threads in &counts {
            let subgraphs = dataset.subgraphs(&settings.training)?;
            let words = [
                "--threads".to_owned(),
                threads.to_string(),
                "--seeds".to_owned(),
                "1".to_owned(),
                "--set".to_owned(),
                format!("training.subgraphs={subgraphs}"),
                "--set".to_owned(),
                format!("training.steps={steps}"),
            ];
            let report = lab.alone(dataset.store.root(), lab.arguments.preset, &words)?;
            let told = "a report has it";
            let seconds = report["seconds"]["train"].as_f64().context(told)?;
            let accuracy = report["accuracy_mean"].as_f64().context(told)?;
            let first = points.first().map_or(seconds, |point| point.1);
            points.push((threads as f64, seconds));
            table.rows.push(vec![
                dataset.shown.into(),
                threads.to_string(),
                format!("{seconds:.2}"),
                format!("{:.2}", first / seconds),
                format!("{:.2}", 100.0 * accuracy),
            ]);
        }
        series.push(Series { name: dataset.shown.into(), points });
    }
    Ok(Page {
        title: "Fig. 5: threads".into(),
        how: format!(
            "Seconds of training, {steps} steps on {}, by threads; one run. The result does not \
             depend on threads, so neither does accuracy.",
            match settings.training.subgraphs {
                Some(count) => format!("{count} contexts or all there are"),
                None => "all contexts".into(),
            }
        ),
        picture: Some(lines_svg("Seconds of training by threads", "threads", "s", false, &series)),
        tables: vec![table],
        note: "The paper prints a figure without numbers: time falls with the number of GPUs, accuracy does \
               not change."
            .into(),
        settings: vec![(lab.arguments.preset.name(), settings)],
        seeds: 1,
    })
}
