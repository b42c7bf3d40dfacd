//! Makes a config of the values in the header.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use super::TRAINING_CONTEXT;
use super::dropped::{NO_ANGLES, dropped};
use super::metadata::Metadata;
use super::tensors::TensorInfo;
use crate::config::{
    AttentionType, Config, Family, LARGEST_HEAD, Llama3Parameters, MOST_LAYERS, PositionScheme, at_most,
};
use crate::error::{Error, Result};
use crate::positions::{llama3_frequencies, rope_frequencies};

const WINDOW: &str = "sliding_window";

/// The config, made by way of the `config.json` that a Hugging Face folder would have, so that both are checked in the
/// same way. `factors` is the content of the tensor `rope_freqs.weight`, if there is one, `longrope` that of LongRoPE's two.
pub(super) fn config(
    metadata: &Metadata,
    tensors: &[TensorInfo],
    factors: Option<&[f32]>,
    longrope: Option<(Vec<f32>, Vec<f32>)>,
) -> Result<Config> {
    let architecture = metadata.text("general.architecture")?;
    let Some(family) = Family::of_gguf(architecture) else {
        let choices = Family::gguf_choices();
        return Err(Error::Gguf(format!("its architecture is {architecture}, but only {choices} are read")));
    };
    let key = |name: &str| format!("{architecture}.{name}");
    let size = |name: &str| metadata.u64(&key(name));
    let has_tensor = |name: &str| tensors.iter().any(|tensor| tensor.name == name);
    if metadata.optional_u64(&key("expert_count"))?.unwrap_or(0) > 0 {
        return Err(Error::Gguf("it is a mixture of experts, which is not read".into()));
    }
    let theta = metadata.optional_f64(&key("rope.freq_base"))?.unwrap_or(10_000.0);
    let (hidden, heads) = (size("embedding_length")?, size("attention.head_count")?);
    let head_dim = match metadata.optional_u64(&key("attention.key_length"))? {
        Some(length) => length,
        None if heads > 0 => hidden / heads,
        None => return Err(Error::Gguf("it has no heads".into())),
    };
    // Lists of these sizes are made before the config is checked.
    let [layers, longest] = [size("block_count")?, head_dim].map(|size| usize::try_from(size).unwrap_or(usize::MAX));
    at_most(&[("block_count", layers, MOST_LAYERS), ("key_length", longest, LARGEST_HEAD)]).map_err(Error::Gguf)?;
    let rotated = metadata.optional_u64(&key("rope.dimension_count"))?.unwrap_or(head_dim);
    let vocabulary = match metadata.optional_u64(&key("vocab_size"))? {
        Some(size) => size,
        None => metadata.texts("tokenizer.ggml.tokens")?.len() as u64,
    };
    // A model without an output matrix uses the embedding in its place.
    let is_tied = !has_tensor("output.weight");
    let mut config = json!({
        "model_type": family.model_type,
        "vocab_size": vocabulary,
        "hidden_size": hidden,
        "intermediate_size": size("feed_forward_length")?,
        "num_hidden_layers": size("block_count")?,
        "num_attention_heads": heads,
        "num_key_value_heads": metadata.optional_u64(&key("attention.head_count_kv"))?.unwrap_or(heads),
        "head_dim": head_dim,
        "max_position_embeddings": size("context_length")?,
        "rms_norm_eps": short(metadata.f64(&key("attention.layer_norm_rms_epsilon"))?),
        "rope_theta": theta,
        "tie_word_embeddings": is_tied,
    });
    let training_context = metadata.optional_u64(TRAINING_CONTEXT)?;
    let fields = config.as_object_mut().expect("the text above is an object");
    for [name, field] in family.gguf.numbers {
        // A window of 0 is none.
        let number = number(metadata, &key(name))?.filter(|number| number != &json!(0));
        fields.extend(number.map(|number| ((*field).to_owned(), number)));
    }
    check_windows(metadata, family, fields)?;
    // A model may lack the biases that its family usually has (Seed-OSS); a GGUF says so by its tensors alone.
    if !has_tensor("blk.0.attn_q.bias") {
        fields.insert("attention_bias".into(), json!(false));
    }
    if rotated != head_dim {
        fields.insert("partial_rotary_factor".into(), json!(rotated as f64 / head_dim as f64));
    }
    // A switch of Granite.
    let is_switched_off =
        metadata.optional_bool(&key("rope.scaling.finetuned"))? == Some(false) && architecture == "granite";
    let dropped = match factors {
        _ if is_switched_off => Some(PositionScheme::None),
        Some(factors) => dropped(theta, head_dim as usize, factors)?,
        None => drops_all_by_scaling(metadata, &key)?.then_some(PositionScheme::None),
    };
    if let Some(positions) = dropped {
        let (attention_type, cut) = match positions {
            PositionScheme::Partial { min_frequency } => (AttentionType::Rope, min_frequency),
            _ => (AttentionType::Nope, 0.0),
        };
        fields.insert("model_type".into(), json!(family.dropped_model_type()));
        fields.insert("attention_type".into(), json!(attention_type));
        fields.insert("rope_min_frequency".into(), json!(cut));
    }
    if let Some(context) = training_context {
        fields.insert("training_context".into(), json!(context));
    }
    let scaling = match (factors, longrope) {
        _ if dropped.is_some() => None,
        (Some(factors), _) => Some(llama3(theta, head_dim as usize, factors)?),
        (None, Some((short, long))) => {
            let fields = json!({ "rope_type": "longrope", "short_factor": short, "long_factor": long });
            fields.as_object().cloned()
        }
        (None, None) => scaling(metadata, &key)?,
    };
    if let Some(scaling) = scaling {
        fields.insert("rope_scaling".into(), Json::Object(scaling));
    }
    if let Some(id) = metadata.optional_u64("tokenizer.ggml.bos_token_id")? {
        fields.insert("bos_token_id".into(), json!(id));
    }
    let ends = ends_of_text(metadata)?;
    if !ends.is_empty() {
        fields.insert("eos_token_id".into(), json!(ends));
    }
    Config::from_json(&config.to_string()).map_err(|error| match error {
        // There is no config.json that the sentence could mean.
        Error::Config(reason) => Error::Gguf(reason),
        other => other,
    })
}

/// Tokens at which an answer ends: those that the file names, and those that llama.cpp knows by their text.
fn ends_of_text(metadata: &Metadata) -> Result<Vec<u64>> {
    const ENDS: [&str; 7] =
        ["<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "<|eom_id|>"];
    let mut ends = Vec::new();
    for name in ["eos", "eot", "eom"] {
        ends.extend(metadata.optional_u64(&format!("tokenizer.ggml.{name}_token_id"))?);
    }
    if metadata.has("tokenizer.ggml.tokens") {
        let tokens = metadata.texts("tokenizer.ggml.tokens")?;
        let is_end = |(_, token): &(u64, &&str)| ENDS.contains(*token);
        ends.extend((0u64..).zip(&tokens).filter(is_end).map(|(id, _)| id));
    }
    let mut seen = BTreeSet::new();
    ends.retain(|&id| seen.insert(id));
    Ok(ends)
}

/// Refuses windows that this family's files have for a newer one, and says that a file without a window has none.
fn check_windows(metadata: &Metadata, family: &Family, fields: &mut Map<String, Json>) -> Result<()> {
    let architecture = family.gguf.architecture;
    let window = metadata.optional_u64(&format!("{architecture}.attention.sliding_window"))?.unwrap_or(0);
    let is_read = family.gguf.numbers.iter().any(|[_, field]| *field == WINDOW);
    if window > 0 && !is_read {
        return Err(Error::Gguf(format!("it has sliding windows, which are not read in files of {architecture}")));
    }
    if is_read && window == 0 {
        fields.insert(WINDOW.into(), Json::Null);
        if let Some(layers) =
            fields.get("num_hidden_layers").and_then(Json::as_u64).filter(|_| architecture == "gemma3")
        {
            fields.insert("layer_types".into(), json!(vec!["full_attention"; layers as usize]));
        }
    }
    Ok(())
}

/// A number, where there is one, as `config.json` would have it.
fn number(metadata: &Metadata, name: &str) -> Result<Option<Json>> {
    if !metadata.has(name) {
        return Ok(None);
    }
    Ok(Some(match metadata.u64(name) {
        Ok(whole) => json!(whole),
        Err(_) => json!(short(metadata.f64(name)?)),
    }))
}

/// Whether all positions are dropped in a family whose frequencies have no factors of their own ([`NO_ANGLES`]).
fn drops_all_by_scaling(metadata: &Metadata, key: &impl Fn(&str) -> String) -> Result<bool> {
    let name = key("rope.scaling.factor");
    Ok(metadata.has(&name) && metadata.f64(&name)? >= NO_ANGLES / 2.0)
}

/// A number of 32 bits in its shortest decimal form: 1e-5 and not 9.999999747378752e-6.
fn short(number: f64) -> f64 {
    (number as f32).to_string().parse().unwrap_or(number)
}

fn scaling(metadata: &Metadata, key: &impl Fn(&str) -> String) -> Result<Option<Map<String, Json>>> {
    let name = key("rope.scaling.type");
    // As llama.cpp reads it: without a type the scaling is linear, and files of 2023 have its factor under another name.
    let kind = if metadata.has(&name) { metadata.text(&name)? } else { "linear" };
    let names = [key("rope.scaling.factor"), key("rope.scale_linear")];
    let factor = names.iter().find(|name| metadata.has(name)).map_or(Ok(1.0), |name| metadata.f64(name))?;
    if kind == "none" || kind == "linear" && [0.0, 1.0].contains(&factor) {
        return Ok(None);
    }
    let attention = key("rope.scaling.attn_factor");
    if metadata.has(&attention) && metadata.f64(&attention)? != 1.0 {
        return Err(Error::Gguf(format!("it has {attention}, which is not read; use the safetensors of the model")));
    }
    if !["linear", "yarn"].contains(&kind) {
        return Err(Error::Gguf(format!("its scaling of RoPE is {kind}, but only linear and yarn are read")));
    }
    let mut fields = Map::new();
    fields.insert("rope_type".into(), json!(kind));
    fields.insert("factor".into(), json!(factor));
    if let Some(original) = metadata.optional_u64(&key("rope.scaling.original_context_length"))? {
        fields.insert("original_max_position_embeddings".into(), json!(original));
    }
    Ok(Some(fields))
}

/// The context that every Llama of version 3 was trained with before it was extended; a GGUF does not have it.
const LLAMA_3_CONTEXT: usize = 8192;

/// Llama 3.1's scaling. llama.cpp's converter keeps only the numbers that the frequencies are divided by. The largest
/// is the extension factor; the other parameters are taken to be Llama 3's own, and must give the same numbers.
fn llama3(theta: f64, head_dim: usize, factors: &[f32]) -> Result<Map<String, Json>> {
    let largest = f64::from(factors.iter().copied().fold(1.0, f32::max));
    let parameters =
        Llama3Parameters { original_max_position_embeddings: Some(LLAMA_3_CONTEXT), ..Llama3Parameters::new(largest) };
    let scaled = llama3_frequencies(theta, head_dim, &parameters, LLAMA_3_CONTEXT);
    let expected = rope_frequencies(theta, head_dim).into_iter().zip(&scaled).map(|(plain, scaled)| plain / scaled);
    let is_llama3 = factors.len() == scaled.len()
        && expected.zip(factors).all(|(expected, &found)| (expected / f64::from(found) - 1.0).abs() < 1e-4);
    match serde_json::to_value(&parameters) {
        Ok(Json::Object(mut fields)) if is_llama3 => {
            fields.insert("rope_type".into(), json!("llama3"));
            Ok(fields)
        }
        _ => Err(Error::Gguf(
            "its factors of frequencies (rope_freqs.weight) are not those of Llama 3.1; use the safetensors of the model".into(),
        )),
    }
}
