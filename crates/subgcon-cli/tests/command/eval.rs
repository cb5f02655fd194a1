//! Measuring embeddings: `eval`, `links`, and the end of `demo`.

use assert_cmd::assert::OutputAssertExt;

use crate::place::{Place, QUICK, number, small, timeless};

/// An id and its embedding.
type EmbeddingRow = (String, Vec<f32>);

/// Embeddings as text.
fn write_text(place: &Place, name: &str, rows: &[EmbeddingRow]) {
    let width = rows[0].1.len();
    let mut text = format!("{} {width}\n", rows.len());
    for (id, row) in rows {
        let row: Vec<String> = row.iter().map(f32::to_string).collect();
        text += &format!("{id} {}\n", row.join(" "));
    }
    place.write(name, &text);
}

/// A graph of two rings and the rows of its nodes: the first column tells the label.
fn rings(labels: &[&str], splits: &[&str]) -> (Place, Vec<EmbeddingRow>) {
    let place = Place::new();
    let count = labels.len();
    // Without any role there is no column of them.
    let split = splits.iter().any(|split| !split.is_empty());
    let mut nodes = String::from(if split { "id,label,f,split\n" } else { "id,label,f\n" });
    let mut edges = String::from("src,dst\n");
    let mut rows = Vec::new();
    for node in 0..count {
        nodes += &format!("n{node},{},{}", labels[node], node % 3);
        nodes += &if split { format!(",{}\n", splits[node]) } else { "\n".into() };
        edges += &format!("n{node},n{}\n", (node + 2) % count);
        let side = if labels[node] == "a" { 1.0 } else { -1.0 };
        rows.push((format!("n{node}"), vec![side, node as f32 / count as f32]));
    }
    place.write("nodes.csv", &nodes);
    place.write("edges.csv", &edges);
    place.run("import table --edges edges.csv --nodes nodes.csv --feature-columns f -o g.graph");
    (place, rows)
}

/// Labels a, b in turn; a third of the nodes each for training, validation and test.
fn usual(count: usize) -> (Vec<&'static str>, Vec<&'static str>) {
    let labels = (0..count).map(|node| ["a", "b"][node % 2]).collect();
    let splits = (0..count).map(|node| ["train", "validation", "test"][node / 2 % 3]).collect();
    (labels, splits)
}

#[test]
fn eval_tells_what_rows_tell_in_any_order_of_rows() {
    let (labels, splits) = usual(36);
    let (place, mut rows) = rings(&labels, &splits);
    write_text(&place, "e.txt", &rows);
    let report = place.json("eval e.txt --graph g.graph --json");
    // The first column is the label: nothing is left to be wrong.
    for field in ["test_mean", "validation_mean", "sim_at_5"] {
        assert_eq!(number(&report[field]), 1.0, "{field}: {report}");
    }
    assert_eq!(report["metric"], "accuracy");
    let split = &report["splits"]["public"];
    assert_eq!([&split["test"]["nodes"], &split["train"]["nodes"]], [12, 12]);
    assert_eq!(number(&split["test"]["auc"]), 1.0);
    assert_eq!(number(&report["groups"]["nmi"]), 1.0);
    assert_eq!(split["tried"].as_array().unwrap().len(), 13);
    assert!(report["test_std"].is_null(), "there is one split: {report}");
    rows.reverse();
    write_text(&place, "turned.txt", &rows);
    let turned = place.json("eval turned.txt --graph g.graph --json");
    assert_eq!(turned["splits"], report["splits"]);
    let told = place.run("eval e.txt --graph g.graph --strength 0.5");
    assert!(told.contains("accuracy 100.0 %") && told.contains("C = 0.5"), "{told}");
    assert!(!told.contains('±') && !told.contains("is tried"), "{told}");
    let some = place.json("eval e.txt --graph g.graph --strength 2,0.5 --json");
    let tried = some["splits"]["public"]["tried"].as_array().unwrap();
    assert_eq!([number(&tried[0]["c"]), number(&tried[1]["c"])], [0.5, 2.0]);
    assert!(place.fail("eval e.txt --graph g.graph --strength 1,0").contains("--strength: c = 0"));
    let told = place.run("eval e.txt --graph g.graph --strength 1,2");
    assert!(!told.contains("is tried"), "{told}");
    // So short that one C is as good as another.
    let short: Vec<_> = rows
        .iter()
        .map(|(id, row)| (id.clone(), row.iter().map(|x| 1e-9 * x).collect::<Vec<_>>()))
        .collect();
    write_text(&place, "short.txt", &short);
    let told = place.run("eval short.txt --graph g.graph");
    assert!(told.contains("test 100.0 %") && !told.contains("is tried"), "any C will do: {told}");
    // Chance, where the labels are not in the rows.
    rows.iter_mut().for_each(|(_, row)| row[0] = 0.0);
    write_text(&place, "blind.txt", &rows);
    let blind = place.json("eval blind.txt --graph g.graph --json");
    assert!(number(&blind["test_mean"]) < 0.8, "{blind}");
    rows.iter_mut().for_each(|(_, row)| row.fill(0.0));
    write_text(&place, "zeros.txt", &rows);
    let told = place.run("eval zeros.txt --graph g.graph");
    assert!(told.contains("C = 0.001 is the smallest that is tried"), "{told}");
}

#[test]
fn people_are_told_every_figure_and_splits_in_their_order() {
    let (labels, splits) = usual(36);
    let (place, rows) = rings(&labels, &splits);
    write_text(&place, "e.txt", &rows);
    let told = place.run("eval e.txt --graph g.graph");
    assert!(told.starts_with("accuracy 100.0 % over 1 split (36 nodes, 2 columns)\n"), "{told}");
    assert!(told.contains(", macro-F1 1.0000, AUC 1.0000\n"), "{told}");
    assert!(told.contains("the 10 nearest training nodes vote: test 100.0 %"), "{told}");
    assert!(told.contains("(split public)\n"), "{told}");
    let told = place.run("eval e.txt --graph g.graph --random 12 --sizes 0.5/0.2/0.3");
    let names: Vec<&str> =
        told.lines().filter_map(|line| line.strip_prefix("  ")?.split(':').next()).collect();
    let wanted: Vec<String> = (0..12).map(|at| format!("random {at}")).collect();
    assert_eq!(names, wanted, "{told}");
    assert!(told.starts_with("accuracy 100.0 ± 0.0 % over 12 splits"), "{told}");
}

/// Nothing has ten others of its class where ten have a label; the probe says what it can.
#[test]
fn few_labels_leave_out_what_wants_more() {
    let labels: Vec<&str> = (0..36).map(|node| ["a", "b"][node % 2]).collect();
    let (_, splits) = usual(36);
    let few = |all: &[&'static str]| -> Vec<&str> {
        all.iter().enumerate().map(|(node, it)| if node < 10 { *it } else { "" }).collect()
    };
    let (place, rows) = rings(&few(&labels), &few(&splits));
    write_text(&place, "e.txt", &rows);
    let report = place.json("eval e.txt --graph g.graph --json");
    assert!(number(&report["test_mean"]) > 0.9 && report["sim_at_10"].is_null(), "{report}");
    assert!(number(&report["sim_at_5"]) > 0.0);
    let told = place.run("eval e.txt --graph g.graph");
    assert!(told.contains(" of 5 (of 10 nodes)\n"), "{told}");
}

#[test]
fn random_splits_have_the_sizes_that_were_asked_for() {
    let place = small("");
    place.run(&format!("train g.graph {QUICK} -o m"));
    place.run("embed g.graph --model m -o e.parquet");
    let report = place.json(
        "eval e.parquet --graph g.graph --random 4 --train-per-class 7 --validation-per-class 9 --seed \
         2 --json",
    );
    let splits = report["splits"].as_object().unwrap();
    assert_eq!(splits.len(), 4);
    for split in splits.values() {
        let sizes = ["train", "validation", "test"].map(|role| number(&split[role]["nodes"]));
        assert_eq!(sizes, [21.0, 27.0, 600.0 - 48.0]);
    }
    assert!(number(&report["test_std"]) > 0.0);
    for odd in ["--random 0", "--random -1", "--random 1000000000", "--train-per-class -1"] {
        let words = format!("eval e.parquet --graph g.graph {odd}");
        let told = place.command(&words).assert().code(2).stdout("").get_output().stderr.clone();
        let told = String::from_utf8(told).unwrap();
        let value = odd.split(' ').nth(1).unwrap();
        assert!(told.contains(&format!("invalid value '{value}' for '--")), "{told}");
    }
    for odd in ["--train-per-class", "--validation-per-class"] {
        let told = place.fail(&format!("eval e.parquet --graph g.graph {odd} {}", usize::MAX));
        assert!(told.contains("are 18446744073709551615; ask for fewer a class"), "{told}");
    }
    let told = place.fail("eval e.parquet --graph g.graph --random 2 --train-per-class 900");
    assert!(told.contains("random splits: labels: class \"0\" has "), "{told}");
    // Sizes ask for random splits, although this store has one of its own.
    let words = "eval e.parquet --graph g.graph --json";
    for (more, wanted) in [
        ("--sizes 0.6/0.2/0.2", [360.0, 120.0, 120.0]),
        ("--sizes 140/0.5/rest", [140.0, 300.0, 160.0]),
        ("--train-per-class 11", [33.0, 90.0, 477.0]),
    ] {
        let report = place.json(&format!("{words} {more}"));
        let splits = report["splits"].as_object().unwrap();
        assert_eq!(splits.len(), 10);
        for split in splits.values() {
            let sizes = ["train", "validation", "test"].map(|role| number(&split[role]["nodes"]));
            assert_eq!(sizes, wanted, "{more}");
        }
    }
    let told = place.fail(&format!("{words} --sizes 500/200/rest"));
    assert!(told.contains("sizes: 700 nodes, and 600 can be drawn; ask for fewer"), "{told}");
    for more in ["--sizes 1/2", "--sizes 0.6/0.2/0.2 --train-per-class 20"] {
        place.command(&format!("{words} {more}")).assert().code(2).stdout("");
    }
}

#[test]
fn eval_refuses_what_it_cannot_measure() {
    let (labels, splits) = usual(36);
    let (place, rows) = rings(&labels, &splits);
    let bad = |name: &str, change: &dyn Fn(&mut Vec<EmbeddingRow>)| {
        let mut rows = rows.clone();
        change(&mut rows);
        write_text(&place, name, &rows);
        place.fail(&format!("eval {name} --graph g.graph"))
    };
    let told = bad("nan.txt", &|rows| rows[4].1[1] = f32::NAN);
    assert!(told.contains("nan.txt, row 4: number 1 of the embedding is NaN; write a"), "{told}");
    let told = bad("other.txt", &|rows| rows[3].0 = "stranger".into());
    assert!(told.contains("has a row for \"stranger\", which is no node of g.graph"), "{told}");
    let told = bad("subset.txt", &|rows| rows.truncate(30));
    assert!(
        told.contains("has no row for 6 nodes of g.graph, the first of them \"n30\""),
        "{told}"
    );
    let told = bad("twice.txt", &|rows| rows[5].0 = "n4".into());
    assert!(told.contains("\"n4\"") && !told.contains("no row for"), "{told}");
    place.write("empty.txt", "0 2\n");
    place.fail("eval empty.txt --graph g.graph");
    place.fail("eval nothing.txt --graph g.graph");
}

#[test]
fn splits_and_labels_that_cannot_be_probed_are_refused_by_both_commands() {
    let check = |labels: &[&str], splits: &[&str], wanted: &str| {
        let (place, rows) = rings(labels, splits);
        write_text(&place, "e.txt", &rows);
        for words in ["eval e.txt --graph g.graph", "benchmark g.graph --seeds 1"] {
            let told = place.fail(words);
            assert!(told.contains(wanted), "{words}: {told}");
            assert!(told.starts_with("error: "), "{told}");
        }
    };
    let (labels, splits) = usual(36);
    // Training nodes are 0, 1, 6, 7, …: one class of them.
    let one: Vec<&str> =
        labels.iter().zip(&splits).map(|(l, s)| if *s == "train" { "a" } else { l }).collect();
    let unused: Vec<&str> =
        one.iter().zip(&splits).map(|(l, s)| if *l == "b" { "" } else { s }).collect();
    check(
        &one,
        &unused,
        "training nodes are all of one class; assign training nodes of at least two",
    );
    check(&one, &splits, "class \"b\" has validation nodes but no training node; move one of its");
    let mut some = labels.clone();
    some[9] = "";
    check(
        &some,
        &splits,
        "node \"n9\" is a validation node and has no label; label it, or take it out",
    );
    let none = vec![""; 36];
    // Without any split random ones are drawn, for which these classes are too small.
    check(
        &labels,
        &none,
        "g.graph: the graph has no split: labels: class \"a\" has 18 nodes; 20 for",
    );
    let trainless: Vec<&str> = splits.iter().map(|s| if *s == "train" { "" } else { s }).collect();
    check(&labels, &trainless, "no train nodes; assign some, or draw random splits with some");
}

#[test]
fn a_graph_without_labels_or_features_says_so() {
    let place = Place::new();
    place.run("generate powerlaw --nodes 100 --edges 300 -o g.graph");
    let told = place.fail("benchmark g.graph --seeds 1");
    assert!(told.contains("the graph has no labels to measure by"), "{told}");
    assert!(place.fail("links g.graph").contains("the graph has no features"));
    let told = place.fail("links g.graph --structural");
    assert!(told.contains("know of edges that are held out"), "{told}");
    assert!(small("").fail("benchmark g.graph --seeds 0").contains("run at least one"));
}

#[test]
fn overlapping_splits_are_refused_at_the_door() {
    let place = Place::new();
    place.write("edges.csv", "src,dst\na,b\nb,c\n");
    place.write("nodes.csv", "id,label,split\na,x,train\nb,y,test\nc,x,validation\na,x,test\n");
    let told = place.fail("import table --edges edges.csv --nodes nodes.csv -o g.graph");
    assert!(told.contains("\"a\"") && told.contains("nodes.csv"), "{told}");
    assert!(!place.path("g.graph").exists());
}

#[test]
fn several_classes_a_node_are_measured_by_micro_f1() {
    let place = Place::new();
    // A GraphSAGE folder: two yes-or-no classes, each told by the sign of a feature.
    let count = 90;
    let roles = ["false,\"test\":false", "true,\"test\":false", "false,\"test\":true"];
    let nodes: Vec<String> =
        (0..count).map(|n| format!("{{\"id\":{n},\"val\":{}}}", roles[n / 3 % 3])).collect();
    let links: Vec<String> =
        (0..count).map(|n| format!("{{\"source\":{n},\"target\":{}}}", (n + 6) % count)).collect();
    let graph = format!("{{\"nodes\":[{}],\"links\":[{}]}}", nodes.join(","), links.join(","));
    place.write("toy-G.json", &graph);
    let classes: Vec<String> =
        (0..count).map(|n| format!("\"{n}\":[{},{}]", n % 2, usize::from(n % 3 == 0))).collect();
    place.write("toy-class_map.json", &format!("{{{}}}", classes.join(",")));
    place.run("import graphsage --prefix toy -o g.graph");
    let rows: Vec<EmbeddingRow> = (0..count)
        .map(|n| (n.to_string(), vec![(n % 2) as f32, f32::from(u8::from(n % 3 == 0)), 1.0]))
        .collect();
    write_text(&place, "e.txt", &rows);
    let report = place.json("eval e.txt --graph g.graph --json");
    assert_eq!((&report["metric"], number(&report["test_mean"])), (&"micro_f1".into(), 1.0));
    assert!(report["groups"].is_null());
    let report = place
        .json(&format!("benchmark g.graph --seeds 1 --structural --no-baselines {QUICK} --json"));
    assert_eq!(report["metric"], "micro_f1");
    // Four columns: candidates are compared on 16 of the 30 nodes of each part, and the one that
    // is kept is measured on all, as if training had ended there.
    let words = "benchmark g.graph --seeds 1 --structural --no-baselines --preset reference --width 4 \
                 --batch 30 --json";
    let chosen = place
        .json(&format!("{words} --steps 6 --select validation-each --select-every 2 --threads 1"));
    let step = number(&chosen["steps"][0]);
    assert!(step >= 2.0 && step % 2.0 == 0.0, "{chosen}");
    let ended = place.json(&format!("{words} --steps {step}"));
    for field in ["accuracy_mean", "validation_mean", "c"] {
        assert_eq!(chosen[field], ended[field], "{field}");
    }
    let told = place.fail("eval e.txt --graph g.graph --random 2");
    assert!(told.contains("a node may have several classes"), "{told}");
    assert!(told.contains("give sizes of the whole (--sizes 0.1/0.1/0.8)"), "{told}");
    let report = place.json("eval e.txt --graph g.graph --random 2 --sizes 0.4/0.3/0.3 --json");
    assert_eq!(number(&report["test_mean"]), 1.0, "{report}");
}

#[test]
fn links_finds_held_out_edges_of_communities() {
    let place = Place::new();
    place.run(
        "generate communities --nodes 800 --edges 6000 --feature-width 120 --classes 8 --mixing 0.1 \
         --seed 3 -o g.graph",
    );
    let words = format!("links g.graph --seeds 2 {QUICK} --json");
    let report = place.json(&words);
    let edges = number(&report["edges"]);
    assert_eq!(number(&report["test_edges"]), (0.1 * edges).round());
    assert_eq!(number(&report["validation_edges"]), (0.05 * edges).round());
    assert!(number(&report["auc_mean"]) > 0.7, "{report}");
    for field in ["average_precision_mean", "hits_at_10", "hits_at_50", "hits_at_100", "mrr"] {
        assert!((0.0..=1.0).contains(&number(&report[field])), "{field}: {report}");
    }
    let raw = &report["baselines"]["raw features"];
    assert!(raw["difference_mean"].is_number() && raw["difference_error"].is_number(), "{raw}");
    assert_eq!(report["scores"].as_array().unwrap().len(), 2);
    assert_eq!(timeless(place.json(&format!("{words} --threads 1"))), timeless(report));
    // No contexts of the whole graph are written or read.
    assert!(!place.path("g.graph.contexts").exists());
    let told = place.run(&format!("links g.graph --seeds 1 --no-baselines {QUICK}"));
    assert!(told.contains("are held out for the test"), "{told}");
    assert!(place.fail("links g.graph --test 1.5").contains("between 0 and 1"));
}

#[test]
fn the_demo_ends_with_what_was_learnt() {
    let place = Place::new();
    let told = place.run("demo");
    for part in ["6. what a linear model reads", "learnt, without a label", "raw features"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(
        told.contains("learning added")
            && told.contains("points to the best of what costs nothing"),
        "{told}"
    );
}
