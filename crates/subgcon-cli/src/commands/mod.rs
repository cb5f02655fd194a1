//! One file per subcommand: its arguments and the function that runs it. Whole runs share
//! `runs.rs` (learn and embed), `measure.rs` (probe), `together.rs` (one step and C for all runs), `figures.rs`
//! (means and differences) and `seeds.rs`.

pub(crate) mod benchmark;
pub(crate) mod contexts;
pub(crate) mod demo;
pub(crate) mod embed;
pub(crate) mod eval;
mod figures;
pub(crate) mod generate;
pub(crate) mod import;
pub(crate) mod info;
pub(crate) mod links;
mod measure;
pub(crate) mod reproduce;
mod runs;
mod seeds;
mod together;
pub(crate) mod train;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;
use subgcon::io::store::{Manifest, Origin};

use crate::format::{counted, thousands};

/// Where a store is written.
#[derive(Debug, Args)]
struct Output {
    /// The store to write, a folder: NAME.graph
    #[arg(short, long, value_name = "NAME.graph")]
    output: PathBuf,
    /// Replace a store of that name
    #[arg(long)]
    force: bool,
}

/// A path as a shell takes it.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=@%:,~".contains(c);
    match text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// A report on stdout: as JSON where it is asked for, otherwise in words.
fn tell(json: bool, report: &impl Serialize, words: impl FnOnce() -> String) -> anyhow::Result<()> {
    let written = || {
        let mut out = std::io::stdout().lock();
        if json {
            // As an error of writing: a reader that has seen enough is none.
            serde_json::to_writer_pretty(&mut out, report).map_err(std::io::Error::from)?;
            writeln!(out)?;
        } else {
            write!(out, "{}", words())?;
        }
        out.flush()
    };
    written().context("stdout: cannot be written")
}

/// Words on stdout. `print!` would panic where nobody reads them or the disk is full.
fn say(words: &str) -> anyhow::Result<()> {
    tell(false, &(), || words.to_owned())
}

/// Whether repeated edges of a store were added up, which its counts do not tell.
fn repeats_were_added(origin: &Origin) -> bool {
    origin.settings.get(DUPLICATES).is_some_and(|rule| rule == "sum")
}

/// The name of that rule among the settings of an import.
const DUPLICATES: &str = "duplicates";

/// The first few of many, safe to print.
fn shortened(items: &[String], most: usize) -> String {
    let printable = |item: &String| item.chars().flat_map(char::escape_debug).collect::<String>();
    let shown = items.iter().take(most).map(printable).collect::<Vec<_>>().join(", ");
    match items.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown}, … {more} more"),
    }
}

/// What was written, what was left out, and what to type next.
fn report_written(path: &Path, manifest: &Manifest) -> String {
    let mut lines = Vec::new();
    let noun = if manifest.directed { "arc" } else { "edge" };
    let noun = if manifest.weighted { format!("weighted {noun}") } else { noun.to_owned() };
    let mut first = format!(
        "wrote {}: {}, {}",
        path.display(),
        counted(manifest.nodes, "node"),
        counted(manifest.edges, &noun)
    );
    if let Some(features) = &manifest.features {
        let storage = format!("{:?}", features.storage).to_lowercase();
        first += &format!(", {} ({storage})", counted(features.width, "feature"));
    }
    if let Some(labels) = &manifest.labels {
        let noun = if labels.classes == 1 { "class" } else { "classes" };
        first += &format!(", {} {noun}", thousands(labels.classes));
    }
    if !manifest.splits.is_empty() {
        first += &format!(", {}", counted(manifest.splits.len() as u64, "split"));
    }
    lines.push(first);
    let dropped = &manifest.dropped;
    let mut notes = Vec::new();
    let merged = if repeats_were_added(&manifest.origin) { "added up" } else { "dropped" };
    for (verb, count, noun) in [
        ("dropped", dropped.self_loops, "self-loop"),
        (merged, dropped.duplicates, "repeated edge"),
        ("dropped", dropped.zero_weights, "zero-weight edge"),
    ] {
        if count > 0 {
            notes.push(format!("{verb} {}", counted(count, noun)));
        }
    }
    if dropped.mirrored > 0 {
        notes.push(format!(
            "added {} so that every edge goes both ways",
            counted(dropped.mirrored, "reverse arc")
        ));
    }
    if dropped.created_nodes > 0 {
        notes.push(format!(
            "created {} that only edges name",
            counted(dropped.created_nodes, "node")
        ));
    }
    if let Some(features) = manifest.features.as_ref().filter(|entry| !entry.names.is_empty()) {
        notes.push(format!("features from columns {}", shortened(&features.names, 10)));
    }
    if let Some(unused) = manifest.origin.settings.get("unused columns") {
        notes.push(format!("columns not used: {unused}"));
    }
    if let Some(unused) = manifest.origin.settings.get("unused columns of edges") {
        notes.push(format!("columns of edges not used: {unused}"));
    }
    if !notes.is_empty() {
        lines.push(format!("from {}: {}", counted(dropped.given, "given edge"), notes.join("; ")));
    }
    lines.join("\n")
}
