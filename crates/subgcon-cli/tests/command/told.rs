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
        assert!(told.contains("No space left on device"), "{words}: {told}");
    }
}

#[test]
fn a_node_that_is_asked_for_twice_is_embedded_once() {
    let place = Place::new();
    place.run("generate communities --nodes 200 --edges 800 --classes 2 -o g.graph");
    place.run("train g.graph --preset reference --width 8 --batch 20 --steps 2 -o m");
    let told = place.run("embed g.graph --model m --node 7 --node 3 --node 7 -o e.txt");
    assert!(told.contains("wrote e.txt: 2 nodes") && told.contains("1 node asked for"), "{told}");
    let text = std::fs::read_to_string(place.path("e.txt")).unwrap();
    let ids: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(ids, ["2", "7", "3"]);
    place.write("ids.txt", "5\n5\n\n9\n5\n");
    let told = place.json("embed g.graph --model m --nodes ids.txt --json -o e.parquet");
    assert_eq!((told["nodes"].as_u64(), told["repeats"].as_u64()), (Some(2), Some(2)));
}
