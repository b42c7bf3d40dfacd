//! Cells whose samples were measured apart, as one cell again.

use crate::error::{Error, Result};

/// Joins the cells of the same measurement into the first of them.
pub(crate) fn joined<T>(cells: Vec<T>, is_same: impl Fn(&T, &T) -> bool, extend: impl Fn(&mut T, T)) -> Vec<T> {
    let mut joined: Vec<T> = Vec::new();
    for cell in cells {
        match joined.iter_mut().find(|first| is_same(first, &cell)) {
            Some(first) => extend(first, cell),
            None => joined.push(cell),
        }
    }
    joined
}

/// Checks that a cell has every sample once, in their order.
///
/// # Errors
/// If not; `name` is the cell's.
pub(crate) fn check_all(name: impl Fn() -> String, found: impl Iterator<Item = usize>, count: usize) -> Result<()> {
    let found: Vec<usize> = found.collect();
    if found.iter().copied().eq(0..count) {
        return Ok(());
    }
    Err(Error::Samples { cell: name(), found: format!("{found:?}") })
}
