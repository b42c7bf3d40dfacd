//! Llama 3.1's scaling, in the form of transformers' `_compute_llama3_parameters`: frequencies that rotate rarely within
//! the original context are divided by s, those that rotate often stay, and those between are blended.

use std::f64::consts::TAU;

use super::method_info::{Frequencies, MethodInfo, SearchInterval, Tunable, numbers};
use super::rope::SCALING;
use super::{Parameter, Positions, rope};
use crate::config::{Config, Llama3Parameters, PositionScheme, RopeScaling};

pub(super) const LLAMA3: MethodInfo = MethodInfo {
    name: "llama3",
    title: "Llama 3's scaling",
    explanation: "Frequencies that rotate rarely within the training context are interpolated, those that rotate often stay.",
    frequencies: Frequencies::Rescaled,
    parameters: &[
        Tunable {
            parameter: Parameter::LowFreqFactor,
            grid: &numbers([0.25, 0.5, 1.0, 1.5, 2.0]),
            range: Some(SearchInterval::LogUniform(0.12, 8.0)),
        },
        Tunable {
            parameter: Parameter::HighFreqFactor,
            grid: &numbers([3.0, 4.0, 6.0, 8.0, 16.0, 32.0]),
            range: Some(SearchInterval::LogUniform(1.0, 64.0)),
        },
        Tunable::TEMPERATURE,
    ],
    asked_by: |config| {
        config.positions == PositionScheme::Rotary && matches!(config.rope.scaling, RopeScaling::Llama3(_))
    },
    positions: |config, factor| Ok(positions(config, factor)),
    ..SCALING
};

fn positions(config: &Config, factor: f64) -> Positions {
    let parameters = Llama3Parameters { factor, ..parameters(config, factor) };
    rope::unscaled(frequencies(
        config.rope.rope_theta,
        config.rotary_dim(),
        &parameters,
        config.max_position_embeddings,
    ))
}

/// Radians a token, one a pair, of a model trained on `context` tokens unless the parameters say otherwise.
pub fn frequencies(rope_theta: f64, rotary_dim: usize, parameters: &Llama3Parameters, context: usize) -> Vec<f64> {
    let context = parameters.original_max_position_embeddings.unwrap_or(context) as f64;
    let (low, high) = (parameters.low_freq_factor, parameters.high_freq_factor);
    let scaled = rope::frequencies(rope_theta, rotary_dim).into_iter().map(|omega| {
        let rotates = context * omega / TAU;
        let keep = ((rotates - low) / (high - low)).clamp(0.0, 1.0);
        (1.0 - keep) * omega / parameters.factor + keep * omega
    });
    scaled.collect()
}

/// The parameters of a config that asks for this scaling, or else the usual ones.
pub(super) fn parameters(config: &Config, factor: f64) -> Llama3Parameters {
    match &config.rope.scaling {
        RopeScaling::Llama3(parameters) => parameters.clone(),
        _ => Llama3Parameters::new(factor),
    }
}
