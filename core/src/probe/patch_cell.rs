//! The format of what `core patch` writes.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::HeadQuestions;
use crate::results::{CellHeader, Outcomes, Reading, ResultCell, SEED};

/// Answers to questions in long texts, where a head attends as it does in a short text with the same needles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatchCell {
    /// What was read, and how.
    #[serde(flatten)]
    pub header: CellHeader,
    /// What was asked.
    #[serde(flatten)]
    pub questions: HeadQuestions,
    /// Layer and query head, from 0, that attends as in the short text; missing where none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patched: Option<[usize; 2]>,
    /// Questions that are answered exactly.
    pub correct: usize,
    /// Those that the model answers exactly in the short texts.
    pub correct_in_short: usize,
    /// Which questions were answered exactly.
    pub outcomes: Outcomes,
}

impl Deref for PatchCell {
    type Target = CellHeader;

    fn deref(&self) -> &CellHeader {
        &self.header
    }
}

impl ResultCell for PatchCell {
    fn reading(&self) -> Reading<'_> {
        self.header.reading(None)
    }

    fn same_question(&self, other: &Self) -> bool {
        let question = |cell: &Self| (cell.questions.without_count(), cell.patched);
        question(self) == question(other)
    }

    fn questions(&self) -> usize {
        self.questions.trials
    }

    fn is_standard(&self) -> bool {
        self.questions.are_usual(SEED) && self.reading().is_standard()
    }
}
