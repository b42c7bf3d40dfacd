//! CoPE (arXiv 2602.05258): the lowest frequencies are clipped softly. The n slowest of the pairs are multiplied by ½(1 + cos θ),
//! with θ in equal steps from 0 to π, so that the slowest is the identity. Partial DroPE cuts at once.

use std::f64::consts::PI;

use super::method_info::{MethodInfo, Tunable};
use super::rope::SCALING;
use super::{Parameter, Positions, rope};
use crate::config::{Config, PositionScheme};
use crate::error::Result;

pub(super) const COPE: MethodInfo = MethodInfo {
    name: "cope",
    title: "CoPE",
    explanation: "The lowest frequencies are slowed down, the slower the more, and the slowest does not rotate; meant for training, \
        here without.",
    asked_by: |config| matches!(config.positions, PositionScheme::Clipped { .. }),
    // How many pairs are clipped is measured by itself, not tuned.
    parameters: &[Tunable { parameter: Parameter::ClippedPairs, grid: &[], range: None }, Tunable::TEMPERATURE],
    positions,
    ..SCALING
};

/// As many of the pairs as in the authors' code, which clips 20 of 64.
pub fn usual_clipped_pairs(rotary_dim: usize) -> usize {
    (rotary_dim as f64 / 2.0 * 20.0 / 64.0).round().max(1.0) as usize
}

/// The config's number of clipped pairs, or the authors' share of them.
pub(super) fn clipped_pairs(config: &Config) -> usize {
    match config.positions {
        PositionScheme::Clipped { pairs } => pairs,
        _ => usual_clipped_pairs(config.rotary_dim()),
    }
}

fn positions(config: &Config, factor: f64) -> Result<Positions> {
    let inv_freq = frequencies(config.rope.rope_theta, config.rotary_dim(), clipped_pairs(config));
    rope::unscaled(inv_freq).tempered(config, factor)
}

/// Radians a token, one a pair, of which so many are clipped.
pub fn frequencies(rope_theta: f64, rotary_dim: usize, clipped: usize) -> Vec<f64> {
    let mut inv_freq = rope::frequencies(rope_theta, rotary_dim);
    let clipped = clipped.min(inv_freq.len());
    let first = inv_freq.len() - clipped;
    for (index, omega) in inv_freq[first..].iter_mut().enumerate() {
        // A single pair is the slowest.
        let theta = if clipped == 1 { PI } else { PI * index as f64 / (clipped - 1) as f64 };
        *omega *= 0.5 * (1.0 + theta.cos());
    }
    inv_freq
}
