//! What the toys hold, by hand.

use crate::harness::{Imported, import};
use crate::toy::{self, EDGES, Toy, npy};
use subgcon::error::Result;
use subgcon::io::import::Npz;

pub fn run(toy: &Toy) -> Result<Imported> {
    let dir = tempfile::tempdir().unwrap();
    toy.write(dir.path());
    import(|store| (toy.import)(dir.path(), store))
}

#[test]
fn every_toy_has_the_same_edges() {
    for toy in toy::all() {
        let got = run(&toy).unwrap_or_else(|error| panic!("{}: {error}", toy.name));
        assert_eq!(got.ids.len(), 7, "{}", toy.name);
        assert_eq!(got.pairs().into_iter().collect::<Vec<_>>(), EDGES, "{}", toy.name);
    }
}

#[test]
fn planetoid_places_rows_by_the_index() {
    let got = run(&toy::planetoid()).unwrap();
    let rows = [(0, 1.0), (1, 1.0), (0, 1.0), (1, 1.0), (1, 4.0), (9, 9.0), (0, 6.0)];
    for (node, expected) in rows.into_iter().enumerate() {
        match node {
            5 => assert!(got.rows[5].is_empty()),
            _ => assert_eq!(got.rows[node], [expected], "node {node}"),
        }
    }
    assert_eq!(got.classes(), [0, 1, 0, 1, 1, -1, 0]);
    assert_eq!(got.splits[0].roles, [1, 1, 2, 2, 3, 0, 3]);
}

#[test]
fn graphsaint_has_many_labels() {
    let got = run(&toy::graphsaint()).unwrap();
    assert_eq!(got.members(), [1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 1, 1, 0]);
    assert_eq!(got.splits[0].roles, [1, 1, 1, 2, 3, 0, 3]);
    assert_eq!(got.rows[6], [(0, 12.0)]);
    let files = ["adj_full.npz", "feats.npy", "class_map.json", "role.json"];
    assert_eq!(got.origin.files, files);
    let bare = toy::graphsaint();
    let bare = files[1..].iter().fold(bare, |toy, file| toy.without(file));
    let got = run(&bare).unwrap();
    assert!(got.width == 0 && got.labels.is_none() && got.splits.is_empty());
}

#[test]
fn graphsage_keeps_text_ids_and_maps_rows() {
    let got = run(&toy::graphsage()).unwrap();
    assert_eq!(got.ids.text(5), "f");
    // Row r holds multiples of three among 2r and 2r + 1; node v has row 6 - v.
    assert_eq!((&got.rows[0], &got.rows[6]), (&vec![(0, 12.0)], &vec![]));
    assert_eq!(got.rows[3], [(0, 6.0)]);
    assert_eq!(got.classes(), [0, 2, 0, -1, -1, -1, 1]);
    assert_eq!(got.class_names(), ["3", "4", "5"]);
    assert_eq!(got.splits[0].roles, [1, 1, 2, 3, 1, 2, 1]);
}

#[test]
fn graphsage_reads_integer_ids_as_ids() {
    let graph = r#"{"nodes": [{"id": 5}, {"id": 0}, {"id": 7}],
                    "edges": [{"source": 5, "target": 0}, {"source": 7, "target": 5}]}"#;
    let toy = toy::graphsage().with("toy-G.json", graph).without("toy-id_map.json");
    let toy = toy.without("toy-feats.npy").with("toy-class_map.json", r#"{"7": 1}"#);
    let got = run(&toy).unwrap();
    assert_eq!(got.arcs, [(0, 1), (2, 0)]);
    assert_eq!((got.ids.text(2), got.classes()), ("7".into(), vec![-1, -1, 0]));
    assert!(got.splits.is_empty());
}

#[test]
fn graphsage_reads_weights_of_links() {
    let links = |weights: [&str; 2]| {
        let [a, b] = weights;
        let graph = format!(
            r#"{{"nodes": [{{"id": 5}}, {{"id": 0}}, {{"id": 7}}],
                 "links": [{{"source": 5, "target": 0{a}}}, {{"source": 7, "target": 5{b}}}]}}"#
        );
        let toy = toy::graphsage().with("toy-G.json", graph).without("toy-feats.npy");
        toy.without("toy-class_map.json")
    };
    let got = run(&links([r#", "weight": 2"#, r#", "weight": 0.5"#])).unwrap();
    assert_eq!((got.arcs, got.weights), (vec![(0, 1), (2, 0)], vec![2.0, 0.5]));
    assert!(run(&links(["", ""])).unwrap().weights.is_empty());
    for (weights, reason) in [
        ([r#", "weight": 2"#, ""], "toy-G.json: link 1 has no weight but others have; give every"),
        (["", r#", "weight": 2"#], "link 0 has no weight"),
        ([r#", "weight": 2"#, r#", "weight": null"#], "link 1 has no weight"),
        ([r#", "weight": 2"#, r#", "weight": -2"#], "the weight -2 of link 1 is negative"),
        ([r#", "weight": 1e300"#, r#", "weight": 1"#], "number out of range"),
        ([r#", "weight": "2""#, r#", "weight": 1"#], "toy-G.json:2: column"),
    ] {
        let error = run(&links(weights)).err().unwrap().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn features_beside_an_archive_may_be_sparse_in_any_order() {
    // Node 3 has 2.5 in column 1 and node 6 has 4 in column 0.
    let (shape, data) = (npy("<i8", &[2], &[7i64, 2]), npy("<f4", &[2], &[4f32, 2.5]));
    let format = |name: &[u8; 3]| npy("|S3", &[], name);
    let ints = |values: &[i32]| npy("<i4", &[values.len()], values);
    let compressed = [("indptr", ints(&[0, 1, 2])), ("indices", ints(&[6, 3]))];
    let coordinates = [("row", ints(&[6, 3])), ("col", ints(&[0, 1]))];
    for (name, parts) in [(b"csc", compressed), (b"coo", coordinates)] {
        let common = [("format", format(name)), ("shape", shape.clone()), ("data", data.clone())];
        let members: Vec<_> =
            common.into_iter().chain(parts).map(|(name, bytes)| (name.to_owned(), bytes)).collect();
        let mut toy = toy::coordinates().with("features.npz", toy::archive(&members));
        toy.import = |dir, store| {
            let features = Some(dir.join("features.npz"));
            Npz { file: dir.join("toy.npz"), features, labels: None }.import(store)
        };
        let got = run(&toy).unwrap();
        assert_eq!((got.width, got.nonzeros()), (2, 2));
        assert_eq!((&got.rows[3], &got.rows[6]), (&vec![(1, 2.5)], &vec![(0, 4.0)]));
    }
}

#[test]
fn archives_hold_features_labels_and_splits() {
    let got = run(&toy::benchmark()).unwrap();
    assert_eq!(got.rows[3], [(0, 2.0), (1, 3.0)]);
    assert_eq!(got.class_names(), ["1", "2", "3"]);
    let got = run(&toy::heterophilous()).unwrap();
    assert_eq!(got.splits[1].roles, [3, 2, 1, 3, 2, 1, 0]);
    let got = run(&toy::coordinates()).unwrap();
    assert_eq!(got.weights, [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]);
}

#[test]
fn ogb_reads_packed_and_plain_text() {
    let got = run(&toy::ogb()).unwrap();
    assert_eq!(got.weights, [1.0, 2.0, 3.0, 0.5, 100.0, 0.25]);
    assert_eq!(got.rows[4], [(0, 0.5), (1, -1.0)]);
    assert_eq!(got.classes(), [0, 1, -1, 2, -1, 1, 0]);
    assert_eq!((got.splits[0].name.as_str(), got.splits.len()), ("time", 1));
    assert_eq!(got.splits[0].roles, [1, 1, 2, 3, 0, 0, 3]);
    let many = "1,0\n0,0\n1,1\n1,0\n0,1\n0,0\n0,0\n";
    let toy = toy::ogb().without("raw/node-label.csv.gz").with("raw/node-label.csv", many);
    assert_eq!(run(&toy).unwrap().members()[..6], [1, 0, 0, 0, 1, 1]);
}

#[test]
fn musae_keeps_ids_in_rising_order() {
    let got = run(&toy::musae()).unwrap();
    assert_eq!((got.ids.text(0), got.ids.text(6)), ("10".into(), "70".into()));
    assert_eq!((got.width, &got.rows[0]), (5, &vec![(0, 1.0), (4, 1.0)]));
    assert_eq!(got.rows[6], [(1, 1.0)]);
    assert_eq!(got.class_names(), ["x", "y"]);
    assert_eq!(got.classes(), [1, 0, 0, -1, 1, 0, 0]);
    let without_target = toy::musae().without("musae_toy_target.csv");
    assert!(run(&without_target).unwrap().labels.is_none());
    let mut other = toy::musae();
    other.import = |dir, store| {
        let label_column = Some("page_name".to_owned());
        subgcon::io::import::Musae { dir: dir.into(), label_column }.import(store)
    };
    assert_eq!(run(&other).unwrap().class_names().len(), 6);
}
