//! Qwen 2 and 2.5 (arXiv 2407.10671): queries, keys and values have biases, and some layers may have a window.

use serde_json::{Map, Value, json};

use super::{Decoder, Family, GgufFamily};
use crate::config::architecture::Architecture;
use crate::config::fields::ConfigJson;
use crate::config::{Config, layer_types};
use crate::error::Result;

pub(super) const QWEN2: Family = Family {
    model_type: "qwen2",
    class: "Qwen2",
    architecture: Architecture { qkv_bias: true, ..Architecture::LLAMA },
    mentions_biases: false,
    read: windows,
    write: window_fields,
    gguf: GgufFamily { architecture: "qwen2", ..GgufFamily::HALVES },
    ..Family::BASE
};

pub(super) fn windows(json: &mut ConfigJson, decoder: &mut Decoder) -> Result<()> {
    if json.use_sliding_window.take() == Some(true) {
        // As in transformers, a window of null is none, whatever the layers' types say.
        let window = json.sliding_window.take();
        if window != Some(Value::Null) {
            decoder.layer_types = layer_types::with_windows(&mut json.other, json.num_hidden_layers, window)?;
        }
    }
    Ok(())
}

pub(super) fn window_fields(config: &Config) -> Map<String, Value> {
    let mut fields = layer_types::window_fields(&config.layer_types);
    if !fields.is_empty() {
        let full = config.layer_types.iter().take_while(|layer| layer.window.is_none()).count();
        fields.insert(layer_types::MAX_WINDOW_LAYERS.into(), json!(full));
    }
    fields.insert("use_sliding_window".into(), json!(config.has_windows()));
    fields
}
