//! RoPE as trained (Su et al. 2021, arXiv 2104.09864).

use super::method_info::{Frequencies, MethodInfo, Tunable};
use super::{Encoding, Positions};
pub use crate::config::rope_frequencies as frequencies;
use crate::config::{Config, PositionScheme, RopeScaling};

/// The fields that most methods share: a scaling of RoPE that a user chooses for a model as it was trained.
pub(super) const SCALING: MethodInfo = MethodInfo {
    name: "",
    title: "",
    explanation: "",
    nano_model: "nano-rope",
    frequencies: Frequencies::Unscaled,
    crops: false,
    is_dope: false,
    parameters: &[Tunable::TEMPERATURE],
    asked_by: |_| false,
    positions: |config, _| Ok(positions(config)),
};

pub(super) const ROPE: MethodInfo = MethodInfo {
    name: "rope",
    title: "RoPE as trained",
    explanation: "Rotary positions exactly as in training: beyond the context the angles are new to the model.",
    asked_by: |config| config.positions == PositionScheme::Rotary && config.rope.scaling == RopeScaling::Default,
    ..SCALING
};

pub(super) const CROP: MethodInfo = MethodInfo {
    name: "crop",
    title: "RoPE, cropped",
    explanation: "RoPE as trained, given only the first token and the last ones, as many as fit into the training context \
        together with the answer.",
    crops: true,
    asked_by: |_| false,
    ..ROPE
};

pub(super) fn positions(config: &Config) -> Positions {
    unscaled(frequencies(config.rope.rope_theta, config.rotary_dim()))
}

/// Rotary positions that leave the size of the logits alone.
pub(super) fn unscaled(inv_freq: Vec<f64>) -> Positions {
    Positions::uniform(Encoding::Rotary { inv_freq, attention_factor: 1.0 })
}
