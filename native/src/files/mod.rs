//! Files: written whole or not at all, and models on disk.

mod atomic;
pub mod model_folder;
pub mod weights_files;

pub use self::atomic::*;
