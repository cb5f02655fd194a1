//! What do the columns of a node table hold: numbers, lists of them, or neither?
//!
//! Columnar files say it by their types. In text a look at the first rows has to
//! tell. One value is not enough: "NA" on the first line must not hide a column
//! of numbers, and one number not make a column of words a feature.

use std::path::{Path, PathBuf};

use super::columnar::ColumnarTable;
use super::csv::TextTable;
use super::{TableKind, TextOptions, values};
use crate::error::{Error, Place, Result, shown};

/// A node table, looked at before it is read.
pub(super) struct Inspected {
    pub(super) names: Vec<String>,
    holds: Holds,
}

enum Holds {
    Text(PathBuf, Vec<TextColumn>),
    Columns(ColumnarTable),
}

/// What was seen of a column of text. Words for a missing value count as neither.
#[derive(Default, Clone)]
struct TextColumn {
    /// The first value that is not missing, and its line.
    first: Option<(u64, String)>,
    numbers: u64,
    others: u64,
}

/// Rows of text that are looked at, and how far to go for a column without a value.
const LOOK_AT: u64 = 1_000;
const LOOK_FOR: u64 = 10_000;

impl Inspected {
    /// Names of the columns, no row being read.
    pub(super) fn names_of(path: &Path, kind: TableKind, text: TextOptions) -> Result<Vec<String>> {
        match kind {
            TableKind::Text { delimiter } => Ok(TextTable::open(path, delimiter, text)?.names),
            _ => Ok(ColumnarTable::open(path, kind)?.names()),
        }
    }

    pub(super) fn of(path: &Path, kind: TableKind, text: TextOptions) -> Result<Inspected> {
        let TableKind::Text { delimiter } = kind else {
            let table = ColumnarTable::open(path, kind)?;
            return Ok(Inspected { names: table.names(), holds: Holds::Columns(table) });
        };
        let table = TextTable::open(path, delimiter, text)?;
        let names = table.names.clone();
        let mut columns = vec![TextColumn::default(); names.len()];
        let mut seen = 0;
        table.each_record(|line, record| {
            for (column, field) in columns.iter_mut().zip(record) {
                if seen < LOOK_AT || column.first.is_none() {
                    column.look(line, String::from_utf8_lossy(field).trim());
                }
            }
            seen += 1;
            let unseen = || columns.iter().any(|column| column.first.is_none());
            Ok(seen < LOOK_AT || (seen < LOOK_FOR && unseen()))
        })?;
        Ok(Inspected { names, holds: Holds::Text(path.to_path_buf(), columns) })
    }

    /// Columns of numbers, in their order.
    pub(super) fn numeric(&self) -> Vec<usize> {
        let is_number = |&column: &usize| match &self.holds {
            Holds::Text(_, columns) => columns[column].is_numeric(),
            Holds::Columns(table) => values::is_number(table.schema.field(column).data_type()),
        };
        (0..self.names.len()).filter(is_number).collect()
    }

    /// The width of a column's lists; none where it holds no lists of numbers.
    pub(super) fn list_width(&self, column: usize) -> Result<Option<usize>> {
        match &self.holds {
            Holds::Text(path, columns) => match &columns[column].first {
                Some((line, field)) => list_width(field, &|| Place::line(path, *line)),
                None => Ok(None),
            },
            Holds::Columns(table) => {
                match values::list_of_numbers(table.schema.field(column).data_type()) {
                    None => Ok(None),
                    Some(Some(width)) => Ok(Some(width)),
                    Some(None) => first_list_width(table, column).map(Some),
                }
            }
        }
    }

    /// Why a column was not taken for numbers, where a user may have thought it would be.
    pub(super) fn doubt(&self, column: usize) -> Option<String> {
        let Holds::Text(_, columns) = &self.holds else { return None };
        let TextColumn { first, numbers, others } = &columns[column];
        match (first, numbers) {
            (None, _) => Some("no values".into()),
            (_, 0) => None,
            _ => Some(format!("{numbers} of {} values looked at are numbers", numbers + others)),
        }
    }
}

impl TextColumn {
    fn look(&mut self, line: u64, field: &str) {
        if is_missing(field) {
            return;
        }
        self.first.get_or_insert_with(|| (line, field.to_owned()));
        match field.parse::<f32>().is_ok() || has_number_commas(field) {
            true => self.numbers += 1,
            false => self.others += 1,
        }
    }

    /// Half of the values will do: the others are then refused with their lines.
    fn is_numeric(&self) -> bool {
        self.numbers > 0 && self.numbers >= self.others
    }
}

/// Nothing, or what programs write where they have no value.
pub(super) fn is_missing(field: &str) -> bool {
    const WORDS: [&str; 10] = ["", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "?", "-"];
    WORDS.iter().any(|word| field.eq_ignore_ascii_case(word))
}

/// A number with a decimal comma ("0,5") or commas between thousands ("1,000").
pub(super) fn has_number_commas(field: &str) -> bool {
    let number = |text: String| text.parse::<f32>().is_ok();
    let groups: Vec<&str> = field.split(',').collect();
    match &groups[..] {
        [] | [_] => false,
        [_, _] => number(field.replace(',', ".")) || number(groups.concat()),
        [first, rest @ ..] => {
            let length = |group: &str| group.split('.').next().map_or(0, str::len);
            let thousands = rest.iter().all(|group| length(group) == 3);
            thousands && !first.is_empty() && number(groups.concat())
        }
    }
}

/// The width of the list in a field; none where it holds none. A comma outside of
/// brackets may be a decimal comma, so that reading on would change the data.
fn list_width(field: &str, place: &dyn Fn() -> Place) -> Result<Option<usize>> {
    let bracketed = field.starts_with(['[', '(']);
    let numbers = items(field).all(|item| item.parse::<f32>().is_ok());
    if !numbers {
        return Ok(None);
    }
    let width = list_items(field, place)?.count();
    Ok((bracketed || width > 1).then_some(width))
}

/// Numbers in one field: `[1, 2]`, `1 2`, `1;2`.
pub(super) fn list_items<'f>(
    field: &'f str,
    place: &dyn Fn() -> Place,
) -> Result<impl Iterator<Item = &'f str>> {
    let bracketed = field.trim().starts_with(['[', '(']);
    // Beside numbers that blanks part, a comma with none after it does not part: [0,5 1,5].
    let tight = |part: &str| part.trim_matches(['[', '(', ']', ')', ',']).contains(',');
    let blanks = field.split_whitespace().count() > 1;
    let doubtful =
        !bracketed || field.contains(';') || blanks && field.split_whitespace().any(tight);
    match field.contains(',') && doubtful {
        true => Err(bare_comma(place(), "the list", field)),
        false => Ok(items(field)),
    }
}

fn items(field: &str) -> impl Iterator<Item = &str> {
    let inside = field.trim().trim_start_matches(['[', '(']).trim_end_matches([']', ')']);
    inside.split([',', ';', ' ', '\t']).map(str::trim).filter(|item| !item.is_empty())
}

/// A comma that may stand before decimals, between thousands or between numbers.
fn bare_comma(place: Place, what: &str, field: &str) -> Error {
    let problem = format!("{what} {} has a comma that may mean several things", shown(field));
    Error::input(place, problem, COMMA_REMEDY)
}

const COMMA_REMEDY: &str = "for a decimal comma write a point (0.5), for thousands nothing \
                            (1000), for a list brackets ([0, 5]), or choose other columns with \
                            --feature-columns";

/// A field that has to be a number and is none.
pub(super) fn not_a_number(place: Place, what: &str, field: &str) -> Error {
    let (trimmed, problem) = (field.trim(), format!("{what}: {} is not a number", shown(field)));
    let remedy = if has_number_commas(trimmed) {
        COMMA_REMEDY
    } else if is_missing(trimmed) {
        "fill it in, or choose other columns with --feature-columns"
    } else {
        "mend the value, or choose numeric columns with --feature-columns"
    };
    Error::input(place, problem, remedy)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_numbers_are_told_from_lists() {
        for field in ["0,5", "-0,5", "1,000", "1,000,000", "1,000,000.5", "1,5e3", ",5"] {
            assert!(has_number_commas(field), "{field}");
        }
        for field in ["5", "0.5", "a,b", "1,5,7", "1, 2", "", ",", "x,000,000"] {
            assert!(!has_number_commas(field), "{field}");
        }
    }

    #[test]
    fn lists_are_told_from_numbers_and_words() {
        let width = |field: &str| list_width(field, &|| Place::line("n.csv", 2));
        for (field, expected) in [
            ("[1, 2]", Some(2)),
            ("(1,2,3)", Some(3)),
            ("1 2", Some(2)),
            ("1;2", Some(2)),
            ("[7]", Some(1)),
            ("7", None),
            ("a,b", None),
            ("red green", None),
        ] {
            assert_eq!(width(field).unwrap(), expected, "{field}");
        }
        for field in ["0,5", "1,000", "1, 2, 3", "1,5;2,5", "[1,5;2,5]"] {
            let told = width(field).unwrap_err().to_string();
            assert!(
                told.starts_with(&format!("n.csv:2: the list \"{field}\" has a comma")),
                "{told}"
            );
            assert!(told.contains("write a point (0.5)") && told.contains("[0, 5]"), "{told}");
        }
    }
}
