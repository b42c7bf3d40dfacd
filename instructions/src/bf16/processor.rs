//! Which instructions can be used.

use std::arch::x86_64::__cpuid_count;
use std::sync::LazyLock;

use super::pieces::Pieces;

/// Bits of the register EDX of CPUID's leaf 7.
const AMX_BF16: u32 = 1 << 22;
const AMX_TILE: u32 = 1 << 24;

/// Instructions that multiply bf16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instructions {
    /// AMX.
    Tiles,
    /// AVX512-BF16.
    Vectors,
}

impl Instructions {
    /// Those that a processor has and its system permits, the fastest first.
    pub(crate) fn available() -> &'static [Self] {
        static AVAILABLE: LazyLock<Vec<Instructions>> = LazyLock::new(|| {
            // What packing is compiled for.
            if !is_x86_feature_detected!("avx512f")
                || !is_x86_feature_detected!("avx512bw")
                || !is_x86_feature_detected!("avx512bf16")
            {
                return Vec::new();
            }
            let features = __cpuid_count(7, 0).edx;
            let has_tiles = features & AMX_BF16 != 0 && features & AMX_TILE != 0 && tiles_are_permitted();
            has_tiles.then_some(Instructions::Tiles).into_iter().chain([Instructions::Vectors]).collect()
        });
        &AVAILABLE
    }
}

impl Instructions {
    /// The fastest for so many pieces: vectors take longer for several than f32's vectors for the numbers themselves.
    pub(crate) fn for_pieces(pieces: Pieces) -> Option<Self> {
        Self::available().iter().copied().find(|&found| found == Self::Tiles || pieces == Pieces::One)
    }
}

/// Whether the processor multiplies so many pieces in bf16, and the system lets this process do so.
pub fn is_available(pieces: Pieces) -> bool {
    Instructions::for_pieces(pieces).is_some()
}

/// Asks Linux for the contents of tiles, for all threads of the process: it gives them only to those that ask.
#[cfg(target_os = "linux")]
fn tiles_are_permitted() -> bool {
    /// Request of `arch_prctl` for a part of the processor's state.
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    /// The contents of tiles.
    const XFEATURE_XTILEDATA: libc::c_long = 18;
    // SAFETY: the request takes a number and changes nothing in memory.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
}

/// Other systems are not asked.
#[cfg(not(target_os = "linux"))]
fn tiles_are_permitted() -> bool {
    false
}
