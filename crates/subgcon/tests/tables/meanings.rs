//! Tables that look like one thing and are another: commas in numbers, names in another
//! case, columns that are empty or nearly numbers, delimiters and headers that are not there.

use subgcon::io::import::Table;

use crate::harness::{Imported, import};
use crate::{Folder, import_text, refused};

const EDGES: &str = "src,dst\n1,2\n2,3\n";

fn nodes(text: &str) -> Imported {
    import_text(EDGES, Some(text), Table::default()).unwrap()
}

fn no_nodes(text: &str, more: Table) -> String {
    refused(EDGES, Some(text), more)
}

fn features(names: &str) -> Table {
    let feature_columns = names.split(',').map(str::to_owned).collect();
    Table { feature_columns, ..Table::default() }
}

#[test]
fn a_decimal_comma_is_no_list() {
    let folder = Folder::new();
    let table = |more: Table| Table {
        edges: vec![folder.write("edges.csv", "src;dst\n1;2\n")],
        nodes: Some(folder.write("nodes.csv", "id;age;label\n1;0,5;a\n2;0,1;b\n3;0,2;a\n")),
        delimiter: Some(b';'),
        ..more
    };
    let told = |table: Table| {
        let told = import(|store| table.import(store)).err().unwrap().to_string();
        crate::without_folder(&told)
    };
    let chosen = told(table(features("age")));
    let expected = "nodes.csv:2: the list \"0,5\" has a comma that may mean several things; for a \
                    decimal comma write a point (0.5), for thousands nothing (1000), for a list \
                    brackets ([0, 5]), or choose other columns with --feature-columns";
    assert_eq!(chosen, expected);
    // Nor is the column left out where nobody chose it.
    let found = told(table(Table::default()));
    assert!(
        found.starts_with("nodes.csv:2: feature \"age\": \"0,5\" is not a number; "),
        "{found}"
    );
    assert!(found.contains("write a point (0.5)"), "{found}");
}

#[test]
fn commas_are_refused_wherever_they_may_mean_two_things() {
    let cases = [
        (
            "id,age\n1,5\n2,\"1,000\"\n3,7\n",
            Table::default(),
            "nodes.csv:3: feature \"age\": \"1,000\"",
        ),
        ("id,features\n1,\"1,2\"\n2,\"3,4\"\n", Table::default(), "nodes.csv:2: the list \"1,2\""),
        ("id,f\n1,\"[1,2]\"\n2,\"3,4\"\n3,\n", features("f"), "nodes.csv:3: the list \"3,4\""),
        ("id,f\n1,\"1,5;2,5\"\n2,\n3,\n", features("f"), "nodes.csv:2: the list \"1,5;2,5\""),
    ];
    for (text, table, expected) in cases {
        let told = no_nodes(text, table);
        assert!(told.starts_with(expected) && told.contains("write a point (0.5)"), "{told}");
    }
    let told = refused("src,dst,weight\n1,2,\"0,5\"\n", None, Table::default());
    assert!(
        told.starts_with("edges.csv:2: weight \"0,5\" is not a number; write a point"),
        "{told}"
    );
}

#[test]
fn usual_names_are_known_in_any_case() {
    let got = import_text("Source,TARGET,Weight\n1,2,0.5\n", None, Table::default()).unwrap();
    assert_eq!((got.arcs, got.weights), (vec![(0, 1)], vec![0.5]));
    let got = nodes("ID,Label,SPLIT,Age\n1,7,train,30\n2,8,test,40\n3,7,Test,50\n");
    assert_eq!((got.width, got.classes()), (1, vec![0, 1, 0]));
    assert_eq!(got.rows[0], [(0, 30.0)]);
    assert_eq!(got.splits[0].roles, [1, 3, 3]);
    let got = nodes("NodeID,X\n1,1 2\n2,3 4\n3,5 6\n");
    assert_eq!(got.rows[1], [(0, 3.0), (1, 4.0)]);
}

#[test]
fn a_name_that_is_written_as_usual_comes_first() {
    let got = nodes("Id,id,Label,label\n9,1,x,a\n9,2,x,b\n9,3,x,a\n");
    assert_eq!((got.classes(), got.width), (vec![0, 1, 0], 1));
    let got = import_text("SRC,DST,src,dst\n7,8,1,2\n", None, Table::default()).unwrap();
    assert_eq!((got.ids.text(0), got.ids.text(1)), ("1".into(), "2".into()));
    let told = no_nodes("id,Label,LABEL\n1,a,b\n", Table::default());
    let expected = "nodes.csv: columns \"Label\" and \"LABEL\" may both be the label; name one of \
                    them with --label-column";
    assert_eq!(told, expected);
}

#[test]
fn columns_of_edges_that_are_not_used_are_told() {
    let unused = |edges: &str, more: Table| {
        let got = import_text(edges, None, more).unwrap();
        got.origin.settings.get("unused columns of edges").cloned()
    };
    assert_eq!(unused("src,dst\n1,2\n", Table::default()), None);
    let told = unused("src,kind,dst,cost\n1,a,2,0.5\n", Table::default());
    assert_eq!(told.as_deref(), Some("kind, cost"));
    let headless = Table { no_header: true, ..Table::default() };
    assert_eq!(unused("1,2,0.5\n", headless).as_deref(), Some("2"));
}

#[test]
fn columns_without_a_value_are_none() {
    let got = nodes("id,label,split,f\n1,,,5\n2,,,6\n3, ,,7\n");
    assert!(got.splits.is_empty() && got.labels.is_none());
    let unused = got.origin.settings.get("unused columns").map(String::as_str);
    assert_eq!(unused, Some("label (no values), split (no values)"));
}

#[test]
fn one_value_does_not_decide_what_a_column_is() {
    let told = no_nodes("id,age\n1,NA\n2,30\n3,40\n", Table::default());
    let expected = "nodes.csv:2: feature \"age\": \"NA\" is not a number; fill it in, or choose \
                    other columns with --feature-columns";
    assert_eq!(told, expected);
    let told = no_nodes("id,age\n1,unknown\n2,30\n3,40\n", Table::default());
    assert!(
        told.starts_with("nodes.csv:2: feature \"age\": \"unknown\" is not a number"),
        "{told}"
    );
    // One number among words is no feature, and the reason is told.
    let got = nodes("id,code,name,void\n1,17,ann,\n2,A3,bob,NA\n3,B9,eve,-\n");
    assert_eq!(got.width, 0);
    let unused = got.origin.settings.get("unused columns").map(String::as_str);
    assert_eq!(unused, Some("code (1 of 3 values looked at are numbers), name, void (no values)"));
}

#[test]
fn a_wrong_delimiter_or_header_is_suspected() {
    let remedy = |edges: &str| {
        let told = refused(edges, None, Table::default());
        told.rsplit_once("its columns are ").unwrap().1.to_owned()
    };
    let named = "name the column with --src-column and --dst-column";
    for (sign, word) in [(";", "';'"), ("\t", "tab"), ("|", "'|'"), (" ", "space")] {
        let told = remedy(&format!("src{sign}dst\n1{sign}2\n"));
        assert!(told.contains(&format!("pass --delimiter {word}; otherwise {named}")), "{told}");
        assert!(!told.contains("--no-header"), "{told}");
        let told = remedy(&format!("0{sign}1\n1{sign}2\n"));
        assert!(told.contains("--delimiter") && told.contains("pass --no-header"), "{told}");
    }
    let told = remedy("0,1\n1,2\n");
    let expected = format!(
        "\"0\", \"1\"; if the first line is no header, pass --no-header; otherwise {named}"
    );
    assert_eq!(told, expected);
    let told = no_nodes("id;f\n1;2\n", Table::default());
    assert!(
        told.contains("pass --delimiter ';'; otherwise name the column with --id-column"),
        "{told}"
    );
    let headless = Table { no_header: true, ..Table::default() };
    let told = refused("1;2\n", None, headless);
    assert!(told.contains("give it with --delimiter") && !told.contains("--no-header"), "{told}");
}

#[test]
fn lists_are_taken_from_the_first_usual_column_that_has_them() {
    let width = |imported: Imported| imported.width;
    // "x" is the label, and no list.
    let label = Table { label_column: Some("x".into()), ..Table::default() };
    let text = "id,x,embedding\n1,a,1 2\n2,b,3 4\n3,a,5 6\n";
    assert_eq!(width(import_text(EDGES, Some(text), label).unwrap()), 2);
    // "x" is a number; a list beside it, in capitals, comes before it.
    assert_eq!(width(nodes("id,x,y,Embedding\n1,1,2,1 2 3\n2,3,4,4 5 6\n3,5,6,7 8 9\n")), 3);
    // Numbers that are called alike are two features.
    assert_eq!(width(nodes("id,Feature,FEATURE\n1,1,2\n2,3,4\n3,5,6\n")), 2);
}

#[test]
fn another_delimiter_is_suspected_before_rows_are_read() {
    let told = no_nodes("id;x;label\n1;0,5;a\n2;0,7;b\n", Table::default());
    assert!(told.contains("--delimiter ';'"), "{told}");
}

#[test]
fn numbers_too_large_are_called_so() {
    let told = no_nodes("id,f\n1,1e39\n2,1\n3,2\n", Table::default());
    assert!(told.contains("feature \"f\" is \"1e39\", no finite number of 32 bits"), "{told}");
    let told = no_nodes("id,f\n1,2\n2,nan\n3,2\n", Table::default());
    assert!(told.contains("\"nan\" is not a number"), "{told}");
}

#[test]
fn decimal_commas_inside_brackets_are_refused() {
    for list in ["[0,5 1,5]", "[0,5  1,5 2]", "(1,5 2,5)"] {
        let text = format!("id,f\n1,\"{list}\"\n2,\"{list}\"\n3,\"{list}\"\n");
        let told = no_nodes(&text, features("f"));
        assert!(told.contains("has a comma that may mean several things"), "{told}");
    }
    for list in ["[0, 5, 1]", "[0,5,1]", "[0 5 1]", "[ 0, 5, 1 ]", "[0 ,5 ,1]"] {
        let text = format!("id,f\n1,\"{list}\"\n2,\"{list}\"\n3,\"{list}\"\n");
        let found = import_text(EDGES, Some(&text), features("f")).unwrap();
        assert_eq!(found.width, 3, "{list}");
    }
}
