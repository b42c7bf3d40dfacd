//! From the worker to the page.

use drope_core::niah::SentenceKind;
use drope_core::probe::HeadProbe;
use serde::{Deserialize, Serialize};

/// What the worker reports. `run` is the number of the run that a message belongs to, `column` is the number of the column, from 0.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// The worker's program runs.
    Awake,
    /// The device is open.
    Ready {
        /// Why it is a good choice, as the end of a sentence.
        note: String,
    },
    /// There is no device that could be used.
    Unfit {
        /// Why, as the end of a sentence.
        note: String,
    },
    /// Part of a model's weights has arrived.
    Loading {
        /// None while the device is opened.
        run: Option<u32>,
        /// Name of the model.
        model: String,
        /// Bytes so far.
        received: f64,
        /// Bytes in all; 0 if the server does not say.
        total: f64,
    },
    /// The question of a run.
    Asked {
        /// Number of the run.
        run: u32,
        /// Sentences of the haystack.
        haystack: Vec<(String, SentenceKind)>,
        /// What is asked behind it.
        question: String,
        /// Right values.
        references: Vec<String>,
        /// Whether their order counts.
        ordered: bool,
        /// Tokens of the prompt.
        tokens: usize,
        /// Training context.
        context: usize,
    },
    /// Part of the prompt was read.
    Read {
        /// Number of the run.
        run: u32,
        /// Number of the column.
        column: usize,
        /// Tokens so far.
        tokens: usize,
    },
    /// A token was generated.
    Generated {
        /// Number of the run.
        run: u32,
        /// Number of the column.
        column: usize,
        /// The whole answer so far.
        text: String,
    },
    /// A column is done.
    Answered {
        /// Number of the run.
        run: u32,
        /// Number of the column.
        column: usize,
        /// Whether the answer is exact.
        exact: bool,
        /// Tokens of the prompt a second.
        prefill: f64,
        /// Generated tokens a second.
        decode: f64,
    },
    /// What attention does in the heads of a column.
    Probed {
        /// Number of the run.
        run: u32,
        /// Number of the column.
        column: usize,
        /// Multiple of the training context.
        extension: usize,
        /// Layer after layer.
        heads: Vec<HeadProbe>,
    },
    /// A trial of a cell is done.
    Trial {
        /// Number of the run.
        run: u32,
        /// Exact answers so far.
        correct: usize,
        /// Trials so far.
        done: usize,
    },
    /// The run is over, or was stopped.
    Finished {
        /// Number of the run.
        run: u32,
    },
    /// Something went wrong.
    Failed {
        /// Number of the run.
        run: u32,
        /// What, and what to do, in a sentence.
        message: String,
    },
}
