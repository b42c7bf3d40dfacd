//! Static NTK-aware scaling (bloc97 2023; DroPE, equation 10): the base becomes θ·s^(d/(d−2)),
//! so the highest frequency stays and the lowest is interpolated by s.

use super::method_info::{MethodInfo, SearchInterval, Tunable};
use super::rope::SCALING;
use super::{Amount, Parameter, Positions, rope};
use crate::config::Config;

pub(super) const NTK: MethodInfo = MethodInfo {
    name: "ntk",
    title: "NTK-aware RoPE",
    explanation: "A larger rotary base: high frequencies stay, low ones are interpolated.",
    parameters: &[
        Tunable {
            parameter: Parameter::Alpha,
            grid: &[
                Amount::TimesS(1.0),
                Amount::TimesS(1.25),
                Amount::TimesS(1.5),
                Amount::TimesS(2.0),
                Amount::TimesS(3.0),
                Amount::TimesS(4.0),
                Amount::TimesS(6.0),
            ],
            range: Some(SearchInterval::LogUniformTimesS(0.5, 16.0)),
        },
        Tunable::TEMPERATURE,
    ],
    positions: |config, factor| Ok(positions(config, factor)),
    ..SCALING
};

fn positions(config: &Config, factor: f64) -> Positions {
    rope::unscaled(frequencies(config, factor))
}

/// Radians a token, one a pair, with θ·α^(d/(d − 2)) in place of θ; d components of a head rotate, and α is `factor`.
pub fn frequencies(config: &Config, factor: f64) -> Vec<f64> {
    let d = config.rotary_dim() as f64;
    // With a single pair there is no lower frequency to scale.
    let base = if d > 2.0 { config.rope.rope_theta * factor.powf(d / (d - 2.0)) } else { config.rope.rope_theta };
    rope::frequencies(base, config.rotary_dim())
}
