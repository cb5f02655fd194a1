//! How is a result written down? A Markdown file, with a picture beside it where the paper
//! has a figure; both replace those of an earlier run.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ValueEnum;
use subgcon::config::Settings;

use super::{Experiment, Lab, Row};
use crate::commands::figures::Spread;
use crate::commands::seeds::last_seed;

/// One experiment's outcome.
pub(super) struct Page {
    /// What it redoes: "Table IV: encoders".
    pub(super) title: String,
    /// How it was done.
    pub(super) how: String,
    pub(super) tables: Vec<Table>,
    /// What the paper says and no table holds.
    pub(super) note: String,
    /// Runs of each figure: none where nothing is drawn by lot.
    pub(super) seeds: u64,
    /// Settings that runs started from, by name.
    pub(super) settings: Vec<(String, Settings)>,
    /// An SVG.
    pub(super) picture: Option<String>,
}

/// A table: the head, then rows of as many cells.
pub(super) struct Table {
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(head: &[&str]) -> Table {
        Table { head: head.iter().map(|&cell| cell.to_owned()).collect(), rows: Vec::new() }
    }

    fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let safe: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", safe.join(" | "))
        };
        let rule: Vec<String> = self.head.iter().map(|_| "---".to_owned()).collect();
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        line(&self.head) + &line(&rule) + &rows
    }
}

impl Page {
    /// Writes the files and tells their names.
    pub(super) fn write(
        &self,
        lab: &Lab<'_>,
        experiment: Experiment,
    ) -> anyhow::Result<Vec<PathBuf>> {
        let name = experiment.to_possible_value().context("an experiment has a name")?;
        let folder = &lab.arguments.output;
        let text_path = folder.join(format!("{}.md", name.get_name()));
        let mut paths = vec![text_path.clone()];
        let mut picture_line = String::new();
        if let Some(svg) = &self.picture {
            let path = folder.join(format!("{}.svg", name.get_name()));
            save(&path, svg)?;
            picture_line = format!("![{}]({}.svg)\n\n", self.title, name.get_name());
            paths.push(path);
        }
        let base = lab.base()?;
        let seeds = match self.seeds {
            0 => String::new(),
            1 => format!(" seed {},", base.seed),
            many => format!(" seeds {} to {},", base.seed, last_seed(&base, many)?),
        };
        save(&text_path, &self.text(&lab.command(experiment), &seeds, &picture_line))?;
        Ok(paths)
    }

    fn text(&self, command: &str, seeds: &str, picture: &str) -> String {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut text = format!(
            "# {}\n\n{}\n\n```sh\n{command}\n```\n\nsubgcon {},{seeds} a machine with {threads} \
             cores.\n\n{picture}",
            self.title,
            self.how,
            env!("CARGO_PKG_VERSION"),
        );
        for table in &self.tables {
            text += &table.markdown();
            text += "\n";
        }
        if !self.note.is_empty() {
            text += &format!("{}\n\n", self.note);
        }
        for (name, settings) in &self.settings {
            text += &format!("Settings, {name}:\n\n```toml\n{}```\n\n", settings.to_toml());
        }
        text.trim_end().to_owned() + "\n"
    }
}

/// Beside first, then renamed: a reader never sees half of it.
fn save(path: &Path, text: &str) -> anyhow::Result<()> {
    let beside = path.with_extension("partial");
    std::fs::write(&beside, text)
        .and_then(|()| std::fs::rename(&beside, path))
        .with_context(|| format!("{}: cannot be written", path.display()))
}

/// What was reached, in percent, with its deviation where there is one.
pub(super) fn figure(row: &Row) -> String {
    let (mean, deviation) = (100.0 * row.accuracy_mean, 100.0 * row.accuracy_std);
    match row.spread_over {
        Spread::Nothing => format!("{mean:.1}"),
        _ => format!("{mean:.1} ± {deviation:.1}"),
    }
}

/// What the paper has, or a dash.
pub(super) fn printed(number: Option<f64>) -> String {
    number.map_or_else(|| "–".into(), |number| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::figures::{Run, Seconds};

    #[test]
    fn tables_read_as_markdown() {
        let mut table = Table::new(&["a", "b"]);
        table.rows.push(vec!["1".into(), "x|y".into()]);
        assert_eq!(table.markdown(), "| a | b |\n| --- | --- |\n| 1 | x\\|y |\n");
        let row = |accuracy: &[f64]| {
            let run = |&accuracy: &f64| Run {
                test: vec![accuracy],
                validation: vec![0.5],
                c: vec![1.0],
                step: 1,
                width: 1,
                seconds: Seconds::default(),
            };
            Row::of(&accuracy.iter().map(run).collect::<Vec<Run>>())
        };
        assert_eq!(figure(&row(&[0.8349])), "83.5");
        // By hand: their mean is 0.836, their deviation 0.00707.
        assert_eq!(figure(&row(&[0.831, 0.841])), "83.6 ± 0.7");
        assert_eq!([printed(Some(83.0)), printed(None)], ["83", "–"]);
    }
}
