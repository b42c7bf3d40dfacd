//! Training: data, loss, schedule and optimizers. No I/O; the caller drives it and keeps its state.

mod batch;
mod head_scale;
mod loss;
mod optimizer;
mod schedule;

pub use batch::{Batch, Curriculum, Easy, batch};
pub use head_scale::HeadScaleFit;
pub use loss::{Losses, weighted_cross_entropy};
pub use optimizer::{Optimizer, OptimizerKind, add_gradients};
pub use schedule::Schedule;
