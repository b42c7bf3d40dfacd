//! p-RoPE (Barbero et al. 2024, arXiv 2410.06205): the highest share p of the frequencies rotate, the others are the identity.
//! Partial DroPE cuts at a frequency, p-RoPE at a share of the pairs.

use super::method_info::MethodInfo;
use super::rope::SCALING;
use super::{Positions, rope};
use crate::config::Config;

pub(super) const P_ROPE: MethodInfo = MethodInfo {
    name: "p-rope",
    title: "p-RoPE, p = 0.75",
    explanation: "RoPE as trained, but the lowest quarter of the frequencies is removed, without recalibration.",
    positions: |config, _| Ok(positions(config)),
    ..SCALING
};

/// The value that the paper recommends for training; here it is applied to a model that was trained with all of them.
const P: f64 = 0.75;

fn positions(config: &Config) -> Positions {
    let mut inv_freq = rope::frequencies(config.rope.rope_theta, config.rotary_dim());
    // Rounded down, as by transformers where the `rope_type` is "proportional".
    let kept = (P * inv_freq.len() as f64) as usize;
    inv_freq[kept..].fill(0.0);
    rope::unscaled(inv_freq)
}
