//! Opening a store: the manifest is read, everything else is mapped.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rayon::prelude::*;

use super::features::open_sparse;
use super::ids::read_ids;
use super::manifest::{FeatureStorage, LabelKind, Manifest, SplitEntry};
use super::names;
use super::{DAMAGED, damaged};
use crate::error::{Error, Result};
use crate::graph::{Adjacency, Features, Ids, Labels, Role, Split};
use crate::io::array_file::map_array;
use crate::math::Array;

/// An open graph store.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    manifest: Manifest,
    adjacency: Adjacency,
    features: Option<Features>,
    labels: Option<Labels>,
    roles: Option<Array<u8>>,
    ids: OnceLock<Ids>,
    checked: Checked,
}

/// Which parts have been found to hold only valid places.
#[derive(Debug, Default)]
struct Checked {
    adjacency: OnceLock<()>,
    features: OnceLock<()>,
    labels: OnceLock<()>,
}

impl Store {
    /// Opens a store. Sizes, types and shapes of all files are checked against
    /// the manifest; their contents are not read ([`Store::verify`] does that).
    pub fn open(root: &Path) -> Result<Store> {
        let manifest = Manifest::read(root)?;
        let files = Files { root, manifest: &manifest };
        let nodes = manifest.nodes;
        let offsets: Array<u64> = files.array(names::OFFSETS, &[nodes + 1])?;
        let adjacency = Adjacency {
            offsets,
            neighbours: files.array(names::NEIGHBOURS, &[manifest.arcs])?,
            weights: match manifest.weighted {
                true => Some(files.array(names::WEIGHTS, &[manifest.arcs])?),
                false => None,
            },
            directed: manifest.directed,
        };
        let features = match &manifest.features {
            None => None,
            Some(entry) => Some(match entry.storage {
                FeatureStorage::Dense => Features::Dense {
                    width: entry.width as usize,
                    values: files.array(names::FEATURES, &[nodes, entry.width])?,
                },
                FeatureStorage::Sparse => {
                    let shape = [nodes, entry.width];
                    let bytes = |name: &str| files.size(name);
                    Features::Sparse(open_sparse(root, &shape, entry.nonzeros, bytes)?)
                }
            }),
        };
        let labels = match &manifest.labels {
            None => None,
            Some(entry) if entry.classes != entry.names.len() as u64 => {
                let problem = format!("{} classes, {} names", entry.classes, entry.names.len());
                return Err(damaged(&root.join(names::MANIFEST), problem));
            }
            Some(entry) => {
                let names = entry.names.clone();
                Some(match entry.kind {
                    LabelKind::Single => {
                        Labels::Single { classes: files.array(names::LABELS, &[nodes])?, names }
                    }
                    LabelKind::Multi => Labels::Multi {
                        members: files.array(names::LABELS, &[nodes, entry.classes])?,
                        names,
                    },
                })
            }
        };
        let roles = match manifest.splits.len() as u64 {
            0 => None,
            splits => Some(files.array(names::SPLITS, &[splits, nodes])?),
        };
        files.size(names::IDS)?;
        Ok(Store {
            root: root.to_path_buf(),
            adjacency,
            features,
            labels,
            roles,
            ids: OnceLock::new(),
            checked: Checked::default(),
            manifest,
        })
    }

    /// The store's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What the store says of itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Nodes and edges. The first call makes sure that every number in them is
    /// a place in the arrays, so that a changed file is an error, never a crash.
    pub fn adjacency(&self) -> Result<&Adjacency> {
        self.check_once(&self.checked.adjacency, || self.check_adjacency())?;
        Ok(&self.adjacency)
    }

    /// Features, where there are any; checked like [`Store::adjacency`].
    pub fn features(&self) -> Result<Option<&Features>> {
        self.check_once(&self.checked.features, || self.check_features())?;
        Ok(self.features.as_ref())
    }

    /// Labels, where there are any; checked like [`Store::adjacency`].
    pub fn labels(&self) -> Result<Option<&Labels>> {
        self.check_once(&self.checked.labels, || self.check_labels())?;
        Ok(self.labels.as_ref())
    }

    /// The splits; checked like [`Store::adjacency`].
    pub fn splits(&self) -> Result<Vec<Split>> {
        let roles = self.roles.as_deref().unwrap_or_default();
        if let Some(place) = roles.iter().position(|&byte| Role::from_byte(byte).is_none()) {
            let problem = format!("entry {place} is no role: {}", roles[place]);
            return Err(damaged(&self.root.join(names::SPLITS), problem));
        }
        let rows = roles.chunks_exact(self.manifest.nodes as usize);
        let named = self.manifest.splits.iter().zip(rows);
        let split = |(entry, row): (&SplitEntry, &[u8])| Split {
            name: entry.name.clone(),
            roles: row.to_vec(),
        };
        Ok(named.map(split).collect())
    }

    fn check_once(&self, done: &OnceLock<()>, check: impl Fn() -> Result<()>) -> Result<()> {
        if done.get().is_none() {
            check()?;
            done.get_or_init(|| ());
        }
        Ok(())
    }

    fn check_adjacency(&self) -> Result<()> {
        let offsets = &self.adjacency.offsets;
        check_offsets(offsets, self.adjacency.neighbours.len())
            .map_err(|problem| damaged(&self.root.join(names::OFFSETS), problem))?;
        let nodes = self.manifest.nodes as u32;
        let neighbours = &self.adjacency.neighbours;
        match neighbours.par_iter().position_first(|&node| node >= nodes) {
            Some(arc) => {
                let problem = format!("arc {arc} leads to node {}, outside", neighbours[arc]);
                Err(damaged(&self.root.join(names::NEIGHBOURS), problem))
            }
            None => Ok(()),
        }
    }

    fn check_features(&self) -> Result<()> {
        let Some(Features::Sparse(matrix)) = &self.features else { return Ok(()) };
        check_offsets(&matrix.offsets, matrix.values.len())
            .map_err(|problem| damaged(&self.root.join(names::FEATURE_OFFSETS), problem))?;
        match matrix.columns.par_iter().position_first(|&c| c as usize >= matrix.width) {
            Some(place) => {
                let problem = format!("entry {place} is column {}", matrix.columns[place]);
                Err(damaged(&self.root.join(names::FEATURE_COLUMNS), problem))
            }
            None => Ok(()),
        }
    }

    fn check_labels(&self) -> Result<()> {
        let bad = match &self.labels {
            None => None,
            Some(Labels::Single { classes, names }) => {
                let known = -1..names.len() as i32;
                classes.iter().position(|class| !known.contains(class))
            }
            Some(Labels::Multi { members, .. }) => members.iter().position(|&bit| bit > 1),
        };
        match bad {
            Some(place) => {
                Err(damaged(&self.root.join(names::LABELS), format!("entry {place} is no class")))
            }
            None => Ok(()),
        }
    }

    /// The user's ids; read when first asked for.
    pub fn ids(&self) -> Result<&Ids> {
        if let Some(ids) = self.ids.get() {
            return Ok(ids);
        }
        let entry = &self.manifest.ids;
        let nodes = self.manifest.nodes;
        let ids = match entry.contiguous {
            true => Ids::Range(nodes as u32),
            false => read_ids(&self.root.join(names::IDS), entry, nodes)?,
        };
        Ok(self.ids.get_or_init(|| ids))
    }
}

/// The files of a store, as its manifest lists them.
struct Files<'a> {
    root: &'a Path,
    manifest: &'a Manifest,
}

impl Files<'_> {
    /// The size that the manifest tells, which the file really has.
    fn size(&self, name: &str) -> Result<u64> {
        let path = self.root.join(name);
        let entry = self.manifest.arrays.get(name);
        let entry = entry.ok_or_else(|| {
            damaged(&self.root.join(names::MANIFEST), format!("does not list {name}"))
        })?;
        let found = std::fs::metadata(&path).map_err(Error::io("open", &path))?.len();
        if found != entry.bytes {
            let problem = format!("has {found} bytes, the manifest says {}", entry.bytes);
            return Err(damaged(&path, problem));
        }
        Ok(entry.bytes)
    }

    fn array<T: crate::io::array_file::NpyElement>(
        &self,
        name: &str,
        shape: &[u64],
    ) -> Result<Array<T>> {
        map_array(&self.root.join(name), self.size(name)?, shape, DAMAGED)
    }
}

/// Offsets start at zero, never fall and end at the number of entries.
fn check_offsets(offsets: &[u64], entries: usize) -> Result<(), String> {
    if offsets.first() != Some(&0) || offsets.last() != Some(&(entries as u64)) {
        return Err(format!("does not run from 0 to {entries}"));
    }
    match offsets.par_windows(2).position_first(|pair| pair[0] > pair[1]) {
        Some(place) => Err(format!("falls after entry {place}")),
        None => Ok(()),
    }
}
