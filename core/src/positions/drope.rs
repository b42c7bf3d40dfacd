//! DroPE (Gelberg et al. 2025, arXiv 2512.12167): no positions in any layer, and a temperature.

use super::{Positions, temperature};
use crate::config::Config;

pub(super) fn positions(config: &Config, factor: f64) -> Positions {
    Positions::none().with_logit_scale(temperature(config, factor))
}
