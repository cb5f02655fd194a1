//! The command as a user types it.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::Path;
use std::process::Command;

use assert_cmd::assert::OutputAssertExt;
use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

/// A folder in which the command runs.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(cargo_bin("subgcon"));
        command.current_dir(self.0.path()).args(words.split_whitespace());
        command
    }

    /// Standard output of a run that succeeds in silence.
    fn run(&self, words: &str) -> String {
        let output = self.command(words).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{words}: {errors}");
        assert_eq!(errors, "", "{words}: no progress where stderr is no terminal");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Standard error of a run that fails with status 1 and prints nothing else.
    fn fail(&self, words: &str) -> String {
        let assert = self.command(words).assert().code(1).stdout("");
        String::from_utf8(assert.get_output().stderr.clone()).unwrap()
    }

    fn json(&self, words: &str) -> Value {
        serde_json::from_str(&self.run(words)).unwrap()
    }

    fn entries(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn bytes_below(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<(String, Vec<u8>)> = entries
        .map(|path| {
            (path.file_name().unwrap().to_str().unwrap().into(), std::fs::read(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}

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
    assert_eq!(place.entries(), ["demo.graph", "demo.graph.contexts"]);
    // What is not a demo is not replaced.
    place.write("mine", "precious");
    assert!(place.fail("demo -o mine").contains("is there already and is no demo"));
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

/// The one table of contexts of a store.
fn table(place: &Place, store: &str) -> std::path::PathBuf {
    let folder = place.path(&format!("{store}.contexts"));
    let mut tables: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(tables.len(), 1, "{tables:?}");
    tables.remove(0)
}

#[test]
fn contexts_are_sampled_once_and_shown() {
    let place = Place::new();
    place.write("e.csv", "src,dst\na,b\nb,c\nc,d\nx,y\n");
    place.write("n.csv", "id\na\nb\nc\nd\nx\ny\nlonely\n");
    place.run("import table --edges e.csv --nodes n.csv -o g.graph");
    let summary = place.json("contexts g.graph --size 3 --certify --json --svg c.svg");
    assert_eq!((&summary["nodes"], &summary["reused"]), (&7.into(), &0.into()));
    assert_eq!(summary["size"]["smallest"], 1);
    assert_eq!(summary["certified"].as_f64().unwrap() + summary["tied"].as_f64().unwrap(), 1.0);
    let picture = std::fs::read_to_string(place.path("c.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("1 hop:"), "{picture}");
    let again = place.json("contexts g.graph --size 3 --certify --json");
    assert_eq!(again["reused"], 7);
    let text = place.run("contexts g.graph --size 3 --certify");
    assert!(text.contains("all of them were there already"), "{text}");

    // By hand: from a, b is nearest; then c (d is further, x and y unreachable).
    let node = place.json("contexts g.graph --size 3 --certify --node a --json");
    let ids: Vec<&str> =
        node["members"].as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!(node["members"][2]["hops"], 2);
    let lonely = place.json("contexts g.graph --node lonely --json");
    assert_eq!((lonely["members"].as_array().unwrap().len(), &lonely["short"]), (1, &true.into()));
    assert_eq!(lonely["captured_mass"], 1.0);
    let short = place.run("contexts g.graph --node x");
    assert!(short.contains("context of x: 2 nodes"), "{short}");
    assert!(place.fail("contexts g.graph --node z").contains("no node has the id \"z\""));
}

#[test]
fn impossible_contexts_are_refused() {
    let place = Place::new();
    place.run("generate powerlaw --nodes 200 --edges 1000 -o g.graph");
    for (words, message) in [
        ("--size 0", "size = 0"),
        ("--size 1025", "size = 1025"),
        ("--epsilon 0", "epsilon = 0"),
        ("--epsilon -1", "epsilon = -1"),
        ("--epsilon nan", "epsilon = NaN"),
        ("--restart 0", "restart = 0"),
        ("--restart 1", "restart = 1"),
        ("--method power --steps 0", "steps = 0"),
        ("--method power --certify", "certify = true"),
        ("--budget 0", "budget = 0"),
        ("--method power --epsilon 1e-3", "--epsilon goes with --method push"),
        ("--steps 5", "--steps goes with --method power"),
    ] {
        let told = place.fail(&format!("contexts g.graph {words}"));
        assert!(told.contains(message), "{words}: {told}");
    }
    let alone = place.json("contexts g.graph --size 1 --json");
    assert_eq!(alone["size"]["largest"], 1);
    let wide = place.json("contexts g.graph --size 1024 --json");
    assert!(wide["size"]["largest"].as_u64().unwrap() <= 200);
    // So small an epsilon that the budget ends it: said, and not endless.
    let spent = place.json("contexts g.graph --epsilon 1e-300 --budget 2000 --json");
    assert!(spent["budget_spent"].as_f64().unwrap() > 0.5, "{spent}");
}

#[test]
fn foreign_and_damaged_tables_are_refused() {
    let place = Place::new();
    place.run("generate powerlaw --nodes 200 --edges 1000 -o a.graph");
    place.run("generate powerlaw --nodes 200 --edges 1000 --seed 1 -o b.graph");
    place.run("contexts a.graph");
    place.run("contexts b.graph");
    let (a, b) = (table(&place, "a.graph"), table(&place, "b.graph"));
    let name = b.file_name().unwrap();
    std::fs::rename(&b, place.path("kept")).unwrap();
    std::fs::rename(&a, b.with_file_name(name)).unwrap();
    let told = place.fail("contexts b.graph");
    assert!(told.contains("belong to another graph"), "{told}");
    std::fs::remove_dir_all(&b).unwrap();
    std::fs::rename(place.path("kept"), &b).unwrap();
    place.run("contexts b.graph");
    for file in ["nodes.npy", "pagerank.npy", "bits.npy", "captured.npy", "flags.npy"] {
        let path = b.join(file);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        let told = place.fail("contexts b.graph");
        assert!(told.contains(file) && told.contains("delete the table"), "{told}");
        std::fs::write(&path, whole).unwrap();
    }
    let path = b.join("captured.npy");
    let whole = std::fs::read(&path).unwrap();
    let mut changed = whole.clone();
    changed[130] ^= 1;
    std::fs::write(&path, changed).unwrap();
    assert!(place.fail("contexts b.graph --verify").contains("captured.npy: was changed"));
    std::fs::write(&path, whole).unwrap();
    // A table that was given the name of other settings.
    place.run("contexts b.graph --size 5");
    let folder = place.path("b.graph.contexts");
    let other =
        std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).find(|path| *path != b);
    let other = other.unwrap();
    std::fs::rename(&b, place.path("kept")).unwrap();
    std::fs::rename(&other, &b).unwrap();
    assert!(place.fail("contexts b.graph").contains("sampled with other settings"));
    std::fs::remove_dir_all(&b).unwrap();
    std::fs::rename(place.path("kept"), &b).unwrap();
    let path = b.join("nodes.npy");
    let mut changed = std::fs::read(&path).unwrap();
    changed[128..132].copy_from_slice(&7_000_000u32.to_le_bytes());
    std::fs::write(&path, changed).unwrap();
    let told = place.fail("contexts b.graph");
    assert!(told.contains("row 0 is no context of node 0"), "{told}");
    std::fs::write(b.join("manifest.json"), "{").unwrap();
    assert!(place.fail("contexts b.graph").contains("cannot be read"));
}

/// Kills a sampling once two blocks are logged; the hidden folder it leaves.
#[cfg(unix)]
fn kill_when_logged(place: &Place, words: &str, store: &str) -> std::path::PathBuf {
    let hidden = || {
        let folder = std::fs::read_dir(place.path(&format!("{store}.contexts"))).ok()?;
        let mut names = folder.map(|e| e.unwrap().path());
        names.find(|path| path.extension().is_some_and(|e| e == "partial"))
    };
    let logged = || {
        let log = hidden().map(|folder| folder.join("finished.log"));
        log.and_then(|log| std::fs::read_to_string(log).ok()).map_or(0, |log| log.lines().count())
    };
    let mut child = place.command(words).spawn().unwrap();
    while logged() < 2 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    hidden().expect("it was killed before the end")
}

/// Killed again and again, sampling goes on where it stopped and ends in the
/// bytes of a run that nobody disturbed.
#[cfg(unix)]
#[test]
fn killed_sampling_is_taken_up() {
    let place = Place::new();
    let made = "generate powerlaw --nodes 200000 --edges 1600000 -o";
    place.run(&format!("{made} a.graph"));
    place.run(&format!("{made} b.graph"));
    let words = "contexts a.graph --epsilon 1e-3 --threads 1 --json";
    let folder = kill_when_logged(&place, words, "a.graph");
    // One finished block is damaged: it has to be found out and done again.
    let log = folder.join("finished.log");
    let lines = std::fs::read_to_string(&log).unwrap();
    std::fs::write(
        &log,
        format!("{}0 12", lines.lines().take(2).map(|l| l.to_owned() + "\n").collect::<String>()),
    )
    .unwrap();
    let captured = folder.join("captured.npy");
    let mut bytes = std::fs::read(&captured).unwrap();
    bytes[130] ^= 1;
    std::fs::write(&captured, bytes).unwrap();
    let summary = place.json(words);
    assert_eq!(summary["reused"], 8192, "one of two blocks was whole");
    place.run("contexts b.graph --epsilon 1e-3 --threads 2");
    let [a, b] = ["a.graph", "b.graph"].map(|store| bytes_below(&table(&place, store)));
    assert!(a == b);
}

/// A disk that fills up in the middle of the work, played by a limit on how far
/// files may be written.
#[cfg(unix)]
#[test]
fn a_full_disk_keeps_what_was_sampled() {
    let place = Place::new();
    place.run("generate powerlaw --nodes 100000 --edges 800000 -o g.graph");
    let words = "contexts g.graph --epsilon 1e-3 --threads 1 --json";
    // The files have their final size now; what is beyond the limit cannot be written.
    kill_when_logged(&place, words, "g.graph");
    let command =
        format!("ulimit -f 5000; trap '' XFSZ; exec {} {words}", cargo_bin("subgcon").display());
    let output =
        Command::new("bash").args(["-c", &command]).current_dir(place.0.path()).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("cannot write"), "{told}");
    let summary = place.json(words);
    // 5,000 kB hold 64,000 rows of 80 bytes: seven whole blocks of 8,192, and those
    // that were there before the limit.
    let reused = summary["reused"].as_u64().unwrap();
    assert!((7 * 8192..100_000).contains(&reused), "{reused}");
    place.run("contexts g.graph --epsilon 1e-3 --verify");
}

/// Two programs that want the same table: one samples, the other waits its turn
/// or finds the table; both end well or say why.
#[cfg(unix)]
#[test]
fn two_samplers_do_not_get_in_each_others_way() {
    let place = Place::new();
    place.run("generate powerlaw --nodes 30000 --edges 200000 -o g.graph");
    for round in 0..5 {
        let words = format!("contexts g.graph --epsilon 1e-3 --size {} --json", 10 + round);
        let children: Vec<_> = (0..3)
            .map(|_| {
                place
                    .command(&words)
                    .stderr(std::process::Stdio::piped())
                    .stdout(std::process::Stdio::null())
                    .spawn()
                    .unwrap()
            })
            .collect();
        let mut finished = 0;
        for child in children {
            let output = child.wait_with_output().unwrap();
            let told = String::from_utf8(output.stderr).unwrap();
            finished += usize::from(output.status.success());
            let busy = told.contains("another program is sampling these contexts");
            assert!(output.status.success() || busy, "{told}");
        }
        assert!(finished >= 1);
        assert_eq!(place.json(&words)["reused"], 30000);
    }
    let left: Vec<_> = std::fs::read_dir(place.path("g.graph.contexts")).unwrap().collect();
    assert_eq!(left.len(), 5, "{left:?}");
}
