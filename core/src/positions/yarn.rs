//! YaRN (Peng et al. 2023, arXiv 2309.00071) in the form of transformers' `_compute_yarn_parameters`.
//!
//! The ramp goes over the pair index, between the pairs that turn β_fast and β_slow times in the
//! training context. (Equation 11 of the DroPE paper puts it over ω, where it collapses to PI.)

use std::f64::consts::PI;

use super::{Positions, rope};
use crate::config::{Config, RopeScaling, YarnParameters};

pub(super) fn positions(config: &Config, factor: f64) -> Positions {
    // A config that asks for YaRN brings its own parameters; the factor is the caller's.
    let parameters = match &config.rope.scaling {
        RopeScaling::Yarn(parameters) => parameters.clone(),
        _ => YarnParameters::new(factor),
    };
    let context = parameters.original_max_position_embeddings.unwrap_or(config.max_position_embeddings) as f64;
    let (theta, d) = (config.rope.rope_theta, config.head_dim as f64);
    // The (fractional) pair that turns `rotations` times in the training context.
    let pair = |rotations: f64| d * (context / (2.0 * PI * rotations)).ln() / (2.0 * theta.ln());
    let (mut low, mut high) = (pair(parameters.beta_fast), pair(parameters.beta_slow));
    if parameters.truncate {
        (low, high) = (low.floor(), high.ceil());
    }
    (low, high) = (low.max(0.0), high.min(d - 1.0));
    if low == high {
        high += 0.001;
    }
    let inv_freq = rope::frequencies(theta, config.head_dim)
        .into_iter()
        .enumerate()
        .map(|(m, omega)| {
            let interpolate = ((m as f64 - low) / (high - low)).clamp(0.0, 1.0);
            omega / factor * interpolate + omega * (1.0 - interpolate)
        })
        .collect();
    let attention_factor = parameters.attention_factor.unwrap_or(0.1 * factor.ln() + 1.0);
    Positions::Rotary { inv_freq, attention_factor, logit_scale: 1.0 }
}
