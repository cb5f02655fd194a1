//! The whole step: against central differences, and one path against the other.

use super::engine::{Engine, General};
use super::*;
use crate::batch::{Assembler, Augmentation, Batch};
use crate::config::{
    Directions, EncoderKind, EncoderSettings, Negatives, ObjectiveKind, ObjectiveSettings, Preset,
    ReadoutKind, ReadoutSettings, Settings, Similarity,
};
use crate::context::{AdjacencyView, ContextSettings, Contexts, build};
use crate::contrast::{contrast, draw, summarize};
use crate::encoder::Encoder;
use crate::graph::{Adjacency, Features};
use crate::math::{Array, Matrix, Sparse};
use crate::progress::Silent;
use crate::rng::Stream;
use crate::transform::{Mask, Transform};

struct Graph {
    adjacency: Adjacency,
    features: Features,
    contexts: Contexts,
}

/// A random graph whose contexts overlap.
fn graph(weighted: bool, directed: bool) -> Graph {
    let mut stream = Stream::new(4, "test graph", 0);
    let nodes = 30u32;
    let edges: Vec<(u32, u32, f32)> = (0..70)
        .map(|_| {
            let (a, b) = (stream.below(30) as u32, stream.below(30) as u32);
            (a, b, 0.5 + stream.unit() as f32)
        })
        .collect();
    let adjacency = build(nodes as usize, &edges, weighted, directed);
    let (mut offsets, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for _ in 0..nodes {
        for column in 0..12 {
            if stream.unit() < 0.4 {
                columns.push(column);
                values.push(stream.normal() as f32);
            }
        }
        offsets.push(columns.len() as u64);
    }
    let features = Features::Sparse(Sparse {
        width: 12,
        offsets: offsets.into(),
        columns: columns.into(),
        values: Array::from(values),
    });
    let settings = ContextSettings { size: 6, ..ContextSettings::default() };
    let contexts = Contexts::sample(&AdjacencyView::new(&adjacency), &settings, &Silent).unwrap();
    Graph { adjacency, features, contexts }
}

fn batch(graph: &Graph, settings: &Settings, augmentation: &Augmentation) -> Batch<f32> {
    let Graph { adjacency, features, contexts } = graph;
    let transform = Transform::fit(&settings.features, features, adjacency, 0, &Silent).unwrap();
    let kind = settings.encoder.kind;
    let assembler =
        Assembler::new(adjacency, features, contexts, &transform, kind, &settings.readout);
    assembler.batch(&[3, 0, 7, 12, 25, 29, 18], augmentation)
}

fn hidden() -> Augmentation {
    let mask = |key| Some(Mask { share: 0.3, key });
    Augmentation { centers: mask(5), summaries: mask(6), drop_edges: 0.3, edge_key: 9 }
}

/// The objective at the parameters of an encoder, without any derivative.
fn value(
    settings: &Settings,
    encoder: &Encoder<f64>,
    batch: &Batch<f64>,
    pairs: &crate::contrast::Pairs,
) -> f64 {
    let (rows, _) = encoder.forward(batch);
    let summaries = summarize(&settings.readout, &rows, &batch.members);
    let mut centers = Matrix::zeros(batch.contexts(), rows.width);
    for (at, &row) in batch.centers.iter().enumerate() {
        centers.row_mut(at).copy_from_slice(rows.row(row as usize));
    }
    contrast(&settings.objective, pairs, &centers, &summaries).loss
}

#[test]
fn rows_that_are_the_same_give_the_same_gradient_once() {
    for (weighted, directed) in [(false, false), (true, true)] {
        let graph = graph(weighted, directed);
        for (kind, readout) in [
            (EncoderKind::Gin, ReadoutKind::Mean),
            (EncoderKind::Gat, ReadoutKind::Mass),
            (EncoderKind::Gin, ReadoutKind::Max),
        ] {
            let mut settings = Preset::Reference.settings();
            settings.encoder =
                EncoderSettings { kind, layers: 1, width: 6, heads: 2, linear: false };
            settings.readout = ReadoutSettings { kind: readout, sigmoid: false, center: true };
            assert!(settings.encoder.wants_distinct_rows());
            let all = batch(&graph, &settings, &Augmentation::NONE);
            let some = all.clone().distinct();
            assert!(some.rows() < all.rows());
            let pairs = draw(settings.objective.negatives, 7, &mut Stream::new(1, "negatives", 0));
            let gradient = |batch: &Batch<f32>| {
                let encoder: Encoder<f64> = Encoder::new(&settings.encoder, 12, 3);
                let moments = Moments::zeros(&encoder);
                let mut general = General::new(encoder, moments);
                let (readout, objective) = (&settings.readout, &settings.objective);
                let (outcome, gradient) =
                    general.gradient(readout, objective, &batch.cast(), &pairs);
                let values = gradient.parameters().into_iter().flat_map(|p| p.values.to_vec());
                (outcome.loss, values.collect::<Vec<f64>>())
            };
            let ((loss, wanted), (same, found)) = (gradient(&all), gradient(&some));
            assert!((loss - same).abs() < 1e-12, "{kind:?} {loss} {same}");
            for (wanted, found) in wanted.iter().zip(&found) {
                assert!((wanted - found).abs() < 1e-12, "{kind:?} {wanted} {found}");
            }
            assert!(wanted.iter().any(|d| d.abs() > 1e-3), "there is something to compare");
        }
    }
}

#[test]
fn the_gradient_of_a_whole_step_is_that_of_central_differences() {
    let kinds = [
        (EncoderKind::Gcn, 1, false),
        (EncoderKind::Gcn, 2, false),
        (EncoderKind::GcnSkip, 1, true),
        (EncoderKind::Gat, 1, false),
        (EncoderKind::Gin, 1, false),
        (EncoderKind::Mlp, 2, false),
        (EncoderKind::Mlp, 1, true),
    ];
    // A linear map trades places with the first of them, not with the others.
    let readouts =
        [(ReadoutKind::Sum, false), (ReadoutKind::Mass, true), (ReadoutKind::Max, false)];
    let objectives = [
        (ObjectiveKind::Logistic, Similarity::Dot, Negatives::Shuffles(1)),
        (ObjectiveKind::InfoNce, Similarity::Cosine { temperature: 0.5 }, Negatives::AllPairs),
    ];
    for (weighted, augmentation) in [(false, Augmentation::NONE), (true, hidden())] {
        let graph = graph(weighted, false);
        let of_kind =
            |kind| objectives.map(|objective| readouts.map(|readout| (kind, objective, readout)));
        for ((kind, layers, linear), (objective, similarity, negatives), (readout, sigmoid)) in
            kinds.into_iter().flat_map(of_kind).flatten()
        {
            let mut settings = Preset::Reference.settings();
            settings.encoder = EncoderSettings { kind, layers, width: 5, heads: 1, linear };
            settings.readout = ReadoutSettings { kind: readout, sigmoid, center: false };
            settings.objective = ObjectiveSettings {
                kind: objective,
                similarity,
                negatives,
                directions: Directions::Both,
            };
            let batch = batch(&graph, &settings, &augmentation).cast::<f64>();
            let pairs = draw(negatives, batch.contexts(), &mut Stream::new(1, "pairs", 0));
            let mut encoder: Encoder<f64> = Encoder::new(&settings.encoder, 12, 3);
            // Away from the kink at 0, where masked rows are while biases are 0.
            let mut stream = Stream::new(2, "offsets", 0);
            for parameter in encoder.parameters() {
                parameter.values.iter_mut().for_each(|x| *x += 0.1 * stream.normal());
            }
            let moments = Moments::zeros(&encoder);
            let mut general = General::new(encoder.clone(), moments);
            let (_, gradient) =
                general.gradient(&settings.readout, &settings.objective, &batch, &pairs);
            let gradient: Vec<Vec<f64>> =
                gradient.parameters().iter().map(|parameter| parameter.values.to_vec()).collect();
            let mut moved = encoder.clone();
            for (at, wanted) in gradient.iter().enumerate() {
                for (place, &wanted) in wanted.iter().enumerate() {
                    let step = 1e-5;
                    let mut at_distance = |distance: f64| {
                        moved.parameters()[at].values[place] += distance;
                        let found = value(&settings, &moved, &batch, &pairs);
                        moved.parameters()[at].values[place] -= distance;
                        found
                    };
                    let found = (at_distance(step) - at_distance(-step)) / (2.0 * step);
                    let far = (found - wanted).abs();
                    assert!(far < 1e-6 * wanted.abs().max(1.0), "{kind:?} {at} {found} {wanted}");
                }
            }
        }
    }
}

#[test]
fn the_fused_path_and_the_general_one_agree() {
    for (kind, readout, sigmoid, center, augmentation, weighted, directed) in [
        (EncoderKind::Gcn, ReadoutKind::Mean, false, true, Augmentation::NONE, false, false),
        (EncoderKind::Gcn, ReadoutKind::Mass, true, false, hidden(), true, false),
        (EncoderKind::GcnSkip, ReadoutKind::Sum, false, true, hidden(), false, true),
        (EncoderKind::GcnSkip, ReadoutKind::Mean, true, true, Augmentation::NONE, true, true),
    ] {
        let graph = graph(weighted, directed);
        let mut settings = Preset::Reference.settings();
        settings.encoder = EncoderSettings { kind, layers: 1, width: 70, heads: 1, linear: false };
        settings.readout = ReadoutSettings { kind: readout, sigmoid, center };
        // Gradients that are rounding alone must not become steps of a whole rate.
        settings.optimizer.epsilon = 1e-3;
        let encoder: Encoder<f32> = Encoder::new(&settings.encoder, 12, 3);
        let moments = Moments::zeros(&encoder);
        let mut fused = Engine::new(&settings, encoder.clone(), moments.clone());
        assert!(matches!(fused, Engine::Fused(_)));
        let mut general = General::new(encoder, moments);
        let batch = batch(&graph, &settings, &augmentation);
        for step in 1..=10 {
            let mut stream = Stream::new(1, "pairs", step);
            let pairs = draw(settings.objective.negatives, batch.contexts(), &mut stream);
            let adam = Adam::at(&settings.optimizer, step, 10);
            let one = fused.step(&settings, &batch, &pairs, &adam);
            let other = general.step(&settings.readout, &settings.objective, &batch, &pairs, &adam);
            assert!((one.loss - other.loss).abs() < 1e-5, "{kind:?} {step} {one:?} {other:?}");
        }
        let mut encoders = (fused.encoder(), general.encoder);
        for (one, other) in encoders.0.parameters().into_iter().zip(encoders.1.parameters()) {
            let largest = other.values.iter().map(|x| x.abs()).fold(0.0, f32::max);
            for (a, b) in one.values.iter().zip(other.values.iter()) {
                assert!((a - b).abs() <= 1e-5 * largest, "{kind:?} {} {a} {b}", one.name);
            }
        }
    }
}
