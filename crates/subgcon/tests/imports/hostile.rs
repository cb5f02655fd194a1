//! One file for each way in which a file can be wrong: refused as the user's
//! fault, with the place, the value and a remedy.

use crate::toy::{self, Toy, gzip, npy, pickled_csr, pickled_graph, pickled_matrix};
use crate::valid::run;
use subgcon::error::Error;

/// Imports, and checks that the refusal is a fault of the input and says so.
fn refused(toy: &Toy, reason: &str) {
    match run(toy) {
        Ok(_) => panic!("{}: accepted what should be refused: {reason}", toy.name),
        Err(error @ Error::Input { .. }) => {
            let text = error.to_string();
            assert!(text.contains(reason), "{}: {text}\nlacks {reason}", toy.name);
        }
        Err(other) => panic!("{}: not a fault of the input: {other}", toy.name),
    }
}

#[test]
fn missing_files_are_named() {
    for file in ["x", "allx", "ally", "tx", "ty", "graph", "test.index"] {
        let name = format!("ind.toy.{file}");
        refused(
            &toy::planetoid().without(&name),
            &format!("{name}: is missing; put the file with"),
        );
    }
    refused(&toy::graphsaint().without("adj_full.npz"), "adj_full.npz: is missing");
    refused(&toy::graphsage().without("toy-G.json"), "toy-G.json: is missing");
    refused(&toy::ogb().without("raw/edge.csv.gz"), "edge.csv.gz: is missing");
    refused(&toy::ogb().without("raw/num-node-list.csv.gz"), "num-node-list.csv.gz: is missing");
    refused(&toy::ogb().without("split/time/valid.csv.gz"), "valid.csv.gz: is missing");
    refused(&toy::musae().without("musae_toy_edges.csv"), "edges.csv: is missing");
    let bare = toy::musae().without("musae_toy_target.csv").without("musae_toy_features.json");
    refused(&bare, "target.csv: is missing, and so is features.json");
}

#[test]
fn truncated_files_are_refused() {
    for toy in toy::all() {
        for (name, content) in toy.files.clone() {
            let bytes = content.bytes();
            let text = name.ends_with(".csv") || name.ends_with(".index");
            // Plain text cut at the end of a line cannot be told from the whole.
            let ends = (0..bytes.len()).filter(|end| end % 7 == 0 || bytes.len() - end < 30);
            for end in ends.filter(|_| !text) {
                let cut = toy.clone().with(&name, &bytes[..end]);
                let outcome = run(&cut);
                assert!(outcome.is_err(), "{}: {name} cut at {end} of {}", toy.name, bytes.len());
            }
        }
    }
}

#[test]
fn planetoid_parts_that_do_not_fit() {
    let with =
        |part: &str, bytes: Vec<u8>| toy::planetoid().with(&format!("ind.toy.{part}"), bytes);
    refused(&with("tx", pickled_csr(&[(0, 1.0)])), "1 rows but there are 2 lines of test.index");
    refused(&with("x", pickled_csr(&[(0, 1.0); 5])), "5 rows, more than the 4 of allx");
    refused(&with("allx", pickled_csr(&[(2, 1.0); 4])), "entry 0 is 2, not below 2");
    refused(&with("allx", pickled_csr(&[(-1, 1.0); 4])), "is -1");
    refused(&with("allx", pickled_csr(&[(0, f32::NAN); 4])), "NaN");
    refused(&with("tx", pickled_csr(&[(0, f32::INFINITY); 2])), "inf");
    refused(&with("ally", pickled_matrix(2, &[1, 0])), "1 rows and 2 columns of classes but 4");
    refused(&with("ty", pickled_matrix(1, &[1, 0])), "1 columns but there are 2 columns of ally");
    refused(&with("ty", pickled_matrix(2, &[1, 1, 0, 1])), "row 0: has more than one class");
    refused(&with("ty", pickled_matrix(2, &[1, 2, 0, 1])), "is 2, which is not 0 or 1");
    refused(&with("graph", pickled_graph(&[(0, &[7])])), "node 7 is not among the 7 nodes");
    refused(&with("graph", pickled_graph(&[(9, &[0])])), "node 9 is not among the 7 nodes");
    refused(&with("graph", pickled_graph(&[(1, &[0]), (1, &[2])])), "two lists for node 1");
    refused(
        &with("test.index", b"6\nsix\n".to_vec()),
        "test.index:2: \"six\" is not a node number",
    );
    refused(&with("test.index", b"6\n\n4\n".to_vec()), "test.index:2: \"\" is not a node number");
    refused(&with("test.index", b"6\n6\n".to_vec()), "node 6 on line 1 and on line 2");
    refused(&with("test.index", b"3\n6\n".to_vec()), "test node 3 is not a node after the 4");
    refused(&with("test.index", b"4\n4000000000\n".to_vec()), "leaves out 3999999995 nodes");
    refused(&with("test.index", b"4\n99999999999\n".to_vec()), "test node 99999999999");
}

#[test]
fn hostile_pickles() {
    let with = |bytes: &[u8]| toy::planetoid().with("ind.toy.graph", bytes);
    refused(&with(b"\x80\x02cos\nsystem\nU\x04true\x85R."), "names the global \"os system\"");
    refused(&with(b"\x80\x02cposix\nsystem\n."), "names the global \"posix system\"");
    refused(&with(b"\x80\x02T\xff\xff\xff\x7fabc."), "claims a text of 2147483647 bytes");
    refused(&with(b"\x80\x02h\x05."), "recalls 5, which was never remembered");
    let deep = [b"\x80\x02", &b"]".repeat(1_000_000)[..], &b"a".repeat(999_999), b"."].concat();
    refused(&with(&deep), "is not a dictionary");
    refused(&toy::planetoid().with("ind.toy.allx", deep), "is not a pickled csr_matrix");
}

#[test]
fn archives_with_wrong_members() {
    let with = |member: &str, bytes| toy::benchmark().with_member("toy.npz", member, bytes);
    refused(
        &with("adj_indptr", npy("<i4", &[8], &[0, 2, 4, 7, 6, 11, 11, 12])),
        "falls from 7 to 6",
    );
    refused(&with("adj_indptr", npy("<i4", &[2], &[0, 12])), "indptr has 2 values");
    refused(&with("adj_indices", npy("<i4", &[12], &[7i32; 12])), "entry 0 is 7, not below 7");
    refused(&with("adj_indices", npy("<i4", &[12], &[-1i32; 12])), "value [0] is -1");
    refused(&with("adj_data", npy("<f4", &[12], &[-1f32; 12])), "weight -1 of entry 0 is negative");
    refused(&with("adj_data", npy("<f4", &[12], &[f32::NAN; 12])), "is not a number");
    refused(&with("adj_data", npy("<f8", &[12], &[1e300f64; 12])), "is infinite");
    refused(&with("adj_data", npy("<f4", &[3], &[1f32; 3])), "12 indices but 3 values");
    refused(&with("adj_data", npy("<U1", &[12], &[0u32; 12])), "text");
    refused(&with("adj_shape", npy("<i8", &[2], &[7i64, 8])), "7 rows and 8 columns");
    refused(&with("adj_shape", npy("<i8", &[2], &[1i64 << 40, 1 << 40])), "at most 2^32 - 2 nodes");
    refused(&with("attr_shape", npy("<i8", &[2], &[7i64, 1])), "not below 1");
    refused(&with("attr_data", npy("<f4", &[3], &[1f32, f32::NAN, 1.0])), "NaN");
    refused(&with("attr_indptr", npy("<i4", &[8], &[0i32, 1, 1, 1, 2, 2, 2, 2])), "ends with 2");
    let short = with("attr_shape", npy("<i8", &[2], &[6i64, 2]));
    refused(
        &short.with_member("toy.npz", "attr_indptr", npy("<i4", &[7], &[0, 1, 1, 1, 3, 3, 3])),
        "6 rows of features but the graph has 7 nodes",
    );
    refused(&with("labels", npy("<i8", &[6], &[0i64; 6])), "6 labels but the graph has 7 nodes");
    refused(&with("labels", npy("|O", &[7], b"\x80\x02cos\nsystem\n.")), "never decoded");
    refused(&with("labels", npy("<f4", &[7], &[0.5f32; 7])), "value [0] is 0.5");
    let overflow = npy("<f4", &[usize::MAX, usize::MAX, 2], &[0f32]);
    refused(&with("labels", overflow), "more values than 2^64");
    refused(&with("labels", npy("<i8", &[1 << 50], &[0i64; 4])), "bytes but 32 follow");
}

/// Noughts pack a thousandfold, so that a few kilobytes can claim any number of rows.
#[test]
fn many_nodes_without_edges_are_refused() {
    const ROWS: usize = 3_000_000;
    let members = |prefix: &str, toy: Toy| {
        let shape = npy("<i8", &[2], &[ROWS as i64; 2]);
        let indptr = npy("<i4", &[ROWS + 1], &vec![0i32; ROWS + 1]);
        let parts =
            [("shape", shape), ("indptr", indptr), ("indices", npy::<i32>("<i4", &[0], &[]))];
        parts.into_iter().chain([("data", npy::<f32>("<f4", &[0], &[]))]).fold(toy, |toy, part| {
            toy.with_member("toy.npz", &format!("{prefix}{}", part.0), part.1)
        })
    };
    let toy = members("adj_", toy::benchmark());
    refused(&toy, "toy.npz[adj_shape]: claims 3000000 nodes but holds only 0 entries");
    let toy = members("attr_", toy::benchmark());
    refused(&toy, "toy.npz[attr_shape]: claims 3000000 rows but holds only 0 entries");
    let few = npy("<i8", &[2], &[7i64; 2]);
    refused(&toy.with_member("toy.npz", "attr_shape", few), "indptr has 3000001 values");
}

#[test]
fn heterophilous_archives_with_wrong_members() {
    let with = |member: &str, bytes| toy::heterophilous().with_member("toy.npz", member, bytes);
    refused(
        &with("val_masks", npy("|b1", &[2, 7], &[1u8; 14])),
        "toy.npz[val_masks]: node 0 is in train and in validation of split 0",
    );
    refused(&with("val_masks", npy("|b1", &[1, 7], &[0u8; 7])), "shape (1, 7) for 7 nodes");
    refused(&with("train_masks", npy("|b1", &[2, 6], &[0u8; 12])), "shape (2, 6) for 7 nodes");
    let nameless = toy::heterophilous().with_member("toy.npz", "train_masks", Vec::new());
    refused(&nameless, "toy.npz[train_masks]: ends before");
    let lacking = toy::heterophilous().without_member("toy.npz", "train_masks");
    refused(&lacking, "toy.npz[train_masks]: is missing");
    refused(&with("edges", npy("<i8", &[1, 2], &[0i64, 7])), "edge 0 has node 7");
    refused(&with("edges", npy("<i8", &[2], &[0i64, 1])), "rows and columns are expected");
    refused(&with("edges", npy("<i8", &[1, 3], &[0i64, 1, 2])), "an edge has two ends");
    refused(&with("node_features", npy("<f4", &[7, 2], &[f32::NAN; 14])), "NaN");
    refused(&with("node_features", npy::<f32>("<f4", &[4_000_000_000, 0], &[])), "single column");
    refused(&with("node_labels", npy("<i8", &[8], &[0i64; 8])), "8 labels");
}

#[test]
fn archives_that_hold_no_graph() {
    refused(&toy::benchmark().with("toy.npz", b"PK\x03\x04".to_vec()), "no readable .npz archive");
    refused(&toy::benchmark().with("toy.npz", Vec::new()), "no readable .npz archive");
    let other = toy::archive(&[("a".into(), npy("<i8", &[1], &[1i64]))]);
    refused(&toy::benchmark().with("toy.npz", other), "it holds \"a\"; gnn-benchmark");
    let coo = |member: &str, bytes| toy::coordinates().with_member("toy.npz", member, bytes);
    refused(&coo("shape", npy("<i8", &[2], &[4_000_000_000i64; 2])), "claims 4000000000 nodes");
    refused(&coo("row", npy("<u4", &[6], &[7u32; 6])), "entry 0 is 7, not below 7");
    refused(&coo("format", npy("|S3", &[], b"lil")), "format \"lil\"");
    refused(&coo("data", npy("<f8", &[6], &[f64::INFINITY; 6])), "is infinite");
    // A changed checksum: the directory holds it 16 bytes after the signature.
    let mut bytes = toy::heterophilous().files[0].1.bytes();
    let entry = bytes.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    bytes[entry + 16] ^= 1;
    refused(&toy::heterophilous().with("toy.npz", bytes), "Invalid checksum");
}

#[test]
fn graphsaint_files_that_do_not_fit() {
    let with = |file: &str, bytes: &[u8]| toy::graphsaint().with(file, bytes);
    refused(&with("feats.npy", &npy("<f4", &[6, 2], &[0f32; 12])), "6 rows of features");
    refused(&with("feats.npy", &npy("<f4", &[7, 2], &[f32::NAN; 14])), "feats.npy, row 0");
    refused(&with("feats.npy", &npy("<f4", &[14], &[0f32; 14])), "rows and columns are expected");
    refused(&with("class_map.json", br#"{"7": [1]}"#), "node \"7\" is not in the graph");
    refused(
        &with("role.json", br#"{"tr": [0], "va": [0], "te": []}"#),
        "0 is in train and in validation",
    );
    refused(&with("role.json", br#"{"tr": [7], "va": [], "te": []}"#), "node 7 is not among the 7");
    refused(&with("role.json", br#"{"tr": [-1], "va": [], "te": []}"#), "-1");
    refused(&with("role.json", br#"{"tr": [], "va": []}"#), "is missing");
    refused(&with("role.json", br#"{"train": []}"#), "\"train\" is none of");
    refused(&with("role.json", br#"{"tr": [], "tr": []}"#), "twice");
}

#[test]
fn graphsage_files_that_do_not_fit() {
    let graph = |text: &str| toy::graphsage().with("toy-G.json", text);
    refused(&graph(r#"{"nodes": [], "links": []}"#), "has no nodes");
    refused(&graph(r#"{"nodes": [{"id": 1}]}"#), "lacks nodes or links");
    refused(&graph(r#"{"nodes": [{"id": 1}, {"id": 1}], "links": []}"#), "have the id \"1\"");
    refused(&graph(r#"{"nodes": [{"id": 1}, {"id": "a"}], "links": []}"#), "integers and texts");
    refused(&graph(r#"{"nodes": [{"id": 1.5}], "links": []}"#), "expected an integer or a text");
    refused(
        &graph(r#"{"nodes": [{"id": "a"}], "links": [{"source": "b", "target": "a"}]}"#),
        "link 0 ends at \"b\"",
    );
    refused(
        &graph(r#"{"nodes": [{"id": "a"}], "links": [{"source": 0, "target": 1}]}"#),
        "ends at 1",
    );
    refused(
        &graph(r#"{"nodes": [{"id": 5}], "links": [{"source": 0, "target": 5}]}"#),
        "ends at 0",
    );
    refused(&graph(r#"{"nodes": [{"id": 5}], "links": [{"source": 5}]}"#), "target");
    let both = graph(r#"{"nodes": [{"id": 1, "val": true, "test": true}], "links": []}"#);
    let both = both.without("toy-feats.npy").without("toy-class_map.json");
    refused(&both, "in validation and in test");
    let deep = format!(r#"{{"nodes": [{{"id": {}"#, "[".repeat(1_000_000));
    refused(&graph(&deep), "expected an integer or a text");
    refused(&graph(&"[".repeat(1_000_000)), "expected an object");
    refused(&graph(&format!("{{\"x\": {}", "[".repeat(1_000_000))), "EOF while parsing");
    let map = |text: &str| toy::graphsage().with("toy-id_map.json", text);
    refused(&map(r#"{"a": 7}"#), "row 7 but there are 7 nodes");
    refused(&map(r#"{"a": 0, "b": 0}"#), "another node's");
    refused(&map(r#"{"a": 0, "a": 1}"#), "two rows");
    refused(&map(r#"{"z": 0}"#), "node \"z\" is not in the graph");
    refused(&map(r#"{"a": 0}"#), "no row of features for node number 1");
    let feats = |bytes: Vec<u8>| toy::graphsage().with("toy-feats.npy", bytes);
    refused(&feats(npy("<f4", &[8, 2], &[0f32; 16])), "8 rows of features");
    refused(&feats(npy("<f4", &[7, 1], &[f32::INFINITY; 7])), "row 6");
}

#[test]
fn ogb_files_that_do_not_fit() {
    let with = |file: &str, text: &str| match file.ends_with(".gz") {
        true => toy::ogb().with(file, gzip(text)),
        false => toy::ogb().with(file, text),
    };
    refused(&with("raw/num-node-list.csv.gz", "7\n8\n"), "more than one graph");
    refused(&with("raw/num-node-list.csv.gz", ""), "is empty");
    refused(&with("raw/num-node-list.csv.gz", "-7\n"), "\"-7\" is not a number of nodes");
    refused(&with("raw/num-node-list.csv.gz", "4294967295\n"), "at most 2^32 - 2");
    refused(&with("raw/num-node-list.csv.gz", "4000000000\n"), "claims 4000000000 nodes");
    refused(&with("raw/edge.csv.gz", "0,1\n1,7\n"), "edge.csv.gz:2: node 7 is not among the 7");
    refused(&with("raw/edge.csv.gz", "0\n"), "1 fields instead of 2");
    refused(&with("raw/edge.csv.gz", "0,1,2\n"), "3 fields instead of 2");
    refused(&with("raw/edge.csv.gz", "0,x\n"), "\"x\" is not a node number");
    refused(&with("raw/edge_weight.csv", "1\n"), "fewer weights than edges");
    refused(&with("raw/edge_weight.csv", "1\n1\n1\n1\n1\n1\n1\n"), "more weights than edges");
    refused(
        &with("raw/edge_weight.csv", "1\n-1\n1\n1\n1\n1\n"),
        "csv:2: the weight -1 is negative",
    );
    refused(&with("raw/edge_weight.csv", "nan\n1\n1\n1\n1\n1\n"), "is not a number");
    refused(&with("raw/node-feat.csv", "1,0\n1\n"), "node-feat.csv:2: has 1 fields instead of 2");
    refused(&with("raw/node-feat.csv", "1,nan\n"), "NaN");
    refused(&with("raw/node-feat.csv", "1,0\n"), "1 rows of features but the graph has 7");
    refused(&with("raw/node-feat.csv", &"1,0\n".repeat(8)), "more rows of features than the 7");
    refused(&with("raw/node-feat.csv", ""), "0 rows of features");
    refused(&with("raw/node-label.csv.gz", "0\n1\n"), "2 labels but the graph has 7 nodes");
    refused(&with("raw/node-label.csv.gz", "0.5\n"), "0.5 is not a whole number");
    refused(&with("raw/node-label.csv.gz", "1,0\n1,2\n"), "2 is neither 0 nor 1");
    refused(&with("raw/node-label.csv.gz", "1,0\n1\n"), "1 fields instead of 2");
    refused(&with("split/time/test.csv", "0\n"), "node 0 is in train and in test");
    refused(&with("split/time/test.csv", "9\n"), "node 9 is not among");
    let binary = toy::ogb().without("raw/edge.csv.gz").with("raw/data.npz", Vec::new());
    refused(&binary, "binary layout, which is not read");
    let mut packed = gzip("0,1\n");
    let checksum = packed.len() - 8;
    packed[checksum] ^= 1;
    refused(&toy::ogb().with("raw/edge.csv.gz", packed), "cannot be read");
}

#[test]
fn musae_files_that_do_not_fit() {
    let with = |part: &str, text: &str| toy::musae().with(&format!("musae_toy_{part}"), text);
    refused(&with("edges.csv", ""), "is empty");
    refused(&with("edges.csv", "10,20\n"), "name the column with a header id_1,id_2");
    refused(
        &with("edges.csv", "id_1,id_2\n10,11\n"),
        "edges.csv:2: node id 11 is not in musae_toy_target.csv",
    );
    refused(&with("edges.csv", "from,to\n10\n"), "the row has 1 fields, the table has 2 columns");
    refused(&with("features.json", r#"{"10": [0]}"#), "features.json[20]: the node is missing");
    refused(&with("features.json", r#"{"11": [0]}"#), "features.json[11]: the node is not in");
    refused(&with("features.json", r#"{"10": [0], "10": [1]}"#), "stands twice");
    refused(&with("features.json", r#"{"x": [0]}"#), "node id \"x\" is not an integer");
    refused(&with("features.json", r#"{"10": [-1]}"#), "-1");
    refused(&with("features.json", r#"{"10": [4294967296]}"#), "4294967296");
    let ids = [10, 20, 30, 40, 50, 60, 70];
    let lists = |list: &str| {
        let pairs: Vec<String> = ids.iter().map(|id| format!("\"{id}\": [{list}]")).collect();
        format!("{{{}}}", pairs.join(","))
    };
    refused(&with("features.json", &lists("4000000000")), "claims 4000000001 features");
    refused(&with("features.json", &lists("")), "no features at all");
    refused(
        &with("target.csv", "name,page_type\na,b\n"),
        "no column \"id\"; its columns are \"name\"",
    );
    refused(&with("target.csv", "id,page_type\n1,b,c\n"), "target.csv:2: the row has 3 fields");
    refused(&with("target.csv", "id,page_type\nx,b\n"), "node id \"x\" is not an integer");
    refused(&with("target.csv", "id,page_type\n10,b\n10,c\n"), "has node 10 twice");
    let mut other = toy::musae();
    other.import = |dir, store| {
        let label_column = Some("species".to_owned());
        subgcon::io::import::Musae { dir: dir.into(), label_column }.import(store)
    };
    refused(&other, "no column \"species\"");
    let two = toy::musae().with("musae_more_edges.csv", "id_1,id_2\n");
    refused(&two, "has 2 files that end in edges.csv");
}

/// The store itself refuses a graph without nodes; all an importer has to do
/// is get that far without harm.
#[test]
fn empty_graphs_are_refused() {
    let zero = npy("<i8", &[2], &[0i64, 0]);
    let none = npy::<i32>("<i4", &[0], &[]);
    let toy = ["row", "col"]
        .iter()
        .fold(toy::coordinates(), |toy, member| toy.with_member("toy.npz", member, none.clone()));
    let toy = toy.with_member("toy.npz", "data", npy::<f64>("<f8", &[0], &[]));
    assert!(run(&toy.with_member("toy.npz", "shape", zero)).is_err());
    let ogb = toy::ogb().with("raw/num-node-list.csv.gz", gzip("0\n"));
    let ogb = ogb.with("raw/edge.csv.gz", gzip("")).with("raw/edge_weight.csv", "");
    assert!(run(&ogb).is_err());
    let musae = toy::musae().with("musae_toy_target.csv", "id,page_type\n");
    assert!(run(&musae.with("musae_toy_edges.csv", "id_1,id_2\n")).is_err());
}
