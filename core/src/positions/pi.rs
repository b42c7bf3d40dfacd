//! Position interpolation (Chen et al. 2023, arXiv 2306.15595): every frequency divided by s.

use super::{Positions, rope};
use crate::config::Config;

pub(super) fn positions(config: &Config, factor: f64) -> Positions {
    let inv_freq = rope::frequencies(config.rope.rope_theta, config.head_dim);
    rope::unscaled(inv_freq.into_iter().map(|omega| omega / factor).collect())
}
