//! The product of packed factors.

use super::pack::{Left, PANEL, Right, Sums};
use super::processor::Instructions;
use super::tiles::Tiles;
use super::vectors;

/// Panels of the left factor that meet a panel of the right one before the next is read, so that it is read less often from beyond
/// the second cache.
const GROUP: usize = 4;

/// Rows of left · right from panel `first` on, as many as `output` has room for: `[rows, n]`.
///
/// # Panics
/// If k is not the same, if `output` does not end with a row of a panel or of the matrix, or if the processor has no instructions.
pub fn multiply(left: &Left, right: &Right, first: usize, output: &mut [f32]) {
    let instructions = *Instructions::available().first().expect("the processor multiplies no bf16");
    multiply_by(instructions, left, right, first, output);
}

/// The same, by chosen instructions that are available.
pub(crate) fn multiply_by(
    instructions: Instructions,
    Left(left): &Left,
    Right(right): &Right,
    first: usize,
    output: &mut [f32],
) {
    assert!(Instructions::available().contains(&instructions), "the processor has no {instructions:?}");
    assert_eq!(left.k, right.k, "factors have the same k");
    let n = right.outer;
    if output.is_empty() {
        return;
    }
    let rows = output.len() / n;
    assert_eq!(rows * n, output.len(), "the output has whole rows");
    assert!(rows.is_multiple_of(PANEL) || first * PANEL + rows == left.outer, "the output has whole panels");
    let tiles = (instructions == Instructions::Tiles).then(Tiles::new);
    let mut sums: Sums = [[0.0; PANEL]; PANEL];
    for (group, output) in output.chunks_mut(GROUP * PANEL * n).enumerate() {
        for column in 0..right.panels() {
            let width = PANEL.min(n - column * PANEL);
            for (panel, output) in output.chunks_mut(PANEL * n).enumerate() {
                let (left, right) = (left.panel(first + group * GROUP + panel), right.panel(column));
                assert_eq!(left.len(), right.len(), "panels are of the same k");
                match &tiles {
                    Some(tiles) => tiles.multiply(left, right, &mut sums),
                    // SAFETY: the instructions are available.
                    None => unsafe { vectors::multiply(left, right, &mut sums) },
                }
                for (output, sums) in output.chunks_exact_mut(n).zip(&sums) {
                    output[column * PANEL..][..width].copy_from_slice(&sums[..width]);
                }
            }
        }
    }
}
