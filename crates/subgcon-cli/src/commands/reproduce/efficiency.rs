//! Tables VI and VII: how long does training take, in how much memory?
//!
//! Every figure comes from a process of its own, which trains on 500 contexts (50 for PPI)
//! as the paper does.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use super::page::{Page, Table, printed};
use super::{Dataset, Lab, PresetName, paper};

/// Whose runs are measured.
pub(super) const PRESETS: &[PresetName] = &[PresetName::Reference, PresetName::Default];

pub(super) fn page(lab: &Lab<'_>) -> anyhow::Result<Page> {
    let mut table =
        Table::new(&["graph", "", "training s", "contexts s", "embedding s", "memory MB"]);
    let mut settings = Vec::new();
    for dataset in &lab.datasets {
        for (name, _) in paper::SECONDS {
            let number = |rows| printed(paper::number(rows, name, dataset.column));
            table.rows.push(vec![
                dataset.shown.into(),
                format!("{name} (paper, GPU)"),
                number(paper::SECONDS),
                "–".into(),
                "–".into(),
                number(paper::MEGABYTES),
            ]);
        }
        for &preset in PRESETS {
            let mut settings = preset.settings();
            settings.training.subgraphs = Some(subgraphs(dataset));
            let subgraphs = dataset.subgraphs(&lab.arguments.changed(settings)?.training)?;
            let report = measured(lab, dataset, preset, subgraphs)?;
            let seconds = |stage: &str| figure(&report["seconds"][stage], 1.0, 2);
            table.rows.push(vec![
                dataset.shown.into(),
                format!("`{}`, {subgraphs} contexts (ours)", preset.name()),
                seconds("train"),
                seconds("contexts"),
                seconds("embed"),
                figure(&report["peak_rss_bytes"], 1e-6, 0),
            ]);
        }
    }
    for &preset in PRESETS {
        settings.push((preset.name(), lab.preset(preset)?));
    }
    Ok(Page {
        title: "Tables VI and VII: seconds and memory".into(),
        how: "Seconds of one training (mean over seeds) and the largest size of the whole process, contexts, \
              embedding and probe included. Contexts of all nodes are found anew."
            .into(),
        tables: vec![table],
        note: "The paper's numbers are from TITAN Xp GPUs, its memory is that of parameters and hidden rows of a \
               batch, and its PPI is a larger graph. Its training stops by validation accuracy; ours takes \
               the steps of the preset."
            .into(),
        settings,
        seeds: lab.arguments.seeds,
        picture: None,
    })
}

/// What a process of its own tells of runs on a store without contexts.
fn measured(
    lab: &Lab<'_>,
    dataset: &Dataset,
    preset: PresetName,
    subgraphs: usize,
) -> anyhow::Result<Value> {
    let folder = lab.arguments.output.join("stores").join("without-contexts");
    // Settings may ask for the same contexts in both presets.
    let store = copied(dataset.store.root(), &folder)?;
    let mut words = vec!["--set".to_owned(), format!("training.subgraphs={subgraphs}")];
    words.extend(["--seeds".to_owned(), lab.arguments.seeds.to_string()]);
    if let Some(threads) = lab.threads {
        words.extend(["--threads".to_owned(), threads.to_string()]);
    }
    let report = lab.alone(&store, preset, &words);
    remove(&folder)?;
    report
}

/// A store in a folder of its own, where no contexts are left from an earlier experiment.
fn copied(store: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    remove(folder)?;
    let copy = folder.join(store.file_name().context("a store has a name")?);
    fs::create_dir_all(&copy).with_context(|| format!("{}: cannot be created", copy.display()))?;
    for entry in fs::read_dir(store).with_context(|| format!("{}", store.display()))? {
        let file = entry.with_context(|| format!("{}", store.display()))?;
        fs::copy(file.path(), copy.join(file.file_name()))
            .with_context(|| format!("{}: cannot be copied", file.path().display()))?;
    }
    Ok(copy)
}

fn remove(folder: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{}: cannot be removed", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Contexts that the paper trains on.
fn subgraphs(dataset: &Dataset) -> usize {
    if dataset.name == "ppi" { 50 } else { 500 }
}

/// A number of a report, scaled, or a dash.
fn figure(value: &Value, scale: f64, digits: usize) -> String {
    value.as_f64().map_or_else(|| "–".into(), |x| format!("{:.digits$}", x * scale))
}
