//! The list of methods, in the order of tables. A method is one file and one line here.

use super::Positions;
use super::method_info::{Frequencies, MethodInfo};
use crate::config::{Config, MAX_FACTOR, PositionScheme};
use crate::error::{Error, Result};
use crate::names::by_name;

macro_rules! methods {
    ($($variant:ident => $info:path,)*) => {
        /// A position method.
        #[allow(missing_docs, reason = "each variant is described by the constant beside it in the list")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub enum Method { $($variant,)* }

        impl Method {
            /// Every method, in the order of tables.
            pub const ALL: [Self; [$(stringify!($variant)),*].len()] = [$(Self::$variant),*];

            /// Description of the method.
            pub fn info(self) -> &'static MethodInfo {
                match self { $(Self::$variant => &const { $info },)* }
            }
        }

        by_name!(Method, "method");
    };
}

methods! {
    Rope => super::rope::ROPE,
    Crop => super::rope::CROP,
    Pi => super::pi::PI,
    Ntk => super::ntk::NTK,
    DynamicNtk => super::dynamic_ntk::DYNAMIC_NTK,
    Llama3 => super::llama3::LLAMA3,
    Yarn => super::yarn::YARN,
    YarnAsPrinted => super::yarn::YARN_AS_PRINTED,
    LongRope => super::longrope::LONGROPE,
    DopeParts => super::dope::DOPE_PARTS,
    DopeAll => super::dope::DOPE_ALL,
    DopeGaussian => super::dope::DOPE_GAUSSIAN,
    Alibi => super::alibi::ALIBI,
    Nope => super::drope::NOPE,
    RnopeSwa => super::rnope_swa::RNOPE_SWA,
    Drope => super::drope::DROPE,
    PDrope => super::p_drope::P_DROPE,
    PRope => super::p_rope::P_ROPE,
    Cope => super::cope::COPE,
}

impl Method {
    /// Name on the command line and in files.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Name in tables and on the page.
    pub fn title(self) -> &'static str {
        self.info().title
    }

    /// Whether it treats the heads that `dope_heads` of the config lists.
    pub fn is_dope(self) -> bool {
        self.info().is_dope
    }

    /// The method that the config asks for.
    pub fn of(config: &Config) -> Self {
        Self::ALL.into_iter().find(|method| (method.info().asked_by)(config)).unwrap_or(Self::Rope)
    }

    /// Positions for reading `factor` times the training context (s; 1 is the training context itself). A model that was
    /// trained on with a scaling is read with the factor of its training, whatever `factor` is
    /// ([`rope_scaling_trained`](crate::config::RopeParameters::rope_scaling_trained)).
    ///
    /// # Errors
    /// If the factor is not at least 1, the config lacks what the method needs, or the checkpoint's frequencies are already
    /// scaled in a way that the method would misread.
    pub fn positions(self, config: &Config, factor: f64) -> Result<Positions> {
        if !(1.0..=MAX_FACTOR).contains(&factor) {
            return Err(Error::Method {
                method: self.name(),
                reason: format!("the extension factor is {factor} but must be at least 1 and at most {MAX_FACTOR}"),
            });
        }
        let trained = config.trained_factor();
        let frequencies = self.info().frequencies;
        let is_own = self == Self::of(config);
        let positions = |factor| Ok((self.info().positions)(config, factor)?.in_layers(config));
        // A model whose positions were dropped afterwards has other frequencies than it was trained with.
        if is_own && config.positions == PositionScheme::Rotary && config.rope.rope_scaling_trained {
            return positions(trained);
        }
        let rescales = is_own && frequencies == Frequencies::Rescaled;
        if trained > 1.0 && !rescales && frequencies != Frequencies::None {
            let reason = format!(
                "its frequencies are already scaled by {trained} for its context of {}; use the method of its rope_type, or drope",
                config.max_position_embeddings
            );
            return Err(Error::Method { method: self.name(), reason });
        }
        positions(if rescales { factor * trained } else { factor })
    }

    /// Most tokens that the model is given, prompt and answer together; `None`: all.
    pub fn crop_length(self, config: &Config) -> Option<usize> {
        self.info().crops.then_some(config.max_position_embeddings)
    }
}
