//! Partial drop: frequencies below a cut become the identity, the others stay as trained.
//!
//! A frequency below 2π/C does not rotate once in the training context, so at a longer one it has angles that the model
//! was never trained on; with higher frequencies, training covered the whole circle. Related methods are p-RoPE
//! (Barbero et al. 2024, arXiv 2410.06205) and DoPE by parts (arXiv 2511.09146).

use std::f64::consts::TAU;

use super::method_info::{MethodInfo, Tunable};
use super::rope::SCALING;
use super::{Parameter, Positions, rope};
use crate::config::{Config, PositionScheme};
use crate::error::Result;

pub(super) const P_DROPE: MethodInfo = MethodInfo {
    name: "p-drope",
    title: "Partial DroPE",
    explanation: "Only the frequencies that never complete one rotation in the training context are removed; then recalibrated \
        as DroPE.",
    nano_model: "nano-p-drope",
    asked_by: |config| matches!(config.positions, PositionScheme::Partial { .. }),
    // A cut is measured by itself (`--cut`), not tuned.
    parameters: &[Tunable { parameter: Parameter::Cut, grid: &[], range: None }, Tunable::TEMPERATURE],
    positions,
    ..SCALING
};

/// 2π/C: the slowest frequency that rotates once in the training context, in radians a token.
pub fn cutoff(context: usize) -> f64 {
    TAU / context as f64
}

/// The config's cut, or the one that follows from its context.
pub(super) fn cut(config: &Config) -> f64 {
    match config.positions {
        PositionScheme::Partial { min_frequency } => min_frequency,
        _ => cutoff(config.max_position_embeddings),
    }
}

fn positions(config: &Config, factor: f64) -> Result<Positions> {
    let cut = cut(config);
    let inv_freq = rope::frequencies(config.rope.rope_theta, config.rotary_dim())
        .into_iter()
        .map(|omega| if omega < cut { 0.0 } else { omega })
        .collect();
    rope::unscaled(inv_freq).tempered(config, factor)
}
