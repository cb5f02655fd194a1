//! Tables that were once read wrongly or refused wrongly.

use subgcon::graph::EdgeRules;
use subgcon::io::import::Table;
use subgcon::io::store::{StoreOptions, StoreWriter};
use subgcon::progress::Silent;

use crate::{Folder, import_text, refused};

#[test]
fn an_open_quote_does_not_swallow_the_rest() {
    let told = refused("src,dst\n0,1\n1,\"2\n3,4\n5,6\n", None, Table::default());
    assert!(told.starts_with("edges.csv:3: the quote that opens here is never closed"), "{told}");
    let nodes = "id,label\n0,x\n1,\"y\n";
    let told = refused("src,dst\n0,1\n", Some(nodes), Table::default());
    assert!(told.starts_with("nodes.csv:3: the quote that opens here"), "{told}");
}

#[test]
fn comments_and_blank_lines_are_passed_over_whatever_the_columns() {
    let table = || Table { comment: Some(b'#'), ..Table::default() };
    let got = import_text("type,src,dst\na,0,1\n#x,5,9\nb,1,2\n", None, table()).unwrap();
    assert_eq!(got.arcs, [(0, 1), (1, 2)]);
    let text = "weight,src,dst\n0.5,0,1\n\n# note\n2,1,2\n";
    let got = import_text(text, None, table()).unwrap();
    assert_eq!((got.arcs, got.weights), (vec![(0, 1), (1, 2)], vec![0.5, 2.0]));
}

#[test]
fn a_column_has_one_meaning() {
    let table = Table { weight_column: Some("src".into()), ..Table::default() };
    let told = refused("src,dst\n0,1\n 1,2\n2,3\n", None, table);
    assert!(told.contains("column \"src\" cannot be an end and the weight"), "{told}");
}

#[test]
fn weights_that_are_not_wanted_are_not_read() {
    let folder = Folder::new();
    let table = Table {
        edges: vec![folder.write("edges.csv", "src,dst,weight\n0,1,x\n")],
        ..Table::default()
    };
    let options =
        StoreOptions { unweighted: true, edges: EdgeRules::default(), ..StoreOptions::default() };
    let path = folder.path().join("g.graph");
    let mut store = StoreWriter::create(&path, options, &Silent).unwrap();
    let origin = table.import(&mut store).unwrap();
    assert!(!store.finish(origin).unwrap().weighted);
}

#[test]
fn lines_are_counted_over_every_kind_of_line_end() {
    let nodes = "id,split\r\n0,train\r\n1,holdout\r\n";
    let told = refused("src,dst\n0,1\n", Some(nodes), Table::default());
    assert!(told.starts_with("nodes.csv:3: split"), "{told}");
    let told = refused("src,dst\n\"0\",\"1\"\n\n\n1,2,3\n", None, Table::default());
    assert!(told.starts_with("edges.csv:5: the row has 3 fields"), "{told}");
    let told = refused("src,dst\r0,1\r1,2\r", None, Table::default());
    assert!(told.contains("a carriage return stands without a line feed"), "{told}");
}

#[test]
fn an_empty_first_value_does_not_hide_a_feature() {
    let nodes = "id,f\n0,\n1,2\n";
    let told = refused("src,dst\n0,1\n", Some(nodes), Table::default());
    assert!(told.starts_with("nodes.csv:2: feature \"f\": \"\" is not a number"), "{told}");
}

#[test]
fn only_a_store_is_ever_replaced() {
    let folder = Folder::new();
    let precious = folder.path().join("mydata");
    std::fs::create_dir(&precious).unwrap();
    std::fs::write(precious.join("thesis.txt"), "x").unwrap();
    let file = folder.write("file.txt", "y");
    for target in [&precious, &file] {
        for replace in [true, false] {
            let options = StoreOptions { replace, ..StoreOptions::default() };
            let error = StoreWriter::create(target, options, &Silent).err().unwrap().to_string();
            assert!(error.contains("is no graph store; choose another name"), "{error}");
        }
    }
    assert_eq!(std::fs::read_to_string(precious.join("thesis.txt")).unwrap(), "x");
}

#[test]
fn a_record_without_end_is_refused_before_memory_is() {
    use std::io::Write;
    let folder = Folder::new();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(b"src,dst\n1,").unwrap();
    let block = vec![b'7'; 1 << 20];
    (0..300).for_each(|_| packer.write_all(&block).unwrap());
    let path = folder.write("edges.csv.gz", packer.finish().unwrap());
    let table = Table { edges: vec![path], ..Table::default() };
    let told = crate::harness::import(|store| table.import(store)).err().unwrap().to_string();
    assert!(told.contains("the record is longer than 268435456 bytes"), "{told}");
}

#[test]
fn many_small_batches_are_read_in_little_time() {
    use std::sync::Arc;
    let path = Folder::new();
    let file = path.path().join("edges.arrow");
    let column =
        |x: i64| -> arrow_array::ArrayRef { Arc::new(arrow_array::Int64Array::from(vec![x])) };
    let batch = |i: i64| {
        arrow_array::RecordBatch::try_from_iter([("src", column(i)), ("dst", column(i + 1))])
            .unwrap()
    };
    let out = std::fs::File::create(&file).unwrap();
    let mut writer =
        arrow_ipc::writer::FileWriter::try_new(std::io::BufWriter::new(out), &batch(0).schema())
            .unwrap();
    (0..20_000).for_each(|i| writer.write(&batch(i)).unwrap());
    writer.finish().unwrap();
    drop(writer);
    let table = Table { edges: vec![file], ..Table::default() };
    let started = std::time::Instant::now();
    let got = crate::harness::import(|store| table.import(store)).unwrap();
    assert_eq!(got.arcs.len(), 20_000);
    // A quadratic reader takes minutes in this profile.
    assert!(started.elapsed().as_secs() < 60);
}
