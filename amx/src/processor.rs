//! Whether tiles can be used, and their configuration.

use std::arch::asm;
use std::arch::x86_64::__cpuid_count;
use std::sync::LazyLock;

/// Request of `arch_prctl` for a part of the processor's state that Linux gives to a process only when it asks.
const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
/// The contents of tiles.
const XFEATURE_XTILEDATA: libc::c_long = 18;
/// Bits of the register EDX of CPUID's leaf 7.
const AMX_BF16: u32 = 1 << 22;
const AMX_TILE: u32 = 1 << 24;

/// Whether the processor multiplies tiles of bf16, and the system lets this process do so.
pub fn is_available() -> bool {
    static AVAILABLE: LazyLock<bool> = LazyLock::new(|| {
        let features = __cpuid_count(7, 0).edx;
        let has_vectors = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
        has_vectors && features & AMX_BF16 != 0 && features & AMX_TILE != 0 && permitted()
    });
    *AVAILABLE
}

/// Asks Linux for the contents of tiles, for all threads of the process.
fn permitted() -> bool {
    // SAFETY: the request takes a number and changes nothing in memory.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
}

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
    /// All eight tiles. Panics where [`is_available`] is false.
    pub(crate) fn new() -> Self {
        assert!(is_available(), "the processor has no tiles");
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
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: a value exists only where the processor has the instruction.
        unsafe {
            asm!("tilerelease", options(nostack, nomem));
        }
    }
}
