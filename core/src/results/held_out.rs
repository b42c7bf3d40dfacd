//! What a run measures on text that training never sees: a line of `held_out.jsonl` in the folder of a model.

use serde::{Deserialize, Serialize};

/// One measure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HeldOutLine {
    /// Updates before it; 0: the model as training begins.
    pub step: usize,
    /// Training tokens before this measurement.
    pub tokens: u64,
    /// Mean cross entropy of all windows, in nats.
    pub loss: f64,
    /// That of each window.
    pub windows: Vec<f64>,
    /// Needles that were found, where the recipe asks for some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needles: Option<usize>,
    /// What the model wrote behind the first half of the first window, where the recipe asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<String>,
}
