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
mod inspect;

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

/// The names of a table's columns, and where they come from.
pub(crate) struct Header<'a> {
    path: &'a Path,
    names: &'a [String],
    line: HeaderLine,
}

/// What a remedy may say of the first line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HeaderLine {
    /// It was read as the header, and the user can say otherwise.
    Read,
    /// It is data: columns are numbered.
    Data,
    /// There is none, or the format fixes it.
    Fixed,
}

impl<'a> Header<'a> {
    pub(crate) fn of(
        path: &'a Path,
        names: &'a [String],
        kind: TableKind,
        text: TextOptions,
    ) -> Header<'a> {
        let line = match kind {
            TableKind::Text { .. } if text.no_header => HeaderLine::Data,
            TableKind::Text { .. } => HeaderLine::Read,
            _ => HeaderLine::Fixed,
        };
        Header { path, names, line }
    }

    /// Of a format whose delimiter and header nobody chooses.
    pub(crate) fn fixed(path: &'a Path, names: &'a [String]) -> Header<'a> {
        Header { path, names, line: HeaderLine::Fixed }
    }

    /// Finds a column by the name the user gave, or by the usual names.
    pub(crate) fn find(
        &self,
        given: Option<&str>,
        usual: &[&str],
        flag: &str,
    ) -> Result<Option<usize>> {
        if let Some(given) = given {
            return self.named(given, flag).map(Some);
        }
        let exact = usual.iter().find_map(|usual| self.exact(usual));
        if exact.is_some() {
            return Ok(exact);
        }
        for usual in usual {
            if let Some(column) = self.in_any_case(usual, flag)? {
                return Ok(Some(column));
            }
        }
        Ok(None)
    }

    /// All columns of usual names: those written so first, then those in any case.
    pub(crate) fn usual(&self, usual: &[&str]) -> Vec<usize> {
        let ways: [fn(&str, &str) -> bool; 2] = [|a, b| a == b, str::eq_ignore_ascii_case];
        let mut found = Vec::new();
        for (same, name) in ways.iter().flat_map(|same| usual.iter().map(move |name| (same, name)))
        {
            for (column, other) in self.names.iter().enumerate() {
                if same(other, name) && !found.contains(&column) {
                    found.push(column);
                }
            }
        }
        found
    }

    /// The column of a name that the user gave.
    pub(crate) fn named(&self, name: &str, flag: &str) -> Result<usize> {
        self.exact(name).ok_or_else(|| self.missing(&format!("no column {name:?}"), flag))
    }

    fn exact(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|other| other == name)
    }

    /// The column of a usual name: written so, or else whatever the case.
    fn in_any_case(&self, name: &str, flag: &str) -> Result<Option<usize>> {
        if let Some(column) = self.exact(name) {
            return Ok(Some(column));
        }
        let same = |other: &String| other.eq_ignore_ascii_case(name);
        let mut columns = (0..self.names.len()).filter(|&column| same(&self.names[column]));
        match (columns.next(), columns.next()) {
            (Some(one), Some(other)) => {
                let (one, other) = (&self.names[one], &self.names[other]);
                let problem = format!("columns {one:?} and {other:?} may both be the {name}");
                Err(Error::input(self.path, problem, format!("name one of them with {flag}")))
            }
            (found, _) => Ok(found),
        }
    }

    /// A column that has to be there is not.
    pub(crate) fn missing(&self, problem: &str, flag: &str) -> Error {
        let names = self.names;
        let shown: Vec<String> =
            names.iter().take(12).map(|name| crate::error::shown(name)).collect();
        let more = if names.len() > 12 { ", …" } else { "" };
        let problem = format!("{problem}; its columns are {}{more}", shown.join(", "));
        let plain = format!("name the column with {flag}");
        let remedy = match self.suspicion() {
            Some(suspicion) => format!("{suspicion}; otherwise {plain}"),
            None => plain,
        };
        Error::input(self.path, problem, remedy)
    }

    /// What the names say of a delimiter or a header that is not what it was taken for.
    fn suspicion(&self) -> Option<String> {
        const DELIMITERS: [(char, &str); 5] =
            [(';', "';'"), ('\t', "tab"), ('|', "'|'"), (',', "','"), (' ', "space")];
        if self.line == HeaderLine::Fixed {
            return None;
        }
        let mut parts: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let mut flags = Vec::new();
        if let &[only] = &parts[..] {
            if self.line == HeaderLine::Data {
                let one = "if another character stands between columns, give it with --delimiter";
                return Some(one.into());
            }
            if let Some((sign, word)) = DELIMITERS.iter().find(|(sign, _)| only.contains(*sign)) {
                flags.push(format!("if {sign:?} stands between columns, pass --delimiter {word}"));
                parts = only.split(*sign).filter(|part| !part.is_empty()).collect();
            }
        }
        let number = |part: &&str| part.trim().parse::<f64>().is_ok();
        if self.line == HeaderLine::Read && parts.iter().all(number) {
            flags.push("if the first line is no header, pass --no-header".into());
        }
        (!flags.is_empty()).then(|| flags.join("; "))
    }
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
    /// Where the columns are, and the names of those that nothing is taken from.
    pub(crate) fn places(&self, header: &Header<'_>) -> Result<(EdgePlaces, Vec<String>)> {
        let ends = |flag| self.named_by.unwrap_or(flag);
        let usual = self.usual_ends(header, ends("--src-column"), ends("--dst-column"))?;
        let end = |given: &Option<String>, usual: Option<usize>, flag: &str| match given {
            Some(name) => header.named(name, flag).map(Some),
            None => Ok(usual),
        };
        let source = end(&self.source, usual.map(|pair| pair.0), "--src-column")?;
        let target = end(&self.target, usual.map(|pair| pair.1), "--dst-column")?;
        let (Some(source), Some(target)) = (source, target) else {
            let problem = "no columns src and dst (or source and target, from and to, …)";
            return Err(header.missing(problem, ends("--src-column and --dst-column")));
        };
        let (path, names) = (header.path, header.names);
        if source == target {
            let problem = format!("column {:?} cannot be both ends of an edge", names[source]);
            return Err(Error::input(path, problem, "name two columns"));
        }
        let weight = header.find(self.weight.as_deref(), &["weight"], "--weight-column")?;
        if let Some(weight) = weight.filter(|&weight| weight == source || weight == target) {
            let problem = format!("column {:?} cannot be an end and the weight", names[weight]);
            return Err(Error::input(path, problem, "name another column with --weight-column"));
        }
        let used = [Some(source), Some(target), weight];
        let unused = (0..names.len()).filter(|&column| !used.contains(&Some(column)));
        let unused = unused.map(|column| names[column].clone()).collect();
        let weight = weight.filter(|_| !self.unweighted);
        Ok((EdgePlaces { source, target, weight }, unused))
    }

    /// The ends by their usual names: a pair as it is written, else one in any case.
    fn usual_ends(
        &self,
        header: &Header<'_>,
        source_flag: &str,
        target_flag: &str,
    ) -> Result<Option<(usize, usize)>> {
        let headless = header.line == HeaderLine::Data;
        let pairs = || USUAL_ENDS.iter().filter(|pair| headless || pair.0 != "0");
        let mut exact =
            pairs().filter_map(|pair| Some((header.exact(pair.0)?, header.exact(pair.1)?)));
        if let Some(pair) = exact.next() {
            return Ok(Some(pair));
        }
        // Where both are named there is nothing to find, nor to be in doubt about.
        if self.source.is_some() && self.target.is_some() {
            return Ok(None);
        }
        for (source, target) in pairs() {
            let source = header.in_any_case(source, source_flag)?;
            let target = header.in_any_case(target, target_flag)?;
            if let (Some(source), Some(target)) = (source, target) {
                return Ok(Some((source, target)));
            }
        }
        Ok(None)
    }
}

/// A file name for messages about another file.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name()
        .map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
}
