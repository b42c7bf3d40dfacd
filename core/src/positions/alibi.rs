//! ALiBi (Press et al. 2021, arXiv 2108.12409): a bias that falls linearly with the distance, steeper in some heads.

use super::method_info::{Frequencies, MethodInfo};
use super::rope::SCALING;
use super::{Encoding, Positions};
use crate::config::{Config, PositionScheme};

pub(super) const ALIBI: MethodInfo = MethodInfo {
    name: "alibi",
    title: "ALiBi",
    explanation: "Trained with a bias against distant tokens, in place of positions.",
    nano_model: "nano-alibi",
    frequencies: Frequencies::None,
    asked_by: |config| config.positions == PositionScheme::Alibi,
    positions: |config, _| Ok(positions(config)),
    ..SCALING
};

/// One slope a head: 2^(−8h/n) for h = 1 … n where n is a power of two; else those of the power of two below,
/// and every other one of the next power's for the rest, as in the authors' code.
pub fn slopes(num_heads: usize) -> Vec<f64> {
    let geometric = |n: usize| (1..=n).map(move |head| 2f64.powf(-8.0 * head as f64 / n as f64));
    let below = 1 << num_heads.ilog2();
    geometric(below).chain(geometric(2 * below).step_by(2).take(num_heads - below)).collect()
}

fn positions(config: &Config) -> Positions {
    Positions::uniform(Encoding::Alibi { slopes: slopes(config.num_attention_heads) })
}
