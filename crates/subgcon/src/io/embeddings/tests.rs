mod hostile;

use std::fs;

use super::*;
use crate::io::testing::{names, on_full_disk};
use crate::rng::Stream;

const STATUS: [Status; 4] =
    [Status::Ok, Status::Isolated, Status::NoFeatures, Status::ShortContext];

const FILES: [&str; 3] = ["e.parquet", "e.npy", "e.vec"];

/// Embeddings of some nodes, each number told by its node and column.
pub(super) struct Example {
    ids: Ids,
    nodes: Vec<u32>,
    width: usize,
    values: Vec<f32>,
    status: Vec<Status>,
    context_size: Vec<u32>,
    mass: Vec<f32>,
}

impl Example {
    pub(super) fn of(ids: Ids, width: usize) -> Example {
        let nodes: Vec<u32> = (0..ids.len() as u32).collect();
        Example::some(ids, nodes, width)
    }

    pub(super) fn some(ids: Ids, nodes: Vec<u32>, width: usize) -> Example {
        let value = |node: u32| {
            let mut stream = Stream::new(1, "embedding", node.into());
            (0..width).map(move |_| stream.normal() as f32)
        };
        Example {
            values: nodes.iter().flat_map(|&node| value(node)).collect(),
            status: nodes.iter().map(|&node| STATUS[node as usize % 4]).collect(),
            context_size: nodes.iter().map(|&node| node % 21).collect(),
            mass: nodes.iter().map(|&node| 1.0 / (1.0 + node as f32)).collect(),
            ids,
            nodes,
            width,
        }
    }

    fn rows(&self, start: usize, end: usize) -> EmbeddingRows<'_> {
        EmbeddingRows {
            nodes: &self.nodes[start..end],
            width: self.width,
            values: &self.values[start * self.width..end * self.width],
            status: &self.status[start..end],
            context_size: &self.context_size[start..end],
            mass: &self.mass[start..end],
        }
    }

    fn writer(&self, path: &Path, force: bool) -> Result<EmbeddingWriter<'_>> {
        let format = EmbeddingFormat::of_path(path)?;
        EmbeddingWriter::create(path, format, &self.ids, self.width, self.nodes.len() as u64, force)
    }

    /// Writes in pieces of `step` rows.
    pub(super) fn write(&self, path: &Path, step: usize, force: bool) -> Result<()> {
        let mut writer = self.writer(path, force)?;
        for start in (0..self.nodes.len()).step_by(step) {
            writer.write(&self.rows(start, self.nodes.len().min(start + step)))?;
        }
        writer.finish()
    }
}

pub(super) fn texts(ids: &[&str]) -> Ids {
    Ids::Strings(ids.iter().collect())
}

fn kinds() -> [Ids; 3] {
    [
        Ids::Range(9),
        Ids::from_integers(vec![7, -3, i64::MAX, i64::MIN, 0, 2, 10, 11, 12]),
        texts(&["a", "007", "é", "\\n", "\"", "b,c", "7", "x\u{200b}y", "z"]),
    ]
}

#[test]
fn every_format_gives_back_every_kind_of_id_and_every_bit() {
    let folder = tempfile::tempdir().unwrap();
    for ids in kinds() {
        // Some nodes, in an order of their own.
        let mut example = Example::some(ids, vec![8, 0, 3, 1, 7], 3);
        example.values[..6].copy_from_slice(&[
            0.1,
            -0.0,
            1e-42,
            f32::MAX,
            f32::MIN_POSITIVE,
            16777216.0,
        ]);
        for name in FILES {
            let path = folder.path().join(name);
            example.write(&path, 2, true).unwrap();
            let seen = read_embeddings(&path).unwrap();
            assert_eq!((seen.matrix.rows, seen.matrix.width), (5, 3));
            let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&seen.matrix.values), bits(&example.values), "{name}");
            for (row, &node) in example.nodes.iter().enumerate() {
                assert_eq!(seen.ids.text(row as u32), example.ids.text(node), "{name}");
            }
            let text = |ids: &Ids| matches!(ids, Ids::Strings(_));
            assert_eq!(text(&seen.ids), text(&example.ids), "{name}");
        }
    }
    // The ids of the last kind only: those of the kinds before are cleared away.
    assert_eq!(names(folder.path()), ["e.ids.txt", "e.npy", "e.parquet", "e.vec"]);
}

#[test]
fn word2vec_is_written_as_gensim_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.txt");
    let mut example = Example::of(texts(&["a", "é"]), 3);
    example.values = vec![0.5, -0.25, 1.0, 1e-7, 3e20, 0.1];
    example.write(&path, 1, false).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text, "2 3\na 0.5 -0.25 1.0\né 1e-7 3e20 0.1\n");
}

#[test]
fn parquet_holds_status_size_and_mass() {
    use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float32Type, UInt32Type};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.parquet");
    let example = Example::of(texts(&["a", "b", "c", "d", "e"]), 2);
    example.write(&path, 5, false).unwrap();
    let file = fs::File::open(&path).unwrap();
    let mut reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let batch = reader.next().unwrap().unwrap();
    let schema = batch.schema();
    let fields: Vec<_> =
        schema.fields().iter().map(|f| format!("{} {}", f.name(), f.data_type())).collect();
    assert_eq!(
        fields,
        [
            "id LargeUtf8",
            "embedding FixedSizeList(2 x non-null Float32, field: 'element')",
            "status Utf8",
            "context_size UInt32",
            "mass Float32",
        ],
    );
    assert!(schema.fields().iter().all(|field| !field.is_nullable()));
    let status: Vec<_> = batch.column(2).as_string::<i32>().iter().flatten().collect();
    assert_eq!(status, ["ok", "isolated", "no_features", "short_context", "ok"]);
    assert_eq!(batch.column(3).as_primitive::<UInt32Type>().values(), &example.context_size[..]);
    assert_eq!(batch.column(4).as_primitive::<Float32Type>().values(), &example.mass[..]);
}

/// Two blocks and a rest of Parquet, in pieces that meet their ends and do not.
#[test]
fn bytes_do_not_depend_on_how_rows_arrive() {
    let folder = tempfile::tempdir().unwrap();
    let rows = 2 * 65_536 + 77;
    let example = Example::of(Ids::Range(rows), 1);
    for name in FILES {
        let path = folder.path().join(name);
        let mut first = None;
        for step in [rows as usize, 65_536, 1000, 77, 131_000] {
            example.write(&path, step, true).unwrap();
            let bytes = fs::read(&path).unwrap();
            assert!(*first.get_or_insert(bytes.clone()) == bytes, "{name} in steps of {step}");
        }
        assert_eq!(read_embeddings(&path).unwrap().matrix.values, example.values);
    }
}

#[test]
fn no_rows_are_a_file_too() {
    let folder = tempfile::tempdir().unwrap();
    for name in FILES {
        for ids in kinds() {
            let path = folder.path().join(name);
            Example::some(ids, vec![], 3).write(&path, 1, true).unwrap();
            let seen = read_embeddings(&path).unwrap();
            assert_eq!((seen.ids.len(), seen.matrix.rows, seen.matrix.width), (0, 0, 3), "{name}");
        }
    }
}

#[test]
fn files_appear_whole_or_not_at_all() {
    for name in FILES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let example = Example::of(texts(&["a", "b"]), 2);
        let mut writer = example.writer(&path, false).unwrap();
        writer.write(&example.rows(0, 1)).unwrap();
        assert!(!path.exists());
        drop(writer);
        assert!(names(folder.path()).is_empty(), "{name}");

        example.write(&path, 1, false).unwrap();
        let whole = names(folder.path());
        let old = fs::read(&path).unwrap();
        assert!(matches!(example.write(&path, 1, false), Err(Error::Exists(_))));
        let other = Example::of(Ids::Range(2), 3);
        let mut writer = other.writer(&path, true).unwrap();
        writer.write(&other.rows(0, 2)).unwrap();
        drop(writer);
        assert_eq!(names(folder.path()), whole);
        assert!(fs::read(&path).unwrap() == old, "{name}");
        other.write(&path, 1, true).unwrap();
        assert_eq!(read_embeddings(&path).unwrap().matrix.width, 3);
        assert_eq!(names(folder.path()).len(), whole.len());
    }
}

#[test]
fn ids_of_another_matrix_are_not_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.npy");
    for beside in ["e.ids.npy", "e.ids.txt"] {
        fs::write(folder.path().join(beside), "a\nb\n").unwrap();
        for ids in [Ids::Range(2), texts(&["a", "b"])] {
            let error = Example::of(ids, 2).write(&path, 1, false).unwrap_err();
            assert!(matches!(&error, Error::Exists(path) if path.ends_with(beside)), "{error}");
        }
        fs::remove_file(folder.path().join(beside)).unwrap();
    }
    assert!(names(folder.path()).is_empty());
}

#[test]
fn numbers_that_are_none_are_refused_with_their_id() {
    for name in FILES {
        let folder = tempfile::tempdir().unwrap();
        let mut example = Example::of(texts(&["a", "b"]), 2);
        example.values[3] = f32::NAN;
        let error = example.write(&folder.path().join(name), 1, false).unwrap_err().to_string();
        assert!(
            error.contains("the embedding of node id \"b\" holds NaN in column 1; "),
            "{error}"
        );
        assert!(names(folder.path()).is_empty());
    }
}

#[test]
fn ids_that_a_text_cannot_hold_are_refused_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    for (name, id, problem) in [
        ("e.vec", "a b", "node id \"a b\" has blanks in it, and word2vec's text separates"),
        ("e.vec", "a\u{a0}b", "has blanks in it"),
        ("e.vec", "a\u{1c}", "has blanks in it"),
        ("e.vec", "", "node id \"\" is empty"),
        ("e.npy", "a\nb", "node id \"a\\nb\" has a line break, and ids lie beside .npy as lines"),
        ("e.npy", "a\rb", "has a line break"),
        ("e.npy", "a\u{2028}b", "has a line break"),
    ] {
        let path = folder.path().join(name);
        let example = Example::of(texts(&["x", id]), 2);
        let error = example.writer(&path, false).err().unwrap().to_string();
        assert!(error.contains(problem), "{error}");
        assert!(error.ends_with("; write .parquet, which holds any id"), "{error}");
        // Of some nodes, only their own ids matter.
        Example::some(texts(&["x", id]), vec![0], 2).write(&path, 1, true).unwrap();
        let error = Example::some(texts(&["x", id]), vec![1], 2).write(&path, 1, true).unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
        let path = folder.path().join("e.parquet");
        example.write(&path, 1, true).unwrap();
    }
}

#[test]
fn the_name_tells_the_format() {
    for (name, format) in [
        ("a.parquet", EmbeddingFormat::Parquet),
        ("a.b.NPY", EmbeddingFormat::Npy),
        ("a.txt", EmbeddingFormat::Word2Vec),
        ("a.vec", EmbeddingFormat::Word2Vec),
        ("a.w2v", EmbeddingFormat::Word2Vec),
    ] {
        assert_eq!(EmbeddingFormat::of_path(Path::new(name)).unwrap(), format);
    }
    for name in ["a", "a.csv", "parquet"] {
        let error = EmbeddingFormat::of_path(Path::new(name)).unwrap_err().to_string();
        assert!(error.contains("use .parquet, .npy, or .txt, .vec or .w2v"), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_keeps_the_old_files() {
    if !on_full_disk("io::embeddings::tests::a_full_disk_keeps_the_old_files", 2000) {
        return;
    }
    for name in FILES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let small = Example::of(texts(&["a", "b"]), 2);
        small.write(&path, 1, false).unwrap();
        let before = names(folder.path());
        let error = Example::of(Ids::Range(100_000), 32).write(&path, 10_000, true).unwrap_err();
        assert!(matches!(error, Error::Io { action: "write", .. }), "{error}");
        assert!(error.to_string().contains(&format!("{name}: cannot write: File too large")));
        assert_eq!(names(folder.path()), before);
        assert_eq!(read_embeddings(&path).unwrap().matrix.values, small.values);
    }
}
