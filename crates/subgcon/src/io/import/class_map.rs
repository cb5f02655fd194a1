//! Which classes does a `class_map.json` give to which node?
//!
//! An object from node id to either one integer (the class) or a list of
//! noughts and ones (the classes it belongs to), the same kind for all nodes.

use std::fmt;
use std::path::Path;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::source::{numbered, watched_json};
use crate::error::{Error, Result, shown};
use crate::graph::Labels;
use crate::progress::Progress;

/// Reads the map for a graph of `nodes` nodes; `find` knows their ids.
pub(super) fn read(
    path: &Path,
    nodes: usize,
    find: &dyn Fn(&str) -> Option<u32>,
    progress: &dyn Progress,
) -> Result<Labels> {
    let map = watched_json(path, MapSeed { nodes, find }, progress)?;
    let Some(width) = map.width else {
        return Ok(Labels::from_integers(&map.single));
    };
    // A node without a list would need a row that the file does not hold.
    if let Some(node) = map.rows.iter().position(|&row| row == u32::MAX) {
        return Err(Error::input(
            path,
            format!("has no list of classes for node number {node}"),
            "give every node a list, all noughts where it has no class",
        ));
    }
    let mut members = Vec::with_capacity(map.bits.len());
    for &row in &map.rows {
        let start = row as usize * width;
        members.extend_from_slice(&map.bits[start..start + width]);
    }
    Ok(Labels::Multi { members: members.into(), names: numbered(width) })
}

/// What has been read: classes by node, or lists in the order of the file.
struct Map {
    single: Vec<Option<i64>>,
    width: Option<usize>,
    bits: Vec<u8>,
    /// Which list is a node's; `u32::MAX` for none.
    rows: Vec<u32>,
}

struct MapSeed<'a> {
    nodes: usize,
    find: &'a dyn Fn(&str) -> Option<u32>,
}

impl<'de> DeserializeSeed<'de> for MapSeed<'_> {
    type Value = Map;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Map, D::Error> {
        source.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for MapSeed<'_> {
    type Value = Map;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object from node ids to classes")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Map, A::Error> {
        let nodes = self.nodes;
        let mut map = Map {
            single: vec![None; nodes],
            width: None,
            bits: Vec::new(),
            rows: vec![u32::MAX; nodes],
        };
        let mut seen = 0;
        while let Some(id) = entries.next_key::<String>()? {
            let refuse = |problem: &str| A::Error::custom(format!("node {} {problem}", shown(&id)));
            let Some(node) = (self.find)(&id) else {
                return Err(refuse("is not in the graph"));
            };
            let node = node as usize;
            if map.single[node].is_some() || map.rows[node] != u32::MAX {
                return Err(refuse("has its classes twice"));
            }
            let before = map.bits.len();
            let class = entries.next_value_seed(ClassSeed { bits: &mut map.bits })?;
            let width = class.is_none().then_some(map.bits.len() - before);
            if seen == 0 {
                map.width = width;
            } else if map.width != width {
                return Err(refuse("has another number of classes than the nodes before it"));
            }
            match class {
                Some(class) => map.single[node] = Some(class),
                None => map.rows[node] = seen,
            }
            seen += 1;
        }
        Ok(map)
    }
}

/// One class as an integer, or a list that is added to `bits` (then `None`).
struct ClassSeed<'a> {
    bits: &'a mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for ClassSeed<'_> {
    type Value = Option<i64>;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Option<i64>, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ClassSeed<'_> {
    type Value = Option<i64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer or a list of noughts and ones")
    }

    fn visit_i64<E: serde::de::Error>(self, class: i64) -> Result<Option<i64>, E> {
        Ok(Some(class))
    }

    fn visit_u64<E: serde::de::Error>(self, class: u64) -> Result<Option<i64>, E> {
        i64::try_from(class).map(Some).map_err(|_| E::custom(format!("class {class} is too large")))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Option<i64>, A::Error> {
        let before = self.bits.len();
        while let Some(bit) = list.next_element::<f64>()? {
            if bit != 0.0 && bit != 1.0 {
                return Err(A::Error::custom(format!("{bit} is neither 0 nor 1")));
            }
            self.bits.push(u8::from(bit == 1.0));
        }
        if self.bits.len() == before {
            return Err(A::Error::custom("the list of classes is empty"));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    fn labels(text: &str) -> Result<Labels> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("class_map.json");
        std::fs::write(&path, text).unwrap();
        read(&path, 3, &|id| id.parse().ok().filter(|&node| node < 3), &Silent)
    }

    #[test]
    fn classes_are_single_or_many() {
        let Labels::Single { classes, names } = labels(r#"{"2": 7, "0": -1}"#).unwrap() else {
            panic!("single")
        };
        assert_eq!((&classes[..], names), (&[0, -1, 1][..], vec!["-1".into(), "7".into()]));
        let many = r#"{"2": [1, 0], "0": [0.0, 1.0], "1": [0, 0]}"#;
        let Labels::Multi { members, names } = labels(many).unwrap() else { panic!("multi") };
        assert_eq!((&members[..], names.len()), (&[0, 1, 0, 0, 1, 0][..], 2));
    }

    #[test]
    fn wrong_maps_are_refused_with_line_and_reason() {
        for (text, reason) in [
            ("{\"0\": 1,\n\"5\": 1}", "json:2: column 4: node \"5\" is not in the graph"),
            (r#"{"0": 1, "0": 1}"#, "twice"),
            (r#"{"0": [1], "0": [1]}"#, "twice"),
            (r#"{"0": [1, 0], "1": [1]}"#, "another number of classes"),
            (r#"{"0": 1, "1": [1]}"#, "another number of classes"),
            (r#"{"0": [1, 2]}"#, "2 is neither 0 nor 1"),
            (r#"{"0": [1, 0]}"#, "no list of classes for node number 1"),
            (r#"{"0": []}"#, "empty"),
            (r#"{"0": "a"}"#, "expected an integer or a list"),
            (r#"{"0": 18446744073709551615}"#, "too large"),
            (r#"{"0": 1"#, "EOF"),
            (r#"{"0": 1} {}"#, "trailing"),
            ("[1]", "expected an object"),
        ] {
            let error = labels(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        let deep = format!("{{\"0\": {}", "[".repeat(100_000));
        assert!(labels(&deep).is_err());
    }
}
