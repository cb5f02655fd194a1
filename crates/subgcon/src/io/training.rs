//! A training on disk, while it runs: `NAME.training/` beside the model to come.
//!
//! It holds `checkpoint.safetensors`, one file that is replaced in one step, and
//! `log.jsonl`, a line a step. The checkpoint knows how long the log was, so a run
//! that is taken up cuts it there and goes on: the model is the same, byte for
//! byte, as if nothing had happened. When the model is written the folder goes.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::array_file::checksum_of;
use super::atomic::check_parent;
use super::model::write_model;
use super::parts::{Collected, Parts, read_encoder};
use super::store::Store;
use super::tensors::{TensorValues, TensorValuesRef, read_tensors};
use crate::config::Settings;
use crate::error::{Error, Result};
use crate::graph::Features;
use crate::math::Sparse;
use crate::model::Model;
use crate::train::{History, Look, Moments, Snapshot, State, StepReport};

const CHECKPOINT: &str = "checkpoint.safetensors";
const LOG: &str = "log.jsonl";
const LOCK: &str = "training.lock";
const REMEDY: &str = "delete the folder and train from the start";

/// What a training works on: it goes on only with the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// All that was asked for.
    pub settings: Settings,
    /// Fingerprint of the graph.
    pub graph: String,
    /// Checksums of the files with features.
    pub features: Vec<String>,
}

impl Identity {
    /// Of a training on a store.
    pub fn new(settings: &Settings, store: &Store) -> Identity {
        let manifest = store.manifest();
        let features = manifest.arrays.iter().filter(|(name, _)| name.starts_with("feature"));
        Identity {
            settings: settings.clone(),
            graph: manifest.fingerprint.clone(),
            features: features.map(|(_, entry)| entry.blake3.clone()).collect(),
        }
    }

    /// Of a training on a graph in memory: the same as on a store of it.
    pub fn in_memory(settings: &Settings, graph: &str, features: Option<&Features>) -> Identity {
        let sums = match features {
            None => Vec::new(),
            Some(Features::Dense { width, values }) => {
                let rows = (values.len() / width) as u64;
                vec![checksum_of(values, &[rows, *width as u64])]
            }
            // In the order of the files' names.
            Some(Features::Sparse(Sparse { offsets, columns, values, .. })) => vec![
                checksum_of(columns, &[columns.len() as u64]),
                checksum_of(offsets, &[offsets.len() as u64]),
                checksum_of(values, &[values.len() as u64]),
            ],
        };
        Identity {
            settings: settings.clone(),
            graph: graph.to_owned(),
            features: sums.into_iter().map(|entry| entry.blake3).collect(),
        }
    }

    /// The first thing that differs, for a message.
    fn difference(&self, other: &Identity) -> Option<String> {
        if self.graph != other.graph {
            return Some("on another graph".to_owned());
        }
        if self.features != other.features {
            return Some("on other features".to_owned());
        }
        let value = |settings| serde_json::to_value(settings).expect("plain data becomes JSON");
        let (mine, theirs) = (value(&self.settings), value(&other.settings));
        first_difference("", &mine, &theirs).map(|at| format!("with another {at}"))
    }
}

fn first_difference(
    path: &str,
    mine: &serde_json::Value,
    theirs: &serde_json::Value,
) -> Option<String> {
    use serde_json::Value::Object;
    match (mine, theirs) {
        (Object(mine), Object(theirs)) if mine.keys().eq(theirs.keys()) => {
            mine.iter().find_map(|(key, value)| {
                first_difference(&format!("{path}.{key}"), value, &theirs[key])
            })
        }
        _ if mine == theirs => None,
        _ => Some(format!("{} ({theirs}, now {mine})", path.trim_start_matches('.'))),
    }
}

/// What a checkpoint knows beside its tensors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bookmark {
    identity: Identity,
    step: u64,
    log_bytes: u64,
    average: bool,
    looks: Vec<Look>,
    snapshots: Vec<u64>,
}

/// What to do with an unfinished training of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfinished {
    /// Refuse to begin.
    Refuse,
    /// Go on with it.
    Resume,
    /// Throw it away.
    Discard,
}

/// A training that runs. Another process cannot open the same.
#[derive(Debug)]
pub struct TrainingFolder {
    root: PathBuf,
    identity: Identity,
    unfinished: Unfinished,
    log: BufWriter<File>,
    log_bytes: u64,
    _lock: File,
}

/// Where the training of a model lies while it runs.
pub fn folder_of(model: &Path) -> PathBuf {
    let mut name = model.file_name().unwrap_or_default().to_owned();
    name.push(".training");
    model.with_file_name(name)
}

/// Whether a file in the folder is one that a training writes.
fn is_ours(name: &str) -> bool {
    [LOCK, LOG, CHECKPOINT].contains(&name) || name.starts_with(&format!(".{CHECKPOINT}."))
}

/// Names of what is in the folder.
fn names(root: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(root).map_err(Error::io("open", root))?;
    let name = |entry: std::io::Result<fs::DirEntry>| {
        let name = entry.map_err(Error::io("list", root))?.file_name();
        Ok(name.to_string_lossy().into_owned())
    };
    entries.map(name).collect()
}

/// Removes what a training has written, and the folder if nothing else is in it.
fn clear(root: &Path) -> Result<()> {
    for name in names(root)?.iter().filter(|name| is_ours(name)) {
        let path = root.join(name);
        fs::remove_file(&path).map_err(Error::io("remove", &path))?;
    }
    fs::remove_dir(root).map_err(Error::io("remove", root))
}

impl TrainingFolder {
    /// Makes or opens the folder, before anything else is worked on. One with other
    /// files in it is refused.
    pub fn open(
        model: &Path,
        identity: Identity,
        unfinished: Unfinished,
    ) -> Result<TrainingFolder> {
        check_parent(model)?;
        let root = folder_of(model);
        match fs::create_dir(&root) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            made => made.map_err(Error::io("create", &root))?,
        }
        let folder = root.symlink_metadata().is_ok_and(|found| found.is_dir());
        let strange = match folder {
            true => names(&root)?.into_iter().find(|name| !is_ours(name)),
            false => Some("no folder of its own".to_owned()),
        };
        if let Some(strange) = strange {
            let problem = format!("is there already and is of no training (it holds {strange})");
            return Err(Error::store(&root, problem, "move it away, or choose another name"));
        }
        let path = root.join(LOCK);
        let lock = File::create(&path).map_err(Error::io("create", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let problem = "another process is training this model";
                return Err(Error::store(&root, problem, "wait for it, or choose another name"));
            }
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path)(error)),
        }
        let there = root.join(CHECKPOINT).symlink_metadata().is_ok();
        if there && unfinished == Unfinished::Refuse {
            let problem = "an unfinished training of this name is there";
            let remedy = "pass --resume to go on with it, or --force to start anew";
            return Err(Error::store(&root, problem, remedy));
        }
        let path = root.join(LOG);
        let log = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let log = BufWriter::new(log.map_err(Error::io("write", &path))?);
        Ok(TrainingFolder { root, identity, unfinished, log, log_bytes: 0, _lock: lock })
    }

    /// The state to go on from, where there is one and it was asked for. `inputs` tells the
    /// columns that the encoder gets. An old checkpoint that is not wanted stays until a
    /// new one takes its place.
    pub fn state(&mut self, inputs: usize) -> Result<Option<State>> {
        let checkpoint = self.root.join(CHECKPOINT);
        let wanted = self.unfinished == Unfinished::Resume;
        let state = match wanted && checkpoint.symlink_metadata().is_ok() {
            false => None,
            true => {
                let (bytes, state) = read_state(&checkpoint, &self.identity, inputs)?;
                self.log_bytes = bytes;
                Some(state)
            }
        };
        let path = self.root.join(LOG);
        let failed = || Error::io("write", &path);
        let log = self.log.get_mut();
        if log.metadata().map_err(failed())?.len() < self.log_bytes {
            return Err(Error::store(&path, "is shorter than its checkpoint says", REMEDY));
        }
        log.set_len(self.log_bytes).map_err(failed())?;
        log.seek(SeekFrom::End(0)).map_err(failed())?;
        Ok(state)
    }

    /// Where it lies.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Adds a step to the log.
    pub fn log(&mut self, report: &StepReport) -> Result<()> {
        let line = serde_json::to_string(report).expect("plain data becomes JSON") + "\n";
        self.log_bytes += line.len() as u64;
        let path = self.root.join(LOG);
        self.log.write_all(line.as_bytes()).map_err(Error::io("write", path))
    }

    fn flush(&mut self) -> Result<()> {
        let path = self.root.join(LOG);
        let flushed = self.log.flush().and_then(|()| self.log.get_ref().sync_data());
        flushed.map_err(Error::io("write", path))
    }

    /// Writes a checkpoint over the last one, in one step.
    pub fn checkpoint(&mut self, state: &State) -> Result<()> {
        self.flush()?;
        let bookmark = Bookmark {
            identity: self.identity.clone(),
            step: state.step,
            log_bytes: self.log_bytes,
            average: state.average.is_some(),
            looks: state.history.looks.clone(),
            snapshots: state.history.snapshots.iter().map(|snapshot| snapshot.step).collect(),
        };
        let text = serde_json::to_vec(&bookmark).expect("plain data becomes JSON");
        let mut tensors = Collected::default();
        tensors.add("bookmark".into(), vec![text.len()], TensorValuesRef::U8(&text));
        tensors.encoder("encoder.", &state.encoder);
        tensors.encoder("first.", &state.moments.first);
        tensors.encoder("second.", &state.moments.second);
        if let Some(average) = &state.average {
            tensors.encoder("average.", average);
        }
        for snapshot in &state.history.snapshots {
            tensors.encoder(&format!("snapshot.{}.", snapshot.step), &snapshot.encoder);
        }
        tensors.write(&self.root.join(CHECKPOINT))
    }

    /// Writes the model and clears the training away.
    pub fn finish(
        mut self,
        path: &Path,
        model: &Model,
        names: &[String],
        replace: bool,
    ) -> Result<()> {
        self.flush()?;
        write_model(path, model, names, Some(&self.root.join(LOG)), replace)?;
        clear(&self.root)
    }
}

impl Drop for TrainingFolder {
    /// Without a checkpoint there is nothing to go on from.
    fn drop(&mut self) {
        if self.root.join(CHECKPOINT).symlink_metadata().is_err() {
            // Nothing is lost if this fails: the next training uses the folder.
            let _ = clear(&self.root);
        }
    }
}

/// The state in a checkpoint, and how long the log was.
fn read_state(path: &Path, identity: &Identity, inputs: usize) -> Result<(u64, State)> {
    let tensors = read_tensors(path, REMEDY)?;
    let mut parts = Parts { path: path.to_path_buf(), tensors, remedy: REMEDY };
    let damaged = |problem: String| Error::store(path, problem, REMEDY);
    let bookmark = parts.take_tensor("bookmark").map(|tensor| tensor.values);
    let Some(TensorValues::U8(text)) = bookmark else {
        return Err(damaged("has no bookmark".into()));
    };
    let bookmark: Bookmark = serde_json::from_slice(&text)
        .map_err(|e| damaged(format!("its bookmark cannot be read: {e}")))?;
    if let Some(difference) = identity.difference(&bookmark.identity) {
        let problem = format!("the unfinished training began {difference}");
        let remedy = "resume it as it began, or pass --force to start anew";
        return Err(Error::store(path, problem, remedy));
    }
    let settings = &identity.settings;
    let mut encoder = |prefix: &str| read_encoder(&mut parts, prefix, settings, inputs);
    let state = State {
        step: bookmark.step,
        encoder: encoder("encoder.")?,
        moments: Moments { first: encoder("first.")?, second: encoder("second.")? },
        average: if bookmark.average { Some(encoder("average.")?) } else { None },
        history: History {
            looks: bookmark.looks,
            snapshots: bookmark
                .snapshots
                .iter()
                .map(|&step| {
                    let encoder = encoder(&format!("snapshot.{step}."))?;
                    Ok(Snapshot { step, encoder })
                })
                .collect::<Result<_>>()?,
        },
    };
    Ok((bookmark.log_bytes, state))
}
