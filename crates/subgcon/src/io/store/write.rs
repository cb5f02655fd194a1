//! Writing a store: topology first, then what is known of the nodes.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::features::FeatureSink;
use super::ids::write_ids;
use super::manifest::{
    Dropped, FeatureEntry, IdEntry, LabelEntry, LabelKind, Manifest, Origin, SplitEntry,
};
use super::names;
use crate::error::{Error, Result};
use crate::graph::{
    ArcSink, EdgeList, EdgeRules, Ids, Labels, Split, count_roles, merge, node_count,
};
use crate::io::array_file::ArrayEntry;
use crate::io::array_file::{ArrayWriter, seal, write_array};
use crate::io::atomic::PartialFolder;
use crate::progress::Progress;

/// How a store is written.
#[derive(Debug, Clone, Copy, Default)]
pub struct StoreOptions {
    /// Whether arcs keep their direction, and what becomes of repeats.
    pub edges: EdgeRules,
    /// Forget edge weights.
    pub unweighted: bool,
    /// Replace a store of the same name.
    pub replace: bool,
}

/// A store in the making. Nothing is under the final name until
/// [`StoreWriter::finish`]; dropped before that, it leaves nothing behind.
pub struct StoreWriter<'a> {
    folder: PartialFolder,
    options: StoreOptions,
    progress: &'a dyn Progress,
    topology: Option<Topology>,
    features: Option<FeatureEntry>,
    labels: Option<LabelEntry>,
    splits: Vec<SplitEntry>,
}

struct Topology {
    nodes: u64,
    arcs: u64,
    weighted: bool,
    ids: IdEntry,
    dropped: Dropped,
}

impl<'a> StoreWriter<'a> {
    /// Begins a store that will be the folder `path`.
    pub fn create(
        path: &Path,
        options: StoreOptions,
        progress: &'a dyn Progress,
    ) -> Result<StoreWriter<'a>> {
        // Only a store is ever replaced: a slip of the finger must not cost a folder.
        if path.symlink_metadata().is_ok() && !Manifest::is_store(path) {
            let problem = "is there already and is no graph store";
            return Err(Error::store(path, problem, "choose another name"));
        }
        Ok(StoreWriter {
            folder: PartialFolder::create(path, options.replace)?,
            options,
            progress,
            topology: None,
            features: None,
            labels: None,
            splits: Vec::new(),
        })
    }

    /// Who watches the work.
    pub fn progress(&self) -> &'a dyn Progress {
        self.progress
    }

    /// Whether weights are forgotten, so that they need not be read.
    pub fn unweighted(&self) -> bool {
        self.options.unweighted
    }

    fn nodes(&self) -> u64 {
        self.topology.as_ref().expect("topology is written first").nodes
    }

    /// Writes ids and edges, merged by the options' rules. Endpoints are below
    /// the number of ids.
    pub fn topology(&mut self, ids: &Ids, mut edges: EdgeList) -> Result<()> {
        assert!(self.topology.is_none(), "a graph has one topology");
        let nodes = node_count(ids.len() as u64)?;
        if nodes == 0 {
            return Err(Error::store(
                self.folder.target(),
                "the graph would be empty: no node was found",
                "give at least one node or edge",
            ));
        }
        if self.options.unweighted {
            edges.drop_weights();
        }
        edges.drop_unit_weights();
        let mut files = TopologyFiles {
            offsets: ArrayWriter::create(self.folder.path(names::OFFSETS))?,
            neighbours: ArrayWriter::create(self.folder.path(names::NEIGHBOURS))?,
            weights: ArrayWriter::create(self.folder.path(names::WEIGHTS))?,
            weighted: false,
            end: 0,
            scratch: Vec::new(),
        };
        files.offsets.write(&[0])?;
        let counts = merge(nodes, edges, self.options.edges, &mut files, self.progress)?;
        let TopologyFiles { offsets, neighbours, weights, weighted, .. } = files;
        offsets.finish(&[u64::from(nodes) + 1])?;
        neighbours.finish(&[counts.arcs])?;
        let count = weights.count();
        weights.finish(&[count])?;
        if !weighted {
            let path = self.folder.path(names::WEIGHTS);
            fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
        self.topology = Some(Topology {
            nodes: nodes.into(),
            arcs: counts.arcs,
            weighted,
            ids: write_ids(&self.folder.path(names::IDS), ids)?,
            dropped: Dropped {
                given: counts.given,
                self_loops: counts.self_loops,
                duplicates: counts.duplicates,
                zero_weights: counts.zero_weights,
                mirrored: counts.mirrored,
                created_nodes: 0,
            },
        });
        Ok(())
    }

    /// Notes how many nodes were created for edges that name unknown ones.
    pub fn created_nodes(&mut self, count: u64) {
        self.topology.as_mut().expect("topology is written first").dropped.created_nodes = count;
    }

    /// Writes features: `rows` hands every node's row to the sink, in order.
    pub fn features(
        &mut self,
        width: usize,
        rows: impl FnOnce(&mut FeatureSink) -> Result<()>,
    ) -> Result<()> {
        assert!(self.features.is_none(), "a graph has one feature matrix");
        if width == 0 {
            return Err(Error::store(
                self.folder.target(),
                "the feature matrix has no columns",
                "leave features out or give at least one column",
            ));
        }
        let mut sink = FeatureSink::new(&self.folder.path(""), width);
        rows(&mut sink)?;
        if sink.rows() != self.nodes() {
            return Err(Error::store(
                self.folder.target(),
                format!("{} feature rows for {} nodes", sink.rows(), self.nodes()),
                "give each node exactly one row",
            ));
        }
        self.features = Some(sink.finish()?);
        Ok(())
    }

    /// Notes the user's names of the feature columns.
    pub fn feature_names(&mut self, names: Vec<String>) {
        if let Some(features) = &mut self.features {
            assert_eq!(names.len() as u64, features.width, "a name for each column");
            features.names = names;
        }
    }

    /// Writes labels.
    pub fn labels(&mut self, labels: &Labels) -> Result<()> {
        assert_eq!(labels.nodes() as u64, self.nodes(), "a label or none for each node");
        let names = labels.names();
        if names.is_empty() {
            return Ok(());
        }
        let path = self.folder.path(names::LABELS);
        let kind = match labels {
            Labels::Single { classes, .. } => {
                write_array(path, classes, &[self.nodes()])?;
                LabelKind::Single
            }
            Labels::Multi { members, .. } => {
                write_array(path, members, &[self.nodes(), names.len() as u64])?;
                LabelKind::Multi
            }
        };
        self.labels = Some(LabelEntry {
            kind,
            classes: names.len() as u64,
            labelled: labels.labelled() as u64,
            names: names.to_vec(),
            sizes: labels.class_sizes(),
        });
        Ok(())
    }

    /// Writes splits.
    pub fn splits(&mut self, splits: &[Split]) -> Result<()> {
        if splits.is_empty() {
            return Ok(());
        }
        let mut writer = ArrayWriter::<u8>::create(self.folder.path(names::SPLITS))?;
        for split in splits {
            assert_eq!(split.roles.len() as u64, self.nodes(), "a role for each node");
            writer.write(&split.roles)?;
            let [train, validation, test] = count_roles(&split.roles).map(|count| count as u64);
            self.splits.push(SplitEntry { name: split.name.clone(), train, validation, test });
        }
        writer.finish(&[splits.len() as u64, self.nodes()])
    }

    /// Makes everything durable and gives the store its name.
    pub fn finish(self, origin: Origin) -> Result<Manifest> {
        let topology = self.topology.expect("topology is written first");
        let directed = self.options.edges.directed;
        let mut arrays = std::collections::BTreeMap::new();
        let folder = self.folder.path("");
        let mut files: Vec<_> = fs::read_dir(&folder)
            .map_err(Error::io("list", &folder))?
            .map(|entry| entry.map(|entry| entry.path()).map_err(Error::io("list", &folder)))
            .collect::<Result<_>>()?;
        files.retain(|path| path.extension().is_some_and(|e| e == "npy" || e == "arrow"));
        files.sort();
        let sizes = files.iter().map(|path| fs::metadata(path).map_or(0, |m| m.len())).sum();
        self.progress.begin("securing files", sizes, "bytes");
        for path in &files {
            let entry: ArrayEntry = seal(path)?;
            self.progress.advance(entry.bytes);
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            arrays.insert(name, entry);
        }
        self.progress.end();
        let (format, version, written_by) = Manifest::header();
        let manifest = Manifest {
            format,
            version,
            written_by,
            nodes: topology.nodes,
            edges: if directed { topology.arcs } else { topology.arcs / 2 },
            arcs: topology.arcs,
            directed,
            weighted: topology.weighted,
            fingerprint: Manifest::structure_fingerprint(topology.nodes, directed, &arrays),
            ids: topology.ids,
            features: self.features,
            labels: self.labels,
            splits: self.splits,
            dropped: topology.dropped,
            origin,
            arrays,
        };
        let path = self.folder.path(names::MANIFEST);
        let text = serde_json::to_vec_pretty(&manifest).expect("plain data becomes JSON");
        fs::File::create(&path)
            .and_then(|mut file| {
                file.write_all(&text)?;
                file.write_all(b"\n")?;
                file.sync_all()
            })
            .map_err(Error::io("write", &path))?;
        self.folder.finish()?;
        Ok(manifest)
    }
}

/// Neighbour lists on their way into the store's files.
struct TopologyFiles {
    offsets: ArrayWriter<u64>,
    neighbours: ArrayWriter<u32>,
    weights: ArrayWriter<f32>,
    /// Whether any weight says something: differs from one.
    weighted: bool,
    end: u64,
    scratch: Vec<u64>,
}

impl ArcSink for TopologyFiles {
    fn block(&mut self, degrees: &[u32], neighbours: &[u32], weights: &[f32]) -> Result<()> {
        self.scratch.clear();
        for &degree in degrees {
            self.end += u64::from(degree);
            self.scratch.push(self.end);
        }
        self.offsets.write(&self.scratch)?;
        self.neighbours.write(neighbours)?;
        self.weighted |= weights.iter().any(|&weight| weight != 1.0);
        self.weights.write(weights)
    }
}
