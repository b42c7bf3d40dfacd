//! The learning rate over a run.

use serde::{Deserialize, Serialize};

use crate::left_out::is_default;

/// One of several shapes over the whole run, multiplied by a linear warm-up. So a cosine has fallen a little when the warm-up ends, and the
/// shapes reach their floor where a further step would be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The shape.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shape: ScheduleShape,
    /// Learning rate that the shape begins with.
    pub peak: f64,
    /// Steps of warm-up.
    pub warmup: usize,
    /// Share of the peak at the end; a constant rate has none.
    pub floor: f64,
    /// For `wsd`: share of the run over which the rate falls.
    #[serde(default = "Schedule::customary_decay", skip_serializing_if = "is_customary_decay")]
    pub decay: f64,
}

/// How the rate falls over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScheduleShape {
    /// Half a cosine from the peak to the floor (Loshchilov & Hutter 2017, arXiv 1608.03983).
    #[default]
    Cosine,
    /// The peak.
    Constant,
    /// Warm-up, stable, decay (Hu et al. 2024, arXiv 2404.06395): the peak, then a line to the floor.
    Wsd,
}

impl Schedule {
    /// A warm-up and a cosine.
    pub const fn cosine(peak: f64, warmup: usize, floor: f64) -> Self {
        Self { shape: ScheduleShape::Cosine, peak, warmup, floor, decay: Self::customary_decay() }
    }

    const fn customary_decay() -> f64 {
        0.2
    }

    /// Learning rate of step `step` (from 0) of `steps`.
    pub fn at(&self, step: usize, steps: usize) -> f64 {
        let warm = ((step + 1) as f64 / self.warmup.max(1) as f64).min(1.0);
        let progress = step as f64 / steps.max(1) as f64;
        // 1 at the peak, 0 at the floor.
        let height = match self.shape {
            ScheduleShape::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * progress).cos()),
            ScheduleShape::Constant => 1.0,
            ScheduleShape::Wsd => ((1.0 - progress) / self.decay).min(1.0),
        };
        self.peak * warm * (self.floor + (1.0 - self.floor) * height)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_customary_decay(decay: &f64) -> bool {
    *decay == Schedule::customary_decay()
}

#[cfg(test)]
mod tests {
    use super::{Schedule, ScheduleShape};

    #[test]
    fn shapes_go_from_the_peak_to_their_ends() {
        let rates = |shape| {
            let schedule = Schedule { shape, decay: 0.25, ..Schedule::cosine(2.0, 4, 0.5) };
            [0, 3, 50, 75, 90, 100].map(|step| schedule.at(step, 100))
        };
        assert_eq!(rates(ScheduleShape::Constant), [0.5, 2.0, 2.0, 2.0, 2.0, 2.0]);
        let wsd = rates(ScheduleShape::Wsd);
        assert_eq!([wsd[0], wsd[1], wsd[2], wsd[3], wsd[5]], [0.5, 2.0, 2.0, 2.0, 1.0]);
        assert!((wsd[4] - 1.4).abs() < 1e-12, "two fifths of the way up from 1 to 2: {}", wsd[4]);
        let cosine = rates(ScheduleShape::Cosine);
        assert!((cosine[2] - 1.5).abs() < 1e-12 && (cosine[5] - 1.0).abs() < 1e-12, "{cosine:?}");
    }
}
