//! Training and embedding.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use assert_cmd::assert::OutputAssertExt;
use assert_cmd::cargo::cargo_bin;

use crate::place::Place;

/// A small graph with communities and sparse features.
fn small() -> Place {
    let place = Place::new();
    place.run("generate communities --nodes 600 --edges 2400 --feature-width 80 --classes 3 --seed 3 -o g.graph");
    place
}

/// Small settings of each path through the engine.
const KINDS: [&str; 6] = [
    "--preset reference --width 70 --batch 60 --steps 7",
    "--preset paper --width 40 --batch 60 --steps 7",
    "--preset default --width 24 --batch 60 --steps 7 --set features.projection.width=16",
    "--preset reference --encoder gat --width 24 --batch 60 --steps 5",
    "--preset reference --encoder gin --layers 2 --width 24 --batch 60 --steps 5",
    "--preset reference --layers 2 --width 24 --batch 60 --steps 5 --set readout.kind=max",
];

fn model(place: &Place, name: &str) -> Vec<u8> {
    std::fs::read(place.path(name).join("model.safetensors")).unwrap()
}

fn file(place: &Place, name: &str) -> Vec<u8> {
    std::fs::read(place.path(name)).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_bytes_for_any_number_of_threads() {
    let place = small();
    for kind in KINDS {
        for threads in [1, 2] {
            place.run(&format!("train g.graph {kind} --force --threads {threads} -o m{threads}"));
            let batch = if threads == 1 { 600 } else { 17 };
            place.run(&format!(
                "embed g.graph --model m{threads} --threads {threads} --batch {batch} -o \
                 e{threads}.npy"
            ));
        }
        assert!(model(&place, "m1") == model(&place, "m2"), "{kind}");
        assert!(file(&place, "e1.npy") == file(&place, "e2.npy"), "{kind}");
        place.run(&format!("train g.graph {kind} --seed 1 -o other"));
        assert!(model(&place, "m1") != model(&place, "other"), "{kind}");
        std::fs::remove_dir_all(place.path("other")).unwrap();
    }
}

#[test]
fn a_list_of_nodes_gets_the_rows_of_all_nodes() {
    let place = small();
    for kind in KINDS {
        place.run(&format!("train g.graph {kind} --force -o m"));
        let width = place.json("embed g.graph --model m --json -o all.npy")["width"]
            .as_u64()
            .unwrap() as usize;
        place.write("some.txt", "\u{feff}5\r\n599\n\n0\n77\n");
        place.run("embed g.graph --model m --nodes some.txt -o some.npy");
        let (all, some) = (file(&place, "all.npy"), file(&place, "some.npy"));
        let row = |bytes: &[u8], rows: usize, at: usize| {
            let start = bytes.len() - 4 * width * rows + 4 * width * at;
            bytes[start..start + 4 * width].to_vec()
        };
        for (at, node) in [5, 599, 0, 77].into_iter().enumerate() {
            assert!(row(&some, 4, at) == row(&all, 600, node), "{kind}, node {node}");
        }
    }
    place.run("embed g.graph --model m --node 3 --node 9 -o two.parquet");
    let told = place.fail("embed g.graph --model m --node x -o x.npy");
    assert!(told.contains("no node has the id \"x\""), "{told}");
    place.write("bad.txt", "5\nnobody\n");
    let told = place.fail("embed g.graph --model m --nodes bad.txt -o x.npy");
    assert!(told.contains("bad.txt:2: no node has the id \"nobody\""), "{told}");
    let told = place.fail("embed g.graph --model m --no-clobber -o two.parquet");
    assert!(told.contains("already exists"), "{told}");
    place.write("empty.txt", "");
    assert!(
        place.fail("embed g.graph --model m --nodes empty.txt -o x.npy").contains("names no node")
    );
}

#[test]
fn training_tells_what_it_did_and_keeps_a_log() {
    let place = small();
    let summary =
        place.json("train g.graph --preset reference --width 32 --batch 50 --steps 12 --json -o m");
    assert_eq!((&summary["steps"], &summary["batch"]), (&12.into(), &50.into()));
    assert!(summary["last_loss"].as_f64().unwrap() < summary["first_loss"].as_f64().unwrap());
    let log = std::fs::read_to_string(place.path("m/log.jsonl")).unwrap();
    let steps: Vec<u64> = log
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["step"].as_u64().unwrap()
        })
        .collect();
    assert_eq!(steps, (1..=12).collect::<Vec<_>>());
    let mut files: Vec<_> = std::fs::read_dir(place.path("m"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["config.json", "log.jsonl", "model.safetensors"]);
    assert_eq!(place.entries(), ["g.graph", "g.graph.contexts", "m"]);
}

#[test]
fn training_tells_whether_features_or_edges_find_like_nodes() {
    let place = small();
    let default = "train g.graph --steps 2 --force -o m";
    let found = &place.json(&format!("{default} --json"))["likeness"];
    // The generator joins like nodes.
    let number = |name: &str| found[name].as_f64().unwrap();
    assert!(number("neighbours") > 0.02 && number("slope") > 0.0, "{found}");
    assert!(number("plain_weight") < 0.05 && found["plain_columns"] == false, "{found}");
    let told = place.run(default);
    assert!(told.contains("nodes like a node: cosine"), "{told}");
    assert!(told.contains("plain features are left out"), "{told}");
    assert!(
        place.json("train g.graph --preset reference --width 8 --steps 2 --json -o r")["likeness"]
            .is_null()
    );
}

#[test]
fn units_of_measures_do_not_matter() {
    let place = Place::new();
    // 60 nodes around, an age and a share, and a mark; a quarter of the unit is exact in f32.
    let (mut edges, mut nodes) =
        (String::from("from,to\n"), ["id,age,share,mark\n"; 2].map(String::from));
    for node in 0..60 {
        edges += &format!("n{node},n{}\nn{node},n{}\n", (node + 1) % 60, (node * 7 + 3) % 60);
        let (age, share) = (20 + (node * 13) % 50, f64::from((node * 29) % 64) / 64.0);
        for (text, unit) in nodes.iter_mut().zip([1, 4]) {
            *text += &format!("n{node},{},{share},{}\n", age * unit, node % 2);
        }
    }
    place.write("edges.csv", &edges);
    let embedded: Vec<Vec<u8>> = (0..2)
        .map(|at| {
            place.write("nodes.csv", &nodes[at]);
            place.run("import table --edges edges.csv --nodes nodes.csv -o g.graph --force");
            let told = place.run("train g.graph --steps 3 -o m --force");
            let line = "2 of 3 feature columns are measures, brought to mean 0 and deviation 1";
            assert!(told.contains(line), "{told}");
            place.run("embed g.graph --model m -o e.npy");
            file(&place, "e.npy")
        })
        .collect();
    assert!(embedded[0] == embedded[1]);
    // Left alone they are something else; and words have no units.
    let summary =
        place.json("train g.graph --steps 3 -o n --set features.standardize=false --json");
    assert!(summary["measures"].is_null(), "{summary}");
    assert!(model(&place, "n") != model(&place, "m"));
    assert!(small().json("train g.graph --steps 2 -o m --json")["measures"].is_null());
}

#[test]
fn signals_on_held_out_contexts_choose_a_step() {
    let place = small();
    let base = "train g.graph --preset reference --width 32 --batch 50 --steps 40 --rate 0.01 \
                --set training.held_out=100 --set training.look_every=5 --json";
    let hinge = format!("{base} --set training.stopping={{held-out-hinge={{share=0.5}}}} -o a");
    let words: Vec<&str> = hinge.split_whitespace().collect();
    let output = Command::new(cargo_bin("subgcon"))
        .args(&words)
        .current_dir(place.0.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let kept = |name: &str| {
        let text = std::fs::read(place.path(name).join("config.json")).unwrap();
        let config: serde_json::Value = serde_json::from_slice(&text).unwrap();
        config["provenance"]["step"].as_u64().unwrap()
    };
    let log = std::fs::read_to_string(place.path("a/log.jsonl")).unwrap();
    let looks: Vec<(u64, f64)> = log
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter_map(|line| Some((line["step"].as_u64()?, line["look"]["hinge"].as_f64()?)))
        .collect();
    assert_eq!(looks.len(), 8, "{log}");
    assert!(kept("a") < 40 && kept("a").is_multiple_of(5), "{}", kept("a"));
    place.run(&format!("{base} --set training.stopping=effective-rank -o b"));
    place.run(&format!("{base} --set training.averaging=0.9 -o c"));
    assert_eq!(kept("c"), 40);
    // The kept step is the one that training that far ends in.
    let step = kept("a");
    if step > 0 {
        place.run(&format!("{base} --set training.steps={step} -o d"));
        for name in ["a", "d"] {
            place.run(&format!("embed g.graph --model {name} -o {name}.npy"));
        }
        assert!(file(&place, "a.npy") == file(&place, "d.npy"));
    }
}

fn killed(place: &Place, words: &str, after: Duration) {
    let mut child = place.command(words).spawn().unwrap();
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_killed_training_is_taken_up_and_ends_in_the_same_bytes() {
    let place = small();
    for kind in [
        "--preset reference --width 200 --batch 100 --steps 60 --set training.averaging=0.9 \
         --rate 0.0038174474883355316",
        "--preset default --batch 100 --steps 60 --set training.held_out=50 \
         --set training.stopping=effective-rank",
    ] {
        place.run(&format!("train g.graph {kind} --force -o whole"));
        for milliseconds in [30, 80, 150, 260] {
            let words = format!("train g.graph {kind} --checkpoint-every 1 -o part");
            let _ = std::fs::remove_dir_all(place.path("part"));
            let _ = std::fs::remove_dir_all(place.path("part.training"));
            killed(&place, &words, Duration::from_millis(milliseconds));
            if place.path("part").exists() {
                continue;
            }
            let checkpoint = place.path("part.training/checkpoint.safetensors");
            if checkpoint.exists() {
                let told = place.fail(&words);
                assert!(told.contains("pass --resume"), "{told}");
                let told = place.fail(&format!("{words} --resume --seed 5"));
                assert!(told.contains("began with another seed (0, now 5)"), "{told}");
            }
            let done = place.command(&format!("{words} --resume")).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            assert!(model(&place, "whole") == model(&place, "part"), "{kind}, {milliseconds} ms");
            assert!(file(&place, "whole/log.jsonl") == file(&place, "part/log.jsonl"), "{kind}");
            assert!(!place.path("part.training").exists());
        }
    }
}

#[test]
fn what_cannot_be_trained_is_refused() {
    let place = small();
    let refused = |words: &str, told: &str| {
        let error = place.fail(&format!("train g.graph {words} -o m"));
        assert!(error.contains(told), "{words}: {error}");
        assert_eq!(place.entries().iter().filter(|name| name.starts_with('m')).count(), 0);
    };
    refused("--width 0", "encoder.width = 0: choose at least 1 column");
    refused("--batch 1", "training.batch = 1: the other contexts of a batch are the negatives");
    refused("--subgraphs 601", "training.subgraphs = 601: there are 600 contexts");
    refused("--set objective.kind={margin={margin=1.5}}", "objective.margin = 1.5");
    refused("--set objective.negatives={shuffles=600}", "objective.negatives = 600");
    refused("--encoder gnc", "unknown variant `gnc`");
    refused("--set encoder.widht=4", "unknown field `widht`");
    refused("--set encoder", "write NAME=VALUE");
    refused("--config none.toml", "none.toml: cannot read");
    refused("--rate -1", "optimizer.rate = -1");
    refused("--preset reference --size 100", "contexts.size = 100");
    refused("--preset reference --rate 1e30 --steps 20", "training diverged at step");
    place.command("train g.graph").assert().code(2);
    place.write("e.csv", "src,dst\na,b\nb,c\nc,d\n");
    place.run("import table --edges e.csv -o bare.graph");
    let told = place.fail("train bare.graph -o m");
    assert!(told.contains("has no features") && told.contains("--structural"), "{told}");
    place.run("train bare.graph --structural --steps 3 -o bare");
    place.run("embed bare.graph --model bare -o bare.txt");
    assert!(place.fail("train g.graph --structural -o m").contains("features of its own"));
    place.write("full", "precious");
    assert!(place.fail("train g.graph -o full").contains("already exists"));
    assert!(place.fail("train g.graph --force -o full").contains("is no model"));
    // Folders with something else in them are left alone.
    std::fs::create_dir(place.path("x.training")).unwrap();
    place.write("x.training/thesis.txt", "precious");
    assert!(place.fail("train g.graph -o x").contains("holds thesis.txt"));
    place.write("bare/notes.txt", "precious");
    assert!(place.fail("train g.graph --force -o bare").contains("holds notes.txt"));
    assert_eq!(file(&place, "x.training/thesis.txt"), b"precious");
}

#[test]
fn foreign_and_damaged_models_are_refused() {
    let place = small();
    place.run("train g.graph --preset reference --width 16 --steps 3 -o m");
    place.run("generate communities --nodes 300 --edges 1200 --feature-width 80 --classes 3 --seed 4 -o other.graph");
    let printed = place.run("embed other.graph --model m -o other.parquet");
    assert!(printed.contains("trained on another graph"), "{printed}");
    place.run("generate communities --nodes 300 --edges 1200 --feature-width 81 --classes 3 --seed 4 -o wide.graph");
    let told = place.fail("embed wide.graph --model m -o x.parquet");
    assert!(told.contains("takes 80 features, the graph has 81"), "{told}");
    let told = place.fail("embed g.graph --model m -o x.xyz");
    assert!(told.contains(".parquet"), "{told}");
    let weights = place.path("m/model.safetensors");
    let bytes = std::fs::read(&weights).unwrap();
    let damaged = |content: &[u8], told: &str| {
        std::fs::write(&weights, content).unwrap();
        let error = place.fail("embed g.graph --model m -o x.parquet");
        assert!(error.contains(told), "{error}");
    };
    damaged(&bytes[..bytes.len() - 1], "bytes, config.json says");
    let mut changed = bytes.clone();
    *changed.last_mut().unwrap() ^= 1;
    damaged(&changed, "has changed since it was written");
    std::fs::write(&weights, &bytes).unwrap();
    let config = file(&place, "m/config.json");
    let text = String::from_utf8(config).unwrap();
    place.write("m/config.json", &text.replace("\"size\": 20", "\"size\": 12"));
    let told = place.fail("embed g.graph --model m -o x.parquet");
    assert!(told.contains("settings are not those"), "{told}");
    place.write("m/config.json", &text.replace("\"version\": 1", "\"version\": 2"));
    assert!(place.fail("embed g.graph --model m -o x.parquet").contains("use a newer subgcon"));
    place.write("m/config.json", &text[..text.len() / 2]);
    assert!(place.fail("embed g.graph --model m -o x.parquet").contains("cannot be read"));
    assert!(place.fail("embed g.graph --model g.graph -o x.parquet").contains("is a graph store"));
    assert!(!place.path("x.parquet").exists());
}

#[test]
fn nodes_without_neighbours_or_features_get_a_row_and_a_status() {
    let place = Place::new();
    place.write("e.csv", "src,dst\na,b\nb,c\nc,a\n");
    place.write("n.csv", "id,x,y\na,1,0\nb,0,1\nc,1,1\nlone,1,2\nblank,0,0\n");
    place.run("import table --edges e.csv --nodes n.csv -o g.graph");
    for preset in ["reference", "paper", "default"] {
        place.run(&format!("train g.graph --preset {preset} --steps 5 --force -o m"));
        let told = place.json("embed g.graph --model m --json -o e.txt");
        assert_eq!((&told["isolated"], &told["no_features"]), (&1.into(), &1.into()));
        assert_eq!((&told["short_context"], &told["nodes"]), (&3.into(), &5.into()));
        let text = std::fs::read_to_string(place.path("e.txt")).unwrap();
        assert!(!text.to_lowercase().contains("nan"), "{text}");
        let ids: Vec<&str> =
            text.lines().skip(1).map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(ids, ["a", "b", "c", "lone", "blank"]);
    }
}

/// A disk that fills up, played by a limit on the size of files.
#[cfg(unix)]
#[test]
fn a_full_disk_is_told_and_keeps_what_was_there() {
    let limited = |place: &Place, words: &str, blocks: u32| {
        let program = cargo_bin("subgcon");
        let command =
            format!("ulimit -f {blocks}; trap '' XFSZ; exec {} {words}", program.display());
        let output = Command::new("bash")
            .args(["-c", &command])
            .current_dir(place.0.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("cannot write"), "{told}");
    };
    let place = small();
    place.run("contexts g.graph");
    let words = "train g.graph --preset reference --width 300 --steps 10 -o m";
    limited(&place, &format!("{words} --checkpoint-every 5"), 50);
    assert!(!place.path("m").exists());
    place.run(&format!("{words} --force"));
    for name in ["e.parquet", "e.npy", "e.txt"] {
        place.write(name, "old");
        limited(&place, &format!("embed g.graph --model m -o {name}"), 50);
        assert_eq!(file(&place, name), b"old");
        place.run(&format!("embed g.graph --model m -o {name}"));
    }
    let hidden = |entry: &String| entry.starts_with('.');
    assert_eq!(place.entries().iter().filter(|entry| hidden(entry)).count(), 0);
    assert!(Path::new(&place.path("e.parquet")).metadata().unwrap().len() > 300 * 600);
}
