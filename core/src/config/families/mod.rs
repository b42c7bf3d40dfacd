//! Families of models: what their files say, and what their decoders are made of. A family is one file and one line here.

mod gemma3;
mod granite;
mod llama;
mod mistral;
mod olmo2;
mod phi3;
mod qwen2;
mod qwen3;
mod seed_oss;
mod smollm3;

use std::fmt;

use serde_json::{Map, Value};

use super::architecture::Architecture;
use super::fields::ConfigJson;
use super::{Config, LayerType};
use crate::error::Result;

/// Every family whose files are read.
const ALL: &[&Family] = &[
    &LLAMA,
    &mistral::MISTRAL,
    &qwen2::QWEN2,
    &qwen3::QWEN3,
    &SMOLLM3,
    &olmo2::OLMO2,
    &phi3::PHI3,
    &gemma3::GEMMA3,
    &granite::GRANITE,
    &seed_oss::SEED_OSS,
];

pub use self::llama::LLAMA;
pub(super) use self::smollm3::SMOLLM3;

/// Behind the `model_type` of a family's models that only our program for transformers computes.
const DROPPED: &str = "_drope";

/// A family of models.
pub struct Family {
    /// `model_type` in `config.json`.
    pub(crate) model_type: &'static str,
    /// What the names of its classes in transformers begin with.
    pub(super) class: &'static str,
    /// What its decoder is made of, where a config says nothing else.
    pub(super) architecture: Architecture,
    /// What a config means that lacks these fields.
    pub(super) defaults: Defaults,
    /// Whether a config may say that only a part of each head rotates (`partial_rotary_factor`).
    pub(super) has_partial_rotation: bool,
    /// Whether its configs mention that attention and MLP have no biases.
    pub(super) mentions_biases: bool,
    /// Changes what the fields of a config change, and takes those out that would be written again.
    pub(super) read: fn(&mut ConfigJson, &mut Decoder) -> Result<()>,
    /// The fields that [`Family::read`] took out.
    pub(crate) write: fn(&Config) -> Map<String, Value>,
    /// In llama.cpp's files.
    pub(crate) gguf: GgufFamily,
}

/// Values of fields that a config lacks, as in transformers.
#[derive(Clone, Copy)]
pub(super) struct Defaults {
    pub(super) rope_theta: f64,
    pub(super) rms_norm_eps: f64,
    pub(super) tie_word_embeddings: bool,
    /// Width of a head; `None`: the model's, divided by its heads.
    pub(super) head_dim: Option<usize>,
    /// `None`: as many as there are heads of queries.
    pub(super) num_key_value_heads: Option<usize>,
    /// Of a config that lacks the field; `null` means none.
    pub(super) sliding_window: Option<usize>,
}

/// What the fields of a config say about the decoder.
pub(super) struct Decoder {
    /// The family as which it is written; the same for most.
    pub(super) family: &'static Family,
    pub(super) architecture: Architecture,
    /// Empty where all layers are alike.
    pub(super) layer_types: Vec<LayerType>,
}

/// A family in llama.cpp's files.
#[cfg_attr(not(feature = "model"), expect(dead_code, reason = "pages read no files of llama.cpp"))]
pub(crate) struct GgufFamily {
    /// `general.architecture`.
    pub(crate) architecture: &'static str,
    /// Whether queries and keys rotate pairs of neighbours, and not of halves of a head.
    pub(crate) rotates_neighbours: bool,
    /// Whether frequencies can have a factor each (`rope_freqs.weight`).
    pub(crate) has_frequency_factors: bool,
    /// Names of a layer's tensors that differ from Llama's: in a GGUF, and in Hugging Face's files.
    pub(crate) names: &'static [[&'static str; 2]],
    /// Numbers that Llama lacks: keys behind the architecture's name, and fields of `config.json`.
    pub(crate) numbers: &'static [[&'static str; 2]],
}

impl Family {
    /// What most families share with Llama.
    const BASE: Self = Self {
        model_type: "llama",
        class: "Llama",
        architecture: Architecture::LLAMA,
        defaults: Defaults {
            rope_theta: 10_000.0,
            rms_norm_eps: 1e-6,
            tie_word_embeddings: false,
            head_dim: None,
            num_key_value_heads: None,
            sliding_window: None,
        },
        has_partial_rotation: false,
        mentions_biases: true,
        read: |_, _| Ok(()),
        write: |_| Map::new(),
        gguf: GgufFamily::BASE,
    };

    /// What its decoders are made of, where a config says nothing else.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The family of a `model_type`, and whether our program for transformers computes the model.
    pub(super) fn of_model_type(model_type: &str) -> Option<(&'static Self, bool)> {
        let (name, is_drope) = match model_type.strip_suffix(DROPPED) {
            Some(name) => (name, true),
            None => (model_type, false),
        };
        ALL.iter().find(|family| family.model_type == name).map(|&family| (family, is_drope))
    }

    /// The family of an architecture in llama.cpp's files.
    #[cfg_attr(not(feature = "model"), expect(dead_code, reason = "pages read no files of llama.cpp"))]
    pub(crate) fn of_gguf(architecture: &str) -> Option<&'static Self> {
        ALL.iter().find(|family| family.gguf.architecture == architecture).copied()
    }

    /// `model_type` of models that our program for transformers computes.
    pub(crate) fn dropped_model_type(&self) -> String {
        format!("{}{DROPPED}", self.model_type)
    }

    /// `model_type`s that are read, for messages.
    pub(crate) fn choices() -> String {
        ALL.iter().map(|family| family.model_type).collect::<Vec<_>>().join(", ")
    }

    /// Architectures of GGUF files that are read, for messages.
    #[cfg_attr(not(feature = "model"), expect(dead_code, reason = "pages read no files of llama.cpp"))]
    pub(crate) fn gguf_choices() -> String {
        let mut names: Vec<&str> = ALL.iter().map(|family| family.gguf.architecture).collect();
        names.dedup();
        names.join(", ")
    }
}

impl GgufFamily {
    /// Of Llama.
    const BASE: Self =
        Self { architecture: "llama", rotates_neighbours: true, has_frequency_factors: true, names: &[], numbers: &[] };

    /// Of most other families.
    const HALVES: Self = Self { rotates_neighbours: false, has_frequency_factors: false, ..Self::BASE };
}

impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        self.model_type == other.model_type
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(self.model_type)
    }
}
