use super::*;
use crate::graph::Role;
use crate::rng::Stream;

const TRAIN: u8 = Role::Train as u8;
const VALIDATION: u8 = Role::Validation as u8;
const TEST: u8 = Role::Test as u8;

fn embeddings(nodes: usize, classes: usize) -> Matrix<f32> {
    let mut stream = Stream::new(6, "probe", 0);
    let value = |at: usize, stream: &mut Stream| {
        let own = at % 4 == at / 4 % classes;
        (if own { 1.2 } else { 0.0 } + stream.normal()) as f32
    };
    Matrix::of(nodes, 4, (0..nodes * 4).map(|at| value(at, &mut stream)).collect())
}

fn labels(nodes: usize, classes: usize) -> Labels {
    let classes: Vec<Option<i64>> = (0..nodes).map(|node| Some((node % classes) as i64)).collect();
    Labels::from_integers(&classes)
}

/// A third of the nodes each.
fn split(nodes: usize) -> Split {
    let roles = (0..nodes).map(|node| [TRAIN, VALIDATION, TEST][node * 3 / nodes]).collect();
    Split { name: "thirds".into(), roles }
}

fn refusal(x: &Matrix<f32>, labels: &Labels, split: &Split) -> String {
    probe(x, labels, split, &ProbeSettings::default()).unwrap_err().to_string()
}

#[test]
fn validation_nodes_are_judged_without_test_nodes() {
    let (mut x, labels, split) = (embeddings(300, 3), labels(300, 3), split(300));
    let wide = ProbeSettings { standardise: true, ..ProbeSettings::default() };
    for settings in [ProbeSettings::default(), wide] {
        let whole = probe(&x, &labels, &split, &settings).unwrap();
        for value in [0.0, 1e6] {
            (200..300).for_each(|node| x.row_mut(node).fill(value));
            let found = validate(&x, &labels, &split, &settings).unwrap();
            assert_eq!((found.c, Some(found.figures)), (whole.c, whole.validation));
        }
        x = embeddings(300, 3);
    }
    // What a probe refuses is refused before candidates are compared.
    let mut classes: Vec<Option<i64>> = (0..300).map(|node| Some(node % 3)).collect();
    classes[250] = Some(7);
    let strange = Labels::from_integers(&classes);
    let refused = validate(&x, &strange, &split, &ProbeSettings::default()).unwrap_err();
    assert_eq!(refused.to_string(), refusal(&x, &strange, &split));
    let settings = ProbeSettings::default().with_grid(vec![1.0]);
    let roles = split.roles.iter().map(|&role| if role == VALIDATION { 0 } else { role }).collect();
    let without = Split { name: "none".into(), roles };
    let refused = validate(&x, &labels, &without, &settings).unwrap_err().to_string();
    assert!(refused.contains("no validation nodes"), "{refused}");
}

#[test]
fn order_of_nodes_does_not_count() {
    let (x, labels, split) = (embeddings(300, 3), labels(300, 3), split(300));
    let settings = ProbeSettings { standardise: true, tolerance: 1e-8, ..ProbeSettings::default() };
    let found = probe(&x, &labels, &split, &settings).unwrap();
    let turned: Vec<f32> = (0..300).rev().flat_map(|node| x.row(node).to_vec()).collect();
    let classes: Vec<Option<i64>> = (0..300).rev().map(|node| Some(node % 3)).collect();
    let roles = split.roles.iter().rev().copied().collect();
    let other = probe(
        &Matrix::of(300, 4, turned),
        &Labels::from_integers(&classes),
        &Split { name: "turned".into(), roles },
        &settings,
    )
    .unwrap();
    for (one, other) in found.tried.iter().zip(&other.tried) {
        assert_eq!((one.c, one.validation), (other.c, other.validation));
        assert!(
            (one.surprise.unwrap() - other.surprise.unwrap()).abs() < 1e-6,
            "{one:?} {other:?}"
        );
    }
    assert_eq!(
        (found.c, found.train, found.validation, found.test),
        (other.c, other.train, other.validation, other.test)
    );
    assert_eq!(found.tried.len(), 13);
    assert!(found.test.accuracy > 0.5, "{found:?}");
    assert_eq!(found.test.micro_f1, found.test.accuracy);
    assert_eq!([found.train.nodes, found.validation.unwrap().nodes, found.test.nodes], [100; 3]);
}

#[test]
fn the_c_is_kept_that_surprises_least() {
    let (x, labels, split) = (embeddings(300, 3), labels(300, 3), split(300));
    let found = probe(&x, &labels, &split, &ProbeSettings::default()).unwrap();
    let least = found.tried.iter().min_by(|a, b| a.surprise.partial_cmp(&b.surprise).unwrap());
    let least = least.unwrap();
    assert_eq!(found.c, least.c);
    assert_eq!(found.validation.unwrap().accuracy, least.validation.unwrap());
    // Accuracy alone would have kept another one: the two rules differ here.
    let most = found.tried.iter().map(|tried| tried.validation.unwrap()).fold(0.0, f64::max);
    assert!(least.validation.unwrap() < most, "{found:?}");
}

#[test]
fn larger_c_are_tried_while_they_are_better() {
    // Three classes in rows so short that weights of 10⁴ are needed, and noise among them.
    let mut stream = crate::rng::Stream::new(3, "short", 0);
    let value = |at: usize| if at / 4 % 3 == at % 4 { 1.0 } else { 0.0 };
    let values: Vec<f64> = (0..300 * 4).map(|at| value(at) + 0.5 * stream.normal()).collect();
    let found = |size: f64| {
        let x = Matrix::of(300, 4, values.iter().map(|x| (x * size) as f32).collect());
        let settings = ProbeSettings { tolerance: 1e-9, ..ProbeSettings::default() };
        probe(&x, &labels(300, 3), &split(300), &settings).unwrap()
    };
    let (short, usual) = (found(1e-3), found(1.0));
    // c x² is what counts: a thousandth of the size, a million times the c.
    let tried: Vec<f64> = short.tried.iter().map(|tried| tried.c).collect();
    assert_eq!(tried[..13], ProbeSettings::half_decades()[..]);
    assert!(tried.len() > 13 && short.c > 1e3, "{short:?}");
    assert!(short.tried[12].surprise > short.tried[13].surprise);
    // One more than the best is tried, unless there is none.
    let best = tried.iter().position(|&c| c == short.c).unwrap();
    assert_eq!(tried.len(), (best + 2).min(16));
    assert_eq!(usual.tried.len(), 13, "{usual:?}");
    assert!(usual.c < 1e3);
}

#[test]
fn short_rows_are_fitted_as_closely_as_long_ones() {
    // c x² is what counts, with the usual tolerance too: a fit of short rows does not end before it began.
    let mut stream = crate::rng::Stream::new(5, "short", 0);
    let value = |at: usize| if at / 4 % 3 == at % 4 { 1.0 } else { 0.0 };
    let values: Vec<f64> = (0..300 * 4).map(|at| value(at) + 0.5 * stream.normal()).collect();
    let found = |size: f64| {
        let x = Matrix::of(300, 4, values.iter().map(|x| (x * size) as f32).collect());
        let settings = ProbeSettings::default().with_grid(vec![1.0 / (size * size)]);
        probe(&x, &labels(300, 3), &split(300), &settings).unwrap()
    };
    let usual = found(1.0);
    assert!(usual.test.accuracy > 0.75, "{usual:?}");
    for size in [1e-1, 1e-3, 1e-5] {
        let short = found(size);
        assert!(short.tried[0].converged, "{short:?}");
        let [a, b] = [&usual, &short].map(|report| report.tried[0].surprise.unwrap());
        assert!((a - b).abs() < 1e-3, "{size}: {a} and {b}");
        assert!((usual.test.accuracy - short.test.accuracy).abs() < 0.02, "{size}");
    }
}

#[test]
fn of_equally_good_c_the_smaller_one_is_kept() {
    // Sides of a line: every c is perfect.
    let x = Matrix::of(90, 1, (0..90).map(|node| (node % 2) as f32 - 0.5).collect());
    let settings = ProbeSettings { grid: vec![10.0, 0.1, 1.0], ..ProbeSettings::default() };
    let found = probe(&x, &labels(90, 2), &split(90), &settings).unwrap();
    assert_eq!(found.c, 0.1);
    assert_eq!(found.tried.iter().map(|tried| tried.c).collect::<Vec<_>>(), [0.1, 1.0, 10.0]);
    assert_eq!((found.test.accuracy, found.test.auc), (1.0, Some(1.0)));
    let halves = ProbeSettings::half_decades();
    assert_eq!(halves.len(), 13);
    assert!((halves[0] - 1e-3).abs() < 1e-15 && (halves[12] - 1e3).abs() < 1e-9);
}

#[test]
fn test_nodes_do_not_reach_the_fit() {
    let (mut x, labels, split) = (embeddings(300, 3), labels(300, 3), split(300));
    let settings = ProbeSettings { normalise: true, standardise: true, ..ProbeSettings::default() };
    let found = probe(&x, &labels, &split, &settings).unwrap();
    x.values[200 * 4..].iter_mut().for_each(|x| *x = -3.0 * *x + 1.0);
    let other = probe(&x, &labels, &split, &settings).unwrap();
    assert_eq!(
        (found.c, found.train, found.validation, &found.tried),
        (other.c, other.train, other.validation, &other.tried)
    );
    assert_ne!(found.test, other.test);
}

#[test]
fn wide_rows_are_told_apart_as_if_they_were_fitted_whole() {
    // 40 training rows of 300 columns, two of them alike, far from the origin.
    let mut stream = Stream::new(9, "wide", 0);
    let values = (0..120 * 300).map(|_| (1.0 + stream.normal()) as f32).collect();
    let mut x = Matrix::of(120, 300, values);
    let twin = x.row(7).to_vec();
    x.row_mut(10).copy_from_slice(&twin);
    let (labels, split) = (labels(120, 3), split(120));
    let parts = Parts::of(&labels, &split).unwrap();
    let task = Task::of(&labels, &parts).unwrap();
    for (normalise, standardise) in [(false, false), (true, true)] {
        let rows = Rows::new(&x, &parts.train, normalise, standardise);
        let others = [&parts.validation[..], &parts.test];
        let narrow = narrowed(&rows, 300, &parts.train, &others, 120).unwrap();
        assert!(narrow.width <= 39, "{}", narrow.width);
        let narrow = Rows::new(&narrow, &[], false, false);
        let all: Vec<u32> = (0..120).collect();
        for c in [0.01, 1.0, 100.0] {
            let settings = LogisticSettings { c, tolerance: 1e-9, steps: 10_000 };
            let scores = |rows: &Rows<'_>| {
                let train = rows.of(&parts.train);
                let fit = task.fitting(&train, &parts.train).fit(&settings, None).unwrap();
                assert!(fit.converged, "{}", fit.gradient);
                fit.scores(&rows.of(&all)).values
            };
            let (wide, narrow) = (scores(&rows), scores(&narrow));
            let largest = wide.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            for (wide, narrow) in wide.iter().zip(&narrow) {
                assert!((wide - narrow).abs() < 1e-4 * largest, "{wide} or {narrow}, c = {c}");
            }
        }
    }
}

#[test]
fn a_c_that_is_kept_is_fitted_as_where_it_is_chosen() {
    // Two rows of four columns for each class: small tolerances are met by more than one fit.
    let (x, labels, thirds) = (embeddings(18, 3), labels(18, 3), split(18));
    let all = ProbeSettings::default().with_all();
    assert_eq!(all.grid.last(), Some(&1e6));
    let chosen = probe(&x, &labels, &thirds, &all).unwrap();
    for (at, &c) in all.grid.iter().enumerate() {
        let kept = probe(&x, &labels, &thirds, &ProbeSettings::default().keeping(c)).unwrap();
        assert_eq!((kept.c, &kept.tried[..]), (c, &chosen.tried[..=at]));
        if c == chosen.c {
            assert_eq!((kept.test, kept.validation), (chosen.test, chosen.validation));
        }
    }
    let unknown = ProbeSettings { kept: Some(0.2), ..ProbeSettings::default() };
    let refused = probe(&x, &labels, &thirds, &unknown).unwrap_err().to_string();
    assert!(refused.contains("keep one of the grid"), "{refused}");
}

#[test]
fn one_c_needs_no_validation_nodes() {
    let (x, labels, mut split) = (embeddings(90, 3), labels(90, 3), split(90));
    split.roles.iter_mut().filter(|role| **role == VALIDATION).for_each(|role| *role = 0);
    assert_eq!(
        refusal(&x, &labels, &split),
        "split \"thirds\": no validation nodes to choose one of 16 c by; assign some, draw \
         random splits with some, or give a single c"
    );
    let settings = ProbeSettings::default().with_grid(vec![1.0]);
    assert_eq!(probe(&x, &labels, &split, &settings).unwrap().validation, None);
}

#[test]
fn classes_that_training_nodes_agree_on_are_answered_so() {
    // Class 0 by the side of a line; 1 always; 2 never, and nowhere.
    let x = Matrix::of(90, 1, (0..90).map(|node| (node % 2) as f32 - 0.5).collect());
    let members: Vec<u8> = (0..90).flat_map(|node| [node % 2, 1, 0]).collect();
    let names = ["a", "b", "c"].map(str::to_owned).to_vec();
    let several = Labels::Multi { members: members.clone().into(), names: names.clone() };
    let found = probe(&x, &several, &split(90), &ProbeSettings::default()).unwrap();
    assert_eq!((found.test.accuracy, found.test.micro_f1), (1.0, 1.0));
    // The class that is nowhere counts as 0, as in scikit-learn.
    assert!((found.test.macro_f1 - 2.0 / 3.0).abs() < 1e-15);
    let mut members = members;
    members[89 * 3 + 2] = 1;
    let several = Labels::Multi { members: members.into(), names: names.clone() };
    assert_eq!(
        refusal(&x, &several, &split(90)),
        "split \"thirds\": class \"c\" has test nodes but no training node; move one of its nodes to \
         training, take them out of the split, or draw random splits"
    );
    let same = Labels::Multi { members: [1, 0, 0].repeat(90).into(), names };
    assert_eq!(
        refusal(&x, &same, &split(90)),
        "split \"thirds\": training nodes all have the same classes; assign training nodes of at least two \
         classes"
    );
}

#[test]
fn what_cannot_be_probed_is_refused_by_name() {
    let (x, good, thirds) = (embeddings(90, 3), labels(90, 3), split(90));
    let mut bad = x.clone();
    bad.values[17 * 4 + 2] = f32::NAN;
    assert_eq!(
        refusal(&bad, &good, &thirds),
        "embeddings, row 17: column 2 is NaN; train again with a smaller learning rate, or mend \
         the file they were read from"
    );
    bad.values[17 * 4 + 2] = f32::NEG_INFINITY;
    assert!(refusal(&bad, &good, &thirds).contains("row 17: column 2 is -inf"));
    assert_eq!(
        refusal(&embeddings(89, 3), &good, &thirds),
        "embeddings: 89 rows, but labels are of 90 nodes; give one row a node, in the graph's order"
    );
    assert_eq!(
        refusal(&Matrix::zeros(90, 0), &good, &thirds),
        "embeddings: rows have no columns; give at least one column"
    );
    assert_eq!(
        refusal(&x, &good, &split(60)),
        "split \"thirds\": roles for 60 nodes, but labels are of 90; give one role a node, in the \
         graph's order"
    );
    assert_eq!(
        refusal(&x, &good, &Split::unused("empty", 90)),
        "split \"empty\": no train nodes; assign some, or draw random splits with some"
    );
    let mut classes: Vec<Option<i64>> = (0..90).map(|node| Some(node % 3)).collect();
    classes[40] = None;
    assert_eq!(
        refusal(&x, &Labels::from_integers(&classes), &thirds),
        "split \"thirds\": node 40 is a validation node and has no label; label it, or take it out \
         of the split"
    );
    classes[40] = Some(9);
    assert_eq!(
        refusal(&x, &Labels::from_integers(&classes), &thirds),
        "split \"thirds\": class \"9\" has validation nodes but no training node; move one of its nodes to \
         training, take them out of the split, or draw random splits"
    );
    let one = Labels::from_integers(&[Some(4); 90]);
    assert_eq!(
        refusal(&x, &one, &thirds),
        "split \"thirds\": training nodes are all of one class; assign training nodes of at least two classes"
    );
    let none = ProbeSettings::default().with_grid(Vec::new());
    let error = probe(&x, &good, &thirds, &none).unwrap_err().to_string();
    assert_eq!(error, "grid = []: give at least one value of c");
}
