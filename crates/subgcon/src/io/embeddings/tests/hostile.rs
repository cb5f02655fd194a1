//! One file for every way a file of embeddings can be wrong.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use arrow_array::builder::{Float32Builder, ListBuilder};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};

use super::super::read_embeddings;
use super::{Example, texts};
use crate::graph::Ids;
use crate::io::npy::header;
use crate::io::testing::{mutated, mutations};
use crate::rng::Stream;

fn refused(path: &Path) -> String {
    let told = read_embeddings(path).unwrap_err().to_string();
    let folder = format!("{}/", path.parent().unwrap().display());
    told.replace(&folder, "")
}

#[test]
fn word2vec() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.vec");
    for (text, problem) in [
        ("", "e.vec:1: \"\" is not the numbers of rows and columns; "),
        ("1 1\na 0.12", "e.vec:2: the file ends inside a line; "),
        ("a 0.5 1\n", "e.vec:1: \"a 0.5 1\" is not the numbers of rows and columns; "),
        ("1 -2\na 1 2\n", "e.vec:1: \"1 -2\" is not the numbers"),
        ("99999999999 2\n", "e.vec: has 99999999999 rows, more than 4294967294; "),
        ("1 0\na\n", "e.vec: has rows without numbers; "),
        ("4000000000 4000000000\na 1\n", "e.vec:2: 1 numbers follow the id, not 4000000000; "),
        ("2 1\na 1\n", "e.vec:3: the file ends after 1 of 2 rows; "),
        ("1 1\na 1\nb 1\n", "e.vec:3: the file goes on after 1 rows; "),
        ("2 1\na 1\n\nb 1\n", "e.vec:3: the line is empty; "),
        ("1 2\na 1\n", "e.vec:2: 1 numbers follow the id, not 2; "),
        ("1 2\na 1 x\n", "e.vec:2: \"x\" is not a number; "),
        ("1 2\na 1 nan\n", "e.vec, row 0: number 1 of the embedding is NaN; "),
        (
            "1 2\na 1 1e39\n",
            "e.vec, row 0: number 1 of the embedding is inf, or more than 32 bits hold; ",
        ),
        ("2 1\na 1\na 2\n", "e.vec: id \"a\" stands twice: in rows 0 and 1; "),
    ] {
        fs::write(&path, text).unwrap();
        let told = refused(&path);
        assert!(told.starts_with(problem), "{text:?}: {told}");
    }
    fs::write(&path, b"1 1\n\xff 1\n").unwrap();
    assert!(refused(&path).starts_with("e.vec:2: the text is not UTF-8; "));
    // The original program ends its lines with a blank, others with a carriage return.
    fs::write(&path, "2 2\r\n</s> 1 2 \r\na 3 4 \n").unwrap();
    assert_eq!(read_embeddings(&path).unwrap().matrix.values, [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn npy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.npy");
    let beside = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    let array = |descr: &str, shape: &[u64], bytes: &[u8]| [&header(descr, shape), bytes].concat();
    for (bytes, problem) in [
        (vec![], "e.npy: ends before its last value; "),
        (array("<f4", &[2], &[0; 8]), "e.npy: has shape (2,) but rows and columns are expected; "),
        (array("<f4", &[1 << 40, 0], &[]), "e.npy: has 1099511627776 rows, more than"),
        (array("<f4", &[2, 0], &[]), "e.npy: has rows without numbers; "),
        (array("<f4", &[2, 1 << 40], &[0; 8]), "e.npy: shape (2, 1099511627776) of <f4 takes"),
        (array("<U1", &[1, 1], &[0; 4]), "e.npy: each value "),
        (array("<f4", &[1, 1], &f32::INFINITY.to_le_bytes()), "e.npy, row 0: number 0 of the"),
    ] {
        beside("e.npy", &bytes);
        let told = refused(&path);
        assert!(told.starts_with(problem), "{told}");
    }
    beside("e.npy", &array("<f4", &[2, 1], &[0; 8]));
    assert!(matches!(read_embeddings(&path).unwrap().ids, Ids::Range(2)), "no ids: numbered");
    for (name, bytes, problem) in [
        ("e.ids.txt", b"a\nb".to_vec(), "e.ids.txt: ends inside a line; "),
        ("e.ids.txt", b"a\n".to_vec(), "e.ids.txt: holds 1 ids for 2 embeddings; "),
        ("e.ids.txt", b"a\na\n".to_vec(), "e.npy: id \"a\" stands twice: in rows 0 and 1; "),
        ("e.ids.txt", b"a\n\xff\n".to_vec(), "e.ids.txt, byte 2: the text is not UTF-8; "),
        ("e.ids.npy", array("<i8", &[3], &[0; 24]), "e.ids.npy: holds 3 ids for 2 embeddings; "),
        ("e.ids.npy", array("<i8", &[2, 1], &[0; 16]), "e.ids.npy: has shape (2, 1) but one"),
        ("e.ids.npy", array("<f4", &[2], &[1; 8]), "e.ids.npy: value [0] is "),
        ("e.ids.npy", array("<i8", &[2], &[0; 16]), "e.npy: id \"0\" stands twice: in rows 0 and"),
    ] {
        beside(name, &bytes);
        let told = refused(&path);
        assert!(told.starts_with(problem), "{told}");
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    beside("e.ids.txt", b"a\r\nb\n");
    assert_eq!(read_embeddings(&path).unwrap().ids.text(1), "b");
    beside("e.ids.npy", &array("<i8", &[2], &[0; 16]));
    assert!(refused(&path).starts_with("e.ids.txt: has ids both in "));
}

fn lists(rows: &[Option<&[f32]>]) -> ArrayRef {
    let mut lists = ListBuilder::new(Float32Builder::new());
    for row in rows {
        if let Some(row) = row {
            lists.values().append_slice(row);
        }
        lists.append(row.is_some());
    }
    Arc::new(lists.finish())
}

fn table(path: &Path, columns: [(&str, ArrayRef); 2]) {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.map(|(name, column)| (name, column, true)),
    );
    let batch = batch.unwrap();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn parquet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.parquet");
    let ids = || -> ArrayRef { Arc::new(StringArray::from(vec!["a", "b"])) };
    let good = || lists(&[Some(&[1.0, 2.0]), Some(&[3.0, 4.0])]);
    let floats = || -> ArrayRef { Arc::new(Float64Array::from(vec![1.0, 2.0])) };
    let gap: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let twice: ArrayRef = Arc::new(Int64Array::from(vec![1, 1]));
    for (columns, problem) in [
        ([("name", ids()), ("embedding", good())], "e.parquet: has no column \"id\"; its columns"),
        ([("id", ids()), ("x", good())], "e.parquet: has no column \"embedding\"; its columns"),
        ([("id", ids()), ("embedding", floats())], "e.parquet: column \"embedding\" is Float64; "),
        ([("id", floats()), ("embedding", good())], "e.parquet, row 0: column \"id\": ids of type"),
        (
            [("id", gap), ("embedding", good())],
            "e.parquet, row 1: column \"id\": the id is missing",
        ),
        ([("id", twice), ("embedding", good())], "e.parquet: id \"1\" stands twice: in rows 0"),
        (
            [("id", ids()), ("embedding", lists(&[Some(&[1.0]), None]))],
            "e.parquet, row 1: column \"embedding\": the list is missing",
        ),
        (
            [("id", ids()), ("embedding", lists(&[Some(&[1.0]), Some(&[1.0, 2.0])]))],
            "e.parquet, row 1: column \"embedding\": the list has 2 numbers, the first one has 1",
        ),
        (
            [("id", ids()), ("embedding", lists(&[Some(&[]), Some(&[])]))],
            "e.parquet: has rows without numbers; ",
        ),
        (
            [("id", ids()), ("embedding", lists(&[Some(&[1.0]), Some(&[f32::NAN])]))],
            "e.parquet, row 1: number 0 of the embedding is NaN; ",
        ),
    ] {
        table(&path, columns);
        let told = refused(&path);
        assert!(told.starts_with(problem), "{problem}\n{told}");
    }
    table(&path, [("id", ids()), ("embedding", good())]);
    assert_eq!(read_embeddings(&path).unwrap().matrix.values, [1.0, 2.0, 3.0, 4.0]);
    fs::write(&path, "PAR1 but nothing more PAR1").unwrap();
    assert!(refused(&path).starts_with("e.parquet: cannot be read as a table ("));
}

#[test]
fn damage_never_panics() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..40).map(|i| format!("node-{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for (name, damaged) in
        [("e.parquet", "e.parquet"), ("e.npy", "e.npy"), ("e.npy", "e.ids.txt"), ("e.vec", "e.vec")]
    {
        let (path, damaged) = (folder.path().join(name), folder.path().join(damaged));
        Example::of(texts(&names), 4).write(&path, 7, true).unwrap();
        let bytes = fs::read(&damaged).unwrap();
        let mut stream = Stream::new(1, name, 0);
        for end in (0..bytes.len()).step_by(bytes.len() / 60 + 1) {
            fs::write(&damaged, &bytes[..end]).unwrap();
            assert!(read_embeddings(&path).is_err(), "{name} cut at {end}");
        }
        for _ in 0..mutations() {
            fs::write(&damaged, mutated(&bytes, &mut stream)).unwrap();
            let _ = read_embeddings(&path);
        }
    }
}
