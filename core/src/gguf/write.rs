//! Writing a model for llama.cpp.

use std::io::Write;

use super::TRAINING_CONTEXT;
use super::builder::{DEFAULT_ALIGNMENT, GgufBuilder};
use super::dropped::{NO_ANGLES, factors};
use super::tensors::{ROPE_FACTORS, gguf_name, pairs_from_halves};
use super::write_tokenizer::write_tokenizer;
use crate::chat::ChatTemplate;
use crate::config::{Config, PositionScheme, RopeScaling, YarnParameters};
use crate::error::{Error, Result};
use crate::model::{Model, StoredType, Unfused, WeightSource, finite_f32, is_norm, pieces, stored, write};
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
    check(config)?;
    let family = config.family;
    let architecture = family.gguf.architecture;
    let source = &Unfused::new(config, weights);
    let drops_by_scaling = config.positions == PositionScheme::None && !family.gguf.has_frequency_factors;
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
        _ if drops_by_scaling => {
            builder.text(&key("rope.scaling.type"), "linear").f32(&key("rope.scaling.factor"), NO_ANGLES as f32)
        }
        // Dropped positions have the frequencies of plain RoPE, of which none is scaled.
        _ if config.positions != PositionScheme::Rotary => builder,
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
    let fields = (family.write)(config);
    for [name, field] in family.gguf.numbers {
        builder = match fields.get(*field) {
            Some(number) if number.is_u64() => builder.u32(&key(name), number.as_u64().unwrap_or_default() as u32),
            Some(number) => builder.f32(&key(name), number.as_f64().unwrap_or_default() as f32),
            None => builder,
        };
    }
    if config.extension > 1 {
        builder = builder.u32(TRAINING_CONTEXT, size(config.max_position_embeddings));
    }
    builder = write_tokenizer(builder, config, tokenizer)?;
    if let Some(template) = template {
        builder = builder.text("tokenizer.chat_template", &template.source);
    }
    if let Some(factors) = factors(config).filter(|_| family.gguf.has_frequency_factors) {
        builder = builder.tensor(ROPE_FACTORS, &[factors.len()], &factors);
    }
    let (tensors, unused) = Model::layout(config, source)?;
    let mut announced = Vec::new();
    for (hugging_face, shape) in tensors {
        let name = gguf_name(family, &hugging_face)
            .ok_or_else(|| Error::NoGguf(format!("it has no name for {hugging_face}")))?;
        let heads = match name.split('.').nth(2) {
            Some("attn_q") => Some(config.num_attention_heads),
            Some("attn_k") => Some(config.num_key_value_heads),
            _ => None,
        };
        let head_dim = heads.filter(|_| family.gguf.rotates_neighbours).map(|heads| shape[0] / heads);
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
            let mut numbers = finite_f32(name, source.rows(name, shape, rows)?)?;
            if is_norm(name) {
                let offset = config.architecture.norm_offset as f32;
                numbers.iter_mut().for_each(|weight| *weight += offset);
            }
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

/// Whether llama.cpp can compute the model.
fn check(config: &Config) -> Result<()> {
    let yarn_differs = |yarn: &YarnParameters| {
        let standard = YarnParameters {
            original_max_position_embeddings: yarn.original_max_position_embeddings,
            ..YarnParameters::new(yarn.factor)
        };
        *yarn != standard
    };
    let scaling = &config.rope.scaling;
    let positions = config.positions;
    let is_partial = matches!(positions, PositionScheme::Partial { .. });
    // llama.cpp knows the windows of Gemma 3 by the number of a layer.
    let is_gemma = config.family.gguf.architecture == "gemma3";
    let has_usual_windows = is_gemma && has_gemma_windows(config);
    let width =
        if config.num_hidden_layers == 62 { config.hidden_size / config.num_attention_heads } else { config.head_dim };
    let has_usual_factor = (config.attention_scale() * (width as f64).sqrt() - 1.0).abs() < 1e-6;
    let has_factors = config.family.gguf.has_frequency_factors;
    let reasons = [
        (config.has_added_norms(), "norms of queries or keys that its family does not have"),
        (positions == PositionScheme::Alibi, "ALiBi"),
        (config.has_windows() && !has_usual_windows, "sliding windows"),
        (config.has_layers_without_positions(), "layers that differ"),
        (config.scalable_softmax, "a softmax that scales with the length (SSMax)"),
        (matches!(positions, PositionScheme::Clipped { .. }), "softly clipped frequencies (CoPE)"),
        (config.softmax_scale.is_some(), "its own factor of the logits"),
        (config.head_scales.is_some(), "a temperature for each head"),
        (config.architecture.partial_rotary_factor != 1.0, "heads of which only a part rotates"),
        (matches!(scaling, RopeScaling::Dynamic { .. } | RopeScaling::Longrope(_)), "dynamic or LongRoPE scaling"),
        (matches!(scaling, RopeScaling::Yarn(yarn) if yarn_differs(yarn)), "YaRN with changed parameters"),
        (
            matches!(scaling, RopeScaling::Llama3(_)) && (is_partial || !has_factors),
            "both Llama 3's scaling and dropped frequencies, or another family",
        ),
        (is_partial && !has_factors, "partly dropped positions of a family other than Llama"),
        (has_usual_windows && positions == PositionScheme::None, "dropped positions in layers with windows"),
        (is_gemma && !has_usual_factor, "another factor of the logits than llama.cpp takes for Gemma 3"),
        (config.family.gguf.architecture == "olmo2" && config.tie_word_embeddings, "a tied head in OLMo 2"),
    ];
    match reasons.iter().find(|(is_so, _)| *is_so) {
        Some((_, reason)) => Err(Error::NoGguf(format!("llama.cpp cannot compute a model with {reason}"))),
        None => Ok(()),
    }
}

/// Whether the layers with a window are those that llama.cpp takes for granted in Gemma 3: all but every sixth.
fn has_gemma_windows(config: &Config) -> bool {
    let usual = |index: usize| !(index + 1).is_multiple_of(6);
    !config.layer_types.is_empty()
        && config.layer_types.iter().enumerate().all(|(index, layer)| layer.window.is_some() == usual(index))
}
