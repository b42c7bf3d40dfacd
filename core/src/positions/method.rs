//! The list of methods: names, and which file makes their positions.

use super::{Positions, alibi, dope, drope, dynamic_ntk, llama3, longrope, ntk, p_drope, pi, rnope_swa, rope, yarn};
use crate::config::{Config, RopeScaling};
use crate::error::{Error, Result};
use crate::names::named;

named! {
    /// Names of the methods on the command line and in results.
    Method: "method" {
        /// Rotary positions as trained.
        Rope = "rope",
        /// Rotary positions as trained, of the first token and the last ones, as many as fit into C together with the answer.
        Crop = "crop",
        /// Position interpolation.
        Pi = "pi",
        /// NTK-aware scaling.
        Ntk = "ntk",
        /// NTK-aware scaling that follows the length.
        DynamicNtk = "dynamic-ntk",
        /// YaRN.
        Yarn = "yarn",
        /// YaRN as the DroPE paper prints it, which is PI.
        YarnAsPrinted = "yarn-as-printed",
        /// Llama 3.1's scaling.
        Llama3 = "llama3",
        /// LongRoPE, with the factors of the config.
        LongRope = "longrope",
        /// NTK-aware scaling, without low frequencies in a few heads.
        DopeParts = "dope-parts",
        /// NTK-aware scaling, without positions in a few heads.
        DopeAll = "dope-all",
        /// NTK-aware scaling, with noise in place of a few heads' queries and keys.
        DopeGaussian = "dope-gaussian",
        /// Positions dropped after pretraining.
        Drope = "drope",
        /// Low frequencies dropped after pretraining.
        PDrope = "p-drope",
        /// Trained without positions.
        Nope = "nope",
        /// Trained with linear biases.
        Alibi = "alibi",
        /// Trained with three layers of windowed RoPE to one of NoPE.
        RnopeSwa = "rnope-swa",
    }
}

impl Method {
    /// The method that the config asks for.
    pub fn of(config: &Config) -> Self {
        match &config.rope.scaling {
            _ if config.alibi => Self::Alibi,
            _ if config.attention.drops_positions() => Self::Drope,
            _ if config.sliding_window.is_some() => Self::RnopeSwa,
            _ if config.rope.rope_min_frequency > 0.0 => Self::PDrope,
            RopeScaling::Default => Self::Rope,
            RopeScaling::Linear { .. } => Self::Pi,
            RopeScaling::Dynamic { .. } => Self::DynamicNtk,
            RopeScaling::Yarn(_) => Self::Yarn,
            RopeScaling::Llama3(_) => Self::Llama3,
            RopeScaling::Longrope(_) => Self::LongRope,
        }
    }

    /// Positions for reading `factor` times the training context (s; 1 is the training context itself).
    ///
    /// # Errors
    /// If the factor is not at least 1, the config lacks what the method needs, or the model is already extended by another.
    pub fn positions(self, config: &Config, factor: f64) -> Result<Positions> {
        if !(factor.is_finite() && factor >= 1.0) {
            return Err(Error::Method {
                method: self.name(),
                reason: format!("the extension factor is {factor} but must be at least 1"),
            });
        }
        // Frequencies that were scaled in training are part of the model: its own method scales them further.
        let trained = config.trained_factor();
        let goes_on = self == Self::of(config) && matches!(self, Self::Yarn | Self::Llama3 | Self::LongRope);
        if trained > 1.0 && !goes_on && !matches!(self, Self::Drope | Self::Nope | Self::Alibi) {
            let reason = format!(
                "its frequencies are already scaled by {trained} for its context of {}; use the method of its rope_type, or drope",
                config.max_position_embeddings
            );
            return Err(Error::Method { method: self.name(), reason });
        }
        let factor = if goes_on { factor * trained } else { factor };
        Ok(match self {
            Self::Rope | Self::Crop => rope::positions(config),
            Self::Pi => pi::positions(config, factor),
            Self::Ntk => ntk::positions(config, factor),
            Self::DynamicNtk => dynamic_ntk::positions(config, factor),
            Self::Yarn => yarn::positions(config, factor),
            Self::YarnAsPrinted => yarn::as_printed(config, factor),
            Self::Llama3 => llama3::positions(config, factor),
            Self::LongRope => longrope::positions(config, factor)?,
            Self::DopeParts => dope::positions(config, factor, dope::Treatment::Parts, self.name())?,
            Self::DopeAll => dope::positions(config, factor, dope::Treatment::All, self.name())?,
            Self::DopeGaussian => dope::positions(config, factor, dope::Treatment::Gaussian, self.name())?,
            Self::PDrope => p_drope::positions(config, factor),
            Self::Drope | Self::Nope => drope::positions(config, factor),
            Self::Alibi => alibi::positions(config),
            Self::RnopeSwa => rnope_swa::positions(config),
        })
    }

    /// Whether it treats the heads that a config names.
    pub fn is_dope(self) -> bool {
        matches!(self, Self::DopeParts | Self::DopeAll | Self::DopeGaussian)
    }

    /// How many tokens of a text and its answer the model is given, the first and the last ones; `None`: all.
    pub fn crop_length(self, config: &Config) -> Option<usize> {
        (self == Self::Crop).then_some(config.max_position_embeddings)
    }
}
