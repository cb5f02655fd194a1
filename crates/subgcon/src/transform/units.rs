//! In which unit is each column?
//!
//! Words and other marks share one: a node has some of them, and most entries are zero.
//! Measures (an age, a price, a coordinate of another embedding) are there for every node, each in a unit
//! of its own; left alone, the one with the largest numbers is all that a row of norm 1
//! tells. A column is a *measure* where more than half of the nodes have an entry other than
//! zero, not all of these are the same, and they differ by more than rounding.
//!
//! Features are a *table of measures* where measures are a tenth of their entries, or
//! outweigh all others together (Σ x²). Bags of words, in which a few words may be
//! everywhere, are none: of the graphs in docs/results.md measures are 0.055 of the
//! entries at the most. Then
//!
//! - a measure becomes (x − mean) / deviation,
//! - another column is divided by the root mean square of its entries: marks stay 1, sums
//!   of money that few nodes have come to about that.
//!
//! So an embedding does not depend on the units. Nodes without any feature (they have no row in the
//! user's table) count for nothing here, and stay at zero, the mean.

use super::columns::{Column, Moments};
use super::over;

/// The share of entries that makes features a table of measures.
const SHARE: f64 = 0.1;

/// Deviations below this part of a column's size are rounding.
const ROUNDING: f64 = 1e-6;

/// A unit for each column.
#[derive(Debug)]
pub(super) struct Units {
    /// (width): subtracted; 0 where a column is no measure.
    pub(super) shift: Vec<f32>,
    /// (width): multiplied with, after that.
    pub(super) scale: Vec<f32>,
    /// Which columns are measures, rising.
    pub(super) measures: Vec<u32>,
}

/// Units of a table of measures; none where features are something else. The moments are
/// those of nodes that have features.
pub(super) fn units(moments: &Moments) -> Option<Units> {
    let is_measure = |column: &Column| {
        let size = (column.squares / moments.nodes.max(1) as f64).sqrt();
        2 * column.entries > moments.nodes && !column.alike && column.deviation > ROUNDING * size
    };
    let (mut entries, mut squares) = ([0f64; 2], [0f64; 2]);
    for column in &moments.columns {
        let kind = usize::from(is_measure(column));
        entries[kind] += column.entries as f64;
        squares[kind] += column.squares;
    }
    let many = entries[1] > 0.0 && entries[1] >= SHARE * (entries[0] + entries[1]);
    if !many && squares[1] <= squares[0] {
        return None;
    }
    let mut units = Units { shift: Vec::new(), scale: Vec::new(), measures: Vec::new() };
    for (at, column) in (0u32..).zip(&moments.columns) {
        let (shift, size) = if is_measure(column) {
            units.measures.push(at);
            (column.mean, column.deviation)
        } else {
            (0.0, (column.squares / column.entries.max(1) as f64).sqrt())
        };
        units.shift.push(shift as f32);
        units.scale.push(over(size));
    }
    Some(units)
}
