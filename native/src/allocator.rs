//! The allocator of this program.

/// The system's allocator hands every large tensor back to the kernel when it is dropped, and a third of a training step
/// went into getting the same pages again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of mimalloc's header, which libmimalloc-sys does not name.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Keeps memory that is free again, instead of handing it back after a while. The steps of a training run need as much memory one as the
/// other: without this, a quarter of their time goes into pages that the kernel clears anew.
pub fn keep_free_memory() {
    // SAFETY: setting an option changes a number that the allocator reads when it frees memory.
    #[allow(unsafe_code, reason = "the crate offers no safe call")]
    unsafe {
        libmimalloc_sys::mi_option_set(PURGE_DELAY, -1);
    }
}
