//! YaRN (Peng et al. 2023, arXiv 2309.00071) in the form of transformers' `_compute_yarn_parameters`.
//!
//! The ramp goes over the pair index, between the pairs that rotate β_fast and β_slow times in the
//! training context. (Equation 11 of the DroPE paper puts it over ω, where it collapses to PI.)

use std::f64::consts::PI;

use super::method_info::{Frequencies, MethodInfo, SearchInterval, Tunable, numbers};
use super::rope::SCALING;
use super::{Encoding, Parameter, Positions, rope};
use crate::config::{Config, PositionScheme, RopeScaling, YarnParameters};

pub(super) const YARN: MethodInfo = MethodInfo {
    name: "yarn",
    title: "YaRN",
    explanation: "High frequencies stay, low ones are interpolated, and attention is sharpened.",
    frequencies: Frequencies::Rescaled,
    parameters: &[
        Tunable {
            parameter: Parameter::BetaFast,
            grid: &numbers([8.0, 16.0, 32.0, 64.0]),
            range: Some(SearchInterval::LogUniform(2.0, 256.0)),
        },
        Tunable {
            parameter: Parameter::BetaSlow,
            grid: &numbers([0.25, 0.5, 1.0, 2.0, 4.0]),
            range: Some(SearchInterval::LogUniform(0.06, 16.0)),
        },
        Tunable {
            parameter: Parameter::Mscale,
            grid: &numbers([0.0, 0.5, 1.0, 1.5, 2.0, 3.0]),
            range: Some(SearchInterval::LogUniform(0.1, 10.0)),
        },
        Tunable { parameter: Parameter::AttentionFactor, grid: &[], range: None },
        Tunable::TEMPERATURE,
    ],
    asked_by: |config| {
        config.positions == PositionScheme::Rotary && matches!(config.rope.scaling, RopeScaling::Yarn(_))
    },
    positions: |config, factor| Ok(positions(config, factor)),
    ..SCALING
};

pub(super) const YARN_AS_PRINTED: MethodInfo = MethodInfo {
    name: "yarn-as-printed",
    title: "YaRN as printed",
    explanation: "The formula in the DroPE paper, which comes out as position interpolation.",
    positions: |config, factor| Ok(as_printed(config, factor)),
    ..SCALING
};

fn positions(config: &Config, factor: f64) -> Positions {
    // A config that asks for YaRN brings its own parameters; the factor is the caller's.
    let parameters = parameters(config, factor);
    let context = parameters.original_max_position_embeddings.unwrap_or(config.max_position_embeddings) as f64;
    let (theta, d) = (config.rope.rope_theta, config.rotary_dim() as f64);
    // The (fractional) pair that rotates `rotations` times in the training context.
    let pair = |rotations: f64| d * (context / (2.0 * PI * rotations)).ln() / (2.0 * theta.ln());
    let (mut low, mut high) = (pair(parameters.beta_fast), pair(parameters.beta_slow));
    if parameters.truncate {
        (low, high) = (low.floor(), high.ceil());
    }
    (low, high) = (low.max(0.0), high.min(d - 1.0));
    if low == high {
        high += 0.001;
    }
    let ramp = |m: usize, _| ((m as f64 - low) / (high - low)).clamp(0.0, 1.0);
    interpolated(config, factor, attention_factor(&parameters, factor), ramp)
}

/// Equation 11 of the DroPE paper as printed, with p = 1 and q = 32: the ramp goes over ω itself, and as no ω exceeds 1
/// every frequency is interpolated in full: PI.
fn as_printed(config: &Config, factor: f64) -> Positions {
    let parameters = parameters(config, factor);
    let (p, q) = (parameters.beta_slow, parameters.beta_fast);
    let ramp = |_, omega: f64| 1.0 - ((omega - p) / (q - p)).clamp(0.0, 1.0);
    interpolated(config, factor, 1.0, ramp)
}

/// The parameters of a config that asks for YaRN, or else the usual ones.
pub(super) fn parameters(config: &Config, factor: f64) -> YarnParameters {
    match &config.rope.scaling {
        RopeScaling::Yarn(parameters) => parameters.clone(),
        _ => YarnParameters::new(factor),
    }
}

/// 0.1·mscale·ln s + 1.
pub(super) fn attention_factor_of(mscale: f64, factor: f64) -> f64 {
    0.1 * mscale * factor.ln() + 1.0
}

/// 0.1·ln s + 1, unless the parameters say otherwise.
fn attention_factor(parameters: &YarnParameters, factor: f64) -> f64 {
    let scale = |mscale| attention_factor_of(mscale, factor);
    match (parameters.attention_factor, parameters.mscale, parameters.mscale_all_dim) {
        (Some(given), ..) => given,
        (None, Some(mscale), Some(all)) if mscale != 0.0 && all != 0.0 => scale(mscale) / scale(all),
        _ => scale(1.0),
    }
}

/// RoPE's frequencies, divided by s in the share that `ramp` gives for a pair's index and ω.
fn interpolated(config: &Config, factor: f64, attention_factor: f64, ramp: impl Fn(usize, f64) -> f64) -> Positions {
    let scaled =
        rope::frequencies(config.rope.rope_theta, config.rotary_dim()).into_iter().enumerate().map(|(m, omega)| {
            let interpolate = ramp(m, omega);
            omega / factor * interpolate + omega * (1.0 - interpolate)
        });
    Positions::uniform(Encoding::Rotary { inv_freq: scaled.collect(), attention_factor })
}
