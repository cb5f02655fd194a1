//! A folder to run the command in.

use std::path::Path;
use std::process::Command;

use assert_cmd::assert::OutputAssertExt;
use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

/// A folder in which the command runs.
pub(crate) struct Place(pub(crate) tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = Command::new(cargo_bin("subgcon"));
        command.current_dir(self.0.path()).args(words.split_whitespace());
        command
    }

    /// Standard output of a run that succeeds in silence.
    pub(crate) fn run(&self, words: &str) -> String {
        let output = self.command(words).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{words}: {errors}");
        assert_eq!(errors, "", "{words}: no progress where stderr is no terminal");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Standard error of a run that fails with status 1 and prints nothing else.
    pub(crate) fn fail(&self, words: &str) -> String {
        let assert = self.command(words).assert().code(1).stdout("");
        String::from_utf8(assert.get_output().stderr.clone()).unwrap()
    }

    pub(crate) fn json(&self, words: &str) -> Value {
        serde_json::from_str(&self.run(words)).unwrap()
    }

    pub(crate) fn entries(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

pub(crate) fn bytes_below(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<(String, Vec<u8>)> = entries
        .map(|path| {
            (path.file_name().unwrap().to_str().unwrap().into(), std::fs::read(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// A small graph with communities, words and a split.
pub(crate) fn small(more: &str) -> Place {
    let place = Place::new();
    place.run(&format!(
        "generate communities --nodes 600 --edges 2400 --feature-width 120 --classes 3 --seed 3 {more} \
         -o g.graph"
    ));
    place
}

/// Few steps and columns.
pub(crate) const QUICK: &str =
    "--steps 30 --batch 100 --width 24 --set features.projection.width=16";

/// Every number of a report but times and memory, which no two runs share.
pub(crate) fn timeless(mut report: Value) -> Value {
    fn clear(value: &mut Value) {
        if let Some(object) = value.as_object_mut() {
            object.remove("seconds");
            object.remove("peak_rss_bytes");
            object.values_mut().for_each(clear);
        }
    }
    clear(&mut report);
    report
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}
