//! What attention does inside: how much of it a needle gets, how spread it is, and how far it leans on positions.

mod attention;
mod bias;
mod cell;
mod head;
mod question;
mod spread;

pub use self::attention::{AttentionStatistics, HeadWeights, attention};
#[cfg(feature = "train")]
pub use self::bias::bias_gradients;
pub use self::bias::positional_bias;
pub use self::cell::HeadCell;
pub use self::head::{HeadProbe, PARTS, entropy, mass, mean};
pub use self::question::{TokenizedSample, probe_heads};
pub use self::spread::prefix_spread;
