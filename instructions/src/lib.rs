//! Products by the instructions that processors have for them: matrices in f32 and in bf16, and dot products of bytes.
//!
//! The unsafe code is here, so that other crates need none.

#[cfg(target_arch = "x86_64")]
pub mod bf16;
pub mod bytes;
pub mod f32s;
pub mod halves;
mod matrix;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub mod small;

pub use self::matrix::Matrix;

/// Has the processor fetch what will be read soon: some processors are slow to find out by themselves that memory is read in order.
#[inline(always)]
pub fn prefetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for line in values.chunks((64 / size_of::<T>()).max(1)) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86 of 64 bits has the instruction, which changes nothing but caches.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}
