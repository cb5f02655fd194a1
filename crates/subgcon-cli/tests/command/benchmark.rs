//! `benchmark`: learnt rows beside those that cost nothing, and what chooses a step.

use serde_json::Value;

use crate::place::{Place, QUICK, number, small, timeless};

/// What every row of a benchmark tells.
const FIELDS: [&str; 11] = [
    "dataset",
    "preset",
    "seeds",
    "accuracy_mean",
    "accuracy_std",
    "accuracy_interval",
    "validation_mean",
    "width",
    "seconds",
    "peak_rss_bytes",
    "spread_over",
];

#[test]
fn benchmark_tells_the_same_of_every_row() {
    let place = small("--splits 2");
    let report = place.json(&format!("benchmark g.graph --seeds 2 {QUICK} --json"));
    assert_eq!(
        (&report["dataset"], &report["preset"], &report["seeds"]),
        (&"g".into(), &"default".into(), &2.into())
    );
    let rows = report["baselines"].as_object().unwrap();
    let names: Vec<&str> = rows.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "PageRank-smoothed features",
            "PageRank-smoothed features, projected",
            "S2GC features",
            "S2GC features, projected",
            "SGC features",
            "SGC features, projected",
            "raw features",
            "untrained embedding, all columns",
            "untrained encoder"
        ]
    );
    for (name, row) in rows.iter().chain([(&"learnt".to_owned(), &report)]) {
        for field in FIELDS {
            assert!(!row[field].is_null(), "{name}: {field}");
        }
        for stage in ["contexts", "train", "embed", "probe"] {
            assert!(number(&row["seconds"][stage]) >= 0.0, "{name}: {stage}");
        }
        let free = name != "learnt";
        // What does not depend on the seed is run once.
        let once = free && !name.starts_with("untrained");
        assert_eq!(row["spread_over"], if once { "splits" } else { "runs" }, "{name}");
        assert_eq!(row["c"].as_array().unwrap().len(), if once { 2 } else { 4 });
        assert_eq!(row["seeds"], if once { 1 } else { 2 });
        assert_eq!(row["difference_mean"].is_number(), free, "{name}");
        assert_eq!(row["difference_error"].is_number(), free, "{name}");
        if free {
            let more = number(&report["accuracy_mean"]) - number(&row["accuracy_mean"]);
            assert!((number(&row["difference_mean"]) - more).abs() < 1e-9, "{name}");
        }
        let projected = name.ends_with("projected");
        // Plain features weigh nothing here and have no columns.
        let width = if projected || !free { 56.0 } else { number(&row["width"]) };
        assert_eq!(number(&row["width"]), width, "{name}");
    }
    // What the embeddings were before the first step is what runs of no steps give, each with its seed.
    let words =
        format!("benchmark g.graph --seeds 2 --no-baselines {QUICK} --json --set training.steps=0");
    let untrained = place.json(&words);
    let row = &rows["untrained embedding, all columns"];
    for field in ["accuracy_mean", "accuracy_std", "validation_mean", "width", "c"] {
        assert_eq!(row[field], untrained[field], "{field}");
    }
    assert!(number(&row["accuracy_std"]) > 0.0, "seeds that differ");
    // Two splits that differ: their figures are not the same number twice.
    assert!(number(&rows["raw features"]["accuracy_std"]) > 0.0);
    let told = place.run(&format!("benchmark g.graph --seeds 1 --no-baselines {QUICK}"));
    assert!(told.contains("g, preset default, 1 run, 2 splits"), "{told}");
    assert!(!told.contains("raw features"), "{told}");
    // With values of C that are given.
    let given = |strengths: &str| {
        format!("benchmark g.graph --seeds 1 --no-baselines {QUICK} --strength {strengths}")
    };
    let report = place.json(&format!("{} --json", given("0.5")));
    assert_eq!(report["c"], serde_json::json!([0.5, 0.5]));
    assert_eq!(report["strengths"], serde_json::json!([0.5]));
    assert!(place.run(&given("0.5")).contains("2 splits, C = 0.5\n"));
    let alone = format!("{} --random 1 --train-per-class 5", given("1"));
    let told = place.fail(&format!("{alone} --validation-per-class 0"));
    assert!(told.contains("no validation nodes"), "{told}");
    assert!(place.fail(&given("0")).contains("--strength: c = 0"));
    let told = place.run(&given("1,0.1 --select validation"));
    assert!(
        told.contains("C chosen from 0.1, 1 on validation nodes, and so is the step"),
        "{told}"
    );
}

#[test]
fn benchmark_is_the_same_for_any_number_of_threads() {
    let place = small("");
    let reports = [1, 2].map(|threads| {
        let words = format!("benchmark g.graph --seeds 2 {QUICK} --threads {threads} --json");
        timeless(place.json(&words))
    });
    assert_eq!(reports[0], reports[1]);
}

#[test]
fn a_step_chosen_by_validation_is_at_least_as_good_there_as_the_last() {
    let place = small("");
    let words = format!("benchmark g.graph --seeds 2 --no-baselines {QUICK} --rate 0.05 --json");
    let last = place.json(&words);
    let best = place.json(&format!("{words} --select validation --select-every 3"));
    assert_eq!((&last["select"], &best["select"]), (&"settings".into(), &"validation-each".into()));
    assert!(number(&best["validation_mean"]) >= number(&last["validation_mean"]));
    for step in best["steps"].as_array().unwrap() {
        assert!(number(step) == 30.0 || number(step) % 3.0 == 0.0, "{step}");
    }
    assert_eq!(last["steps"], serde_json::json!([30, 30]));
}

#[test]
fn a_constant_rate_goes_on_while_candidates_get_better() {
    let place = small("");
    let words = "benchmark g.graph --seeds 2 --no-baselines --batch 100 --width 24 --rate 1e-4 \
                 --preset reference --select validation-each --select-every 4 --json";
    let chosen = |more: &str| {
        let report = place.json(&format!("{words} {more}"));
        let steps = report["steps"].as_array().unwrap().clone();
        (steps.iter().map(number).collect::<Vec<f64>>(), number(&report["validation_mean"]))
    };
    // So slow that eight steps are the beginning; no more than five times as many.
    let (steps, figure) = chosen("--steps 8");
    assert!(steps.iter().any(|&step| step > 8.0), "{steps:?}");
    assert!(steps.iter().all(|&step| step <= 40.0 && step % 4.0 == 0.0), "{steps:?}");
    // A rate that falls to nothing has an end.
    let (ended, _) = chosen("--steps 8 --set optimizer.decay=cosine");
    assert!(ended.iter().all(|&step| step <= 8.0), "{ended:?}");
    // What is found early is found by a longer run too.
    let (_, longer) = chosen("--steps 40");
    assert!(longer >= figure);
}

#[test]
fn one_step_and_one_c_for_all_runs_are_the_best_in_the_mean() {
    let place = small("");
    // On one split and on several.
    for more in ["", "--random 3 --train-per-class 10"] {
        let words = format!(
            "benchmark g.graph --seeds 3 --no-baselines --batch 100 --width 24 --rate 0.02 \
             --preset reference {more} --json"
        );
        let chosen = place.json(&format!(
            "{words} --steps 7 --select validation-mean --select-every 4 --strength 1,0.1,10"
        ));
        assert_eq!(chosen["select"], "validation-mean");
        assert_eq!(chosen["chosen_for_all"]["steps_looked_at"], 21);
        // Every step and C by itself: with a constant rate a short run is the beginning of a long one,
        // and three times its steps are looked at.
        let mut best = (0.0, 0, 0.0, Value::Null);
        let mut others = 0;
        for steps in [4, 8, 12, 16, 20, 21] {
            for (at, c) in [0.1, 1.0, 10.0].into_iter().enumerate() {
                let report = place.json(&format!("{words} --steps {steps} --strength {c}"));
                let figure = number(&report["validation_mean"]);
                // Of equals the last step with its smallest C.
                if figure > best.0 + 1e-9 || (figure > best.0 - 1e-9 && steps > best.1) {
                    best = (figure, steps, c, report);
                } else {
                    others += usize::from(at > 0);
                }
            }
        }
        let (_, steps, c, report) = best;
        assert!(others > 0, "every candidate was better than those before it");
        assert_eq!(chosen["steps"], report["steps"]);
        assert_eq!(chosen["steps"], serde_json::json!([steps, steps, steps]));
        assert_eq!(chosen["c"], report["c"]);
        assert_eq!(chosen["c"][0], c);
        for field in ["accuracy_mean", "accuracy_std", "validation_mean"] {
            assert!((number(&chosen[field]) - number(&report[field])).abs() < 1e-9, "{field}");
        }
    }
}

#[test]
fn people_are_told_how_sure_a_mean_is_and_what_was_chosen() {
    let place = small("");
    let report = place.json(&format!("benchmark g.graph --seeds 3 {QUICK} --no-baselines --json"));
    let told = place.run(&format!("benchmark g.graph --seeds 3 {QUICK} --no-baselines"));
    // By the definition, from the three runs: t of two degrees of freedom is 4.303.
    let (mean, half) = (number(&report["accuracy_mean"]), number(&report["accuracy_std"]));
    let half = 4.303 * half / 3f64.sqrt();
    let wanted =
        format!("learnt: mean {:.2} to {:.2} %", 100.0 * (mean - half), 100.0 * (mean + half));
    assert!(half > 0.0 && mean + half < 1.0, "{report}");
    assert!(told.contains(&wanted), "{wanted}: {told}");
    let steps = &report["steps"][0];
    assert!(told.contains(&format!("(95 % interval over runs); step {steps}; C ")), "{told}");
    // Nothing was chosen where a single C is given, and one run on one split has no interval.
    let told =
        place.run(&format!("benchmark g.graph --seeds 1 {QUICK} --no-baselines --strength 1"));
    assert!(told.contains(&format!("\nlearnt: step {steps}\n")), "{told}");
}

#[test]
fn what_was_chosen_for_all_runs_is_told() {
    let place = small("");
    let told = place.run(
        "benchmark g.graph --seeds 2 --no-baselines --preset reference --width 8 --steps 2 \
         --select validation-mean",
    );
    assert!(
        told.contains("C chosen on validation nodes, one for all learnt runs, and so is the step"),
        "{told}"
    );
    assert!(told.contains("chosen for all runs, of 6 steps: step "), "{told}");
    // Given a single C, none is said to be chosen.
    let told = place.run(
        "benchmark g.graph --seeds 2 --no-baselines --preset reference --width 8 --steps 2 \
         --select validation-mean --strength 1",
    );
    assert!(told.contains("1 split, C = 1, one step for all learnt runs chosen on"), "{told}");
    assert_eq!(told.matches("C = ").count(), 1, "{told}");
    // The last of those that are looked at is no optimum, and that is said; what is not trained is
    // its only candidate, and the end of a schedule is an end.
    let last = |words: &str| {
        let told = place.run(&format!("benchmark g.graph --seeds 1 --no-baselines {words}"));
        told.contains("step 6, the last (later ones may be better: more --steps)")
    };
    let words = "--width 8 --batch 100 --select validation-mean --select-every 9";
    assert!(last(&format!("{words} --preset reference --steps 2")));
    assert!(!last(&format!("{words} --preset default --steps 6")));
    let words =
        "benchmark g.graph --seeds 2 --no-baselines --width 8 --steps 0 --strength 1 --json";
    let (untrained, chosen) =
        (place.json(words), place.json(&format!("{words} --select validation-mean")));
    for field in ["steps", "c", "accuracy_mean", "accuracy_std", "validation_mean"] {
        assert_eq!(untrained[field], chosen[field], "{field}");
    }
}

#[test]
fn only_one_of_a_stopping_rule_and_validation_nodes_chooses_the_step() {
    let place = small("");
    let words = "benchmark g.graph --seeds 1 --no-baselines --width 8 --steps 4 --batch 100 \
                 --set training.held_out=20 --set training.stopping=effective-rank";
    place.run(words);
    for select in ["validation", "validation-each", "validation-mean"] {
        let told = place.fail(&format!("{words} --select {select}"));
        assert!(told.contains("training.stopping: validation nodes choose the step"), "{told}");
    }
}

#[test]
fn validation_chooses_for_all_runs_where_the_rate_is_constant_and_for_each_where_it_falls() {
    let place = small("");
    let words = "benchmark g.graph --seeds 2 --no-baselines --batch 100 --width 8 --rate 0.02 --steps 6 \
                 --select-every 1 --json";
    for (more, same, other) in [
        ("--preset reference", "validation-mean", "validation-each"),
        ("--preset default", "validation-each", "validation-mean"),
        ("--preset default --set optimizer.decay=linear", "validation-each", "validation-mean"),
        ("--preset default --set optimizer.decay=none", "validation-mean", "validation-each"),
    ] {
        let [chosen, same, other] = ["validation", same, other]
            .map(|select| timeless(place.json(&format!("{words} {more} --select {select}"))));
        assert_eq!(chosen, same, "{more}");
        assert_ne!(chosen["steps"], other["steps"], "{more}: nothing tells the two apart");
    }
}

#[test]
fn a_store_without_splits_gets_ten_that_all_rows_share() {
    let place = small("--splits 0");
    let report = place.json(&format!("benchmark g.graph --seeds 1 {QUICK} --json"));
    assert_eq!(report["splits"], 10);
    assert_eq!(report["spread_over"], "splits");
    // The raw features by hand: the same ten splits, the same figure.
    let again = place.json(&format!("benchmark g.graph --seeds 1 --seed 9 {QUICK} --json"));
    let raw = |report: &Value| report["baselines"]["raw features"]["accuracy_mean"].clone();
    assert_eq!(raw(&report), raw(&again));
    let others = place.json(&format!("benchmark g.graph --seeds 1 --split-seed 1 {QUICK} --json"));
    assert_ne!(raw(&report), raw(&others));
    let few = place.json(&format!(
        "benchmark g.graph --seeds 1 --random 3 --train-per-class 5 --no-baselines {QUICK} --json"
    ));
    assert_eq!(few["splits"], 3);
}

#[test]
fn learning_beats_raw_features_on_planted_communities() {
    let place = Place::new();
    place.run(
        "generate communities --nodes 1500 --edges 7500 --classes 4 --mixing 0.2 --feature-noise 0.75 \
         --seed 1 -o g.graph",
    );
    let report = place.json("benchmark g.graph --seeds 2 --json");
    let raw = &report["baselines"]["raw features"];
    assert!(number(&raw["difference_mean"]) > 0.1, "{report}");
    assert!(number(&report["accuracy_mean"]) > 0.8, "{report}");
}
