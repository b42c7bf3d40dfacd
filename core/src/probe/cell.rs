//! The format of what `core probe` writes.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::{HeadProbe, HeadQuestions};
use crate::results::{CellHeader, Reading, ResultCell, SEED};

/// A head of a model read with a method at a length, on average over questions: a cell of `core probe`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadCell {
    /// What was read, and how.
    #[serde(flatten)]
    pub header: CellHeader,
    /// Tokens of the questions, where these were asked for in place of a multiple of the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
    /// What was asked.
    #[serde(flatten)]
    pub questions: HeadQuestions,
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

impl Deref for HeadCell {
    type Target = CellHeader;

    fn deref(&self) -> &CellHeader {
        &self.header
    }
}

impl ResultCell for HeadCell {
    fn reading(&self) -> Reading<'_> {
        self.header.reading(None)
    }

    fn same_question(&self, other: &Self) -> bool {
        let question = |cell: &Self| {
            let Self { tokens, questions, runs, probe: HeadProbe { layer, head, .. }, .. } = *cell;
            (tokens, questions.without_count(), runs, layer, head)
        };
        question(self) == question(other)
    }

    fn questions(&self) -> usize {
        self.questions.trials
    }

    fn is_standard(&self) -> bool {
        self.questions.are_usual(SEED) && self.reading().is_standard()
    }
}
