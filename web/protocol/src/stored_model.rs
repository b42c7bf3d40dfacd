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
    /// The method that its config names.
    pub method: Method,
    /// How it wants messages written.
    #[serde(default, skip_serializing_if = "ChatFormat::is_none")]
    pub chat: ChatFormat,
    /// Whether it was recalibrated here, and how far that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recalibration: Option<RecalibrationState>,
}

/// How a model that was trained on conversations wants a message written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum ChatFormat {
    /// The model was not trained on conversations, or its files have no chat template.
    #[default]
    None,
    /// There is a template, which was not rendered yet.
    Template,
    /// The template was rendered.
    Around {
        /// What stands before a message.
        before: String,
        /// What stands behind it, up to the answer.
        behind: String,
        /// Whether prompts are written so.
        is_used: bool,
    },
}

impl ChatFormat {
    fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// What stands around prompts, if anything does.
    pub fn affixes(&self) -> Option<[&str; 2]> {
        match self {
            Self::Around { before, behind, is_used: true } => Some([before, behind]),
            _ => None,
        }
    }
}
