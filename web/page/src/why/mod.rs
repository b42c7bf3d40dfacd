//! Why models fail beyond their training context: frequencies, and what heads look at.

pub mod dial;
pub mod entropy;
pub mod frequencies;
pub mod inside;
