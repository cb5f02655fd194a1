//! In which unit is each column?
//!
//! Words and other marks share one: a node has some of them, and most entries are zero.
//! Measures (an age, a price, a coordinate of another embedding) are there for every node, each in a unit
//! of its own; left alone, the one with the largest numbers is all that a row of norm 1
//! tells. A column is
//!
//! - a *mark* where all entries other than zero are the same, but for rounding;
//! - a *measure* where more than half of the nodes have an entry other than zero and these
//!   differ.
//!
//! Features are a *table of measures* where measures have at least half of the entries that are no
//! marks. Counts and weights of words are none, also where some words are
//! nearly everywhere: of the graphs in docs/results.md measures have 0.059 of those entries
//! at the most, and of texts with all their stop words about a fifth (but three quarters where only the
//! hundred most frequent words are kept). Then
//!
//! - a measure becomes (x − mean) / deviation,
//! - another column is divided by the root mean square of its entries: marks become 1, sums
//!   of money that few nodes have come to about that.
//!
//! None of this depends on the units. Where features are no such table but measures that are
//! never zero, or far from it, outweigh all other columns together by far ([`BY_FAR`], in Σ x²: a price beside
//! weighted words), these measures are brought to mean 0 and deviation 1, and the other columns are
//! divided by the root mean square of all their entries: an entry counts as much as a measure, and words
//! weigh beside each other what they did. A column that is the same for all nodes drowns nothing, since means are
//! subtracted later; there it becomes 1.
//!
//! A node whose row is all zeros may have none in the user's table. It is taken for such where some measure
//! is far from zero for the others (|mean| above three deviations), or where most nodes are so; then
//! it counts for nothing here, and stays at zero, the mean. Elsewhere zero is a number as good
//! as any, as it is for counts.

use super::columns::{Column, Moments, moments};
use super::over;
use crate::graph::Features;

/// By how much measures outweigh other columns that they would drown.
const BY_FAR: f64 = 20.0;

/// Deviations between zero and the mean of a measure that is hardly ever zero.
const FAR: f64 = 3.0;

/// What is known of measures in units of their own.
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

/// Units of features among which there are measures; none where there are no such.
pub(super) fn units(features: &Features) -> Option<Units> {
    let described = moments(features, true);
    let kind = described.kind()?;
    let mut columns = described.columns.iter();
    let far = columns.any(|column| described.is_measure(column) && column.is_far());
    let (absent, moments) = if far {
        (true, described)
    } else if described.nodes == features.nodes() {
        (false, described)
    } else {
        let all = Some(moments(features, false)).filter(|all| all.kind() == Some(kind));
        (all.is_none(), all.unwrap_or(described))
    };
    let measures = Measures { columns: Vec::new(), absent };
    let mut units = Units { shift: Vec::new(), scale: Vec::new(), measures };
    let others = moments.others();
    for (at, column) in (0u32..).zip(&moments.columns) {
        let (shift, size) = if moments.counts(column, kind) {
            units.measures.columns.push(at);
            (column.mean, column.deviation)
        } else if kind == Kind::Table || moments.is_constant(column) {
            (0.0, (column.squares / column.entries.max(1) as f64).sqrt())
        } else {
            (0.0, others)
        };
        units.shift.push(shift as f32);
        units.scale.push(over(size));
    }
    Some(units)
}

/// How measures are found among other columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A table of measures, and of marks.
    Table,
    /// Some that would drown the rest.
    Drowning,
}

impl Column {
    /// Whether zero is no number that it usually has.
    fn is_far(&self) -> bool {
        self.mean.abs() > FAR * self.deviation
    }
}

impl Moments {
    fn is_measure(&self, column: &Column) -> bool {
        2 * column.entries > self.nodes
            && !column.alike
            // Nothing that is not zero can be multiplied with more.
            && ((1.0 / column.deviation) as f32).is_finite()
    }

    /// The same for all nodes.
    fn is_constant(&self, column: &Column) -> bool {
        column.alike && column.entries == self.nodes
    }

    /// Whether it is a measure of such features.
    fn counts(&self, column: &Column, kind: Kind) -> bool {
        let never_zero = column.entries == self.nodes || column.is_far();
        self.is_measure(column) && (kind == Kind::Table || never_zero)
    }

    /// Root mean square of the entries that measures may drown.
    fn others(&self) -> f64 {
        let drowned =
            |column: &&Column| !self.counts(column, Kind::Drowning) && !self.is_constant(column);
        let columns = self.columns.iter().filter(drowned);
        let (entries, squares) = columns.fold((0, 0.0), |(entries, squares), column| {
            (entries + column.entries, squares + column.squares)
        });
        (squares / entries.max(1) as f64).sqrt()
    }

    fn kind(&self) -> Option<Kind> {
        let (mut entries, mut squares) = ([0; 2], [0.0; 2]);
        for column in &self.columns {
            if !column.alike {
                entries[usize::from(self.is_measure(column))] += column.entries;
            }
            if !self.is_constant(column) {
                squares[usize::from(self.counts(column, Kind::Drowning))] += column.squares;
            }
        }
        if entries[1] > 0 && entries[1] >= entries[0] {
            return Some(Kind::Table);
        }
        (squares[1] > BY_FAR * squares[0]).then_some(Kind::Drowning)
    }
}
