//! From the head's values to a config.

use serde_json::{Map, Value as Json, json};

use super::metadata::Metadata;
use super::tensors::TensorInfo;
use crate::config::Config;
use crate::error::{Error, Result};

/// The config, by way of the `config.json` that a Hugging Face folder would have, so that both are checked alike.
pub(super) fn config(metadata: &Metadata, tensors: &[TensorInfo]) -> Result<Config> {
    let architecture = metadata.text("general.architecture")?;
    if !["llama", "qwen2"].contains(&architecture) {
        return Err(Error::Gguf(format!("its architecture is {architecture}, but only llama and qwen2 are read")));
    }
    let key = |name: &str| format!("{architecture}.{name}");
    let size = |name: &str| metadata.u64(&key(name));
    let has_tensor = |name: &str| tensors.iter().any(|tensor| tensor.name == name);
    if has_tensor("rope_freqs.weight") {
        return Err(Error::Gguf(
            "it holds frequencies as a tensor (rope_freqs.weight), as Llama 3.1's files do; use the safetensors of the model".into(),
        ));
    }
    if metadata.optional_u64(&key("expert_count"))?.unwrap_or(0) > 0 {
        return Err(Error::Gguf("it is a mixture of experts, which is not read".into()));
    }
    let (hidden, heads) = (size("embedding_length")?, size("attention.head_count")?);
    let head_dim = match metadata.optional_u64(&key("attention.key_length"))? {
        Some(length) => length,
        None if heads > 0 => hidden / heads,
        None => return Err(Error::Gguf("it has no heads".into())),
    };
    if let Some(rotated) = metadata.optional_u64(&key("rope.dimension_count"))?
        && rotated != head_dim
    {
        return Err(Error::Gguf(format!("{rotated} of a head's {head_dim} components rotate, which is not read")));
    }
    let vocabulary = match metadata.optional_u64(&key("vocab_size"))? {
        Some(size) => size,
        None => metadata.list("tokenizer.ggml.tokens")?.len() as u64,
    };
    // A model without an output has the embedding in its place.
    let is_tied = !has_tensor("output.weight");
    let mut config = json!({
        "model_type": architecture,
        "vocab_size": vocabulary,
        "hidden_size": hidden,
        "intermediate_size": size("feed_forward_length")?,
        "num_hidden_layers": size("block_count")?,
        "num_attention_heads": heads,
        "num_key_value_heads": metadata.optional_u64(&key("attention.head_count_kv"))?.unwrap_or(heads),
        "head_dim": head_dim,
        "max_position_embeddings": size("context_length")?,
        "rms_norm_eps": short(metadata.f64(&key("attention.layer_norm_rms_epsilon"))?),
        "rope_theta": metadata.optional_f64(&key("rope.freq_base"))?.unwrap_or(10_000.0),
        "tie_word_embeddings": is_tied,
    });
    let fields = config.as_object_mut().expect("the text above is an object");
    if let Some(scaling) = scaling(metadata, &key)? {
        fields.insert("rope_scaling".into(), Json::Object(scaling));
    }
    for (name, key) in
        [("bos_token_id", "tokenizer.ggml.bos_token_id"), ("eos_token_id", "tokenizer.ggml.eos_token_id")]
    {
        if let Some(id) = metadata.optional_u64(key)? {
            fields.insert(name.into(), json!(id));
        }
    }
    Config::from_json(&config.to_string())
}

/// A number of 32 bits as people write it: 1e-5 and not 9.999999747378752e-6.
fn short(number: f64) -> f64 {
    (number as f32).to_string().parse().unwrap_or(number)
}

fn scaling(metadata: &Metadata, key: &impl Fn(&str) -> String) -> Result<Option<Map<String, Json>>> {
    let name = key("rope.scaling.type");
    let kind = if metadata.has(&name) { metadata.text(&name)? } else { "none" };
    if kind == "none" {
        return Ok(None);
    }
    if !["linear", "yarn"].contains(&kind) {
        return Err(Error::Gguf(format!("its scaling of RoPE is {kind}, but only linear and yarn are read")));
    }
    let mut fields = Map::new();
    fields.insert("rope_type".into(), json!(kind));
    fields.insert("factor".into(), json!(metadata.f64(&key("rope.scaling.factor"))?));
    if let Some(original) = metadata.optional_u64(&key("rope.scaling.original_context_length"))? {
        fields.insert("original_max_position_embeddings".into(), json!(original));
    }
    Ok(Some(fields))
}
