//! What a model is: its shape, and how it reads positions.

mod architecture;
pub mod dope;
mod families;
mod fields;
mod json;
mod layer_types;
mod plain;
mod position_scheme;
mod proportional;
mod rope;

use serde::{Deserialize, Serialize};

pub use self::architecture::{Activation, Architecture, BlockNorms, ProjectionNorm};
use self::dope::DopeHeads;
pub use self::families::{Family, LLAMA};
pub use self::json::MODELING_FILE;
pub use self::layer_types::LayerType;
pub use self::position_scheme::{AttentionType, PositionScheme};
#[cfg(feature = "model")]
pub(crate) use self::rope::cut_below;
pub use self::rope::{
    Llama3Parameters, LongRopeParameters, RopeParameters, RopeScaling, YarnParameters, rope_frequencies,
};
use crate::error::{Error, Result};

/// Largest extension factor: far beyond any text, small enough that no scaled frequency or logit leaves the range of numbers.
pub const MAX_FACTOR: f64 = 1e6;

/// This limit and the next four are above what any model has, so that a damaged number cannot fill the memory.
pub(crate) const MOST_LAYERS: usize = 4096;
/// Numbers in a vector of any kind.
pub(crate) const WIDEST: usize = 1 << 20;
const MOST_TOKENS: usize = 1 << 24;
const MOST_HEADS: usize = 1 << 14;
pub(crate) const LARGEST_HEAD: usize = 1 << 14;

/// Refuses a size of a file that is above its limit: each has its name, itself and the limit.
pub(crate) fn at_most(sizes: &[(&str, usize, usize)]) -> std::result::Result<(), String> {
    match sizes.iter().find(|(_, size, most)| size > most) {
        Some((name, size, most)) => Err(format!("{name} is {size} but no more than {most} is supported")),
        None => Ok(()),
    }
}

/// Shape of the model and how it reads positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The family whose `model_type` and names of fields and tensors its files have.
    pub family: &'static Family,
    /// What the decoder is made of.
    pub architecture: Architecture,
    /// How positions are encoded.
    pub positions: PositionScheme,
    /// How layers differ, one a layer; empty where all are alike.
    pub layer_types: Vec<LayerType>,
    /// Tokens in the vocabulary.
    pub vocab_size: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width inside the MLPs.
    pub intermediate_size: usize,
    /// Blocks.
    pub num_hidden_layers: usize,
    /// Query heads.
    pub num_attention_heads: usize,
    /// Key and value heads; each serves `num_attention_heads / num_key_value_heads` query heads.
    pub num_key_value_heads: usize,
    /// Width of a head; even.
    pub head_dim: usize,
    /// ε of every RMSNorm.
    pub rms_norm_eps: f64,
    /// Context of training, C.
    pub max_position_embeddings: usize,
    /// Extension factor for which the files are written: `max_position_embeddings` there is that many times C. 1 for most.
    pub extension: usize,
    /// Whether the output projection is the embedding.
    pub tie_word_embeddings: bool,
    /// Rotary frequencies and their scaling.
    pub rope: RopeParameters,
    /// Replaces 1/√head_dim if given; absolute.
    pub softmax_scale: Option<f64>,
    /// c of the temperature β = 1 + c·ln s; 0 if not fitted.
    pub temperature_coefficient: f64,
    /// HeadScale: a temperature of each head's own; replaces the one above.
    pub head_scales: Option<HeadScales>,
    /// SSMax (Nakanishi 2025, arXiv 2501.19399): the logits of a query that sees n keys are multiplied by
    /// ln(n + 1)/ln C, so that attention does not spread as the text grows. 1 at the end of the training context.
    pub scalable_softmax: bool,
    /// Heads that DoPE's methods treat.
    pub dope_heads: Option<DopeHeads>,
    /// First token of every text.
    pub bos_token_id: Option<u32>,
    /// Tokens that end a text; where there are none, answers end with their sentence.
    pub eos_token_ids: Vec<u32>,
    /// Fields of `config.json` that say nothing to this library; they survive a save.
    pub other: serde_json::Map<String, serde_json::Value>,
}

/// HeadScale (Wang et al. 2024): a temperature for each head, fitted at one length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadScales {
    /// Extension factor s that they were fitted at, above 1.
    pub factor: f64,
    /// λ of each query head of each layer: multiplies its logits at that factor.
    pub scales: Vec<Vec<f64>>,
}

impl Config {
    /// Query heads that share a key-value head.
    pub fn group_size(&self) -> usize {
        self.num_attention_heads / self.num_key_value_heads
    }

    /// Factor of the logits q·k at s = 1.
    pub fn attention_scale(&self) -> f64 {
        let usual = || 1.0 / (self.head_dim as f64).sqrt();
        self.softmax_scale.or(self.architecture.attention_multiplier).unwrap_or_else(usual)
    }

    /// Components of a head that rotate, the first ones: all but in some families.
    pub fn rotary_dim(&self) -> usize {
        (self.head_dim as f64 * self.architecture.partial_rotary_factor) as usize
    }

    /// Whether a query of some layer attends to no more than a window.
    pub fn has_windows(&self) -> bool {
        matches!(self.positions, PositionScheme::RnopeSwa { .. })
            || self.layer_types.iter().any(|layer| layer.window.is_some())
    }

    /// Whether queries or keys have norms that those of its family lack.
    pub(crate) fn has_added_norms(&self) -> bool {
        let norms = |architecture: &Architecture| [architecture.query_norm, architecture.key_norm];
        norms(&self.architecture) != norms(self.family.architecture())
    }

    /// Whether some layers have no positions, and others have.
    pub fn has_layers_without_positions(&self) -> bool {
        self.layer_types.iter().any(|layer| !layer.rotates)
    }

    /// The same without positions, in all layers.
    #[must_use]
    pub fn without_positions(self) -> Self {
        let layer_types = layer_types::without_difference_in_rotation(&self.layer_types);
        Self { positions: PositionScheme::None, layer_types, ..self }
    }

    /// Pairs of a head whose frequencies are not below a cut.
    pub(crate) fn pairs_above(&self, min_frequency: f64) -> usize {
        let frequencies = rope_frequencies(self.rope.rope_theta, self.rotary_dim());
        frequencies.iter().filter(|&&omega| omega >= min_frequency).count()
    }

    /// Checks that all ids are in the vocabulary.
    ///
    /// # Errors
    /// If one is not; the error names the first.
    pub fn check_ids(&self, ids: &[u32]) -> Result<()> {
        match ids.iter().find(|&&id| id as usize >= self.vocab_size) {
            Some(&id) => Err(Error::TokenId { id, vocab_size: self.vocab_size }),
            None => Ok(()),
        }
    }

    /// The same config with a partial drop at this cut, if one is given.
    #[must_use]
    pub fn with_cut(mut self, min_frequency: Option<f64>) -> Self {
        if let Some(min_frequency) = min_frequency {
            self.positions = PositionScheme::Partial { min_frequency };
        }
        self
    }

    /// How far the checkpoint was already extended when it was trained, as Llama 3.1 was from 8192 to 131072 tokens: at s = 1
    /// its frequencies are scaled by this. 1 unless the config names an `original_max_position_embeddings` below C, says
    /// `rope_scaling_trained`, or has a linear scaling and does not say that it is not trained.
    pub fn trained_factor(&self) -> f64 {
        let (scaling, context) = (&self.rope.scaling, self.max_position_embeddings);
        let original = scaling.original_context().filter(|&original| original < context);
        if original.is_none() && !self.rope.rope_scaling_trained {
            return 1.0;
        }
        scaling.factor().or(original.map(|original| context as f64 / original as f64)).unwrap_or(1.0)
    }

    /// The extension factor s that the config asks for: that of its scaling, or 1 if C already includes the extension.
    pub fn extension_factor(&self) -> f64 {
        if self.trained_factor() > 1.0 { 1.0 } else { self.rope.scaling.factor().unwrap_or(1.0) }
    }

    /// Adds the tokens at which answers end by a `generation_config.json`, where a folder has one: transformers takes them from there.
    ///
    /// # Errors
    /// If it is not JSON.
    pub fn with_generation_config(mut self, json: &str) -> Result<Self> {
        let json: serde_json::Value =
            serde_json::from_str(json).map_err(|error| Error::Config(format!("generation_config.json: {error}")))?;
        let given = &json["eos_token_id"];
        for id in given.as_array().map_or(std::slice::from_ref(given), Vec::as_slice) {
            let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
            self.eos_token_ids.extend(id.filter(|id| !self.eos_token_ids.contains(id)));
        }
        Ok(self)
    }

    /// With the type of the weights beside it, as which transformers opens them: `float32`, `float16` or `bfloat16`.
    #[must_use]
    pub fn with_torch_dtype(mut self, name: &str) -> Self {
        // The name of the field in newer files; two that differ would leave the choice to the version.
        self.other.remove("dtype");
        self.other.insert("torch_dtype".to_owned(), name.into());
        self
    }

    /// Number of parameters, without the norms of queries and keys.
    pub fn num_parameters(&self) -> u64 {
        let [hidden, intermediate] = [self.hidden_size, self.intermediate_size].map(|size| size as u64);
        let [queries, keys] =
            [self.num_attention_heads, self.num_key_value_heads].map(|heads| (heads * self.head_dim) as u64);
        let biases = if self.architecture.qkv_bias { queries + 2 * keys } else { 0 };
        let norms = if self.architecture.block_norms == BlockNorms::Both { 4 } else { 2 };
        let block = hidden * (2 * queries + 2 * keys + 3 * intermediate + norms) + biases;
        let embeddings = self.vocab_size as u64 * hidden * if self.tie_word_embeddings { 1 } else { 2 };
        self.num_hidden_layers as u64 * block + embeddings + hidden
    }

    /// Checks that the sizes fit together and the parameters are possible.
    ///
    /// # Errors
    /// If not; the error names the first parameter that is wrong.
    pub fn check(&self) -> Result<()> {
        let fail = |message: String| Err(Error::Config(message));
        let sizes = [
            ("vocab_size", self.vocab_size, MOST_TOKENS),
            ("num_hidden_layers", self.num_hidden_layers, MOST_LAYERS),
            ("hidden_size", self.hidden_size, WIDEST),
            ("intermediate_size", self.intermediate_size, WIDEST),
            ("num_attention_heads", self.num_attention_heads, MOST_HEADS),
            ("num_key_value_heads", self.num_key_value_heads, MOST_HEADS),
            ("head_dim", self.head_dim, LARGEST_HEAD),
        ];
        if let Some((name, ..)) = sizes.iter().find(|(_, size, _)| *size == 0) {
            return fail(format!("{name} is 0 but must be at least 1"));
        }
        at_most(&sizes).map_err(Error::Config)?;
        let windows = self.layer_types.iter().filter_map(|layer| layer.window);
        let of_rnope = match self.positions {
            PositionScheme::RnopeSwa { window } => Some(window),
            _ => None,
        };
        if windows.chain(of_rnope).any(|window| window == 0) {
            return fail("sliding_window is 0 but must be at least 1, since a token attends to itself".into());
        }
        if ![0, self.num_hidden_layers].contains(&self.layer_types.len()) {
            let (named, layers) = (self.layer_types.len(), self.num_hidden_layers);
            return fail(format!("layer_types names {named} layers but num_hidden_layers is {layers}"));
        }
        if self.max_position_embeddings < 2 {
            return fail("max_position_embeddings must be at least 2: a context of one token predicts nothing".into());
        }
        let rope = &self.rope;
        let min_frequency = match self.positions {
            PositionScheme::Partial { min_frequency } => min_frequency,
            _ => 0.0,
        };
        let local_theta = self.layer_types.iter().find_map(|layer| layer.rope_theta).unwrap_or(rope.rope_theta);
        for (name, number, range) in [
            ("rms_norm_eps", self.rms_norm_eps, 1e-15..=1.0),
            ("softmax_scale", self.softmax_scale.unwrap_or(1.0), 1e-6..=1e3),
            ("temperature_coefficient", self.temperature_coefficient, -100.0..=100.0),
            ("rope_theta", rope.rope_theta, 1.000_001..=1e15),
            ("rope_min_frequency", min_frequency, 0.0..=1e3),
            ("rope_theta of layers with a window", local_theta, 1.000_001..=1e15),
        ] {
            // NaN is in no range.
            if !range.contains(&number) {
                return fail(format!("{name} is {number} but must be from {} to {}", range.start(), range.end()));
            }
        }
        if self.num_key_value_heads > self.num_attention_heads
            || !self.num_attention_heads.is_multiple_of(self.num_key_value_heads)
        {
            return fail(format!(
                "num_attention_heads ({}) must be a multiple of num_key_value_heads ({})",
                self.num_attention_heads, self.num_key_value_heads
            ));
        }
        if self.head_dim < 2 || !self.head_dim.is_multiple_of(2) {
            return fail(format!("head_dim is {} but must be even and at least 2", self.head_dim));
        }
        if let PositionScheme::Clipped { pairs } = self.positions
            && pairs > self.rotary_dim() / 2
        {
            let all = self.rotary_dim() / 2;
            return fail(format!("rope_clipped_pairs is {pairs} but a head has {all} pairs"));
        }
        rope.scaling.check()?;
        if rope.rope_scaling_trained && rope.scaling == RopeScaling::Default {
            return fail("rope_scaling_trained is true but there is no rope_scaling".into());
        }
        if let Some(HeadScales { factor, scales }) = &self.head_scales {
            let fits = scales.len() == self.num_hidden_layers
                && scales.iter().all(|layer| layer.len() == self.num_attention_heads)
                && scales.iter().flatten().all(|scale| (-1e3..=1e3).contains(scale));
            if !(fits && (1.0 + 1e-6..=MAX_FACTOR).contains(factor)) {
                return fail(format!(
                    "head_scales needs a factor above 1 and at most {MAX_FACTOR}, and a number from -1000 to 1000 for each head of each layer"
                ));
            }
        }
        if let Some(dope) = &self.dope_heads {
            dope.check(self.num_hidden_layers, self.num_attention_heads)?;
        }
        Ok(())
    }
}
