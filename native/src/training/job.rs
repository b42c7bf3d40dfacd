//! What a run trains.

use drope_core::config::Config;
use drope_core::tokenizer::Tokenizer;
use drope_core::train::recipe::Recipe;

/// What is trained.
pub struct Job<'a> {
    pub recipe: &'a Recipe,
    pub config: &'a Config,
    pub tokenizer: &'a Tokenizer,
    /// Name and hash of the model that recalibration began with.
    pub base: Option<(String, String)>,
    /// Hash of the shards of the text; `None`: the synthetic language alone.
    pub data: Option<String>,
}
