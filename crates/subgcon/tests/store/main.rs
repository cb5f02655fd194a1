//! The store: what goes in comes out, whole or not at all, and damage is found.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::path::Path;

use subgcon::Error;
use subgcon::graph::{
    Duplicates, EdgeChunk, EdgeList, EdgeRules, Features, Ids, Labels, Role, Split,
};
use subgcon::io::store::{FeatureStorage, Origin, Store, StoreOptions, StoreWriter, VERSION};
use subgcon::progress::Silent;

/// Five nodes: a weighted triangle 0-1-2, an edge 2-3, node 4 alone.
fn write(root: &Path, density: f64) -> subgcon::Result<std::path::PathBuf> {
    let path = root.join("small.graph");
    let mut store = StoreWriter::create(&path, StoreOptions::default(), &Silent)?;
    let mut edges = EdgeList::new();
    edges.push(EdgeChunk {
        sources: vec![0, 1, 2, 2, 1, 3],
        targets: vec![1, 2, 0, 3, 0, 3],
        weights: vec![0.5, 2.0, 3.0, 4.0, 0.25, 9.0],
    });
    let ids = Ids::Strings(["a", "b", "é", "d d", ""].into_iter().collect());
    store.topology(&ids, edges)?;
    store.features(8, |sink| {
        for node in 0..5u32 {
            let mut row = [0f32; 8];
            let filled = (8.0 * density) as usize;
            row[..filled].iter_mut().for_each(|x| *x = node as f32);
            sink.dense(&row).map_err(|error| error.at(Path::new("features")))?;
        }
        Ok(())
    })?;
    store.labels(&Labels::from_names(&[Some("x"), None, Some("y"), Some("x"), None]))?;
    let mut split = Split::unused("public", 5);
    split.assign(0, Role::Train).unwrap();
    split.assign(2, Role::Validation).unwrap();
    split.assign(3, Role::Test).unwrap();
    store.splits(&[split.clone(), split])?;
    store.finish(Origin::new("test", ["x/y.csv"]))?;
    Ok(path)
}

fn open_error(path: &Path) -> String {
    Store::open(path).unwrap_err().to_string()
}

fn verify_error(path: &Path) -> String {
    Store::open(path).and_then(|store| store.verify(&Silent)).unwrap_err().to_string()
}

#[test]
fn what_goes_in_comes_out() {
    for (density, storage) in [(0.125, FeatureStorage::Sparse), (0.5, FeatureStorage::Dense)] {
        let root = tempfile::tempdir().unwrap();
        let path = write(root.path(), density).unwrap();
        let store = Store::open(&path).unwrap();
        store.verify(&Silent).unwrap();
        let adjacency = store.adjacency().unwrap();
        assert_eq!(&adjacency.offsets[..], [0, 2, 4, 7, 8, 8]);
        assert_eq!(&adjacency.neighbours[..], [1, 2, 0, 2, 0, 1, 3, 2]);
        let weights = adjacency.weights.as_ref().unwrap();
        assert_eq!(&weights[..], [0.5, 3.0, 0.5, 2.0, 3.0, 2.0, 4.0, 4.0]);
        let manifest = store.manifest();
        assert_eq!((manifest.nodes, manifest.edges, manifest.arcs), (5, 4, 8));
        assert_eq!((manifest.dropped.self_loops, manifest.dropped.duplicates), (1, 0));
        assert_eq!(manifest.dropped.mirrored, 3, "0-1 was given both ways");
        assert_eq!(manifest.origin.files, ["y.csv"]);
        let ids = store.ids().unwrap();
        assert_eq!((0..5).map(|n| ids.text(n)).collect::<Vec<_>>(), ["a", "b", "é", "d d", ""]);
        assert_eq!(ids.find("é"), Some(2));
        let entry = manifest.features.as_ref().unwrap();
        assert_eq!((entry.storage, entry.width, entry.zero_rows), (storage, 8, 1));
        match store.features().unwrap().unwrap() {
            Features::Dense { values, width: 8 } => {
                assert_eq!(values[8..16], [1., 1., 1., 1., 0., 0., 0., 0.]);
            }
            Features::Sparse(matrix) => assert_eq!(matrix.row(3), (&[0u32][..], &[3f32][..])),
            other => panic!("{other:?}"),
        }
        assert_eq!(store.labels().unwrap().unwrap().names(), ["x", "y"]);
        assert_eq!(store.splits().unwrap()[1].counts(), [1, 1, 1]);
    }
}

#[test]
fn rows_may_come_either_way_and_are_kept_by_density() {
    for (columns, storage) in [(1, FeatureStorage::Sparse), (7, FeatureStorage::Dense)] {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x.graph");
        let mut store = StoreWriter::create(&path, StoreOptions::default(), &Silent).unwrap();
        store.topology(&Ids::Range(2), EdgeList::from_iter([(0, 1)])).unwrap();
        store
            .features(8, |sink| {
                // Out of order, one column twice, one value that cancels out.
                let mut entries: Vec<(u32, f32)> = (0..columns).rev().map(|c| (c, 1.0)).collect();
                entries.extend([(0, 2.0), (7, 5.0), (7, -5.0)]);
                let (columns, values): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
                sink.sparse(&columns, &values).unwrap();
                sink.dense(&[0.0; 8]).unwrap();
                Ok(())
            })
            .unwrap();
        store.finish(Origin::default()).unwrap();
        let store = Store::open(&path).unwrap();
        store.verify(&Silent).unwrap();
        let entry = store.manifest().features.as_ref().unwrap();
        assert_eq!((entry.storage, entry.nonzeros, entry.zero_rows), (storage, columns.into(), 1));
        let first = match store.features().unwrap().unwrap() {
            Features::Dense { values, .. } => values[0],
            Features::Sparse(matrix) => matrix.row(0).1[0],
        };
        assert_eq!(first, 3.0);
    }
}

#[test]
fn the_same_graph_has_the_same_fingerprint_and_bytes() {
    let make = |order: &[(u32, u32)], threads| {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x.graph");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut store = StoreWriter::create(&path, StoreOptions::default(), &Silent).unwrap();
            store.topology(&Ids::Range(4), order.iter().copied().collect()).unwrap();
            store.finish(Origin::default()).unwrap()
        })
    };
    let one = make(&[(0, 1), (1, 2), (3, 0)], 1);
    let two = make(&[(3, 0), (2, 1), (0, 1)], 2);
    assert_eq!(one.fingerprint, two.fingerprint);
    assert_eq!(one.arrays, two.arrays);
    assert_ne!(one.fingerprint, make(&[(0, 1), (1, 2)], 1).fingerprint);
}

#[test]
fn sums_and_directions_are_options() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.graph");
    let edges = EdgeRules { directed: true, duplicates: Duplicates::Sum };
    let options = StoreOptions { edges, ..StoreOptions::default() };
    let mut store = StoreWriter::create(&path, options, &Silent).unwrap();
    store.topology(&Ids::Range(3), EdgeList::from_iter([(0, 1), (0, 1), (2, 0)])).unwrap();
    store.finish(Origin::default()).unwrap();
    let store = Store::open(&path).unwrap();
    store.verify(&Silent).unwrap();
    let adjacency = store.adjacency().unwrap();
    assert_eq!((adjacency.neighbours(0), adjacency.weights(0)), (&[1][..], Some(&[2.0][..])));
    assert_eq!((adjacency.degree(1), store.manifest().edges), (0, 2));
}

#[test]
fn bad_features_are_refused_with_their_place_and_leave_nothing() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.graph");
    let attempt = |rows: &dyn Fn(&mut subgcon::io::store::FeatureSink) -> subgcon::Result<()>| {
        let mut store = StoreWriter::create(&path, StoreOptions::default(), &Silent).unwrap();
        store.topology(&Ids::Range(2), EdgeList::from_iter([(0, 1)])).unwrap();
        let error = store.features(2, rows).unwrap_err().to_string();
        drop(store);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0, "nothing is left");
        error
    };
    let file = Path::new("x.npy");
    let error = attempt(&|sink| sink.dense(&[0., 1., 2., f32::NAN]).map_err(|e| e.at(file)));
    assert!(error.starts_with("x.npy, row 1: feature 1 is NaN; "), "{error}");
    let error = attempt(&|sink| sink.sparse(&[1], &[f32::INFINITY]).map_err(|e| e.at(file)));
    assert!(error.starts_with("x.npy, row 0: feature 1 is inf; "), "{error}");
    let error = attempt(&|sink| sink.sparse(&[2], &[1.0]).map_err(|e| e.at(file)));
    assert!(error.starts_with("x.npy, row 0: feature column 2 is outside 0 to 1; "), "{error}");
    let error = attempt(&|sink| sink.dense(&[0., 1.]).map_err(|e| e.at(file)));
    assert!(error.contains("1 feature rows for 2 nodes"), "{error}");
}

#[test]
fn an_empty_graph_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.graph");
    let mut store = StoreWriter::create(&path, StoreOptions::default(), &Silent).unwrap();
    let error = store.topology(&Ids::Range(0), EdgeList::new()).unwrap_err();
    assert!(error.to_string().contains("would be empty"), "{error}");
}

#[test]
fn every_truncated_array_is_found_on_opening() {
    let root = tempfile::tempdir().unwrap();
    let path = write(root.path(), 0.125).unwrap();
    let names: Vec<String> =
        Store::open(&path).unwrap().manifest().arrays.keys().cloned().collect();
    assert_eq!(names.len(), 9);
    for name in names {
        let file = path.join(&name);
        let whole = fs::read(&file).unwrap();
        fs::write(&file, &whole[..whole.len() - 1]).unwrap();
        let error = open_error(&path);
        assert!(error.contains(&name) && error.contains("import the graph again"), "{error}");
        fs::remove_file(&file).unwrap();
        assert!(open_error(&path).contains("cannot open"), "{name}");
        fs::write(&file, whole).unwrap();
    }
    Store::open(&path).unwrap();
}

#[test]
fn every_changed_byte_is_found_by_verifying_and_none_crashes() {
    for density in [0.125, 0.5] {
        let root = tempfile::tempdir().unwrap();
        let path = write(root.path(), density).unwrap();
        let names: Vec<String> =
            Store::open(&path).unwrap().manifest().arrays.keys().cloned().collect();
        for name in names {
            let file = path.join(&name);
            let whole = fs::read(&file).unwrap();
            for place in 0..whole.len() {
                let mut changed = whole.clone();
                changed[place] ^= 0xff;
                fs::write(&file, &changed).unwrap();
                // Without verifying, a changed file may be used; it must not crash.
                if let Ok(store) = Store::open(&path) {
                    if let Ok(adjacency) = store.adjacency() {
                        subgcon::graph::degrees(adjacency);
                        subgcon::graph::components(adjacency);
                    }
                    let _ = store.features().map(|f| f.map(|f| (f.nonzeros(), f.zero_rows())));
                    let _ = store.labels().map(|l| l.map(Labels::class_sizes));
                    let _ = store.splits();
                    let _ = store.ids();
                }
                let error = verify_error(&path);
                assert!(error.contains("damaged"), "{name} byte {place}: {error}");
            }
            fs::write(&file, whole).unwrap();
        }
    }
}

#[test]
fn changed_contents_with_mended_checksums_are_found_by_their_invariants() {
    let root = tempfile::tempdir().unwrap();
    let path = write(root.path(), 0.125).unwrap();
    let text = fs::read_to_string(path.join("manifest.json")).unwrap();
    // (file, element, new bytes, what the message says)
    let cases: [(&str, usize, &[u8], &str); 8] = [
        ("neighbours.npy", 0, &2u32.to_le_bytes(), "does not rise"),
        ("neighbours.npy", 0, &9u32.to_le_bytes(), "outside"),
        ("neighbours.npy", 7, &1u32.to_le_bytes(), "one way only"),
        ("weights.npy", 0, &7f32.to_le_bytes(), "two weights"),
        ("weights.npy", 0, &f32::NAN.to_le_bytes(), "weight NaN"),
        ("offsets.npy", 1, &9u64.to_le_bytes(), "falls"),
        ("labels.npy", 0, &5i32.to_le_bytes(), "no class"),
        ("splits.npy", 0, &[4u8], "no role"),
    ];
    for (name, element, bytes, message) in cases {
        let file = path.join(name);
        let whole = fs::read(&file).unwrap();
        let mut changed = whole.clone();
        let place = 128 + element * bytes.len();
        changed[place..place + bytes.len()].copy_from_slice(bytes);
        fs::write(&file, &changed).unwrap();
        let old = blake3::hash(&whole).to_hex().to_string();
        let new = blake3::hash(&changed).to_hex().to_string();
        let mut mended: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(mended["arrays"][name]["blake3"], old, "checksums are those of b3sum");
        mended["arrays"][name]["blake3"] = new.into();
        mended["fingerprint"] = "".into();
        fs::write(path.join("manifest.json"), mended.to_string()).unwrap();
        // The fingerprint is checked too, so it has to be found out first.
        let error = verify_error(&path);
        assert!(error.contains("fingerprint"), "{error}");
        let contents = Store::open(&path).and_then(|store| store.verify_contents());
        let error = contents.unwrap_err().to_string();
        assert!(error.contains(message), "{name}: {error}");
        fs::write(&file, whole).unwrap();
    }
}

#[test]
fn manifests_of_other_kinds_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let path = write(root.path(), 0.5).unwrap();
    let manifest = path.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let newer =
        text.replace("\"version\": 1", &format!("\"version\": {}, \"new\": 1", VERSION + 1));
    let cases = [
        (newer, "install a newer subgcon"),
        (text.replace("subgcon-graph", "something"), "says its format is \"something\""),
        (text[..text.len() / 2].to_owned(), "cannot be read"),
        (text.replace("\"nodes\": 5", "\"nodes\": 50"), "offsets.npy"),
        (text.replace("\"nodes\": 5", "\"nodes\": 0"), "claims 0 nodes"),
        (text.replace("\"nodes\": 5", "\"nodes\": 99999999999"), "claims 99999999999 nodes"),
        (text.replace("\"splits.npy\"", "\"../splits.npy\""), "outside the store"),
        (text.replace("\"splits.npy\"", "\"splat.npy\""), "does not list splits.npy"),
        (text.replace("\"classes\": 2", "\"classes\": 3"), "3 classes, 2 names"),
        (String::new(), "cannot be read"),
    ];
    for (changed, message) in cases {
        fs::write(&manifest, changed).unwrap();
        let error = open_error(&path);
        assert!(error.contains(message), "{message}: {error}");
    }
    fs::remove_file(&manifest).unwrap();
    assert!(open_error(&path).contains("not a graph store"));
    assert!(matches!(Store::open(&root.path().join("none")), Err(Error::Io { .. })));
}

#[test]
fn a_store_of_version_1_stays_readable() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store/version-1.graph");
    let store = Store::open(&path).unwrap();
    store.verify(&Silent).unwrap();
    assert_eq!((store.manifest().nodes, store.manifest().edges), (5, 4));
    assert_eq!(store.manifest().fingerprint, "a7cb10423a9b3d35e6c13a0e18d0f095");
    assert_eq!(store.ids().unwrap().text(3), "d d");
}

/// Writes a file of the store and makes the manifest's entry fit.
fn replace_with_checksum(path: &Path, name: &str, bytes: &[u8]) {
    fs::write(path.join(name), bytes).unwrap();
    let text = fs::read_to_string(path.join("manifest.json")).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    manifest["arrays"][name]["blake3"] = blake3::hash(bytes).to_hex().to_string().into();
    manifest["arrays"][name]["bytes"] = bytes.len().into();
    fs::write(path.join("manifest.json"), manifest.to_string()).unwrap();
}

#[test]
fn hostile_ids_with_a_fitting_checksum_are_refused_or_read() {
    let root = tempfile::tempdir().unwrap();
    let path = write(root.path(), 0.5).unwrap();
    let whole = fs::read(path.join("ids.arrow")).unwrap();
    for place in 0..whole.len() {
        for value in [0x00, 0x7f, 0xff] {
            let mut changed = whole.clone();
            changed[place] = value;
            replace_with_checksum(&path, "ids.arrow", &changed);
            let _ = Store::open(&path).and_then(|store| store.verify(&Silent));
        }
    }
}

#[test]
fn a_manifest_that_describes_something_else_is_found_by_verifying() {
    let root = tempfile::tempdir().unwrap();
    let path = write(root.path(), 0.5).unwrap();
    let manifest = path.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let whole: serde_json::Value = serde_json::from_str(&text).unwrap();
    let change = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut changed = whole.clone();
        change(&mut changed);
        fs::write(&manifest, changed.to_string()).unwrap();
        verify_error(&path)
    };
    let told = change(&|m| m["ids"]["contiguous"] = true.into());
    assert!(told.contains("not as contiguous"), "{told}");
    let told = change(&|m| m["ids"]["kind"] = "integer".into());
    assert!(told.contains("holds no integers"), "{told}");
    for part in ["features", "labels"] {
        let told = change(&|m| m[part] = serde_json::Value::Null);
        assert!(told.contains("and describes"), "{part}: {told}");
    }
    let told = change(&|m| m["splits"] = serde_json::json!([]));
    assert!(told.contains("and describes"), "{told}");
    let told = change(&|m| m["version"] = (1u64 << 40).into());
    assert!(told.contains("install a newer subgcon"), "{told}");
    let told = change(&|m| m["version"] = 0.into());
    assert!(told.contains("no store has"), "{told}");
    let told = change(&|m| m["features"]["width"] = (1u64 << 63).into());
    assert!(told.contains("no store has"), "{told}");
    let told = change(&|m| m["arrays"]["ids.arrow"]["bytes"] = u64::MAX.into());
    assert!(told.contains("2^64"), "{told}");
}
