//! Position methods: one file each, and the one list that names them.
//!
//! To add a RoPE scaling: write its file with a [`MethodInfo`], and add a line to the list in `method.rs`.

mod adjust;
mod alibi;
mod cope;
mod dope;
mod drope;
mod dynamic_ntk;
mod llama3;
mod longrope;
mod method;
mod method_info;
mod ntk;
mod p_drope;
mod p_rope;
mod parameters;
mod pi;
mod rnope_swa;
mod rope;
mod yarn;

pub use alibi::slopes as alibi_slopes;
pub use cope::{frequencies as cope_frequencies, usual_clipped_pairs};
pub use dynamic_ntk::DynamicNtk;
pub use llama3::frequencies as llama3_frequencies;
pub use longrope::LongRope;
pub use method::Method;
pub use method_info::{Frequencies, MethodInfo, SearchInterval, Tunable};
pub use ntk::frequencies as ntk_frequencies;
pub use p_drope::cutoff as partial_drop_cutoff;
pub use parameters::{Amount, Parameter, Parameters};
pub use rnope_swa::window as rnope_swa_window;
pub use rope::frequencies as rope_frequencies;

use crate::config::{Config, LayerType};
use crate::error::{Error, Result};

/// Everything that attention needs to know about positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Positions {
    /// How layer i sees positions is `layers[i % layers.len()]`; never empty.
    pub layers: Vec<LayerPositions>,
    /// Multiplies the logits in addition to 1/√head_dim (β).
    pub logit_scale: f64,
    /// Multiplies the logits of each query head of each layer, `[layers][heads]`; empty: 1.
    pub head_scales: Vec<Vec<f64>>,
}

/// How one layer sees positions.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerPositions {
    /// How positions are encoded.
    pub encoding: Encoding,
    /// A query attends to this many keys, itself included; `None`: all before it.
    pub window: Option<usize>,
}

/// How positions are encoded.
#[derive(Clone, Debug, PartialEq)]
pub enum Encoding {
    /// Nothing but the causal mask: cos = 1 and sin = 0.
    None,
    /// Components m and m + n of q and k are rotated by position · `inv_freq[m]`, where n is `inv_freq.len()`; Hugging Face's
    /// half-split layout. Components from 2n on do not change.
    Rotary {
        /// Radians a token, one a pair; 0 is the identity.
        inv_freq: Vec<f64>,
        /// Multiplies cos and sin, so the logits get its square.
        attention_factor: f64,
    },
    /// Rotary with frequencies that follow the length of the text.
    LengthDependent(LengthDependent),
    /// Each query head rotates queries and keys in its own way (DoPE).
    PerHead(Vec<HeadRotation>),
    /// The logit of a key d tokens back gets −slope · d, one slope a query head.
    Alibi {
        /// One a query head.
        slopes: Vec<f64>,
    },
}

/// Frequencies as a function of the length of the text: a prompt has those of its whole length, each generated token and
/// all keys before it those of the length that it ends. Keys are therefore cached as projected, and rotated when read.
#[derive(Clone, Debug, PartialEq)]
pub enum LengthDependent {
    /// Dynamic NTK.
    DynamicNtk(DynamicNtk),
    /// LongRoPE.
    LongRope(LongRope),
}

impl LengthDependent {
    /// Radians a token, one a pair, and the factor of cos and sin, for a text of `length` tokens.
    pub fn rotary(&self, length: usize) -> (Vec<f64>, f64) {
        match self {
            Self::DynamicNtk(dynamic) => (dynamic.frequencies(length), 1.0),
            Self::LongRope(LongRope { short, long, context, attention_factor }) => {
                (if length > *context { long.clone() } else { short.clone() }, *attention_factor)
            }
        }
    }
}

/// What one query head does to its queries and keys.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadRotation {
    /// Radians a token, one a pair; 0 is the identity.
    pub inv_freq: Vec<f64>,
    /// Multiplies each pair.
    pub gain: Vec<f64>,
    /// Added to both.
    pub noise: Option<HeadNoise>,
}

/// Gaussian noise, a function of seed, head and position alone: it is the same however a text is cut into passes.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadNoise {
    /// Seed.
    pub seed: u64,
    /// Tells heads of all layers apart; below 2³².
    pub stream: u64,
    /// Standard deviation of what is added to queries.
    pub query_std: f64,
    /// Standard deviation of what is added to keys.
    pub key_std: f64,
}

impl Positions {
    /// The same encoding in every layer, no window, β = 1.
    pub fn uniform(encoding: Encoding) -> Self {
        Self { layers: vec![LayerPositions { encoding, window: None }], logit_scale: 1.0, head_scales: Vec::new() }
    }

    /// No positions in any layer.
    pub fn none() -> Self {
        Self::uniform(Encoding::None)
    }

    /// The same positions with another β, for all heads alike.
    pub fn with_logit_scale(self, beta: f64) -> Self {
        Self { logit_scale: beta, head_scales: Vec::new(), ..self }
    }

    /// The same positions with the temperature that the config asks for at `factor` times the context.
    ///
    /// β = 1 + c·ln s for all heads (Wang et al. 2024, equation 6; DroPE, section 5), or with HeadScale 1 + (λ − 1)·ln
    /// s/ln s₀ for each, where λ was fitted at s₀. The second formula, from one length to others, is ours.
    ///
    /// # Errors
    /// If a temperature is not above 0, with which attention would go to the wrong keys.
    fn tempered(self, config: &Config, factor: f64) -> Result<Self> {
        let tempered = match &config.head_scales {
            None => self.with_logit_scale(1.0 + config.temperature_coefficient * factor.ln()),
            Some(fitted) => {
                let share = factor.ln() / fitted.factor.ln();
                let scale = |lambda: &f64| 1.0 + (lambda - 1.0) * share;
                let head_scales = fitted.scales.iter().map(|layer| layer.iter().map(scale).collect()).collect();
                Self { head_scales, ..self }
            }
        };
        let least = tempered.head_scales.iter().flatten().copied().fold(tempered.logit_scale, f64::min);
        if least > 0.0 {
            return Ok(tempered);
        }
        Err(Error::Config(format!(
            "its temperature makes the scale of attention {least:.3} at {factor} times the context, which must be above 0"
        )))
    }

    /// The same positions, with the layers of the config that have no positions, a window, or frequencies of their own.
    fn in_layers(mut self, config: &Config) -> Self {
        let (types, rotary_dim) = (&config.layer_types, config.rotary_dim());
        let layer = |(index, kind): (usize, &LayerType)| {
            let LayerPositions { encoding, window } = self.layer(index).clone();
            let encoding = match (&encoding, kind.rope_theta) {
                _ if !kind.rotates => Encoding::None,
                (Encoding::None | Encoding::Alibi { .. }, _) | (_, None) => encoding,
                (_, Some(theta)) => {
                    Encoding::Rotary { inv_freq: rope_frequencies(theta, rotary_dim), attention_factor: 1.0 }
                }
            };
            LayerPositions { encoding, window: window.into_iter().chain(kind.window).min() }
        };
        if !types.is_empty() {
            self.layers = types.iter().enumerate().map(layer).collect();
        }
        self
    }

    /// The different kinds of layers, each once, and for each layer `i % n` the index of its kind, where n is the
    /// length of that list.
    pub fn kinds(&self) -> (Vec<&LayerPositions>, Vec<usize>) {
        let mut kinds: Vec<&LayerPositions> = Vec::new();
        let kind_of = |layer| {
            kinds.iter().position(|&kind| kind == layer).unwrap_or_else(|| {
                kinds.push(layer);
                kinds.len() - 1
            })
        };
        let of_layers = self.layers.iter().map(kind_of).collect();
        (kinds, of_layers)
    }

    /// How layer `index` sees positions.
    pub fn layer(&self, index: usize) -> &LayerPositions {
        &self.layers[index % self.layers.len()]
    }
}
