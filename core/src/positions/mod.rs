//! Position methods: one file each, and the one list that names them.
//!
//! To add a RoPE scaling: write its file with a function that returns [`Positions`], and add a line to [`Method`].

mod drope;
mod ntk;
mod p_drope;
mod pi;
mod rope;
mod yarn;

pub use p_drope::cutoff as partial_drop_cutoff;
pub use rope::frequencies as rope_frequencies;

use crate::config::{Config, RopeScaling};
use crate::error::{Error, Result};

/// Everything that attention needs to know about positions.
#[derive(Clone, Debug, PartialEq)]
pub enum Positions {
    /// Pairs (m, m + head_dim/2) of q and k are turned by position · `inv_freq[m]`; Hugging Face's half-split layout.
    Rotary {
        /// Radians a token, one a pair; 0 is the identity.
        inv_freq: Vec<f64>,
        /// Multiplies cos and sin, so the logits get its square.
        attention_factor: f64,
        /// Multiplies the logits (β).
        logit_scale: f64,
    },
    /// No positions: cos = 1 and sin = 0 in every layer.
    None {
        /// Multiplies the logits (β).
        logit_scale: f64,
    },
}

impl Positions {
    /// β: what multiplies the logits beside 1/√head_dim.
    pub fn logit_scale(&self) -> f64 {
        match self {
            Self::Rotary { logit_scale, .. } | Self::None { logit_scale } => *logit_scale,
        }
    }

    /// The same positions with another β.
    pub fn with_logit_scale(mut self, beta: f64) -> Self {
        match &mut self {
            Self::Rotary { logit_scale, .. } | Self::None { logit_scale } => *logit_scale = beta,
        }
        self
    }
}

/// Names of the methods on the command line and in results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Rotary positions as trained.
    Rope,
    /// Position interpolation.
    Pi,
    /// NTK-aware scaling.
    Ntk,
    /// YaRN.
    Yarn,
    /// No positions.
    Drope,
    /// Low frequencies dropped.
    PDrope,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 6] = [Self::Rope, Self::Pi, Self::Ntk, Self::Yarn, Self::Drope, Self::PDrope];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rope => "rope",
            Self::Pi => "pi",
            Self::Ntk => "ntk",
            Self::Yarn => "yarn",
            Self::Drope => "drope",
            Self::PDrope => "p-drope",
        }
    }

    /// The method that the config asks for.
    pub fn of(config: &Config) -> Self {
        match (&config.rope.scaling, config.attention.drops_positions()) {
            (_, true) => Self::Drope,
            _ if config.rope.rope_min_frequency > 0.0 => Self::PDrope,
            (RopeScaling::Default, _) => Self::Rope,
            (RopeScaling::Linear { .. }, _) => Self::Pi,
            (RopeScaling::Yarn(_), _) => Self::Yarn,
        }
    }

    /// Positions for reading `factor` times the training context (s; 1 is the training context itself).
    ///
    /// # Errors
    /// If the factor is not at least 1.
    pub fn positions(self, config: &Config, factor: f64) -> Result<Positions> {
        if !(factor.is_finite() && factor >= 1.0) {
            return Err(Error::Method {
                method: self.name(),
                reason: format!("the extension factor is {factor} but must be at least 1"),
            });
        }
        Ok(match self {
            Self::Rope => rope::positions(config),
            Self::Pi => pi::positions(config, factor),
            Self::Ntk => ntk::positions(config, factor),
            Self::Yarn => yarn::positions(config, factor),
            Self::Drope => drope::positions(config, factor),
            Self::PDrope => p_drope::positions(config, factor),
        })
    }
}

impl std::str::FromStr for Method {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name).ok_or_else(|| Error::UnknownName {
            what: "method",
            name: name.to_owned(),
            choices: Self::ALL.map(Self::name).join(", "),
        })
    }
}

/// β = 1 + c·ln s (Wang et al. 2024, equation 6; DroPE, section 5).
fn temperature(config: &Config, factor: f64) -> f64 {
    1.0 + config.temperature_coefficient * factor.ln()
}
