//! Llama, of all versions (arXiv 2302.13971, 2407.21783), and everything that is computed like it.

use super::Family;

/// Llama.
pub const LLAMA: Family = Family::BASE;
