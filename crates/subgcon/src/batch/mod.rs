//! Lists of nodes become rows.
//!
//! A batch is what one step of training, or of embedding, looks at:
//!
//! - **units**: what is multiplied with the first weights, each only once: the
//!   distinct nodes (twice where centres and summaries see different masks);
//! - **rows**: places in contexts; each shows a unit. Rows lie in **pieces**, one
//!   subgraph each, and no arc leaves its piece. An encoder without propagation
//!   needs no places: its rows are the units. For one layer places that look the same may be one
//!   row, and all rows one piece (`distinct`);
//! - **contexts**: each has a center row and member rows with weights.

mod assemble;
mod distinct;

use crate::math::{Matrix, Real};

pub use assemble::{Assembler, Augmentation};

/// Features of units, (units, width).
#[derive(Debug, Clone)]
pub enum Inputs<T> {
    /// Every number.
    Dense(Matrix<T>),
    /// Only what is not zero.
    Sparse(SparseInputs<T>),
}

/// A sparse matrix by rows and, for derivatives by weights, by columns too.
#[derive(Debug, Clone, Default)]
pub struct SparseInputs<T> {
    /// Number of columns.
    pub width: usize,
    /// Entries of unit u: `offsets[u]..offsets[u + 1]`, columns rising.
    pub offsets: Vec<u32>,
    /// Column of each entry.
    pub columns: Vec<u32>,
    /// Value of each entry.
    pub values: Vec<T>,
    /// Entries of column c: `column_offsets[c]..column_offsets[c + 1]`, units rising.
    pub column_offsets: Vec<u32>,
    /// Unit of each entry, by columns.
    pub units: Vec<u32>,
    /// Value of each entry, by columns.
    pub column_values: Vec<T>,
}

/// Lists of numbers, one after another: list i is `items[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lists {
    /// Lists + 1 places.
    pub offsets: Vec<u32>,
    /// All lists.
    pub items: Vec<u32>,
}

/// Arcs between rows: row r draws on `heads[offsets[r]..offsets[r + 1]]`, which lie
/// in the same piece, rising.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arcs<T> {
    /// Rows + 1 places.
    pub offsets: Vec<u32>,
    /// The row drawn on.
    pub heads: Vec<u32>,
    /// Weight of each arc; what it is depends on the [`Propagation`].
    pub weights: Vec<T>,
    /// Whether every arc has its reverse, with the same weight.
    pub symmetric: bool,
}

/// What the arcs of a batch are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// None: rows are units.
    None,
    /// D̂^-½ Â D̂^-½ with Â = A + I and D̂ its row sums: arcs to oneself included.
    Normalized,
    /// Â = A + I: weights of edges, 1 to oneself.
    WithSelf,
    /// A.
    Plain,
}

/// Which units the rows show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Units {
    /// Row r shows unit r.
    Same,
    /// Row r shows unit `of_row[r]`; `rows` lists the rows of each unit, rising.
    Shown {
        /// (rows).
        of_row: Vec<u32>,
        /// One list a unit.
        rows: Lists,
    },
}

/// Rows that a summary is made of, with their weights: context c has
/// `rows[offsets[c]..offsets[c + 1]]`, never none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Members<T> {
    /// Contexts + 1 places.
    pub offsets: Vec<u32>,
    /// A row of the batch.
    pub rows: Vec<u32>,
    /// Its weight in a mean or sum; not looked at by a maximum.
    pub weights: Vec<T>,
}

/// What a step looks at.
#[derive(Debug, Clone)]
pub struct Batch<T> {
    /// Whose contexts they are, (contexts).
    pub nodes: Vec<u32>,
    /// Features, (units, input width).
    pub inputs: Inputs<T>,
    /// Which units the rows show.
    pub units: Units,
    /// Piece p has the rows `pieces[p]..pieces[p + 1]`.
    pub pieces: Vec<u32>,
    /// Arcs between rows; none without propagation.
    pub arcs: Arcs<T>,
    /// Row of each center, (contexts).
    pub centers: Vec<u32>,
    /// Rows of each summary.
    pub members: Members<T>,
}

impl<T: Real> Inputs<T> {
    /// Number of units.
    pub fn units(&self) -> usize {
        match self {
            Inputs::Dense(matrix) => matrix.rows,
            Inputs::Sparse(sparse) => sparse.offsets.len() - 1,
        }
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        match self {
            Inputs::Dense(matrix) => matrix.width,
            Inputs::Sparse(sparse) => sparse.width,
        }
    }
}

impl<T: Real> SparseInputs<T> {
    /// From entries by rows; sorts them by columns too.
    pub fn new(
        width: usize,
        offsets: Vec<u32>,
        columns: Vec<u32>,
        values: Vec<T>,
    ) -> SparseInputs<T> {
        assert_eq!(columns.len(), values.len(), "a value an entry");
        assert_eq!(
            offsets.last().map(|&end| end as usize),
            Some(columns.len()),
            "offsets end at the end"
        );
        let mut column_offsets = vec![0u32; width + 1];
        columns.iter().for_each(|&column| column_offsets[column as usize + 1] += 1);
        (0..width).for_each(|column| column_offsets[column + 1] += column_offsets[column]);
        let mut next = column_offsets.clone();
        let (mut units, mut column_values) = (vec![0; columns.len()], vec![T::ZERO; columns.len()]);
        for unit in 0..offsets.len() - 1 {
            for at in offsets[unit] as usize..offsets[unit + 1] as usize {
                let place = &mut next[columns[at] as usize];
                units[*place as usize] = unit as u32;
                column_values[*place as usize] = values[at];
                *place += 1;
            }
        }
        SparseInputs { width, offsets, columns, values, column_offsets, units, column_values }
    }

    /// Columns and values of a unit.
    #[inline]
    pub fn unit(&self, unit: usize) -> (&[u32], &[T]) {
        let range = self.offsets[unit] as usize..self.offsets[unit + 1] as usize;
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Units and values of a column.
    #[inline]
    pub fn column(&self, column: usize) -> (&[u32], &[T]) {
        let range = self.column_offsets[column] as usize..self.column_offsets[column + 1] as usize;
        (&self.units[range.clone()], &self.column_values[range])
    }
}

impl Lists {
    /// One list.
    #[inline]
    pub fn get(&self, list: usize) -> &[u32] {
        &self.items[self.offsets[list] as usize..self.offsets[list + 1] as usize]
    }
}

impl<T: Real> Arcs<T> {
    /// Rows that a row draws on, with weights.
    #[inline]
    pub fn of(&self, row: usize) -> (&[u32], &[T]) {
        let range = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        (&self.heads[range.clone()], &self.weights[range])
    }
}

impl<T: Real> Members<T> {
    /// Rows of a summary, with weights.
    #[inline]
    pub fn of(&self, context: usize) -> (&[u32], &[T]) {
        let range = self.offsets[context] as usize..self.offsets[context + 1] as usize;
        (&self.rows[range.clone()], &self.weights[range])
    }
}

impl<T: Real> Batch<T> {
    /// Number of contexts.
    pub fn contexts(&self) -> usize {
        self.nodes.len()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match &self.units {
            Units::Same => self.inputs.units(),
            Units::Shown { of_row, .. } => of_row.len(),
        }
    }

    /// The same batch in other numbers.
    pub fn cast<U: Real>(&self) -> Batch<U> {
        let cast = |values: &[T]| values.iter().map(|x| U::of(x.wide())).collect::<Vec<U>>();
        Batch {
            nodes: self.nodes.clone(),
            inputs: match &self.inputs {
                Inputs::Dense(matrix) => Inputs::Dense(matrix.cast()),
                Inputs::Sparse(sparse) => Inputs::Sparse(SparseInputs {
                    width: sparse.width,
                    offsets: sparse.offsets.clone(),
                    columns: sparse.columns.clone(),
                    values: cast(&sparse.values),
                    column_offsets: sparse.column_offsets.clone(),
                    units: sparse.units.clone(),
                    column_values: cast(&sparse.column_values),
                }),
            },
            units: self.units.clone(),
            pieces: self.pieces.clone(),
            arcs: Arcs {
                offsets: self.arcs.offsets.clone(),
                heads: self.arcs.heads.clone(),
                weights: cast(&self.arcs.weights),
                symmetric: self.arcs.symmetric,
            },
            centers: self.centers.clone(),
            members: Members {
                offsets: self.members.offsets.clone(),
                rows: self.members.rows.clone(),
                weights: cast(&self.members.weights),
            },
        }
    }
}

#[cfg(test)]
mod tests;
