//! The config of a random model.

use anyhow::Result;
use drope_core::config::Config;

/// The config of a random model with heads of 64.
pub fn random_config(hidden: usize, inner: usize, layers: usize, vocabulary: usize, context: usize) -> Result<Config> {
    let heads = hidden / 64;
    Ok(Config::from_json(&format!(
        r#"{{"model_type": "llama", "hidden_size": {hidden}, "intermediate_size": {inner}, "num_hidden_layers": {layers},
        "num_attention_heads": {heads}, "num_key_value_heads": {}, "vocab_size": {vocabulary}, "rope_theta": 10000.0,
        "max_position_embeddings": {context}, "rms_norm_eps": 1e-5, "tie_word_embeddings": true}}"#,
        heads / 2
    ))?)
}
