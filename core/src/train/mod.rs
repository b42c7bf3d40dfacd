//! Training: text, loss, gradients, schedule, optimizers and the update. No I/O; the caller drives it and keeps its state.

mod adamw;
mod backward;
mod batch;
mod copies;
pub mod cost;
mod curriculum;
mod evaluate;
mod gradients;
mod guard;
mod head_scale;
mod mixed;
mod optimizer;
mod packed;
mod read_on_cpu;
pub mod recipe;
mod schedule;
mod shuffled;
mod source;
mod trainer;

pub use backward::{Memory, batch_gradients};
pub use batch::Batch;
pub use copies::{CopiesSettings, RepeatedText};
pub use curriculum::{Curriculum, EasyStart};
pub use evaluate::row_losses;
pub use gradients::BatchGradients;
pub use guard::{GuardSettings, GuardState};
pub use head_scale::HeadScaleFit;
pub use mixed::{AnySource, MixedText};
pub use optimizer::{Optimizer, OptimizerKind};
pub use packed::{PackedText, TokenText};
pub use schedule::{Schedule, ScheduleShape};
pub use shuffled::Shuffled;
pub use source::{DocumentSource, SyntheticDocuments};
pub use trainer::{Hyperparameters, StepReport, Trainer};
