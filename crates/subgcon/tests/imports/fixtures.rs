//! Files that Python's own tools wrote (see `fixtures/make_fixtures.py`, which
//! also fixes the expected values).

use std::path::PathBuf;

use crate::harness::{Imported, import};
use subgcon::error::Result;
use subgcon::io::import::{Npz, Planetoid};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

const PAIRS: [(u32, u32); 6] = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 6)];

/// Features of node v: 1 at v mod 5, 0.5 at (v + 2) mod 5; none at node 5.
fn expected_rows() -> Vec<Vec<(u32, f32)>> {
    let row = |node: u32| {
        let mut row = vec![(node % 5, 1.0), ((node + 2) % 5, 0.5)];
        row.sort_by_key(|entry| entry.0);
        row
    };
    (0..7).map(|node| if node == 5 { vec![] } else { row(node) }).collect()
}

fn npz(name: &str, features: Option<&str>, labels: Option<&str>) -> Result<Imported> {
    let place = |name: &str| fixture(&format!("npz/{name}"));
    let source =
        Npz { file: place(name), features: features.map(place), labels: labels.map(place) };
    import(|store| source.import(store))
}

fn check_graph(got: &Imported) {
    assert_eq!(got.ids.len(), 7);
    assert_eq!(got.pairs().into_iter().collect::<Vec<_>>(), PAIRS);
}

#[test]
fn planetoid_pickles() {
    let source = Planetoid { dir: fixture("planetoid"), name: "toy".into() };
    let got = import(|store| source.import(store)).unwrap();
    check_graph(&got);
    assert_eq!((got.dropped.self_loops, got.dropped.duplicates), (1, 1));
    assert_eq!((got.width, &got.rows), (5, &expected_rows()));
    assert_eq!(got.classes(), [0, 1, 2, 0, 1, -1, 2]);
    assert_eq!(got.splits[0].roles, [1, 1, 2, 2, 3, 0, 3]);
    assert_eq!(got.origin.format, "planetoid");
    assert!(got.origin.files.contains(&"ind.toy.allx".to_owned()));
}

#[test]
fn scipy_matrices() {
    for name in ["csr.npz", "csc.npz", "coo.npz", "weighted.npz"] {
        let got = npz(name, Some("features.npz"), Some("labels.npy")).unwrap();
        check_graph(&got);
        assert_eq!(got.dropped.given, 6, "{name}");
        assert!(got.arcs.iter().all(|(a, b)| a < b), "{name} keeps its direction");
        assert_eq!(got.rows, expected_rows());
        assert_eq!(got.classes(), [0, 1, 2, 0, 1, 0, 2]);
    }
    let got = npz("weighted.npz", Some("features.npy"), None).unwrap();
    assert_eq!(got.weights, [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]);
    assert_eq!(got.rows, expected_rows(), "half precision, column order");
    let error = npz("dia.npz", None, None).err().unwrap().to_string();
    assert!(error.contains("\"dia\"") && error.contains("tocsr"), "{error}");
}

#[test]
fn gnn_benchmark_archives() {
    let got = npz("benchmark.npz", None, None).unwrap();
    check_graph(&got);
    assert_eq!(got.rows, expected_rows());
    assert_eq!((got.classes(), got.class_names().len()), (vec![0, 1, 2, 0, 1, 0, 2], 3));
    assert_eq!(got.class_names(), ["1", "2", "3"]);
    let got = npz("benchmark_dense.npz", None, None).unwrap();
    check_graph(&got);
    assert_eq!(got.rows, expected_rows());
    let one_hot = [1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1];
    assert_eq!(got.members(), one_hot);
}

#[test]
fn heterophilous_archives() {
    let got = npz("heterophilous.npz", None, None).unwrap();
    check_graph(&got);
    assert_eq!(got.rows, expected_rows());
    assert_eq!(got.classes(), [0, 1, 2, 0, 1, 0, 2]);
    let names: Vec<&str> = got.splits.iter().map(|split| split.name.as_str()).collect();
    assert_eq!(names, ["0", "1"]);
    assert_eq!(got.splits[0].roles, [1, 1, 2, 2, 3, 0, 3]);
    assert_eq!(got.splits[1].roles, [3, 2, 1, 3, 2, 1, 0]);
}
