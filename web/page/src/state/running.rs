//! What the workers do now, and what they counted.

use drope_protocol::{QuestionKind, Reading};

/// Bytes of a model so far and in all.
#[derive(Clone, PartialEq)]
pub struct Download {
    /// Name of the model.
    pub model: String,
    /// Bytes so far.
    pub received: f64,
    /// Bytes in all; 0 if unknown.
    pub total: f64,
}

/// What the worker is doing.
#[derive(Clone, PartialEq)]
pub enum Running {
    /// The rows of the first screen answer.
    Story,
    /// The models beside the dial answer.
    Dial,
    /// The models beside the dial show their heads.
    DialProbe,
    /// The columns answer.
    Answer,
    /// The columns show their heads.
    Probe,
    /// The columns predict the text.
    Predict,
    /// A model of the reader's is taken in.
    Import,
    /// A model that the browser keeps is removed, or is asked in another form.
    Kept,
    /// A cell of a table is measured.
    Cell(CellKey),
}

impl Running {
    /// Whether it is about the models that the browser keeps, so that what goes wrong is said beside them.
    pub fn is_of_models(&self) -> bool {
        matches!(self, Self::Import | Self::Kept)
    }
}

/// A cell of the tables.
#[derive(Clone, Debug, PartialEq)]
pub struct CellKey {
    /// How it is read.
    pub reading: Reading,
    /// What is asked.
    pub kind: QuestionKind,
    /// Multiple of the training context.
    pub extension: usize,
    /// Depth of the needle in percent; none: a random one for each question.
    pub depth: Option<u32>,
}

/// What was counted in this tab.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Counted {
    /// Exact answers.
    pub correct: usize,
    /// Trials.
    pub done: usize,
}
