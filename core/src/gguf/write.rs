//! Writing a model for llama.cpp.

use std::io::Write;

use super::TRAINING_CONTEXT;
use super::builder::{DEFAULT_ALIGNMENT, GgufBuilder};
use super::dropped::factors;
use super::tensors::{ROPE_FACTORS, gguf_name, pairs_from_halves};
use super::write_tokenizer::write_tokenizer;
use crate::chat::ChatTemplate;
use crate::config::{Config, RopeScaling, YarnParameters};
use crate::error::{Error, Result};
use crate::model::{Model, StoredType, WeightSource, finite_f32, pieces, stored, write};
use crate::tokenizer::Tokenizer;

/// Writes a GGUF, without a model in memory, and returns the names of the tensors that were left over ([`Model::load`]).
/// Dropped positions are written as huge factors of the frequencies. The temperature β of long texts is left out, since
/// llama.cpp has none. Norms and biases stay in 32 bits.
///
/// # Errors
/// If llama.cpp cannot compute such a model, or its tokenizer is not a BPE that llama.cpp knows; as [`Model::load`];
/// and if a weight is too large for the type, or `out` cannot be written.
pub fn write_gguf(
    config: &Config,
    tokenizer: &Tokenizer,
    template: Option<&ChatTemplate>,
    weights: &impl WeightSource,
    kind: StoredType,
    out: &mut impl Write,
) -> Result<Vec<String>> {
    let architecture = architecture(config)?;
    let key = |name: &str| format!("{architecture}.{name}");
    let size = |size: usize| size as u32;
    let file_type = match kind {
        StoredType::F32 => 0,
        StoredType::F16 => 1,
        StoredType::Bf16 => 32,
    };
    let mut builder = GgufBuilder::default()
        .text("general.architecture", architecture)
        .u32("general.file_type", file_type)
        .u32(&key("block_count"), size(config.num_hidden_layers))
        .u32(&key("context_length"), size(config.max_position_embeddings * config.extension))
        .u32(&key("embedding_length"), size(config.hidden_size))
        .u32(&key("feed_forward_length"), size(config.intermediate_size))
        .u32(&key("attention.head_count"), size(config.num_attention_heads))
        .u32(&key("attention.head_count_kv"), size(config.num_key_value_heads))
        .u32(&key("attention.key_length"), size(config.head_dim))
        .u32(&key("attention.value_length"), size(config.head_dim))
        .f32(&key("attention.layer_norm_rms_epsilon"), config.rms_norm_eps as f32)
        .u32(&key("rope.dimension_count"), size(config.head_dim))
        .f32(&key("rope.freq_base"), config.rope.rope_theta as f32)
        .u32(&key("vocab_size"), size(config.vocab_size));
    builder = match &config.rope.scaling {
        RopeScaling::Linear { factor } => {
            builder.text(&key("rope.scaling.type"), "linear").f32(&key("rope.scaling.factor"), *factor as f32)
        }
        RopeScaling::Yarn(YarnParameters { factor, original_max_position_embeddings, .. }) => {
            let original = original_max_position_embeddings.unwrap_or(config.max_position_embeddings);
            builder
                .text(&key("rope.scaling.type"), "yarn")
                .f32(&key("rope.scaling.factor"), *factor as f32)
                .u32(&key("rope.scaling.original_context_length"), size(original))
        }
        _ => builder,
    };
    if config.extension > 1 {
        builder = builder.u32(TRAINING_CONTEXT, size(config.max_position_embeddings));
    }
    builder = write_tokenizer(builder, config, tokenizer)?;
    if let Some(template) = template {
        builder = builder.text("tokenizer.chat_template", &template.source);
    }
    if let Some(factors) = factors(config) {
        builder = builder.tensor(ROPE_FACTORS, &[factors.len()], &factors);
    }
    let (tensors, unused) = Model::layout(config, weights)?;
    let mut announced = Vec::new();
    for (hugging_face, shape) in tensors {
        let name =
            gguf_name(&hugging_face).ok_or_else(|| Error::NoGguf(format!("it has no name for {hugging_face}")))?;
        let heads = match name.split('.').nth(2) {
            Some("attn_q") => Some(config.num_attention_heads),
            Some("attn_k") => Some(config.num_key_value_heads),
            _ => None,
        };
        // llama.cpp rotates pairs of neighbours for this architecture alone.
        let head_dim = heads.filter(|_| architecture == "llama").map(|heads| shape[0] / heads);
        let kind = if shape.len() == 1 { StoredType::F32 } else { kind };
        builder.announce(kind, &name, &shape);
        announced.push((hugging_face, shape, head_dim, kind));
    }
    write(out, &builder.bytes())?;
    for (name, shape, head_dim, kind) in &announced {
        let mut written = 0;
        // Rows change their places within a head.
        for rows in pieces(shape, head_dim.unwrap_or(1)) {
            let count = rows.len();
            let mut numbers = finite_f32(name, weights.rows(name, shape, rows)?)?;
            if let Some(head_dim) = head_dim {
                numbers = pairs_from_halves(&numbers, count, *head_dim);
            }
            let bytes = stored(name, &numbers, *kind)?;
            written += bytes.len();
            write(out, &bytes)?;
        }
        write(out, &vec![0; written.next_multiple_of(DEFAULT_ALIGNMENT) - written])?;
    }
    Ok(unused)
}

/// llama.cpp's name of the model's architecture.
fn architecture(config: &Config) -> Result<&'static str> {
    let yarn_differs = |yarn: &YarnParameters| {
        let standard = YarnParameters {
            original_max_position_embeddings: yarn.original_max_position_embeddings,
            ..YarnParameters::new(yarn.factor)
        };
        *yarn != standard
    };
    let scaling = &config.rope.scaling;
    let reasons = [
        (config.attention.norms_queries() || config.attention.norms_keys(), "norms of queries or keys"),
        (config.alibi, "ALiBi"),
        (config.has_windows(), "sliding windows"),
        (!config.layer_types.is_empty(), "layers that differ"),
        (config.scalable_softmax, "a softmax that scales with the length (SSMax)"),
        (config.rope.rope_clipped_pairs > 0, "softly clipped frequencies (CoPE)"),
        (config.softmax_scale.is_some(), "its own factor of the logits"),
        (config.head_scales.is_some(), "a temperature for each head"),
        (matches!(scaling, RopeScaling::Dynamic { .. } | RopeScaling::Longrope(_)), "dynamic or LongRoPE scaling"),
        (matches!(scaling, RopeScaling::Yarn(yarn) if yarn_differs(yarn)), "YaRN with changed parameters"),
        (
            matches!(scaling, RopeScaling::Llama3(_)) && config.rope.rope_min_frequency > 0.0,
            "both Llama 3's scaling and dropped frequencies",
        ),
        (config.qkv_bias && factors(config).is_some(), "both biases and dropped positions"),
    ];
    match reasons.iter().find(|(is_so, _)| *is_so) {
        Some((_, reason)) => Err(Error::NoGguf(format!("llama.cpp cannot compute a Llama with {reason}"))),
        None => Ok(if config.qkv_bias { "qwen2" } else { "llama" }),
    }
}
