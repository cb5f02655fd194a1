//! How fast is a step of training, and where does its time go?
//!
//! ```text
//! cargo run --release --example step_speed -- store=NAME.graph [option=value ...]
//! contexts=500  size=20  width=1024  layers=1  encoder=gcn  steps=200  threads=1  bandwidth=112
//! gemm=no
//! ```
//!
//! A whole step of the trainer is timed: putting a batch of random centers together,
//! forward, margin contrast with one shuffle both ways, backward and Adam. Times are
//! milliseconds a step, least and median; those of tiles are added up over threads. The
//! floor of a section is what it reads and writes at least, over the bandwidth of
//! the second-level cache (GB/s). With gemm=yes the dense products of a deeper GCN's step
//! are timed by themselves too, between steps. The last line is the same as JSON.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use subgcon::batch::{Assembler, Augmentation, Batch, Inputs};
use subgcon::config::{Preset, Settings};
use subgcon::context::ContextSettings;
use subgcon::io::contexts::ContextTable;
use subgcon::io::store::Store;
use subgcon::math::{Matrix, Write, gemm};
use subgcon::progress::Silent;
use subgcon::train::{Material, Sections, Trainer};
use subgcon::transform::Transform;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options: BTreeMap<String, String> = [
        ("store", ""),
        ("contexts", "500"),
        ("size", "20"),
        ("width", "1024"),
        ("layers", "1"),
        ("encoder", "gcn"),
        ("steps", "200"),
        ("threads", "1"),
        ("bandwidth", "112"),
        ("gemm", "no"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    for argument in std::env::args().skip(1) {
        let (name, value) = argument.split_once('=').ok_or("options are written name=value")?;
        let old = options.get_mut(name).ok_or_else(|| format!("no option {name}"))?;
        value.clone_into(old);
    }
    let number = |name: &str| options[name].parse::<usize>();
    rayon::ThreadPoolBuilder::new().num_threads(number("threads")?).build_global()?;

    let mut settings = Preset::Reference.settings();
    settings.contexts = ContextSettings { size: number("size")?, ..ContextSettings::default() };
    settings =
        settings.changed_by(&format!("encoder.kind = {:?}", options["encoder"]), "encoder")?;
    settings.encoder.width = number("width")?;
    settings.encoder.layers = number("layers")?;
    settings.training.batch = number("contexts")?;
    settings.training.steps = number("steps")? as u64;

    let store = Store::open(Path::new(&options["store"]))?;
    let table = ContextTable::sample(&store, &settings.contexts, &Silent)?;
    let features = store.features()?.ok_or("this store has no features")?;
    let adjacency = store.adjacency()?;
    let transform = Transform::fit(&settings.features, features, adjacency, 0, &Silent)?;
    let material =
        Material { adjacency, features, contexts: &table.contexts, transform: &transform };
    let first: Vec<u32> = (0..adjacency.nodes().min(settings.training.batch) as u32).collect();
    let kind = settings.encoder.kind;
    let assembler =
        Assembler::new(adjacency, features, &table.contexts, &transform, kind, &settings.readout);
    let batch = assembler.batch_for(&settings.encoder, &first, &Augmentation::NONE);
    // As many rows as a batch has in the mean.
    let contexts = &table.contexts;
    let all: usize = (0..contexts.rows()).map(|row| contexts.nodes(row).len()).sum();
    let mean = all * settings.training.batch / contexts.rows().max(1);
    let mut products = if options["gemm"] == "yes" { Products::new(mean, &settings) } else { None };
    let mut trainer = Trainer::new(&settings, material)?;
    let mut times: Vec<[u64; NAMES.len()]> = Vec::new();
    let mut last = 0.0;
    loop {
        let before = trainer.sections().unwrap_or_default();
        let started = Instant::now();
        let Some(report) = trainer.advance()? else { break };
        let whole = started.elapsed().as_nanos() as u64;
        last = report.loss;
        // In turn with the steps, so that both see the same machine.
        let alone = products.as_mut().map_or(0, Products::time);
        times.push(differences(trainer.sections().unwrap_or_default(), before, [alone, whole]));
    }
    // The first step allocates, and has no batch put together for it.
    let times = times.get(1..).unwrap_or_default();
    println!(
        "{} contexts, {} rows, {} units, {} arcs, {} inputs, {} threads; loss {last:.6}",
        batch.contexts(),
        batch.rows(),
        batch.inputs.units(),
        batch.arcs.heads.len(),
        batch.inputs.width(),
        options["threads"]
    );
    report(times, &floors(&batch, &settings), options["bandwidth"].parse()?);
    Ok(())
}

/// The dense products of one step of a deeper GCN by themselves: forward, and back to the
/// weights and to the rows, for each layer but the first.
struct Products {
    layers: usize,
    x: Matrix<f32>,
    weight: Matrix<f32>,
    d_y: Matrix<f32>,
    y: Matrix<f32>,
    d_weight: Matrix<f32>,
}

impl Products {
    fn new(rows: usize, settings: &Settings) -> Option<Products> {
        let width = settings.encoder.width;
        let layers = settings.encoder.layers.checked_sub(1).filter(|&layers| layers > 0)?;
        let filled = |rows: usize, salt: usize| {
            let values = (0..rows * width).map(|at| ((at * 7 + salt) % 23) as f32 / 23.0 - 0.5);
            Matrix::of(rows, width, values.collect())
        };
        Some(Products {
            layers,
            x: filled(rows, 1),
            weight: filled(width, 2),
            d_y: filled(rows, 3),
            y: filled(rows, 4),
            d_weight: filled(width, 5),
        })
    }

    /// Nanoseconds.
    fn time(&mut self) -> u64 {
        let Products { layers, x, weight, d_y, y, d_weight } = self;
        let started = Instant::now();
        for _ in 0..*layers {
            gemm(y, x.view(), weight.view(), Write::Set);
            gemm(d_weight, x.view().transposed(), d_y.view(), Write::Add);
            gemm(y, d_y.view(), weight.view().transposed(), Write::Set);
        }
        started.elapsed().as_nanos() as u64
    }
}

/// Sections of a fused step, the dense products of a deeper one by themselves, and the whole.
const NAMES: [&str; 10] = [
    "plan",
    "product",
    "aggregate",
    "collect",
    "contrast",
    "spread",
    "weights",
    "tiles",
    "gemm",
    "step",
];

fn differences(after: Sections, before: Sections, others: [u64; 2]) -> [u64; NAMES.len()] {
    let list = |s: Sections| {
        [s.plan, s.product, s.aggregate, s.collect, s.contrast, s.spread, s.weights, s.total]
    };
    let (after, before) = (list(after), list(before));
    std::array::from_fn(|at| if at < 8 { after[at] - before[at] } else { others[at - 8] })
}

fn report(times: &[[u64; NAMES.len()]], bytes: &[f64; NAMES.len()], bandwidth: f64) {
    println!("section      least   median    floor  ms");
    let mut json = Vec::new();
    let (mut whole, mut middle) = (0.0, 0.0);
    for (at, name) in NAMES.iter().enumerate() {
        let mut list: Vec<u64> = times.iter().map(|time| time[at]).collect();
        list.sort_unstable();
        let ms = |nanos: Option<&u64>| nanos.map_or(0.0, |&nanos| nanos as f64 / 1e6);
        let (least, median) = (ms(list.first()), ms(list.get(list.len() / 2)));
        println!("{name:9} {least:8.3} {median:8.3} {:8.3}", bytes[at] / bandwidth / 1e6);
        json.push(format!("\"{name}\": {median:.3}"));
        (whole, middle) = (least, median);
    }
    let sections = json.join(", ");
    println!("{{\"ms_min\": {whole}, \"ms_median\": {middle}, \"sections\": {{{sections}}}}}");
}

/// Bytes that each section of a fused step has to move through the second-level cache: a
/// row of numbers for each entry and arc, and parameters with moments in and out.
fn floors(batch: &Batch<f32>, settings: &Settings) -> [f64; NAMES.len()] {
    let row = 4.0 * settings.encoder.width as f64;
    let entries = match &batch.inputs {
        Inputs::Sparse(sparse) => sparse.values.len(),
        Inputs::Dense(matrix) => matrix.values.len(),
    } as f64;
    let arcs = batch.arcs.heads.len() as f64 * row;
    let product = entries * row;
    let adam = 6.0 * batch.inputs.width() as f64 * row;
    let whole = 2.0 * (product + arcs) + adam;
    [0.0, product, arcs, 0.0, 0.0, arcs, product + adam, whole, 0.0, whole]
}
