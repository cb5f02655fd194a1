//! What whole runs have in common: learn, embed, measure, and rows that cost nothing
//! beside. `benchmark`, `links`, `demo` and `reproduce` are made of it.

use std::time::Instant;

use subgcon::config::{Decay, Settings, Source};
use subgcon::context::Contexts;
use subgcon::eval::{FreeRow, free_rows};
use subgcon::graph::{Adjacency, Features, Labels};
use subgcon::math::Matrix;
use subgcon::model::{Embedder, Model};
use subgcon::progress::Silent;
use subgcon::train::{Material, Trained, Trainer};
use subgcon::transform::Transform;

use super::figures::{Run, Seconds};
use super::measure::{Measure, ROUGH};

/// What runs learn from.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) adjacency: &'a Adjacency,
    pub(super) features: &'a Features,
    pub(super) contexts: &'a Contexts,
    /// Seconds that the contexts took.
    pub(super) seconds: f64,
}

/// The learnt columns of an embedding before the first step, and the whole of it.
const UNTRAINED_ENCODER: &str = "untrained encoder";
const UNTRAINED: &str = "untrained embedding, all columns";

/// How many times the settings' steps are taken at most while candidates get better.
const LONGEST: u64 = 5;

/// What training has led to.
pub(super) struct Kept {
    model: Model,
    /// The figure that it was chosen by, where validation nodes chose a step.
    pub(super) validation: Option<f64>,
    /// Of training, and of putting the model together where no candidate had to be.
    seconds: Seconds,
}

/// One run: learns, embeds and measures; and the model that it led to.
pub(super) fn learn(
    settings: &Settings,
    transform: &Transform,
    ground: Ground<'_>,
    measure: &Measure<'_>,
    select_every: Option<u64>,
) -> anyhow::Result<(Run, Model)> {
    let kept = train(settings, transform, ground, measure, select_every)?;
    let started = Instant::now();
    let embeddings = embedded(&kept.model, ground.material(transform), None)?;
    let embed = kept.seconds.embed + started.elapsed().as_secs_f64();
    let seconds = Seconds { contexts: ground.seconds, embed, ..kept.seconds };
    let run = measure.run(&embeddings, kept.model.provenance.step, seconds)?;
    Ok((run, kept.model))
}

/// Trains. With `select_every` the candidate every so many steps with the best validation
/// figure, the last of equals, is kept; none uses no label. Candidates are not shown a test node.
/// Where the rate does not fall towards an end, training then goes on until as many steps as
/// the settings ask for have brought no better candidate, as the paper's patience does.
/// Where nodes have several classes a probe takes long: candidates are compared on some
/// of the nodes where those will do, after the first with the best one's C and its
/// neighbours only.
pub(super) fn train(
    settings: &Settings,
    transform: &Transform,
    ground: Ground<'_>,
    measure: &Measure<'_>,
    select_every: Option<u64>,
) -> anyhow::Result<Kept> {
    let material = ground.material(transform);
    let Some(every) = select_every else { return to_the_end(settings, material) };
    let mut started = Instant::now();
    let mut seconds = Seconds::default();
    let steps = settings.training.steps;
    let mut longer = settings.clone();
    let patient = settings.optimizer.decay == Decay::None;
    longer.training.steps = if patient { steps.saturating_mul(LONGEST) } else { steps };
    let mut trainer = Trainer::new(&longer, material)?;
    let several = matches!(measure.labels, Labels::Multi { .. });
    // What candidates are measured by, and the nodes of that.
    let mut look: Option<(Option<Measure<'_>>, Vec<u32>)> = None;
    // Figure, C of each split, model.
    let mut best: Option<(f64, Vec<f64>, Model)> = None;
    let mut better_at = 0;
    while let Some(report) = trainer.advance()? {
        let last = [steps, longer.training.steps].contains(&report.step);
        if !last && !report.step.is_multiple_of(every.max(1)) {
            continue;
        }
        // Looking at a candidate is not training.
        seconds.train += started.elapsed().as_secs_f64();
        let before = best.as_ref().map(|(.., model)| model);
        let model = candidate(&trainer, before, settings, material)?;
        let (rough, nodes) = look.get_or_insert_with(|| {
            let rough = measure.rough(ROUGH * model.width());
            let nodes = rough.as_ref().unwrap_or(measure).held_in();
            (rough, nodes)
        });
        let by = rough.as_ref().unwrap_or(measure);
        let near = best.as_ref().filter(|_| several).map(|(_, c, _)| by.around(c));
        let rows = embedded(&model, material, Some(nodes))?;
        let (figure, c) = near.as_ref().unwrap_or(by).validated(&rows)?;
        let most = best.as_ref().map_or(f64::NEG_INFINITY, |(most, ..)| *most);
        if figure > most {
            better_at = report.step;
        }
        if figure >= most {
            best = Some((figure, c, model));
        }
        if patient && report.step >= better_at.saturating_add(steps) {
            break;
        }
        started = Instant::now();
    }
    match best {
        Some((figure, _, model)) => Ok(Kept { model, validation: Some(figure), seconds }),
        // No step was asked for.
        None => to_the_end(settings, material),
    }
}

/// Trains as long as the settings say.
fn to_the_end(settings: &Settings, material: Material<'_>) -> anyhow::Result<Kept> {
    let started = Instant::now();
    let mut trainer = Trainer::new(settings, material)?;
    while trainer.advance()?.is_some() {}
    let trained = trainer.finish()?;
    let train = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let model = Model::new(settings, trained, material, "")?;
    let seconds = Seconds { train, embed: started.elapsed().as_secs_f64(), ..Seconds::default() };
    Ok(Kept { model, validation: None, seconds })
}

/// The model as it would be if training ended here; `before` is one of the same run, which saves work.
pub(super) fn candidate(
    trainer: &Trainer<'_>,
    before: Option<&Model>,
    settings: &Settings,
    material: Material<'_>,
) -> anyhow::Result<Model> {
    let state = trainer.state();
    let encoder = state.average.unwrap_or(state.encoder);
    let trained = Trained { encoder, step: state.step, looks: Vec::new() };
    Ok(match before {
        Some(before) => before.at(trained, material)?,
        None => Model::new(settings, trained, material, "")?,
    })
}

/// What a model's embedding was before the first step: the columns that are learnt, and all of them
/// where there are others. What learning is worth is what it adds to the second. Both depend on the
/// model's seed. Seconds are those of the whole embedding for both.
pub(super) fn each_untrained(
    model: &Model,
    ground: Ground<'_>,
    mut visit: impl FnMut(&FreeRow<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if model.settings.output.iter().all(|block| block.source != Source::Encoder) {
        return Ok(());
    }
    let material = ground.material(&model.transform);
    let trained = Trainer::new(&model.settings, material)?.finish()?;
    let started = Instant::now();
    let model = model.at(trained, material)?;
    let mut embeddings = embedded(&model, material, None)?;
    let seconds = started.elapsed().as_secs_f64();
    let (mut start, mut learnt) = (0, Vec::new());
    for (at, block) in model.settings.output.iter().enumerate() {
        let columns = start..start + model.block_width(at);
        start = columns.end;
        if block.source == Source::Encoder {
            learnt.extend(columns);
        }
    }
    if learnt.len() < embeddings.width {
        visit(&FreeRow::made(UNTRAINED, &embeddings, seconds))?;
        // In place: a second copy would be the largest thing in memory.
        let (rows, width) = (embeddings.rows, embeddings.width);
        for row in 0..rows {
            for (to, &column) in learnt.iter().enumerate() {
                embeddings.values[row * learnt.len() + to] =
                    embeddings.values[row * width + column];
            }
        }
        embeddings.values.truncate(rows * learnt.len());
        embeddings.width = learnt.len();
    }
    visit(&FreeRow::made(UNTRAINED_ENCODER, &embeddings, seconds))
}

/// Trains to the end and embeds all nodes: (embeddings, model, seconds of training, of embedding).
pub(super) fn learnt(
    settings: &Settings,
    transform: &Transform,
    ground: Ground<'_>,
) -> anyhow::Result<(Matrix<f32>, Model, f64, f64)> {
    let material = ground.material(transform);
    let Kept { model, seconds, .. } = to_the_end(settings, material)?;
    let started = Instant::now();
    let embeddings = embedded(&model, material, None)?;
    Ok((embeddings, model, seconds.train, seconds.embed + started.elapsed().as_secs_f64()))
}

/// Embeddings, a row for each node: zeros for those that are not among `some` where rows can be
/// had without the whole graph.
pub(super) fn embedded(
    model: &Model,
    material: Material<'_>,
    some: Option<&[u32]>,
) -> anyhow::Result<Matrix<f32>> {
    let Material { adjacency, features, contexts, .. } = material;
    let embedder = Embedder::new(model, adjacency, features, contexts)?;
    let width = model.width();
    let mut embeddings = Matrix::zeros(adjacency.nodes(), width);
    match some.filter(|_| embedder.room() == 0) {
        None => embedder.all(&mut embeddings, &Silent),
        Some(nodes) => {
            let mut rows = vec![0.0; nodes.len() * width];
            embedder.rows(nodes, &mut rows);
            let rows = rows.chunks_exact(width.max(1));
            nodes.iter().zip(rows).for_each(|(&node, row)| {
                embeddings.row_mut(node as usize).copy_from_slice(row);
            });
        }
    }
    Ok(embeddings)
}

impl<'a> Ground<'a> {
    pub(super) fn material(self, transform: &'a Transform) -> Material<'a> {
        let Ground { adjacency, features, contexts, .. } = self;
        Material { adjacency, features, contexts, transform }
    }

    /// The transform that settings ask for, and its seconds.
    pub(super) fn transform(self, settings: &Settings) -> anyhow::Result<(Transform, f64)> {
        let started = Instant::now();
        let Ground { adjacency, features, .. } = self;
        let fit = Transform::fit(&settings.features, features, adjacency, settings.seed, &Silent)?;
        Ok((fit, started.elapsed().as_secs_f64()))
    }
}

/// Every row that costs nothing beside those of a model that was learnt on this ground.
pub(super) fn each_free_row(
    model: &Model,
    ground: Ground<'_>,
    mut visit: impl FnMut(&FreeRow<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    each_seedless(&model.settings, model.width(), ground, &mut visit)?;
    each_untrained(model, ground, visit)
}

/// Those of them that are the same for any seed; `width`: columns of projected ones.
pub(super) fn each_seedless(
    settings: &Settings,
    width: usize,
    ground: Ground<'_>,
    visit: impl FnMut(&FreeRow<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    free_rows(ground.adjacency, ground.features, settings.features.structural, width, visit)
}
