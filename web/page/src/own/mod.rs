//! The reader's texts and models.

pub mod kept;
pub mod models;
pub mod predicted;
pub mod text;
