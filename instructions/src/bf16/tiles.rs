//! The product of two panels by tiles (AMX).
//!
//! A tile holds 16 rows of 64 bytes. One instruction adds to a tile of 16 · 16 sums the products of two tiles of 16 · 32 numbers:
//! eight times as many a second as f32's vectors compute. Intel, Software Developer's Manual, volume 1, chapter 18.

use std::arch::asm;

use super::pack::{DEPTH, PAIR, PANEL, Sums};
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

    /// Sums of two panels.
    pub(crate) fn multiply(&self, left: &[u32], right: &[u32], sums: &mut Sums) {
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
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: a value exists only where the processor has the instruction.
        unsafe {
            asm!("tilerelease", options(nostack, nomem));
        }
    }
}

// The loop above reads as many bytes of a panel at a time as it has for each block.
const _: () = assert!(4 * PAIR == 2048 && 2 * PAIR == PANEL * DEPTH);
