//! Position interpolation (Chen et al. 2023, arXiv 2306.15595): every frequency divided by s.

use super::method_info::MethodInfo;
use super::rope::SCALING;
use super::{Positions, rope};
use crate::config::{Config, PositionScheme, RopeScaling};

pub(super) const PI: MethodInfo = MethodInfo {
    name: "pi",
    title: "Position interpolation",
    explanation: "All frequencies divided by the extension factor: no angle is new, but neighbours look too close to copy exactly.",
    asked_by: |config| {
        config.positions == PositionScheme::Rotary && matches!(config.rope.scaling, RopeScaling::Linear { .. })
    },
    positions: |config, factor| Ok(positions(config, factor)),
    ..SCALING
};

fn positions(config: &Config, factor: f64) -> Positions {
    let inv_freq = rope::frequencies(config.rope.rope_theta, config.rotary_dim());
    rope::unscaled(inv_freq.into_iter().map(|omega| omega / factor).collect())
}
