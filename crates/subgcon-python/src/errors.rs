//! What does Python raise for what the library refuses?

use pyo3::exceptions::{PyException, PyFileExistsError, PyOSError, PyValueError};
use pyo3::prelude::*;
use subgcon::Error;

pyo3::create_exception!(
    subgcon,
    SubgconError,
    PyException,
    "A damaged file, or training that left the numbers: what neither a value nor the system \
     is to blame for."
);

/// `OSError` for what the system refused, `ValueError` for what was asked, `SubgconError`
/// for the rest.
pub(crate) fn raised(error: Error) -> PyErr {
    match error {
        Error::Io { action, path, cause } => match cause.raw_os_error() {
            // Python chooses the subclass by the number: FileNotFoundError and so on.
            Some(code) => {
                let text = cause.to_string();
                let text = text.split(" (os error").next().unwrap_or_default().to_owned();
                PyOSError::new_err((
                    code,
                    format!("cannot {action}: {text}"),
                    path.into_os_string(),
                ))
            }
            None => PyOSError::new_err(format!("{}: cannot {action}: {cause}", path.display())),
        },
        Error::Exists(path) => PyFileExistsError::new_err(format!(
            "{}: already exists; choose another name, or pass overwrite=True",
            path.display()
        )),
        Error::Input { .. } | Error::Setting { .. } => PyValueError::new_err(text(&error)),
        Error::Store { .. } | Error::Diverged { .. } => SubgconError::new_err(text(&error)),
    }
}

/// Remedies name flags of the command where Python has keywords.
fn text(error: &Error) -> String {
    let text = error
        .to_string()
        .replace("resume it as it began, or pass --force to start anew", FRESH)
        .replace("pass --resume to go on with it, or --force to start anew", FRESH)
        .replace("--force", "overwrite=True")
        .replace("--create-missing", "create_missing=True")
        .replace("--structural", "structural=True");
    let mut words = text.split("--");
    let mut keywords = words.next().unwrap_or_default().to_owned();
    for word in words {
        // Ids and paths may hold dashes too: a flag begins a word.
        let begins = keywords.ends_with([' ', '(', '`']) || keywords.is_empty();
        let end = word.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(word.len());
        let (flag, rest) = word.split_at(end);
        match begins && !flag.is_empty() {
            true => keywords += &flag.replace('-', "_"),
            false => keywords.extend(["--", flag]),
        }
        keywords += rest;
    }
    keywords
}

const FRESH: &str = "fit with the settings and the graph that it began with, or delete the folder";

/// A wrong value.
pub(crate) fn wrong(text: impl Into<String>) -> PyErr {
    PyValueError::new_err(text.into())
}
