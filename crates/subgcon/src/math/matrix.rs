//! A dense matrix in memory, row by row.

use super::Real;

/// (rows, width), row-major.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix<T> {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub width: usize,
    /// Row after row.
    pub values: Vec<T>,
}

impl<T: Real> Matrix<T> {
    /// All zero.
    pub fn zeros(rows: usize, width: usize) -> Matrix<T> {
        Matrix { rows, width, values: vec![T::ZERO; rows * width] }
    }

    /// Row after row.
    pub fn of(rows: usize, width: usize, values: Vec<T>) -> Matrix<T> {
        assert_eq!(values.len(), rows * width, "{rows} rows of {width}");
        Matrix { rows, width, values }
    }

    /// One row.
    #[inline]
    pub fn row(&self, row: usize) -> &[T] {
        &self.values[row * self.width..(row + 1) * self.width]
    }

    /// One row, to be changed.
    #[inline]
    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        &mut self.values[row * self.width..(row + 1) * self.width]
    }

    /// Some rows, in this order.
    pub fn picked(&self, some: &[u32]) -> Matrix<T> {
        let mut values = Vec::with_capacity(some.len() * self.width);
        some.iter().for_each(|&row| values.extend_from_slice(self.row(row as usize)));
        Matrix { rows: some.len(), width: self.width, values }
    }

    /// In other numbers.
    pub fn cast<U: Real>(&self) -> Matrix<U> {
        let values = self.values.iter().map(|x| U::of(x.wide())).collect();
        Matrix { rows: self.rows, width: self.width, values }
    }

    /// As an operand of a product.
    pub fn view(&self) -> View<'_, T> {
        View {
            values: &self.values,
            rows: self.rows,
            width: self.width,
            row_stride: self.width,
            column_stride: 1,
        }
    }
}

/// A matrix that lies somewhere in a slice: an operand of [`super::gemm`].
#[derive(Debug, Clone, Copy)]
pub struct View<'a, T> {
    pub(super) values: &'a [T],
    pub(super) rows: usize,
    pub(super) width: usize,
    pub(super) row_stride: usize,
    pub(super) column_stride: usize,
}

impl<'a, T: Real> View<'a, T> {
    /// Rows of `width` numbers in a slice.
    pub fn of(values: &'a [T], rows: usize, width: usize) -> View<'a, T> {
        assert_eq!(values.len(), rows * width, "{rows} rows of {width}");
        View { values, rows, width, row_stride: width, column_stride: 1 }
    }

    /// Columns as rows.
    #[must_use]
    pub fn transposed(self) -> View<'a, T> {
        View {
            rows: self.width,
            width: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Some of the columns.
    #[must_use]
    pub fn columns(self, columns: std::ops::Range<usize>) -> View<'a, T> {
        assert!(columns.start <= columns.end && columns.end <= self.width, "columns {columns:?}");
        let start = (columns.start * self.column_stride).min(self.values.len());
        View { values: &self.values[start..], width: columns.len(), ..self }
    }

    /// Some of the rows.
    #[must_use]
    pub fn some_rows(self, rows: std::ops::Range<usize>) -> View<'a, T> {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "rows {rows:?}");
        let start = (rows.start * self.row_stride).min(self.values.len());
        View { values: &self.values[start..], rows: rows.len(), ..self }
    }

    /// Whether the last number lies inside the slice.
    pub(super) fn fits(&self) -> bool {
        self.rows == 0
            || self.width == 0
            || (self.rows - 1) * self.row_stride + (self.width - 1) * self.column_stride
                < self.values.len()
    }
}
