//! Products of small matrices that stay in the processor's first caches.

#[cfg(not(target_arch = "wasm32"))]
mod vectors;
#[cfg(target_arch = "wasm32")]
mod wasm;

#[cfg(not(target_arch = "wasm32"))]
pub(super) use self::vectors::multiply;
#[cfg(target_arch = "wasm32")]
pub(super) use self::wasm::multiply;

/// The left factor.
#[derive(Clone, Copy)]
pub(super) enum Left<'a> {
    /// Row after row: `[m, k]`, rows `stride` apart.
    Rows { values: &'a [f32], stride: usize },
    #[cfg(feature = "train")]
    /// Its transpose: `[k, m]`, rows `stride` apart.
    Transposed { values: &'a [f32], stride: usize },
}

/// Sizes of `[m, k] · [k, n]`; n is a multiple of 16.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) m: usize,
    pub(super) k: usize,
    pub(super) n: usize,
}
