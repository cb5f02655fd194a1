//! How fast is a step of training, and where does its time go?
//!
//! ```text
//! cargo run --release --example step_speed -- store=NAME.graph [option=value ...]
//! contexts=500  size=20  width=1024  layers=1  encoder=gcn  steps=200  threads=1  bandwidth=112
//! ```
//!
//! A whole step of the trainer is timed: putting a batch of random centers together,
//! forward, margin contrast with one shuffle both ways, backward and Adam. Times are
//! milliseconds a step, least and median; those of tiles are added up over threads. The
//! floor of a section is what it reads and writes at least, over the bandwidth of
//! the second-level cache (GB/s). The last line is the same as JSON.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use subgcon::batch::{Assembler, Augmentation, Batch, Inputs};
use subgcon::config::{Preset, Settings};
use subgcon::context::ContextSettings;
use subgcon::io::contexts::ContextTable;
use subgcon::io::store::Store;
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
    let mut trainer = Trainer::new(&settings, material)?;
    let mut times: Vec<[u64; NAMES.len()]> = Vec::new();
    let mut last = 0.0;
    loop {
        let before = trainer.sections().unwrap_or_default();
        let started = Instant::now();
        let Some(report) = trainer.advance()? else { break };
        let whole = started.elapsed().as_nanos() as u64;
        last = report.loss;
        times.push(differences(trainer.sections().unwrap_or_default(), before, whole));
    }
    // The first step allocates, and has no batch put together for it.
    let times = times.get(1..).unwrap_or_default();
    let first: Vec<u32> = (0..adjacency.nodes().min(settings.training.batch) as u32).collect();
    let kind = settings.encoder.kind;
    let assembler =
        Assembler::new(adjacency, features, &table.contexts, &transform, kind, &settings.readout);
    let batch = assembler.batch(&first, &Augmentation::NONE);
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

const NAMES: [&str; 9] =
    ["plan", "product", "aggregate", "collect", "contrast", "spread", "weights", "tiles", "step"];

fn differences(after: Sections, before: Sections, whole: u64) -> [u64; NAMES.len()] {
    let list = |s: Sections| {
        [s.plan, s.product, s.aggregate, s.collect, s.contrast, s.spread, s.weights, s.total]
    };
    let (after, before) = (list(after), list(before));
    std::array::from_fn(|at| if at < 8 { after[at] - before[at] } else { whole })
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
    [0.0, product, arcs, 0.0, 0.0, arcs, product + adam, whole, whole]
}
