//! The learning rate over a run.

use serde::{Deserialize, Serialize};

/// Linear warm-up, then a cosine down to a share of the peak.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Highest learning rate.
    pub peak: f64,
    /// Steps of warm-up.
    pub warmup: usize,
    /// Share of the peak at the last step.
    pub floor: f64,
}

impl Schedule {
    /// Learning rate of step `step` (from 0) of `steps`.
    pub fn at(&self, step: usize, steps: usize) -> f64 {
        let warm = ((step + 1) as f64 / self.warmup.max(1) as f64).min(1.0);
        let progress = step as f64 / steps.max(1) as f64;
        let cosine = 0.5 * (1.0 + (std::f64::consts::PI * progress).cos());
        self.peak * warm * (self.floor + (1.0 - self.floor) * cosine)
    }
}
