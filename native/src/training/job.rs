//! What a run trains.

use drope_core::config::Config;
use drope_core::tokenizer::Tokenizer;
use drope_core::train::recipe::Recipe;

use crate::files::model_folder::{ModelMetadata, SideFile};

/// What is trained.
pub struct Job<'a> {
    pub recipe: &'a Recipe,
    pub config: &'a Config,
    pub tokenizer: &'a Tokenizer,
    /// What other programs read beside the model that recalibration began with.
    pub side_files: &'a [SideFile],
    /// Name and hash of the model that recalibration began with.
    pub base: Option<(String, String)>,
    /// Hash of the shards of the text; `None`: the synthetic language alone.
    pub data: Option<String>,
}

impl<'a> Job<'a> {
    /// What a folder with the model holds beside the weights.
    pub fn metadata(&self) -> ModelMetadata<'a> {
        ModelMetadata { config: self.config, tokenizer: self.tokenizer, side_files: self.side_files }
    }
}
