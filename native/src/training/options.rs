//! How a run is trained, beside its recipe.

use std::path::Path;

use drope_core::train::recipe::Recipe;

use crate::device::DeviceChoice;

/// Updates between checkpoints, unless others are asked for.
pub const SAVE_EVERY: usize = 200;

/// Options of `core pretrain` and `core recalibrate`.
pub struct TrainOptions<'a> {
    pub recipe: &'a Recipe,
    pub out: &'a Path,
    pub resume: bool,
    pub device: DeviceChoice,
    /// Cards that share each batch.
    pub gpus: usize,
    /// Updates between checkpoints.
    pub save_every: usize,
    /// Checkpoints that are kept, the last included.
    pub keep: usize,
    /// Updates after which to pause: the checkpoint is the folder of the model so far.
    pub until: Option<usize>,
}
