//! Files: written whole or not at all, and models on disk.

mod atomic;
pub mod card;
pub mod model_folder;
pub mod weights_files;

pub use self::atomic::*;

/// The number of a line, from 1 on, by a place in the text.
pub fn line_of(text: &str, place: usize) -> usize {
    text[..place].matches('\n').count() + 1
}
