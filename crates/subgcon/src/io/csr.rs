//! Do the parts of a sparse matrix from elsewhere fit together?
//!
//! CSR: row r holds the entries `offsets[r]..offsets[r + 1]` of `indices`
//! (columns) and `values`. Everything is checked before it is used as a place.

use crate::error::{Error, Place, Result};

const REMEDY: &str = "save the matrix again, for instance with scipy.sparse.save_npz";

/// A checked sparse matrix. Columns of a row may repeat and come in any order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Csr {
    /// Number of columns.
    pub(crate) width: usize,
    /// rows + 1 positions, rising from 0.
    pub(crate) offsets: Vec<u64>,
    /// Column of each entry.
    pub(crate) indices: Vec<u32>,
    /// Value of each entry.
    pub(crate) values: Vec<f32>,
}

impl Csr {
    /// Checks the parts against each other and the shape (rows, columns).
    pub(crate) fn checked(
        place: &Place,
        shape: (u64, u64),
        offsets: Vec<u64>,
        indices: Vec<u32>,
        values: Vec<f32>,
    ) -> Result<Csr> {
        check_offsets(place, shape.0, &offsets, indices.len() as u64)?;
        check_lengths(place, indices.len() as u64, values.len() as u64)?;
        check_below(place, &indices, shape.1, 0)?;
        let width = usize::try_from(shape.1).map_err(|_| {
            Error::input(place.clone(), format!("claims {} columns", shape.1), REMEDY)
        })?;
        Ok(Csr { width, offsets, indices, values })
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Columns and values of one row.
    pub(crate) fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let range = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        (&self.indices[range.clone()], &self.values[range])
    }
}

/// Offsets start at 0, never fall, end at the number of entries, and there is
/// one more than there are rows.
pub(crate) fn check_offsets(place: &Place, rows: u64, offsets: &[u64], entries: u64) -> Result<()> {
    let refuse = |problem: String| Err(Error::input(place.clone(), problem, REMEDY));
    check_offset_count(place, rows, offsets.len() as u64)?;
    if let Some(&first) = offsets.first().filter(|&&first| first != 0) {
        return refuse(format!("indptr begins with {first} instead of 0"));
    }
    if let Some(row) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        let (from, to) = (offsets[row], offsets[row + 1]);
        return refuse(format!("indptr falls from {from} to {to} at row {row}"));
    }
    match offsets.last() {
        Some(&last) if last == entries => Ok(()),
        last => refuse(format!(
            "indptr ends with {} but there are {entries} indices",
            last.copied().unwrap_or(0)
        )),
    }
}

/// There is one more offset than there are rows.
pub(crate) fn check_offset_count(place: &Place, rows: u64, count: u64) -> Result<()> {
    if rows.checked_add(1) == Some(count) {
        return Ok(());
    }
    let problem =
        format!("indptr has {count} values but a matrix of {rows} rows needs one more than rows");
    Err(Error::input(place.clone(), problem, REMEDY))
}

/// A number of nodes or columns that a file only claims is believed up to a
/// million, and beyond as long as a thousandth of it is really there.
pub(crate) fn check_claim(place: Place, what: &str, claimed: u64, there: u64) -> Result<()> {
    const FREE: u64 = 1_000_000;
    const SHARE: u64 = 1_000;
    if claimed <= FREE || claimed / SHARE <= there {
        return Ok(());
    }
    let problem = format!("claims {claimed} {what} but holds only {there} entries");
    Err(Error::input(place, problem, "mend the number or fetch the file again"))
}

/// There is one value for each index.
pub(crate) fn check_lengths(place: &Place, indices: u64, values: u64) -> Result<()> {
    if indices == values {
        return Ok(());
    }
    let problem = format!("has {indices} indices but {values} values");
    Err(Error::input(place.clone(), problem, REMEDY))
}

/// Every index is below `bound`; `before` entries came earlier.
pub(crate) fn check_below(place: &Place, indices: &[u32], bound: u64, before: u64) -> Result<()> {
    match indices.iter().position(|&index| u64::from(index) >= bound) {
        None => Ok(()),
        Some(entry) => Err(Error::input(
            place.clone(),
            format!("entry {} is {}, not below {bound}", before + entry as u64, indices[entry]),
            REMEDY,
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn build(shape: (u64, u64), offsets: &[u64], indices: &[u32], values: usize) -> Result<Csr> {
        let place = Place::from(Path::new("m.npz"));
        Csr::checked(&place, shape, offsets.to_vec(), indices.to_vec(), vec![1.0; values])
    }

    #[test]
    fn parts_that_fit_are_accepted() {
        let matrix = build((2, 3), &[0, 2, 3], &[2, 0, 1], 3).unwrap();
        assert_eq!((matrix.rows(), matrix.row(0).0, matrix.row(1).0), (2, &[2, 0][..], &[1][..]));
        assert_eq!(build((0, 0), &[0], &[], 0).unwrap().rows(), 0);
    }

    #[test]
    fn parts_that_do_not_fit_are_refused_with_a_reason() {
        type Parts<'a> = ((u64, u64), &'a [u64], &'a [u32], usize);
        let cases: [(Parts<'_>, &str); 8] = [
            (((2, 3), &[0, 3], &[2, 0, 1], 3), "indptr has 2 values"),
            (((u64::MAX, 3), &[], &[], 0), "indptr has 0 values"),
            (((2, 3), &[1, 2, 3], &[2, 0, 1], 3), "begins with 1"),
            (((2, 3), &[0, 4, 3], &[2, 0, 1], 3), "falls from 4 to 3 at row 1"),
            (((2, 3), &[0, 1, 2], &[2, 0, 1], 3), "ends with 2 but there are 3"),
            (((2, 3), &[0, 1, 4], &[2, 0, 1], 3), "ends with 4 but there are 3"),
            (((2, 3), &[0, 2, 3], &[2, 0, 1], 2), "3 indices but 2 values"),
            (((2, 2), &[0, 2, 3], &[1, 0, 2], 3), "entry 2 is 2, not below 2"),
        ];
        for ((shape, offsets, indices, values), reason) in cases {
            let error = build(shape, offsets, indices, values).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
