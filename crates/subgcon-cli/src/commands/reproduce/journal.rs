//! What was found before: hours of runs outlive a kill, and experiments share what they have in common.
//!
//! `runs.jsonl` in the results has a line for every figure: the program that found it, what it is of,
//! and the figure. A line of another program (another version, or built anew), or one that
//! a kill cut off, counts for nothing.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

const NAME: &str = "runs.jsonl";

pub(super) struct Journal {
    path: PathBuf,
    program: String,
    file: RefCell<File>,
    /// By what they are of.
    found: RefCell<HashMap<String, Value>>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    program: String,
    what: String,
    found: Value,
}

impl Journal {
    /// Of a folder of results, which is made where it is missing.
    pub(super) fn open(results: &Path) -> anyhow::Result<Journal> {
        Journal::of_program(results, this_program()?)
    }

    fn of_program(results: &Path, program: String) -> anyhow::Result<Journal> {
        fs::create_dir_all(results)
            .with_context(|| format!("cannot make {}", results.display()))?;
        let path = results.join(NAME);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(e).with_context(|| format!("cannot read {}", path.display())),
        };
        let lines = text.split(|&byte| byte == b'\n');
        let lines = lines.filter_map(|line| serde_json::from_slice::<Line>(line).ok());
        let found = lines
            .filter(|line| line.program == program)
            .map(|line| (line.what, line.found))
            .collect();
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let mut file = file.with_context(|| format!("cannot write {}", path.display()))?;
        if text.last().is_some_and(|&last| last != b'\n') {
            file.write_all(b"\n").with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(Journal { path, program, file: RefCell::new(file), found: RefCell::new(found) })
    }

    /// Figures that are there already, and where.
    pub(super) fn known(&self) -> (usize, &Path) {
        (self.found.borrow().len(), &self.path)
    }

    /// What was found of this before, or is found now.
    pub(super) fn of<T: Serialize + DeserializeOwned>(
        &self,
        what: String,
        find: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let known = self.found.borrow().get(&what).cloned();
        if let Some(known) = known.and_then(|known| serde_json::from_value(known).ok()) {
            return Ok(known);
        }
        let found = find()?;
        let line = Line {
            program: self.program.clone(),
            what,
            found: serde_json::to_value(&found).context("figures become JSON")?,
        };
        let mut text = serde_json::to_vec(&line).context("figures become JSON")?;
        text.push(b'\n');
        // A line at once: two programs in one folder do not mix theirs.
        let written = self.file.borrow_mut().write_all(&text);
        written.with_context(|| format!("cannot write {}", self.path.display()))?;
        self.found.borrow_mut().insert(line.what, line.found);
        Ok(found)
    }
}

/// Version of this program, and a checksum of its file.
pub(super) fn this_program() -> anyhow::Result<String> {
    let path = std::env::current_exe().context("this program's own file")?;
    let file = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(format!("{} {}", env!("CARGO_PKG_VERSION"), blake3::hash(&file).to_hex()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_outlive_a_kill_but_not_their_program() {
        let place = tempfile::tempdir().unwrap();
        let open = |program: &str| Journal::of_program(place.path(), program.into()).unwrap();
        let never = || -> anyhow::Result<f64> { panic!("it is known") };
        let first = open("a");
        assert_eq!(first.of("x".into(), || Ok(0.1 + 0.2)).unwrap(), 0.1 + 0.2);
        assert_eq!(first.of("x".into(), never).unwrap(), 0.1 + 0.2);
        assert!(first.of("y".into(), || -> anyhow::Result<f64> { anyhow::bail!("no") }).is_err());
        assert_eq!(first.of("y".into(), || Ok(2.0)).unwrap(), 2.0);
        drop(first);
        // A line that was cut off, as by a kill.
        let path = place.path().join(NAME);
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() - 5]).unwrap();
        let second = open("a");
        assert_eq!(second.known().0, 1);
        assert_eq!(second.of("x".into(), never).unwrap(), 0.1 + 0.2);
        assert_eq!(second.of("y".into(), || Ok(3.0)).unwrap(), 3.0);
        drop(second);
        assert_eq!(open("a").of("y".into(), never).unwrap(), 3.0);
        // Another program finds for itself, and leaves the first one's alone.
        let other = open("b");
        assert_eq!(other.known().0, 0);
        assert_eq!(other.of("x".into(), || Ok(7.0)).unwrap(), 7.0);
        // What is of another kind is found again.
        assert_eq!(other.of("x".into(), || Ok(vec!["z".to_owned()])).unwrap(), ["z"]);
        drop(other);
        assert_eq!(open("a").of("x".into(), never).unwrap(), 0.1 + 0.2);
    }
}
