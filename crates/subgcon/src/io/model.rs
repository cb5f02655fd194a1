//! How does a model lie on disk?
//!
//! A folder with `model.safetensors` (every number), `config.json`
//! (everything else) and `log.jsonl` (how it came about).

mod transform;

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::array_file::{ArrayEntry, checksum, seal};
use super::atomic::PartialFolder;
use super::kind::kind_of;
use super::parts::{Collected, Parts, read_encoder};
use super::tensors::{TensorValues, TensorValuesRef, read_tensors};
use crate::config::{BlockSettings, Settings};
use crate::error::{Error, Result};
use crate::math::Matrix;
use crate::model::{Likeness, Model, Provenance};

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
    let measures = transform::measures_written(&model.transform);
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
    let root = path;
    let path = path.join(CONFIG);
    let text = fs::read(&path).map_err(|error| match kind_of(root) {
        Some(kind) => {
            let remedy = "name a folder made by `subgcon train`";
            Error::store(root, format!("is {kind}, not a model"), remedy)
        }
        None => Error::io("open", &path)(error),
    })?;
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
    let inside = parts.take_tensor(SETTINGS).map(|tensor| tensor.values);
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
    let transform = transform::read(&mut parts, &settings.features, width)?;
    let projected = transform.output_width();
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

/// `likeness` and `measures`: those of the model, written down.
fn collect<'a>(
    model: &'a Model,
    likeness: Option<&'a [f32; 3]>,
    measures: Option<&'a [u64]>,
) -> Collected<'a> {
    let (mut tensors, transform) = (Collected::default(), &model.transform);
    tensors.encoder("", &model.encoder);
    transform::collect(&mut tensors, transform, measures);
    tensors.matrix("output.vectors", model.own.as_ref().and_then(|own| own.vectors.as_ref()));
    for (at, mean) in model.means.iter().enumerate() {
        tensors.vector(&format!("output.{at}.mean"), mean.as_ref());
    }
    if let Some(likeness) = likeness {
        tensors.add("output.likeness".into(), vec![3], TensorValuesRef::F32(likeness));
    }
    tensors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Preset, ProjectionSettings};
    use crate::encoder::Encoder;
    use crate::transform::Transform;

    /// A model of nothing, two features wide.
    pub(super) fn model(likeness: [f32; 3]) -> Model {
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
    fn widths_beyond_what_is_stored_are_not_believed() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("m.model");
        write_model(&path, &model([0.25, 0.5, 0.75]), &[], None, false).unwrap();
        let text = fs::read_to_string(path.join(CONFIG)).unwrap();
        for width in [3, 1_000_000_000_000, 1u64 << 62] {
            let claim = format!("\"width\": {width},\n    \"names\"");
            let claimed = text.replacen("\"width\": 2,\n    \"names\"", &claim, 1);
            assert_ne!(claimed, text);
            fs::write(path.join(CONFIG), claimed).unwrap();
            let told = read_model(&path).unwrap_err().to_string();
            assert!(told.contains("too few for an encoder") || told.contains("shape"), "{told}");
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
