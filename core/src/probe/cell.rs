//! The format of what `core probe` writes.

use serde::{Deserialize, Serialize};

use super::HeadProbe;
use crate::positions::{Method, Parameters};
use crate::results::{Reading, ResultCell, SEED, is_default, reading_of};

/// A head of a model read with a method at a length, on average over questions: a cell of `core probe`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadCell {
    /// Name of the model's folder.
    pub model: String,
    /// Position method.
    pub method: Method,
    /// Extension factor s.
    pub extension: usize,
    /// Tokens of the questions, where these were asked for in place of a multiple of the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
    /// Temperature of the logits.
    pub beta: f64,
    /// Whether that temperature was asked for and replaced the model's own, its `head_scales` included.
    #[serde(default, skip_serializing_if = "is_default")]
    pub beta_given: bool,
    /// Cut of a partial drop, where another than the model's own was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<f64>,
    /// Parameters of the method that were chosen in place of the config's or its customary ones.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// Questions.
    pub trials: usize,
    /// Seed of the questions.
    pub seed: u64,
    /// Hash of the model and of what its config says.
    pub fingerprint: String,
    /// Models with random weights that gradients are averaged over; 0: none.
    pub runs: usize,
    /// Where its attention goes.
    #[serde(flatten)]
    pub probe: HeadProbe,
    /// Norms of the gradients that the layer's query and key projections get from both positional biases, towards the token
    /// itself and the one before, at random weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradients: Option<[f64; 2]>,
}

impl ResultCell for HeadCell {
    fn reading(&self) -> Reading<'_> {
        reading_of!(self)
    }

    fn same_question(&self, other: &Self) -> bool {
        let question = |cell: &Self| (cell.tokens, cell.seed, cell.runs, cell.probe.layer, cell.probe.head);
        question(self) == question(other)
    }

    fn questions(&self) -> usize {
        self.trials
    }

    fn is_standard(&self) -> bool {
        self.seed == SEED && self.reading().is_standard()
    }
}
