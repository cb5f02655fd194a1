//! What can go wrong, told so that a user can act on it.
//!
//! Every message names the thing, the value and the remedy, in lowercase and
//! without a full stop: `edges.csv:17: node id "a b" is not in nodes.parquet;
//! add it there or pass --create-missing`. A user's fault is an [`Error`]; a
//! fault of our own is an `assert!`.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The library's result type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything the library refuses, grouped by who can mend it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused to read or write something.
    #[error("{}: cannot {action}: {cause}", path.display())]
    Io {
        /// What was being done, as a verb: "open", "write".
        action: &'static str,
        /// The file or folder it was done to.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// A file from outside holds something that cannot be used.
    #[error("{place}: {problem}; {remedy}")]
    Input {
        /// The file, and where in it.
        place: Place,
        /// What is wrong, with the offending value.
        problem: String,
        /// What the user can do about it.
        remedy: String,
    },
    /// A setting is outside its range.
    #[error("{name} = {value}: {remedy}")]
    Setting {
        /// The setting's name as the user writes it.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// What would be accepted.
        remedy: String,
    },
    /// The target of a write is already there.
    #[error("{}: already exists; choose another name or pass --force to replace it", .0.display())]
    Exists(PathBuf),
    /// Training left the numbers.
    #[error(
        "training diverged at step {step}: the loss or a parameter is no number any more; {remedy}"
    )]
    Diverged {
        /// Counted from 1.
        step: u64,
        /// What to try.
        remedy: String,
    },
    /// A graph store is damaged, or is not one.
    #[error("{}: {problem}; {remedy}", path.display())]
    Store {
        /// The store's folder, or the file inside it.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What the user can do about it.
        remedy: String,
    },
}

impl Error {
    /// For `map_err` on file operations.
    pub fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |cause| Error::Io { action, path, cause }
    }

    /// A fault in a file from outside.
    pub fn input(
        place: impl Into<Place>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Error {
        Error::Input { place: place.into(), problem: problem.into(), remedy: remedy.into() }
    }

    /// A damaged or foreign store.
    pub fn store(
        path: impl Into<PathBuf>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Error {
        Error::Store { path: path.into(), problem: problem.into(), remedy: remedy.into() }
    }

    /// A setting outside its range.
    pub fn setting(
        name: &'static str,
        value: impl fmt::Display,
        remedy: impl Into<String>,
    ) -> Error {
        Error::Setting { name, value: value.to_string(), remedy: remedy.into() }
    }
}

/// A spot in a user's file, printed the way editors and compilers do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// Where in it.
    pub at: At,
}

/// The finest position inside a file that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// The file as a whole.
    File,
    /// A line of a text file, counted from 1.
    Line(u64),
    /// A row of a table or matrix, counted from 0 as NumPy and Arrow do.
    Row(u64),
    /// A byte offset.
    Byte(u64),
    /// A member of an archive or a key of an object.
    Member(String),
}

impl Place {
    /// A line of a text file, counted from 1.
    pub fn line(path: impl Into<PathBuf>, line: u64) -> Place {
        Place { path: path.into(), at: At::Line(line) }
    }

    /// A row of a table or matrix, counted from 0.
    pub fn row(path: impl Into<PathBuf>, row: u64) -> Place {
        Place { path: path.into(), at: At::Row(row) }
    }

    /// A byte offset.
    pub fn byte(path: impl Into<PathBuf>, byte: u64) -> Place {
        Place { path: path.into(), at: At::Byte(byte) }
    }

    /// A member of an archive or a key of an object.
    pub fn member(path: impl Into<PathBuf>, name: impl Into<String>) -> Place {
        Place { path: path.into(), at: At::Member(name.into()) }
    }
}

impl From<PathBuf> for Place {
    fn from(path: PathBuf) -> Place {
        Place { path, at: At::File }
    }
}

impl From<&Path> for Place {
    fn from(path: &Path) -> Place {
        Place { path: path.to_path_buf(), at: At::File }
    }
}

impl From<&PathBuf> for Place {
    fn from(path: &PathBuf) -> Place {
        Place { path: path.clone(), at: At::File }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.at {
            At::File => write!(f, "{path}"),
            At::Line(line) => write!(f, "{path}:{line}"),
            At::Row(row) => write!(f, "{path}, row {row}"),
            At::Byte(byte) => write!(f, "{path}, byte {byte}"),
            At::Member(name) => write!(f, "{path}[{name}]"),
        }
    }
}

/// A value quoted for an error message: control characters escaped, long ones cut. Accents that are
/// characters of their own stay, unlike in `{:?}`.
pub fn shown(value: &str) -> String {
    const LIMIT: usize = 60;
    let mut cut: String = value.chars().take(LIMIT).collect();
    if cut.len() < value.len() {
        cut.push('…');
    }
    format!("\"{}\"", cut.escape_debug().to_string().replace("\\'", "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_thing_the_value_and_the_remedy() {
        let error = Error::input(
            Place::line("edges.csv", 17),
            format!("node id {} is not in nodes.parquet", shown("a b")),
            "add it there or pass --create-missing",
        );
        assert_eq!(
            error.to_string(),
            "edges.csv:17: node id \"a b\" is not in nodes.parquet; \
             add it there or pass --create-missing"
        );
        let error = Error::setting("--restart", 1.5, "choose a value between 0 and 1");
        assert_eq!(error.to_string(), "--restart = 1.5: choose a value between 0 and 1");
    }

    #[test]
    fn shown_values_are_short_and_printable() {
        assert_eq!(shown("a\nb"), "\"a\\nb\"");
        assert_eq!(shown("cafe\u{301} 'x'"), "\"cafe\u{301} 'x'\"");
        assert_eq!(shown("\"\\'"), r#""\"\\'""#);
        assert_eq!(shown(&"x".repeat(100)), format!("\"{}…\"", "x".repeat(60)));
    }
}
