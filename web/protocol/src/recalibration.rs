//! Recalibration in the tab.

use serde::{Deserialize, Serialize};

/// A run of recalibration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recalibration {
    /// Number of the run; messages of older runs are stale.
    pub run: u32,
    /// What the result is called among the reader's models.
    pub name: String,
    /// What differs from the recipe.
    pub settings: RecalibrationSettings,
}

/// What differs from the recipe of the page's own DroPE models (recipes/nano-drope.toml, recipes/nano-p-drope.toml).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecalibrationSettings {
    /// Which positions are dropped.
    pub dropped: DroppedPositions,
    /// Updates.
    pub steps: usize,
    /// Highest learning rate.
    pub peak: f64,
    /// Copies that a sentence of prose counts as, at most; 1: none.
    pub max_copies: f64,
    /// Whether queries get a norm, which begins at 1.
    pub query_norm: bool,
}

/// Which positions are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum DroppedPositions {
    /// All: DroPE.
    All,
    /// Frequencies below a cut in radians a token, 2π/C where it is not given: partial DroPE.
    Low(Option<f64>),
}

/// How far a run of recalibration is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecalibrationState {
    /// What it was begun with.
    pub settings: RecalibrationSettings,
    /// Updates so far.
    pub step: usize,
    /// The loss of every update.
    pub losses: Vec<f32>,
    /// What was measured on the way.
    pub scores: Vec<RecalibrationScore>,
}

impl RecalibrationState {
    /// Whether updates are missing, or the questions behind the last one.
    pub fn is_unfinished(&self) -> bool {
        self.has_updates_left() || self.scores.iter().all(|score| score.step != self.step)
    }

    /// Whether updates are missing.
    pub fn has_updates_left(&self) -> bool {
        self.step < self.settings.steps
    }
}

/// Lengths that a recalibrated model is asked at, in training contexts, and depths of the needle, in percent.
pub const LENGTHS: [usize; 4] = [1, 2, 4, 8];
pub const DEPTHS: [u32; 5] = [0, 25, 50, 75, 100];

/// Exact answers at one length and depth after some updates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecalibrationScore {
    /// Updates so far.
    pub step: usize,
    /// Multiple of the training context.
    pub extension: usize,
    /// Depth of the needle, in percent; a model that an earlier build kept has scores over random depths.
    #[serde(default)]
    pub depth: Option<u32>,
    /// Exact answers.
    pub correct: usize,
    /// Questions.
    pub trials: usize,
}
