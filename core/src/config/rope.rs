//! Rotary frequencies and their scalings, named as in transformers.

use serde::{Deserialize, Serialize};

use super::MAX_FACTOR;
use crate::error::{Error, Result};

/// `rope_parameters`, or `rope_theta` with `rope_scaling`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RopeParameters {
    /// Base of the frequencies ω_m = θ^(−2m/d).
    pub rope_theta: f64,
    /// What scaling the config asks for.
    #[serde(flatten)]
    pub scaling: RopeScaling,
    /// Whether the model was trained on with its scaling, on texts of no more than C tokens: it is then read with the
    /// scaling's own factor at every length, as transformers does, and not with the factor of the length.
    #[serde(default)]
    pub rope_scaling_trained: bool,
}

/// ω_m = θ^(−2m/d) for m = 0 … d/2 − 1, highest first, in radians a token; d is `rotary_dim`, the number of components of a head that
/// rotate.
pub fn rope_frequencies(rope_theta: f64, rotary_dim: usize) -> Vec<f64> {
    (0..rotary_dim / 2).map(|m| rope_theta.powf(-2.0 * m as f64 / rotary_dim as f64)).collect()
}

/// A cut that keeps the first `kept` of these frequencies: between the lowest that is kept and the highest that is dropped; 0 where all
/// are kept.
pub(crate) fn cut_below(frequencies: &[f64], kept: usize) -> f64 {
    match (frequencies[..kept].last(), frequencies.get(kept)) {
        (_, None) => 0.0,
        (None, Some(highest)) => 2.0 * highest,
        (Some(lowest_kept), Some(highest_dropped)) => (lowest_kept * highest_dropped).sqrt(),
    }
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
    /// The extension factor that the config names.
    pub fn factor(&self) -> Option<f64> {
        match self {
            Self::Default => None,
            Self::Linear { factor } | Self::Dynamic { factor } => Some(*factor),
            Self::Yarn(parameters) => Some(parameters.factor),
            Self::Llama3(parameters) => Some(parameters.factor),
            Self::Longrope(parameters) => parameters.factor,
        }
    }

    /// The context before the scaling, where the config tells it from `max_position_embeddings`.
    pub fn original_context(&self) -> Option<usize> {
        match self {
            Self::Default | Self::Linear { .. } | Self::Dynamic { .. } => None,
            Self::Yarn(parameters) => parameters.original_max_position_embeddings,
            Self::Llama3(parameters) => parameters.original_max_position_embeddings,
            Self::Longrope(parameters) => parameters.original_max_position_embeddings,
        }
    }

    /// Checks the numbers of the scaling.
    ///
    /// # Errors
    /// If one is impossible; the error names the first.
    pub(super) fn check(&self) -> Result<()> {
        let fail = |message: String| Err(Error::Config(format!("rope parameters: {message}")));
        if self.factor().is_some_and(|factor| !(1.0..=MAX_FACTOR).contains(&factor)) {
            return fail(format!("factor must be from 1 to {MAX_FACTOR}"));
        }
        if self.original_context().is_some_and(|context| !(2..=1 << 30).contains(&context)) {
            return fail("original_max_position_embeddings must be from 2 to 2^30".into());
        }
        let attention_factor = match self {
            Self::Yarn(YarnParameters { attention_factor, .. })
            | Self::Longrope(LongRopeParameters { attention_factor, .. }) => *attention_factor,
            _ => None,
        };
        if attention_factor.is_some_and(|factor| !(1e-3..=1e3).contains(&factor)) {
            return fail("attention_factor must be from 0.001 to 1000".into());
        }
        match self {
            Self::Yarn(YarnParameters { beta_fast, beta_slow, mscale, mscale_all_dim, .. }) => {
                if !(is_in_range(*beta_slow) && is_in_range(*beta_fast) && beta_fast > beta_slow) {
                    return fail(format!(
                        "beta_slow must be above 0, beta_fast above it, and both at most {MAX_FACTOR}"
                    ));
                }
                if mscale.iter().chain(mscale_all_dim).any(|scale| !(0.0..=1e3).contains(scale)) {
                    return fail("mscale and mscale_all_dim must be from 0 to 1000".into());
                }
            }
            Self::Llama3(Llama3Parameters { low_freq_factor: low, high_freq_factor: high, .. }) => {
                if !(is_in_range(*low) && is_in_range(*high) && high > low) {
                    return fail(format!(
                        "low_freq_factor must be above 0, high_freq_factor above it, and both at most {MAX_FACTOR}"
                    ));
                }
            }
            Self::Longrope(LongRopeParameters { short_factor, long_factor, .. }) => {
                if !short_factor.iter().chain(long_factor).all(|&factor| is_in_range(factor)) {
                    return fail(format!("every factor of longrope must be above 0 and at most {MAX_FACTOR}"));
                }
            }
            Self::Default | Self::Linear { .. } | Self::Dynamic { .. } => {}
        }
        Ok(())
    }
}

/// Whether a number is from 1e-6 to [`MAX_FACTOR`], so that scaled numbers stay finite.
fn is_in_range(number: f64) -> bool {
    (1e-6..=MAX_FACTOR).contains(&number)
}

/// Parameters of Llama 3.1's scaling, named as in transformers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Llama3Parameters {
    /// Extension factor s.
    pub factor: f64,
    /// Rotates within the original context below which a frequency is divided by s.
    #[serde(default = "Llama3Parameters::default_low_freq_factor")]
    pub low_freq_factor: f64,
    /// Rotates above which it is kept.
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
