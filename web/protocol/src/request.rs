//! From the page to the worker.

use drope_core::language::Values;
use drope_core::niah::{Difficulty, Filler, OwnText, Spec, Task};
use drope_core::positions::{Method, Parameters};
use serde::{Deserialize, Serialize};

use super::recalibration::Recalibration;

/// What the worker is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// First message: open the device.
    Start {
        /// For WebGPU: whether it is unfit where the CPU is faster.
        must_be_fast: bool,
        /// For WebGPU: whether kernels may use subgroups.
        may_use_subgroups: bool,
        /// For the CPU's program with threads: how many.
        threads: usize,
        /// Address of the page: the worker's own is a blob, below which there are no files.
        base: String,
        /// Models of the page that are loaded before anything is asked, unless something already is.
        first: Vec<String>,
    },
    /// Let every column answer one question.
    Answer(Comparison),
    /// Measure what attention does in every head of every column's model while it reads the question.
    Probe(Comparison),
    /// Measure how well every column predicts the text, and how well its model predicts it in windows of the training
    /// context.
    Predict(Comparison),
    /// Measure one cell of a table.
    Measure {
        /// Number of the run.
        run: u32,
        /// What is asked; trial t has `seed + t`.
        question: Question,
        /// Depth of the needle, 0 to 1; left out, another one for each question.
        depth: Option<f64>,
        /// How it is read.
        reading: Reading,
        /// Questions.
        trials: usize,
    },
    /// Keep a model of the reader's in the browser.
    Import {
        /// Number of the run.
        run: u32,
        /// What it is to be called.
        name: String,
        /// Where it is.
        origin: Origin,
    },
    /// Delete a model that is kept in the browser.
    Remove {
        /// Number of the run.
        run: u32,
        /// Its name.
        name: String,
    },
    /// Render the chat template of a model that is kept in the browser.
    Template {
        /// Number of the run.
        run: u32,
        /// Its name.
        name: String,
    },
    /// Choose whether a model that is kept in the browser gets its prompts as messages.
    Chat {
        /// Number of the run.
        run: u32,
        /// Its name.
        name: String,
        /// Whether it does.
        is_used: bool,
    },
    /// Make a zip of a model that is kept in the browser.
    Export {
        /// Number of the run.
        run: u32,
        /// Its name.
        name: String,
    },
    /// Say what dropping the positions costs, and how long recalibration takes here.
    Drop(Recalibration),
    /// Drop positions and train, or go on with it.
    Recalibrate(Recalibration),
    /// Stop the present run. The worker confirms it with [`Reply::Finished`](crate::Reply::Finished).
    Stop,
}

impl Request {
    /// Number of the run that it begins.
    pub fn run(&self) -> Option<u32> {
        match self {
            Self::Answer(Comparison { run, .. })
            | Self::Probe(Comparison { run, .. })
            | Self::Predict(Comparison { run, .. })
            | Self::Measure { run, .. }
            | Self::Import { run, .. }
            | Self::Remove { run, .. }
            | Self::Template { run, .. }
            | Self::Chat { run, .. }
            | Self::Export { run, .. }
            | Self::Drop(Recalibration { run, .. })
            | Self::Recalibrate(Recalibration { run, .. }) => Some(*run),
            Self::Start { .. } | Self::Stop => None,
        }
    }
}

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Origin {
    /// Files of a model folder, or a zip of them, sent with the message.
    Files,
    /// The address of a model folder, whose server lets pages of others read it (CORS).
    Address(String),
}

/// One question to all columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Number of the run; messages of older runs are stale.
    pub run: u32,
    /// What is asked.
    pub prompt: Prompt,
    /// Depth of the needle, 0 to 1.
    pub depth: f64,
    /// How each column reads.
    pub readings: Vec<Reading>,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Prompt {
    /// A question that is drawn.
    Drawn(Question),
    /// A text of the reader's.
    Own(OwnText),
}

/// How a column reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// A model of the study or of the reader's, by name; left out, the one that the page shows the method with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The method.
    pub method: Method,
    /// Parameters in place of the method's own.
    pub parameters: Parameters,
}

/// Questions of one kind, of all lengths, depths and seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuestionKind {
    /// Kind of retrieval.
    pub task: Task,
    /// Numbers or words.
    pub values: Values,
    /// What surrounds the needles, in place of what the task's authors have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filler: Option<Filler>,
    /// How hard they are made.
    #[serde(default)]
    pub difficulty: Difficulty,
}

impl QuestionKind {
    /// Questions of the standard difficulty.
    pub fn standard(task: Task, values: Values) -> Self {
        Self { task, values, filler: None, difficulty: Difficulty::default() }
    }
}

/// A question, without the depth of its needle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its kind.
    pub kind: QuestionKind,
    /// Length of the text.
    pub length: Length,
    /// Seed of the haystack.
    pub seed: u64,
}

/// How long a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Length {
    /// A multiple of the model's training context.
    Contexts(usize),
    /// Tokens of the model's tokenizer, for models whose contexts would take too long here.
    Tokens(usize),
}

impl Length {
    /// Tokens, for a model of this training context.
    pub fn tokens(self, context: usize) -> usize {
        match self {
            Self::Contexts(factor) => factor * context,
            Self::Tokens(tokens) => tokens,
        }
    }

    /// Extension factor s of a text of so many tokens: 1 within the training context.
    pub fn extension(self, context: usize) -> f64 {
        match self {
            Self::Contexts(factor) => factor as f64,
            Self::Tokens(tokens) => (tokens as f64 / context as f64).max(1.0),
        }
    }
}

impl Question {
    /// What it is drawn from, for a model of this training context.
    pub fn spec(&self, context: usize, depth: Option<f64>) -> Spec<'static> {
        let QuestionKind { task, values, filler, difficulty } = self.kind;
        let filler = filler.unwrap_or(task.filler());
        Spec { depth, filler, difficulty, ..Spec::new(task, values, self.length.tokens(context), self.seed) }
    }
}
