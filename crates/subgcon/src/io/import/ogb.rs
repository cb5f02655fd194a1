//! How does the Open Graph Benchmark store a node-property graph as text?
//!
//! | file | contents |
//! | --- | --- |
//! | `raw/num-node-list.csv.gz` | the number of nodes |
//! | `raw/edge.csv.gz` | source and target, one edge a line |
//! | `raw/edge_weight.csv.gz` | weight of each edge |
//! | `raw/node-feat.csv.gz` | features, one node a line |
//! | `raw/node-label.csv.gz` | one class a node (`nan` or nothing for none), or several noughts and ones |
//! | `split/NAME/{train,valid,test}.csv.gz` | nodes, one a line |
//!
//! No file has a header; each may also lie there unpacked, as `.csv`. Weights,
//! features, labels and splits may be absent.

use std::path::{Path, PathBuf};

use super::source::{check_claim, check_rows, numbered, present};
use super::text::{Lines, Reading};
use crate::error::{Error, Result};
use crate::graph::{EdgeChunk, EdgeList, Ids, Labels, MAX_NODES, Role, Split, check_weight};
use crate::io::store::{Origin, StoreWriter};
use crate::progress::Progress;

/// Edges in a chunk.
const CHUNK: usize = 1 << 20;

/// A dataset folder of the Open Graph Benchmark.
#[derive(Debug, Clone)]
pub struct Ogb {
    /// The folder that holds `raw` and `split`.
    pub dir: PathBuf,
}

impl Ogb {
    /// Reads the files and hands their graph to the store.
    pub fn import(&self, store: &mut StoreWriter<'_>) -> Result<Origin> {
        let raw = self.dir.join("raw");
        let mut files = Vec::new();
        let counts = self.needed(&raw, "num-node-list", "the number of nodes")?;
        let edges_path = self.needed(&raw, "edge", "the edges, source and target a line")?;
        let weights = packed_or_not(&raw, "edge_weight")?;
        let nodes = count(&counts)?;

        let progress = store.progress();
        let mut chunks = edges(&edges_path, nodes, progress)?;
        let total = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        check_claim((&counts).into(), "nodes", nodes.into(), total)?;
        if let Some(path) = &weights {
            add_weights(path, &mut chunks, total, progress)?;
        }
        let mut list = EdgeList::new();
        chunks.into_iter().for_each(|chunk| list.push(chunk));
        store.topology(&Ids::Range(nodes), list)?;
        files.extend([counts, edges_path]);
        files.extend(weights);

        if let Some(path) = packed_or_not(&raw, "node-feat")? {
            features(store, &path, nodes as usize)?;
            files.push(path);
        }
        if let Some(path) = packed_or_not(&raw, "node-label")? {
            store.labels(&labels(&path, nodes as usize, progress)?)?;
            files.push(path);
        }
        let splits = self.splits(nodes as usize, &mut files)?;
        if !splits.is_empty() {
            store.splits(&splits)?;
        }
        Ok(Origin::new("ogb", &files))
    }

    fn needed(&self, folder: &Path, name: &str, expected: &str) -> Result<PathBuf> {
        if let Some(path) = packed_or_not(folder, name)? {
            return Ok(path);
        }
        for binary in [self.dir.join("data.npz"), folder.join("data.npz")] {
            if let Some(binary) = present(binary)? {
                return Err(Error::input(
                    binary,
                    "is OGB's binary layout, which is not read",
                    "fetch the dataset in its csv form, or import its arrays one by one",
                ));
            }
        }
        Err(Error::input(
            folder.join(format!("{name}.csv.gz")),
            "is missing",
            format!("put the file with {expected} there or name another folder"),
        ))
    }

    /// The splits of all folders under `split`, by name.
    fn splits(&self, nodes: usize, files: &mut Vec<PathBuf>) -> Result<Vec<Split>> {
        let Some(folder) = present(self.dir.join("split"))? else {
            return Ok(Vec::new());
        };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(Error::io("list", &folder))? {
            let path = entry.map_err(Error::io("list", &folder))?.path();
            if path.is_dir() {
                names.push(path);
            }
        }
        names.sort_unstable();
        let mut splits = Vec::new();
        for folder in names {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            let mut split = Split::unused(name, nodes);
            for (part, role) in
                [("train", Role::Train), ("valid", Role::Validation), ("test", Role::Test)]
            {
                let path = self.needed(&folder, part, "the nodes of this part, one a line")?;
                assign(&path, &mut split, role)?;
                files.push(path);
            }
            splits.push(split);
        }
        Ok(splits)
    }
}

fn packed_or_not(folder: &Path, name: &str) -> Result<Option<PathBuf>> {
    match present(folder.join(format!("{name}.csv.gz")))? {
        Some(path) => Ok(Some(path)),
        None => present(folder.join(format!("{name}.csv"))),
    }
}

fn count(path: &Path) -> Result<u32> {
    let mut lines = Lines::open(path)?;
    if !lines.advance()? {
        return Err(Error::input(path, "is empty", "write the number of nodes there"));
    }
    let nodes: u64 = lines.number(lines.whole(), "a number of nodes")?;
    if nodes > MAX_NODES {
        return Err(lines.refuse(
            format!("there are {nodes} nodes"),
            "a graph holds at most 2^32 - 2 nodes; split it",
        ));
    }
    if lines.advance()? {
        return Err(lines.refuse(
            "there is more than one graph",
            "only node-property datasets with a single graph are read",
        ));
    }
    Ok(nodes as u32)
}

fn edges(path: &Path, nodes: u32, progress: &dyn Progress) -> Result<Vec<EdgeChunk>> {
    let mut lines = Lines::open(path)?;
    let mut reading = Reading::begin(progress, path, 0);
    let (mut chunks, mut chunk) = (Vec::new(), EdgeChunk::default());
    while lines.advance()? {
        let [source, target] = lines.exactly()?;
        chunk.push(node(&lines, source, nodes)?, node(&lines, target, nodes)?);
        if chunk.len() == CHUNK {
            chunks.push(std::mem::take(&mut chunk));
        }
        reading.line();
    }
    reading.end();
    chunks.push(chunk);
    Ok(chunks)
}

fn node(lines: &Lines, field: &[u8], nodes: u32) -> Result<u32> {
    let node: u64 = lines.number(field, "a node number")?;
    match node < u64::from(nodes) {
        true => Ok(node as u32),
        false => Err(lines.refuse(
            format!("node {node} is not among the {nodes} nodes"),
            "mend the line or the number of nodes in num-node-list.csv.gz",
        )),
    }
}

fn add_weights(
    path: &Path,
    chunks: &mut [EdgeChunk],
    edges: u64,
    progress: &dyn Progress,
) -> Result<()> {
    let mut lines = Lines::open(path)?;
    let mut reading = Reading::begin(progress, path, edges);
    for chunk in chunks {
        for _ in 0..chunk.len() {
            if !lines.advance()? {
                return Err(lines.refuse("there are fewer weights than edges", "add the others"));
            }
            let weight = lines.number(lines.whole(), "a weight")?;
            chunk.weights.push(check_weight(weight).map_err(|reason| {
                lines.refuse(
                    format!("the weight {weight} {reason}"),
                    "edges need finite weights that are not negative",
                )
            })?);
            reading.line();
        }
    }
    reading.end();
    match lines.advance()? {
        false => Ok(()),
        true => Err(lines.refuse("there are more weights than edges", "remove the others")),
    }
}

fn features(store: &mut StoreWriter<'_>, path: &Path, nodes: usize) -> Result<()> {
    let mut lines = Lines::open(path)?;
    let mut there = lines.advance()?;
    if !there {
        return check_rows(&path.into(), "rows of features", 0, nodes);
    }
    let width = lines.fields().count();
    let mut reading = Reading::begin(store.progress(), path, nodes as u64);
    store.features(width, |sink| {
        let (mut rows, mut row) = (0, Vec::with_capacity(width));
        while there {
            row.clear();
            for field in lines.fields() {
                row.push(lines.number::<f32>(field, "a number")?);
            }
            if row.len() != width {
                return Err(lines.wrong_fields(row.len(), width));
            }
            rows += 1;
            if rows > nodes as u64 {
                return Err(lines.refuse(
                    format!("there are more rows of features than the {nodes} nodes"),
                    "give exactly one row a node",
                ));
            }
            sink.dense(&row)
                .map_err(|error| error.at(crate::error::Place::line(path, lines.line_number())))?;
            reading.line();
            there = lines.advance()?;
        }
        check_rows(&path.into(), "rows of features", rows, nodes)
    })?;
    reading.end();
    Ok(())
}

fn labels(path: &Path, nodes: usize, progress: &dyn Progress) -> Result<Labels> {
    let mut lines = Lines::open(path)?;
    let mut reading = Reading::begin(progress, path, nodes as u64);
    let (mut rows, mut width) = (0, 0);
    let (mut single, mut members) = (Vec::new(), Vec::new());
    while lines.advance()? {
        if rows == 0 {
            width = lines.fields().count();
        }
        if width == 1 {
            single.push(class(&lines, lines.whole())?);
        } else {
            for field in lines.fields() {
                let bit: f64 = lines.number(field, "0 or 1")?;
                if bit != 0.0 && bit != 1.0 {
                    return Err(lines.refuse(
                        format!("{bit} is neither 0 nor 1"),
                        "several columns say which classes a node belongs to",
                    ));
                }
                members.push(u8::from(bit == 1.0));
            }
        }
        rows += 1;
        if width > 1 && members.len() != rows * width {
            return Err(lines.wrong_fields(lines.fields().count(), width));
        }
        reading.line();
    }
    reading.end();
    check_rows(&path.into(), "labels", rows as u64, nodes)?;
    match width {
        0 | 1 => Ok(Labels::from_integers(&single)),
        _ => Ok(Labels::Multi { members: members.into(), names: numbered(width) }),
    }
}

/// One class; with missing ones among them, classes are written as `3.0`.
fn class(lines: &Lines, field: &[u8]) -> Result<Option<i64>> {
    const WHAT: &str = "a whole number as class";
    let text = field.trim_ascii();
    if text.is_empty() || text.eq_ignore_ascii_case(b"nan") {
        return Ok(None);
    }
    if let Ok(class) = lines.number::<i64>(text, WHAT) {
        return Ok(Some(class));
    }
    let class: f64 = lines.number(text, WHAT)?;
    if class.fract() != 0.0 || class.abs() > 1e15 {
        return Err(lines.refuse(format!("{class} is not {WHAT}"), "mend the line"));
    }
    Ok(Some(class as i64))
}

fn assign(path: &Path, split: &mut Split, role: Role) -> Result<()> {
    let mut lines = Lines::open(path)?;
    let nodes = split.roles.len() as u32;
    while lines.advance()? {
        let node = node(&lines, lines.whole(), nodes)?;
        split.assign(node as usize, role).map_err(|old| {
            lines.refuse(
                format!("node {node} is in {} and in {}", old.name(), role.name()),
                "a node has one role in a split",
            )
        })?;
    }
    Ok(())
}
