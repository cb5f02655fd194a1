//! Columns of Parquet and Arrow files as pandas and others write them: with
//! dictionaries, nulls, and integers that became floats.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, Date32Array, DictionaryArray, Float32Array, Float64Array, Int8Array, Int64Array,
    RecordBatch, StringArray, UInt64Array, new_null_array,
};
use arrow_ipc::writer::FileWriter;
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use subgcon::graph::Ids;
use subgcon::io::import::Table;

use crate::harness::{Imported, import};
use crate::{Folder, without_folder};

type Columns<'a> = &'a [(&'a str, ArrayRef)];

fn batch(columns: Columns<'_>) -> RecordBatch {
    RecordBatch::try_from_iter(columns.iter().cloned()).unwrap()
}

fn arrow(folder: &Folder, name: &str, columns: Columns<'_>) -> PathBuf {
    let (batch, mut bytes) = (batch(columns), Vec::new());
    let mut writer = FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    folder.write(&format!("{name}.arrow"), bytes)
}

fn parquet(folder: &Folder, name: &str, columns: Columns<'_>) -> PathBuf {
    let (batch, mut bytes) = (batch(columns), Vec::new());
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    folder.write(&format!("{name}.parquet"), bytes)
}

fn ints(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

/// A dictionary column; a key of `None` is a null row.
fn dictionary(keys: &[Option<i8>], values: ArrayRef) -> ArrayRef {
    Arc::new(DictionaryArray::<Int8Type>::new(Int8Array::from(keys.to_vec()), values))
}

fn edges(columns: Columns<'_>) -> Result<Imported, String> {
    let folder = Folder::new();
    let table = Table { edges: vec![arrow(&folder, "edges", columns)], ..Table::default() };
    import(|store| table.import(store)).map_err(|error| without_folder(&error.to_string()))
}

type Write = fn(&Folder, &str, Columns<'_>) -> PathBuf;

/// Nodes 0 to 3 with these columns beside their ids, and one edge.
fn nodes(write: Write, columns: Columns<'_>, more: Table) -> Result<Imported, String> {
    let folder = Folder::new();
    let ids = [("id", ints(&[0, 1, 2, 3]))];
    let table = Table {
        edges: vec![folder.write("edges.csv", "src,dst\n0,1\n")],
        nodes: Some(write(&folder, "nodes", &[&ids, columns].concat())),
        ..more
    };
    import(|store| table.import(store)).map_err(|error| without_folder(&error.to_string()))
}

fn labels(write: Write, column: ArrayRef) -> Result<(Vec<i32>, Vec<String>), String> {
    let got = nodes(write, &[("label", column)], Table::default())?;
    Ok((got.classes(), got.class_names()))
}

fn shown(ids: &Ids) -> Vec<String> {
    (0..ids.len() as u32).map(|node| ids.text(node)).collect()
}

#[test]
fn an_id_whose_dictionary_value_is_null_is_refused() {
    let holed: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("b")]));
    let sources = dictionary(&[Some(0), Some(1), Some(2)], holed.clone());
    // Left out, row 1 would make the edge a -> y of a -> x and b -> z.
    let error = edges(&[("src", sources), ("dst", texts(&["x", "y", "z"]))]).err().unwrap();
    let expected = "edges.arrow, row 1: column \"src\": the id is missing (null); give every row \
                    an id";
    assert_eq!(error, expected);
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(5), None]));
    let sources = dictionary(&[Some(0), Some(0), Some(1)], numbers.clone());
    let error = edges(&[("src", sources), ("dst", ints(&[1, 2, 3]))]).err().unwrap();
    assert!(error.contains("row 2: column \"src\": the id is missing (null)"), "{error}");
    // A null that no row has does no harm.
    let sources = dictionary(&[Some(0), Some(2)], holed);
    let got = edges(&[("src", sources), ("dst", texts(&["b", "a"]))]).unwrap();
    assert_eq!((shown(&got.ids), got.arcs), (vec!["a".into(), "b".into()], vec![(0, 1), (1, 0)]));
    let got = edges(&[("src", dictionary(&[Some(0)], numbers)), ("dst", ints(&[7]))]).unwrap();
    assert_eq!(shown(&got.ids), ["5", "7"]);
}

#[test]
fn an_empty_id_is_refused() {
    let error = edges(&[("src", texts(&["a", ""])), ("dst", texts(&["b", "c"]))]).err().unwrap();
    let expected = "edges.arrow, row 1: column \"src\": the id is empty; give every row an id";
    assert_eq!(error, expected);
    let sources = dictionary(&[Some(1), Some(0)], texts(&["", "a"]));
    let error = edges(&[("src", sources), ("dst", texts(&["b", "c"]))]).err().unwrap();
    assert!(error.contains("row 1: column \"src\": the id is empty"), "{error}");
}

#[test]
fn ids_may_be_a_dictionary_of_integers() {
    let (keys, folder) = ([Some(1), Some(0), Some(1)], Folder::new());
    let columns = [("src", dictionary(&keys, ints(&[8, 9]))), ("dst", ints(&[8, 9, 9]))];
    for file in [arrow(&folder, "edges", &columns), parquet(&folder, "edges", &columns)] {
        let got =
            import(|store| Table { edges: vec![file], ..Table::default() }.import(store)).unwrap();
        assert_eq!(shown(&got.ids), ["8", "9"]);
        assert_eq!(got.pairs().into_iter().collect::<Vec<_>>(), [(0, 1)]);
    }
    let wide: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX, 4]));
    let sources = |keys: &[Option<i8>]| dictionary(keys, wide.clone());
    let got = edges(&[("src", sources(&[Some(1)])), ("dst", ints(&[6]))]).unwrap();
    assert_eq!(shown(&got.ids), ["4", "6"]);
    let columns = [("src", sources(&[Some(1), Some(0)])), ("dst", ints(&[6, 6]))];
    let error = edges(&columns).err().unwrap();
    assert!(error.contains("row 1: column \"src\": id 18446744073709551615 is larger"), "{error}");
}

#[test]
fn empty_labels_and_splits_are_none() {
    let empty = |values: ArrayRef| {
        let got = nodes(arrow, &[("label", values.clone()), ("split", values)], Table::default());
        let got = got.unwrap();
        assert_eq!((got.classes(), got.class_names()), (vec![0, -1, -1, 0], vec!["test".into()]));
        assert_eq!(got.splits[0].roles, [3, 0, 0, 3]);
    };
    let plain = vec![Some("test"), Some(""), None, Some("test")];
    empty(Arc::new(StringArray::from(plain)));
    empty(dictionary(&[Some(1), Some(0), None, Some(1)], texts(&["", "test"])));
}

#[test]
fn labels_may_be_a_dictionary_of_integers() {
    let keys = [Some(1), Some(0), None, Some(1)];
    for write in [arrow as Write, parquet] {
        let got = labels(write, dictionary(&keys, ints(&[30, 7]))).unwrap();
        assert_eq!(got, (vec![0, 1, -1, 0], vec!["7".into(), "30".into()]));
    }
}

#[test]
fn labels_may_all_be_missing() {
    let unlabelled = |write: Write, column: ArrayRef| {
        let got = nodes(write, &[("label", column)], Table::default()).unwrap();
        assert!(got.labels.is_none());
    };
    for values in [texts(&[]), ints(&[]), new_null_array(&DataType::Null, 0)] {
        unlabelled(arrow, dictionary(&[None; 4], values));
    }
    unlabelled(parquet, dictionary(&[None; 4], texts(&[])));
    let nulls: ArrayRef = Arc::new(StringArray::from(vec![None::<&str>]));
    unlabelled(arrow, dictionary(&[Some(0); 4], nulls));
    unlabelled(arrow, new_null_array(&DataType::Null, 4));
}

#[test]
fn labels_may_be_whole_floats() {
    let column = |values: [Option<f64>; 4]| Arc::new(Float64Array::from(values.to_vec()));
    for write in [arrow as Write, parquet] {
        let whole = column([Some(3.0), Some(f64::NAN), None, Some(-0.0)]);
        let got = labels(write, whole).unwrap();
        assert_eq!(got, (vec![1, -1, -1, 0], vec!["0".into(), "3".into()]));
    }
    let narrow = Float32Array::from(vec![2.0, 2.0, f32::NAN, 1.0]);
    assert_eq!(labels(arrow, Arc::new(narrow)).unwrap().0, [1, 1, -1, 0]);
    // An odd value that no row has does no harm.
    let values: ArrayRef = Arc::new(Float64Array::from(vec![0.5, 4.0]));
    let categories = dictionary(&[Some(1), None, Some(1), Some(1)], values);
    assert_eq!(labels(arrow, categories).unwrap().1, ["4"]);
    for (value, reason) in [
        (2.5, "label 2.5 is not a whole number; store labels as integers or text"),
        (f64::INFINITY, "label inf is not a whole number"),
        (1e17, "label 100000000000000000 is too large"),
    ] {
        let error = labels(arrow, column([None, Some(1.0), Some(value), None])).unwrap_err();
        let expected = format!("nodes.arrow, row 2: column \"label\": {reason}");
        assert!(error.starts_with(&expected), "{error}");
    }
    let large = Float32Array::from(vec![0.0, 16_777_216.0, 0.0, 16_777_218.0]);
    let error = labels(arrow, Arc::new(large)).unwrap_err();
    assert!(error.contains("row 3: column \"label\": label 16777218 is too large"), "{error}");
    let days: ArrayRef = Arc::new(Date32Array::from(vec![1; 4]));
    let error = labels(arrow, days).unwrap_err();
    assert!(error.contains("labels of type Date32; store labels as"), "{error}");
}

#[test]
fn a_dictionary_of_numbers_is_a_feature_where_it_is_chosen() {
    let halves: ArrayRef = Arc::new(Float64Array::from(vec![0.5, 2.0]));
    let column = [("f", dictionary(&[Some(1), Some(0), Some(0), Some(1)], halves.clone()))];
    let chosen = || Table { feature_columns: vec!["f".into()], ..Table::default() };
    let got = nodes(arrow, &column, chosen()).unwrap();
    assert_eq!(got.rows.concat(), [(0, 2.0), (0, 0.5), (0, 0.5), (0, 2.0)]);
    assert_eq!(nodes(arrow, &column, Table::default()).unwrap().width, 0);
    let column = [("f", dictionary(&[Some(1), None, Some(0), Some(1)], halves))];
    let error = nodes(arrow, &column, chosen()).err().unwrap();
    assert!(error.contains("row 1: column \"f\": the value is missing (null)"), "{error}");
}

#[test]
fn bad_features_name_their_column_and_repeated_ids_both_rows() {
    let age: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN, 3.0, 4.0]));
    for write in [arrow as Write, parquet] {
        let columns = [("size", ints(&[4, 5, 6, 7])), ("age", age.clone())];
        let told = nodes(write, &columns, Table::default()).err().unwrap();
        assert!(told.contains(", row 1: feature \"age\" is NaN; "), "{told}");
        let table = Table { id_column: Some("own".into()), ..Table::default() };
        let told = nodes(write, &[("own", ints(&[0, 1, 0, 2]))], table).err().unwrap();
        assert!(told.contains(", row 2: node id \"0\" stands twice: first in row 0; "), "{told}");
    }
}
