//! Values of arguments, and arguments that several commands share.

mod difficulty;
mod head_questions;
mod niah;
mod numbers;
mod parameters;
mod reading;
mod sweep;
pub mod tuned;
mod values;

pub use self::difficulty::DifficultyArgs;
pub use self::head_questions::HeadQuestionsArgs;
pub use self::niah::NiahArgs;
pub use self::numbers::NumberArgs;
pub use self::parameters::{ParameterArgs, axis, check_cut, positions};
pub use self::reading::{ModelArgs, ReadingArgs};
pub use self::sweep::Sweep;
pub use self::values::{above_zero, at_least_one, at_least_zero, method_names, share, tokens, training_tokens};
