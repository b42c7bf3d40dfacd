//! Qwen 3 (arXiv 2505.09388): queries and keys have a norm for each head; no biases.

use super::qwen2::{window_fields, windows};
use super::{Defaults, Family, GgufFamily};
use crate::config::architecture::{Architecture, ProjectionNorm};

pub(super) const QWEN3: Family = Family {
    model_type: "qwen3",
    class: "Qwen3",
    architecture: Architecture {
        query_norm: ProjectionNorm::PerHead,
        key_norm: ProjectionNorm::PerHead,
        ..Architecture::LLAMA
    },
    defaults: Defaults { head_dim: Some(128), ..Family::BASE.defaults },
    read: windows,
    write: window_fields,
    gguf: GgufFamily {
        architecture: "qwen3",
        names: &[["attn_q_norm", "self_attn.q_norm"], ["attn_k_norm", "self_attn.k_norm"]],
        ..GgufFamily::HALVES
    },
    ..Family::BASE
};
