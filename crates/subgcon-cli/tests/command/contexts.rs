//! Contexts of a store.

use std::process::Command;

use assert_cmd::cargo::cargo_bin;

use crate::place::{Place, bytes_below};

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
    let told = place.run("contexts g.graph --epsilon 1e-3 --verify");
    assert!(told.contains("verified    every checksum of the table is right"), "{told}");
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
