//! Phi-3 and Phi-4 (arXiv 2404.14219): a Llama, or a Mistral where it has a window, whose files have fused projections. It is written as
//! one of these, with a projection a tensor (`model::Unfused`).

use super::mistral::MISTRAL;
use super::{Defaults, Family, GgufFamily, LLAMA};
use crate::config::layer_types;

pub(super) const PHI3: Family = Family {
    model_type: "phi3",
    class: "Phi3",
    defaults: Defaults { rms_norm_eps: 1e-5, ..Family::BASE.defaults },
    has_partial_rotation: true,
    read: |json, decoder| {
        // A window no shorter than the context hides nothing of texts that the model was made for.
        let context = json.max_position_embeddings as u64;
        let window = json.sliding_window.take().filter(|window| window.as_u64().is_none_or(|window| window < context));
        decoder.layer_types = layer_types::all_with_window(json.num_hidden_layers, window)?;
        decoder.family = if decoder.layer_types.is_empty() { &LLAMA } else { &MISTRAL };
        if let Some(scaling) = json.rope_parameters.as_mut().or(json.rope_scaling.as_mut()) {
            for name in ["type", "rope_type"] {
                if let Some(kind) = scaling.get_mut(name).filter(|kind| ["su", "yarn"].iter().any(|old| *kind == old)) {
                    *kind = "longrope".into();
                }
            }
        }
        Ok(())
    },
    gguf: GgufFamily {
        architecture: "phi3",
        names: &[["attn_qkv", "self_attn.qkv_proj"], ["ffn_up", "mlp.gate_up_proj"]],
        numbers: &[
            ["attention.sliding_window", "sliding_window"],
            ["rope.scaling.original_context_length", "original_max_position_embeddings"],
        ],
        ..GgufFamily::HALVES
    },
    ..Family::BASE
};
