//! What text a run trains on.

use serde::{Deserialize, Serialize};

use crate::left_out::is_default;
use crate::train::CopiesSettings;

/// The text of a run, in place of the synthetic language alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSettings {
    /// Folders that `core data prepare` wrote.
    pub shards: Vec<ShardsSettings>,
    /// Share of documents that training never sees, of each folder.
    #[serde(default, skip_serializing_if = "is_default")]
    pub held_out: f64,
    /// Weight of the synthetic language beside them; 0: none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub synthetic: f64,
    /// Whether tokens of a window see those of their own document alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mask_documents: bool,
    /// Text that counts several times in attention, as in a longer text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<CopiesSettings>,
}

/// Measures of the loss on held-out text during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluationSettings {
    /// Updates between two measures; the first is before training, the last at its end.
    pub every: usize,
    /// Windows of the context that are read, of each folder of shards: the same each time.
    pub windows: usize,
    /// Whether the model with the lowest loss is kept beside the last one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub keep_best: bool,
    /// Needles that are asked for in texts of the context, each time the same questions. They are of the split for choosing settings.
    #[serde(default, skip_serializing_if = "is_default")]
    pub needles: usize,
    /// Tokens with which the model continues the first half of the first window.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sample: usize,
}

/// A folder of shards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardsSettings {
    /// Where it is.
    pub folder: String,
    /// Its share of the updates is this divided by the sum of all weights, `synthetic` among them.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub weight: f64,
}

fn one() -> f64 {
    1.0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_one(weight: &f64) -> bool {
    *weight == 1.0
}

/// Whether training never sees a document: the same ones for every run with the same share.
pub fn is_held_out(document: usize, share: f64) -> bool {
    // Evenly spread, so that a share of few documents is that share too: document n is held out where n times the share passes a
    // whole number.
    let passed = |count: usize| (count as f64 * share).floor();
    passed(document + 1) > passed(document)
}

#[cfg(test)]
mod tests {
    use super::is_held_out;

    #[test]
    fn a_share_of_the_documents_is_held_out() {
        for (share, expected) in [(0.0, 0), (0.1, 100), (0.005, 5), (0.25, 250)] {
            assert_eq!((0..1000).filter(|&document| is_held_out(document, share)).count(), expected, "{share}");
        }
        assert!(!is_held_out(0, 0.1) && is_held_out(9, 0.1));
    }
}
