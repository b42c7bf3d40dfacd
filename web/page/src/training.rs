//! What the page knows of a recalibration in this tab.

use drope_protocol::{DroppedPositions, RecalibrationSettings, RecalibrationState};
use leptos::prelude::*;

/// Signals of the recalibration.
#[derive(Clone, Copy)]
pub struct Training {
    /// What was chosen.
    pub settings: RwSignal<RecalibrationSettings>,
    /// What its worker does.
    pub phase: RwSignal<Phase>,
    /// What dropping the positions costs.
    pub cost: RwSignal<Option<DropCost>>,
    /// How far it is.
    pub progress: RwSignal<Option<RecalibrationState>>,
    /// Seconds that an update takes, lately.
    pub seconds: RwSignal<f64>,
    /// What went wrong.
    pub error: RwSignal<Option<String>>,
}

/// What the worker of the recalibration does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing.
    Idle,
    /// It drops the positions and takes an update's time.
    Trying,
    /// It trains.
    Running,
    /// It keeps what it has and stops.
    Pausing,
}

/// What dropping the positions costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropCost {
    /// Loss with positions, in nats.
    pub before: f32,
    /// Loss without.
    pub after: f32,
}

impl Training {
    /// Nothing has begun.
    pub fn new() -> Self {
        let settings = RecalibrationSettings {
            dropped: DroppedPositions::Low(None),
            steps: 500,
            peak: 4e-3,
            max_copies: 32.0,
            query_norm: false,
        };
        Self {
            settings: RwSignal::new(settings),
            phase: RwSignal::new(Phase::Idle),
            cost: RwSignal::new(None),
            progress: RwSignal::new(None),
            seconds: RwSignal::new(0.0),
            error: RwSignal::new(None),
        }
    }

    /// The name of the result among the reader's models.
    pub fn name(self) -> &'static str {
        match self.settings.get_untracked().dropped {
            DroppedPositions::All => "my-drope",
            DroppedPositions::Low(_) => "my-partial-drope",
        }
    }
}

/// `40 s`, `12 min`, `3.5 h`
pub fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("{seconds:.0} s"),
        seconds if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_are_in_the_unit_that_people_use() {
        assert_eq!([40.4, 700.0, 12_600.0].map(duration), ["40 s", "12 min", "3.5 h"]);
    }
}
