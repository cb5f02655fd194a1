//! Tables of edges and nodes: CSV and TSV (also gzipped), Parquet, Arrow.
//!
//! A file's kind is told by its name. Text goes through [`csv`], columns
//! through [`columnar`]; both hand blocks of rows to the same readers of
//! [`edges`] and [`nodes`].

pub(crate) mod arrow_footer;
pub(crate) mod columnar;
pub(crate) mod csv;
pub(crate) mod edges;
pub(crate) mod nodes;
pub(crate) mod values;

mod discover;
mod edge_text;

use std::path::Path;

use crate::error::{Error, Result};

/// What a file's name says of its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableKind {
    /// Text with a delimiter; gzip is recognised by its first bytes.
    Text {
        delimiter: u8,
    },
    Parquet,
    /// Arrow IPC files, Feather version 2.
    Arrow,
}

impl TableKind {
    pub(crate) fn of(path: &Path, delimiter: Option<u8>) -> Result<TableKind> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        if ends(&[".parquet", ".pq"]) {
            Ok(TableKind::Parquet)
        } else if ends(&[".arrow", ".feather", ".ipc"]) {
            Ok(TableKind::Arrow)
        } else if let Some(delimiter) = delimiter {
            Ok(TableKind::Text { delimiter })
        } else if ends(&[".csv"]) {
            Ok(TableKind::Text { delimiter: b',' })
        } else if ends(&[".tsv", ".tab"]) {
            Ok(TableKind::Text { delimiter: b'\t' })
        } else {
            Err(Error::input(
                path,
                "the name does not tell the format",
                "use .csv, .tsv, .csv.gz, .parquet, .arrow or .feather, or pass --delimiter",
            ))
        }
    }
}

/// How text tables are read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TextOptions {
    /// Instead of the one that the file's name implies.
    pub(crate) delimiter: Option<u8>,
    /// The first line holds data; columns are named "0", "1", ….
    pub(crate) no_header: bool,
    /// Lines that begin with this byte are passed over.
    pub(crate) comment: Option<u8>,
}

/// Finds a column by the name the user gave, or by the usual names.
pub(crate) fn find_column(
    path: &Path,
    names: &[String],
    given: Option<&str>,
    usual: &[&str],
    flag: &str,
) -> Result<Option<usize>> {
    if let Some(given) = given {
        return match names.iter().position(|name| name == given) {
            Some(column) => Ok(Some(column)),
            None => Err(missing_column(path, names, &format!("no column {given:?}"), flag)),
        };
    }
    Ok(usual.iter().find_map(|usual| names.iter().position(|name| name == usual)))
}

/// A column that has to be there is not.
pub(crate) fn missing_column(path: &Path, names: &[String], problem: &str, flag: &str) -> Error {
    let shown: Vec<String> = names.iter().take(12).map(|name| crate::error::shown(name)).collect();
    let more = if names.len() > 12 { ", …" } else { "" };
    Error::input(
        path,
        format!("{problem}; its columns are {}{more}", shown.join(", ")),
        format!("name the column with {flag}"),
    )
}

/// The columns of an edge table.
#[derive(Debug, Clone, Default)]
pub(crate) struct EdgeColumns {
    pub(crate) source: Option<String>,
    pub(crate) target: Option<String>,
    pub(crate) weight: Option<String>,
    /// Leave weights unread.
    pub(crate) unweighted: bool,
    /// How the ends can be named where no flag can.
    pub(crate) named_by: Option<&'static str>,
}

/// Places of an edge table's columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EdgePlaces {
    pub(crate) source: usize,
    pub(crate) target: usize,
    pub(crate) weight: Option<usize>,
}

/// The pairs of names that other programs give to the ends of an edge.
const USUAL_ENDS: [(&str, &str); 6] = [
    ("src", "dst"),
    ("source", "target"),
    ("from", "to"),
    ("sourceNodeId", "targetNodeId"),
    ("id_1", "id_2"),
    ("0", "1"),
];

impl EdgeColumns {
    pub(crate) fn places(&self, path: &Path, names: &[String], header: bool) -> Result<EdgePlaces> {
        let find = |name: &str| names.iter().position(|other| other == name);
        let usual = USUAL_ENDS
            .iter()
            .filter(|pair| !header || pair.0 != "0")
            .find_map(|(source, target)| Some((find(source)?, find(target)?)));
        let end = |given: &Option<String>, usual: Option<usize>, flag: &str| match given {
            Some(_) => find_column(path, names, given.as_deref(), &[], flag),
            None => Ok(usual),
        };
        let source = end(&self.source, usual.map(|pair| pair.0), "--src-column")?;
        let target = end(&self.target, usual.map(|pair| pair.1), "--dst-column")?;
        let (Some(source), Some(target)) = (source, target) else {
            let problem = "no columns src and dst (or source and target, from and to, …)";
            let flags = self.named_by.unwrap_or("--src-column and --dst-column");
            return Err(missing_column(path, names, problem, flags));
        };
        if source == target {
            let problem = format!("column {:?} cannot be both ends of an edge", names[source]);
            return Err(Error::input(path, problem, "name two columns"));
        }
        let weight =
            find_column(path, names, self.weight.as_deref(), &["weight"], "--weight-column")?;
        if let Some(weight) = weight.filter(|&weight| weight == source || weight == target) {
            let problem = format!("column {:?} cannot be an end and the weight", names[weight]);
            return Err(Error::input(path, problem, "name another column with --weight-column"));
        }
        Ok(EdgePlaces { source, target, weight: weight.filter(|_| !self.unweighted) })
    }
}

/// A file name for messages about another file.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name()
        .map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
}
