//! The product of two panels by tiles (AMX).
//!
//! A tile holds 16 rows of 64 bytes. One instruction adds to a tile of 16 · 16 sums the products of two tiles of 16 · 32 numbers:
//! eight times as many a second as f32's vectors compute. Intel, Software Developer's Manual, volume 1, chapter 18.

use std::arch::asm;

use super::pack::{DEPTH, PAIR, PANEL, SIDE};
use super::pieces::Pieces;
use super::processor::Instructions;

/// Tiles of 16 rows of 64 bytes, for as long as this value lives on its thread.
pub(crate) struct Tiles(());

/// As the instruction LDTILECFG reads it.
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes_per_row: [u16; 16],
    rows: [u8; 16],
}

/// Instructions that load the two tiles of a piece, counted from 0, of the left panel (to 4 and 5) or of the right one (to 6 and 7).
macro_rules! load {
    (left 0) => {
        "tileloadd tmm4, [{left} + {factor_stride}]\n tileloadd tmm5, [{left} + {factor_stride} + 1024]"
    };
    (left 1) => {
        "tileloadd tmm4, [{left} + {factor_stride} + 2048]\n tileloadd tmm5, [{left} + {factor_stride} + 3072]"
    };
    (left 2) => {
        "tileloadd tmm4, [{left} + {factor_stride} + 4096]\n tileloadd tmm5, [{left} + {factor_stride} + 5120]"
    };
    (right 0) => {
        "tileloadd tmm6, [{right} + {factor_stride}]\n tileloadd tmm7, [{right} + {factor_stride} + 1024]"
    };
    (right 1) => {
        "tileloadd tmm6, [{right} + {factor_stride} + 2048]\n tileloadd tmm7, [{right} + {factor_stride} + 3072]"
    };
    (right 2) => {
        "tileloadd tmm6, [{right} + {factor_stride} + 4096]\n tileloadd tmm7, [{right} + {factor_stride} + 5120]"
    };
}

/// Instructions that add the products of the loaded tiles to the four tiles of sums.
macro_rules! add {
    () => { "tdpbf16ps tmm0, tmm4, tmm6\n tdpbf16ps tmm2, tmm5, tmm6\n tdpbf16ps tmm1, tmm4, tmm7\n tdpbf16ps tmm3, tmm5, tmm7" };
}

/// Adds up all blocks of two panels, whose blocks have so many bytes.
macro_rules! add_blocks {
    ($left:ident, $right:ident, $blocks:ident, [$sums:ident, $lower:ident, $stride:ident, $adds:ident], $bytes:literal,
     [$($line:expr),* $(,)?]) => {
        asm!(
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "test {adds}, {adds}",
            "jz 2f",
            "tileloadd tmm0, [{sums} + {sums_stride}]",
            "tileloadd tmm1, [{sums} + {sums_stride} + 64]",
            "tileloadd tmm2, [{lower} + {sums_stride}]",
            "tileloadd tmm3, [{lower} + {sums_stride} + 64]",
            "2:",
            $($line,)*
            concat!("add {left}, ", $bytes),
            concat!("add {right}, ", $bytes),
            "dec {blocks}",
            "jnz 2b",
            "tilestored [{sums} + {sums_stride}], tmm0",
            "tilestored [{sums} + {sums_stride} + 64], tmm1",
            "tilestored [{lower} + {sums_stride}], tmm2",
            "tilestored [{lower} + {sums_stride} + 64], tmm3",
            left = inout(reg) $left.as_ptr() => _,
            right = inout(reg) $right.as_ptr() => _,
            blocks = inout(reg) $blocks => _,
            factor_stride = in(reg) 64_usize,
            sums = in(reg) $sums,
            lower = in(reg) $lower,
            sums_stride = in(reg) 4 * $stride,
            adds = in(reg) usize::from($adds),
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        )
    };
}

impl Tiles {
    /// All eight tiles. Panics where the processor has none.
    pub(crate) fn new() -> Self {
        assert!(Instructions::available().contains(&Instructions::Tiles), "the processor has no tiles");
        let mut configuration =
            Configuration { palette: 1, start_row: 0, reserved: [0; 14], bytes_per_row: [0; 16], rows: [0; 16] };
        configuration.bytes_per_row[..8].fill(64);
        configuration.rows[..8].fill(16);
        // SAFETY: the processor has the instruction, and reads 64 bytes of a value of that size.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &raw const configuration, options(nostack, readonly));
        }
        Self(())
    }

    /// Sums of two panels of as many pieces, into 32 rows of 32 numbers that are `stride` apart, or added to what is there.
    ///
    /// # Safety
    /// The rows can be read, if sums are added, and written.
    pub(crate) unsafe fn multiply(
        &self,
        [left, right]: [&[u32]; 2],
        pieces: Pieces,
        (sums, stride): (*mut f32, usize),
        adds: bool,
    ) {
        assert_eq!(left.len(), right.len(), "panels of the same size");
        let blocks = left.len() / (PAIR * pieces.count());
        if blocks == 0 {
            for row in 0..if adds { 0 } else { PANEL } {
                // SAFETY: the caller has this row.
                unsafe { sums.add(row * stride).write_bytes(0, PANEL) };
            }
            return;
        }
        // SAFETY: `Tiles` says that the processor has the instructions and that each tile is 16 rows of 64 bytes. Each turn of a loop
        // reads 2,048 bytes of each piece of both panels, which have as many for each of `blocks` blocks. The four tiles of sums are read
        // from and written to the caller's rows, the lower two from the 16th row on.
        unsafe {
            let lower = sums.add(SIDE * stride);
            match pieces {
                Pieces::One => add_blocks!(
                    left,
                    right,
                    blocks,
                    [sums, lower, stride, adds],
                    "2048",
                    [load!(left 0), load!(right 0), add!(),]
                ),
                Pieces::Two => add_blocks!(
                    left,
                    right,
                    blocks,
                    [sums, lower, stride, adds],
                    "4096",
                    [load!(left 0), load!(right 1), add!(), load!(right 0), add!(), load!(left 1), add!(),]
                ),
                // Piece i of the left factor with piece j of the right one, as long as i + j is below 3.
                Pieces::Three => add_blocks!(
                    left,
                    right,
                    blocks,
                    [sums, lower, stride, adds],
                    "6144",
                    [
                        load!(left 0),
                        load!(right 2),
                        add!(),
                        load!(right 1),
                        add!(),
                        load!(right 0),
                        add!(),
                        load!(left 1),
                        add!(),
                        load!(left 2),
                        add!(),
                        load!(left 1),
                        load!(right 1),
                        add!(),
                    ]
                ),
            }
        }
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: a value exists only where the processor has the instruction.
        unsafe {
            asm!("tilerelease", options(nostack, nomem));
        }
    }
}

// The loops above read as many bytes of a panel at a time as it has of each piece for each block.
const _: () = assert!(4 * PAIR == 2048 && 2 * PAIR == PANEL * DEPTH);
