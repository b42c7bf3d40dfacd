//! LongRoPE (Ding et al. 2024, arXiv 2402.13753), in the form of transformers' `_compute_longrope_parameters`: each
//! frequency is divided by a factor of its own, which a search found and the config lists. A text no longer than the
//! original context has the short factors, a longer one the long factors.

use super::method_info::{Frequencies, MethodInfo};
use super::rope::SCALING;
use super::{Encoding, LengthDependent, Positions, rope};
use crate::config::{Config, PositionScheme, RopeScaling};
use crate::error::{Error, Result};

pub(super) const LONGROPE: MethodInfo = MethodInfo {
    name: "longrope",
    title: "LongRoPE",
    explanation: "Each frequency is divided by a factor of its own, found by a search.",
    nano_model: "nano-longrope2",
    frequencies: Frequencies::Rescaled,
    asked_by: |config| {
        config.positions == PositionScheme::Rotary && matches!(config.rope.scaling, RopeScaling::Longrope(_))
    },
    positions,
    ..SCALING
};

/// Two sets of frequencies, and the length that decides between them.
#[derive(Clone, Debug, PartialEq)]
pub struct LongRope {
    /// Radians a token, one a pair, of texts up to `context` tokens.
    pub short: Vec<f64>,
    /// The same of longer texts.
    pub long: Vec<f64>,
    /// The context before the extension.
    pub context: usize,
    /// Multiplies cos and sin at every length.
    pub attention_factor: f64,
}

/// # Errors
/// If the config lists no factors, or not one for each pair.
fn positions(config: &Config, factor: f64) -> Result<Positions> {
    let fail = |reason: String| Error::Method { method: "longrope", reason };
    let RopeScaling::Longrope(parameters) = &config.rope.scaling else {
        return Err(fail(
            "the config lists no short_factor and long_factor; `core search longrope2` finds some".into(),
        ));
    };
    let frequencies = rope::frequencies(config.rope.rope_theta, config.rotary_dim());
    let divided = |factors: &[f64]| {
        if factors.len() != frequencies.len() {
            return Err(fail(format!("the config lists {} factors for {} pairs", factors.len(), frequencies.len())));
        }
        Ok(frequencies.iter().zip(factors).map(|(omega, factor)| omega / factor).collect())
    };
    let context = parameters.original_max_position_embeddings.unwrap_or(config.max_position_embeddings);
    let stretch = parameters.factor.unwrap_or(factor);
    let attention_factor = parameters
        .attention_factor
        .unwrap_or_else(|| if stretch <= 1.0 { 1.0 } else { (1.0 + stretch.ln() / (context as f64).ln()).sqrt() });
    Ok(Positions::uniform(Encoding::LengthDependent(LengthDependent::LongRope(LongRope {
        short: divided(&parameters.short_factor)?,
        long: divided(&parameters.long_factor)?,
        context,
        attention_factor,
    }))))
}
