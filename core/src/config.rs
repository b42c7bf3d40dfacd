//! `config.json` of a Hugging Face model folder.
//!
//! Read: `llama` with v4's `rope_theta` + `rope_scaling` or v5's `rope_parameters`, and Sakana's
//! `llama_drope` with `attention_type` and `softmax_scale`. Three fields are ours: `rope_min_frequency`
//! (partial drop), `temperature_coefficient` (the c of β = 1 + c·ln s) and `scalable_softmax`; `alibi` is Falcon's,
//! and `sliding_window` marks RNoPE-SWA. Written: v4, which every version of transformers reads.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::dope::DopeHeads;
use crate::error::{Error, Result};

/// Shape of the model and how it reads positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Tokens in the vocabulary.
    pub vocab_size: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width inside the SwiGLU.
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
    /// Whether the output projection is the embedding.
    pub tie_word_embeddings: bool,
    /// Rotary frequencies and their scaling.
    pub rope: RopeParameters,
    /// `nope` and its kin: whether positions are dropped and which projections are normed.
    pub attention: AttentionType,
    /// Replaces 1/√head_dim if given; absolute.
    pub softmax_scale: Option<f64>,
    /// c of the temperature β = 1 + c·ln s; 0 if not fitted.
    pub temperature_coefficient: f64,
    /// HeadScale: a temperature of each head's own; replaces the one above.
    pub head_scales: Option<HeadScales>,
    /// SSMax (Nakanishi 2025, arXiv 2501.19399): the logits of a query that sees n keys are multiplied by
    /// ln(n + 1)/ln C, so that attention does not spread as the text grows. 1 at the end of the training context.
    pub scalable_softmax: bool,
    /// Whether logits fall linearly with the distance (ALiBi) in place of rotary positions.
    pub alibi: bool,
    /// RNoPE-SWA: keys that a query sees in the three layers of four that have rotary positions; the fourth sees
    /// everything and has none.
    pub sliding_window: Option<usize>,
    /// Heads that DoPE's methods treat.
    pub dope_heads: Option<DopeHeads>,
    /// First token of every text.
    pub bos_token_id: Option<u32>,
}

/// `rope_parameters`, or `rope_theta` with `rope_scaling`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RopeParameters {
    /// Base of the frequencies ω_m = θ^(−2m/d).
    pub rope_theta: f64,
    /// What scaling the config asks for.
    #[serde(flatten)]
    pub scaling: RopeScaling,
    /// Frequencies below this (radians a token) are the identity: partial drop. 0 keeps all.
    #[serde(default)]
    pub rope_min_frequency: f64,
}

/// Scaling of the rotary frequencies by the extension factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rope_type", rename_all = "lowercase")]
pub enum RopeScaling {
    /// None.
    Default,
    /// Position interpolation.
    Linear {
        /// Extension factor s.
        factor: f64,
    },
    /// NTK scaling that follows the length.
    Dynamic {
        /// How fast the base grows beyond the context.
        factor: f64,
    },
    /// YaRN.
    Yarn(YarnParameters),
    /// Llama 3.1's.
    Llama3(Llama3Parameters),
    /// LongRoPE.
    Longrope(LongRopeParameters),
}

impl RopeScaling {
    /// The extension factor that the config asks for; 1 without one.
    pub fn factor(&self) -> f64 {
        match self {
            Self::Default => 1.0,
            Self::Linear { factor } | Self::Dynamic { factor } => *factor,
            Self::Yarn(parameters) => parameters.factor,
            Self::Llama3(parameters) => parameters.factor,
            Self::Longrope(parameters) => parameters.factor.unwrap_or(1.0),
        }
    }
}

/// Parameters of Llama 3.1's scaling, named as in transformers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Llama3Parameters {
    /// Extension factor s.
    pub factor: f64,
    /// Turns within the original context below which a frequency is divided by s.
    #[serde(default = "Llama3Parameters::default_low_freq_factor")]
    pub low_freq_factor: f64,
    /// Turns above which it is kept.
    #[serde(default = "Llama3Parameters::default_high_freq_factor")]
    pub high_freq_factor: f64,
    /// Context of training if it is not `max_position_embeddings`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_max_position_embeddings: Option<usize>,
}

impl Llama3Parameters {
    fn default_low_freq_factor() -> f64 {
        1.0
    }
    fn default_high_freq_factor() -> f64 {
        4.0
    }

    /// The scaling with its customary parameters.
    pub fn new(factor: f64) -> Self {
        Self {
            factor,
            low_freq_factor: Self::default_low_freq_factor(),
            high_freq_factor: Self::default_high_freq_factor(),
            original_max_position_embeddings: None,
        }
    }
}

/// Parameters of LongRoPE, named as in transformers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LongRopeParameters {
    /// What each pair's frequency is divided by within the original context.
    pub short_factor: Vec<f64>,
    /// What it is divided by beyond.
    pub long_factor: Vec<f64>,
    /// Extension factor s, for the attention factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// Replaces √(1 + ln s / ln C).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention_factor: Option<f64>,
    /// Context of training if it is not `max_position_embeddings`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_max_position_embeddings: Option<usize>,
}

/// Parameters of YaRN, named as in transformers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct YarnParameters {
    /// Extension factor s.
    pub factor: f64,
    /// Replaces 0.1·ln s + 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention_factor: Option<f64>,
    /// With `mscale_all_dim`, replaces 0.1·ln s + 1 by (0.1·mscale·ln s + 1)/(0.1·mscale_all_dim·ln s + 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mscale: Option<f64>,
    /// See `mscale`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mscale_all_dim: Option<f64>,
    /// Rotations over the original context above which a frequency is kept.
    #[serde(default = "YarnParameters::default_beta_fast")]
    pub beta_fast: f64,
    /// Rotations below which a frequency is interpolated.
    #[serde(default = "YarnParameters::default_beta_slow")]
    pub beta_slow: f64,
    /// Context of training if it is not `max_position_embeddings`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_max_position_embeddings: Option<usize>,
    /// Whether the ramp's ends are rounded to whole pairs.
    #[serde(default = "YarnParameters::default_truncate")]
    pub truncate: bool,
}

impl YarnParameters {
    fn default_beta_fast() -> f64 {
        32.0
    }
    fn default_beta_slow() -> f64 {
        1.0
    }
    fn default_truncate() -> bool {
        true
    }

    /// YaRN with its customary parameters.
    pub fn new(factor: f64) -> Self {
        Self {
            factor,
            attention_factor: None,
            mscale: None,
            mscale_all_dim: None,
            beta_fast: Self::default_beta_fast(),
            beta_slow: Self::default_beta_slow(),
            original_max_position_embeddings: None,
            truncate: Self::default_truncate(),
        }
    }
}

/// HeadScale (Wang et al. 2024): a temperature for each head, fitted at one length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadScales {
    /// Extension factor s that they were fitted at, above 1.
    pub factor: f64,
    /// λ of each query head of each layer: multiplies its logits at that factor.
    pub scales: Vec<Vec<f64>>,
}

/// Sakana's `attention_type`. The norms are RMSNorms over the whole projection, before the heads are split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttentionType {
    /// Rotary positions, no norm: a plain Llama.
    Rope,
    /// Rotary positions, queries and keys normed.
    QkNormRope,
    /// No positions.
    Nope,
    /// No positions, queries and keys normed.
    QkNormNope,
    /// No positions, queries normed.
    QNormNope,
    /// No positions, keys normed.
    KNormNope,
}

impl AttentionType {
    /// Whether the model is to be read without positions.
    pub fn drops_positions(self) -> bool {
        !matches!(self, Self::Rope | Self::QkNormRope)
    }
    /// Whether the query projection is normed.
    pub fn norms_queries(self) -> bool {
        matches!(self, Self::QkNormRope | Self::QkNormNope | Self::QNormNope)
    }
    /// Whether the key projection is normed.
    pub fn norms_keys(self) -> bool {
        matches!(self, Self::QkNormRope | Self::QkNormNope | Self::KNormNope)
    }
}

impl Config {
    /// Query heads that share a key-value head.
    pub fn group_size(&self) -> usize {
        self.num_attention_heads / self.num_key_value_heads
    }

    /// What the logits q·k are multiplied with at s = 1.
    pub fn attention_scale(&self) -> f64 {
        self.softmax_scale.unwrap_or_else(|| 1.0 / (self.head_dim as f64).sqrt())
    }

    /// The same with another cut of a partial drop, where one is given.
    #[must_use]
    pub fn with_cut(mut self, rope_min_frequency: Option<f64>) -> Self {
        self.rope.rope_min_frequency = rope_min_frequency.unwrap_or(self.rope.rope_min_frequency);
        self
    }

    /// Reads `config.json`.
    ///
    /// # Errors
    /// If it is not JSON, is of an unknown `model_type` or `rope_type`, lacks a field, or its sizes do not fit together.
    pub fn from_json(text: &str) -> Result<Self> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| Error::Config(format!("this is not valid JSON ({error})")))?;
        let fields = Fields(value.as_object().ok_or_else(|| Error::Config("the top level is not an object".into()))?);
        let model_type = fields.string("model_type").unwrap_or_default();
        if !["llama", "llama_drope"].contains(&model_type) {
            return Err(Error::UnknownModelType(model_type.to_owned()));
        }
        for bias in ["attention_bias", "mlp_bias"] {
            if fields.is_true(bias) {
                return Err(Error::Config(format!("{bias} is true, but models with biases are not supported")));
            }
        }
        let hidden_size = fields.size("hidden_size")?;
        let num_attention_heads = fields.size("num_attention_heads")?;
        let config = Self {
            vocab_size: fields.size("vocab_size")?,
            hidden_size,
            intermediate_size: fields.size("intermediate_size")?,
            num_hidden_layers: fields.size("num_hidden_layers")?,
            num_attention_heads,
            num_key_value_heads: fields.size_or("num_key_value_heads", num_attention_heads)?,
            head_dim: fields.size_or("head_dim", hidden_size / num_attention_heads)?,
            rms_norm_eps: fields.number("rms_norm_eps")?.unwrap_or(1e-6),
            max_position_embeddings: fields.size("max_position_embeddings")?,
            tie_word_embeddings: fields.is_true("tie_word_embeddings"),
            rope: rope_parameters(&fields)?,
            attention: attention_type(&fields, model_type)?,
            softmax_scale: fields.number("softmax_scale")?,
            temperature_coefficient: fields.number("temperature_coefficient")?.unwrap_or(0.0),
            head_scales: fields.structure("head_scales")?,
            dope_heads: fields.structure("dope_heads")?,
            scalable_softmax: fields.is_true("scalable_softmax"),
            alibi: fields.is_true("alibi"),
            sliding_window: match fields.0.get("sliding_window") {
                None | Some(Value::Null) => None,
                Some(_) => Some(fields.size("sliding_window")?),
            },
            bos_token_id: fields.0.get("bos_token_id").and_then(Value::as_u64).map(|id| id as u32),
        };
        config.check()?;
        Ok(config)
    }

    /// Whether the sizes fit together.
    ///
    /// # Errors
    /// Names the first that does not.
    pub fn check(&self) -> Result<()> {
        let fail = |message: String| Err(Error::Config(message));
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
        if !(self.rope.rope_theta.is_finite() && self.rope.rope_theta > 1.0) {
            return fail(format!("rope_theta is {} but must be above 1", self.rope.rope_theta));
        }
        if self.softmax_scale.is_some_and(|scale| !(scale.is_finite() && scale > 0.0)) {
            return fail("softmax_scale must be above 0".into());
        }
        if let Some(HeadScales { factor, scales }) = &self.head_scales {
            let fits = scales.len() == self.num_hidden_layers
                && scales.iter().all(|layer| layer.len() == self.num_attention_heads)
                && scales.iter().flatten().all(|scale| scale.is_finite());
            if !(fits && factor.is_finite() && *factor > 1.0) {
                return fail("head_scales needs a factor above 1 and one number for each head of each layer".into());
            }
        }
        if let Some(dope) = &self.dope_heads {
            dope.check(self.num_hidden_layers, self.num_attention_heads)?;
        }
        if self.scalable_softmax && self.max_position_embeddings < 2 {
            return fail("scalable_softmax needs max_position_embeddings of at least 2".into());
        }
        Ok(())
    }

    /// Writes `config.json`.
    pub fn to_json(&self) -> String {
        // A model that transformers' own Llama computes alike says so; all others have the authors' model type.
        let plain = self.attention == AttentionType::Rope
            && self.rope.rope_min_frequency == 0.0
            && !self.scalable_softmax
            && self.head_scales.is_none()
            && !self.alibi
            && self.sliding_window.is_none();
        let (model_type, architecture) =
            if plain { ("llama", "LlamaForCausalLM") } else { ("llama_drope", "DroPELlamaForCausalLM") };
        let mut value = json!({
            "architectures": [architecture],
            "model_type": model_type,
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "num_hidden_layers": self.num_hidden_layers,
            "num_attention_heads": self.num_attention_heads,
            "num_key_value_heads": self.num_key_value_heads,
            "head_dim": self.head_dim,
            "hidden_act": "silu",
            "rms_norm_eps": self.rms_norm_eps,
            "max_position_embeddings": self.max_position_embeddings,
            "tie_word_embeddings": self.tie_word_embeddings,
            "attention_bias": false,
            "mlp_bias": false,
            "rope_theta": self.rope.rope_theta,
            "rope_scaling": match &self.rope.scaling {
                RopeScaling::Default => Value::Null,
                scaling => json!(scaling),
            },
            "bos_token_id": self.bos_token_id,
            "eos_token_id": null,
        });
        if !plain {
            value["attention_type"] = json!(self.attention);
            value["rope_min_frequency"] = json!(self.rope.rope_min_frequency);
            value["temperature_coefficient"] = json!(self.temperature_coefficient);
            value["head_scales"] = json!(self.head_scales);
            value["scalable_softmax"] = json!(self.scalable_softmax);
            value["alibi"] = json!(self.alibi);
            value["sliding_window"] = json!(self.sliding_window);
        }
        if let Some(heads) = &self.dope_heads {
            value["dope_heads"] = json!(heads);
        }
        if let Some(scale) = self.softmax_scale {
            value["softmax_scale"] = json!(scale);
        }
        format!("{value:#}\n")
    }
}

fn attention_type(fields: &Fields, model_type: &str) -> Result<AttentionType> {
    match fields.0.get("attention_type") {
        None | Some(Value::Null) if model_type == "llama_drope" => Ok(AttentionType::Nope),
        None | Some(Value::Null) => Ok(AttentionType::Rope),
        Some(name) => serde_json::from_value(name.clone()).map_err(|_| {
            Error::Config(format!(
                "attention_type {name} is not known; use rope, qk_norm_rope, nope, qk_norm_nope, q_norm_nope or k_norm_nope"
            ))
        }),
    }
}

fn rope_parameters(fields: &Fields) -> Result<RopeParameters> {
    let object = |name: &str| fields.0.get(name).and_then(Value::as_object);
    let mut parameters = object("rope_parameters").or_else(|| object("rope_scaling")).cloned().unwrap_or_default();
    // v4 kept θ beside the scaling; oldest configs said `type`.
    if let Some(kind) = parameters.remove("type") {
        parameters.entry("rope_type").or_insert(kind);
    }
    let kind = parameters.entry("rope_type").or_insert_with(|| json!("default"));
    let kind = kind.as_str().unwrap_or_default();
    if !["default", "linear", "dynamic", "yarn", "llama3", "longrope"].contains(&kind) {
        return Err(Error::UnknownRopeType(kind.to_owned()));
    }
    for name in ["rope_theta", "rope_min_frequency"] {
        if let Some(value) = fields.0.get(name) {
            parameters.entry(name).or_insert_with(|| value.clone());
        }
    }
    parameters.entry("rope_theta").or_insert_with(|| json!(10_000.0));
    serde_json::from_value(Value::Object(parameters))
        .map_err(|error| Error::Config(format!("rope parameters: {error}")))
}

/// The top-level object, with errors that name the field.
struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    fn string(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    fn is_true(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    fn number(&self, name: &str) -> Result<Option<f64>> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                value.as_f64().map(Some).ok_or_else(|| Error::Config(format!("{name} is {value}, not a number")))
            }
        }
    }

    fn structure<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => serde_json::from_value(value.clone())
                .map(Some)
                .map_err(|error| Error::Config(format!("{name}: {error}"))),
        }
    }

    fn size(&self, name: &str) -> Result<usize> {
        let value = self.0.get(name).ok_or_else(|| Error::Config(format!("the field {name} is missing")))?;
        match value.as_u64() {
            // Larger than any model, small enough that no product of two sizes overflows.
            Some(size @ 1..=0x4000_0000) => Ok(size as usize),
            _ => Err(Error::Config(format!("{name} is {value} but must be a whole number of at least 1"))),
        }
    }

    fn size_or(&self, name: &str, default: usize) -> Result<usize> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(default),
            Some(_) => self.size(name),
        }
    }
}
