//! LongRoPE (Ding et al. 2024, arXiv 2402.13753), in the form of transformers' `_compute_longrope_parameters`: each
//! frequency is divided by a factor of its own, which a search found and the config lists.

use super::{Encoding, Positions, rope};
use crate::config::{Config, RopeScaling};
use crate::error::{Error, Result};

/// # Errors
/// If the config lists no factors, or not one for each pair.
pub(super) fn positions(config: &Config, factor: f64) -> Result<Positions> {
    let fail = |reason: String| Error::Method { method: "longrope", reason };
    let RopeScaling::Longrope(parameters) = &config.rope.scaling else {
        return Err(fail(
            "the config lists no short_factor and long_factor; `core search longrope2` finds some".into(),
        ));
    };
    let factors = if factor > 1.0 { &parameters.long_factor } else { &parameters.short_factor };
    let frequencies = rope::frequencies(config.rope.rope_theta, config.head_dim);
    if factors.len() != frequencies.len() {
        return Err(fail(format!("the config lists {} factors for {} pairs", factors.len(), frequencies.len())));
    }
    let context = parameters.original_max_position_embeddings.unwrap_or(config.max_position_embeddings) as f64;
    let stretch = parameters.factor.unwrap_or(factor);
    let attention_factor = parameters
        .attention_factor
        .unwrap_or_else(|| if stretch <= 1.0 { 1.0 } else { (1.0 + stretch.ln() / context.ln()).sqrt() });
    let inv_freq = frequencies.into_iter().zip(factors).map(|(omega, factor)| omega / factor).collect();
    Ok(Positions::uniform(Encoding::Rotary { inv_freq, attention_factor }))
}
