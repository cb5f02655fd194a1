//! The proof of the encoder: naive twins, central differences, and what must not
//! depend on threads or batches.

mod batches;
mod twin;

use super::*;
use crate::batch::{Arcs, Inputs, Lists, Units};
use batches::{KINDS, Lie, World, encoder, random};

const LIES: [Lie; 3] = [Lie::Sparse, Lie::Dense, Lie::Unshared];

fn everything(world: &World, kind: EncoderKind, lie: Lie) -> Batch<f64> {
    let all: Vec<usize> = (0..world.contexts.len()).collect();
    world.batch(&all, kind, lie)
}

fn bits<T: Real>(values: &[T]) -> Vec<u64> {
    values.iter().map(|x| x.wide().to_bits()).collect()
}

#[test]
fn rows_equal_the_equations() {
    for (weighted, symmetric) in [(false, true), (true, true), (true, false)] {
        let world = World::new((12, 7), (5, 6), weighted, symmetric);
        for kind in KINDS {
            for (layers, width) in [(1, 2), (1, 66), (2, 6), (3, 4)] {
                let encoder = encoder(kind, layers, width, 7);
                for lie in LIES {
                    let batch = everything(&world, kind.0, lie);
                    let (rows, _) = encoder.forward(&batch);
                    let wanted = twin::rows(&encoder, kind.0, &batch);
                    assert_eq!(rows.rows, wanted.len());
                    for (a, b) in rows.values.iter().zip(wanted.iter().flatten()) {
                        assert!((a - b).abs() < 1e-11, "{kind:?} {layers} {width} {lie:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn widths_that_are_no_multiples_of_anything() {
    let world = World::new((12, 5), (4, 6), true, false);
    for kind in KINDS.into_iter().filter(|kind| kind.1 == 1) {
        for width in [1, 3, 65] {
            let encoder = encoder(kind, 2, width, 5);
            let batch = everything(&world, kind.0, Lie::Sparse);
            let wanted = twin::rows(&encoder, kind.0, &batch);
            let (rows, _) = encoder.forward(&batch);
            for (a, b) in rows.values.iter().zip(wanted.iter().flatten()) {
                assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{kind:?} {width}");
            }
        }
    }
}

/// Every derivative against central differences of a random linear functional of the rows.
fn check(kind: (EncoderKind, usize), layers: usize, width: usize, batch: &Batch<f64>) {
    let mut encoder = encoder(kind, layers, width, batch.inputs.width());
    let functional = random(batch.rows(), width);
    let value = |encoder: &Encoder<f64>| -> f64 {
        let (rows, _) = encoder.forward(batch);
        rows.values.iter().zip(&functional.values).map(|(a, b)| a * b).sum()
    };
    let mut d = encoder.zeros_like();
    let (_, tape) = encoder.forward(batch);
    encoder.backward(batch, &tape, &functional, &mut d);
    let d: Vec<(String, Vec<f64>)> =
        d.named().into_iter().map(|(name, _, values)| (name, values.to_vec())).collect();
    for (at, (name, d)) in d.iter().enumerate() {
        for (i, d) in d.iter().enumerate() {
            let start = encoder.parameters()[at].values[i];
            let step = 1e-6 * start.abs().max(1.0);
            let mut moved = |by: f64| {
                encoder.parameters()[at].values[i] = start + by;
                value(&encoder)
            };
            let slope = (moved(step) - moved(-step)) / (2.0 * step);
            encoder.parameters()[at].values[i] = start;
            let far = (slope - d).abs() / d.abs().max(1.0);
            assert!(far < 1e-6, "{kind:?} {name}[{i}]: {d} but {slope} by differences");
        }
    }
}

#[test]
fn derivatives_equal_central_differences() {
    for (weighted, symmetric) in [(false, true), (true, true), (true, false)] {
        let world = World::new((9, 5), (4, 5), weighted, symmetric);
        for kind in KINDS {
            for layers in 1..=if kind.0 == EncoderKind::Gcn { 3 } else { 2 } {
                for lie in LIES {
                    check(kind, layers, 4, &everything(&world, kind.0, lie));
                }
            }
        }
    }
}

#[test]
fn derivatives_at_other_widths() {
    let world = World::new((9, 3), (3, 5), true, false);
    for kind in KINDS.into_iter().filter(|kind| kind.1 == 1) {
        for width in [1, 3] {
            check(kind, 2, width, &everything(&world, kind.0, Lie::Sparse));
        }
        check(kind, 1, 17, &everything(&world, kind.0, Lie::Dense));
    }
}

#[test]
fn derivatives_are_added_to_what_is_there() {
    let world = World::new((9, 5), (4, 5), true, true);
    for kind in KINDS {
        for lie in LIES {
            let batch = everything(&world, kind.0, lie);
            let encoder = encoder(kind, 2, 4, 5);
            let (rows, tape) = encoder.forward(&batch);
            let d_rows = random(rows.rows, rows.width);
            let (mut once, mut twice) = (encoder.zeros_like(), encoder.zeros_like());
            encoder.backward(&batch, &tape, &d_rows, &mut once);
            encoder.backward(&batch, &tape, &d_rows, &mut twice);
            encoder.backward(&batch, &tape, &d_rows, &mut twice);
            for ((name, _, once), (_, _, twice)) in once.named().into_iter().zip(twice.named()) {
                for (a, b) in once.iter().zip(twice) {
                    assert!((2.0 * a - b).abs() < 1e-10 * a.abs().max(1.0), "{kind:?} {name}");
                }
            }
        }
    }
}

#[test]
fn centers_are_the_rows_of_centers() {
    for symmetric in [true, false] {
        let world = World::new((12, 7), (6, 6), true, symmetric);
        for kind in KINDS {
            for (layers, width) in [(1, 2), (2, 66), (3, 4)] {
                for lie in LIES {
                    let batch = everything(&world, kind.0, lie);
                    let encoder = encoder(kind, layers, width, 7);
                    let (rows, centers) = (encoder.forward(&batch).0, encoder.centers(&batch));
                    let narrow = encoder.cast::<f32>().centers(&batch.cast());
                    assert_eq!((centers.rows, centers.width), (batch.contexts(), width));
                    for (at, &center) in batch.centers.iter().enumerate() {
                        let row = rows.row(center as usize);
                        let size = row.iter().fold(1f64, |size, x| size.max(x.abs()));
                        for (c, &wanted) in row.iter().enumerate() {
                            let far = (centers.row(at)[c] - wanted).abs() / size;
                            assert!(far < 1e-12, "{kind:?} {layers} {lie:?}: {far}");
                            let far = (f64::from(narrow.row(at)[c]) - wanted).abs() / size;
                            assert!(far < 1e-5, "{kind:?} {layers} {lie:?} in f32: {far}");
                        }
                    }
                    let all: Vec<u32> = (0..rows.rows as u32).collect();
                    let again = encoder.rows(&batch, &all);
                    for (a, b) in again.values.iter().zip(&rows.values) {
                        assert!((a - b).abs() < 1e-12 * b.abs().max(1.0), "{kind:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_center_does_not_depend_on_its_batch() {
    let world = World::new((40, 70), (30, 9), true, false);
    for kind in KINDS {
        for layers in 1..=3 {
            let encoder = encoder(kind, layers, 66, 70).cast::<f32>();
            for lie in LIES {
                let all = encoder.centers(&everything(&world, kind.0, lie).cast());
                for which in [vec![0], vec![29], vec![7, 3], (5..25).rev().collect()] {
                    let some = encoder.centers(&world.batch(&which, kind.0, lie).cast());
                    for (at, &context) in which.iter().enumerate() {
                        let (a, b) = (some.row(at), all.row(context));
                        assert_eq!(bits(a), bits(b), "{kind:?} {layers} {lie:?} {context}");
                    }
                }
            }
        }
    }
}

#[test]
fn one_thread_and_two_give_equal_bytes() {
    // Enough rows for several chunks at this width, enough work for products to be cut.
    let world = World::new((400, 80), (150, 20), true, false);
    for kind in KINDS {
        for lie in [Lie::Sparse, Lie::Dense] {
            let encoder = encoder(kind, 2, 130, 80).cast::<f32>();
            let batch = everything(&world, kind.0, lie).cast();
            let d_rows = random(batch.rows(), 130).cast();
            let all = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let (rows, tape) = encoder.forward(&batch);
                    let mut d = encoder.zeros_like();
                    encoder.backward(&batch, &tape, &d_rows, &mut d);
                    let centers = encoder.centers(&batch);
                    let d = d.named().into_iter().flat_map(|(_, _, d)| bits(d)).collect();
                    [bits(&rows.values), bits(&centers.values), d]
                })
            };
            let one: [Vec<u64>; 3] = all(1);
            assert!(one == all(2) && one == all(3), "{kind:?} {lie:?}");
        }
    }
}

#[test]
fn a_batch_is_the_sum_of_its_parts() {
    // At this width a chunk has 63 rows: the batch spans several, seven contexts lie in
    // one, where the twin and central differences have checked it.
    let (width, world) = (1030, World::new((300, 7), (50, 9), true, false));
    for kind in KINDS {
        for lie in [Lie::Sparse, Lie::Dense] {
            let encoder = encoder(kind, 2, width, 7);
            let batch = everything(&world, kind.0, lie);
            assert!(batch.rows() > 130 && batch.inputs.units() > 130, "several chunks");
            let functional = |batch: &Batch<f64>| {
                let mut d_rows = Matrix::zeros(batch.rows(), width);
                for (at, &center) in batch.centers.iter().enumerate() {
                    let first = batch.nodes[at] as f64;
                    let line = d_rows.row_mut(center as usize);
                    (0..width).for_each(|c| line[c] += (first + c as f64).sin());
                }
                d_rows
            };
            let (rows, tape) = encoder.forward(&batch);
            let mut whole = encoder.zeros_like();
            encoder.backward(&batch, &tape, &functional(&batch), &mut whole);
            let mut parts = encoder.zeros_like();
            for few in (0..world.contexts.len()).collect::<Vec<_>>().chunks(7) {
                let part = world.batch(few, kind.0, lie);
                let (some, tape) = encoder.forward(&part);
                encoder.backward(&part, &tape, &functional(&part), &mut parts);
                for (&at, &center) in few.iter().zip(&part.centers) {
                    let (a, b) = (rows.row(batch.centers[at] as usize), some.row(center as usize));
                    assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-10 * b.abs().max(1.0)));
                }
            }
            for ((name, _, a), (_, _, b)) in whole.named().into_iter().zip(parts.named()) {
                let size = b.iter().fold(1f64, |size, x| size.max(x.abs()));
                let far = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(far < 1e-10 * size, "{kind:?} {lie:?} {name}: {far} of {size}");
            }
        }
    }
}

#[test]
fn a_convolution_by_hand() {
    // Two nodes, an edge: Â is all ones, every degree 2, Ã all ½. x = (1, 3), so Ã x = (2, 2);
    // times W = (2, −1) and plus b = (½, 0): (4½, −2) for both; PReLU: (4½, −½).
    let of_row = vec![0, 1];
    let rows = Lists { offsets: vec![0, 1, 2], items: vec![0, 1] };
    let batch = Batch {
        nodes: vec![0],
        inputs: Inputs::Dense(Matrix::of(2, 1, vec![1.0, 3.0])),
        units: Units::Shown { of_row, rows },
        pieces: vec![0, 2],
        arcs: Arcs {
            offsets: vec![0, 2, 4],
            heads: vec![0, 1, 0, 1],
            weights: vec![0.5; 4],
            symmetric: true,
        },
        centers: vec![1],
        members: crate::batch::Members::default(),
    };
    let mut layer = Gcn {
        weight: Matrix::of(1, 2, vec![2.0, -1.0]),
        skip: None,
        bias: vec![0.5, 0.0],
        slope: vec![0.25; 2],
    };
    let (rows, tape) =
        Encoder { layers: vec![Layer::Gcn(layer.clone())], linear: None }.forward(&batch);
    assert_eq!(rows.values, [4.5, -0.5, 4.5, -0.5]);

    // From d_rows = (1, 1; 0, 2): d_z = (1, ¼; 0, ½), d_b = (1, ¾), d_slope = (0, −2 · 3),
    // d_y = Ã d_z = (½, ⅜; ½, ⅜), d_W = 1 · d_y0 + 3 · d_y1 = (2, 1½).
    let encoder = Encoder { layers: vec![Layer::Gcn(layer.clone())], linear: None };
    let mut d = encoder.zeros_like();
    let d_rows = Matrix::of(2, 2, vec![1.0, 1.0, 0.0, 2.0]);
    encoder.backward(&batch, &tape, &d_rows, &mut d);
    let d: Vec<&[f64]> = d.named().into_iter().map(|(_, _, d)| d).collect::<Vec<_>>();
    assert_eq!(d, [&[2.0, 1.5][..], &[1.0, 0.75], &[0.0, -6.0]]);

    // With W_skip = (1, 1), x W_skip = (1, 1; 3, 3) is added: (5½, −1; 7½, 1).
    layer.skip = Some(Matrix::of(1, 2, vec![1.0, 1.0]));
    let encoder = Encoder { layers: vec![Layer::Gcn(layer)], linear: None };
    assert_eq!(encoder.forward(&batch).0.values, [5.5, -0.25, 7.5, 1.0]);
    assert_eq!(encoder.centers(&batch).values, [7.5, 1.0]);
}

#[test]
fn attention_bears_large_scores() {
    // Scores of ±10⁴ would overflow an exponential that is not shifted.
    let world = World::new((9, 5), (4, 5), true, true);
    let kind = (EncoderKind::Gat, 2);
    let batch = everything(&world, kind.0, Lie::Dense).cast::<f32>();
    let mut encoder = encoder(kind, 1, 4, 5).cast::<f32>();
    for parameter in encoder.parameters().into_iter().take(3) {
        parameter.values.iter_mut().for_each(|x| *x *= 100.0);
    }
    let (rows, tape) = encoder.forward(&batch);
    assert!(rows.values.iter().all(|x| x.is_finite()));
    let mut d = encoder.zeros_like();
    encoder.backward(&batch, &tape, &random(rows.rows, 4).cast(), &mut d);
    assert!(d.named().iter().all(|(_, _, d)| d.iter().all(|x| x.is_finite())));
}

#[test]
fn encoders_start_as_they_should() {
    for (kind, names) in [
        (EncoderKind::Gcn, "weight bias slope"),
        (EncoderKind::GcnSkip, "weight skip bias slope"),
        (EncoderKind::Gat, "weight attention_source attention_target bias slope"),
        (EncoderKind::Gin, "weight1 bias1 slope1 epsilon weight2 bias2 slope2"),
        (EncoderKind::Mlp, "weight bias slope"),
    ] {
        let settings = EncoderSettings { kind, layers: 2, width: 6, heads: 3, linear: false };
        let mut encoder = Encoder::<f64>::new(&settings, 5, 1);
        let wanted: Vec<String> = (0..2)
            .flat_map(|l| names.split(' ').map(move |name| format!("layers.{l}.{name}")))
            .collect();
        assert_eq!(encoder.named().iter().map(|p| p.0.clone()).collect::<Vec<_>>(), wanted);
        for (name, shape, values) in encoder.named() {
            assert_eq!(shape.iter().product::<usize>(), values.len(), "{name}");
            let all = |x: f64| values.iter().all(|&y| y == x);
            assert_eq!(all(0.0), name.contains("bias") || name.contains("epsilon"), "{name}");
            assert_eq!(all(0.25), name.contains("slope"), "{name}");
        }
        assert_eq!(encoder.cast::<f32>(), Encoder::<f32>::new(&settings, 5, 1));
        assert_ne!(encoder, Encoder::new(&settings, 5, 2));
        let one = EncoderSettings { layers: 1, ..settings.clone() };
        assert_eq!(Encoder::new(&one, 5, 1).layers[0], encoder.layers[0]);
        let mapped = Encoder::<f64>::new(&EncoderSettings { linear: true, ..settings }, 5, 1);
        assert_eq!(mapped.layers, encoder.layers);
        let (name, shape, values) = mapped.named().pop().unwrap();
        assert_eq!((&name[..], &shape[..]), ("linear.weight", &[6, 6][..]));
        assert!(values.iter().all(|&x| x != 0.0 && x.abs() <= 0.5f64.sqrt()));
        let zeros = encoder.zeros_like();
        assert!(zeros.named().iter().all(|(_, _, values)| values.iter().all(|&x| x == 0.0)));
        let names: Vec<String> = encoder.parameters().into_iter().map(|p| p.name).collect();
        assert_eq!(names, wanted);
    }
}
