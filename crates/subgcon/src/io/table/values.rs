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
pub(crate) enum RawIds {
    Integers(Vec<i64>),
    Texts(Strings),
}

/// The first row without a value, also where a dictionary holds null for it.
fn first_null(array: &dyn Array) -> Option<usize> {
    let nulls = array.logical_nulls()?;
    (0..array.len()).find(|&row| nulls.is_null(row))
}

/// The values of a dictionary column, and the place among them of each row's.
/// Only the places of rows that are not null mean something.
fn dictionary(array: &ArrayRef) -> Option<(&ArrayRef, Vec<usize>)> {
    let dictionary = array.as_any_dictionary_opt()?;
    let values = dictionary.values();
    // Arrow asserts that there are values, which a column of nulls lacks.
    let places = match values.is_empty() {
        true => vec![0; array.len()],
        false => dictionary.normalized_keys(),
    };
    Some((values, places))
}

/// Calls `$body` with the values of a column of integers, or nothing for others.
macro_rules! with_integers {
    ($array:expr, |$values:ident| $body:expr) => {
        match $array.data_type() {
            DataType::Int8 => with_integers!(@ $array, Int8Type, $values, $body),
            DataType::Int16 => with_integers!(@ $array, Int16Type, $values, $body),
            DataType::Int32 => with_integers!(@ $array, Int32Type, $values, $body),
            DataType::Int64 => with_integers!(@ $array, Int64Type, $values, $body),
            DataType::UInt8 => with_integers!(@ $array, UInt8Type, $values, $body),
            DataType::UInt16 => with_integers!(@ $array, UInt16Type, $values, $body),
            DataType::UInt32 => with_integers!(@ $array, UInt32Type, $values, $body),
            DataType::UInt64 => with_integers!(@ $array, UInt64Type, $values, $body),
            _ => None,
        }
    };
    (@ $array:expr, $type:ty, $values:ident, $body:expr) => {{
        let $values = $array.as_primitive::<$type>().values();
        Some($body)
    }};
}

/// Ids: integers or texts, or a dictionary of either.
#[allow(clippy::unnecessary_cast, reason = "one macro serves every width")]
pub(crate) fn ids(array: &ArrayRef) -> Result<RawIds, BadValue> {
    const REMEDY: &str = "give every row an id";
    if let Some(row) = first_null(array) {
        return Err(bad(row, "the id is missing (null)", REMEDY));
    }
    if let Some(texts) = texts(array) {
        // A text that is missing here would move all later rows up.
        let texts = texts.into_iter().map(Option::unwrap_or_default);
        let mut ids = Strings::default();
        for (row, text) in texts.enumerate() {
            if text.is_empty() {
                return Err(bad(row, "the id is empty", REMEDY));
            }
            ids.push(text);
        }
        return Ok(RawIds::Texts(ids));
    }
    let dictionary = dictionary(array);
    let values = dictionary.as_ref().map_or(array, |(values, _)| values);
    let integers: Option<Vec<i64>> =
        with_integers!(values, |values| values.iter().map(|&x| x as i64).collect());
    let Some(mut ids) = integers else {
        let problem = format!("ids of type {}", array.data_type());
        return Err(bad(0, problem, "store ids as integers or text"));
    };
    if let Some((_, places)) = &dictionary {
        ids = places.iter().map(|&place| ids[place]).collect();
    }
    // Unsigned integers beyond the signed ones have come out negative.
    let wide = *values.data_type() == DataType::UInt64;
    match ids.iter().position(|&id| wide && id < 0) {
        Some(row) => {
            let problem = format!("id {} is larger than 2^63 - 1", ids[row] as u64);
            Err(bad(row, problem, "store such ids as text"))
        }
        None => Ok(RawIds::Integers(ids)),
    }
}

/// Texts, where the column holds text; nulls stay missing.
fn texts(array: &ArrayRef) -> Option<Vec<Option<&str>>> {
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string::<i32>().iter().collect()),
        DataType::LargeUtf8 => Some(array.as_string::<i64>().iter().collect()),
        DataType::Utf8View => Some(array.as_string_view().iter().collect()),
        DataType::Dictionary(_, _) => {
            let (values, places) = dictionary(array)?;
            let values = texts(values)?;
            let text = |row: usize| match array.is_null(row) {
                true => None,
                false => values.get(places[row]).copied().flatten(),
            };
            Some((0..array.len()).map(text).collect())
        }
        _ => None,
    }
}

/// Names of classes or roles: texts, and integers, whole floats and booleans
/// as text. Nulls, NaNs and empty texts are none.
pub(super) fn names(array: &ArrayRef) -> Result<Vec<Option<String>>, BadValue> {
    if let Some(texts) = texts(array) {
        let present = |text: &&str| !text.is_empty();
        return Ok(texts.into_iter().map(|text| text.filter(present).map(str::to_owned)).collect());
    }
    let nulls = array.logical_nulls();
    let dictionary = dictionary(array);
    let named = |row: usize| match &dictionary {
        _ if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) => Ok(None),
        Some((values, places)) => name(values, places[row]),
        None => name(array, row),
    };
    (0..array.len())
        .map(|row| {
            named(row).map_err(|problem| bad(row, problem, "store labels as integers or text"))
        })
        .collect()
}

/// The name that a value gives, or what is wrong with it.
fn name(values: &ArrayRef, place: usize) -> Result<Option<String>, String> {
    if let Some(name) = with_integers!(values, |values| values[place].to_string()) {
        return Ok(Some(name));
    }
    // Integers up to 2^digits are kept apart by a float.
    let (value, digits) = match values.data_type() {
        DataType::Boolean => return Ok(Some(values.as_boolean().value(place).to_string())),
        DataType::Float16 => (values.as_primitive::<Float16Type>().value(place).to_f64(), 11),
        DataType::Float32 => (values.as_primitive::<Float32Type>().value(place).into(), 24),
        DataType::Float64 => (values.as_primitive::<Float64Type>().value(place), 53),
        other => return Err(format!("labels of type {other}")),
    };
    if value.is_nan() {
        Ok(None)
    } else if value.fract() != 0.0 || value.is_infinite() {
        Err(format!("label {value} is not a whole number"))
    } else if value.abs() > (1u64 << digits) as f64 {
        Err(format!("label {value} is too large for a float to tell it from the next"))
    } else {
        Ok(Some((value as i64).to_string()))
    }
}

/// Whether a column of this type is a feature unasked. A dictionary of numbers
/// is not: whoever made one meant categories, and has to choose it by name.
pub(super) fn is_number(data_type: &DataType) -> bool {
    data_type.is_integer() || data_type.is_floating() || *data_type == DataType::Boolean
}

/// The element type and, where it is fixed, the length of a list of numbers.
pub(crate) fn list_of_numbers(data_type: &DataType) -> Option<Option<usize>> {
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

/// Numbers as f32, or a dictionary of them; a null is an error.
pub(super) fn numbers(array: &ArrayRef) -> Result<Vec<f32>, BadValue> {
    if let Some(row) = first_null(array) {
        return Err(bad(row, "the value is missing (null)", "fill it in or drop the column"));
    }
    let numbers = match dictionary(array) {
        None => plain_numbers(array),
        Some((values, places)) => plain_numbers(values)
            .map(|numbers| places.iter().map(|&place| numbers[place]).collect()),
    };
    numbers.ok_or_else(|| {
        let problem = format!("values of type {} are not numbers", array.data_type());
        bad(0, problem, "choose numeric columns")
    })
}

/// Numbers as f32, where the column holds numbers; any number for a null.
fn plain_numbers(array: &ArrayRef) -> Option<Vec<f32>> {
    let numbers = with_integers!(array, |values| values.iter().map(|&x| x as f32).collect());
    if numbers.is_some() {
        return numbers;
    }
    Some(match array.data_type() {
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
        _ => return None,
    })
}

/// Rows of a list column, one after another, each `width` long.
pub(crate) fn lists(array: &ArrayRef, width: usize) -> Result<Vec<f32>, BadValue> {
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
