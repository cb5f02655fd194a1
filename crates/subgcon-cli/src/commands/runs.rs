//! What whole runs have in common: learn, embed, measure, and rows that cost nothing
//! beside. `benchmark`, `links`, `demo` and `reproduce` are made of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use std::{iter, thread};

use serde::Serialize;
use subgcon::config::{BlockSettings, Decay, Settings, Source};
use subgcon::context::Contexts;
use subgcon::eval::{ProbeSettings, free_rows, probe, validate};
use subgcon::graph::{Adjacency, Features, Labels, Role, Split};
use subgcon::math::Matrix;
use subgcon::model::{Embedder, Model};
use subgcon::progress::Silent;
use subgcon::train::{Material, Trained, Trainer};
use subgcon::transform::Transform;

use super::eval::{deviation, figure, mean};
use crate::STACK;

/// What runs learn from.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) adjacency: &'a Adjacency,
    pub(super) features: &'a Features,
    pub(super) contexts: &'a Contexts,
    /// Seconds that the contexts took.
    pub(super) seconds: f64,
}

/// What every row is measured by.
pub(super) struct Measure<'a> {
    pub(super) labels: &'a Labels,
    pub(super) splits: Vec<Split>,
    pub(super) settings: ProbeSettings,
}

/// Means over runs.
#[derive(Debug, Default, Clone, Copy, Serialize)]
pub(super) struct Seconds {
    pub(super) contexts: f64,
    pub(super) train: f64,
    pub(super) embed: f64,
    pub(super) probe: f64,
}

/// Figures of one run; lists are by split.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) test: Vec<f64>,
    pub(super) validation: Vec<f64>,
    pub(super) c: Vec<f64>,
    pub(super) step: u64,
    pub(super) width: usize,
    pub(super) seconds: Seconds,
}

/// One kind of embedding, over its runs.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    pub(super) accuracy_mean: f64,
    /// Over what `spread_over` says.
    pub(super) accuracy_std: f64,
    /// Half of the 95 % interval of the mean, by the same.
    pub(super) accuracy_interval: f64,
    /// `runs` (each the mean over its splits), `splits` where there is one run, or
    /// `nothing` where there is one of either.
    pub(super) spread_over: &'static str,
    pub(super) validation_mean: f64,
    pub(super) width: usize,
    /// By run and split.
    pub(super) c: Vec<f64>,
    /// Steps that were kept, by run.
    pub(super) steps: Vec<u64>,
    pub(super) seconds: Seconds,
    /// The largest that the process had been when this row was done. Learnt rows come first.
    pub(super) peak_rss_bytes: Option<u64>,
    /// What the learnt row has more than this one, split by split.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) difference: Option<Difference>,
}

/// A paired difference.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Difference {
    #[serde(rename = "difference_mean")]
    pub(super) mean: f64,
    /// Standard error over splits, or over runs where there is one split; none with one
    /// of either.
    #[serde(rename = "difference_error")]
    pub(super) error: Option<f64>,
}

/// Nodes of each part of a split that a rough look takes, for each column of an embedding: with
/// fewer rows a probe does not know the curvature before it starts (`logistic.rs`), which makes
/// it slower than with many.
const ROUGH: usize = 4;

impl<'a> Measure<'a> {
    /// The same on some of the nodes, `most` of each part of a split, where nodes have
    /// several classes and that are fewer nodes, of which the classes ask the same.
    fn rough(&self, most: usize) -> Option<Measure<'a>> {
        let Labels::Multi { members, names } = self.labels else { return None };
        // Of each class: does a training node have it, is one without it?
        let asked = |split: &Split| {
            let mut asked = vec![[false; 2]; names.len()];
            let rows = members.chunks_exact(names.len().max(1)).zip(&split.roles);
            for (row, _) in rows.filter(|(_, role)| **role == Role::Train as u8) {
                let classes = asked.iter_mut().zip(row);
                classes.for_each(|(asked, &member)| asked[usize::from(member != 0)] = true);
            }
            asked
        };
        let splits: Vec<Split> = self.splits.iter().map(|split| split.thinned(most)).collect();
        let mut pairs = self.splits.iter().zip(&splits);
        let fewer = pairs.clone().any(|(all, some)| all.roles != some.roles);
        let same = pairs.all(|(all, some)| asked(all) == asked(some));
        let settings = self.settings.clone();
        (fewer && same).then_some(Measure { labels: self.labels, splits, settings })
    }

    /// The same with these values of C, chosen before, and their neighbours only.
    fn around(&self, chosen: &[f64]) -> Measure<'a> {
        let grid = [&self.settings.grid[..], &self.settings.further].concat();
        let near = |at: usize| {
            let neighbours = &grid[at.saturating_sub(1)..(at + 2).min(grid.len())];
            neighbours.iter().any(|c| chosen.contains(c))
        };
        let grid = (0..grid.len()).filter(|&at| near(at)).map(|at| grid[at]).collect();
        let settings = self.settings.clone().with_grid(grid);
        Measure { labels: self.labels, splits: self.splits.clone(), settings }
    }

    /// Nodes that train a probe or choose its C in any split.
    fn held_in(&self) -> Vec<u32> {
        let nodes = self.splits.first().map_or(0, |split| split.roles.len());
        let held_in = [Role::Train as u8, Role::Validation as u8];
        let any =
            |node: &usize| self.splits.iter().any(|split| held_in.contains(&split.roles[*node]));
        (0..nodes).filter(any).map(|node| node as u32).collect()
    }

    /// Mean figure on the validation nodes, and every split's C.
    fn validated(&self, embeddings: &Matrix<f32>) -> anyhow::Result<(f64, Vec<f64>)> {
        let (mut figures, mut c) = (Vec::new(), Vec::new());
        for split in &self.splits {
            let found = validate(embeddings, self.labels, split, &self.settings)?;
            figures.push(figure(self.labels, &found.figures));
            c.push(found.c);
        }
        Ok((mean(&figures), c))
    }

    /// Probes embeddings on every split.
    pub(super) fn run(
        &self,
        embeddings: &Matrix<f32>,
        step: u64,
        seconds: Seconds,
    ) -> anyhow::Result<Run> {
        let started = Instant::now();
        let (mut test, mut validation, mut c) = (Vec::new(), Vec::new(), Vec::new());
        for split in &self.splits {
            let report = probe(embeddings, self.labels, split, &self.settings)?;
            test.push(figure(self.labels, &report.test));
            let chosen_by = report.validation.as_ref();
            validation.push(chosen_by.map_or(0.0, |figures| figure(self.labels, figures)));
            c.push(report.c);
        }
        let seconds = Seconds { probe: started.elapsed().as_secs_f64(), ..seconds };
        Ok(Run { test, validation, c, step, width: embeddings.width, seconds })
    }
}

impl Row {
    /// Of all runs so far.
    pub(super) fn of(runs: &[Run]) -> Row {
        // Splits of one run share its encoder: a run is one sample, unless it is the only one.
        let (samples, spread_over) = match runs {
            [only] if only.test.len() > 1 => (only.test.clone(), "splits"),
            [_] => (means(runs, |run| &run.test), "nothing"),
            _ => (means(runs, |run| &run.test), "runs"),
        };
        let deviation = deviation(&samples);
        let of = |take: fn(&Seconds) -> f64| {
            mean(&runs.iter().map(|run| take(&run.seconds)).collect::<Vec<f64>>())
        };
        Row {
            accuracy_mean: mean(&samples),
            accuracy_std: deviation,
            accuracy_interval: student(samples.len()) * deviation / (samples.len() as f64).sqrt(),
            spread_over,
            validation_mean: mean(&means(runs, |run| &run.validation)),
            width: runs.first().map_or(0, |run| run.width),
            c: runs.iter().flat_map(|run| run.c.clone()).collect(),
            steps: runs.iter().map(|run| run.step).collect(),
            seconds: Seconds {
                contexts: of(|s| s.contexts),
                train: of(|s| s.train),
                embed: of(|s| s.embed),
                probe: of(|s| s.probe),
            },
            peak_rss_bytes: peak_memory(),
            difference: None,
        }
    }
}

impl Difference {
    /// Learnt runs against one free run, on the same splits.
    pub(super) fn of(learnt: &[Run], free: &Run) -> Difference {
        let splits = free.test.len();
        let by_split = |split: usize| {
            mean(&learnt.iter().map(|run| run.test[split]).collect::<Vec<f64>>()) - free.test[split]
        };
        let samples: Vec<f64> = match splits {
            1 => learnt.iter().map(|run| run.test[0] - free.test[0]).collect(),
            _ => (0..splits).map(by_split).collect(),
        };
        let error = (samples.len() > 1).then(|| standard_error(&samples));
        Difference { mean: mean(&samples), error }
    }
}

fn means(runs: &[Run], of: fn(&Run) -> &Vec<f64>) -> Vec<f64> {
    runs.iter().map(|run| mean(of(run))).collect()
}

/// Of a mean.
pub(super) fn standard_error(samples: &[f64]) -> f64 {
    deviation(samples) / (samples.len() as f64).sqrt()
}

/// The 97.5 % point of Student's t for a mean of so many samples.
fn student(samples: usize) -> f64 {
    const FEW: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    match samples {
        0 | 1 => 0.0,
        few if few <= FEW.len() + 1 => FEW[few - 2],
        // Two terms of the expansion around the normal distribution.
        many => {
            let (z, freedom) = (1.959_964_f64, (many - 1) as f64);
            z + (z.powi(3) + z) / (4.0 * freedom)
                + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * freedom * freedom)
        }
    }
}

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

/// One run: learns, embeds and measures.
pub(super) fn learn(
    settings: &Settings,
    transform: &Transform,
    ground: Ground<'_>,
    measure: &Measure<'_>,
    select_every: Option<u64>,
) -> anyhow::Result<Run> {
    let kept = train(settings, transform, ground, measure, select_every)?;
    let started = Instant::now();
    let embeddings = embedded(&kept.model, ground.material(transform), None)?;
    let embed = kept.seconds.embed + started.elapsed().as_secs_f64();
    let seconds = Seconds { contexts: ground.seconds, embed, ..kept.seconds };
    measure.run(&embeddings, kept.model.provenance.step, seconds)
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
    let mut started = Instant::now();
    let mut seconds = Seconds::default();
    let steps = settings.training.steps;
    let mut longer = settings.clone();
    let patient = select_every.is_some() && settings.optimizer.decay == Decay::None;
    longer.training.steps = if patient { steps.saturating_mul(LONGEST) } else { steps };
    let mut trainer = Trainer::new(&longer, material)?;
    let several = matches!(measure.labels, Labels::Multi { .. });
    // What candidates are measured by, and the nodes of that.
    let mut look: Option<(Option<Measure<'_>>, Vec<u32>)> = None;
    // Figure, C of each split, model.
    let mut best: Option<(f64, Vec<f64>, Model)> = None;
    let mut better_at = 0;
    while let Some(report) = trainer.advance()? {
        let last = report.step == longer.training.steps;
        let due =
            |every: u64| last || report.step == steps || report.step.is_multiple_of(every.max(1));
        if select_every.is_some_and(due) {
            // Looking at a candidate is not training.
            seconds.train += started.elapsed().as_secs_f64();
            let state = trainer.state();
            let encoder = state.average.unwrap_or(state.encoder);
            let trained = Trained { encoder, step: report.step, looks: Vec::new() };
            let model = match &best {
                Some((.., best)) => best.at(trained, material)?,
                None => Model::new(settings, trained, material, "")?,
            };
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
    }
    if let Some((figure, _, model)) = best {
        return Ok(Kept { model, validation: Some(figure), seconds });
    }
    let trained = trainer.finish()?;
    seconds.train += started.elapsed().as_secs_f64();
    let started = Instant::now();
    let model = Model::new(settings, trained, material, "")?;
    seconds.embed = started.elapsed().as_secs_f64();
    Ok(Kept { model, validation: None, seconds })
}

/// An encoder as it is before the first step; none where no block of an embedding is learnt.
pub(super) fn untrained(
    settings: &Settings,
    transform: &Transform,
    ground: Ground<'_>,
) -> anyhow::Result<Option<(Matrix<f32>, f64)>> {
    let mut settings = settings.clone();
    // The learnt blocks alone: features beside them are rows of their own.
    let learnt = |block: &BlockSettings| block.source == Source::Encoder;
    settings.output.retain(learnt);
    if settings.output.is_empty() {
        return Ok(None);
    }
    let material = ground.material(transform);
    let trained = Trainer::new(&settings, material)?.finish()?;
    let started = Instant::now();
    let model = Model::new(&settings, trained, material, "")?;
    let embeddings = embedded(&model, material, None)?;
    Ok(Some((embeddings, started.elapsed().as_secs_f64())))
}

/// Trains to the end and embeds all nodes: (embeddings, seconds of training, of embedding).
pub(super) fn learnt(
    settings: &Settings,
    transform: &Transform,
    ground: Ground<'_>,
) -> anyhow::Result<(Matrix<f32>, f64, f64)> {
    let material = ground.material(transform);
    let started = Instant::now();
    let mut trainer = Trainer::new(settings, material)?;
    while trainer.advance()?.is_some() {}
    let trained = trainer.finish()?;
    let train = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let model = Model::new(settings, trained, material, "")?;
    let embeddings = embedded(&model, material, None)?;
    Ok((embeddings, train, started.elapsed().as_secs_f64()))
}

/// Embeddings, a row for each node: zeros for those that are not among `some` where rows can be
/// had without the whole graph.
fn embedded(
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
    fn material(self, transform: &'a Transform) -> Material<'a> {
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

/// Every row that costs nothing: its name, embeddings and the seconds that they took.
/// `transform` is the one that the settings ask for.
pub(super) fn each_free_row(
    settings: &Settings,
    transform: &Transform,
    ground: Ground<'_>,
    width: usize,
    mut visit: impl FnMut(&str, &Matrix<f32>, f64) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    free_rows(ground.adjacency, ground.features, width, |row| {
        visit(&row.name, &row.rows, row.seconds)
    })?;
    if let Some((embeddings, seconds)) = untrained(settings, transform, ground)? {
        visit("untrained encoder", &embeddings, seconds)?;
    }
    Ok(())
}

/// One piece of work for each seed, several at once, each on its share of the threads and on no more
/// than `threads`. In the order of the seeds; the first error of that order, after which no
/// further piece is begun.
pub(super) fn each_seed<R: Send>(
    seeds: u64,
    at_once: usize,
    threads: usize,
    one: impl Fn(u64) -> anyhow::Result<R> + Sync,
) -> anyhow::Result<Vec<R>> {
    let at_once = at_once.min(usize::try_from(seeds).unwrap_or(usize::MAX));
    if at_once <= 1 {
        return (0..seeds).map(one).collect();
    }
    let threads = (rayon::current_num_threads() / at_once).clamp(1, threads.max(1));
    let pool = || rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build();
    let pools: Vec<_> = (0..at_once).map(|_| pool()).collect::<Result<_, _>>()?;
    let next = AtomicU64::new(0);
    let taken = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&seed| seed < seeds);
    let work = || -> Vec<(u64, anyhow::Result<R>)> {
        let mut done = Vec::new();
        for seed in iter::from_fn(taken) {
            let found = one(seed);
            if found.is_err() {
                next.store(seeds, Ordering::Relaxed);
            }
            done.push((seed, found));
        }
        done
    };
    let mut done: Vec<(u64, anyhow::Result<R>)> = thread::scope(|scope| {
        let workers: Vec<_> = pools.iter().map(|pool| scope.spawn(|| pool.install(work))).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, _>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().flat_map(join).collect()
    });
    done.sort_by_key(|(seed, _)| *seed);
    done.into_iter().map(|(_, found)| found).collect()
}

/// The largest that this process has been, where the system tells.
pub(super) fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilo| 1024 * kilo)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(test: &[f64]) -> Run {
        Run {
            test: test.to_vec(),
            validation: vec![0.5; test.len()],
            c: vec![1.0; test.len()],
            step: 7,
            width: 3,
            seconds: Seconds { train: 2.0, ..Seconds::default() },
        }
    }

    #[test]
    fn what_a_deviation_is_over_is_said() {
        let one = Row::of(&[run(&[0.8])]);
        assert_eq!((one.accuracy_std, one.spread_over), (0.0, "nothing"));
        // By hand: deviation of 0.7, 0.8, 0.9 is 0.1; of 3 samples t is 4.303.
        let splits = Row::of(&[run(&[0.7, 0.8, 0.9])]);
        assert!((splits.accuracy_std - 0.1).abs() < 1e-12);
        assert!((splits.accuracy_interval - 4.303 * 0.1 / 3f64.sqrt()).abs() < 1e-12);
        assert_eq!(splits.spread_over, "splits");
        // Means of runs are 0.6 and 0.8: splits differ much, runs by 0.2.
        let runs = Row::of(&[run(&[0.2, 1.0]), run(&[0.6, 1.0])]);
        assert!((runs.accuracy_std - 0.02f64.sqrt()).abs() < 1e-12);
        assert_eq!((runs.spread_over, runs.steps), ("runs", vec![7, 7]));
        assert!((runs.accuracy_mean - 0.7).abs() < 1e-12);
    }

    #[test]
    fn later_candidates_are_probed_around_the_best_c() {
        let labels = Labels::from_names(&[Some("a"), Some("b")]);
        let settings = ProbeSettings {
            grid: vec![0.1, 1.0, 10.0],
            further: vec![100.0],
            ..Default::default()
        };
        let measure = Measure { labels: &labels, splits: Vec::new(), settings };
        let grid = |c: &[f64]| measure.around(c).settings.grid;
        assert_eq!(grid(&[1.0]), [0.1, 1.0, 10.0]);
        assert_eq!(grid(&[0.1, 0.1]), [0.1, 1.0]);
        assert_eq!(grid(&[100.0]), [10.0, 100.0]);
        assert_eq!(grid(&[0.1, 100.0]), [0.1, 1.0, 10.0, 100.0]);
    }

    #[test]
    fn work_at_once_comes_back_in_order() {
        let squares = |seed: u64| Ok(seed * seed);
        assert_eq!(each_seed(5, 3, 1, squares).unwrap(), [0, 1, 4, 9, 16]);
        assert_eq!(each_seed(2, 1, 1, squares).unwrap(), [0, 1]);
        assert!(each_seed(0, 4, 1, squares).unwrap().is_empty());
        // The first to fail by seed, whoever was first by the clock; and nothing is begun then.
        let begun = AtomicU64::new(0);
        let failing = |seed: u64| {
            begun.fetch_add(1, Ordering::Relaxed);
            if seed > 1 { Err(anyhow::anyhow!("{seed}")) } else { Ok(()) }
        };
        assert_eq!(each_seed(600, 2, 1, failing).unwrap_err().to_string(), "2");
        assert!(begun.load(Ordering::Relaxed) < 10);
    }

    #[test]
    fn a_rough_look_takes_some_nodes_but_all_classes() {
        // Class "b": one training node in a hundred has it; "c": a single one.
        let nodes = 10_000;
        let member = |node: usize| [1, u8::from(node.is_multiple_of(100)), u8::from(node == 77)];
        let of = |names: &[&str]| {
            let rows = (0..nodes).flat_map(|node| member(node)[..names.len()].to_vec());
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            Labels::Multi { members: rows.collect::<Vec<u8>>().into(), names }
        };
        let split = Split { name: "x".into(), roles: vec![Role::Train as u8; nodes] };
        let rough = |labels: &Labels| {
            let splits = vec![split.clone()];
            let measure = Measure { labels, splits, settings: ProbeSettings::default() };
            measure.rough(2000).map(|rough| rough.splits[0].counts())
        };
        assert_eq!(rough(&of(&["a", "b"])), Some([2000, 0, 0]));
        assert_eq!(rough(&of(&["a", "b", "c"])), None);
        let (labels, splits) = (of(&["a", "b"]), vec![split.clone()]);
        let measure = Measure { labels: &labels, splits, settings: ProbeSettings::default() };
        assert!(measure.rough(nodes).is_none(), "no fewer nodes");
        assert_eq!(rough(&Labels::from_names(&vec![Some("a"); nodes])), None);
    }

    #[test]
    fn differences_are_paired() {
        // Learnt by split: 0.7 and 0.9; free: 0.6 and 0.9. Differences 0.1 and 0.
        let learnt = [run(&[0.6, 0.8]), run(&[0.8, 1.0])];
        let found = Difference::of(&learnt, &run(&[0.6, 0.9]));
        assert!((found.mean - 0.05).abs() < 1e-12);
        assert!((found.error.unwrap() - 0.05).abs() < 1e-12);
        let found = Difference::of(&[run(&[0.6]), run(&[0.8])], &run(&[0.5]));
        assert!((found.mean - 0.2).abs() < 1e-12 && (found.error.unwrap() - 0.1).abs() < 1e-12);
        assert!(Difference::of(&[run(&[0.6])], &run(&[0.5])).error.is_none());
    }

    #[test]
    fn intervals_shrink_to_the_normal_ones() {
        assert_eq!(student(2), 12.706);
        // From tables: 19 degrees of freedom 2.093, 30 2.042, infinitely many 1.960.
        assert!((student(20) - 2.093).abs() < 2e-3);
        assert!((student(31) - 2.042).abs() < 1e-3);
        assert!((student(1_000_000) - 1.960).abs() < 1e-3);
    }
}
