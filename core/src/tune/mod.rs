//! The search for the parameters with which a method scores best. This module runs no model: the caller scores candidates.

mod grid;
mod random;

pub use grid::{Axis, Grid, ScoredPoint};
pub use random::{RandomSearch, SearchRange};
