//! The product of packed factors.

use std::ops::Range;

use super::pack::{DEPTH, Left, PAIR, PANEL, Packed, Right, Sums};
use super::pieces::Pieces;
use super::processor::Instructions;
use super::tiles::Tiles;
use super::vectors;

/// Rows or columns of one factor that a thread takes at once, so that what is read again for every 128 rows of the other one stays in the
/// second cache.
pub const PART: usize = 4 * PANEL;

/// Panels of the left factor that meet a panel of the right one before the next is read, so that it is read less often from beyond
/// the second cache.
const GROUP: usize = 4;

/// left · right, `[rows, columns]` row after row, where the right factor is packed [`PART`] columns at a time (at the end fewer), each by the
/// thread that multiplies it.
///
/// # Panics
/// If k or the pieces are not the same, a part has not the columns that were asked for, or the processor does not multiply the pieces.
pub fn multiply_by_columns(left: &Left, columns: usize, right: impl Fn(Range<usize>) -> Right + Sync) -> Vec<f32> {
    by_columns(instructions_for(left.0.pieces), left, columns, right)
}

/// left · right, `[rows, columns]` row after row, where the left factor is packed [`PART`] rows at a time (at the end fewer), each by the thread
/// that multiplies it.
///
/// # Panics
/// If k or the pieces are not the same, a part has not the rows that were asked for, or the processor does not multiply the pieces.
pub fn multiply_by_rows(rows: usize, left: impl Fn(Range<usize>) -> Left + Sync, right: &Right) -> Vec<f32> {
    by_rows(instructions_for(right.0.pieces), rows, left, right)
}

/// As [`multiply_by_columns`], by chosen instructions that are available.
pub(crate) fn by_columns(
    instructions: Instructions,
    Left(left): &Left,
    columns: usize,
    right: impl Fn(Range<usize>) -> Right + Sync,
) -> Vec<f32> {
    let output = NewMatrix::new(left.outer, columns);
    for_each_part(columns, left.pieces.is_worth_threads([left.outer, left.k, columns]), |part| {
        let Right(right) = right(part.clone());
        assert_eq!(right.outer, part.len(), "a part has the columns that were asked for");
        // SAFETY: no other part has these columns.
        unsafe { multiply_into(instructions, left, &right, output.place(0, part.start)) };
    });
    // SAFETY: all rows of all columns were written.
    unsafe { output.into_values() }
}

/// As [`multiply_by_rows`], by chosen instructions that are available.
pub(crate) fn by_rows(
    instructions: Instructions,
    rows: usize,
    left: impl Fn(Range<usize>) -> Left + Sync,
    Right(right): &Right,
) -> Vec<f32> {
    let output = NewMatrix::new(rows, right.outer);
    for_each_part(rows, right.pieces.is_worth_threads([rows, right.k, right.outer]), |part| {
        let Left(left) = left(part.clone());
        assert_eq!(left.outer, part.len(), "a part has the rows that were asked for");
        // SAFETY: no other part has these rows.
        unsafe { multiply_into(instructions, &left, right, output.place(part.start, 0)) };
    });
    // SAFETY: all columns of all rows were written.
    unsafe { output.into_values() }
}

fn instructions_for(pieces: Pieces) -> Instructions {
    Instructions::for_pieces(pieces).expect("the processor multiplies these pieces")
}

/// A matrix that is not written yet. Threads write different places of it.
struct NewMatrix {
    values: *mut f32,
    rows: usize,
    columns: usize,
    capacity: usize,
}

// SAFETY: `Self::place` only tells where a number is; who writes there promises that nobody else does.
unsafe impl Sync for NewMatrix {}

impl NewMatrix {
    fn new(rows: usize, columns: usize) -> Self {
        let mut values = std::mem::ManuallyDrop::new(Vec::with_capacity(rows * columns));
        Self { values: values.as_mut_ptr(), rows, columns, capacity: values.capacity() }
    }

    /// Where a number is, and how many lie from one row to the next.
    fn place(&self, row: usize, column: usize) -> (*mut f32, usize) {
        assert!(row <= self.rows && column <= self.columns, "a place of the matrix");
        (self.values.wrapping_add(row * self.columns + column), self.columns)
    }

    /// # Safety
    /// All of it was written.
    unsafe fn into_values(self) -> Vec<f32> {
        // SAFETY: pointer and capacity are those of a vector that was not dropped, and the caller has written rows · columns values.
        unsafe { Vec::from_raw_parts(self.values, self.rows * self.columns, self.capacity) }
    }
}

/// Calls `work` for each part of so many rows or columns, by the threads of the caller's pool where that is worth it.
fn for_each_part(count: usize, is_worth_threads: bool, work: impl Fn(Range<usize>) + Sync) {
    let part = |part: usize| part * PART..count.min((part + 1) * PART);
    #[cfg(feature = "threads")]
    if is_worth_threads && rayon::current_num_threads() > 1 {
        use rayon::iter::{IntoParallelIterator, ParallelIterator};
        (0..count.div_ceil(PART)).into_par_iter().for_each(|at| work(part(at)));
        return;
    }
    #[cfg(not(feature = "threads"))]
    let _ = is_worth_threads;
    (0..count.div_ceil(PART)).for_each(|at| work(part(at)));
}

/// Writes left · right to a place, whose rows are so many numbers apart.
///
/// # Safety
/// There is room for the product, and nobody else reads or writes there.
unsafe fn multiply_into(
    instructions: Instructions,
    left: &Packed,
    right: &Packed,
    (output, stride): (*mut f32, usize),
) {
    assert!(Instructions::available().contains(&instructions), "the processor has no {instructions:?}");
    assert!(instructions == Instructions::Tiles || left.pieces == Pieces::One, "vectors multiply one piece");
    assert_eq!((left.k, left.pieces), (right.k, right.pieces), "factors have the same k and the same pieces");
    let tiles = (instructions == Instructions::Tiles).then(Tiles::new);
    let mut sums: Sums = [[0.0; PANEL]; PANEL];
    for group in (0..left.panels()).step_by(GROUP) {
        for column in 0..right.panels() {
            let width = PANEL.min(right.outer - column * PANEL);
            for row in group..left.panels().min(group + GROUP) {
                let rows = PANEL.min(left.outer - row * PANEL);
                let panels = [left.panel(row), right.panel(column)];
                // SAFETY: `rows` rows of `width` numbers from here on belong to the product.
                let output = unsafe { output.add(row * PANEL * stride + column * PANEL) };
                match &tiles {
                    // Most panels are full, and need no copy.
                    Some(tiles) if (rows, width) == (PANEL, PANEL) => {
                        // SAFETY: as above.
                        unsafe { tiles.multiply(panels, left.pieces, (output, stride), false) };
                        continue;
                    }
                    Some(tiles) => {
                        // SAFETY: there are as many sums.
                        unsafe { tiles.multiply(panels, left.pieces, (sums.as_mut_ptr().cast(), PANEL), false) };
                    }
                    // SAFETY: the instructions are available.
                    None => unsafe { vectors::multiply(panels[0], panels[1], &mut sums) },
                }
                for (row, sums) in sums.iter().enumerate().take(rows) {
                    // SAFETY: as above; the sums are no part of the output.
                    unsafe { output.add(row * stride).copy_from_nonoverlapping(sums.as_ptr(), width) };
                }
            }
        }
    }
}

/// Which part of a right factor is multiplied, and what becomes of the sums.
#[derive(Clone, Debug)]
pub struct Part {
    /// Columns of the right factor; both ends are multiples of [`PANEL`].
    pub columns: Range<usize>,
    /// The row of the right factor, a multiple of 32, that the first column of the left one is multiplied with.
    pub first_row: usize,
    /// Whether sums are added to what is there.
    pub adds: bool,
}

/// The product of a left factor of up to [`PANEL`] rows with a part of a right one, by tiles: into [`PANEL`] rows of the output, which are
/// `stride` apart and have a number for each column of the part. What lies behind the end of the right factor is not read; columns of panels
/// that are behind it are not written.
///
/// # Panics
/// If the left factor has more rows, the part's bounds are not such multiples, the pieces are not the same, the output has no room, or the
/// processor has no tiles.
pub fn multiply_part(Left(left): &Left, Right(right): &Right, part: &Part, (output, stride): (&mut [f32], usize)) {
    assert!(left.outer <= PANEL, "one panel of the left factor");
    assert_eq!(left.pieces, right.pieces, "factors have the same pieces");
    let Part { columns, first_row, adds } = part;
    assert!(
        columns.start.is_multiple_of(PANEL) && columns.end.is_multiple_of(PANEL) && first_row.is_multiple_of(DEPTH),
        "a part of whole tiles"
    );
    assert!(columns.len() <= stride, "rows of the output have a number for each column");
    let tiles = Tiles::new();
    let size = PAIR * left.pieces.count();
    let left = left.panel(0);
    for (at, column) in (columns.start / PANEL..(columns.end / PANEL).min(right.panels())).enumerate() {
        let of_part = right.panel(column).get(first_row / DEPTH * size..).unwrap_or_default();
        let both = left.len().min(of_part.len());
        let output = &mut output[at * PANEL..][..(PANEL - 1) * stride + PANEL];
        // SAFETY: the output has 32 rows of 32 numbers that are `stride` apart.
        unsafe {
            tiles.multiply([&left[..both], &of_part[..both]], right.pieces, (output.as_mut_ptr(), stride), *adds);
        };
    }
}
