//! Intervals and tests of what is measured.

#[cfg(feature = "statistics")]
mod bootstrap;
mod holm;
mod intervals;
#[cfg(feature = "statistics")]
mod mcnemar;
mod median;
#[cfg(feature = "statistics")]
mod power_law;

#[cfg(feature = "statistics")]
pub use bootstrap::{BootstrapInterval, PairedMeans, PairedOutcomes, bootstrap_of_trials, paired_bootstrap};
pub use holm::holm;
#[cfg(feature = "statistics")]
pub use intervals::{effective_trials, student_half_width};
pub use intervals::{wilson, wilson_of_mean};
#[cfg(feature = "statistics")]
pub use mcnemar::{McNemar, mcnemar};
pub use median::median_and_range;
#[cfg(feature = "statistics")]
pub use power_law::PowerLaw;
