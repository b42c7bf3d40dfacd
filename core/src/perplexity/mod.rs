//! How well a model predicts texts.

#[cfg(feature = "statistics")]
mod cell;
#[cfg(feature = "statistics")]
mod compare;
#[cfg(feature = "model")]
mod losses;
#[cfg(feature = "statistics")]
mod shards;
mod windows;

#[cfg(feature = "statistics")]
pub use self::cell::{PARTS, PerplexityCell, TextLoss, synthetic_source};
#[cfg(feature = "statistics")]
pub use self::compare::excess;
#[cfg(feature = "model")]
pub use self::losses::{Continuation, continuation_losses, token_losses};
#[cfg(feature = "statistics")]
pub use self::shards::merge;
pub use self::windows::{Window, windows};
