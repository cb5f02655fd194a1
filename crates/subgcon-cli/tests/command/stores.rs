//! Making, importing and looking at stores.

use std::process::Command;

use assert_cmd::assert::OutputAssertExt;
use assert_cmd::cargo::cargo_bin;

use crate::place::{Place, bytes_below};

#[test]
fn demo_makes_the_promised_graph_and_can_be_repeated() {
    let place = Place::new();
    let first = place.run("demo");
    assert!(first.contains("3,000 nodes") && first.contains("what to type next"), "{first}");
    let info = place.json("info demo.graph --json --verify");
    assert_eq!((&info["nodes"], &info["features"]["width"]), (&3000.into(), &500.into()));
    assert_eq!(info["features"]["storage"], "sparse");
    assert_eq!(info["labels"]["classes"], 6);
    assert_eq!(info["splits"][0]["train"], 120);
    assert_eq!(info["verified"], true);
    let bytes = bytes_below(&place.path("demo.graph"));
    let again = place.run("demo --threads 2");
    assert!(again.contains("all of them were there already"), "{again}");
    assert_eq!(bytes_below(&place.path("demo.graph")), bytes);
    let made = ["demo.graph", "demo.graph.contexts", "demo.model", "demo.parquet"];
    assert_eq!(place.entries(), made);
    // What is not a demo is not replaced.
    place.write("mine", "precious");
    assert!(place.fail("demo -o mine").contains("is there already and is no demo"));
    place.write("own.parquet", "precious");
    assert!(place.fail("demo -o own.graph").contains("own.parquet: is there already"));
}

#[test]
fn import_tells_what_it_did_and_info_shows_it() {
    let place = Place::new();
    place.write("e.csv", "src,dst,weight\na,b,2\nb,a,2\nb,c,1\nc,c,1\na,b,1\n");
    place.write("n.csv", "id,label,split,age,name\nb,x,train,3,Bo\na,y,test,4,Al\nc,,,0,Cy\n");
    let printed = place.run("import table --edges e.csv --nodes n.csv -o g.graph");
    for part in [
        "wrote g.graph: 3 nodes, 2 weighted edges, 1 feature (dense), 2 classes, 1 split",
        "from 5 given edges: dropped 1 self-loop; dropped 1 repeated edge; added 1 reverse arc",
        "columns not used: name",
        "next: subgcon info g.graph",
    ] {
        assert!(printed.contains(part), "{part}\n{printed}");
    }
    let text = place.run("info g.graph --verify");
    for part in [
        "ids strings",
        "undirected, weighted",
        "x: 1, y: 1",
        "every checksum",
        "\"public\": 1 train, 0 validation, 1 test",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(place.fail("import table --edges e.csv -o g.graph").contains("pass --force"));
    place.run("import table --edges e.csv -o g.graph --force --unweighted --directed");
    let info = place.json("info g.graph --json");
    assert_eq!(
        (&info["edges"], &info["weighted"], &info["directed"]),
        (&3.into(), &false.into(), &true.into())
    );
    assert_eq!(info["degree"]["isolated"], 0);
}

#[test]
fn bad_input_fails_with_status_1_and_leaves_nothing() {
    let place = Place::new();
    place.write("e.csv", "src,dst\n1,2\n1,3\n");
    place.write("n.csv", "id\n1\n2\n");
    let message = place.fail("import table --edges e.csv --nodes n.csv -o g.graph");
    assert_eq!(
        message,
        "error: e.csv:3: node id 3 is not in n.csv; add it there or pass --create-missing\n"
    );
    let message = place.fail("info g.graph");
    assert!(message.starts_with("error: g.graph: cannot open the graph store"), "{message}");
    assert!(place.fail("info .").contains("not a graph store"));
    let message = place.fail("import planetoid --dir . --name cora -o g.graph");
    assert!(message.contains("ind.cora."), "{message}");
    let message = place.fail("generate powerlaw --nodes 5000000000 -o g.graph");
    assert!(message.contains("at most 4294967294 nodes"), "{message}");
    let message = place.fail("generate communities --mixing 2 -o g.graph");
    assert!(message.contains("--mixing = 2"), "{message}");
    assert_eq!(place.entries(), ["e.csv", "n.csv"]);
    let told = place.fail("import npz missing.npz -o g.graph");
    assert_eq!(told.matches("No such file").count(), 1, "{told}");
    place.command("import table --edges e.csv --id-column x -o x.graph").assert().code(2);
    place.command("import").assert().code(2);
    for threads in ["0", "-1", "1025", "100000", "two"] {
        place.command(&format!("demo --threads {threads}")).assert().code(2).stdout("");
    }
    place.command("import table -o x.graph").assert().code(2);
    place.command("import table --edges e.csv --delimiter xx -o x.graph").assert().code(2);
}

#[test]
fn generated_graphs_are_the_same_for_any_number_of_threads() {
    let place = Place::new();
    for threads in [1, 2] {
        let words = [
            format!(
                "generate powerlaw --nodes 50000 --edges 1500000 --seed 7 -o p{threads}.graph --threads {threads}"
            ),
            format!(
                "generate communities --nodes 20000 --edges 100000 --dense --feature-width 20 --splits 3 --seed 7 -o c{threads}.graph --threads {threads}"
            ),
        ];
        words.iter().for_each(|words| drop(place.run(words)));
    }
    for kind in ["p", "c"] {
        let [one, two] = [1, 2].map(|t| bytes_below(&place.path(&format!("{kind}{t}.graph"))));
        assert!(one == two, "{kind}");
    }
    place.run("generate powerlaw --nodes 100 --edges 300 --quadrants 0.4,0.2,0.2,0.2 -o q.graph");
    let info = place.json("info c1.graph --json --verify");
    assert_eq!((&info["nodes"], &info["features"]["storage"]), (&20000.into(), &"dense".into()));
    assert_eq!(info["splits"].as_array().unwrap().len(), 3);
}

#[test]
fn progress_is_told_in_lines_when_asked_for() {
    let place = Place::new();
    let output = place
        .command("generate powerlaw --nodes 3000000 --edges 20000000 -o g.graph --progress always --threads 1")
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && errors.contains("edges"), "{errors}");
}

/// A disk that fills up, played by a limit on the size of files.
#[cfg(unix)]
#[test]
fn a_full_disk_is_told_and_leaves_nothing() {
    let place = Place::new();
    let command = format!(
        "ulimit -f 500; trap '' XFSZ; exec {} generate powerlaw --nodes 100000 --edges 1000000 -o g.graph",
        cargo_bin("subgcon").display()
    );
    let output =
        Command::new("bash").args(["-c", &command]).current_dir(place.0.path()).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("neighbours.npy: cannot write"), "{errors}");
    assert!(place.entries().is_empty(), "{:?}", place.entries());
}

/// Killed at any moment, there is a whole store or none, and the next run
/// clears what was left.
#[cfg(unix)]
#[test]
fn a_killed_import_leaves_no_half_store() {
    let place = Place::new();
    let words = "generate communities --nodes 60000 --edges 600000 -o g.graph --threads 1";
    for milliseconds in [5, 20, 60, 120, 200] {
        let mut child = place.command(words).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
        if place.path("g.graph").exists() {
            place.run("info g.graph --verify");
            std::fs::remove_dir_all(place.path("g.graph")).unwrap();
        }
    }
    place.run(words);
    assert_eq!(place.entries(), ["g.graph"]);
    place.run("info g.graph --verify");
}
