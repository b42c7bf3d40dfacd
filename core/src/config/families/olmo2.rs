//! OLMo 2 (arXiv 2501.00656): norms stand behind attention and MLP, and queries and keys are normed as a whole.

use super::{Defaults, Family, GgufFamily};
use crate::config::architecture::{Architecture, BlockNorms, ProjectionNorm};

pub(super) const OLMO2: Family = Family {
    model_type: "olmo2",
    class: "Olmo2",
    architecture: Architecture {
        block_norms: BlockNorms::After,
        query_norm: ProjectionNorm::Whole,
        key_norm: ProjectionNorm::Whole,
        ..Architecture::LLAMA
    },
    defaults: Defaults { rms_norm_eps: 1e-5, ..Family::BASE.defaults },
    gguf: GgufFamily {
        architecture: "olmo2",
        names: &[
            ["attn_q_norm", "self_attn.q_norm"],
            ["attn_k_norm", "self_attn.k_norm"],
            ["post_attention_norm", "post_attention_layernorm"],
            ["post_ffw_norm", "post_feedforward_layernorm"],
        ],
        ..GgufFamily::HALVES
    },
    ..Family::BASE
};
