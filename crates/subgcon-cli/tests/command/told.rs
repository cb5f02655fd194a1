//! What is told, and how: counts that mean what they say, output that nobody reads, nodes
//! that are asked for twice.

use std::process::Stdio;

use crate::place::Place;

#[test]
fn edges_that_were_added_up_are_not_called_dropped() {
    let place = Place::new();
    place.write("e.csv", "src,dst,weight,kind\na,b,2,x\na,b,3,x\nb,a,4,x\nc,c,1,x\n");
    let printed = place.run("import table --edges e.csv --duplicates sum -o g.graph");
    assert!(printed.contains("dropped 1 self-loop; added up 1 repeated edge"), "{printed}");
    assert!(printed.contains("columns of edges not used: kind"), "{printed}");
    let text = place.run("info g.graph");
    assert!(text.contains("1 self-loop, 0 of weight zero"), "{text}");
    assert!(text.contains("added up    1 repeat\n"), "{text}");
    // 2 + 3 one way, 4 the other: the larger stays.
    let weights = std::fs::read(place.path("g.graph/weights.npy")).unwrap();
    assert_eq!(weights[128..], [5.0f32, 5.0].map(f32::to_le_bytes).concat());
    let help = place.run("import table --help").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("both directions the larger of the two sums stays"), "{help}");
    assert!(help.contains("\"space\""), "{help}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_closed_pipe_ends_quietly_and_a_full_disk_is_an_error() {
    let place = Place::new();
    place.run("generate communities --nodes 600 --edges 2400 -o g.graph");
    for words in ["train g.graph -o m --show-settings", "info g.graph", "info g.graph --json"] {
        let mut child = place.command(words);
        let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]), "{words}");
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = place.command(words).stdout(full).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{words}: {told}");
        assert!(
            told.starts_with("error: stdout: cannot be written: No space left on device"),
            "{words}: {told}"
        );
    }
}

#[test]
fn a_node_that_is_asked_for_twice_is_embedded_once() {
    let place = Place::new();
    place.run("generate communities --nodes 200 --edges 800 --classes 2 -o g.graph");
    place.run("train g.graph --preset reference --width 8 --batch 20 --steps 2 -o m");
    let told = place.run("embed g.graph --model m --node 7 --node 3 --node 7 -o e.txt");
    assert!(told.contains("wrote e.txt: 2 nodes") && told.contains("1 repeat left out"), "{told}");
    let text = std::fs::read_to_string(place.path("e.txt")).unwrap();
    let ids: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(ids, ["2", "7", "3"]);
    place.write("ids.txt", "5\n5\n\n9\n5\n");
    let told = place.json("embed g.graph --model m --nodes ids.txt --json -o e.parquet");
    assert_eq!((told["nodes"].as_u64(), told["repeats"].as_u64()), (Some(2), Some(2)));
}

/// A graph of 200 nodes with two classes; `split` and features as asked for.
fn ring(place: &Place, name: &str, row: impl Fn(usize) -> String) {
    let edges: String = (0..200).map(|i| format!("{i},{}\n", (i + 1) % 200)).collect();
    place.write("edges.csv", &format!("src,dst\n{edges}"));
    let rows: String = (0..200).map(|i| format!("{i},{}\n", row(i))).collect();
    place.write("nodes.csv", &format!("id,f,label,split\n{rows}"));
    place.run(&format!("import table --edges edges.csv --nodes nodes.csv -o {name}"));
}

#[test]
fn remedies_are_of_the_command_that_was_typed() {
    let place = Place::new();
    place.write("edges.csv", "src,dst\n0,1\n1,2\n");
    place.run("import table --edges edges.csv -o bare.graph");
    let told = place.fail("links bare.graph");
    assert!(told.contains("has no features") && !told.contains("--structural"), "{told}");
    place.write("nodes.csv", "id,f\n0,1\n1,2\n2,3\n");
    place.run("import table --edges edges.csv --nodes nodes.csv -o tiny.graph");
    let told = place.fail("links tiny.graph");
    assert!(told.contains("tiny.graph: of 2 edges 0 would be for validation"), "{told}");
    assert!(told.contains("each needs one; take a larger graph"), "no share will do: {told}");
    place.write("edges.csv", "src,dst\n0,1\n1,2\n2,3\n3,0\n");
    place.write("nodes.csv", "id,f\n0,1\n1,2\n2,3\n3,4\n");
    place.run("import table --edges edges.csv --nodes nodes.csv -o tiny.graph --force");
    let told = place.fail("links tiny.graph");
    assert!(told.contains("tiny.graph: of 4 edges 0 would be for validation"), "{told}");
    assert!(told.contains("hold out a larger share for validation (--validation)"), "{told}");
    let told = place.fail("links tiny.graph --validation 0.5 --test 0.5");
    assert!(told.contains("hold out smaller shares (--validation, --test)"), "{told}");

    ring(&place, "zero.graph", |i| format!("0,{},", i % 2));
    for words in ["train zero.graph -o m", "links zero.graph", "benchmark zero.graph --seeds 1"] {
        let told = place.fail(words);
        assert!(told.contains("zero.graph: all features are zero"), "{told}");
        let structural = !words.starts_with("links");
        assert_eq!(told.contains("(--no-features), for --structural"), structural, "{told}");
    }
    place.run("import table --edges edges.csv --nodes nodes.csv --no-features -o none.graph");
    place.run("train none.graph --structural --steps 2 -o none");
    ring(&place, "g.graph", |i| format!("{},{},", i % 7, i % 2));
    place.run("train g.graph --preset reference --width 8 --batch 20 --steps 2 -o m");
    let told = place.fail("embed bare.graph --model m -o e.npy");
    assert!(told.contains("bare.graph: the graph has no features, and the model m"), "{told}");
    assert!(!told.contains("--structural"), "{told}");
    place.run("train bare.graph --structural --steps 2 -o s");
    let told = place.fail("embed g.graph --model s -o e.npy");
    assert!(told.contains("s: the model learnt from degrees and positions"), "{told}");

    place.run("embed g.graph --model m -o e.npy");
    let told = place.fail("eval e.npy --graph g.graph --random 2 --train-per-class 90");
    let flags = "ask for fewer a class (--train-per-class, --validation-per-class)";
    assert!(told.contains("class \"0\" has 100 nodes") && told.contains(flags), "{told}");
    let role = |i| ["train", "validation", "test"][i % 3];
    ring(&place, "odd.graph", |i| format!("{},{},{}", i % 7, usize::from(i == 4), role(i)));
    place.run("embed odd.graph --model m -o e.npy");
    let told = place.fail("eval e.npy --graph odd.graph");
    assert!(told.contains("split \"public\": class \"1\" has validation nodes"), "{told}");
}

#[test]
fn a_folder_that_is_another_is_told_apart() {
    let place = Place::new();
    ring(&place, "g.graph", |i| format!("{},{},", i % 7, i % 2));
    place.run("train g.graph --preset reference --width 8 --batch 20 --steps 2 -o m");
    let told = place.fail("embed g.graph --model g.graph -o e.npy");
    assert!(told.contains("g.graph: is a graph store, not a model; name a folder"), "{told}");
    let told = place.fail("embed m --model m -o e.npy");
    assert!(told.contains("m: is a model, not a graph store; name a folder"), "{told}");
    for words in [
        "train g.graph -o no/such/m",
        "embed g.graph --model m -o no/such/e.npy",
        "import table --edges edges.csv -o no/such/g.graph",
    ] {
        let told = place.fail(words);
        assert!(told.contains("no/such: cannot write into it (make this folder first"), "{told}");
    }
    place.write("c.toml", "seed = 1\n[encoder]\nwidht = 3\n");
    let told = place.fail("train g.graph --config c.toml -o n");
    assert!(told.contains("c.toml:3: unknown field `widht`"), "{told}");
}
