//! Mistral (arXiv 2310.06825): a Llama, in its first version with a window in every layer.

use serde_json::json;

use super::{Defaults, Family};
use crate::config::layer_types;

pub(super) const MISTRAL: Family = Family {
    model_type: "mistral",
    class: "Mistral",
    defaults: Defaults { num_key_value_heads: Some(8), sliding_window: Some(4096), ..Family::BASE.defaults },
    read: |json, decoder| {
        decoder.layer_types = layer_types::all_with_window(json.num_hidden_layers, json.sliding_window.take())?;
        Ok(())
    },
    write: |config| {
        let window = config.layer_types.iter().find_map(|layer| layer.window);
        [("sliding_window".to_owned(), json!(window))].into_iter().collect()
    },
    ..Family::BASE
};
