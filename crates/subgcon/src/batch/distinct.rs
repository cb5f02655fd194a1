//! Which rows are the same?
//!
//! A node stands in many contexts, and in most of them with the same neighbours. One layer makes a row from
//! the unit that it shows and from the units and weights of its arcs, so rows that have these in common
//! are one: a layer that does much for a row (attention, or a second product) does it once. A step of GIN on
//! Cora takes half the time, on Pubmed, where fewer rows are alike, a tenth less.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use super::assemble::rows_of_units;
use super::{Arcs, Batch, Units};

impl Batch<f32> {
    /// The same for an encoder of one layer, each row once. All rows are one piece then, and
    /// an arc leads to the first row that shows its unit, whichever context that is in: only a
    /// second layer could tell the difference. Units and their first rows are numbered in one order, so
    /// heads rise here, too.
    #[must_use]
    pub(crate) fn distinct(mut self) -> Batch<f32> {
        let Units::Shown { of_row, rows: lists } = &self.units else { return self };
        let units = lists.offsets.len() - 1;
        let known = DefaultHashBuilder::default();
        // A row is its unit, then unit and weight of its arcs; rows lie end to end.
        let (mut words, mut ends) = (Vec::<u32>::new(), vec![0usize]);
        let mut table: HashTable<u32> = HashTable::with_capacity(of_row.len());
        let mut number = Vec::with_capacity(of_row.len());
        let mut first_of_unit = vec![u32::MAX; units];
        let (mut shown, mut arcs) = (Vec::new(), Arcs { offsets: vec![0], ..Arcs::default() });
        let mut drawn_on = Vec::new();
        for (row, &unit) in of_row.iter().enumerate() {
            let (heads, weights) = self.arcs.of(row);
            // In an order that contexts have in common.
            drawn_on.clear();
            drawn_on.extend(heads.iter().map(|&head| of_row[head as usize]).zip(weights));
            drawn_on.sort_unstable_by_key(|(unit, _)| *unit);
            let start = ends[ends.len() - 1];
            words.push(unit);
            words.extend(drawn_on.iter().flat_map(|(unit, weight)| [*unit, weight.to_bits()]));
            let of = |row: &u32| &words[ends[*row as usize]..ends[*row as usize + 1]];
            let hash = known.hash_one(&words[start..]);
            if let Some(&same) = table.find(hash, |row| *of(row) == words[start..]) {
                words.truncate(start);
                number.push(same);
                continue;
            }
            let new = shown.len() as u32;
            number.push(new);
            ends.push(words.len());
            table.insert_unique(hash, new, |row| {
                known.hash_one(&words[ends[*row as usize]..ends[*row as usize + 1]])
            });
            let first = &mut first_of_unit[unit as usize];
            *first = new.min(*first);
            shown.push(unit);
            // Units for now: their first rows may still be to come.
            arcs.heads.extend(drawn_on.iter().map(|(unit, _)| *unit));
            arcs.weights.extend(drawn_on.iter().map(|(_, weight)| **weight));
            arcs.offsets.push(arcs.heads.len() as u32);
        }
        arcs.heads.iter_mut().for_each(|head| *head = first_of_unit[*head as usize]);
        self.units = Units::Shown { rows: rows_of_units(units, &shown), of_row: shown };
        self.pieces = vec![0, arcs.offsets.len() as u32 - 1];
        self.arcs = arcs;
        let rows = self.centers.iter_mut().chain(&mut self.members.rows);
        rows.for_each(|row| *row = number[*row as usize]);
        self
    }
}
