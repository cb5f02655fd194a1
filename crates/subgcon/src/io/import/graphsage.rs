//! How does GraphSAGE store a graph?
//!
//! | file | contents |
//! | --- | --- |
//! | `PREFIX-G.json` | networkx's node-link JSON: `nodes` with `id`, `val`, `test`; `links` (or `edges`) with `source`, `target` and perhaps `weight` |
//! | `PREFIX-feats.npy` | features; rows in the order of the id map, or of the nodes |
//! | `PREFIX-id_map.json` | node id to row of the features |
//! | `PREFIX-class_map.json` | node id to its class, or to a list of noughts and ones |
//!
//! All but the first may be absent. The ends of a link are ids where they are
//! texts; where they are integers they are ids if the ids are integers, and
//! positions in `nodes` if the ids are texts. All links have a weight or none
//! has. A node is for test where `test` is true, for validation where `val` is,
//! and for training otherwise.

mod node_link;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};

use super::class_map;
use super::source::{check_rows, dense_features, present, require, watched_json};
use crate::error::{Error, Result, shown};
use crate::graph::{EdgeChunk, EdgeList, IdIndex, Ids, Role, Split, check_weight};
use crate::io::npy::NpyReader;
use crate::io::store::{Origin, StoreWriter};
use node_link::{End, NodeLink, NodeLinkSeed};

/// Files in GraphSAGE's layout.
#[derive(Debug, Clone)]
pub struct GraphSage {
    /// Folder and beginning of the names: `data/toy-ppi` for `data/toy-ppi-G.json`.
    pub prefix: PathBuf,
}

impl GraphSage {
    fn file(&self, part: &str) -> PathBuf {
        let mut name = self.prefix.clone().into_os_string();
        name.push(part);
        name.into()
    }

    /// Reads the files and hands their graph to the store.
    pub fn import(&self, store: &mut StoreWriter<'_>) -> Result<Origin> {
        let path = require(self.file("-G.json"), "the graph as networkx's node-link JSON")?;
        let feats = present(self.file("-feats.npy"))?;
        let id_map = present(self.file("-id_map.json"))?;
        let classes = present(self.file("-class_map.json"))?;

        let progress = store.progress();
        let graph = watched_json(&path, NodeLinkSeed, progress)?;
        let ids = graph.ids(&path)?;
        let nodes = ids.len();
        let index = ids.index().map_err(|duplicate| {
            Error::input(
                &path,
                format!(
                    "nodes {} and {} have the id {}",
                    duplicate.first,
                    duplicate.again,
                    shown(&duplicate.id)
                ),
                "give every node an id of its own",
            )
        })?;
        store.topology(&ids, resolve(&path, &graph, &ids, &index)?)?;
        let find = |id: &str| index.text(id.as_bytes());
        if let Some(feats) = &feats {
            match &id_map {
                Some(map) => {
                    let rows = watched_json(map, IdMapSeed { nodes, find: &find }, progress)?;
                    mapped_features(store, feats, map, &rows)?;
                }
                None => dense_features(store, NpyReader::open(feats)?, nodes)?,
            }
        }
        if let Some(path) = &classes {
            store.labels(&class_map::read(path, nodes, &find, progress)?)?;
        }
        if let Some(split) = split(&path, &graph)? {
            store.splits(&[split])?;
        }
        let optional = [&feats, &id_map, &classes].into_iter().flatten();
        Ok(Origin::new("graphsage", [&path].into_iter().chain(optional)))
    }
}

/// Turns the ends of links into node numbers.
fn resolve(path: &Path, graph: &NodeLink, ids: &Ids, index: &IdIndex<'_>) -> Result<EdgeList> {
    let texts = matches!(ids, Ids::Strings(_));
    // Each text is looked up once, however many links it ends.
    let named: Vec<Option<u32>> =
        graph.texts.iter().map(|text| index.text(text.as_bytes())).collect();
    let node = |end: End, link: usize| {
        let found = match end {
            End::Text(text) => named[text as usize],
            End::Integer(position) if texts => {
                u32::try_from(position).ok().filter(|&node| (node as usize) < ids.len())
            }
            End::Integer(id) => index.integer(id),
        };
        found.ok_or_else(|| {
            let shown_end = match end {
                End::Text(text) => shown(&graph.texts[text as usize]),
                End::Integer(number) => number.to_string(),
            };
            Error::input(
                path,
                format!("link {link} ends at {shown_end}, which is not among the nodes"),
                "add the node or remove the link",
            )
        })
    };
    let mut chunk = EdgeChunk { weights: weights(path, graph)?, ..EdgeChunk::default() };
    for (link, &(source, target)) in graph.links.iter().enumerate() {
        chunk.push(node(source, link)?, node(target, link)?);
    }
    let mut edges = EdgeList::new();
    edges.push(chunk);
    Ok(edges)
}

/// The weight of each link; nothing where no link has one.
fn weights(path: &Path, graph: &NodeLink) -> Result<Vec<f32>> {
    if let (Some(link), false) = (graph.unweighted, graph.weights.is_empty()) {
        return Err(Error::input(
            path,
            format!("link {link} has no weight but others have"),
            "give every link a weight, or none",
        ));
    }
    let check = |(link, &weight): (usize, &f32)| {
        check_weight(weight).map_err(|reason| {
            Error::input(
                path,
                format!("the weight {weight} of link {link} {reason}"),
                "edges need finite weights that are not negative",
            )
        })
    };
    graph.weights.iter().enumerate().map(check).collect()
}

/// The split behind the flags; nothing where no node has one.
fn split(path: &Path, graph: &NodeLink) -> Result<Option<Split>> {
    if graph.roles.iter().all(|&(val, test)| val.is_none() && test.is_none()) {
        return Ok(None);
    }
    let mut split = Split::unused("public", graph.roles.len());
    for (node, &(val, test)) in graph.roles.iter().enumerate() {
        split.roles[node] = match (val == Some(true), test == Some(true)) {
            (true, true) => {
                return Err(Error::input(
                    path,
                    format!("node number {node} is in validation and in test"),
                    "set only one of val and test",
                ));
            }
            (true, false) => Role::Validation,
            (false, true) => Role::Test,
            (false, false) => Role::Train,
        } as u8;
    }
    Ok(Some(split))
}

/// Features whose rows are not in the order of the nodes.
fn mapped_features(
    store: &mut StoreWriter<'_>,
    feats: &Path,
    map: &Path,
    rows: &[u32],
) -> Result<()> {
    if let Some(node) = rows.iter().position(|&row| row == u32::MAX) {
        return Err(Error::input(
            map,
            format!("has no row of features for node number {node}"),
            "give every node a row",
        ));
    }
    let reader = NpyReader::open(feats)?;
    // Rows are different and below the number of nodes, so all are named.
    if rows.iter().enumerate().all(|(node, &row)| row as usize == node) {
        return dense_features(store, reader, rows.len());
    }
    let (height, width) = reader.matrix()?;
    check_rows(reader.place(), "rows of features", height, rows.len())?;
    if width == 0 {
        return dense_features(store, reader, rows.len());
    }
    let progress = store.progress();
    progress.begin("reading features", height, "nodes");
    let values = reader.all::<f32>()?;
    store.features(width, |sink| {
        for &row in rows {
            progress.advance(1);
            let start = row as usize * width;
            // The sink counts nodes; the user's file counts rows.
            sink.dense(&values[start..start + width])
                .map_err(|error| error.at(crate::error::Place::row(feats, row.into())))?;
        }
        Ok(())
    })?;
    progress.end();
    Ok(())
}

/// An id map: which row of the features is a node's; `u32::MAX` for none.
struct IdMapSeed<'a> {
    nodes: usize,
    find: &'a dyn Fn(&str) -> Option<u32>,
}

impl<'de> DeserializeSeed<'de> for IdMapSeed<'_> {
    type Value = Vec<u32>;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Vec<u32>, D::Error> {
        source.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for IdMapSeed<'_> {
    type Value = Vec<u32>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object from node ids to rows")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Vec<u32>, A::Error> {
        let mut rows = vec![u32::MAX; self.nodes];
        let mut taken = vec![false; self.nodes];
        while let Some(id) = entries.next_key::<String>()? {
            let row = entries.next_value::<u64>()?;
            let refuse =
                |problem: String| Err(A::Error::custom(format!("node {} {problem}", shown(&id))));
            let Some(node) = (self.find)(&id) else {
                return refuse("is not in the graph".into());
            };
            let (node, place) = (node as usize, row as usize);
            if row >= self.nodes as u64 {
                return refuse(format!("has row {row} but there are {} nodes", self.nodes));
            }
            if rows[node] != u32::MAX {
                return refuse("has two rows".into());
            }
            if std::mem::replace(&mut taken[place], true) {
                return refuse(format!("has row {row}, which is another node's"));
            }
            rows[node] = row as u32;
        }
        Ok(rows)
    }
}
