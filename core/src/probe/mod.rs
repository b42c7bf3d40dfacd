//! Measurements inside attention: how much of it a needle gets, how spread it is, and how far it depends on positions.

#[cfg(feature = "model")]
mod attention;
#[cfg(feature = "model")]
mod bias;
mod cell;
mod gradients;
mod head;
mod patch_cell;
#[cfg(feature = "model")]
mod patching;
#[cfg(feature = "model")]
mod question;
mod questions;
#[cfg(feature = "model")]
mod spread;

#[cfg(feature = "model")]
pub use self::attention::{AttentionStatistics, HeadWeights, attention};
#[cfg(feature = "train")]
pub use self::bias::bias_gradients;
#[cfg(feature = "model")]
pub use self::bias::positional_bias;
pub use self::cell::HeadCell;
pub use self::gradients::{BiasNorms, GradientRecord, LayerGradients};
pub use self::head::{HeadProbe, PARTS, entropy, mass, mean};
pub use self::patch_cell::PatchCell;
#[cfg(feature = "model")]
pub use self::patching::{PatchedAnswers, QuestionPair};
#[cfg(feature = "model")]
pub use self::question::{TokenizedSample, probe_heads};
pub use self::questions::HeadQuestions;
#[cfg(feature = "model")]
pub use self::spread::prefix_spread;
