//! RNoPE-SWA (Yang et al. 2025, arXiv 2501.18795): groups of four layers, three with RoPE in a sliding window and one that sees
//! everything and has no positions.

use super::method_info::MethodInfo;
use super::rope::SCALING;
use super::{Encoding, LayerPositions, Positions, rope};
use crate::config::{Config, PositionScheme};

pub(super) const RNOPE_SWA: MethodInfo = MethodInfo {
    name: "rnope-swa",
    title: "RNoPE-SWA",
    explanation: "Trained with three layers that have RoPE and see a window, to one that has no positions and sees everything.",
    nano_model: "nano-rnope-swa",
    asked_by: |config| matches!(config.positions, PositionScheme::RnopeSwa { .. }),
    positions: |config, _| Ok(positions(config)),
    ..SCALING
};

/// Layers of a group; the last has no positions.
const GROUP: usize = 4;

/// The window, in tokens, of a model trained on `context` tokens: C/4.
pub fn window(context: usize) -> usize {
    (context / 4).max(1)
}

fn positions(config: &Config) -> Positions {
    let inv_freq = rope::frequencies(config.rope.rope_theta, config.rotary_dim());
    let local = LayerPositions {
        encoding: Encoding::Rotary { inv_freq, attention_factor: 1.0 },
        window: Some(match config.positions {
            PositionScheme::RnopeSwa { window } => window,
            _ => window(config.max_position_embeddings),
        }),
    };
    let global = LayerPositions { encoding: Encoding::None, window: None };
    let mut layers = vec![local; GROUP - 1];
    layers.push(global);
    Positions { layers, logit_scale: 1.0, head_scales: Vec::new() }
}
