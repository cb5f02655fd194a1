//! The user's own names for nodes.
//!
//! Ids go in and come out unchanged, whatever they are: integers or text. The
//! program itself only speaks of node numbers.

use hashbrown::hash_table::{Entry, HashTable};
use hashbrown::{DefaultHashBuilder, HashMap};
use std::hash::BuildHasher;

use crate::math::Array;

/// Texts, one after another in one buffer.
#[derive(Debug, Clone)]
pub struct Strings {
    /// n + 1 rising places in `text`, each between two characters.
    offsets: Vec<u64>,
    text: String,
}

impl Strings {
    /// Adds a text.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.offsets.push(self.text.len() as u64);
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One text.
    pub fn get(&self, index: usize) -> &str {
        &self.text[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }

    /// All texts in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index))
    }
}

impl Default for Strings {
    fn default() -> Strings {
        Strings { offsets: vec![0], text: String::new() }
    }
}

impl<S: AsRef<str>> Extend<S> for Strings {
    fn extend<I: IntoIterator<Item = S>>(&mut self, texts: I) {
        texts.into_iter().for_each(|text| self.push(text.as_ref()));
    }
}

impl<S: AsRef<str>> FromIterator<S> for Strings {
    fn from_iter<I: IntoIterator<Item = S>>(texts: I) -> Strings {
        let mut strings = Strings::default();
        strings.extend(texts);
        strings
    }
}

/// One id a node, in the order of the nodes.
#[derive(Debug, Clone)]
pub enum Ids {
    /// A node's id is its number: 0 to n - 1.
    Range(u32),
    /// Integers of any size and order.
    Integers(Array<i64>),
    /// Texts.
    Strings(Strings),
}

/// Two nodes with the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateId {
    /// The id as text.
    pub id: String,
    /// The row where it stood first.
    pub first: u32,
    /// The row where it stands again.
    pub again: u32,
}

impl Ids {
    /// Integers, or [`Ids::Range`] where they are 0 to n - 1 in order.
    pub fn from_integers(ids: Vec<i64>) -> Ids {
        if ids.iter().enumerate().all(|(node, &id)| id == node as i64) {
            Ids::Range(ids.len() as u32)
        } else {
            Ids::Integers(ids.into())
        }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        match self {
            Ids::Range(n) => *n as usize,
            Ids::Integers(ids) => ids.len(),
            Ids::Strings(ids) => ids.len(),
        }
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of a node as text.
    pub fn text(&self, node: u32) -> String {
        match self {
            Ids::Range(_) => node.to_string(),
            Ids::Integers(ids) => ids[node as usize].to_string(),
            Ids::Strings(ids) => ids.get(node as usize).to_owned(),
        }
    }

    /// The node with this id, by looking at all of them: for a single question.
    pub fn find(&self, id: &str) -> Option<u32> {
        match self {
            Ids::Range(n) => canonical_integer(id.as_bytes())
                .filter(|&id| (0..i64::from(*n)).contains(&id))
                .map(|id| id as u32),
            Ids::Integers(ids) => {
                let id = canonical_integer(id.as_bytes())?;
                ids.iter().position(|&other| other == id).map(|node| node as u32)
            }
            Ids::Strings(ids) => ids.iter().position(|other| other == id).map(|node| node as u32),
        }
    }

    /// An index for many questions; the error is an id that two nodes have.
    pub fn index(&self) -> Result<IdIndex<'_>, DuplicateId> {
        match self {
            Ids::Range(n) => Ok(IdIndex::Range(*n)),
            Ids::Integers(ids) => IdIndex::of_integers(ids),
            Ids::Strings(ids) => IdIndex::of_strings(ids),
        }
    }
}

/// Finds the node behind an id.
#[derive(Debug)]
pub enum IdIndex<'a> {
    /// An id is its node's number.
    Range(u32),
    /// Integers from a range not much longer than their number: a table.
    Table {
        /// The smallest id.
        smallest: i64,
        /// Node by id - smallest; `u32::MAX` where there is none.
        nodes: Vec<u32>,
    },
    /// Integers from anywhere.
    Integers(HashMap<i64, u32>),
    /// Texts, by their hash.
    Strings {
        /// The texts themselves.
        ids: &'a Strings,
        /// Nodes.
        table: HashTable<u32>,
        /// The hash function.
        hasher: DefaultHashBuilder,
    },
}

impl<'a> IdIndex<'a> {
    fn of_integers(ids: &[i64]) -> Result<IdIndex<'a>, DuplicateId> {
        let duplicate = |first: u32, again: usize| DuplicateId {
            id: ids[again].to_string(),
            first,
            again: again as u32,
        };
        let smallest = ids.iter().copied().min().unwrap_or(0);
        let largest = ids.iter().copied().max().unwrap_or(0);
        let span = largest.abs_diff(smallest);
        if span < 8 * ids.len() as u64 + 1024 {
            let mut nodes = vec![u32::MAX; span as usize + 1];
            for (node, &id) in ids.iter().enumerate() {
                let place = &mut nodes[id.abs_diff(smallest) as usize];
                if *place != u32::MAX {
                    return Err(duplicate(*place, node));
                }
                *place = node as u32;
            }
            return Ok(IdIndex::Table { smallest, nodes });
        }
        let mut map = HashMap::with_capacity(ids.len());
        for (node, &id) in ids.iter().enumerate() {
            if let Some(first) = map.insert(id, node as u32) {
                return Err(duplicate(first, node));
            }
        }
        Ok(IdIndex::Integers(map))
    }

    fn of_strings(ids: &'a Strings) -> Result<IdIndex<'a>, DuplicateId> {
        let hasher = DefaultHashBuilder::default();
        let mut table = HashTable::with_capacity(ids.len());
        for (node, id) in ids.iter().enumerate() {
            let hash = hasher.hash_one(id);
            let same = |&other: &u32| ids.get(other as usize) == id;
            let rehash = |&other: &u32| hasher.hash_one(ids.get(other as usize));
            match table.entry(hash, same, rehash) {
                Entry::Vacant(place) => {
                    place.insert(node as u32);
                }
                Entry::Occupied(place) => {
                    return Err(DuplicateId {
                        id: id.to_owned(),
                        first: *place.get(),
                        again: node as u32,
                    });
                }
            }
        }
        Ok(IdIndex::Strings { ids, table, hasher })
    }

    /// The node with this integer id; among texts, the one that spells it.
    #[inline]
    pub fn integer(&self, id: i64) -> Option<u32> {
        match self {
            IdIndex::Range(n) => (0..i64::from(*n)).contains(&id).then_some(id as u32),
            IdIndex::Table { smallest, nodes } => {
                if id < *smallest {
                    return None;
                }
                let place = usize::try_from(id.abs_diff(*smallest)).ok()?;
                nodes.get(place).copied().filter(|&node| node != u32::MAX)
            }
            IdIndex::Integers(map) => map.get(&id).copied(),
            IdIndex::Strings { .. } => self.text(id.to_string().as_bytes()),
        }
    }

    /// The node with this id; among integers, the one that it spells.
    #[inline]
    pub fn text(&self, id: &[u8]) -> Option<u32> {
        match self {
            IdIndex::Strings { ids, table, hasher } => {
                let id = std::str::from_utf8(id).ok()?;
                table.find(hasher.hash_one(id), |&node| ids.get(node as usize) == id).copied()
            }
            _ => self.integer(canonical_integer(id)?),
        }
    }
}

/// An integer in the one way it is normally written: no plus sign, no leading
/// zeros, no minus zero. "007" is a text, not the number 7.
#[inline]
pub(crate) fn canonical_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let leading_zero = digits.len() > 1 && digits[0] == b'0';
    if digits.is_empty() || digits.len() > 19 || leading_zero || (negative && digits == b"0") {
        return None;
    }
    let mut value: u64 = 0;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    match negative {
        false => i64::try_from(value).ok(),
        true => 0i64.checked_sub_unsigned(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_only_as_they_are_written() {
        for (text, value) in [
            ("0", Some(0)),
            ("-7", Some(-7)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("99999999999999999999", None),
            ("007", None),
            ("-0", None),
            ("+1", None),
            ("", None),
            ("-", None),
            ("1 ", None),
            ("1.0", None),
        ] {
            assert_eq!(canonical_integer(text.as_bytes()), value, "{text}");
        }
    }

    #[test]
    fn every_kind_of_index_finds_the_same_nodes() {
        let kinds = [
            Ids::from_integers(vec![5, 3, -2, 4]),
            Ids::from_integers(vec![5, 3, -2, 1 << 60]),
            Ids::Strings(["5", "3", "-2", "x y"].into_iter().collect()),
        ];
        for ids in &kinds {
            let index = ids.index().unwrap();
            for node in 0..4 {
                let text = ids.text(node);
                assert_eq!(index.text(text.as_bytes()), Some(node), "{text}");
                assert_eq!(ids.find(&text), Some(node), "{text}");
            }
            assert_eq!(index.integer(3), Some(1));
            for absent in [6, i64::MIN, i64::MAX] {
                assert_eq!(index.integer(absent), None);
            }
            assert_eq!(ids.find("nobody"), None);
        }
    }

    #[test]
    fn a_range_needs_no_table() {
        let ids = Ids::from_integers(vec![0, 1, 2]);
        assert!(matches!(ids, Ids::Range(3)));
        let index = ids.index().unwrap();
        assert_eq!((index.integer(2), index.integer(3), index.integer(-1)), (Some(2), None, None));
        assert_eq!((index.text(b"1"), index.text(b"01"), ids.find("2")), (Some(1), None, Some(2)));
    }

    #[test]
    fn repeated_ids_are_reported_with_both_rows() {
        let duplicate = |id: &str| DuplicateId { id: id.into(), first: 0, again: 2 };
        let near = Ids::from_integers(vec![7, 8, 7]);
        assert_eq!(near.index().err(), Some(duplicate("7")));
        let far = Ids::from_integers(vec![1 << 50, 8, 1 << 50]);
        assert_eq!(far.index().err(), Some(duplicate("1125899906842624")));
        let texts = Ids::Strings(["a", "b", "a"].into_iter().collect());
        assert_eq!(texts.index().err(), Some(duplicate("a")));
    }
}
