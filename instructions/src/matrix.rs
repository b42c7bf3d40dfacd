//! A matrix of f32 as a factor of a product.

/// A matrix of f32, row after row.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) transposed: bool,
}

impl<'a> Matrix<'a> {
    /// `[rows, columns]`. Panics where the number of values is another.
    pub fn new(values: &'a [f32], rows: usize, columns: usize) -> Self {
        assert_eq!(values.len(), rows * columns, "a matrix of {rows} rows and {columns} columns");
        Self { values, rows, columns, transposed: false }
    }

    /// Its transpose, as a view.
    #[must_use]
    pub fn transpose(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    /// Rows and columns of what the view stands for.
    pub fn shape(&self) -> [usize; 2] {
        if self.transposed { [self.columns, self.rows] } else { [self.rows, self.columns] }
    }

    /// Numbers from one row to the next, and from one column to the next.
    pub(crate) fn strides(&self) -> [isize; 2] {
        let width = self.columns as isize;
        if self.transposed { [1, width] } else { [width, 1] }
    }
}
