//! A model on disk: a folder with `model.safetensors` (every number), `config.json`
//! (everything else) and `log.jsonl` (how it came about).

use std::path::{Path, PathBuf};
use std::{fs, iter};

use serde::{Deserialize, Serialize};

use super::array_file::{ArrayEntry, checksum, seal};
use super::atomic::PartialFolder;
use super::tensors::{
    NamedTensor, NamedTensorRef, TensorValues, TensorValuesRef, read_tensors, write_tensors,
};
use crate::config::{BlockSettings, Settings, Standardize};
use crate::encoder::Encoder;
use crate::error::{Error, Result};
use crate::math::Matrix;
use crate::model::{Likeness, Model, Provenance};
use crate::transform::{Measures, Transform};

/// The version of the format that this program writes, and the newest it reads.
pub const VERSION: u32 = 1;

const FORMAT: &str = "subgcon-model";
const CONFIG: &str = "config.json";
const WEIGHTS: &str = "model.safetensors";
const LOG: &str = "log.jsonl";
/// A copy of the settings beside the weights: they belong together.
const SETTINGS: &str = "settings";
const REMEDY: &str = "train it again, or bring it back from a copy";

/// What a model says of itself: `config.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// Always "subgcon-model".
    pub format: String,
    /// See [`VERSION`].
    pub version: u32,
    /// The program that wrote it.
    pub written_by: String,
    /// What its features have to be.
    pub features: FeatureSchema,
    /// Columns of an embedding.
    pub embedding_width: usize,
    /// Where it comes from.
    pub provenance: Provenance,
    /// All that was asked for.
    pub settings: Settings,
    /// Size and checksum of `model.safetensors`.
    pub weights: ArrayEntry,
}

/// What a model's features have to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureSchema {
    /// Number of columns.
    pub width: usize,
    /// Their names, where they have any.
    pub names: Vec<String>,
}

impl FeatureSchema {
    /// Refuses a graph whose features are others.
    pub fn check(&self, model: &Path, graph: &FeatureSchema) -> Result<()> {
        let problem = if self.width != graph.width {
            format!("takes {} features, the graph has {}", self.width, graph.width)
        } else {
            let named = !self.names.is_empty() && !graph.names.is_empty();
            let mut pairs = self.names.iter().zip(&graph.names).enumerate();
            match pairs.find(|(_, (mine, theirs))| named && mine != theirs) {
                None => return Ok(()),
                Some((column, (mine, theirs))) => {
                    format!("takes {mine:?} as feature {column}, where the graph has {theirs:?}")
                }
            }
        };
        Err(Error::store(model, problem, "embed a graph with the features it was trained on"))
    }
}

/// Writes a model, whole or not at all. `log` is moved in beside it.
pub fn write_model(
    path: &Path,
    model: &Model,
    names: &[String],
    log: Option<&Path>,
    replace: bool,
) -> Result<()> {
    if replace {
        check_replaceable(path)?;
    }
    let folder = PartialFolder::create(path, replace)?;
    let text = settings_text(&model.settings);
    let likeness = model.likeness.map(|likeness| likeness.values());
    // Whether rows of zeros are absent, then the columns.
    let measures: Option<Vec<u64>> = model.transform.measures.as_ref().map(|measures| {
        let columns = measures.columns.iter().copied().map(u64::from);
        iter::once(u64::from(measures.absent)).chain(columns).collect()
    });
    let mut tensors = collect(model, likeness.as_ref(), measures.as_deref());
    tensors.add(SETTINGS.into(), vec![text.len()], TensorValuesRef::U8(&text));
    tensors.write(&folder.path(WEIGHTS))?;
    let config = ModelConfig {
        format: FORMAT.to_owned(),
        version: VERSION,
        written_by: concat!("subgcon ", env!("CARGO_PKG_VERSION")).to_owned(),
        features: FeatureSchema { width: model.transform.width, names: names.to_vec() },
        embedding_width: model.width(),
        provenance: model.provenance.clone(),
        settings: model.settings.clone(),
        weights: seal(&folder.path(WEIGHTS))?,
    };
    let text = serde_json::to_string_pretty(&config).expect("plain data becomes JSON") + "\n";
    let target = folder.path(CONFIG);
    fs::write(&target, text).map_err(Error::io("write", &target))?;
    seal(&target)?;
    if let Some(log) = log {
        let target = folder.path(LOG);
        fs::copy(log, &target).map_err(Error::io("write", &target))?;
        seal(&target)?;
    }
    folder.finish()
}

/// Settings as they lie beside the weights.
fn settings_text(settings: &Settings) -> Vec<u8> {
    serde_json::to_vec(settings).expect("plain data becomes JSON")
}

/// Only a model may be replaced, never a folder with something else in it.
pub fn check_replaceable(path: &Path) -> Result<()> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    if read_config(path).is_err() {
        let problem = "is there already and is no model, so it is not replaced";
        return Err(Error::store(path, problem, "choose another name"));
    }
    for entry in fs::read_dir(path).map_err(Error::io("open", path))? {
        let name = entry.map_err(Error::io("list", path))?.file_name();
        let name = name.to_string_lossy();
        if ![CONFIG, WEIGHTS, LOG].contains(&&*name) {
            let problem = format!("holds {name} beside a model, so it is not replaced");
            return Err(Error::store(path, problem, "move that file away, or choose another name"));
        }
    }
    Ok(())
}

/// What a model says of itself.
pub fn read_config(path: &Path) -> Result<ModelConfig> {
    let path = path.join(CONFIG);
    let text = fs::read(&path).map_err(Error::io("open", &path))?;
    let damaged = |problem: String| Error::store(&path, problem, REMEDY);
    #[derive(Deserialize)]
    struct Head {
        format: String,
        version: u32,
    }
    let unreadable = |e: serde_json::Error| damaged(format!("cannot be read: {e}"));
    let head: Head = serde_json::from_slice(&text).map_err(unreadable)?;
    if head.format != FORMAT {
        return Err(damaged(format!("is {:?}, not a model of subgcon", head.format)));
    }
    if head.version > VERSION {
        let problem = format!("has version {}, this program reads up to {VERSION}", head.version);
        return Err(Error::store(&path, problem, "use a newer subgcon"));
    }
    serde_json::from_slice(&text).map_err(unreadable)
}

/// Reads a model and checks all of it.
pub fn read_model(path: &Path) -> Result<(Model, ModelConfig)> {
    let config = read_config(path)?;
    config.settings.validate()?;
    let weights = path.join(WEIGHTS);
    let found = checksum(&weights)?;
    if found != config.weights {
        let problem = match found.bytes == config.weights.bytes {
            true => "has changed since it was written".to_owned(),
            false => {
                format!("has {} bytes, {CONFIG} says {}", found.bytes, config.weights.bytes)
            }
        };
        return Err(Error::store(&weights, problem, REMEDY));
    }
    let tensors = read_tensors(&weights, REMEDY)?;
    let mut parts = Parts { path: weights.clone(), tensors, remedy: REMEDY };
    let at = parts.tensors.iter().position(|tensor| tensor.name == SETTINGS);
    let inside = at.map(|at| parts.tensors.remove(at).values);
    // What they say, not how: settings that are newer than the file are not in it.
    let same = match &inside {
        Some(TensorValues::U8(text)) => {
            serde_json::from_slice(text).is_ok_and(|inside: Settings| inside == config.settings)
        }
        _ => false,
    };
    if !same {
        let problem = "its settings are not those that the weights were trained with";
        return Err(Error::store(path.join(CONFIG), problem, REMEDY));
    }
    let settings = &config.settings;
    let width = config.features.width;
    let vectors = parts.take_any("transform.vectors")?;
    let vectors = match vectors {
        None => None,
        Some((shape, values)) => match shape[..] {
            [rows, columns] if rows == width => Some(Matrix::of(rows, columns, values)),
            _ => return Err(parts.damaged("transform.vectors has another shape")),
        },
    };
    let projected = vectors.as_ref().map_or(width, |vectors| vectors.width);
    let transform = Transform {
        settings: settings.features.clone(),
        width,
        scale: parts.take("transform.scale", &[width])?,
        shift: parts.take("transform.shift", &[width])?,
        measures: read_measures(&mut parts, width)?,
        mean: parts.take("transform.mean", &[projected])?,
        singular_values: parts.take("transform.singular_values", &[projected])?,
        vectors,
    };
    if !fits(&transform) {
        return Err(parts.damaged("transform.measures does not fit the settings"));
    }
    let mut model = Model {
        settings: settings.clone(),
        encoder: read_encoder(&mut parts, "", settings, projected)?,
        means: vec![None; settings.output.len()],
        likeness: parts
            .take("output.likeness", &[3])?
            .map(|three| Likeness::of_values([three[0], three[1], three[2]])),
        provenance: config.provenance.clone(),
        own: None,
        transform,
    };
    let needed = settings.output.iter().any(BlockSettings::needs_likeness);
    let finite = |likeness: &Likeness| likeness.values().iter().all(|x| x.is_finite());
    if needed != model.likeness.is_some() || !model.likeness.as_ref().is_none_or(finite) {
        return Err(parts.damaged("output.likeness does not fit the settings"));
    }
    if config.embedding_width != model.width() {
        let problem = format!(
            "it was of {} columns, and this version makes {} of it",
            config.embedding_width,
            model.width()
        );
        return Err(Error::store(path.join(CONFIG), problem, REMEDY));
    }
    if model.needs_own() {
        let transform = &model.transform;
        let own_width = model.own_width();
        let shape = transform.vectors.as_ref().map(|_| [transform.width, own_width]);
        let vectors = match shape {
            None => None,
            Some(shape) => match parts.take("output.vectors", &shape)? {
                Some(values) => Some(Matrix::of(shape[0], shape[1], values)),
                None => return Err(parts.damaged("output.vectors is missing")),
            },
        };
        model.own = Some(transform.onto(vectors));
    }
    for (at, block) in settings.output.iter().enumerate() {
        let width = model.block_width(at);
        model.means[at] = parts.take(&format!("output.{at}.mean"), &[width])?;
        if (block.center && width > 0) != model.means[at].is_some() {
            return Err(parts.damaged(&format!("output.{at}.mean does not fit the settings")));
        }
    }
    if let Some(tensor) = parts.tensors.first() {
        return Err(parts.damaged(&format!("holds {:?}, which is not expected", tensor.name)));
    }
    Ok((model, config))
}

/// Tensors to be written, with names and shapes of their own.
#[derive(Default)]
pub(super) struct Collected<'a>(Vec<(String, Vec<usize>, TensorValuesRef<'a>)>);

impl<'a> Collected<'a> {
    pub(super) fn add(&mut self, name: String, shape: Vec<usize>, values: TensorValuesRef<'a>) {
        self.0.push((name, shape, values));
    }

    fn vector(&mut self, name: &str, values: Option<&'a Vec<f32>>) {
        if let Some(values) = values {
            self.add(name.to_owned(), vec![values.len()], TensorValuesRef::F32(values));
        }
    }

    pub(super) fn encoder(&mut self, prefix: &str, encoder: &'a Encoder<f32>) {
        for (name, shape, values) in encoder.named() {
            self.add(format!("{prefix}{name}"), shape, TensorValuesRef::F32(values));
        }
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let views: Vec<NamedTensorRef<'_>> = self
            .0
            .iter()
            .map(|(name, shape, values)| NamedTensorRef { name, shape, values: *values })
            .collect();
        write_tensors(path, &views)
    }
}

/// `likeness` and `measures`: those of the model, written down.
fn collect<'a>(
    model: &'a Model,
    likeness: Option<&'a [f32; 3]>,
    measures: Option<&'a [u64]>,
) -> Collected<'a> {
    let (mut tensors, transform) = (Collected::default(), &model.transform);
    tensors.encoder("", &model.encoder);
    tensors.vector("transform.scale", transform.scale.as_ref());
    tensors.vector("transform.shift", transform.shift.as_ref());
    if let Some(measures) = measures {
        let shape = vec![measures.len()];
        tensors.add("transform.measures".into(), shape, TensorValuesRef::U64(measures));
    }
    tensors.vector("transform.mean", transform.mean.as_ref());
    tensors.vector("transform.singular_values", transform.singular_values.as_ref());
    if let Some(vectors) = &transform.vectors {
        let shape = vec![vectors.rows, vectors.width];
        tensors.add("transform.vectors".into(), shape, TensorValuesRef::F32(&vectors.values));
    }
    if let Some(vectors) = model.own.as_ref().and_then(|own| own.vectors.as_ref()) {
        let shape = vec![vectors.rows, vectors.width];
        tensors.add("output.vectors".into(), shape, TensorValuesRef::F32(&vectors.values));
    }
    for (at, mean) in model.means.iter().enumerate() {
        tensors.vector(&format!("output.{at}.mean"), mean.as_ref());
    }
    if let Some(likeness) = likeness {
        tensors.add("output.likeness".into(), vec![3], TensorValuesRef::F32(likeness));
    }
    tensors
}

/// Tensors that are taken one by one, so that a strange one is noticed.
pub(super) struct Parts {
    pub(super) path: PathBuf,
    pub(super) tensors: Vec<NamedTensor>,
    pub(super) remedy: &'static str,
}

impl Parts {
    pub(super) fn damaged(&self, problem: &str) -> Error {
        Error::store(&self.path, problem, self.remedy)
    }

    pub(super) fn take_any(&mut self, name: &str) -> Result<Option<(Vec<usize>, Vec<f32>)>> {
        let Some(at) = self.tensors.iter().position(|tensor| tensor.name == name) else {
            return Ok(None);
        };
        let tensor = self.tensors.remove(at);
        match tensor.values {
            TensorValues::F32(values) => Ok(Some((tensor.shape, values))),
            _ => Err(self.damaged(&format!("{name:?} holds no 32-bit floating-point numbers"))),
        }
    }

    pub(super) fn take(&mut self, name: &str, shape: &[usize]) -> Result<Option<Vec<f32>>> {
        match self.take_any(name)? {
            Some((found, _)) if found != shape => {
                Err(self.damaged(&format!("{name:?} has shape {found:?}, expected {shape:?}")))
            }
            found => Ok(found.map(|(_, values)| values)),
        }
    }
}

/// Whether rows of zeros are absent, then which columns are measures, rising.
fn read_measures(parts: &mut Parts, width: usize) -> Result<Option<Measures>> {
    const NAME: &str = "transform.measures";
    let Some(at) = parts.tensors.iter().position(|tensor| tensor.name == NAME) else {
        return Ok(None);
    };
    let tensor = parts.tensors.remove(at);
    if let (TensorValues::U64(values), 1) = (&tensor.values, tensor.shape.len())
        && let [absent @ 0..=1, columns @ .., last] = &values[..]
        && *last < width as u64
        && values[1..].is_sorted_by(|a, b| a < b)
    {
        let columns = columns.iter().chain([last]).map(|&column| column as u32).collect();
        return Ok(Some(Measures { columns, absent: *absent == 1 }));
    }
    Err(parts.damaged(&format!("{NAME} are no columns of the features, rising")))
}

/// Whether measures, means and scales are there as the settings ask for them.
fn fits(transform: &Transform) -> bool {
    let Transform { settings, scale, shift, measures, .. } = transform;
    match (settings.standardize, measures, shift) {
        (Standardize::Auto, Some(measures), Some(shift)) => {
            let is_measure = |at: usize| measures.columns.binary_search(&(at as u32)).is_ok();
            let mut others = (0..shift.len()).filter(|&at| !is_measure(at));
            !settings.structural && scale.is_some() && others.all(|at| shift[at] == 0.0)
        }
        (_, Some(_), _) => false,
        (Standardize::Auto, None, shift) if !settings.structural => {
            shift.is_none() && scale.is_none()
        }
        _ => true,
    }
}

/// The encoder whose parameters' names begin with `prefix`.
pub(super) fn read_encoder(
    parts: &mut Parts,
    prefix: &str,
    settings: &Settings,
    inputs: usize,
) -> Result<Encoder<f32>> {
    let mut encoder = Encoder::new(&settings.encoder, inputs, settings.seed);
    for parameter in encoder.parameters() {
        let name = format!("{prefix}{}", parameter.name);
        match parts.take(&name, &parameter.shape)? {
            Some(values) => parameter.values.copy_from_slice(&values),
            None => return Err(parts.damaged(&format!("{name:?} is missing"))),
        }
    }
    Ok(encoder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Preset, ProjectionSettings};

    /// A model of nothing, two features wide.
    fn model(likeness: [f32; 3]) -> Model {
        let mut settings = Preset::Default.settings();
        settings.features.projection = None;
        settings.encoder.width = 3;
        let transform = Transform {
            settings: settings.features.clone(),
            width: 2,
            scale: None,
            shift: None,
            measures: None,
            vectors: None,
            singular_values: None,
            mean: None,
        };
        let mut model = Model {
            encoder: Encoder::new(&settings.encoder, 2, 0),
            means: Vec::new(),
            likeness: Some(Likeness::of_values(likeness)),
            provenance: Provenance { graph: "x".into(), nodes: 9, steps: 0, step: 0 },
            own: None,
            settings,
            transform,
        };
        model.own = model.needs_own().then(|| model.transform.clone());
        let blocks = model.settings.output.iter().enumerate();
        let means = blocks.map(|(at, block)| {
            let width = model.block_width(at);
            (block.center && width > 0).then(|| vec![0.5; width])
        });
        model.means = means.collect();
        model
    }

    #[test]
    fn measures_are_kept_and_checked() {
        fn of(columns: &[u32]) -> Measures {
            Measures { columns: columns.to_vec(), absent: true }
        }
        let root = tempfile::tempdir().unwrap();
        let read = |change: fn(&mut Model)| {
            let mut model = model([0.25, 0.5, 0.75]);
            model.transform.shift = Some(vec![0.0, 40.0]);
            model.transform.scale = Some(vec![1.0, 0.1]);
            model.transform.measures = Some(of(&[1]));
            change(&mut model);
            let path = root.path().join("m.model");
            write_model(&path, &model, &[], None, true).unwrap();
            (read_model(&path).map(|(model, _)| model), model)
        };
        for change in [
            |_: &mut Model| {},
            |model: &mut Model| {
                model.transform.measures = Some(Measures { absent: false, ..of(&[1]) });
            },
        ] {
            let (found, wanted) = read(change);
            assert_eq!(found.unwrap(), wanted);
        }
        let refused = |change| read(change).0.unwrap_err().to_string();
        for (told, problem) in [
            (refused(|model| model.transform.measures = Some(of(&[2]))), "are no columns"),
            (refused(|model| model.transform.measures = Some(of(&[1, 0]))), "are no columns"),
            (refused(|model| model.transform.measures = Some(of(&[1, 1]))), "are no columns"),
            (refused(|model| model.transform.measures = Some(of(&[]))), "are no columns"),
            (refused(|model| model.transform.measures = None), "does not fit the settings"),
            (
                refused(|model| model.transform.measures = Some(of(&[0]))),
                "does not fit the settings",
            ),
            (refused(|model| model.transform.scale = None), "does not fit the settings"),
            (refused(|model| model.transform.shift = None), "does not fit the settings"),
            (
                refused(|model| {
                    model.settings.features.structural = true;
                    model.transform.settings.structural = true;
                }),
                "does not fit the settings",
            ),
            (
                refused(|model| {
                    model.settings.features.standardize = Standardize::All;
                    model.transform.settings.standardize = Standardize::All;
                }),
                "does not fit the settings",
            ),
        ] {
            assert!(told.contains("transform.measures") && told.contains(problem), "{told}");
        }
    }

    #[test]
    fn how_alike_neighbours_are_is_kept_and_checked() {
        let root = tempfile::tempdir().unwrap();
        let read = |model: &Model| {
            let path = root.path().join("m.model");
            write_model(&path, model, &[], None, true).unwrap();
            read_model(&path)
        };
        // By edges, and by features: with a block of plain ones.
        let (near, far) = ([0.25, 0.5, 0.75], [0.5, 0.1, 0.1]);
        for (likeness, width) in [(near, 3 + 2 + 2), (far, 3 + 2 + 2 + 2)] {
            let whole = model(likeness);
            assert_eq!(whole.width(), width);
            assert_eq!(read(&whole).unwrap().0, whole);
        }
        // Plain features in directions of their own.
        let mut projected = model(far);
        let settings = Some(ProjectionSettings { center: false, ..Default::default() });
        projected.settings.features.projection.clone_from(&settings);
        projected.transform.settings.projection = settings;
        projected.transform.vectors = Some(Matrix::of(2, 2, vec![1.0, 0.0, 0.0, 1.0]));
        let own = Matrix::of(2, 2, vec![0.6, 0.8, -0.8, 0.6]);
        projected.own = Some(projected.transform.onto(Some(own)));
        assert_eq!(read(&projected).unwrap().0, projected);
        projected.own = None;
        let told = read(&projected).unwrap_err().to_string();
        assert!(told.contains("output.vectors is missing"), "{told}");
        let told = read(&Model { likeness: None, ..model(far) }).unwrap_err().to_string();
        assert!(told.contains("output.likeness does not fit the settings"), "{told}");
        let mut plain = model(far);
        for block in &mut plain.settings.output {
            (block.unlike, block.noisy_steps, block.noisy_only) = (false, 0, false);
        }
        let told = read(&plain).unwrap_err().to_string();
        assert!(told.contains("output.likeness does not fit the settings"), "{told}");
    }
}
