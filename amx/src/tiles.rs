//! The product of packed factors.

use std::arch::asm;

use crate::pack::{DEPTH, Left, PAIR, Right};
use crate::processor::Tiles;

/// Rows or columns of a panel: two tiles, so that four tiles of sums share four tiles of factors.
pub const PANEL: usize = 32;
/// Panels of the left factor that meet a panel of the right one before the next is read, so that it is read less often from beyond
/// the second cache.
const GROUP: usize = 4;

/// Sums of a panel of the left factor with one of the right.
type Sums = [[f32; PANEL]; PANEL];

/// Rows of left · right from panel `first` on, as many as `output` has room for: `[rows, n]`.
///
/// # Panics
/// If k is not the same, if `output` does not end with a row of a panel or of the matrix, or if the processor has no tiles.
pub fn multiply(Left(left): &Left, Right(right): &Right, first: usize, output: &mut [f32]) {
    assert_eq!(left.k, right.k, "factors have the same k");
    let n = right.outer;
    if output.is_empty() {
        return;
    }
    let rows = output.len() / n;
    assert_eq!(rows * n, output.len(), "the output has whole rows");
    assert!(rows.is_multiple_of(PANEL) || first * PANEL + rows == left.outer, "the output has whole panels");
    let tiles = Tiles::new();
    let mut sums: Sums = [[0.0; PANEL]; PANEL];
    for (group, output) in output.chunks_mut(GROUP * PANEL * n).enumerate() {
        for column in 0..right.panels() {
            let width = PANEL.min(n - column * PANEL);
            for (panel, output) in output.chunks_mut(PANEL * n).enumerate() {
                let left = left.panel(first + group * GROUP + panel);
                panels(&tiles, left, right.panel(column), &mut sums);
                for (output, sums) in output.chunks_exact_mut(n).zip(&sums) {
                    output[column * PANEL..][..width].copy_from_slice(&sums[..width]);
                }
            }
        }
    }
}

// The loop below reads as many bytes of a panel at a time as it has for each block.
const _: () = assert!(4 * PAIR == 2048 && 2 * PAIR == PANEL * DEPTH);

/// Sums of two panels.
fn panels(_: &Tiles, left: &[u32], right: &[u32], sums: &mut Sums) {
    assert_eq!(left.len(), right.len(), "panels are of the same k");
    let blocks = left.len() / PAIR;
    if blocks == 0 {
        sums.as_flattened_mut().fill(0.0);
        return;
    }
    let sums = sums.as_flattened_mut().as_mut_ptr();
    // SAFETY: `Tiles` says that the processor has the instructions and that each tile is 16 rows of 64 bytes. Each turn of the loop
    // reads 2,048 bytes of both panels, which have as many for each of `blocks` blocks. Rows of sums are 128 bytes apart, so that the
    // four tiles are written to the 4,096 bytes of `sums`, the lower two from 16 · 128 bytes on.
    unsafe {
        asm!(
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "2:",
            "tileloadd tmm4, [{left} + {factor_stride}]",
            "tileloadd tmm6, [{right} + {factor_stride}]",
            "tileloadd tmm5, [{left} + {factor_stride} + 1024]",
            "tileloadd tmm7, [{right} + {factor_stride} + 1024]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "add {left}, 2048",
            "add {right}, 2048",
            "dec {blocks}",
            "jnz 2b",
            "tilestored [{sums} + {sums_stride}], tmm0",
            "tilestored [{sums} + {sums_stride} + 64], tmm1",
            "tilestored [{sums} + {sums_stride} + 2048], tmm2",
            "tilestored [{sums} + {sums_stride} + 2112], tmm3",
            left = inout(reg) left.as_ptr() => _,
            right = inout(reg) right.as_ptr() => _,
            blocks = inout(reg) blocks => _,
            factor_stride = in(reg) 64_usize,
            sums = in(reg) sums,
            sums_stride = in(reg) 128_usize,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}
