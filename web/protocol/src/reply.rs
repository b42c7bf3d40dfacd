//! From the worker to the page.

use drope_core::niah::SentenceKind;
use drope_core::probe::HeadProbe;
use serde::{Deserialize, Serialize};

use super::recalibration::RecalibrationScore;
use super::stored_model::StoredModel;

/// What the worker reports. `run` is the number of the run that a message belongs to, `column` is the number of the column, from 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// The worker's program runs.
    Awake,
    /// The device is open.
    Ready {
        /// Why it is a good choice, as the end of a sentence.
        note: String,
        /// Threads of the CPU that compute.
        threads: usize,
        /// Units of the GPU that join numbers by subgroups; 1: none.
        subgroups: usize,
    },
    /// There is no device that could be used.
    Unfit {
        /// Why, as the end of a sentence.
        note: String,
    },
    /// Part of a model's weights has arrived.
    Loading {
        /// Number of the run.
        run: u32,
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
        /// Where each token of the prompt ends in its text, in bytes.
        ends: Vec<u32>,
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
        /// Tokens that are read in all.
        total: usize,
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
        /// Whether the answer is right; `None` if no expected answer is given.
        is_right: Option<bool>,
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
        /// Extension factor.
        extension: f64,
        /// Layer after layer.
        heads: Vec<HeadProbe>,
        /// Where each token of the prompt ends in its text, in bytes, by this column's tokenizer.
        ends: Vec<u32>,
    },
    /// How well a column predicts the text.
    Predicted {
        /// Number of the run.
        run: u32,
        /// Number of the column.
        column: usize,
        /// Mean cross entropy of equal parts of the text, in nats.
        losses: Vec<f32>,
        /// The same with windows of the training context.
        cropped: Vec<f32>,
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
    /// The models that are kept in the browser, whenever they have changed; none where it keeps nothing.
    Stored {
        /// By name.
        models: Option<Vec<StoredModel>>,
    },
    /// The zip of a model comes with this message.
    Exported {
        /// Number of the run.
        run: u32,
        /// Name of the model.
        name: String,
    },
    /// What dropping the positions costs.
    Dropped {
        /// Number of the run.
        run: u32,
        /// Mean cross entropy of a batch with positions, in nats.
        before: f32,
        /// The same without them.
        after: f32,
        /// Seconds that an update takes here.
        seconds: f64,
    },
    /// An update of recalibration is done.
    Updated {
        /// Number of the run.
        run: u32,
        /// Updates so far.
        step: usize,
        /// Mean cross entropy of its batch, in nats.
        loss: f32,
        /// Seconds that it took.
        seconds: f64,
    },
    /// The model that is being recalibrated was asked.
    Scored {
        /// Number of the run.
        run: u32,
        /// What came of it.
        score: RecalibrationScore,
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
