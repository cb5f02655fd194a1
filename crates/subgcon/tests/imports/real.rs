//! The real benchmark graphs, where they lie beside the repository: every
//! count against the table in their README.
//!
//! SUBGCON_SHARED_DATA names another folder.

use std::path::PathBuf;

use crate::harness::{Imported, import};
use subgcon::error::Result;
use subgcon::io::import::{GraphSaint, Musae, Npz, Planetoid};
use subgcon::io::store::{Origin, StoreWriter};

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("SUBGCON_SHARED_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: {} is not there", folder.display());
    None
}

/// A row of the README's table.
struct Row {
    nodes: usize,
    edges: usize,
    width: usize,
    /// Share of non-zero entries, in percent to three digits.
    density: f64,
    classes: usize,
    splits: usize,
    split: [usize; 3],
}

fn check(
    name: &str,
    row: &Row,
    run: impl FnOnce(&mut StoreWriter<'_>) -> Result<Origin>,
) -> Imported {
    let got = import(run).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(got.ids.len(), row.nodes, "{name}: nodes");
    assert_eq!(got.pairs().len(), row.edges, "{name}: edges");
    assert_eq!(got.width, row.width, "{name}: features");
    let density = 100.0 * got.nonzeros() as f64 / (row.nodes * row.width) as f64;
    assert!((density - row.density).abs() < 0.000_51, "{name}: density {density}");
    assert_eq!(got.class_names().len(), row.classes, "{name}: classes");
    assert_eq!(got.splits.len(), row.splits, "{name}: splits");
    for split in &got.splits {
        assert_eq!(split.counts(), row.split, "{name}: split {}", split.name);
    }
    got
}

#[rustfmt::skip]
#[test]
fn planetoid() {
    let Some(folder) = folder() else { return };
    let rows = [
        ("cora", Row { nodes: 2708, edges: 5278, width: 1433, density: 1.268, classes: 7, splits: 1, split: [140, 500, 1000] }, 302, 0),
        ("citeseer", Row { nodes: 3327, edges: 4552, width: 3703, density: 0.854, classes: 6, splits: 1, split: [120, 500, 1000] }, 236 - 124, 248),
        ("pubmed", Row { nodes: 19717, edges: 44324, width: 500, density: 10.022, classes: 3, splits: 1, split: [60, 500, 1000] }, 25 - 3, 6),
    ];
    // The README's repeats count a self-loop's second entry; here it is a self-loop.
    for (name, row, repeats, loops) in rows {
        let source = Planetoid { dir: folder.join("planetoid"), name: name.into() };
        let got = check(name, &row, |store| source.import(store));
        assert_eq!((got.dropped.duplicates, got.dropped.self_loops), (repeats, loops), "{name}");
        if name == "citeseer" {
            let missing = [2407, 2489, 2553, 2682, 2781, 2953, 3042, 3063, 3212, 3214, 3250, 3292, 3305, 3306, 3309];
            let unlabelled: Vec<usize> = (0..3327).filter(|&node| got.classes()[node] < 0).collect();
            assert_eq!(unlabelled, missing);
            for node in missing {
                assert!(got.rows[node].is_empty() && got.splits[0].roles[node] == 0, "{node}");
            }
        }
    }
}

#[rustfmt::skip]
#[test]
fn graphsaint() {
    let Some(folder) = folder() else { return };
    let row = Row { nodes: 14755, edges: 222_109, width: 50, density: 1.804, classes: 121, splits: 1, split: [9716, 1825, 3214] };
    let source = GraphSaint { dir: folder.join("ppi-small") };
    let got = check("ppi-small", &row, |store| source.import(store));
    assert_eq!((got.dropped.self_loops, got.dropped.duplicates), (6322, 0));
    let zero_rows = got.rows.iter().filter(|row| row.is_empty()).count();
    assert_eq!(zero_rows, 6410);
    let labels = got.labels.as_ref().unwrap();
    assert_eq!(row.nodes - labels.labelled(), 555);
    let mean = labels.class_sizes().iter().sum::<u64>() as f64 / row.nodes as f64;
    assert!((mean - 36.1).abs() < 0.05, "{mean}");
}

#[rustfmt::skip]
#[test]
fn gnn_benchmark() {
    let Some(folder) = folder() else { return };
    let rows = [
        ("amazon_cs", 13752, 245_861, 767, 34.842, 10),
        ("coauthor_cs", 18333, 81894, 6805, 0.875, 15),
        ("cora_ml", 2995, 8158, 2879, 1.753, 7),
        ("acm", 3025, 13128, 1870, 4.478, 3),
        ("blogcatalog", 5196, 171_743, 8189, 0.868, 6),
    ];
    for (name, nodes, edges, width, density, classes) in rows {
        let row = Row { nodes, edges, width, density, classes, splits: 0, split: [0; 3] };
        let file = folder.join("npz").join(format!("{name}.npz"));
        let source = Npz { file, features: None, labels: None };
        let got = check(name, &row, |store| source.import(store));
        assert_eq!(got.dropped.self_loops, 0, "{name}");
        match name {
            "amazon_cs" => assert_eq!(got.dropped.given, 287_209),
            "cora_ml" => assert_eq!(got.dropped.given, 8416),
            "blogcatalog" => assert_eq!(got.class_names(), ["1", "2", "3", "4", "5", "6"]),
            _ => {}
        }
    }
}

#[rustfmt::skip]
#[test]
fn heterophilous() {
    let Some(folder) = folder() else { return };
    let rows = [
        ("actor", 7600, 26659, 932, 0.579, 5, [3648, 2432, 1520]),
        ("chameleon", 2277, 31371, 2325, 0.551, 5, [1092, 729, 456]),
        ("squirrel", 5201, 198_353, 2089, 0.860, 5, [2496, 1664, 1041]),
        ("cornell", 183, 277, 1703, 5.532, 5, [87, 59, 37]),
        ("texas", 183, 279, 1703, 4.898, 5, [87, 59, 37]),
        ("wisconsin", 251, 450, 1703, 5.628, 5, [120, 80, 51]),
        ("minesweeper", 10000, 39402, 7, 14.286, 2, [5000, 2500, 2500]),
    ];
    for (name, nodes, edges, width, density, classes, split) in rows {
        let row = Row { nodes, edges, width, density, classes, splits: 10, split };
        let file = folder.join("heterophily").join(format!("{name}.npz"));
        let source = Npz { file, features: None, labels: None };
        let got = check(name, &row, |store| source.import(store));
        assert_eq!((got.dropped.self_loops, got.dropped.duplicates), (0, 0), "{name}");
    }
}

#[rustfmt::skip]
#[test]
fn musae() {
    let Some(folder) = folder() else { return };
    let row = Row { nodes: 22470, edges: 170_823, width: 4714, density: 0.297, classes: 4, splits: 0, split: [0; 3] };
    let source = Musae { dir: folder.join("facebook"), label_column: None };
    let got = check("facebook", &row, |store| source.import(store));
    assert_eq!((got.dropped.given, got.dropped.self_loops), (171_002, 179));
    assert_eq!(got.class_names(), ["company", "government", "politician", "tvshow"]);
    assert_eq!(got.labels.unwrap().class_sizes(), [6495, 6880, 5768, 3327]);
}
