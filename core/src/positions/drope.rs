//! DroPE (Gelberg et al. 2025, arXiv 2512.12167): no positions in any layer, and a temperature.

use super::Positions;
use super::method_info::{Frequencies, MethodInfo};
use super::rope::SCALING;
use crate::config::{Config, PositionScheme};
use crate::error::Result;

pub(super) const DROPE: MethodInfo = MethodInfo {
    name: "drope",
    title: "DroPE",
    explanation: "No positions at all: removed after training, then recalibrated within the training context, where filler \
        counts as many copies of itself and logits grow with the length (both are ours).",
    nano_model: "nano-drope",
    frequencies: Frequencies::None,
    asked_by: |config| config.positions == PositionScheme::None,
    positions,
    ..SCALING
};

/// Computes the same as DroPE; it is a separate method because no positions were dropped.
pub(super) const NOPE: MethodInfo = MethodInfo {
    name: "nope",
    title: "NoPE from scratch",
    explanation: "Trained without positions from the first step.",
    nano_model: "nano-nope",
    asked_by: |_| false,
    ..DROPE
};

fn positions(config: &Config, factor: f64) -> Result<Positions> {
    Positions::none().tempered(config, factor)
}
