//! In which unit is each column?
//!
//! Words and other marks share one: a node has some of them, and most entries are zero.
//! Measures (an age, a price, a coordinate of another embedding) are there for every node, each in a unit
//! of its own; left alone, the one with the largest numbers is all that a row of norm 1
//! tells. A column is
//!
//! - a *mark* where all entries other than zero are the same;
//! - a *measure* where more than half of the nodes have an entry other than zero, these
//!   differ, and by more than rounding.
//!
//! Features are a *table of measures* where measures have at least half of the entries that are no
//! marks. Counts and weights of words are none, also where some words are
//! nearly everywhere: of the graphs in docs/results.md measures have 0.059 of those entries
//! at the most, and of texts with all their stop words about a fifth. Then
//!
//! - a measure becomes (x − mean) / deviation,
//! - another column is divided by the root mean square of its entries: marks become 1, sums
//!   of money that few nodes have come to about that.
//!
//! None of this depends on the units.
//!
//! A node whose row is all zeros may have none in the user's table. It is taken for such where some measure
//! is never zero otherwise; then it counts for nothing here, and stays at zero, the mean.
//! Where every measure may be zero, as counts are, it is a row like any other.

use super::columns::{Column, Moments, moments};
use super::over;
use crate::graph::Features;

/// Deviations below this part of a column's size are rounding.
const ROUNDING: f64 = 1e-6;

/// What is known of a table of measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measures {
    /// Which columns are measures, rising.
    pub columns: Vec<u32>,
    /// Whether a row of zeros is that of a node of which nothing is known.
    pub absent: bool,
}

/// A unit for each column.
#[derive(Debug)]
pub(super) struct Units {
    /// (width): subtracted; 0 where a column is no measure.
    pub(super) shift: Vec<f32>,
    /// (width): multiplied with, after that.
    pub(super) scale: Vec<f32>,
    pub(super) measures: Measures,
}

/// Units of a table of measures; none where features are something else.
pub(super) fn units(features: &Features) -> Option<Units> {
    let described = moments(features, true);
    if !described.is_table() {
        return None;
    }
    let mut columns = described.columns.iter();
    let absent =
        columns.any(|column| described.is_measure(column) && column.entries == described.nodes);
    let moments = if absent { described } else { moments(features, false) };
    if !moments.is_table() {
        return None;
    }
    let measures = Measures { columns: Vec::new(), absent };
    let mut units = Units { shift: Vec::new(), scale: Vec::new(), measures };
    for (at, column) in (0u32..).zip(&moments.columns) {
        let (shift, size) = if moments.is_measure(column) {
            units.measures.columns.push(at);
            (column.mean, column.deviation)
        } else {
            (0.0, (column.squares / column.entries.max(1) as f64).sqrt())
        };
        units.shift.push(shift as f32);
        units.scale.push(over(size));
    }
    Some(units)
}

impl Moments {
    fn is_measure(&self, column: &Column) -> bool {
        let size = (column.squares / self.nodes.max(1) as f64).sqrt();
        2 * column.entries > self.nodes
            && !column.alike
            && column.deviation > ROUNDING * size
            // Nothing that is not zero can be multiplied with more.
            && ((1.0 / column.deviation) as f32).is_finite()
    }

    /// Whether measures have half of what is no mark.
    fn is_table(&self) -> bool {
        let mut entries = [0; 2];
        for column in self.columns.iter().filter(|column| !column.alike) {
            entries[usize::from(self.is_measure(column))] += column.entries;
        }
        entries[1] > 0 && entries[1] >= entries[0]
    }
}
