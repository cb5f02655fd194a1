//! One table per way a table can be wrong.

use subgcon::io::import::Table;

use crate::harness::import;
use crate::{Folder, refused, without_folder};

#[test]
fn bad_edges_are_refused_with_their_line() {
    let long = format!("src,dst\n{}5,x\n", "1,2\n".repeat(400_000));
    let nodes = "id\n1\n2\n5\n";
    let cases: Vec<(&str, Option<&str>, Table, &str)> = vec![
        (
            "src,dst\n1,2\n3\n",
            None,
            Table::default(),
            "edges.csv:3: the row has 1 fields, the table has 2 columns; ",
        ),
        ("src,dst\n1,2,3\n", None, Table::default(), "edges.csv:2: the row has 3 fields"),
        (
            "src,dst\n\"1\",2\n1,\"2\",3\n",
            None,
            Table::default(),
            "edges.csv:3: the row has 3 fields",
        ),
        ("src,dst\n1,\n", None, Table::default(), "edges.csv:2: the id is empty; "),
        ("src,dst\n,\n", None, Table::default(), "edges.csv:2: the id is empty; "),
        (
            "a,b\n1,2\n",
            None,
            Table::default(),
            "edges.csv: no columns src and dst (or source and target, from and to, …); its columns are \"a\", \"b\"; name the column with --src-column and --dst-column",
        ),
        (
            "src,dst\n1,2\n",
            None,
            Table { weight_column: Some("w".into()), ..Table::default() },
            "edges.csv: no column \"w\"; its columns are \"src\", \"dst\"; name the column with --weight-column",
        ),
        (
            "src,dst\n1,2\n",
            None,
            Table { source_column: Some("dst".into()), ..Table::default() },
            "edges.csv: column \"dst\" cannot be both ends of an edge",
        ),
        (
            "src,dst,weight\n1,2,heavy\n",
            None,
            Table::default(),
            "edges.csv:2: weight \"heavy\" is not a number; mend it or pass --unweighted",
        ),
        (
            "src,dst,weight\n1,2,1\n1,2,-3\n",
            None,
            Table::default(),
            "edges.csv:3: weight -3 is negative; weights must be finite",
        ),
        (
            "src,dst,weight\n1,2,nan\n",
            None,
            Table::default(),
            "edges.csv:2: weight nan is not a number",
        ),
        (
            "src,dst,weight\n1,2,inf\n",
            None,
            Table::default(),
            "edges.csv:2: weight inf is infinite",
        ),
        (
            "src,dst,weight\n1,2,1e99\n",
            None,
            Table::default(),
            "edges.csv:2: weight 1e99 is infinite",
        ),
        (
            "src,dst\n1,2\n\n1,7\n",
            Some(nodes),
            Table::default(),
            "edges.csv:4: node id 7 is not in nodes.csv; add it there or pass --create-missing",
        ),
        (
            "src,dst\n1,2\n\"a\nb\",1\n",
            Some(nodes),
            Table::default(),
            "edges.csv:3: node id \"a\\nb\" is not in nodes.csv",
        ),
        (
            "src,dst\n1,02\n",
            Some(nodes),
            Table::default(),
            "edges.csv:2: node id \"02\" is not in nodes.csv",
        ),
        (
            &long,
            Some(nodes),
            Table::default(),
            "edges.csv:400002: node id \"x\" is not in nodes.csv",
        ),
        (
            "src,dst\n1,9\n",
            None,
            Table { node_count: Some(9), ..Table::default() },
            "edges.csv:2: node id 9 is not in 0 to 8; ",
        ),
        (
            "src,dst\n1,-1\n",
            None,
            Table { node_count: Some(9), ..Table::default() },
            "edges.csv:2: node id -1 is not in 0 to 8; ",
        ),
        ("", None, Table::default(), "edges.csv: the file is empty; "),
    ];
    for (edges, nodes, table, expected) in cases {
        let message = refused(edges, nodes, table);
        assert!(message.starts_with(expected), "{expected}\n{message}");
    }
}

#[test]
fn bad_nodes_are_refused_with_their_line() {
    let edges = "src,dst\n1,2\n";
    let features = |names: &str| Table {
        feature_columns: names.split(',').map(str::to_owned).collect(),
        ..Table::default()
    };
    let cases: Vec<(&str, Table, &str)> = vec![
        (
            "name\n1\n2\n",
            Table::default(),
            "nodes.csv: no column id (or node_id, nodeId, nid); its columns are \"name\"; name the column with --id-column",
        ),
        (
            "id,f\n1,0\n2\n",
            Table::default(),
            "nodes.csv:3: the row has 1 fields, the table has 2 columns",
        ),
        (
            "id,f\n1,0\n2,abc\n",
            Table::default(),
            "nodes.csv:3: feature \"f\": \"abc\" is not a number; ",
        ),
        ("id,f\n1,0\n2,\n", Table::default(), "nodes.csv:3: feature \"f\": \"\" is not a number; "),
        (
            "id,f\n1,0\n2,NaN\n",
            Table::default(),
            "nodes.csv:3: feature \"f\": \"NaN\" is not a number; fill it in",
        ),
        (
            "id,f\n1,0\n2,-inf\n",
            Table::default(),
            "nodes.csv:3: feature \"f\" is \"-inf\", no finite number of 32 bits; features",
        ),
        (
            "id,f\n1,0\n2,1\n1,1\n",
            Table::default(),
            "nodes.csv:4: node id \"1\" stands twice: first on line 2; give every node one row",
        ),
        ("id\n1\n\"\"\n", Table::default(), "nodes.csv:3: the id is empty; "),
        (
            "id,split\n1,train\n2,holdout\n",
            Table::default(),
            "nodes.csv:3: split \"holdout\" is not known; use train, validation, test",
        ),
        (
            "id,features\n1,1 2\n2,1 2 3\n",
            Table::default(),
            "nodes.csv:3: the list has 3 numbers, the first one has 2; ",
        ),
        (
            "id,f\n1,2\n2,3\n",
            features("g"),
            "nodes.csv: no column \"g\"; its columns are \"id\", \"f\"; name the column with --feature-columns",
        ),
        (
            "id,f,g\n1,2,3\n2,3,x\n",
            features("f,g"),
            "nodes.csv:3: feature \"g\": \"x\" is not a number",
        ),
    ];
    for (nodes, table, expected) in cases {
        let message = refused(edges, Some(nodes), table);
        assert!(message.starts_with(expected), "{expected}\n{message}");
    }
    let folder = Folder::new();
    let table = Table {
        edges: vec![folder.write("edges.csv", edges)],
        nodes: Some(folder.write("nodes.csv", b"id,label\n1,x\n2,\xff\n")),
        ..Table::default()
    };
    let message = import(|store| table.import(store)).err().unwrap().to_string();
    assert!(
        message.contains("nodes.csv:3: the text is not UTF-8; save the file as UTF-8"),
        "{message}"
    );
}

#[test]
fn files_that_are_not_there_or_not_tables() {
    let folder = Folder::new();
    let edges = |path| Table { edges: vec![path], ..Table::default() };
    let message = |table: Table| import(|store| table.import(store)).err().unwrap().to_string();
    let missing = message(edges(folder.path().join("edges.csv")));
    assert!(missing.contains("edges.csv: cannot open: No such file"), "{missing}");
    let unknown = message(edges(folder.write("edges.dat", "src,dst\n1,2\n")));
    assert!(unknown.contains("the name does not tell the format; use .csv"), "{unknown}");
    for (name, content) in [
        ("edges.parquet", &b"PAR1 but nothing more PAR1"[..]),
        ("edges.parquet", b""),
        ("edges.feather", b"ARROW1"),
        ("edges.arrow", b"src,dst\n1,2\n and much more that is no Arrow file"),
    ] {
        let message = message(edges(folder.write(name, content)));
        assert!(
            message.contains(name) && message.contains("cannot be read as a table"),
            "{message}"
        );
    }
    let gzip = message(edges(folder.write("edges.csv.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00")));
    assert!(gzip.contains("truncated or corrupt"), "{gzip}");
    let two = Table {
        edges: vec![
            folder.write("edges.csv", "src,dst,weight\n1,2,3\n"),
            folder.write("edges.tsv", "src\tdst\n1\t2\n"),
        ],
        ..Table::default()
    };
    let message = without_folder(&message(two));
    assert!(
        message.starts_with("edges.tsv: some edge files have weights and some have none"),
        "{message}"
    );
}

#[test]
fn a_graph_needs_a_node_and_fits_in_32_bits() {
    let message = refused("src,dst\n", None, Table::default());
    let expected = "edges.csv: the graph would be empty: the table has no rows; give at least one";
    assert!(message.starts_with(expected), "{message}");
    let message = refused("src,dst\n", Some("id\n"), Table::default());
    assert!(message.starts_with("nodes.csv: the graph would be empty"), "{message}");
    let table = Table { node_count: Some(1 << 32), ..Table::default() };
    let message = refused("src,dst\n1,2\n", None, table);
    assert!(message.contains("at most 4294967294 nodes"), "{message}");
}

#[test]
fn features_beside_must_have_a_row_a_node() {
    let folder = Folder::new();
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    npy.extend(b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1), }");
    npy.resize(127, b' ');
    npy.push(b'\n');
    npy.extend([0u8; 12]);
    let table = Table {
        edges: vec![folder.write("edges.csv", "src,dst\n1,2\n")],
        nodes: Some(folder.write("nodes.csv", "id\n1\n2\n")),
        features: Some(folder.write("x.npy", &npy)),
        ..Table::default()
    };
    let message = import(|store| table.import(store)).err().unwrap().to_string();
    assert!(message.contains("x.npy: 3 feature rows for 2 nodes; give each node"), "{message}");
}
