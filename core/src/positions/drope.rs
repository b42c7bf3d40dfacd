//! DroPE (Gelberg et al. 2025, arXiv 2512.12167): no positions in any layer, and a temperature.

use super::Positions;
use crate::config::Config;

pub(super) fn positions(config: &Config, factor: f64) -> Positions {
    Positions::none().tempered(config, factor)
}
