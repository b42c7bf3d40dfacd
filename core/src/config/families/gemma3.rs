//! Gemma 3, its text part (arXiv 2503.19786): norms on both sides of attention and MLP that multiply by 1 + w, one a head on queries and
//! keys, GeGLU, a scaled embedding; five layers of six have a window and frequencies of their own.

use serde_json::{Map, Value, json};

use super::{Decoder, Defaults, Family, GgufFamily};
use crate::config::architecture::{Activation, Architecture, BlockNorms, ProjectionNorm};
use crate::config::fields::ConfigJson;
use crate::config::{Config, layer_types};
use crate::error::Result;

pub(super) const GEMMA3: Family = Family {
    model_type: "gemma3_text",
    class: "Gemma3",
    architecture: Architecture {
        block_norms: BlockNorms::Both,
        norm_offset: 1.0,
        query_norm: ProjectionNorm::PerHead,
        key_norm: ProjectionNorm::PerHead,
        activation: Activation::GeluTanh,
        ..Architecture::LLAMA
    },
    defaults: Defaults {
        rope_theta: 1_000_000.0,
        tie_word_embeddings: true,
        head_dim: Some(256),
        num_key_value_heads: Some(4),
        sliding_window: Some(4096),
        ..Family::BASE.defaults
    },
    read,
    write,
    gguf: GgufFamily {
        architecture: "gemma3",
        names: &[
            ["attn_q_norm", "self_attn.q_norm"],
            ["attn_k_norm", "self_attn.k_norm"],
            ["post_attention_norm", "post_attention_layernorm"],
            ["ffn_norm", "pre_feedforward_layernorm"],
            ["post_ffw_norm", "post_feedforward_layernorm"],
        ],
        numbers: &[["attention.sliding_window", "sliding_window"], ["rope.freq_base_swa", LOCAL_THETA]],
        ..GgufFamily::HALVES
    },
    ..Family::BASE
};

const ACTIVATION: &str = "hidden_activation";
const QUERY_SCALAR: &str = "query_pre_attn_scalar";
const LOCAL_THETA: &str = "rope_local_base_freq";

fn read(json: &mut ConfigJson, decoder: &mut Decoder) -> Result<()> {
    if let Some(Value::String(activation)) = json.other.remove(ACTIVATION) {
        json.hidden_act = Some(activation);
    }
    // GGUF files do not have it; llama.cpp knows the largest model, whose own is not the width of a head, by its layers.
    let query_scalar = match json.num_hidden_layers {
        62 => json.hidden_size / json.num_attention_heads,
        _ => json.head_dim.unwrap_or(256),
    };
    let scalar = json.take_number(QUERY_SCALAR, query_scalar as f64)?;
    let mut local_theta = json.take_number(LOCAL_THETA, 10_000.0)?;
    decoder.architecture.attention_multiplier = Some(scalar.powf(-0.5));
    decoder.architecture.embedding_multiplier = (json.hidden_size as f64).sqrt();
    // v5 of transformers has parameters for each type of layer.
    if let Some(Value::Object(full)) = json.rope_parameters.as_mut().and_then(|types| types.remove("full_attention")) {
        let sliding = json.rope_parameters.replace(full).and_then(|mut types| types.remove("sliding_attention"));
        local_theta = sliding.and_then(|local| local["rope_theta"].as_f64()).unwrap_or(local_theta);
    }
    // The larger models were trained on with a linear scaling, which is a part of their frequencies.
    let is_scaled = |scaling: &Map<String, Value>| {
        ["rope_type", "type"].iter().any(|name| scaling.get(*name).is_some_and(|kind| kind == "linear"))
    };
    if json.rope_parameters.as_ref().or(json.rope_scaling.as_ref()).is_some_and(is_scaled) {
        json.rope_scaling_trained.get_or_insert(true);
    }
    let window = json.sliding_window.take().filter(|window| !window.is_null());
    decoder.layer_types = layer_types::of_gemma3(&mut json.other, json.num_hidden_layers, window)?;
    for layer in decoder.layer_types.iter_mut().filter(|layer| layer.window.is_some()) {
        layer.rope_theta = Some(local_theta);
    }
    Ok(())
}

fn write(config: &Config) -> Map<String, Value> {
    let mut fields = layer_types::window_fields(&config.layer_types);
    let local_theta = config.layer_types.iter().find_map(|layer| layer.rope_theta).unwrap_or(10_000.0);
    let scalar = config.architecture.attention_multiplier.unwrap_or(1.0).powi(-2);
    // transformers takes only whole numbers; the inverse of a root is nearly one.
    let whole = scalar.round();
    let scalar = if (scalar - whole).abs() < 1e-6 { json!(whole as u64) } else { json!(scalar) };
    fields.extend([
        (ACTIVATION.to_owned(), json!(config.architecture.activation.name())),
        (QUERY_SCALAR.to_owned(), scalar),
        (LOCAL_THETA.to_owned(), json!(local_theta)),
    ]);
    if config.layer_types.is_empty() {
        fields.insert(layer_types::LAYER_TYPES.into(), json!(vec![layer_types::FULL; config.num_hidden_layers]));
    }
    fields
}
