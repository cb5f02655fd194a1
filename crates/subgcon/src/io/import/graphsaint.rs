//! How does GraphSAINT store a graph?
//!
//! | file | contents |
//! | --- | --- |
//! | `adj_full.npz` | the whole adjacency, as SciPy saves a CSR matrix |
//! | `feats.npy` | features, one row a node |
//! | `class_map.json` | node number to its class, or to a list of noughts and ones |
//! | `role.json` | `tr`, `va` and `te`: lists of node numbers |
//!
//! All but the adjacency may be absent.

use std::fmt;
use std::path::PathBuf;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::source::{dense_features, present, require, watched_json};
use super::{class_map, scipy};
use crate::error::{Result, shown};
use crate::graph::{Ids, Role, Split};
use crate::io::npy::NpyReader;
use crate::io::npz::Archive;
use crate::io::store::{Origin, StoreWriter};

/// A folder in GraphSAINT's layout.
#[derive(Debug, Clone)]
pub struct GraphSaint {
    /// The folder.
    pub dir: PathBuf,
}

impl GraphSaint {
    /// Reads the files and hands their graph to the store.
    pub fn import(&self, store: &mut StoreWriter<'_>) -> Result<Origin> {
        let adjacency =
            require(self.dir.join("adj_full.npz"), "the adjacency as a SciPy CSR matrix")?;
        let feats = present(self.dir.join("feats.npy"))?;
        let classes = present(self.dir.join("class_map.json"))?;
        let roles = present(self.dir.join("role.json"))?;

        let progress = store.progress();
        let (count, edges) = scipy::edges(&mut Archive::open(&adjacency)?, progress)?;
        let ids = Ids::Range(count);
        let nodes = ids.len();
        store.topology(&ids, edges)?;
        if let Some(path) = &feats {
            dense_features(store, NpyReader::open(path)?, nodes)?;
        }
        if let Some(path) = &classes {
            let index = ids.index().expect("a range has no repeated ids");
            let find = |id: &str| index.text(id.as_bytes());
            store.labels(&class_map::read(path, nodes, &find, progress)?)?;
        }
        if let Some(path) = &roles {
            store.splits(&[watched_json(path, RolesSeed { nodes }, progress)?])?;
        }
        let optional = [&feats, &classes, &roles].into_iter().flatten();
        Ok(Origin::new("graphsaint", [&adjacency].into_iter().chain(optional)))
    }
}

struct RolesSeed {
    nodes: usize,
}

impl<'de> DeserializeSeed<'de> for RolesSeed {
    type Value = Split;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Split, D::Error> {
        source.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RolesSeed {
    type Value = Split;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the keys tr, va and te")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Split, A::Error> {
        let mut split = Split::unused("public", self.nodes);
        let mut seen = Vec::new();
        while let Some(key) = entries.next_key::<String>()? {
            let role = match key.as_str() {
                "tr" => Role::Train,
                "va" => Role::Validation,
                "te" => Role::Test,
                _ => {
                    let problem = format!("role {} is none of tr, va and te", shown(&key));
                    return Err(A::Error::custom(problem));
                }
            };
            if seen.contains(&role) {
                return Err(A::Error::custom(format!("role {} stands twice", shown(&key))));
            }
            seen.push(role);
            entries.next_value_seed(NodesSeed { split: &mut split, role })?;
        }
        if seen.len() < 3 {
            return Err(A::Error::custom("one of the roles tr, va and te is missing"));
        }
        Ok(split)
    }
}

/// A list of nodes that get a role.
struct NodesSeed<'a> {
    split: &'a mut Split,
    role: Role,
}

impl<'de> DeserializeSeed<'de> for NodesSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for NodesSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of node numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let nodes = self.split.roles.len();
        while let Some(node) = list.next_element::<u64>()? {
            if node >= nodes as u64 {
                let problem = format!("node {node} is not among the {nodes} nodes");
                return Err(A::Error::custom(problem));
            }
            self.split.assign(node as usize, self.role).map_err(|old| {
                let new = self.role.name();
                A::Error::custom(format!("node {node} is in {} and in {new}", old.name()))
            })?;
        }
        Ok(())
    }
}
