//! Nodes that only edges name.
//!
//! Without a node table the nodes are those that occur in an edge, in the
//! order of their ids: integers by value, texts by their bytes. So the graph
//! does not depend on the order of the rows. Small integers need no dictionary
//! (a bitmap of those seen gives each its rank); others are numbered as they
//! come and renumbered at the end.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::hash_table::{Entry, HashTable};
use hashbrown::{DefaultHashBuilder, HashMap};
use rayon::prelude::*;

use super::values::RawIds;
use crate::error::Result;
use crate::graph::{EdgeChunk, EdgeList, Ids, Strings, node_count};

/// Edges whose ends are ids still: some rows of a table.
pub(super) struct RawEdges {
    pub(super) sources: RawIds,
    pub(super) targets: RawIds,
    pub(super) weights: Vec<f32>,
}

/// The same in little memory, made by whichever thread read the rows.
pub(super) enum Compact {
    /// Ends are the ids themselves.
    Narrow(EdgeChunk),
    /// Ends are places in a list of ids.
    Wide(Vec<i64>, EdgeChunk),
    Text(Strings, EdgeChunk),
}

impl RawEdges {
    pub(super) fn compact(self) -> Compact {
        let weights = self.weights;
        match (self.sources, self.targets) {
            (RawIds::Integers(sources), RawIds::Integers(targets)) => {
                match (narrow(&sources), narrow(&targets)) {
                    (Some(sources), Some(targets)) => {
                        Compact::Narrow(EdgeChunk { sources, targets, weights })
                    }
                    _ => {
                        let mut ids = WideIds::default();
                        let sources = sources.iter().map(|&id| ids.code(id)).collect();
                        let targets = targets.iter().map(|&id| ids.code(id)).collect();
                        Compact::Wide(ids.ids, EdgeChunk { sources, targets, weights })
                    }
                }
            }
            (sources, targets) => {
                let mut ids = TextIds::default();
                let mut codes = |column: RawIds| match column {
                    RawIds::Integers(column) => {
                        column.iter().map(|id| ids.code(&id.to_string())).collect()
                    }
                    RawIds::Texts(column) => column.iter().map(|id| ids.code(id)).collect(),
                };
                let (sources, targets) = (codes(sources), codes(targets));
                Compact::Text(ids.ids, EdgeChunk { sources, targets, weights })
            }
        }
    }
}

fn narrow(ids: &[i64]) -> Option<Vec<u32>> {
    // Two passes that a compiler turns into vector code beat one that branches.
    let fits = ids.iter().fold(0, |all, &id| all | (id as u64 >> 32)) == 0;
    fits.then(|| ids.iter().map(|&id| id as u32).collect())
}

/// Numbers integers in the order in which they come.
#[derive(Default)]
struct WideIds {
    ids: Vec<i64>,
    codes: HashMap<i64, u32>,
}

impl WideIds {
    fn code(&mut self, id: i64) -> u32 {
        *self.codes.entry(id).or_insert_with(|| {
            self.ids.push(id);
            (self.ids.len() - 1) as u32
        })
    }
}

/// Numbers texts in the order in which they come.
#[derive(Default)]
struct TextIds {
    ids: Strings,
    codes: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl TextIds {
    fn code(&mut self, id: &str) -> u32 {
        let TextIds { ids, codes, hasher } = self;
        let same = |&code: &u32| ids.get(code as usize) == id;
        let hash = |&code: &u32| hasher.hash_one(ids.get(code as usize));
        match codes.entry(hasher.hash_one(id), same, hash) {
            Entry::Occupied(code) => *code.get(),
            Entry::Vacant(place) => {
                let code = ids.len() as u32;
                place.insert(code);
                ids.push(id);
                code
            }
        }
    }
}

/// Edges so far, and the ids that their ends stand for.
#[derive(Default)]
pub(super) struct Discovery {
    edges: EdgeList,
    found: Found,
}

#[derive(Default)]
enum Found {
    #[default]
    Narrow,
    Wide(WideIds),
    Text(TextIds),
}

impl Discovery {
    pub(super) fn push(&mut self, piece: Compact) -> Result<()> {
        match (&self.found, &piece) {
            (Found::Narrow, Compact::Wide(..)) => self.widen(),
            (Found::Narrow | Found::Wide(_), Compact::Text(..)) => self.spell(),
            _ => {}
        }
        let chunk = match (&mut self.found, piece) {
            (Found::Narrow, Compact::Narrow(chunk)) => chunk,
            (Found::Wide(ids), Compact::Narrow(chunk)) => {
                renumbered(chunk, |id| ids.code(id.into()))
            }
            (Found::Wide(ids), Compact::Wide(local, chunk)) => {
                let codes: Vec<u32> = local.iter().map(|&id| ids.code(id)).collect();
                renumbered(chunk, |code| codes[code as usize])
            }
            (Found::Text(ids), Compact::Narrow(chunk)) => {
                renumbered(chunk, |id| ids.code(&id.to_string()))
            }
            (Found::Text(ids), Compact::Wide(local, chunk)) => {
                let codes: Vec<u32> = local.iter().map(|id| ids.code(&id.to_string())).collect();
                renumbered(chunk, |code| codes[code as usize])
            }
            (Found::Text(ids), Compact::Text(local, chunk)) => {
                let codes: Vec<u32> = local.iter().map(|id| ids.code(id)).collect();
                renumbered(chunk, |code| codes[code as usize])
            }
            (Found::Narrow | Found::Wide(_), _) => unreachable!("widened or spelled above"),
        };
        // Codes are u32 too: more ids than that would wrap around.
        match &self.found {
            Found::Narrow => {}
            Found::Wide(ids) => drop(node_count(ids.ids.len() as u64)?),
            Found::Text(ids) => drop(node_count(ids.ids.len() as u64)?),
        }
        self.edges.append(&chunk);
        Ok(())
    }

    /// From ids to codes, since one does not fit in 32 bits.
    fn widen(&mut self) {
        let mut ids = WideIds::default();
        for chunk in self.edges.chunks_mut() {
            renumber(chunk, |id| ids.code(id.into()));
        }
        self.found = Found::Wide(ids);
    }

    /// From integers to texts, since one id is a text.
    fn spell(&mut self) {
        let mut texts = TextIds::default();
        let wide = match std::mem::take(&mut self.found) {
            Found::Wide(ids) => Some(ids.ids),
            _ => None,
        };
        for chunk in self.edges.chunks_mut() {
            renumber(chunk, |code| {
                let id = wide.as_ref().map_or(i64::from(code), |ids| ids[code as usize]);
                texts.code(&id.to_string())
            });
        }
        self.found = Found::Text(texts);
    }

    /// All edges are in: the nodes, and the edges between their numbers. Ids of
    /// a node table come first and in its order; the last number tells how many
    /// nodes were created beside them.
    pub(super) fn finish(mut self, table: Option<&Ids>) -> Result<(Ids, EdgeList, u64)> {
        if let (Found::Narrow, None) = (&self.found, table)
            && let Some(ids) = self.rank_narrow()?
        {
            return Ok((ids, self.edges, 0));
        }
        let spelled = matches!(table, Some(Ids::Strings(_)));
        match (&self.found, spelled) {
            (Found::Narrow | Found::Wide(_), true) => self.spell(),
            (Found::Narrow, false) => self.widen(),
            _ => {}
        }
        let (ids, numbers, created) = match self.found {
            Found::Wide(found) => number_integers(&found.ids, table)?,
            Found::Text(found) => number_texts(&found.ids, table)?,
            Found::Narrow => unreachable!("widened above"),
        };
        self.edges
            .chunks_mut()
            .par_iter_mut()
            .for_each(|chunk| renumber(chunk, |code| numbers[code as usize]));
        Ok((ids, self.edges, if table.is_some() { created } else { 0 }))
    }

    /// Gives each id its rank by a bitmap, or nothing where ids are so far apart
    /// that the bitmap would take more memory than the edges.
    fn rank_narrow(&mut self) -> Result<Option<Ids>> {
        let ends = |chunk: &EdgeChunk| {
            chunk.sources.iter().chain(&chunk.targets).copied().max().unwrap_or(0)
        };
        let largest = self.edges.chunks().par_iter().map(ends).max();
        let Some(largest) = largest else { return Ok(Some(Ids::Range(0))) };
        if u64::from(largest) / 64 > self.edges.len() + (1 << 16) {
            return Ok(None);
        }
        let seen: Vec<AtomicU64> = (0..=largest / 64).map(|_| AtomicU64::new(0)).collect();
        self.edges.chunks().par_iter().for_each(|chunk| {
            for &id in chunk.sources.iter().chain(&chunk.targets) {
                let (word, bit) = (&seen[(id / 64) as usize], 1 << (id % 64));
                if word.load(Ordering::Relaxed) & bit == 0 {
                    word.fetch_or(bit, Ordering::Relaxed);
                }
            }
        });
        let seen: Vec<u64> = seen.into_iter().map(AtomicU64::into_inner).collect();
        let mut before = Vec::with_capacity(seen.len());
        let mut count = 0u64;
        for word in &seen {
            before.push(count as u32);
            count += u64::from(word.count_ones());
        }
        if count == u64::from(largest) + 1 {
            return Ok(Some(Ids::Range(node_count(count)?)));
        }
        let rank = |id: u32| {
            let word = (id / 64) as usize;
            before[word] + (seen[word] & ((1 << (id % 64)) - 1)).count_ones()
        };
        self.edges.chunks_mut().par_iter_mut().for_each(|chunk| renumber(chunk, rank));
        let mut ids = Vec::with_capacity(count as usize);
        for (word, &bits) in seen.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                ids.push(word as i64 * 64 + i64::from(bits.trailing_zeros()));
                bits &= bits - 1;
            }
        }
        Ok(Some(Ids::from_integers(ids)))
    }
}

fn renumber(chunk: &mut EdgeChunk, mut number: impl FnMut(u32) -> u32) {
    chunk.sources.iter_mut().for_each(|end| *end = number(*end));
    chunk.targets.iter_mut().for_each(|end| *end = number(*end));
}

fn renumbered(mut chunk: EdgeChunk, number: impl FnMut(u32) -> u32) -> EdgeChunk {
    renumber(&mut chunk, number);
    chunk
}

/// Numbers for codes: known ids have theirs, the others follow in their order.
fn number_codes(
    codes: usize,
    known: impl Fn(usize) -> Option<u32>,
    mut order: impl FnMut(&mut Vec<usize>),
    first: u64,
) -> Result<(Vec<u32>, Vec<usize>)> {
    let mut numbers = vec![0u32; codes];
    let mut unknown = Vec::new();
    for (code, number) in numbers.iter_mut().enumerate() {
        match known(code) {
            Some(node) => *number = node,
            None => unknown.push(code),
        }
    }
    order(&mut unknown);
    node_count(first + unknown.len() as u64)?;
    for (place, &code) in unknown.iter().enumerate() {
        numbers[code] = (first + place as u64) as u32;
    }
    Ok((numbers, unknown))
}

type Numbered = (Ids, Vec<u32>, u64);

fn number_integers(found: &[i64], table: Option<&Ids>) -> Result<Numbered> {
    let mut ids: Vec<i64> = match table {
        Some(Ids::Integers(ids)) => ids.to_vec(),
        Some(Ids::Range(n)) => (0..i64::from(*n)).collect(),
        _ => Vec::new(),
    };
    let index = table.and_then(|table| table.index().ok());
    let (numbers, unknown) = number_codes(
        found.len(),
        |code| index.as_ref()?.integer(found[code]),
        |codes| codes.sort_unstable_by_key(|&code| found[code]),
        ids.len() as u64,
    )?;
    ids.extend(unknown.iter().map(|&code| found[code]));
    Ok((Ids::from_integers(ids), numbers, unknown.len() as u64))
}

fn number_texts(found: &Strings, table: Option<&Ids>) -> Result<Numbered> {
    let mut ids = Strings::default();
    if let Some(table) = table {
        (0..table.len() as u32).for_each(|node| ids.push(&table.text(node)));
    }
    let index = table.and_then(|table| table.index().ok());
    let (numbers, unknown) = number_codes(
        found.len(),
        |code| index.as_ref()?.text(found.get(code).as_bytes()),
        |codes| codes.sort_unstable_by_key(|&code| found.get(code)),
        ids.len() as u64,
    )?;
    ids.extend(unknown.iter().map(|&code| found.get(code)));
    Ok((Ids::Strings(ids), numbers, unknown.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discover(pieces: Vec<RawEdges>, table: Option<&Ids>) -> (Vec<String>, Vec<(u32, u32)>, u64) {
        let mut discovery = Discovery::default();
        pieces.into_iter().for_each(|piece| discovery.push(piece.compact()).unwrap());
        let (ids, edges, created) = discovery.finish(table).unwrap();
        let texts = (0..ids.len() as u32).map(|node| ids.text(node)).collect();
        let pairs = edges
            .chunks()
            .iter()
            .flat_map(|chunk| chunk.sources.iter().copied().zip(chunk.targets.iter().copied()))
            .collect();
        (texts, pairs, created)
    }

    fn integers(pairs: &[(i64, i64)]) -> RawEdges {
        RawEdges {
            sources: RawIds::Integers(pairs.iter().map(|pair| pair.0).collect()),
            targets: RawIds::Integers(pairs.iter().map(|pair| pair.1).collect()),
            weights: Vec::new(),
        }
    }

    fn texts(pairs: &[(&str, &str)]) -> RawEdges {
        RawEdges {
            sources: RawIds::Texts(pairs.iter().map(|pair| pair.0).collect()),
            targets: RawIds::Texts(pairs.iter().map(|pair| pair.1).collect()),
            weights: Vec::new(),
        }
    }

    #[test]
    fn integers_are_numbered_by_value() {
        let near = discover(vec![integers(&[(9, 4)]), integers(&[(70, 9)])], None);
        assert_eq!(near, (vec!["4".into(), "9".into(), "70".into()], vec![(1, 0), (2, 1)], 0));
        let far = discover(vec![integers(&[(9, 4)]), integers(&[(-5, 1 << 40), (4, 9)])], None);
        assert_eq!(far.0, ["-5", "4", "9", "1099511627776"]);
        assert_eq!(far.1, [(2, 1), (0, 3), (1, 2)]);
        let sparse = discover(vec![integers(&[(4_000_000_000, 7)])], None);
        assert_eq!(sparse, (vec!["7".into(), "4000000000".into()], vec![(1, 0)], 0));
    }

    #[test]
    fn one_text_makes_all_ids_texts() {
        let pieces = vec![integers(&[(10, 9)]), integers(&[(1 << 40, 9)]), texts(&[("b", "10")])];
        let (ids, pairs, _) = discover(pieces, None);
        assert_eq!(ids, ["10", "1099511627776", "9", "b"]);
        assert_eq!(pairs, [(0, 2), (1, 2), (3, 0)]);
    }

    #[test]
    fn nodes_of_a_table_keep_their_numbers() {
        let table = Ids::from_integers(vec![50, 40]);
        let found = discover(vec![integers(&[(40, 7), (50, 3)])], Some(&table));
        assert_eq!(found.0, ["50", "40", "3", "7"]);
        assert_eq!((found.1, found.2), (vec![(1, 3), (0, 2)], 2));
        let table = Ids::Strings(["x", "3"].into_iter().collect());
        let found = discover(vec![integers(&[(3, 7)])], Some(&table));
        assert_eq!(found, (vec!["x".into(), "3".into(), "7".into()], vec![(1, 2)], 1));
    }
}
