//! Tables as users have them.

use subgcon::graph::Ids;
use subgcon::io::import::Table;

use crate::harness::import;
use crate::{Folder, import_text};

fn ids(ids: &Ids) -> Vec<String> {
    (0..ids.len() as u32).map(|node| ids.text(node)).collect()
}

#[test]
fn usual_column_names_are_known() {
    for header in ["src,dst", "source,target", "from,to", "sourceNodeId,targetNodeId", "id_1,id_2"]
    {
        let got = import_text(&format!("{header}\n0,1\n1,2\n"), None, Table::default()).unwrap();
        assert_eq!(got.arcs, [(0, 1), (1, 2)], "{header}");
    }
    for header in ["id", "node_id", "nodeId", "nid"] {
        let nodes = format!("{header},label\n5,x\n3,\n");
        let got = import_text("src,dst\n3,5\n", Some(&nodes), Table::default()).unwrap();
        assert_eq!((ids(&got.ids), got.arcs), (vec!["5".into(), "3".into()], vec![(1, 0)]));
    }
}

#[test]
fn other_columns_can_be_named() {
    let table = Table {
        source_column: Some("b".into()),
        target_column: Some("a".into()),
        weight_column: Some("w".into()),
        ..Table::default()
    };
    let got = import_text("a,w,b\n1,0.5,2\n", None, table).unwrap();
    assert_eq!((ids(&got.ids), got.arcs), (vec!["1".into(), "2".into()], vec![(1, 0)]));
    assert_eq!(got.weights, [0.5]);
}

#[test]
fn lines_may_end_and_fields_may_be_written_in_any_usual_way() {
    let plain = import_text("src,dst\n10,20\n20,30\n", None, Table::default()).unwrap();
    for text in [
        "src,dst\r\n10,20\r\n20,30\r\n",
        "src,dst\n10,20\n20,30",
        "\u{feff}src,dst\n\n10,20\n\n20,30\n\n",
        "src,dst\n\"10\",\"20\"\n20,30\n",
        "src , dst\n10, 20\n 20,30 \n",
    ] {
        let got = import_text(text, None, Table::default()).unwrap();
        assert_eq!((ids(&got.ids), &got.arcs), (ids(&plain.ids), &plain.arcs), "{text:?}");
    }
}

#[test]
fn edge_lists_without_header_and_with_comments() {
    let folder = Folder::new();
    let text = "# from to\n# 3 edges\n7\t8\n8\t9\n7\t9\n";
    let table = Table {
        edges: vec![folder.write("edges.txt", text)],
        delimiter: Some(b'\t'),
        no_header: true,
        comment: Some(b'#'),
        ..Table::default()
    };
    let got = import(|store| table.import(store)).unwrap();
    assert_eq!(got.arcs, [(0, 1), (0, 2), (1, 2)]);
}

#[test]
fn several_edge_files_are_one_graph() {
    let folder = Folder::new();
    let edges = vec![
        folder.write("a.csv", "src,dst\n0,1\n"),
        folder.write("b.tsv", "to\tfrom\n1\t5000000000\n"),
    ];
    let got = import(|store| Table { edges, ..Table::default() }.import(store)).unwrap();
    assert_eq!(ids(&got.ids), ["0", "1", "5000000000"]);
    assert_eq!(got.arcs, [(0, 1), (2, 1)]);
}

#[test]
fn ids_that_look_like_numbers_but_are_not_stay_texts() {
    let got = import_text("src,dst\n007,7\n7,8\n", None, Table::default()).unwrap();
    assert_eq!(ids(&got.ids), ["007", "7", "8"]);
    assert_eq!(got.arcs, [(0, 1), (1, 2)]);
    // A text far down turns everything before it into texts as well.
    let mut text = "src,dst\n".to_owned();
    (0..300_000).for_each(|i| text += &format!("{},{}\n", i % 10, (i + 1) % 10));
    text += "3,x\n";
    let got = import_text(&text, None, Table::default()).unwrap();
    assert_eq!(ids(&got.ids).last().map(String::as_str), Some("x"));
    assert_eq!((got.arcs.len(), got.dropped.given), (11, 300_001));
}

#[test]
fn nodes_in_no_edge_can_be_counted_in() {
    let table = Table { node_count: Some(5), ..Table::default() };
    let got = import_text("src,dst\n0,3\n", None, table).unwrap();
    assert_eq!((got.ids.len(), got.arcs), (5, vec![(0, 3)]));
}

#[test]
fn missing_nodes_can_be_created() {
    let nodes = "id,f,label,split\n4,1.5,x,train\n2,0,y,test\n";
    let table = Table { create_missing: true, ..Table::default() };
    let got = import_text("src,dst\n4,9\n1,2\n", Some(nodes), table).unwrap();
    assert_eq!(ids(&got.ids), ["4", "2", "1", "9"]);
    assert_eq!((got.arcs.clone(), got.dropped.created_nodes), (vec![(0, 3), (2, 1)], 2));
    assert_eq!(got.rows, [vec![(0, 1.5)], vec![], vec![], vec![]]);
    assert_eq!(got.classes(), [0, 1, -1, -1]);
    assert_eq!(got.splits[0].roles, [1, 3, 0, 0]);
}

#[test]
fn features_are_chosen_or_found() {
    let nodes = "id,name,age,height,label\n0,ann,30,1.7,x\n1,bob,40,1.8,y\n";
    let widths = |table: Table| {
        let got = import_text("src,dst\n0,1\n", Some(nodes), table).unwrap();
        (got.width, got.rows)
    };
    let both = vec![vec![(0, 30.0), (1, 1.7)], vec![(0, 40.0), (1, 1.8)]];
    assert_eq!(widths(Table::default()), (2, both));
    let feature_columns = vec!["height".to_owned()];
    let one = vec![vec![(0, 1.7)], vec![(0, 1.8)]];
    assert_eq!(widths(Table { feature_columns, ..Table::default() }), (1, one));
    assert_eq!(widths(Table { no_features: true, ..Table::default() }).0, 0);
    for list in ["\"[1, 0, 2.5]\"", "1 0 2.5", "1;0;2.5"] {
        let nodes = format!("id,features\n0,{list}\n1,{list}\n");
        let got = import_text("src,dst\n0,1\n", Some(&nodes), Table::default()).unwrap();
        assert_eq!(got.rows[1], [(0, 1.0), (2, 2.5)], "{list}");
    }
}

#[test]
fn weights_of_one_say_nothing() {
    let got = import_text("src,dst,weight\n0,1,1\n1,2,1.0\n", None, Table::default()).unwrap();
    assert!(got.weights.is_empty());
    let got = import_text("src,dst,weight\n0,1,1\n1,2,-0\n", None, Table::default()).unwrap();
    assert_eq!((got.arcs.len(), got.dropped.zero_weights), (1, 1));
}

#[test]
fn a_features_file_names_the_nodes() {
    let folder = Folder::new();
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    npy.extend(b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }");
    npy.resize(127, b' ');
    npy.push(b'\n');
    (1..=6).for_each(|x| npy.extend((x as f32).to_le_bytes()));
    let table = Table {
        edges: vec![folder.write("edges.csv", "src,dst\n2,0\n")],
        features: Some(folder.write("x.npy", npy)),
        ..Table::default()
    };
    let got = import(|store| table.import(store)).unwrap();
    assert_eq!((got.ids.len(), got.width), (3, 2));
    assert_eq!(got.rows[2], [(0, 5.0), (1, 6.0)]);
}
