//! What does a node-link JSON say, before ids are looked up?
//!
//! Links may stand before the nodes, so their ends are kept as they are
//! written: integers, or texts that are kept once each.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use hashbrown::HashMap;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess,
    Visitor,
};

use crate::error::{Error, Result};
use crate::graph::{Ids, MAX_NODES};

/// One end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// An id or a position, depending on the ids.
    Integer(i64),
    /// A place in [`NodeLink::texts`].
    Text(u32),
}

/// The parts of a node-link JSON that matter here.
#[derive(Debug, Default)]
pub(super) struct NodeLink {
    names: Vec<Name>,
    /// The flags `val` and `test` of each node, where it has them.
    pub(super) roles: Vec<(Option<bool>, Option<bool>)>,
    /// Source and target of each link.
    pub(super) links: Vec<(End, End)>,
    /// The weights of the links that have one.
    pub(super) weights: Vec<f32>,
    /// The first link that has none.
    pub(super) unweighted: Option<usize>,
    /// Every text that ends a link.
    pub(super) texts: Vec<String>,
}

impl NodeLink {
    /// The ids of the nodes, all integers or all texts.
    pub(super) fn ids(&self, path: &Path) -> Result<Ids> {
        let refuse = |problem: String, remedy: &str| Err(Error::input(path, problem, remedy));
        if self.names.is_empty() {
            return refuse("has no nodes".into(), "fetch the file again");
        }
        if self.names.len() as u64 > MAX_NODES {
            return refuse(format!("has {} nodes", self.names.len()), "split the graph");
        }
        let integers: Vec<i64> = self.names.iter().filter_map(Name::integer).collect();
        if integers.len() == self.names.len() {
            return Ok(Ids::from_integers(integers));
        }
        if !integers.is_empty() {
            let problem = "has integers and texts as node ids".into();
            return refuse(problem, "make all of them texts");
        }
        Ok(Ids::Strings(self.names.iter().filter_map(Name::text).collect()))
    }
}

/// An id: an integer or a text.
#[derive(Debug)]
enum Name {
    Integer(i64),
    Text(String),
}

impl Name {
    fn integer(&self) -> Option<i64> {
        match self {
            Name::Integer(id) => Some(*id),
            Name::Text(_) => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Name::Integer(_) => None,
            Name::Text(id) => Some(id),
        }
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Name, D::Error> {
        struct NameVisitor;

        impl Visitor<'_> for NameVisitor {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an integer or a text as node id")
            }

            fn visit_i64<E: serde::de::Error>(self, id: i64) -> Result<Name, E> {
                Ok(Name::Integer(id))
            }

            fn visit_u64<E: serde::de::Error>(self, id: u64) -> Result<Name, E> {
                let id =
                    i64::try_from(id).map_err(|_| E::custom(format!("id {id} is too large")))?;
                Ok(Name::Integer(id))
            }

            fn visit_str<E: serde::de::Error>(self, id: &str) -> Result<Name, E> {
                Ok(Name::Text(id.to_owned()))
            }
        }

        source.deserialize_any(NameVisitor)
    }
}

#[derive(serde::Deserialize)]
struct Node {
    id: Name,
    val: Option<bool>,
    test: Option<bool>,
}

#[derive(serde::Deserialize)]
struct Link {
    source: Name,
    target: Name,
    weight: Option<f32>,
}

/// Reads the whole object.
pub(super) struct NodeLinkSeed;

impl<'de> DeserializeSeed<'de> for NodeLinkSeed {
    type Value = NodeLink;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<NodeLink, D::Error> {
        source.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for NodeLinkSeed {
    type Value = NodeLink;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with nodes and links")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<NodeLink, A::Error> {
        let mut graph = NodeLink::default();
        let (mut nodes, mut links) = (false, false);
        while let Some(key) = entries.next_key::<String>()? {
            match key.as_str() {
                "nodes" if !std::mem::replace(&mut nodes, true) => {
                    let (names, roles) = (&mut graph.names, &mut graph.roles);
                    entries.next_value_seed(Each::new(|node: Node| {
                        names.push(node.id);
                        roles.push((node.val, node.test));
                    }))?;
                }
                "links" | "edges" if !std::mem::replace(&mut links, true) => {
                    let mut known = HashMap::new();
                    let (ends, texts) = (&mut graph.links, &mut graph.texts);
                    let mut end = |name: Name| match name {
                        Name::Integer(number) => End::Integer(number),
                        Name::Text(text) => {
                            End::Text(*known.entry(text).or_insert_with_key(|text| {
                                texts.push(text.clone());
                                texts.len() as u32 - 1
                            }))
                        }
                    };
                    let (weights, unweighted) = (&mut graph.weights, &mut graph.unweighted);
                    entries.next_value_seed(Each::new(|link: Link| {
                        match link.weight {
                            Some(weight) => weights.push(weight),
                            None => _ = unweighted.get_or_insert(ends.len()),
                        }
                        ends.push((end(link.source), end(link.target)));
                    }))?;
                }
                "nodes" | "links" | "edges" => {
                    return Err(A::Error::custom(format!("{key} stands twice")));
                }
                _ => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        if !nodes || !links {
            return Err(A::Error::custom("the object lacks nodes or links"));
        }
        Ok(graph)
    }
}

/// A list whose items are handed to a function one by one.
struct Each<T, F> {
    each: F,
    of: PhantomData<T>,
}

impl<T, F: FnMut(T)> Each<T, F> {
    fn new(each: F) -> Each<T, F> {
        Each { each, of: PhantomData }
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T)> DeserializeSeed<'de> for Each<T, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T)> Visitor<'de> for Each<T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(item) = list.next_element()? {
            (self.each)(item);
        }
        Ok(())
    }
}
