//! Dynamic NTK (emozilla 2023; transformers' `dynamic`): NTK scaling that begins beyond the training context and grows with
//! the text. A prompt has the frequencies of its whole length, each generated token those of the length that it ends.

use super::method_info::{MethodInfo, SearchInterval, Tunable};
use super::rope::SCALING;
use super::{Amount, Encoding, LengthDependent, Parameter, Positions, rope};
use crate::config::{Config, PositionScheme, RopeScaling};

pub(super) const DYNAMIC_NTK: MethodInfo = MethodInfo {
    name: "dynamic-ntk",
    title: "Dynamic NTK",
    explanation: "A rotary base that grows with the text, from the end of the training context on.",
    asked_by: |config| {
        config.positions == PositionScheme::Rotary && matches!(config.rope.scaling, RopeScaling::Dynamic { .. })
    },
    parameters: &[
        Tunable {
            parameter: Parameter::Factor,
            grid: &[Amount::Number(1.0), Amount::TimesS(1.0)],
            range: Some(SearchInterval::LogUniformTimesS(0.5, 16.0)),
        },
        Tunable::TEMPERATURE,
    ],
    positions: |config, _| Ok(positions(config)),
    ..SCALING
};

/// Frequencies as a function of the length.
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicNtk {
    /// Base of the frequencies within the context.
    pub rope_theta: f64,
    /// Number of components of a head that rotate (`Config::rotary_dim`).
    pub rotary_dim: usize,
    /// f: how fast the base grows; transformers' `factor`.
    pub factor: f64,
    /// C: up to here the frequencies are RoPE's.
    pub context: usize,
}

impl DynamicNtk {
    /// Radians a token, one a pair, for a text of `length` tokens: θ grows by (f·n/C − (f − 1))^(d/(d−2)), n = max(length, C).
    pub fn frequencies(&self, length: usize) -> Vec<f64> {
        let stretch = length.max(self.context) as f64 / self.context as f64;
        let growth = self.factor * stretch - (self.factor - 1.0);
        let d = self.rotary_dim as f64;
        // With a single pair there is no lower frequency to scale.
        let exponent = if d > 2.0 { d / (d - 2.0) } else { 0.0 };
        rope::frequencies(self.rope_theta * growth.powf(exponent), self.rotary_dim)
    }
}

/// f is the config's where it asks for dynamic NTK, else 1: the base then grows as static NTK's would for the text's length.
pub(super) fn factor(config: &Config) -> f64 {
    match config.rope.scaling {
        RopeScaling::Dynamic { factor } => factor,
        _ => 1.0,
    }
}

fn positions(config: &Config) -> Positions {
    Positions::uniform(Encoding::LengthDependent(LengthDependent::DynamicNtk(DynamicNtk {
        rope_theta: config.rope.rope_theta,
        rotary_dim: config.rotary_dim(),
        factor: factor(config),
        context: config.max_position_embeddings,
    })))
}
