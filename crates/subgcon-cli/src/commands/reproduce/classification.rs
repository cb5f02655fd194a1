//! Table II: what is the accuracy of nodes' classes?

use std::collections::BTreeSet;

use super::page::{Page, Table, figure, printed};
use super::{Lab, PresetName, paper};
use crate::commands::figures::Spread;

pub(super) fn page(lab: &Lab<'_>) -> anyhow::Result<Page> {
    let ours = [
        ("`default`, no label before the probe", PresetName::Default, false),
        ("`default`, step by validation", PresetName::Default, true),
        ("`reference`, step by validation", PresetName::Reference, true),
        ("`paper`, step by validation", PresetName::Paper, true),
    ];
    let mut head = vec!["".to_owned()];
    head.extend(lab.datasets.iter().map(|dataset| dataset.shown.to_owned()));
    let mut table = Table { head: head.clone(), rows: Vec::new() };
    for (name, _) in paper::CLASSIFICATION {
        let mut row = vec![format!("{name} (paper)")];
        row.extend(
            lab.datasets
                .iter()
                .map(|dataset| printed(paper::number(paper::CLASSIFICATION, name, dataset.column))),
        );
        table.rows.push(row);
    }
    let mut details =
        Table::new(&["graph", "preset", "test", "95 % interval", "validation", "steps kept"]);
    let mut free = Vec::new();
    let mut settings = Vec::new();
    for (name, preset, select) in ours {
        let preset_settings = lab.preset(preset)?;
        let mut row = vec![name.to_owned()];
        for dataset in &lab.datasets {
            let found = if select {
                lab.measure(dataset, &preset_settings)?
            } else {
                let summary = lab.beside_free_rows(dataset, &preset_settings)?;
                free.push(summary.free);
                summary.row
            };
            row.push(figure(&found));
            let steps = found.steps.iter().sum::<u64>() as f64 / found.steps.len().max(1) as f64;
            details.rows.push(vec![
                dataset.shown.into(),
                name.into(),
                figure(&found),
                match found.spread_over {
                    Spread::Nothing => "–".into(),
                    _ => format!("± {:.2}", 100.0 * found.accuracy_interval),
                },
                format!("{:.1}", 100.0 * found.validation_mean),
                format!("{steps:.0}"),
            ]);
        }
        table.rows.push(row);
        if !settings.iter().any(|(known, _)| *known == preset.name()) {
            settings.push((preset.name(), preset_settings));
        }
    }
    let names: BTreeSet<&String> = free.iter().flat_map(|rows| rows.keys()).collect();
    for name in names {
        let mut row = vec![format!("{name}, costs nothing")];
        row.extend(free.iter().map(|rows| {
            rows.get(name).map_or_else(String::new, |free| {
                let more = free.difference.map_or_else(String::new, |difference| {
                    format!(" ({:+.1})", 100.0 * difference.mean)
                });
                format!("{:.1}{more}", 100.0 * free.accuracy_mean)
            })
        }));
        table.rows.push(row);
    }
    Ok(Page {
        title: "Table II: node classification".into(),
        how: "Accuracy on the test nodes of the public split in percent (micro-F1 for PPI), C chosen on \
              the validation nodes; in brackets what `default`, no label before the probe, has more \
              than a row that costs nothing."
            .into(),
        tables: vec![table, details],
        note: "The paper's PPI has 56,944 nodes; the small one of 14,755 is another graph, and its \
               numbers are not comparable."
            .into(),
        settings,
        seeds: lab.arguments.seeds,
        picture: None,
    })
}
