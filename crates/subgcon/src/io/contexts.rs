//! Contexts on disk: sampled once for a graph and its settings, then mapped.
//!
//! A table lies beside its store, in `NAME.graph.contexts/KEY/`, where the key
//! names the graph (by its fingerprint) and the settings. Its arrays are filled
//! block by block in a hidden folder; a log says which blocks are finished, with
//! a checksum each, so that a run that was killed goes on where it stopped. When
//! all blocks are in, the folder is made durable and renamed.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::array_file::{ArrayEntry, NpyElement, PlacedWriter, checksum, map_array, seal};
use super::store::Store;
use crate::context::{AdjacencyView, BitRows, ContextSettings, Contexts, NO_NODE, Words, sample};
use crate::error::{Error, Result};
use crate::math::Array;
use crate::progress::Progress;

/// The version of the format that this program writes, and the newest it reads.
pub const VERSION: u32 = 1;

const FORMAT: &str = "subgcon-contexts";
const MANIFEST: &str = "manifest.json";
const LOG: &str = "finished.log";
const LOCK: &str = "writing.lock";
const REMEDY: &str = "delete the table and run `subgcon contexts` again";

/// Contexts that are sampled, written and logged together: about 2 MB of them.
fn block_rows(size: usize) -> u64 {
    ((2 << 20) / (12 * size as u64 + 9)).clamp(128, 8192)
}

/// What a table says of itself: `manifest.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextManifest {
    /// Always "subgcon-contexts".
    pub format: String,
    /// See [`VERSION`].
    pub version: u32,
    /// The graph's fingerprint.
    pub graph: String,
    /// Number of contexts: the nodes of the graph.
    pub nodes: u64,
    /// What was asked for.
    pub settings: ContextSettings,
    /// Every file of the table but this one.
    pub arrays: BTreeMap<String, ArrayEntry>,
}

/// A table of contexts, mapped.
#[derive(Debug)]
pub struct ContextTable {
    /// Its folder.
    pub root: PathBuf,
    /// What it says of itself.
    pub manifest: ContextManifest,
    /// The contexts; row i is that of node i.
    pub contexts: Contexts,
    /// Contexts that this call did not have to sample.
    pub reused: u64,
}

/// Where tables of a store's contexts lie: beside the store itself, whatever way
/// leads to it (`.`, a link).
pub fn folder_of(store: &Path) -> PathBuf {
    let short = store.file_name().is_some() && !store.is_symlink();
    let store = match short {
        true => store.to_path_buf(),
        false => store.canonicalize().unwrap_or_else(|_| store.to_path_buf()),
    };
    let mut name = store.file_name().unwrap_or_default().to_owned();
    name.push(".contexts");
    store.with_file_name(name)
}

/// Names a graph and settings.
pub fn key(fingerprint: &str, settings: &ContextSettings) -> String {
    let settings = serde_json::to_string(settings).expect("plain data becomes JSON");
    let text = format!("subgcon contexts {VERSION}\n{fingerprint}\n{settings}");
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

impl ContextTable {
    /// The contexts of a store's graph: those of an earlier run where there are
    /// any, sampled otherwise. An unfinished run is taken up.
    pub fn sample(
        store: &Store,
        settings: &ContextSettings,
        progress: &dyn Progress,
    ) -> Result<ContextTable> {
        settings.validate()?;
        let root = folder_of(store.root()).join(key(&store.manifest().fingerprint, settings));
        let reused = match Sampling::begin(store, settings, &root)? {
            Some(sampling) => sampling.run(store, settings, progress)?,
            None => store.manifest().nodes,
        };
        let table = ContextTable::open(&root, store)?;
        if table.manifest.settings != *settings {
            let problem = "these contexts were sampled with other settings than their name says";
            return Err(Error::store(&root, problem, REMEDY));
        }
        Ok(ContextTable { reused, ..table })
    }

    /// Opens a table and makes sure that it belongs to this graph.
    pub fn open(root: &Path, store: &Store) -> Result<ContextTable> {
        let path = root.join(MANIFEST);
        let text = fs::read(&path).map_err(Error::io("open", &path))?;
        let damaged = |problem: String| Error::store(&path, problem, REMEDY);
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        let read = |e: serde_json::Error| damaged(format!("cannot be read: {e}"));
        let head: Head = serde_json::from_slice(&text).map_err(read)?;
        if head.format != FORMAT {
            return Err(damaged(format!("says its format is {:?}", head.format)));
        }
        if head.version > VERSION {
            let problem =
                format!("has version {}, this program reads up to {VERSION}", head.version);
            return Err(Error::store(
                &path,
                problem,
                "install a newer subgcon, or delete the table",
            ));
        }
        let manifest: ContextManifest = serde_json::from_slice(&text).map_err(read)?;
        let graph = store.manifest();
        if manifest.graph != graph.fingerprint || manifest.nodes != graph.nodes {
            return Err(Error::store(
                root,
                format!(
                    "these contexts belong to another graph ({}), not to {} ({})",
                    manifest.graph,
                    store.root().display(),
                    graph.fingerprint
                ),
                "delete the table and run `subgcon contexts` again, or name the right store",
            ));
        }
        manifest.settings.validate()?;
        let contexts = map_contexts(root, &manifest)?;
        Ok(ContextTable { root: root.to_path_buf(), manifest, contexts, reused: 0 })
    }

    /// Checks every checksum, and that every member is a node: `contexts --verify`.
    pub fn verify(&self) -> Result<()> {
        for (name, entry) in &self.manifest.arrays {
            let path = self.root.join(name);
            if checksum(&path)? != *entry {
                return Err(Error::store(&path, "was changed", REMEDY));
            }
        }
        self.check_members()
    }

    /// Makes sure that every member is a node: a changed file is an error, never
    /// a crash.
    pub fn check_members(&self) -> Result<()> {
        use rayon::prelude::*;
        let nodes = self.manifest.nodes as u32;
        let members = &self.contexts.nodes;
        let bad = members.par_iter().position_first(|&node| node >= nodes && node != NO_NODE);
        let size = self.contexts.size;
        let uncentred = || {
            let rows = members.par_chunks(size).enumerate();
            rows.position_first(|(row, members)| members[0] != row as u32)
        };
        match bad.map(|place| place / size).or_else(uncentred) {
            None => Ok(()),
            Some(row) => {
                let problem = format!("row {row} is no context of node {row}");
                Err(Error::store(self.root.join(NODES), problem, REMEDY))
            }
        }
    }
}

const NODES: &str = "nodes.npy";
const PAGERANK: &str = "pagerank.npy";
const BITS: &str = "bits.npy";
const CAPTURED: &str = "captured.npy";
const RESIDUAL: &str = "residual.npy";
const FLAGS: &str = "flags.npy";

fn map_contexts(root: &Path, manifest: &ContextManifest) -> Result<Contexts> {
    fn map<T: NpyElement>(
        root: &Path,
        manifest: &ContextManifest,
        name: &str,
        shape: &[u64],
    ) -> Result<Array<T>> {
        let entry = manifest.arrays.get(name).ok_or_else(|| {
            Error::store(root.join(MANIFEST), format!("does not list {name}"), REMEDY)
        })?;
        map_array(&root.join(name), entry.bytes, shape, REMEDY)
    }
    let size = manifest.settings.size;
    let (rows, wide) = ([manifest.nodes], [manifest.nodes, size as u64]);
    Ok(Contexts {
        size,
        nodes: map(root, manifest, NODES, &wide)?,
        pagerank: map(root, manifest, PAGERANK, &wide)?,
        bits: match Words::of(size) {
            Words::None => BitRows::None,
            Words::Narrow => BitRows::Words32(map(root, manifest, BITS, &wide)?),
            Words::Wide => BitRows::Words64(map(root, manifest, BITS, &wide)?),
        },
        captured: map(root, manifest, CAPTURED, &rows)?,
        residual: map(root, manifest, RESIDUAL, &rows)?,
        flags: map(root, manifest, FLAGS, &rows)?,
    })
}

/// A table lies beside its store, which may be somebody else's: a copy of the store is a way
/// out, a link is none ([`folder_of`] follows it).
fn cannot_create(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_path_buf();
    move |cause| {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        let action = match cause.kind() {
            PermissionDenied | ReadOnlyFilesystem => {
                "create (contexts lie beside their store: copy the store, with `cp -r`, to a folder that \
                 you may write to, and use the copy)"
            }
            _ => "create",
        };
        Error::Io { action, path, cause }
    }
}

/// A table in the making; stays on disk when the work is interrupted.
struct Sampling {
    root: PathBuf,
    folder: PathBuf,
    lock: File,
    log: File,
    /// Contexts in a block.
    block: u64,
    nodes: u64,
    size: u64,
    arrays: Arrays,
}

struct Arrays {
    nodes: PlacedWriter<u32>,
    pagerank: PlacedWriter<f32>,
    words32: Option<PlacedWriter<u32>>,
    words64: Option<PlacedWriter<u64>>,
    captured: PlacedWriter<f32>,
    residual: PlacedWriter<f32>,
    flags: PlacedWriter<u8>,
}

impl Sampling {
    /// Opens the hidden folder, which may hold finished blocks already; nothing
    /// where the table is there.
    fn begin(store: &Store, settings: &ContextSettings, root: &Path) -> Result<Option<Sampling>> {
        if root.exists() {
            return Ok(None);
        }
        let parent = folder_of(store.root());
        fs::create_dir_all(&parent).map_err(cannot_create(&parent))?;
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        let folder = parent.join(format!(".{name}.partial"));
        fs::create_dir_all(&folder).map_err(cannot_create(&folder))?;
        let path = folder.join(LOCK);
        let lock = File::create(&path).map_err(cannot_create(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let problem = "another program is sampling these contexts";
                return Err(Error::store(&folder, problem, "wait for it to finish"));
            }
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", &path)(source)),
        }
        // Somebody else may have finished it before the lock was ours.
        if root.exists() {
            fs::remove_dir_all(&folder).map_err(Error::io("remove", &folder))?;
            return Ok(None);
        }
        let (nodes, size) = (store.manifest().nodes, settings.size as u64);
        let (rows, wide) = ([nodes], [nodes, size]);
        let words = Words::of(settings.size);
        let at = |name: &str| folder.join(name);
        let path = folder.join(LOG);
        let log = OpenOptions::new().create(true).append(true).open(&path);
        Ok(Some(Sampling {
            root: root.to_path_buf(),
            block: block_rows(settings.size),
            lock,
            log: log.map_err(Error::io("open", &path))?,
            nodes,
            size,
            arrays: Arrays {
                nodes: PlacedWriter::open(at(NODES), &wide)?,
                pagerank: PlacedWriter::open(at(PAGERANK), &wide)?,
                words32: match words {
                    Words::Narrow => Some(PlacedWriter::open(at(BITS), &wide)?),
                    _ => None,
                },
                words64: match words {
                    Words::Wide => Some(PlacedWriter::open(at(BITS), &wide)?),
                    _ => None,
                },
                captured: PlacedWriter::open(at(CAPTURED), &rows)?,
                residual: PlacedWriter::open(at(RESIDUAL), &rows)?,
                flags: PlacedWriter::open(at(FLAGS), &rows)?,
            },
            folder,
        }))
    }

    /// Samples what is missing and gives the table its name. Answers how many
    /// contexts an earlier run had left.
    fn run(
        mut self,
        store: &Store,
        settings: &ContextSettings,
        progress: &dyn Progress,
    ) -> Result<u64> {
        let adjacency = store.adjacency()?;
        let view = AdjacencyView::new(adjacency);
        let finished = self.finished()?;
        progress.begin("sampling contexts", self.nodes, "nodes");
        let mut reused = 0;
        for (block, finished) in finished.into_iter().enumerate() {
            let start = block as u64 * self.block;
            let end = self.nodes.min(start + self.block);
            if finished {
                reused += end - start;
                progress.advance(end - start);
                continue;
            }
            let nodes: Vec<u32> = (start as u32..end as u32).collect();
            let contexts = sample(&view, &nodes, settings, progress)?;
            self.write(block as u64, &contexts)?;
        }
        progress.end();
        self.finish(store, settings)?;
        Ok(reused)
    }

    fn write(&mut self, block: u64, contexts: &Contexts) -> Result<()> {
        let row = block * self.block;
        let place = row * self.size;
        self.arrays.nodes.write(place, &contexts.nodes)?;
        self.arrays.pagerank.write(place, &contexts.pagerank)?;
        match &contexts.bits {
            BitRows::None => {}
            BitRows::Words32(words) => {
                self.arrays.words32.as_mut().expect("its size is narrow").write(place, words)?;
            }
            BitRows::Words64(words) => {
                self.arrays.words64.as_mut().expect("its size is wide").write(place, words)?;
            }
        }
        self.arrays.captured.write(row, &contexts.captured)?;
        self.arrays.residual.write(row, &contexts.residual)?;
        self.arrays.flags.write(row, &contexts.flags)?;
        let line = format!("{block} {}\n", digest(contexts));
        self.log.write_all(line.as_bytes()).map_err(Error::io("write", self.folder.join(LOG)))
    }

    /// Which blocks the log names and the arrays really hold.
    fn finished(&mut self) -> Result<Vec<bool>> {
        let path = self.folder.join(LOG);
        let log = fs::read(&path).map_err(Error::io("read", &path))?;
        let log = String::from_utf8_lossy(&log);
        let mut finished = vec![false; self.nodes.div_ceil(self.block) as usize];
        for line in log.lines() {
            let Some((block, logged)) = line.split_once(' ') else { continue };
            let Some(block) = block.parse().ok().filter(|&b: &u64| b < finished.len() as u64)
            else {
                continue;
            };
            let rows = self.block.min(self.nodes - block * self.block) as usize;
            finished[block as usize] = digest(&self.read(block, rows)?) == logged;
        }
        // A line that was cut off would swallow the next one.
        if !log.is_empty() && !log.ends_with('\n') {
            self.log.write_all(b"\n").map_err(Error::io("write", path))?;
        }
        Ok(finished)
    }

    fn read(&mut self, block: u64, rows: usize) -> Result<Contexts> {
        fn read<T: NpyElement + Default>(
            array: &mut PlacedWriter<T>,
            at: u64,
            count: usize,
        ) -> Result<Array<T>> {
            let mut values = vec![T::default(); count];
            array.read(at, &mut values)?;
            Ok(values.into())
        }
        let size = self.size as usize;
        let row = block * self.block;
        let (place, places) = (row * self.size, rows * size);
        let arrays = &mut self.arrays;
        Ok(Contexts {
            size,
            nodes: read(&mut arrays.nodes, place, places)?,
            pagerank: read(&mut arrays.pagerank, place, places)?,
            bits: match (&mut arrays.words32, &mut arrays.words64) {
                (Some(words), _) => BitRows::Words32(read(words, place, places)?),
                (_, Some(words)) => BitRows::Words64(read(words, place, places)?),
                _ => BitRows::None,
            },
            captured: read(&mut arrays.captured, row, rows)?,
            residual: read(&mut arrays.residual, row, rows)?,
            flags: read(&mut arrays.flags, row, rows)?,
        })
    }

    fn finish(self, store: &Store, settings: &ContextSettings) -> Result<()> {
        let Sampling { root, folder, arrays, lock, .. } = self;
        let has_bits = arrays.words32.is_some() || arrays.words64.is_some();
        drop(arrays);
        let mut entries = BTreeMap::new();
        for name in [NODES, PAGERANK, BITS, CAPTURED, RESIDUAL, FLAGS] {
            if name != BITS || has_bits {
                entries.insert(name.to_owned(), seal(&folder.join(name))?);
            }
        }
        let manifest = ContextManifest {
            format: FORMAT.into(),
            version: VERSION,
            graph: store.manifest().fingerprint.clone(),
            nodes: store.manifest().nodes,
            settings: settings.clone(),
            arrays: entries,
        };
        let path = folder.join(MANIFEST);
        let text = serde_json::to_vec_pretty(&manifest).expect("plain data becomes JSON");
        File::create(&path)
            .and_then(|mut file| {
                file.write_all(&text)?;
                file.write_all(b"\n")?;
                file.sync_all()
            })
            .map_err(Error::io("write", &path))?;
        // The lock is held and the log kept until the table has its name: a kill
        // before that loses nothing, and nobody else begins meanwhile.
        super::atomic::rename_folder(&folder, &root)?;
        for name in [LOG, LOCK] {
            let path = root.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io("remove", &path)(error));
                }
                _ => {}
            }
        }
        drop(lock);
        Ok(())
    }
}

/// A checksum of a block, whatever file its parts lie in.
fn digest(contexts: &Contexts) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(bytemuck::cast_slice(&contexts.nodes));
    hasher.update(bytemuck::cast_slice(&contexts.pagerank));
    match &contexts.bits {
        BitRows::None => {}
        BitRows::Words32(words) => drop(hasher.update(bytemuck::cast_slice(words))),
        BitRows::Words64(words) => drop(hasher.update(bytemuck::cast_slice(words))),
    }
    hasher.update(bytemuck::cast_slice(&contexts.captured));
    hasher.update(bytemuck::cast_slice(&contexts.residual));
    hasher.update(&contexts.flags);
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_in_a_folder_of_somebody_else_is_told_to_be_copied() {
        let error = |kind: std::io::ErrorKind| cannot_create(Path::new("g.contexts"))(kind.into());
        for kind in [std::io::ErrorKind::PermissionDenied, std::io::ErrorKind::ReadOnlyFilesystem] {
            let told = error(kind).to_string();
            assert!(told.starts_with("g.contexts: cannot create (contexts lie beside"), "{told}");
            assert!(told.contains("copy the store, with `cp -r`"), "{told}");
        }
        let told = error(std::io::ErrorKind::StorageFull).to_string();
        assert!(!told.contains("copy"), "{told}");
    }
}
