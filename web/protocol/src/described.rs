//! What the page says of each method, until the list in `drope_core::positions::method` has it.

use drope_core::positions::Method;

/// A method's title, explanation and model.
pub trait Described {
    /// As a reader would call it.
    fn title(self) -> &'static str;
    /// What it does, in a sentence.
    fn explanation(self) -> &'static str;
    /// Folder of the small model that it reads: scalings read the model as it was pretrained.
    fn nano_model(self) -> &'static str;
}

impl Described for Method {
    fn title(self) -> &'static str {
        match self {
            Self::Rope => "RoPE as trained",
            Self::Crop => "RoPE, cropped",
            Self::Pi => "Position interpolation",
            Self::Ntk => "NTK-aware RoPE",
            Self::DynamicNtk => "Dynamic NTK",
            Self::Yarn => "YaRN",
            Self::YarnAsPrinted => "YaRN as printed",
            Self::Llama3 => "Llama 3's scaling",
            Self::LongRope => "LongRoPE",
            Self::DopeParts => "DoPE by parts",
            Self::DopeAll => "DoPE by all",
            Self::DopeGaussian => "DoPE by Gaussian",
            Self::Drope => "DroPE",
            Self::PDrope => "Partial DroPE",
            Self::Nope => "NoPE from scratch",
            Self::Alibi => "ALiBi",
            Self::RnopeSwa => "RNoPE-SWA",
        }
    }

    fn explanation(self) -> &'static str {
        match self {
            Self::Rope => {
                "Rotary positions exactly as in training: beyond the context the angles are new to the model."
            }
            Self::Crop => "RoPE as trained, given only the last tokens that fit into the training context.",
            Self::Pi => {
                "All frequencies divided by the extension: no angle is new, but neighbours look too close to copy exactly."
            }
            Self::Ntk => "A larger rotary base: high frequencies stay, low ones are stretched.",
            Self::DynamicNtk => "A rotary base that grows with the text, from the end of the training context on.",
            Self::YarnAsPrinted => "The formula in the DroPE paper, which comes out as position interpolation.",
            Self::Llama3 => {
                "Frequencies that turn rarely within the context are stretched, those that turn often stay."
            }
            Self::LongRope => "Each frequency is stretched by a factor of its own, found by a search.",
            Self::DopeParts => "NTK scaling, but in three heads of low entropy the low frequencies do not turn.",
            Self::DopeAll => "NTK scaling, but three heads of low entropy have no positions.",
            Self::DopeGaussian => "NTK scaling, but the queries and keys of three heads of low entropy are noise.",
            Self::Nope => "Trained without positions from the first step.",
            Self::Alibi => "Trained with a bias against distant tokens, in place of positions.",
            Self::RnopeSwa => {
                "Trained with three layers that see a window, with positions, to one that sees everything, without."
            }
            Self::Yarn => "High frequencies stay, low ones are stretched, and attention is sharpened.",
            Self::Drope => {
                "No positions at all: removed after training, then recalibrated within the training context, where filler counts as many copies of itself and logits grow with the length (both are ours)."
            }
            Self::PDrope => {
                "Only the frequencies that never turn once in the context are removed; then recalibrated as DroPE."
            }
        }
    }

    fn nano_model(self) -> &'static str {
        match self {
            Self::Rope
            | Self::Crop
            | Self::Pi
            | Self::Ntk
            | Self::DynamicNtk
            | Self::Yarn
            | Self::YarnAsPrinted
            | Self::Llama3
            | Self::DopeParts
            | Self::DopeAll
            | Self::DopeGaussian => "nano-rope",
            Self::Drope => "nano-drope",
            Self::PDrope => "nano-p-drope",
            Self::Nope => "nano-nope",
            Self::Alibi => "nano-alibi",
            Self::RnopeSwa => "nano-rnope-swa",
            Self::LongRope => "nano-longrope2",
        }
    }
}
