//! Node tables.
//!
//! Read twice: ids, labels and splits first, since edges need the ids, then
//! features, which go to disk row by row.

use std::path::{Path, PathBuf};

use super::columnar::{ColumnarTable, Rows};
use super::csv::{TextTable, field_text};
use super::{TableKind, TextOptions, find_column, missing_column, values};
use crate::error::{Error, Place, Result, shown};
use crate::graph::{Ids, Role, Strings, canonical_integer, node_count};
use crate::io::store::FeatureSink;
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
    pub(crate) names: Vec<String>,
    kind: TableKind,
    text: TextOptions,
    id: usize,
    label: Option<usize>,
    split: Option<usize>,
    features: FeatureColumns,
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

const USUAL_IDS: [&str; 4] = ["id", "node_id", "nodeId", "nid"];
const USUAL_LISTS: [&str; 5] = ["features", "feature", "x", "feat", "embedding"];

impl NodeTable {
    pub(crate) fn open(path: &Path, columns: &NodeColumns, text: TextOptions) -> Result<NodeTable> {
        let kind = TableKind::of(path, text.delimiter)?;
        let (names, numeric, list) = match kind {
            TableKind::Text { delimiter } => inspect_text(path, delimiter, text)?,
            _ => inspect_columns(path, kind)?,
        };
        let find = |given: &Option<String>, usual: &[&str], flag| {
            find_column(path, &names, given.as_deref(), usual, flag)
        };
        let first_column: &[&str] = if text.no_header { &["0"] } else { &USUAL_IDS };
        let Some(id) = find(&columns.id, first_column, "--id-column")? else {
            let problem = "no column id (or node_id, nodeId, nid)";
            return Err(missing_column(path, &names, problem, "--id-column"));
        };
        let label = find(&columns.label, &["label"], "--label-column")?;
        let split = find(&columns.split, &["split"], "--split-column")?;
        let taken = [Some(id), label, split];
        let free = |column: &usize| !taken.contains(&Some(*column));
        let features = if columns.no_features {
            FeatureColumns::None
        } else if let [name] = &columns.features[..] {
            let flag = "--feature-columns";
            let column = find_column(path, &names, Some(name), &[], flag)?.unwrap_or(0);
            match list(column)? {
                Some(width) => FeatureColumns::List(column, width),
                None => FeatureColumns::Numbers(vec![column]),
            }
        } else if columns.features.is_empty() {
            let mut usual = USUAL_LISTS.iter().filter_map(|u| names.iter().position(|n| n == u));
            let column = usual.find(free);
            match column.map(|column| Ok((column, list(column)?))).transpose()? {
                Some((column, Some(width))) => FeatureColumns::List(column, width),
                _ => {
                    let numbers: Vec<usize> = numeric.into_iter().filter(free).collect();
                    match numbers.is_empty() {
                        true => FeatureColumns::None,
                        false => FeatureColumns::Numbers(numbers),
                    }
                }
            }
        } else {
            let chosen = columns.features.iter().map(|name| {
                let found = find_column(path, &names, Some(name), &[], "--feature-columns")?;
                Ok(found.unwrap_or(0))
            });
            FeatureColumns::Numbers(chosen.collect::<Result<_>>()?)
        };
        Ok(NodeTable { path: path.to_path_buf(), names, kind, text, id, label, split, features })
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
                Some(columns.iter().map(|&column| self.names[column].clone()).collect())
            }
            _ => None,
        }
    }

    /// Columns that nothing is taken from.
    pub(crate) fn unused_columns(&self) -> Vec<&str> {
        let used = |column: &usize| {
            let feature = match &self.features {
                FeatureColumns::None => false,
                FeatureColumns::List(list, _) => list == column,
                FeatureColumns::Numbers(columns) => columns.contains(column),
            };
            feature || [Some(self.id), self.label, self.split].contains(&Some(*column))
        };
        let columns = (0..self.names.len()).filter(|column| !used(column));
        columns.map(|column| self.names[column].as_str()).collect()
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
        Ok(NodeList { ids, labels: list.labels, roles: list.roles })
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
                    for number in list_items(field) {
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
        field.trim().parse().map_err(|_| {
            let name = &self.names[column];
            let problem = format!("feature {name:?}: {} is not a number", shown(field));
            let remedy = "mend the value, or choose numeric columns with --feature-columns";
            Error::input(place(), problem, remedy)
        })
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
                sink.dense(&block).map_err(|error| error.at(&self.path))
            })?;
        }
        Ok(())
    }
}

type ListWidth<'a> = Box<dyn Fn(usize) -> Result<Option<usize>> + 'a>;
type Inspected<'a> = (Vec<String>, Vec<usize>, ListWidth<'a>);

/// Names, numeric columns and, for any column, the width of its lists. In text
/// the first value that is not empty tells: where it is a number, so are all.
fn inspect_text(path: &Path, delimiter: u8, text: TextOptions) -> Result<Inspected<'_>> {
    const LOOK_AT: usize = 10_000;
    let table = TextTable::open(path, delimiter, text)?;
    let names = table.names.clone();
    let mut first = vec![String::new(); names.len()];
    let mut seen = 0;
    table.each_record(|_, record| {
        for (first, field) in first.iter_mut().zip(record).filter(|(first, _)| first.is_empty()) {
            *first = String::from_utf8_lossy(field).trim().to_owned();
        }
        seen += 1;
        Ok(seen < LOOK_AT && first.iter().any(String::is_empty))
    })?;
    let is_number = |field: &String| field.parse::<f32>().is_ok();
    let numeric = (0..first.len()).filter(|&column| is_number(&first[column])).collect();
    let list = move |column: usize| {
        let Some(field) = first.get(column) else { return Ok(None) };
        let bracketed = field.starts_with('[') || field.starts_with('(');
        let items = list_items(field).count();
        let numbers = list_items(field).all(|item| item.parse::<f32>().is_ok());
        Ok((numbers && (bracketed || items > 1)).then_some(items))
    };
    Ok((names, numeric, Box::new(list)))
}

fn inspect_columns(path: &Path, kind: TableKind) -> Result<Inspected<'_>> {
    let table = ColumnarTable::open(path, kind)?;
    let names = table.names();
    let types: Vec<_> = table.schema.fields().iter().map(|f| f.data_type().clone()).collect();
    let is_number = |column: &usize| values::is_number(&types[*column]);
    let numeric = (0..names.len()).filter(is_number).collect();
    let list = move |column: usize| match values::list_of_numbers(&types[column]) {
        None => Ok(None),
        Some(Some(width)) => Ok(Some(width)),
        Some(None) => first_list_width(&table, column).map(Some),
    };
    Ok((names, numeric, Box::new(list)))
}

/// The length of the first list of a column of lists.
fn first_list_width(table: &ColumnarTable, column: usize) -> Result<usize> {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    let mut width = None;
    for group in 0..table.groups() {
        table.read_group(group, &[column], |rows| {
            let array = &rows.columns[0];
            let row = (0..array.len()).find(|&row| !array.is_null(row));
            if let (None, Some(row)) = (width, row) {
                width = Some(match array.data_type() {
                    arrow_schema::DataType::List(_) => {
                        array.as_list::<i32>().value_length(row) as usize
                    }
                    _ => array.as_list::<i64>().value_length(row) as usize,
                });
            }
            Ok(())
        })?;
        if width.is_some() {
            break;
        }
    }
    Ok(width.unwrap_or(0))
}

/// Numbers in one field: `[1, 2]`, `1 2`, `1;2`.
fn list_items(field: &str) -> impl Iterator<Item = &str> {
    let inside = field.trim().trim_start_matches(['[', '(']).trim_end_matches([']', ')']);
    inside.split([',', ';', ' ', '\t']).map(str::trim).filter(|item| !item.is_empty())
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
