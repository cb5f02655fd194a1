//! The paper's experiments, on a small graph in the place of a public one.

use std::path::PathBuf;

use crate::place::Place;

/// A folder in which "cora" is a small graph with communities that was imported before.
fn small() -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.path("data/planetoid")).unwrap();
    std::fs::create_dir_all(place.path("results/stores")).unwrap();
    place.write("data/planetoid/ind.cora.graph", "");
    place.run(
        "generate communities --nodes 300 --edges 1200 --classes 2 --feature-width 60 -o \
         results/stores/cora.graph",
    );
    place
}

/// Everything small.
const QUICK: &str = "--seeds 1 --set training.steps=6 --set training.batch=40 --set encoder.width=16 \
                     --set optimizer.decay=none";

fn read(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn all_experiments_are_written_with_the_papers_numbers_beside() {
    let place = small();
    let told = place.run(&format!("reproduce all --data data -o results {QUICK}"));
    assert!(told.contains("wrote results/classification.md"), "{told}");
    // A part of each page that only its own experiment can have written.
    for (name, parts) in [
        (
            "classification",
            &["| Subg-Con (paper) | 83.5 |", "| PageRank-smoothed features, costs nothing |"][..],
        ),
        ("encoders", &["| Cora | GCN + Skip | 83.5 |", "| Cora | GIN | 83 |"]),
        ("objectives", &["| Cora | margin | 83.5 |", "| Cora | BPR | 81.7 |"]),
        ("subgraphs", &["| Cora | all (300) |", "| Cora | 50 |", "![Fig. 3"]),
        ("composition", &["| graph | 1 hop |", "| Cora | "]),
        ("efficiency", &["| Cora | DGI (paper, GPU) | 27 |", "`reference`, 300 contexts (ours)"]),
        ("threads", &["| Cora | 1 |", "1.00"]),
        ("size", &["| Cora | 2 |", "| Cora | 20 |"]),
    ] {
        let page = read(&place, &format!("results/{name}.md"));
        for part in parts {
            assert!(page.contains(part), "{name}: {part}\n{page}");
        }
        let command = format!("subgcon reproduce {name} --data data -o results --seeds 1 --set ");
        assert!(page.contains(&command) && page.contains("steps = 6\n"), "{name}: {page}");
    }
    for name in ["subgraphs", "composition", "threads", "size"] {
        let picture = read(&place, &format!("results/{name}.svg"));
        assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"), "{name}");
        assert!(picture.contains("Cora") && !picture.contains("NaN"), "{name}: {picture}");
    }
    let mut left = std::fs::read_dir(place.path("results")).unwrap();
    assert!(left.all(|entry| entry.unwrap().path().extension().is_none_or(|e| e != "partial")));
}

#[test]
fn efficiency_finds_contexts_anew() {
    let place = small();
    let words = format!("reproduce efficiency --data data -o results {QUICK}");
    place.run(&words);
    let stores = place.path("results/stores");
    assert!(!stores.join("without-contexts").exists());
    assert!(!stores.join("cora.graph.contexts").exists());
    // What is left there from a killed run, and contexts that an earlier experiment left and that
    // cannot be read, are not in the way.
    place.run(&format!("reproduce composition --data data -o results {QUICK}"));
    for table in std::fs::read_dir(stores.join("cora.graph.contexts")).unwrap() {
        std::fs::write(table.unwrap().path().join("manifest.json"), "{").unwrap();
    }
    let left = stores.join("without-contexts/cora.graph");
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(left.join("manifest.json"), "{").unwrap();
    place.run(&words);
    let told = place.fail("benchmark results/stores/cora.graph --preset reference --seeds 1");
    assert!(told.contains("manifest.json"), "{told}");
}

#[test]
fn the_same_seeds_write_the_same_figures() {
    let place = small();
    // Three seeds: with several threads they run side by side.
    let quick = QUICK.replace("--seeds 1", "--seeds 3");
    let words = format!("reproduce objectives --data data -o results {quick}");
    place.run(&words);
    let first = read(&place, "results/objectives.md");
    // Found again, and not taken over.
    std::fs::remove_file(place.path("results/runs.jsonl")).unwrap();
    let told = place.run(&format!("{words} --threads 1"));
    assert!(!told.contains("taken over"), "{told}");
    assert_eq!(read(&place, "results/objectives.md"), first);
}

#[test]
fn what_was_found_before_a_kill_is_taken_over() {
    let place = small();
    let words = format!("reproduce objectives --data data -o results {QUICK}");
    place.run(&words);
    let (page, journal) =
        (read(&place, "results/objectives.md"), read(&place, "results/runs.jsonl"));
    // Three objectives: four rates each at least, and the rows themselves.
    let lines: Vec<&str> = journal.lines().collect();
    let rows: Vec<usize> =
        (0..lines.len()).filter(|&at| lines[at].contains("\"accuracy_mean\":")).collect();
    assert!(rows.len() == 3 && rows[0] >= 4 && lines.len() >= 3 * 4 + 3, "{journal}");
    // As a kill leaves it, and with a figure that no run can have found.
    let first = rows[0];
    let odd = lines[first].replace("\"accuracy_mean\":", "\"accuracy_mean\":0.123,\"x\":");
    let cut = format!("{}\n{odd}\n{}", lines[..first].join("\n"), &lines[first + 1][..40]);
    place.write("results/runs.jsonl", &cut);
    let told = place.run(&words);
    let kept = format!("results/runs.jsonl has {} figures of earlier runs", first + 1);
    assert!(told.starts_with(&kept), "{told}");
    let changed = read(&place, "results/objectives.md");
    assert!(changed.contains("| 12.3 |") && !page.contains("| 12.3 |"), "{changed}");
    // All others are the same, whether they were taken over or found again.
    let others = |page: &str, not: &str| {
        page.lines().filter(|line| !line.contains(not)).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(others(&changed, "| Cora | margin |"), others(&page, "| Cora | margin |"));
    // Other seeds are other runs.
    let lines = read(&place, "results/runs.jsonl").lines().count();
    let told = place.run(&words.replace("--seeds 1", "--seeds 2"));
    assert!(told.contains("taken over"), "{told}");
    let page = read(&place, "results/objectives.md");
    assert!(!page.contains("| 12.3 |"), "{page}");
    // Rates were found before, rows were not.
    let rows = read(&place, "results/runs.jsonl").lines().count() - lines;
    assert_eq!(rows, 3);
}

#[test]
fn what_is_not_there_is_said() {
    let place = small();
    let told = place.fail("reproduce size --data results -o new");
    assert!(told.contains("results: has none of the graphs; put the Planetoid files"), "{told}");
    let told = place.fail("reproduce size --data data -o new --only reddit");
    assert!(told.contains("--only reddit: is no graph of the paper"), "{told}");
    let told = place.fail("reproduce size --data data -o new --only pubmed");
    assert!(told.contains("has none of the graphs"), "{told}");
    let told = place.fail("reproduce size --data data -o new --seeds 0");
    assert!(told.contains("run at least one"), "{told}");
    let told = place.fail("reproduce size --data data -o new --set training.stepz=1");
    assert!(told.contains("stepz"), "{told}");
    let largest = i64::MAX;
    let told =
        place.fail(&format!("reproduce size --data data -o new --seeds 2 --set seed={largest}"));
    assert!(told.contains("ask for fewer, or begin with a smaller one"), "{told}");
    // Right for the preset that most experiments start from, not for one that `all` uses, too.
    let told =
        place.fail("reproduce all --data data -o new --preset default --set contexts.size=70");
    assert!(told.contains("contexts.size"), "{told}");
    std::fs::create_dir(place.path("mine.graph")).unwrap();
    std::fs::write(place.path("mine.graph/manifest.json"), "{}").unwrap();
    let told = place.fail("reproduce size --data data -o mine.graph");
    assert!(told.contains("mine.graph/manifest.json: a graph, contexts or a model are"), "{told}");
    assert_eq!(std::fs::read_dir(place.path("mine.graph")).unwrap().count(), 1);
    let rule = "--set training.held_out=20 --set training.stopping=effective-rank";
    let told = place.fail(&format!("reproduce all --data data -o new {rule}"));
    assert!(told.contains("`reproduce classification`; leave the rule out"), "{told}");
    assert!(!place.path("new").exists(), "nothing was asked for that can be done");
}

#[test]
fn pages_tell_what_was_run_and_not_what_is_usual() {
    let place = small();
    let quick = QUICK.replace("--seeds 1", "--seeds 2");
    let words = format!("{quick} --set seed=7 --set training.subgraphs=33");
    place.run(&format!("reproduce threads --data data -o results {words}"));
    let page = read(&place, "results/threads.md");
    assert!(page.contains("6 steps on 33 contexts or all there are"), "{page}");
    assert!(page.contains(", seed 7, a machine"), "one run, however many others have: {page}");
    place.run(&format!("reproduce efficiency --data data -o results {words} --threads 1"));
    let page = read(&place, "results/efficiency.md");
    assert!(page.contains("`default`, 33 contexts (ours)"), "{page}");
    assert!(
        page.contains(", seeds 7 to 8, a machine") && page.contains(" --threads 1\n"),
        "{page}"
    );
    place.run(&format!("reproduce composition --data data -o results {words}"));
    let page = read(&place, "results/composition.md");
    assert!(!page.contains("seeds 7"), "nothing is drawn by lot: {page}");
    // All there are, where more are asked for, or a number is not: 300 but for those held out.
    for (asked, told) in
        [("100000", "`default`, 280 contexts"), ("none", "`default`, 280 contexts")]
    {
        let words = format!("{QUICK} --set training.held_out=20 --set training.subgraphs={asked}");
        place.run(&format!("reproduce efficiency --data data -o results {words}"));
        let page = read(&place, "results/efficiency.md");
        assert!(page.contains(told), "{page}");
        place.run(&format!("reproduce threads --data data -o results {words}"));
    }
    // Nothing is left of what cannot be done.
    let many = "--set training.held_out=100000";
    let words = format!("reproduce efficiency --data data -o results {QUICK} {many}");
    let output = place.command(&words).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.starts_with("error: training.held_out = 100000"), "{told}");
    assert!(!place.path("results/stores/without-contexts").exists());
}

#[test]
fn public_graphs_are_imported_on_the_fly() {
    let data = std::env::var_os("SUBGCON_SHARED_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    if !data.join("planetoid/ind.cora.graph").exists() {
        println!("skipped: {} is not there", data.display());
        return;
    }
    let place = Place::new();
    let words =
        format!("reproduce composition --data {} -o r --only cora --only citeseer", data.display());
    place.run(&words);
    let page = read(&place, "r/composition.md");
    assert!(page.contains("| Cora | ") && page.contains("| Citeseer | "), "{page}");
    let nodes = &place.json("info r/stores/citeseer.graph --json")["nodes"];
    assert_eq!(*nodes, 3327, "as in the paper's Table I");
    // The second time the stores are there.
    let made = |name: &str| std::fs::metadata(place.path(name)).unwrap().modified().unwrap();
    let store = "r/stores/cora.graph/manifest.json";
    let before = made(store);
    place.run(&words);
    assert_eq!((read(&place, "r/composition.md"), made(store)), (page.clone(), before));
    // But not those that another program made.
    place.write("r/stores/cora.from", "another program");
    std::fs::remove_file(place.path("r/stores/cora.graph/neighbours.npy")).unwrap();
    place.run(&words);
    assert_eq!(read(&place, "r/composition.md"), page);
    assert!(made(store) > before);
}

#[test]
fn stores_of_other_files_or_programs_are_not_taken() {
    let place = small();
    let words = format!("reproduce composition --data data -o results {QUICK}");
    place.run(&words);
    // Made anew from what is there, which is nothing.
    place.write("results/stores/cora.from", "another program\nind.cora.graph 0 0\n");
    let told = place.fail(&words);
    assert!(told.contains("data/planetoid/ind.cora."), "{told}");
    assert!(!place.path("results/stores/cora.graph").exists());
}
