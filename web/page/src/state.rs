//! What the page shows.

use std::collections::HashMap;

use drope_core::language::Values;
use drope_core::niah::{SentenceKind, Task};
use drope_core::positions::Method;
use drope_core::probe::HeadProbe;
use drope_protocol::{BackendChoice, Question};
use leptos::prelude::*;

/// Factors of the training context that can be chosen.
pub const EXTENSIONS: [usize; 5] = [1, 2, 4, 8, 16];

/// Tasks that the page's models were taught: not the words of pass keys and of the latest value, and no chains.
pub fn is_taught(task: Task) -> bool {
    matches!(task, Task::Single | Task::MultiKey | Task::MultiQuery | Task::MultiValue)
}

/// Signals of the page.
#[derive(Clone, Copy)]
pub struct State {
    /// Kind of retrieval.
    pub task: RwSignal<Task>,
    /// Numbers or words.
    pub values: RwSignal<Values>,
    /// Multiple of the training context.
    pub extension: RwSignal<usize>,
    /// Depth of the needle, in percent.
    pub depth: RwSignal<u32>,
    /// Seed of the haystack.
    pub seed: RwSignal<u64>,
    /// Left and right method.
    pub methods: [RwSignal<Method>; 2],
    /// Which backend was asked for.
    pub backend_choice: RwSignal<BackendChoice>,
    /// Where the models compute.
    pub engine: RwSignal<Engine>,
    /// Weights on their way.
    pub loading: RwSignal<Option<Download>>,
    /// What went wrong.
    pub error: RwSignal<Option<String>>,
    /// Number of the last run.
    pub run: RwSignal<u32>,
    /// What runs now.
    pub running: RwSignal<Option<Running>>,
    /// The question that was asked last.
    pub asked: RwSignal<Option<Asked>>,
    /// The two answers.
    pub answers: [RwSignal<Answer>; 2],
    /// What the heads of both columns did.
    pub probes: [RwSignal<Option<ProbedHeads>>; 2],
    /// Cells of the grid that were run here.
    pub counted: RwSignal<HashMap<CellKey, Counted>>,
}

/// The worker, from the page's first moment on.
#[derive(Clone, PartialEq)]
pub enum Engine {
    /// Its wasm is on its way.
    Loading,
    /// It compares WebGPU with the CPU.
    Choosing,
    /// It computes.
    Chosen {
        /// `WebGPU` or `CPU`.
        backend: String,
        /// Why, in a sentence.
        note: String,
    },
    /// It failed, and is started anew by the next run.
    Stopped,
}

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
#[derive(Clone, Copy, PartialEq)]
pub enum Running {
    /// Both columns answer.
    Answer,
    /// Both columns show their heads.
    Probe,
    /// A cell of the grid is measured.
    Cell(CellKey),
}

/// A cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CellKey {
    /// Method of the row.
    pub method: Method,
    /// Kind of retrieval.
    pub task: Task,
    /// Numbers or words.
    pub values: Values,
    /// Factor of the column.
    pub extension: usize,
}

/// What was counted in this tab.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Counted {
    /// Exact answers.
    pub correct: usize,
    /// Trials.
    pub done: usize,
}

/// The question that both methods answer.
#[derive(Clone, PartialEq)]
pub struct Asked {
    /// Sentences of the haystack.
    pub haystack: Vec<(String, SentenceKind)>,
    /// What is asked behind it.
    pub question: String,
    /// Right values.
    pub references: Vec<String>,
    /// Whether their order counts.
    pub ordered: bool,
    /// Tokens of the prompt.
    pub tokens: usize,
    /// Training context.
    pub context: usize,
}

/// One column's answer.
#[derive(Clone, Default, PartialEq)]
pub struct Answer {
    /// Tokens of the prompt that were read.
    pub read: usize,
    /// Text so far.
    pub text: String,
    /// Exactness and speeds, once done.
    pub finished: Option<Finished>,
}

/// What the heads of a column did.
#[derive(Clone, PartialEq)]
pub struct ProbedHeads {
    /// Method that read.
    pub method: Method,
    /// Multiple of the training context.
    pub extension: usize,
    /// Layer after layer.
    pub heads: Vec<HeadProbe>,
}

/// How an answer ended.
#[derive(Clone, Copy, PartialEq)]
pub struct Finished {
    /// Whether it is exact.
    pub exact: bool,
    /// Tokens of the prompt a second.
    pub prefill: f64,
    /// Generated tokens a second.
    pub decode: f64,
}

impl State {
    /// The question as chosen.
    pub fn question(self) -> Question {
        Question {
            task: self.task.get_untracked(),
            values: self.values.get_untracked(),
            extension: self.extension.get_untracked(),
            seed: self.seed.get_untracked(),
        }
    }
}
