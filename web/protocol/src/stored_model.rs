//! Models that are kept in the browser.

use drope_core::positions::Method;
use serde::{Deserialize, Serialize};

use super::recalibration::RecalibrationState;

/// A model that is kept in the browser.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredModel {
    /// Its name.
    pub name: String,
    /// Names of the weights' files.
    pub weights: Vec<String>,
    /// Bytes of all files.
    pub bytes: f64,
    /// Training context.
    pub context: usize,
    /// Numbers in the weights.
    pub parameters: f64,
    /// How its config has it read.
    pub method: Method,
    /// Whether it was recalibrated here, and how far that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recalibration: Option<RecalibrationState>,
}
