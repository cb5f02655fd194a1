//! Node tables.
//!
//! Read twice: ids, labels and splits first, since edges need the ids, then
//! features, which go to disk row by row.

use std::path::{Path, PathBuf};

use super::columnar::{ColumnarTable, Rows};
use super::csv::{TextTable, field_text};
use super::inspect::{Inspected, list_items, not_a_number};
use super::{Header, TableKind, TextOptions, values};
use crate::error::{Error, Place, Result, shown};
use crate::graph::{Ids, Role, Strings, canonical_integer, node_count};
use crate::io::store::{FeatureError, FeatureSink};
use crate::progress::Progress;

/// Which columns of a node table mean what; `None` leaves it to the usual names.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeColumns {
    pub(crate) id: Option<String>,
    pub(crate) label: Option<String>,
    pub(crate) split: Option<String>,
    /// Empty: a list column with a usual name, else all numeric columns.
    pub(crate) features: Vec<String>,
    /// Take no features from the table.
    pub(crate) no_features: bool,
}

/// A node table whose columns are understood.
pub(crate) struct NodeTable {
    pub(crate) path: PathBuf,
    looked: Inspected,
    kind: TableKind,
    text: TextOptions,
    id: usize,
    label: Option<usize>,
    split: Option<usize>,
    features: FeatureColumns,
    /// Every column of numbers is a feature, since the user named none.
    unasked: bool,
}

/// Where features come from.
#[derive(Debug, Clone, PartialEq)]
enum FeatureColumns {
    None,
    /// One column of lists, all of this length.
    List(usize, usize),
    /// One number a column.
    Numbers(Vec<usize>),
}

/// What a node table says beside features.
pub(crate) struct NodeList {
    pub(crate) ids: Ids,
    pub(crate) labels: Option<Vec<Option<String>>>,
    pub(crate) roles: Option<Vec<u8>>,
}

const FINITE: &str = "features must be finite numbers: replace or remove it";
const USUAL_IDS: [&str; 4] = ["id", "node_id", "nodeId", "nid"];
const USUAL_LISTS: [&str; 5] = ["features", "feature", "x", "feat", "embedding"];

impl NodeTable {
    pub(crate) fn open(path: &Path, columns: &NodeColumns, text: TextOptions) -> Result<NodeTable> {
        let kind = TableKind::of(path, text.delimiter)?;
        let names = Inspected::names_of(path, kind, text)?;
        let header = Header::of(path, &names, kind, text);
        let first_column: &[&str] = if text.no_header { &["0"] } else { &USUAL_IDS };
        // Before any row: with another delimiter than was thought no row would fit the header.
        let Some(id) = header.find(columns.id.as_deref(), first_column, "--id-column")? else {
            return Err(header.missing("no column id (or node_id, nodeId, nid)", "--id-column"));
        };
        let looked = Inspected::of(path, kind, text)?;
        let label = header.find(columns.label.as_deref(), &["label"], "--label-column")?;
        let split = header.find(columns.split.as_deref(), &["split"], "--split-column")?;
        let taken = [Some(id), label, split];
        let named = |name: &String| header.named(name, "--feature-columns");
        let features = if columns.no_features {
            FeatureColumns::None
        } else if let [name] = &columns.features[..] {
            let column = named(name)?;
            match looked.list_width(column)? {
                Some(width) => FeatureColumns::List(column, width),
                None => FeatureColumns::Numbers(vec![column]),
            }
        } else if columns.features.is_empty() {
            let mut list = None;
            for column in header.usual(&USUAL_LISTS) {
                if list.is_none() && !taken.contains(&Some(column)) {
                    list = looked.list_width(column)?.map(|width| (column, width));
                }
            }
            match list {
                Some((column, width)) => FeatureColumns::List(column, width),
                None => {
                    let mut numbers = looked.numeric();
                    numbers.retain(|&column| !taken.contains(&Some(column)));
                    match numbers.is_empty() {
                        true => FeatureColumns::None,
                        false => FeatureColumns::Numbers(numbers),
                    }
                }
            }
        } else {
            FeatureColumns::Numbers(columns.features.iter().map(named).collect::<Result<_>>()?)
        };
        let list = matches!(features, FeatureColumns::List(..));
        let unasked = !list && columns.features.is_empty() && !columns.no_features;
        let path = path.to_path_buf();
        Ok(NodeTable { path, looked, kind, text, id, label, split, features, unasked })
    }

    /// Number of feature columns; none where the table has no features.
    pub(crate) fn width(&self) -> Option<usize> {
        match &self.features {
            FeatureColumns::None => None,
            FeatureColumns::List(_, width) => Some(*width),
            FeatureColumns::Numbers(columns) => Some(columns.len()),
        }
    }

    /// Names of the features, where each has a column of its own.
    pub(crate) fn feature_names(&self) -> Option<Vec<String>> {
        match &self.features {
            FeatureColumns::Numbers(columns) => {
                Some(columns.iter().map(|&column| self.looked.names[column].clone()).collect())
            }
            _ => None,
        }
    }

    /// Columns that nothing is taken from, with the reason where it may surprise. Those of
    /// labels and splits are among them where they turned out to be empty.
    pub(crate) fn unused_columns(&self, list: &NodeList) -> Vec<String> {
        let label = self.label.filter(|_| list.labels.is_some());
        let split = self.split.filter(|_| list.roles.is_some());
        let used = |column: &usize| {
            let feature = match &self.features {
                FeatureColumns::None => false,
                FeatureColumns::List(list, _) => list == column,
                FeatureColumns::Numbers(columns) => columns.contains(column),
            };
            feature || [Some(self.id), label, split].contains(&Some(*column))
        };
        let columns = (0..self.looked.names.len()).filter(|column| !used(column));
        let told = columns.map(|column| {
            let reason = match [self.label, self.split].contains(&Some(column)) {
                true => Some("no values".to_owned()),
                // Where the user chose, no column has to say why it is no feature.
                false => self.looked.doubt(column).filter(|_| self.unasked),
            };
            let name = &self.looked.names[column];
            reason.map_or_else(|| name.clone(), |reason| format!("{name} ({reason})"))
        });
        told.collect()
    }

    /// Ids, labels and splits.
    pub(crate) fn list(&self, progress: &dyn Progress) -> Result<NodeList> {
        let mut list = ListBuilder {
            ids: IdColumn::Integers(Vec::new()),
            labels: self.label.map(|_| Vec::new()),
            roles: self.split.map(|_| Vec::new()),
        };
        progress.begin(&format!("reading {}", super::file_name(&self.path)), 0, "nodes");
        match self.kind {
            TableKind::Text { delimiter } => self.list_text(delimiter, &mut list, progress)?,
            _ => self.list_columns(&mut list, progress)?,
        }
        progress.end();
        let ids = list.ids.finish();
        node_count(ids.len() as u64)?;
        // A column without a value says nothing: a split without nodes could only be refused later.
        let labels = list.labels.filter(|labels| labels.iter().any(Option::is_some));
        let roles = list.roles.filter(|roles| roles.iter().any(|&role| role != Role::Unused as u8));
        Ok(NodeList { ids, labels, roles })
    }

    fn list_text(
        &self,
        delimiter: u8,
        list: &mut ListBuilder,
        progress: &dyn Progress,
    ) -> Result<()> {
        TextTable::open(&self.path, delimiter, self.text)?.each_record(|line, record| {
            let place = || Place::line(&self.path, line);
            let id = text_field(record, self.id, &place)?.trim();
            if id.is_empty() {
                return Err(Error::input(place(), "the id is empty", "give every row an id"));
            }
            list.ids.push_text(id);
            if let (Some(labels), Some(column)) = (&mut list.labels, self.label) {
                let label = text_field(record, column, &place)?.trim();
                labels.push((!label.is_empty()).then(|| label.to_owned()));
            }
            if let (Some(roles), Some(column)) = (&mut list.roles, self.split) {
                roles.push(role(text_field(record, column, &place)?, &place)? as u8);
            }
            progress.advance(1);
            Ok(true)
        })
    }

    fn list_columns(&self, list: &mut ListBuilder, progress: &dyn Progress) -> Result<()> {
        let table = ColumnarTable::open(&self.path, self.kind)?;
        let columns: Vec<usize> =
            [Some(self.id), self.label, self.split].into_iter().flatten().collect();
        for group in 0..table.groups() {
            table.read_group(group, &columns, |rows| {
                let bad = |which: usize| {
                    let (table, rows) = (&table, &rows);
                    let column = columns[which];
                    move |bad: values::BadValue| table.bad_value(rows, column, &bad)
                };
                let mut next = 0;
                match values::ids(&rows.columns[next]).map_err(bad(next))? {
                    values::RawIds::Integers(ids) => ids.iter().for_each(|&id| list.ids.push(id)),
                    values::RawIds::Texts(ids) => {
                        ids.iter().for_each(|id| list.ids.push_string(id));
                    }
                }
                if let Some(labels) = &mut list.labels {
                    next += 1;
                    labels.extend(values::names(&rows.columns[next]).map_err(bad(next))?);
                }
                if let Some(roles) = &mut list.roles {
                    next += 1;
                    let words = values::names(&rows.columns[next]).map_err(bad(next))?;
                    for (row, word) in words.iter().enumerate() {
                        let place = || table.place(&rows, row);
                        roles.push(role(word.as_deref().unwrap_or(""), &place)? as u8);
                    }
                }
                progress.advance(rows.columns[0].len() as u64);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Hands every row's features to the sink.
    pub(crate) fn features(&self, sink: &mut FeatureSink, progress: &dyn Progress) -> Result<()> {
        progress.begin("reading features", 0, "nodes");
        match self.kind {
            TableKind::Text { delimiter } => self.features_text(delimiter, sink, progress)?,
            _ => self.features_columns(sink, progress)?,
        }
        progress.end();
        Ok(())
    }

    fn features_text(
        &self,
        delimiter: u8,
        sink: &mut FeatureSink,
        progress: &dyn Progress,
    ) -> Result<()> {
        let mut row = Vec::new();
        TextTable::open(&self.path, delimiter, self.text)?.each_record(|line, record| {
            let place = || Place::line(&self.path, line);
            row.clear();
            match &self.features {
                FeatureColumns::None => return Ok(false),
                FeatureColumns::List(column, width) => {
                    let field = text_field(record, *column, &place)?;
                    for number in list_items(field, &place)? {
                        row.push(self.number(*column, number, &place)?);
                    }
                    if row.len() != *width {
                        let problem = format!(
                            "the list has {} numbers, the first one has {width}",
                            row.len()
                        );
                        let remedy = "give every node a list of the same length";
                        return Err(Error::input(place(), problem, remedy));
                    }
                }
                FeatureColumns::Numbers(columns) => {
                    for &column in columns {
                        let field = text_field(record, column, &place)?;
                        row.push(self.number(column, field, &place)?);
                    }
                }
            }
            progress.advance(1);
            sink.dense(&row).map_err(|error| error.at(place()))?;
            Ok(true)
        })
    }

    fn number(&self, column: usize, field: &str, place: &dyn Fn() -> Place) -> Result<f32> {
        let what = || format!("feature {:?}", self.looked.names[column]);
        match field.trim().parse::<f32>() {
            Ok(x) if x.is_finite() => Ok(x),
            Ok(x) if !x.is_nan() => {
                let problem =
                    format!("{} is {}, no finite number of 32 bits", what(), shown(field));
                Err(Error::input(place(), problem, FINITE))
            }
            _ => Err(not_a_number(place(), &what(), field)),
        }
    }

    /// The error for a row that the store refused, with the column's own name.
    fn refused(&self, error: FeatureError) -> Error {
        match (&self.features, error) {
            (FeatureColumns::Numbers(columns), FeatureError::Value { row, column, value }) => {
                let name = &self.looked.names[columns[column]];
                let problem = format!("feature {name:?} is {value}");
                Error::input(Place::row(&self.path, row), problem, FINITE)
            }
            (_, error) => error.at(&self.path),
        }
    }

    /// Where two rows, counted from 0, stand in the file: the place of the later one, and words
    /// for the earlier one.
    pub(crate) fn both_places(&self, first: u64, again: u64) -> Result<(Place, String)> {
        let TableKind::Text { delimiter } = self.kind else {
            return Ok((Place::row(&self.path, again), format!("in row {first}")));
        };
        let (mut row, mut before, mut after) = (0, 0, 0);
        TextTable::open(&self.path, delimiter, self.text)?.each_record(|line, _| {
            before = if row == first { line } else { before };
            after = line;
            row += 1;
            Ok(row <= again)
        })?;
        Ok((Place::line(&self.path, after), format!("on line {before}")))
    }

    fn features_columns(&self, sink: &mut FeatureSink, progress: &dyn Progress) -> Result<()> {
        let table = ColumnarTable::open(&self.path, self.kind)?;
        let columns = match &self.features {
            FeatureColumns::None => return Ok(()),
            FeatureColumns::List(column, _) => vec![*column],
            FeatureColumns::Numbers(columns) => columns.clone(),
        };
        let mut block = Vec::new();
        for group in 0..table.groups() {
            table.read_group(group, &columns, |rows: Rows| {
                let count = rows.columns[0].len();
                if let FeatureColumns::List(column, width) = self.features {
                    block = values::lists(&rows.columns[0], width)
                        .map_err(|bad| table.bad_value(&rows, column, &bad))?;
                } else {
                    let width = columns.len();
                    block.clear();
                    block.resize(count * width, 0.0);
                    for (place, array) in rows.columns.iter().enumerate() {
                        let numbers = values::numbers(array)
                            .map_err(|bad| table.bad_value(&rows, columns[place], &bad))?;
                        for (row, number) in numbers.into_iter().enumerate() {
                            block[row * width + place] = number;
                        }
                    }
                }
                progress.advance(count as u64);
                sink.dense(&block).map_err(|error| self.refused(error))
            })?;
        }
        Ok(())
    }
}

fn role(word: &str, place: &dyn Fn() -> Place) -> Result<Role> {
    Role::from_word(word).ok_or_else(|| {
        let problem = format!("split {} is not known", shown(word));
        Error::input(place(), problem, "use train, validation, test, or leave it empty")
    })
}

fn text_field<'r>(
    record: &'r csv::ByteRecord,
    column: usize,
    place: &dyn Fn() -> Place,
) -> Result<&'r str> {
    field_text(record.get(column).unwrap_or_default(), place)
}

struct ListBuilder {
    ids: IdColumn,
    labels: Option<Vec<Option<String>>>,
    roles: Option<Vec<u8>>,
}

/// Ids that are integers until one is not.
enum IdColumn {
    Integers(Vec<i64>),
    Texts(Strings),
}

impl IdColumn {
    fn push(&mut self, id: i64) {
        match self {
            IdColumn::Integers(ids) => ids.push(id),
            IdColumn::Texts(ids) => ids.push(&id.to_string()),
        }
    }

    /// An id from text: an integer where it is written like one.
    fn push_text(&mut self, id: &str) {
        match (&mut *self, canonical_integer(id.as_bytes())) {
            (IdColumn::Integers(ids), Some(id)) => ids.push(id),
            _ => self.push_string(id),
        }
    }

    fn push_string(&mut self, id: &str) {
        if let IdColumn::Integers(ids) = self {
            *self = IdColumn::Texts(ids.iter().map(i64::to_string).collect());
        }
        if let IdColumn::Texts(ids) = self {
            ids.push(id);
        }
    }

    fn finish(self) -> Ids {
        match self {
            IdColumn::Integers(ids) => Ids::from_integers(ids),
            IdColumn::Texts(ids) => Ids::Strings(ids),
        }
    }
}
