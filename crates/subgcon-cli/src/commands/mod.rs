//! One file per subcommand: its arguments and the function that runs it.

pub(crate) mod contexts;
pub(crate) mod demo;
pub(crate) mod generate;
pub(crate) mod import;
pub(crate) mod info;

use std::path::Path;

use subgcon::io::store::Manifest;

use crate::format::{counted, thousands};

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
        first += &format!(", {} classes", thousands(labels.classes));
    }
    if !manifest.splits.is_empty() {
        first += &format!(", {}", counted(manifest.splits.len() as u64, "split"));
    }
    lines.push(first);
    let dropped = &manifest.dropped;
    let mut notes = Vec::new();
    for (count, noun) in [
        (dropped.self_loops, "self-loop"),
        (dropped.duplicates, "repeated edge"),
        (dropped.zero_weights, "edge with weight zero"),
    ] {
        if count > 0 {
            notes.push(format!("dropped {}", counted(count, noun)));
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
    if let Some(unused) = manifest.origin.settings.get("unused columns") {
        notes.push(format!("columns not used: {unused}"));
    }
    if !notes.is_empty() {
        lines.push(format!("from {}: {}", counted(dropped.given, "given edge"), notes.join("; ")));
    }
    lines.join("\n")
}
