//! Damaged tables of every format are refused or read, never a panic, and
//! never more memory than the file can account for.
//!
//! SUBGCON_MUTATIONS sets the number of mutations of each file.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, FixedSizeListArray, Float32Array, Int64Array, RecordBatch, StringArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use subgcon::io::import::Table;
use subgcon::rng::Stream;

use crate::Folder;
use crate::harness::import;

fn tables() -> (RecordBatch, RecordBatch) {
    let id = |i: usize| format!("node {}", i % 20);
    let column = |of: fn(usize) -> usize| -> ArrayRef {
        Arc::new(StringArray::from_iter_values((0..60).map(|i| id(of(i)))))
    };
    let weight: ArrayRef = Arc::new(Float32Array::from_iter_values((0..60).map(|i| i as f32)));
    let edges = RecordBatch::try_from_iter([
        ("src", column(|i| i)),
        ("dst", column(|i| i * 7 + 1)),
        ("weight", weight),
    ]);
    let ids: ArrayRef = Arc::new(StringArray::from_iter_values((0..20).map(id)));
    let labels: ArrayRef =
        Arc::new(Int64Array::from_iter((0..20).map(|i| (i > 3).then_some(i % 3))));
    let values = Arc::new(Float32Array::from_iter_values((0..80).map(|i| (i % 5) as f32)));
    let field = Arc::new(Field::new("item", DataType::Float32, true));
    let lists: ArrayRef = Arc::new(FixedSizeListArray::new(field, 4, values, None));
    let nodes = RecordBatch::try_from_iter([("id", ids), ("label", labels), ("features", lists)]);
    (edges.unwrap(), nodes.unwrap())
}

fn parquet(batch: &RecordBatch, compression: Compression) -> Vec<u8> {
    let settings = WriterProperties::builder().set_compression(compression).build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(settings)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn arrow(batch: &RecordBatch, compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut bytes = Vec::new();
    let mut writer =
        FileWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    bytes
}

fn csv(packed: bool, nodes: bool) -> Vec<u8> {
    let text = if nodes {
        let rows = (0..20).map(|i| format!("node {i},{},\"{} 0 1.5 2\",train\n", i % 3, i));
        format!("id,label,features,split\n{}", rows.collect::<String>())
    } else {
        let row = |i: usize| format!("node {},\"node {}\",{}\n", i % 20, (i * 7 + 1) % 20, i);
        format!("src,dst,weight\n{}", (0..60).map(row).collect::<String>())
    };
    if !packed {
        return text.into_bytes();
    }
    use std::io::Write;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(text.as_bytes()).unwrap();
    packer.finish().unwrap()
}

fn mutated(bytes: &[u8], stream: &mut Stream) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=stream.below(3) {
        let place = stream.below(bytes.len() as u64 + 1) as usize;
        match stream.below(6) {
            0 => bytes.truncate(place.max(1)),
            1 => bytes.insert(place, stream.bits() as u8),
            2 => {
                let end = bytes.len().min(place + stream.below(40) as usize);
                bytes.drain(place..end);
            }
            3 => {
                // A length or an offset, made extreme.
                let extreme = [u64::MAX, 1 << 62, 1 << 40, 1 << 31, 0xffff_ff7f, 0];
                let value = extreme[stream.below(6) as usize].to_le_bytes();
                let end = bytes.len().min(place + 1 + stream.below(8) as usize);
                bytes[place..end].copy_from_slice(&value[..end - place]);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(place) {
                    *byte ^= 1 << stream.below(8);
                }
            }
        }
        if bytes.is_empty() {
            bytes.push(0);
        }
    }
    bytes
}

fn run(folder: &Path, edges: &str, nodes: &str) -> bool {
    let table = Table {
        edges: vec![folder.join(edges)],
        nodes: Some(folder.join(nodes)),
        create_missing: true,
        ..Table::default()
    };
    import(|store| table.import(store)).is_ok()
}

#[test]
fn damaged_tables_never_panic() {
    let count: u64 =
        std::env::var("SUBGCON_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let (edges, nodes) = tables();
    let zstd = Compression::ZSTD(Default::default());
    let files: [(&str, Vec<u8>, Vec<u8>); 7] = [
        ("csv", csv(false, false), csv(false, true)),
        ("csv.gz", csv(true, false), csv(true, true)),
        (
            "plain.parquet",
            parquet(&edges, Compression::UNCOMPRESSED),
            parquet(&nodes, Compression::UNCOMPRESSED),
        ),
        (
            "snappy.parquet",
            parquet(&edges, Compression::SNAPPY),
            parquet(&nodes, Compression::SNAPPY),
        ),
        ("zstd.parquet", parquet(&edges, zstd), parquet(&nodes, zstd)),
        ("arrow", arrow(&edges, None), arrow(&nodes, None)),
        (
            "feather",
            arrow(&edges, Some(CompressionType::LZ4_FRAME)),
            arrow(&nodes, Some(CompressionType::ZSTD)),
        ),
    ];
    for (ending, edges, nodes) in files {
        let folder = Folder::new();
        let (e, n) = (format!("e.{ending}"), format!("n.{ending}"));
        folder.write(&e, &edges);
        folder.write(&n, &nodes);
        assert!(run(folder.path(), &e, &n), "{ending}: whole files are read");
        let mut stream = Stream::new(1, ending, 0);
        for round in 0..count {
            let (bytes, name) = if round % 2 == 0 { (&edges, &e) } else { (&nodes, &n) };
            folder.write(name, mutated(bytes, &mut stream));
            run(folder.path(), &e, &n);
            folder.write(name, bytes);
        }
    }
}
