//! One small valid graph in every format, built here byte by byte.
//!
//! Seven nodes, edges 0-1, 0-2, 1-2, 2-3, 3-4, 4-6; two features.

use std::io::{Cursor, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use subgcon::error::Result;
use subgcon::io::import::{GraphSage, GraphSaint, Musae, Npz, Ogb, Planetoid};
use subgcon::io::store::{Origin, StoreWriter};

pub const EDGES: [(u32, u32); 6] = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 6)];

/// A file of a toy: its bytes, or the members of an archive.
#[derive(Clone)]
pub enum Content {
    Plain(Vec<u8>),
    Archive(Vec<(String, Vec<u8>)>),
}

impl Content {
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Content::Plain(bytes) => bytes.clone(),
            Content::Archive(members) => archive(members),
        }
    }
}

/// A valid graph as files in a folder, and how it is imported from there.
#[derive(Clone)]
pub struct Toy {
    pub name: &'static str,
    pub files: Vec<(String, Content)>,
    pub import: fn(&Path, &mut StoreWriter<'_>) -> Result<Origin>,
}

impl Toy {
    pub fn write(&self, dir: &Path) {
        for (name, content) in &self.files {
            let path = dir.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content.bytes()).unwrap();
        }
    }

    /// The same with another file in place of one, or beside the others.
    pub fn with(mut self, name: &str, content: impl Into<Vec<u8>>) -> Toy {
        self.files.retain(|file| file.0 != name);
        self.files.push((name.into(), Content::Plain(content.into())));
        self
    }

    fn members(&mut self, file: &str) -> &mut Vec<(String, Vec<u8>)> {
        let file = self.files.iter_mut().find(|(name, _)| name == file).unwrap();
        let Content::Archive(members) = &mut file.1 else { panic!("an archive") };
        members
    }

    /// The same with another member in place of one.
    pub fn with_member(self, file: &str, member: &str, bytes: Vec<u8>) -> Toy {
        let mut toy = self.without_member(file, member);
        toy.members(file).push((member.into(), bytes));
        toy
    }

    /// The same without a member.
    pub fn without_member(mut self, file: &str, member: &str) -> Toy {
        self.members(file).retain(|(name, _)| name != member);
        self
    }

    /// The same without a file.
    pub fn without(mut self, name: &str) -> Toy {
        self.files.retain(|file| file.0 != name);
        self
    }
}

pub fn npy<T: bytemuck::Pod>(descr: &str, shape: &[usize], values: &[T]) -> Vec<u8> {
    let shape: String = shape.iter().map(|length| format!("{length},")).collect();
    let mut dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    while (10 + dict.len() + 1) % 64 != 0 {
        dict.push(' ');
    }
    dict.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend_from_slice(&(dict.len() as u16).to_le_bytes());
    file.extend_from_slice(dict.as_bytes());
    file.extend_from_slice(bytemuck::cast_slice(values));
    file
}

pub fn archive(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (name, bytes) in members {
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

pub fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn members(list: Vec<(&str, Vec<u8>)>) -> Content {
    Content::Archive(list.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect())
}

fn plain(name: &str, bytes: impl Into<Vec<u8>>) -> (String, Content) {
    (name.to_owned(), Content::Plain(bytes.into()))
}

/// Pickle: a short string.
fn word(text: &str) -> Vec<u8> {
    [b"U", &[text.len() as u8][..], text.as_bytes()].concat()
}

/// Pickle: an array, as Python 2 wrote it.
fn pickled_array(code: &str, shape: &[u8], bytes: &[u8]) -> Vec<u8> {
    let shape: Vec<u8> = shape.iter().flat_map(|&length| [b'K', length]).collect();
    [
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01(",
        &shape[..],
        b"tcnumpy\ndtype\n",
        &word(code),
        b"K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T",
        &(bytes.len() as u32).to_le_bytes(),
        bytes,
        b"tb",
    ]
    .concat()
}

/// Pickle: a whole file with a dense matrix of 32-bit integers.
pub fn pickled_matrix(columns: u8, values: &[i32]) -> Vec<u8> {
    let shape = [(values.len() / usize::from(columns)) as u8, columns];
    let array = pickled_array("i4", &shape, bytemuck::cast_slice(values));
    [b"\x80\x02", &array[..], b"."].concat()
}

/// Pickle: a whole file with a CSR matrix of two columns that has one entry a
/// row, given as (column, value).
pub fn pickled_csr(rows: &[(i32, f32)]) -> Vec<u8> {
    let count = rows.len() as u8;
    let offsets: Vec<i32> = (0..=rows.len() as i32).collect();
    let (indices, data): (Vec<i32>, Vec<f32>) = rows.iter().copied().unzip();
    [
        &b"\x80\x02cscipy.sparse.csr\ncsr_matrix\nq\x01)\x81q\x02}q\x03("[..],
        &word("format"),
        &word("csr"),
        &word("_shape"),
        &[b'K', count, b'K', 2, 0x86],
        &word("indptr"),
        &pickled_array("i4", &[count + 1], bytemuck::cast_slice(&offsets)),
        &word("indices"),
        &pickled_array("i4", &[count], bytemuck::cast_slice(&indices)),
        &word("data"),
        &pickled_array("f4", &[count], bytemuck::cast_slice(&data)),
        b"ub.",
    ]
    .concat()
}

/// Pickle: a whole file with `defaultdict(list)`.
pub fn pickled_graph(lists: &[(u8, &[u8])]) -> Vec<u8> {
    let mut file = b"\x80\x02ccollections\ndefaultdict\nc__builtin__\nlist\n\x85Rq\x01(".to_vec();
    for (node, list) in lists {
        file.extend_from_slice(&[b'K', *node, b']', b'(']);
        list.iter().for_each(|&neighbour| file.extend_from_slice(&[b'K', neighbour]));
        file.push(b'e');
    }
    file.extend_from_slice(b"u.");
    file
}

const LISTS: [(u8, &[u8]); 6] =
    [(0, &[1, 2]), (1, &[0, 2]), (2, &[0, 1, 3]), (3, &[2, 4]), (4, &[3, 6]), (6, &[4])];

/// Nodes 0 to 3 known, 6 and 4 for test, 5 missing.
pub fn planetoid() -> Toy {
    let known = [(0, 1.0), (1, 1.0), (0, 1.0), (1, 1.0)];
    Toy {
        name: "planetoid",
        files: vec![
            plain("ind.toy.x", pickled_csr(&known[..2])),
            plain("ind.toy.allx", pickled_csr(&known)),
            plain("ind.toy.ally", pickled_matrix(2, &[1, 0, 0, 1, 1, 0, 0, 1])),
            plain("ind.toy.tx", pickled_csr(&[(0, 6.0), (1, 4.0)])),
            plain("ind.toy.ty", pickled_matrix(2, &[1, 0, 0, 1])),
            plain("ind.toy.graph", pickled_graph(&LISTS)),
            plain("ind.toy.test.index", "6\n4\n"),
        ],
        import: |dir, store| Planetoid { dir: dir.into(), name: "toy".into() }.import(store),
    }
}

/// The parts of the adjacency, both directions: indptr and indices.
fn csr_parts() -> (Vec<i32>, Vec<i32>) {
    let (mut indptr, mut indices) = (vec![0], Vec::new());
    for node in 0..7 {
        let list = LISTS.iter().find(|list| list.0 == node);
        indices.extend(list.iter().flat_map(|list| list.1).map(|&n| i32::from(n)));
        indptr.push(indices.len() as i32);
    }
    (indptr, indices)
}

fn csr_members(prefix: &str) -> Vec<(String, Vec<u8>)> {
    let (indptr, indices) = csr_parts();
    vec![
        (format!("{prefix}data"), npy("<f4", &[12], &[1f32; 12])),
        (format!("{prefix}indices"), npy("<i4", &[12], &indices)),
        (format!("{prefix}indptr"), npy("<i4", &[8], &indptr)),
        (format!("{prefix}shape"), npy("<i8", &[2], &[7i64, 7])),
    ]
}

fn dense_features() -> Vec<f32> {
    (0..14).map(|i| if i % 3 == 0 { i as f32 } else { 0.0 }).collect()
}

pub fn graphsaint() -> Toy {
    let mut adjacency = csr_members("");
    adjacency.push(("format".into(), npy("|S3", &[], b"csr")));
    let features: Vec<f64> = dense_features().into_iter().map(f64::from).collect();
    let classes = r#"{"0":[1,0],"1":[0,1],"2":[1,1],"3":[0,0],"6":[1,0],"5":[0,1],"4":[1,0]}"#;
    Toy {
        name: "graphsaint",
        files: vec![
            ("adj_full.npz".into(), Content::Archive(adjacency)),
            plain("feats.npy", npy("<f8", &[7, 2], &features)),
            plain("class_map.json", classes),
            plain("role.json", r#"{"tr": [0, 1, 2], "va": [3], "te": [6, 4]}"#),
        ],
        import: |dir, store| GraphSaint { dir: dir.into() }.import(store),
    }
}

/// Text ids "a" to "g"; links by position and by id; features by an id map.
pub fn graphsage() -> Toy {
    let graph = r#"{
        "directed": false, "graph": {"name": "toy"}, "multigraph": false,
        "links": [{"source": 0, "target": 1, "x": [1]}, {"source": "a", "target": "c"},
                  {"source": 1, "target": 2}, {"source": 2, "target": "d"},
                  {"source": 3, "target": 4}, {"source": 4, "target": 6}],
        "nodes": [{"id": "a", "val": false, "test": false, "label": [0]}, {"id": "b"},
                  {"id": "c", "val": true, "test": false}, {"id": "d", "test": true},
                  {"id": "e"}, {"id": "f", "val": true}, {"id": "g"}]
    }"#;
    let map = r#"{"a": 6, "b": 5, "c": 4, "d": 3, "e": 2, "f": 1, "g": 0}"#;
    Toy {
        name: "graphsage",
        files: vec![
            plain("toy-G.json", graph),
            plain("toy-feats.npy", npy("<f4", &[7, 2], &dense_features())),
            plain("toy-id_map.json", map),
            plain("toy-class_map.json", r#"{"a": 3, "b": 5, "c": 3, "g": 4}"#),
        ],
        import: |dir, store| GraphSage { prefix: dir.join("toy") }.import(store),
    }
}

fn npz_toy(name: &'static str, content: Content) -> Toy {
    Toy {
        name,
        files: vec![("toy.npz".into(), content)],
        import: |dir, store| {
            Npz { file: dir.join("toy.npz"), features: None, labels: None }.import(store)
        },
    }
}

pub fn benchmark() -> Toy {
    let mut list = csr_members("adj_");
    list.extend([
        ("attr_data".into(), npy("<f4", &[3], &[1f32, 2.0, 3.0])),
        ("attr_indices".into(), npy("<i4", &[3], &[1i32, 0, 1])),
        ("attr_indptr".into(), npy("<i4", &[8], &[0i32, 1, 1, 1, 3, 3, 3, 3])),
        ("attr_shape".into(), npy("<i8", &[2], &[7i64, 2])),
        ("labels".into(), npy("<i8", &[7], &[1i64, 2, 3, 1, 2, 3, 1])),
        ("class_names".into(), npy("|O", &[2], b"\x80\x02cos\nsystem\n.")),
    ]);
    npz_toy("benchmark", Content::Archive(list))
}

pub fn heterophilous() -> Toy {
    let edges: Vec<i64> = EDGES.iter().flat_map(|&(a, b)| [a.into(), b.into()]).collect();
    let mask = |role: u8| {
        let roles = [1u8, 1, 2, 2, 3, 0, 3, 3, 2, 1, 3, 2, 1, 0];
        npy("|b1", &[2, 7], &roles.map(|r| u8::from(r == role)))
    };
    npz_toy(
        "heterophilous",
        members(vec![
            ("edges", npy("<i8", &[6, 2], &edges)),
            ("node_features", npy("<f4", &[7, 2], &dense_features())),
            ("node_labels", npy("<i8", &[7], &[0i64, 1, 0, 1, 0, 1, 0])),
            ("train_masks", mask(1)),
            ("val_masks", mask(2)),
            ("test_masks", mask(3)),
        ]),
    )
}

pub fn coordinates() -> Toy {
    let (rows, columns): (Vec<u32>, Vec<u32>) = EDGES.into_iter().unzip();
    npz_toy(
        "coordinates",
        members(vec![
            ("format", npy("|S3", &[], b"coo")),
            ("shape", npy("<i8", &[2], &[7i64, 7])),
            ("row", npy("<u4", &[6], &rows)),
            ("col", npy("<u4", &[6], &columns)),
            ("data", npy("<f8", &[6], &[0.5f64, 1.0, 1.5, 2.0, 2.5, 3.0])),
        ]),
    )
}

pub fn ogb() -> Toy {
    let edges: String = EDGES.iter().map(|(a, b)| format!("{a},{b}\n")).collect();
    Toy {
        name: "ogb",
        files: vec![
            plain("raw/num-node-list.csv.gz", gzip("7\n")),
            plain("raw/edge.csv.gz", gzip(&edges)),
            plain("raw/edge_weight.csv", "1\n2\n3\n0.5\n1e2\n0.25\n"),
            plain("raw/node-feat.csv", "1,0\n0,1\n1,0\n0,1\n0.5,-1\n0,0\n1,1\n"),
            plain("raw/node-label.csv.gz", gzip("0\n1\nnan\n2.0\n\n1\n0\n")),
            plain("split/time/train.csv.gz", gzip("0\n1\n")),
            plain("split/time/valid.csv.gz", gzip("2\n")),
            plain("split/time/test.csv", "3\n6\n"),
        ],
        import: |dir, store| Ogb { dir: dir.into() }.import(store),
    }
}

/// Ids 10 to 70.
pub fn musae() -> Toy {
    let edges: String =
        EDGES.iter().map(|(a, b)| format!("{},{}\n", a * 10 + 10, b * 10 + 10)).collect();
    let features =
        r#"{"70": [1], "10": [0, 4], "20": [], "30": [4], "40": [2, 0], "50": [], "60": []}"#;
    let target = "id,page_name,page_type\n20,\"a, b\",x\n10,c,y\n30,\"d\nd\",x\n40,,\n50,e,y\n\
                  70,f,x\n60,g,x\n";
    Toy {
        name: "musae",
        files: vec![
            plain("musae_toy_edges.csv", format!("id_1,id_2\n{edges}")),
            plain("musae_toy_features.json", features),
            plain("musae_toy_target.csv", target),
        ],
        import: |dir, store| Musae { dir: dir.into(), label_column: None }.import(store),
    }
}

pub fn all() -> Vec<Toy> {
    vec![
        planetoid(),
        graphsaint(),
        graphsage(),
        benchmark(),
        heterophilous(),
        coordinates(),
        ogb(),
        musae(),
    ]
}
