//! Noise, like and unlike neighbours.

use super::*;
use crate::config::{FeatureSettings, RowScale};
use crate::context::build;
use crate::progress::Silent;
use crate::rng::Stream;

/// Nodes in classes, numbers that tell the class plus noise, and edges that lead to the class
/// so many further on or, so often, to any node.
struct Kind {
    nodes: usize,
    signal: f64,
    further: usize,
    astray: f64,
    weighted: bool,
}

const CLASSES: usize = 4;
const COLUMNS: usize = 12;

fn made(kind: &Kind) -> (Adjacency, Features) {
    let mut stream = Stream::new(9, "test", kind.nodes as u64);
    let centres: Vec<f64> = (0..CLASSES * COLUMNS).map(|_| stream.normal()).collect();
    let values: Vec<f32> = (0..kind.nodes * COLUMNS)
        .map(|at| {
            let centre = centres[at / COLUMNS % CLASSES * COLUMNS + at % COLUMNS];
            (kind.signal * centre + stream.normal()) as f32
        })
        .collect();
    let mut edges = Vec::new();
    for _ in 0..4 * kind.nodes {
        let from = stream.below(kind.nodes as u64) as usize;
        let to = stream.below((kind.nodes / CLASSES) as u64) as usize * CLASSES;
        let class = (from + kind.further) % CLASSES;
        let any = stream.unit() < kind.astray;
        let to = to + if any { stream.below(CLASSES as u64) as usize } else { class };
        edges.push((from as u32, to as u32, 0.5 + stream.unit() as f32));
    }
    let adjacency = build(kind.nodes, &edges, kind.weighted, false);
    (adjacency, Features::Dense { width: COLUMNS, values: values.into() })
}

fn likeness(adjacency: &Adjacency, features: &Features) -> Likeness {
    let settings = FeatureSettings {
        rows: RowScale::Norm(1.0),
        projection: None,
        ..FeatureSettings::default()
    };
    let fit = Transform::fit(&settings, features, adjacency, 0, &Silent).unwrap();
    Likeness::of(adjacency, features, &fit)
}

/// As the head of this file says, one number after another.
fn naive(adjacency: &Adjacency, features: &Features) -> [f64; 3] {
    let Features::Dense { width, values } = features else { unreachable!() };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let unit = |mut row: Vec<f64>| {
        let norm = dot(&row, &row).sqrt();
        row.iter_mut().for_each(|x| *x /= norm);
        row
    };
    let centred = |rows: Vec<Vec<f64>>| {
        let count = rows.len() as f64;
        let mean = |c: usize| rows.iter().map(|row| row[c]).sum::<f64>() / count;
        let means: Vec<f64> = (0..rows[0].len()).map(mean).collect();
        let less = |row: &Vec<f64>| row.iter().zip(&means).map(|(x, mean)| x - mean).collect();
        rows.iter().map(less).collect::<Vec<Vec<f64>>>()
    };
    let whole = values.chunks(*width).map(|row| unit(row.iter().map(|&x| x.into()).collect()));
    let whole: Vec<Vec<f64>> = whole.collect();
    let halves: Vec<Vec<Vec<f64>>> = [0, 1]
        .iter()
        .map(|&half| {
            let cut = |row: &Vec<f64>| row.iter().skip(half).step_by(2).copied().collect();
            centred(centred(whole.iter().map(cut).collect()).into_iter().map(unit).collect())
        })
        .collect();
    let (mut by_features, mut by_edges, mut product, mut square) = (0.0, 0.0, 0.0, 0.0);
    for half in [0, 1] {
        let (chooses, judged) = (&halves[1 - half], &halves[half]);
        for node in 0..adjacency.nodes() {
            let mean = |members: &[(usize, f64)]| {
                let column = |c: usize| members.iter().map(|&(n, w)| w * judged[n][c]).sum();
                (0..judged[0].len()).map(column).collect::<Vec<f64>>()
            };
            let cosine = |mean: &[f64]| {
                let squares = dot(mean, mean) * dot(&judged[node], &judged[node]);
                dot(mean, &judged[node]) / squares.sqrt()
            };
            let like = |other: &usize| dot(&chooses[node], &chooses[*other]);
            let mut others: Vec<usize> = (0..adjacency.nodes()).filter(|&n| n != node).collect();
            others.sort_by(|a, b| like(b).total_cmp(&like(a)));
            let chosen: Vec<(usize, f64)> = others[..10].iter().map(|&n| (n, 0.1)).collect();
            by_features += cosine(&mean(&chosen));
            let all = adjacency.neighbours(node as u32);
            let weight = |at: usize| {
                adjacency.weights(node as u32).map_or(1.0, |weights| f64::from(weights[at]))
            };
            let others: Vec<usize> =
                (0..all.len()).filter(|&at| all[at] as usize != node).collect();
            let total: f64 = others.iter().map(|&at| weight(at)).sum();
            let near: Vec<(usize, f64)> =
                others.iter().map(|&at| (all[at] as usize, weight(at) / total)).collect();
            let mean = mean(&near);
            by_edges += cosine(&mean);
            product += dot(&mean, &judged[node]);
            square += dot(&mean, &mean);
        }
    }
    let looks = 2.0 * adjacency.nodes() as f64;
    [by_features / looks, by_edges / looks, product / square]
}

#[test]
fn it_is_what_it_says() {
    for weighted in [false, true] {
        let kind = Kind { nodes: 80, signal: 0.7, further: 0, astray: 0.4, weighted };
        let (adjacency, features) = made(&kind);
        let found = likeness(&adjacency, &features).values();
        for (found, wanted) in found.into_iter().zip(naive(&adjacency, &features)) {
            assert!((f64::from(found) - wanted).abs() < 1e-4, "{found} {wanted}");
        }
    }
}

#[test]
fn noise_is_told_from_unlike_neighbours() {
    let weight = |signal, further, astray| {
        let kind = Kind { nodes: 1200, signal, further, astray, weighted: false };
        let (adjacency, features) = made(&kind);
        let found = likeness(&adjacency, &features);
        (found.plain_weight(), found)
    };
    // Like neighbours; noisy features of like neighbours; neighbours of another class,
    // of any class.
    for (signal, further, astray, least, most, noise) in [
        (2.0, 0, 0.1, 0.0, 0.1, false),
        (0.3, 0, 0.1, 0.0, 0.1, true),
        (1.0, 1, 0.1, 8.0, 8.0, false),
        (1.0, 0, 1.0, 8.0, 8.0, false),
    ] {
        let (weight, found) = weight(signal, further, astray);
        assert!((least..=most).contains(&weight), "{signal} {further} {astray}: {found:?}");
        assert_eq!(found.is_noise(), noise, "{signal} {further} {astray}: {found:?}");
    }
}

#[test]
fn of_rows_without_direction_nothing_is_known() {
    let values: Vec<f32> = (0..600).map(|_| 0.3).collect();
    let edges: Vec<(u32, u32, f32)> = (0..99).map(|node| (node, node + 1, 1.0)).collect();
    let adjacency = build(100, &edges, false, false);
    let features = Features::Dense { width: 6, values: values.into() };
    let found = likeness(&adjacency, &features);
    assert_eq!(found.values(), [0.0; 3]);
    assert_eq!(found.plain_weight(), 0.0);
    assert!(!found.is_noise());
}

/// One column, and one of several: halves cannot judge each other.
#[test]
fn of_one_feature_a_node_nothing_is_known() {
    let edges: Vec<(u32, u32, f32)> = (0..99).map(|node| (node, node + 1, 1.0)).collect();
    let adjacency = build(100, &edges, false, false);
    for width in [1, 6] {
        let kind = |node: usize| if width == 1 { 0 } else { node * node % width };
        let entry = |at: usize| {
            let value = if width == 1 { (at % 7) as f32 + 1.0 } else { 1.0 };
            if at % width == kind(at / width) { value } else { 0.0 }
        };
        let values: Vec<f32> = (0..100 * width).map(entry).collect();
        let features = Features::Dense { width, values: values.into() };
        let found = likeness(&adjacency, &features);
        assert!(found.features == 0.0 && !found.is_noise(), "{found:?}");
    }
}

#[test]
fn few_nodes_say_nothing() {
    let kind = Kind { nodes: 48, signal: 1.0, further: 0, astray: 0.2, weighted: false };
    let (adjacency, features) = made(&kind);
    assert_eq!(likeness(&adjacency, &features), Likeness::of_values([0.0; 3]));
}

#[test]
fn threads_change_no_bit() {
    let kind = Kind { nodes: 400, signal: 0.7, further: 0, astray: 0.4, weighted: true };
    let (adjacency, features) = made(&kind);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| likeness(&adjacency, &features)).values().map(f32::to_bits)
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn places_are_spread_evenly() {
    assert_eq!(spread(3, 5), [0, 1, 2]);
    assert_eq!(spread(10, 4), [0, 2, 5, 7]);
    assert!(spread(0, 4).is_empty());
    assert_eq!(spread(usize::MAX >> 12, 2), [0, usize::MAX >> 13]);
}

#[test]
fn plain_features_weigh_where_they_choose_better_than_edges() {
    let weight = |values| Likeness::of_values(values).plain_weight();
    // Twice as well as edges: 1; as well: 1/16; badly, or both by chance: next to nothing.
    assert!((weight([0.24, 0.1, 0.1]) - 1.0).abs() < 1e-5);
    assert!((weight([0.12, 0.1, 0.1]) - 1.0 / 16.0).abs() < 1e-6);
    assert!(weight([0.01, 0.0, 0.0]) < 0.01);
    assert_eq!(weight([-0.1, 0.2, 0.5]), 0.0);
    // Neighbours of other kinds: no more than 8.
    assert_eq!(weight([0.5, -0.3, -0.5]), 8.0);
    // But not where neighbours' means are all signal.
    assert!((weight([0.5, 0.0, 0.4]) - 0.5).abs() < 1e-6);
}
