//! Rotary frequencies and their scalings, named as in transformers.

use serde::{Deserialize, Serialize};

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
