//! What the page knows of a recalibration in this tab.

use drope_protocol::{DroppedPositions, RecalibrationSettings, RecalibrationState, StoredModel};
use leptos::prelude::*;

use super::running::Download;

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
    /// Name of the result, once it has begun.
    pub name: RwSignal<Option<String>>,
    /// The program or the model that is on its way.
    pub loading: RwSignal<Option<Download>>,
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
            name: RwSignal::new(None),
            loading: RwSignal::new(None),
            error: RwSignal::new(None),
        }
    }
}

/// What a recalibration is called among the reader's models, where there are these already: one that is unfinished and has the
/// same settings goes on, and nothing is replaced.
pub fn name_of(settings: &RecalibrationSettings, stored: &[StoredModel]) -> String {
    if let Some(model) = stored.iter().find(|model| is_unfinished(model, settings)) {
        return model.name.clone();
    }
    let base = match settings.dropped {
        DroppedPositions::All => "my-drope",
        DroppedPositions::Low(_) => "my-partial-drope",
    };
    let mut names = std::iter::once(base.to_owned()).chain((2..).map(|number| format!("{base}-{number}")));
    let is_free = |name: &String| stored.iter().all(|model| model.name != *name);
    names.find(is_free).unwrap_or_default()
}

/// Whether a model is a recalibration with these settings that can go on.
pub fn is_unfinished(model: &StoredModel, settings: &RecalibrationSettings) -> bool {
    model.recalibration.as_ref().is_some_and(|state| state.settings == *settings && state.is_unfinished())
}

#[cfg(test)]
mod tests {
    use drope_core::positions::Method;
    use drope_protocol::{
        ChatFormat, DroppedPositions, RecalibrationScore, RecalibrationSettings, RecalibrationState, StoredModel,
    };

    use super::name_of;

    #[test]
    fn a_run_goes_on_under_its_name_and_replaces_nothing() {
        let settings = RecalibrationSettings {
            dropped: DroppedPositions::All,
            steps: 10,
            peak: 1e-3,
            max_copies: 1.0,
            query_norm: false,
        };
        let stored = |name: &str, step| {
            let score = RecalibrationScore { step, extension: 1, depth: None, correct: 1, trials: 4 };
            let scores = if name.ends_with("unasked") { vec![] } else { vec![score] };
            let state = RecalibrationState { settings: settings.clone(), step, losses: vec![], scores };
            StoredModel {
                name: name.into(),
                weights: vec![],
                bytes: 0.0,
                context: 256,
                parameters: 0.0,
                method: Method::Drope,
                chat: ChatFormat::None,
                recalibration: Some(state),
            }
        };
        assert_eq!(name_of(&settings, &[]), "my-drope");
        assert_eq!(name_of(&settings, &[stored("my-drope", 10)]), "my-drope-2");
        assert_eq!(name_of(&settings, &[stored("unasked", 10)]), "unasked", "the questions are still to be asked");
        assert_eq!(name_of(&settings, &[stored("my-drope", 10), stored("my-drope-2", 5)]), "my-drope-2");
        let other = RecalibrationSettings { peak: 2e-3, ..settings.clone() };
        assert_eq!(name_of(&other, &[stored("my-drope", 5)]), "my-drope-2");
    }
}
