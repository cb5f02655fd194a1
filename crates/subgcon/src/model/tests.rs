//! Laws of embeddings.

use proptest::prelude::*;

use super::*;
use crate::config::{
    BlockSettings, CompanySettings, EncoderKind, EncoderSettings, Pick, Preset, ProjectionSettings,
    RowScale,
};
use crate::context::{AdjacencyView, ContextSettings, Contexts, Method, build};
use crate::graph::{Adjacency, Features, Smoothing};
use crate::math::Matrix;
use crate::progress::Silent;
use crate::rng::Stream;

const NODES: usize = 16;
const COLUMNS: usize = 7;

/// Blocks of all kinds side by side.
fn settings(kind: EncoderKind, layers: usize, projected: bool) -> Settings {
    let mut settings = Preset::Reference.settings();
    // As long as the graph: who is in a context does not depend on ties. And exact: what a
    // push leaves unsettled depends on the order in which it meets nodes.
    settings.contexts =
        ContextSettings { size: NODES, method: Method::Exact, ..ContextSettings::default() };
    settings.encoder = EncoderSettings { kind, layers, width: 6, heads: 2, linear: layers == 2 };
    settings.features.rows = RowScale::Norm(2.0);
    settings.features.projection =
        projected.then(|| ProjectionSettings { width: 5, ..ProjectionSettings::default() });
    let block = |source, pick, smoothing, center, norm| BlockSettings {
        unit_rows: source == Source::Encoder,
        source,
        pick,
        smoothing,
        center,
        norm,
        weight: if norm.is_some() { 1.0 } else { 0.5 },
        columns: 7,
        ..BlockSettings::default()
    };
    let pagerank = Some(Smoothing::PageRank { steps: 4, restart: 0.2 });
    let powers = Some(Smoothing::Powers { steps: 3, weight: 0.5 });
    settings.output = vec![
        block(Source::Encoder, Pick::Center, None, false, None),
        block(Source::Encoder, Pick::Context, powers, true, Some(1.0)),
        block(Source::Features, Pick::Center, pagerank, true, None),
        block(Source::Features, Pick::Context, None, false, Some(2.0)),
        block(Source::Projected, Pick::Center, powers, false, None),
        block(Source::Own, Pick::Center, None, true, Some(0.5)),
        block(Source::Random, Pick::Center, Some(Smoothing::Walk { steps: 2 }), true, Some(1.0)),
        block(Source::Random, Pick::Center, None, true, None),
        block(Source::Own, Pick::Center, powers, true, None),
    ];
    settings
}

struct Graph {
    adjacency: Adjacency,
    features: Features,
    contexts: Contexts,
}

fn graph(
    edges: &[(u32, u32, f32)],
    weighted: bool,
    rows: &[Vec<f32>],
    settings: &Settings,
) -> Graph {
    let adjacency = build(NODES, edges, weighted, false);
    let view = AdjacencyView::new(&adjacency);
    let contexts = Contexts::sample(&view, &settings.contexts, &Silent).unwrap();
    let features = Features::Dense { width: COLUMNS, values: rows.concat().into() };
    Graph { adjacency, features, contexts }
}

fn model(settings: &Settings, graph: &Graph, transform: &Transform) -> Model {
    let encoder = Encoder::new(&settings.encoder, transform.output_width(), 5);
    let trained = Trained { encoder, step: 0, looks: Vec::new() };
    let Graph { adjacency, features, contexts } = graph;
    Model::new(settings, trained, Material { adjacency, features, contexts, transform }, "x")
        .unwrap()
}

fn embed(model: &Model, graph: &Graph, nodes: &[u32]) -> Matrix<f32> {
    let mut embedder =
        Embedder::new(model, &graph.adjacency, &graph.features, &graph.contexts).unwrap();
    let mut room = vec![0.0; embedder.room()];
    embedder.prepare(&mut room, &Silent);
    let mut out = Matrix::zeros(nodes.len(), model.width());
    embedder.rows(nodes, &mut out.values);
    out
}

/// Â of a path of three nodes, powers of one step: what the middle gets of its ends.
#[test]
fn unit_rows_are_smoothed_by_direction() {
    let mut settings = settings(EncoderKind::Mlp, 1, false);
    settings.features.rows = RowScale::None;
    let rows: Vec<Vec<f32>> = (0..NODES)
        .map(|node| {
            (0..COLUMNS).map(|c| if c == node % 2 { 3.0 + node as f32 } else { 0.0 }).collect()
        })
        .collect();
    let graph = graph(&[(0, 1, 1.0), (1, 2, 1.0)], false, &rows, &settings);
    settings.output = vec![BlockSettings {
        source: Source::Features,
        unit_rows: true,
        smoothing: Some(Smoothing::Powers { steps: 1, weight: 0.0 }),
        ..BlockSettings::default()
    }];
    let transform =
        Transform::fit(&settings.features, &graph.features, &graph.adjacency, 0, &Silent).unwrap();
    let found = embed(&model(&settings, &graph, &transform), &graph, &[1]);
    // Node 1 is (0, 1), its ends are (1, 0) each: 1/3 of itself, 1/√6 of each end.
    let wanted = [2.0 / 6f32.sqrt(), 1.0 / 3.0];
    let far = found.values[..2].iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(far < 1e-6, "{:?}", found.values);
}

/// More nodes than a chunk, more columns than a tile, more neighbours than are looked at.
#[test]
fn all_nodes_at_once_are_the_same_in_several_chunks_and_tiles() {
    let (nodes, columns) = (600, 100);
    let mut settings = Preset::Default.settings();
    settings.contexts.size = 4;
    settings.encoder.width = 70;
    settings.features.projection.as_mut().unwrap().width = 70;
    settings.output[3].unlike = false;
    let mut stream = Stream::new(3, "test", 0);
    let hub = (1..nodes as u32).map(|node| (0, node, 1.0));
    let ring = (0..nodes as u32).map(|node| (node, (node + 1) % nodes as u32, 1.0));
    let edges: Vec<(u32, u32, f32)> = hub.chain(ring).collect();
    let adjacency = build(nodes, &edges, false, false);
    let view = AdjacencyView::new(&adjacency);
    let contexts = Contexts::sample(&view, &settings.contexts, &Silent).unwrap();
    let values: Vec<f32> = (0..nodes * columns).map(|_| stream.normal() as f32).collect();
    let graph = Graph {
        adjacency,
        features: Features::Dense { width: columns, values: values.into() },
        contexts,
    };
    let transform =
        Transform::fit(&settings.features, &graph.features, &graph.adjacency, 0, &Silent).unwrap();
    let all: Vec<u32> = (0..nodes as u32).collect();
    let bytes = |threads: usize, at_once: bool| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let model = model(&settings, &graph, &transform);
            let Graph { adjacency, features, contexts } = &graph;
            let rows = match at_once {
                false => embed(&model, &graph, &all),
                true => {
                    let mut rows = Matrix::zeros(nodes, model.width());
                    Embedder::new(&model, adjacency, features, contexts)
                        .unwrap()
                        .all(&mut rows, &Silent);
                    rows
                }
            };
            rows.values.iter().map(|x| x.to_bits()).collect::<Vec<u32>>()
        })
    };
    let wanted = bytes(1, false);
    for (threads, at_once) in [(1, true), (2, true), (3, true), (3, false)] {
        assert!(bytes(threads, at_once) == wanted, "{threads} threads, at once: {at_once}");
    }
}

/// Another step of the same training: the encoder and what follows from it change, nothing else.
#[test]
fn a_model_at_another_step_is_the_one_made_there() {
    let settings = settings(EncoderKind::Gcn, 1, true);
    let edges: Vec<(u32, u32, f32)> =
        (0..NODES as u32).map(|at| (at, (at + 3) % 16, 1.0)).collect();
    let rows: Vec<Vec<f32>> = (0..NODES)
        .map(|node| (0..COLUMNS).map(|column| ((node * 5 + column * 3) % 7) as f32).collect())
        .collect();
    let graph = graph(&edges, false, &rows, &settings);
    let transform =
        Transform::fit(&settings.features, &graph.features, &graph.adjacency, 0, &Silent).unwrap();
    let early = model(&settings, &graph, &transform);
    let Graph { adjacency, features, contexts } = &graph;
    let material = Material { adjacency, features, contexts, transform: &transform };
    let encoder = Encoder::new(&settings.encoder, transform.output_width(), 6);
    let trained = Trained { encoder, step: 9, looks: Vec::new() };
    let wanted = Model::new(&settings, trained.clone(), material, "x").unwrap();
    let found = early.at(trained, material).unwrap();
    assert!(found == wanted);
    assert!(found.means != early.means && found.encoder != early.encoder);
}

/// A ring of nodes whose features are noise: what is to be smoothed once is smoothed twice,
/// and its means are those of what is.
#[test]
fn noise_is_smoothed_further() {
    let (nodes, columns) = (200, 8);
    let mut stream = Stream::new(8, "test", 0);
    let edges: Vec<(u32, u32, f32)> =
        (0..nodes as u32).map(|node| (node, (node + 1 + node % 3) % nodes as u32, 1.0)).collect();
    let values: Vec<f32> = (0..nodes * columns).map(|_| stream.normal() as f32).collect();
    let found = |steps: u32, noisy_steps: u32| {
        let mut settings = settings(EncoderKind::Mlp, 1, false);
        settings.contexts.size = 4;
        settings.output = vec![BlockSettings {
            source: Source::Features,
            smoothing: Some(Smoothing::steps(steps)),
            noisy_steps,
            center: true,
            ..BlockSettings::default()
        }];
        let adjacency = build(nodes, &edges, false, false);
        let view = AdjacencyView::new(&adjacency);
        let contexts = Contexts::sample(&view, &settings.contexts, &Silent).unwrap();
        let features = Features::Dense { width: columns, values: values.clone().into() };
        let graph = Graph { adjacency, features, contexts };
        let transform =
            Transform::fit(&settings.features, &graph.features, &graph.adjacency, 0, &Silent)
                .unwrap();
        let model = model(&settings, &graph, &transform);
        assert_eq!(model.likeness.is_some_and(|likeness| likeness.is_noise()), noisy_steps > 0);
        let rows = embed(&model, &graph, &[0, 5, 199]).values;
        (model.means, rows)
    };
    assert_eq!(found(1, 1), found(2, 0));
    assert_ne!(found(1, 0), found(2, 0));
}

/// The block of plain features, whose norm is 2, weighs as much as likeness says.
#[test]
fn plain_features_weigh_as_likeness_says() {
    let mut settings = settings(EncoderKind::Mlp, 1, false);
    settings.output[3].unlike = true;
    let rows: Vec<Vec<f32>> =
        (0..NODES).map(|node| (0..COLUMNS).map(|c| (node * c % 5) as f32).collect()).collect();
    let fit = |graph: &Graph| {
        Transform::fit(&settings.features, &graph.features, &graph.adjacency, 0, &Silent).unwrap()
    };
    let ring: Vec<(u32, u32, f32)> =
        (0..NODES as u32).map(|node| (node, (node + 1) % NODES as u32, 1.0)).collect();
    let some = graph(&ring, false, &rows, &settings);
    let mut model_of = model(&settings, &some, &fit(&some));
    for weight in [0.5, 3.0] {
        // Twice as good as edges: 1.
        let features = 2.0 * (0.1 + 0.02) * f32::powf(weight, 0.25);
        let likeness = Likeness { features, neighbours: 0.1, slope: 0.1 };
        assert!((likeness.plain_weight() - f64::from(weight)).abs() < 1e-5);
        model_of.likeness = Some(likeness);
        let row = embed(&model_of, &some, &[3]);
        let block = &row.values[12 + COLUMNS..12 + 2 * COLUMNS];
        let norm = block.iter().map(|x| x * x).sum::<f32>().sqrt();
        assert!((norm - 2.0 * weight).abs() < 1e-4, "{norm}");
    }
    // Where edges choose much better it would be next to nothing, and has no columns.
    let with = embed(&model_of, &some, &[3]);
    model_of.likeness = Some(Likeness { features: 0.1, neighbours: 0.1, slope: 0.1 });
    let without = embed(&model_of, &some, &[3]);
    assert_eq!(without.width, with.width - COLUMNS);
    let others = [&with.values[..12 + COLUMNS], &with.values[12 + 2 * COLUMNS..]].concat();
    assert_eq!(without.values, others);
    // No node has a neighbour: nothing can be told.
    let alone = graph(&[(3, 3, 1.0)], false, &rows, &settings);
    let found = model(&settings, &alone, &fit(&alone)).likeness;
    assert_eq!(found, Some(Likeness { features: 0.0, neighbours: 0.0, slope: 0.0 }));
}

#[test]
fn blocks_weigh_less_where_features_have_few_columns() {
    let mut settings = settings(EncoderKind::Mlp, 1, false);
    settings.output = vec![BlockSettings { weight: 3.0, ..BlockSettings::default() }];
    let rows: Vec<Vec<f32>> =
        (0..NODES).map(|node| (0..COLUMNS).map(|c| (node * c % 5) as f32).collect()).collect();
    let some = graph(&[(0, 1, 1.0), (1, 2, 1.0)], false, &rows, &settings);
    let transform =
        Transform::fit(&settings.features, &some.features, &some.adjacency, 0, &Silent).unwrap();
    let mut model = model(&settings, &some, &transform);
    let whole = embed(&model, &some, &[1, 2]);
    for (few, share) in
        [(COLUMNS, 1.0), (COLUMNS / 2, 1.0), (4 * COLUMNS, 0.5), (9 * COLUMNS, 1.0 / 3.0)]
    {
        model.settings.output[0].few_columns = few;
        let found = embed(&model, &some, &[1, 2]);
        for (x, whole) in found.values.iter().zip(&whole.values) {
            assert!((x - share * whole).abs() <= 1e-6 * whole.abs(), "{few}: {x} of {whole}");
        }
    }
}

#[test]
fn questions_are_asked_where_features_are_noise() {
    let rows: Vec<Vec<f32>> = (0..NODES)
        .map(|node| (0..COLUMNS).map(|c| ((node * 5 + c * 3) % 7) as f32 - 1.0).collect())
        .collect();
    let mut settings = settings(EncoderKind::Mlp, 1, false);
    let random = BlockSettings {
        source: Source::Random,
        columns: 70,
        noisy_only: true,
        ..BlockSettings::default()
    };
    settings.output = vec![BlockSettings::default(), random];
    let graph = graph(&[(0, 1, 1.0), (1, 2, 1.0)], false, &rows, &settings);
    let transform =
        Transform::fit(&settings.features, &graph.features, &graph.adjacency, 0, &Silent).unwrap();
    let mut model = model(&settings, &graph, &transform);
    let columns = |features: f32, model: &mut Model| {
        model.likeness = Some(Likeness { features, neighbours: 0.0, slope: 0.0 });
        (model.block_width(1), model.width())
    };
    // Nothing is known of so few nodes; half of the features tells the other; it does not.
    assert_eq!(columns(0.0, &mut model), (0, 6));
    assert_eq!(columns(0.3, &mut model), (0, 6));
    assert_eq!(columns(0.01, &mut model), (70, 76));
    let answers = transform.answers(&graph.features, &[3, 1], 70, settings.seed);
    let found = embed(&model, &graph, &[3, 1]);
    assert_eq!(&found.row(0)[6..], answers.row(0));
    assert_eq!(&found.row(1)[6..], answers.row(1));
}

#[test]
fn projected_features_keep_their_lengths() {
    let rows: Vec<Vec<f32>> = (0..NODES)
        .map(|node| (0..COLUMNS).map(|c| ((node * 5 + c * 3) % 7) as f32 - 1.0).collect())
        .collect();
    for projected in [true, false] {
        let mut settings = settings(EncoderKind::Mlp, 1, projected);
        if let Some(projection) = &mut settings.features.projection {
            (projection.center, projection.norm) = (true, Some(1.0));
        }
        let graph = graph(&[(0, 1, 1.0), (1, 2, 1.0)], false, &rows, &settings);
        settings.output = vec![BlockSettings {
            source: Source::Projected,
            weight: 3.0,
            ..BlockSettings::default()
        }];
        let transform =
            Transform::fit(&settings.features, &graph.features, &graph.adjacency, 0, &Silent)
                .unwrap();
        let nodes: Vec<u32> = (0..NODES as u32).collect();
        let found = embed(&model(&settings, &graph, &transform), &graph, &nodes);
        for (node, row) in rows.iter().enumerate() {
            // Rows of norm 2, times V where there is one; no mean, no other norm.
            let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt();
            let row = row.iter().map(|x| 2.0 * x / norm).collect::<Vec<f32>>();
            let wanted: Vec<f32> = match &transform.vectors {
                Some(vectors) => (0..vectors.width)
                    .map(|k| row.iter().enumerate().map(|(c, x)| x * vectors.row(c)[k]).sum())
                    .collect(),
                None => row,
            };
            for (found, wanted) in found.row(node).iter().zip(&wanted) {
                assert!((found - 3.0 * wanted).abs() < 1e-5, "{projected} {node}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn renaming_nodes_permutes_embeddings(
        seed in 0u64..10_000,
        weighted: bool,
        projected: bool,
        (kind, layers) in prop::sample::select(vec![
            (EncoderKind::Gcn, 1),
            (EncoderKind::GcnSkip, 2),
            (EncoderKind::Gat, 1),
            (EncoderKind::Gin, 1),
            (EncoderKind::Mlp, 1),
        ]),
    ) {
        let mut stream = Stream::new(seed, "test", 0);
        let edges: Vec<(u32, u32, f32)> = (0..24)
            .map(|_| {
                let (a, b) = (stream.below(NODES as u64) as u32, stream.below(NODES as u64) as u32);
                (a, b, 0.5 + stream.unit() as f32)
            })
            .collect();
        let rows: Vec<Vec<f32>> =
            (0..NODES).map(|_| (0..COLUMNS).map(|_| stream.normal() as f32).collect()).collect();
        let mut to: Vec<u32> = (0..NODES as u32).collect();
        (1..NODES).rev().for_each(|at| to.swap(at, stream.below(at as u64 + 1) as usize));
        let renamed: Vec<_> =
            edges.iter().map(|&(a, b, w)| (to[a as usize], to[b as usize], w)).collect();
        let mut moved = rows.clone();
        rows.iter().zip(&to).for_each(|(row, &to)| moved[to as usize].clone_from(row));
        let settings = settings(kind, layers, projected);
        let (one, other) =
            (graph(&edges, weighted, &rows, &settings), graph(&renamed, weighted, &moved, &settings));
        // One transform: a basis of singular vectors may turn with the order of rows.
        let transform =
            Transform::fit(&settings.features, &one.features, &one.adjacency, 0, &Silent).unwrap();
        let all: Vec<u32> = (0..NODES as u32).collect();
        let (a, b) = (
            embed(&model(&settings, &one, &transform), &one, &all),
            embed(&model(&settings, &other, &transform), &other, &all),
        );
        for (node, &to) in to.iter().enumerate() {
            for (x, y) in a.row(node).iter().zip(b.row(to as usize)) {
                prop_assert!((x - y).abs() < 2e-4, "{kind:?} node {node}: {x} {y}");
            }
        }
    }

    #[test]
    fn the_split_of_nodes_changes_no_bit(
        seed in 0u64..10_000,
        cut in 1usize..NODES - 1,
        projected: bool,
        kind in prop::sample::select(vec![
            EncoderKind::Gcn, EncoderKind::GcnSkip, EncoderKind::Gat, EncoderKind::Gin, EncoderKind::Mlp,
        ]),
    ) {
        let mut stream = Stream::new(seed, "test", 0);
        let edges: Vec<(u32, u32, f32)> = (0..20)
            .map(|_| (stream.below(NODES as u64) as u32, stream.below(NODES as u64) as u32, 1.0))
            .collect();
        let rows: Vec<Vec<f32>> =
            (0..NODES).map(|_| (0..COLUMNS).map(|_| stream.normal() as f32).collect()).collect();
        let mut settings = settings(kind, 2, projected);
        settings.company = Some(CompanySettings { nearest: 3, share: 0.4 });
        let graph = graph(&edges, false, &rows, &settings);
        let transform =
            Transform::fit(&settings.features, &graph.features, &graph.adjacency, 0, &Silent).unwrap();
        let model = model(&settings, &graph, &transform);
        let all: Vec<u32> = (0..NODES as u32).rev().collect();
        let whole = embed(&model, &graph, &all);
        let (first, second) =
            (embed(&model, &graph, &all[..cut]), embed(&model, &graph, &all[cut..]));
        let parts: Vec<u32> =
            first.values.iter().chain(&second.values).map(|x| x.to_bits()).collect();
        prop_assert_eq!(&parts, &whole.values.iter().map(|x| x.to_bits()).collect::<Vec<u32>>());
        // All nodes at once, from the first to the last.
        let Graph { adjacency, features, contexts } = &graph;
        let mut at_once = Matrix::zeros(NODES, model.width());
        Embedder::new(&model, adjacency, features, contexts).unwrap().all(&mut at_once, &Silent);
        let rows = at_once.values.chunks_exact(model.width()).rev();
        prop_assert_eq!(&parts, &rows.flatten().map(|x| x.to_bits()).collect::<Vec<u32>>());
    }
}
