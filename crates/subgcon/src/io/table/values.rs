//! Arrow columns as plain values.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use crate::graph::Strings;

/// What is wrong with a value of a column: its row, the problem, the remedy.
#[derive(Debug)]
pub(crate) struct BadValue {
    pub(crate) row: usize,
    pub(crate) problem: String,
    pub(crate) remedy: &'static str,
}

fn bad(row: usize, problem: impl Into<String>, remedy: &'static str) -> BadValue {
    BadValue { row, problem: problem.into(), remedy }
}

/// Ids as they are in a file.
#[derive(Debug)]
pub(super) enum RawIds {
    Integers(Vec<i64>),
    Texts(Strings),
}

fn first_null(array: &dyn Array) -> Option<usize> {
    if array.null_count() == 0 {
        return None;
    }
    (0..array.len()).find(|&row| array.is_null(row))
}

/// Calls `$body` with the values of a primitive column, or nothing for others.
macro_rules! with_numbers {
    ($array:expr, |$values:ident| $body:expr) => {
        match $array.data_type() {
            DataType::Int8 => with_numbers!(@ $array, Int8Type, $values, $body),
            DataType::Int16 => with_numbers!(@ $array, Int16Type, $values, $body),
            DataType::Int32 => with_numbers!(@ $array, Int32Type, $values, $body),
            DataType::Int64 => with_numbers!(@ $array, Int64Type, $values, $body),
            DataType::UInt8 => with_numbers!(@ $array, UInt8Type, $values, $body),
            DataType::UInt16 => with_numbers!(@ $array, UInt16Type, $values, $body),
            DataType::UInt32 => with_numbers!(@ $array, UInt32Type, $values, $body),
            _ => None,
        }
    };
    (@ $array:expr, $type:ty, $values:ident, $body:expr) => {{
        let $values = $array.as_primitive::<$type>().values();
        Some($body)
    }};
}

/// Ids: integers or texts.
#[allow(clippy::unnecessary_cast, reason = "one macro serves every width")]
pub(super) fn ids(array: &ArrayRef) -> Result<RawIds, BadValue> {
    if let Some(row) = first_null(array) {
        return Err(bad(row, "the id is missing (null)", "give every row an id"));
    }
    let integers = with_numbers!(array, |values| values.iter().map(|&x| x as i64).collect());
    if let Some(integers) = integers {
        return Ok(RawIds::Integers(integers));
    }
    match array.data_type() {
        DataType::UInt64 => {
            let values = array.as_primitive::<UInt64Type>().values();
            match values.iter().position(|&x| i64::try_from(x).is_err()) {
                Some(row) => Err(bad(
                    row,
                    format!("id {} is larger than 2^63 - 1", values[row]),
                    "store such ids as text",
                )),
                None => Ok(RawIds::Integers(values.iter().map(|&x| x as i64).collect())),
            }
        }
        _ => match texts(array) {
            Some(texts) => Ok(RawIds::Texts(texts.into_iter().flatten().collect())),
            None => Err(bad(
                0,
                format!("ids of type {}", array.data_type()),
                "store ids as integers or text",
            )),
        },
    }
}

/// Texts, where the column holds text; nulls stay missing.
pub(super) fn texts(array: &ArrayRef) -> Option<Vec<Option<&str>>> {
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string::<i32>().iter().collect()),
        DataType::LargeUtf8 => Some(array.as_string::<i64>().iter().collect()),
        DataType::Utf8View => Some(array.as_string_view().iter().collect()),
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let values = texts(dictionary.values())?;
            let keys = dictionary.normalized_keys();
            let text = |row: usize| match array.is_null(row) {
                true => None,
                false => values.get(keys[row]).copied().flatten(),
            };
            Some((0..array.len()).map(text).collect())
        }
        _ => None,
    }
}

/// Names of classes or roles: integers, booleans and texts as text.
pub(super) fn names(array: &ArrayRef) -> Result<Vec<Option<String>>, BadValue> {
    if let Some(texts) = texts(array) {
        return Ok(texts.into_iter().map(|text| text.map(str::to_owned)).collect());
    }
    let named: Option<Vec<String>> =
        with_numbers!(array, |values| values.iter().map(ToString::to_string).collect());
    let named = named.or_else(|| match array.data_type() {
        DataType::UInt64 => {
            let values = array.as_primitive::<UInt64Type>().values();
            Some(values.iter().map(u64::to_string).collect())
        }
        DataType::Boolean => {
            let values = array.as_boolean();
            Some((0..values.len()).map(|row| values.value(row).to_string()).collect())
        }
        _ => None,
    });
    let Some(named) = named else {
        let problem = format!("labels of type {}", array.data_type());
        return Err(bad(0, problem, "store labels as integers or text"));
    };
    let present = |(row, name): (usize, String)| (!array.is_null(row)).then_some(name);
    Ok(named.into_iter().enumerate().map(present).collect())
}

/// Whether a column of this type can be a feature.
pub(super) fn is_number(data_type: &DataType) -> bool {
    data_type.is_integer() || data_type.is_floating() || *data_type == DataType::Boolean
}

/// The element type and, where it is fixed, the length of a list of numbers.
pub(super) fn list_of_numbers(data_type: &DataType) -> Option<Option<usize>> {
    match data_type {
        DataType::FixedSizeList(field, length) if is_number(field.data_type()) => {
            Some(usize::try_from(*length).ok())
        }
        DataType::List(field) | DataType::LargeList(field) if is_number(field.data_type()) => {
            Some(None)
        }
        _ => None,
    }
}

/// Numbers as f32; a null is an error.
pub(super) fn numbers(array: &ArrayRef) -> Result<Vec<f32>, BadValue> {
    if let Some(row) = first_null(array) {
        return Err(bad(row, "the value is missing (null)", "fill it in or drop the column"));
    }
    let numbers = with_numbers!(array, |values| values.iter().map(|&x| x as f32).collect());
    if let Some(numbers) = numbers {
        return Ok(numbers);
    }
    Ok(match array.data_type() {
        DataType::UInt64 => {
            array.as_primitive::<UInt64Type>().values().iter().map(|&x| x as f32).collect()
        }
        DataType::Float16 => {
            array.as_primitive::<Float16Type>().values().iter().map(|x| x.to_f32()).collect()
        }
        DataType::Float32 => array.as_primitive::<Float32Type>().values().to_vec(),
        DataType::Float64 => {
            array.as_primitive::<Float64Type>().values().iter().map(|&x| x as f32).collect()
        }
        DataType::Boolean => {
            let values = array.as_boolean();
            (0..values.len()).map(|row| f32::from(u8::from(values.value(row)))).collect()
        }
        other => {
            let problem = format!("values of type {other} are not numbers");
            return Err(bad(0, problem, "choose numeric columns"));
        }
    })
}

/// Rows of a list column, one after another, each `width` long.
pub(super) fn lists(array: &ArrayRef, width: usize) -> Result<Vec<f32>, BadValue> {
    if let Some(row) = first_null(array) {
        return Err(bad(row, "the list is missing (null)", "give every node a list"));
    }
    let length = |row: usize, length: usize| match length == width {
        true => Ok(()),
        false => Err(bad(
            row,
            format!("the list has {length} numbers, the first one has {width}"),
            "give every node a list of the same length",
        )),
    };
    let mut rows = Vec::new();
    for row in 0..array.len() {
        let list = match array.data_type() {
            DataType::FixedSizeList(_, _) => array.as_fixed_size_list().value(row),
            DataType::List(_) => array.as_list::<i32>().value(row),
            DataType::LargeList(_) => array.as_list::<i64>().value(row),
            other => {
                return Err(bad(row, format!("type {other} is no list"), "choose a list column"));
            }
        };
        length(row, list.len())?;
        rows.extend(numbers(&list).map_err(|inner| BadValue { row, ..inner })?);
    }
    Ok(rows)
}
