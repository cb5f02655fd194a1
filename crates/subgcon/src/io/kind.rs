//! Which of our folders is this, where another one was asked for?

use std::fs;
use std::path::Path;

/// What a folder is, in words; nothing where it is none of ours.
pub(crate) fn kind_of(folder: &Path) -> Option<&'static str> {
    const KINDS: [(&str, &str, &str); 3] = [
        ("manifest.json", "subgcon-graph", "a graph store"),
        ("manifest.json", "subgcon-contexts", "a table of contexts"),
        ("config.json", "subgcon-model", "a model"),
    ];
    let says = |&&(file, format, _): &&(&str, &str, &str)| {
        let text = fs::read(folder.join(file)).unwrap_or_default();
        memchr::memmem::find(&text, format!("{format:?}").as_bytes()).is_some()
    };
    KINDS.iter().find(says).map(|&(_, _, kind)| kind)
}
