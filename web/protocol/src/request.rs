//! From the page to the worker.

use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::positions::{Method, Parameters};
use serde::{Deserialize, Serialize};

/// What the worker is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// First message: open the device.
    Start {
        /// For WebGPU: whether it is unfit where the CPU is faster.
        must_be_fast: bool,
        /// Address of the page: the worker's own is a blob, below which there are no files.
        base: String,
    },
    /// Let every column answer one question.
    Answer(Comparison),
    /// Measure what attention does in every head of every column's model while it reads the question.
    Probe(Comparison),
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
    /// Stop the present run. The worker confirms it with [`Reply::Finished`](crate::Reply::Finished).
    Stop,
}

impl Request {
    /// Number of the run that it begins.
    pub fn run(&self) -> Option<u32> {
        match self {
            Self::Answer(Comparison { run, .. }) | Self::Probe(Comparison { run, .. }) | Self::Measure { run, .. } => {
                Some(*run)
            }
            Self::Start { .. } | Self::Stop => None,
        }
    }
}

/// One question to all columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Number of the run; messages of older runs are stale.
    pub run: u32,
    /// What is asked.
    pub question: Question,
    /// Depth of the needle, 0 to 1.
    pub depth: f64,
    /// How each column reads.
    pub readings: Vec<Reading>,
}

/// How a column reads: the model that its method is shown with, and parameters in place of the method's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The method.
    pub method: Method,
    /// What was chosen.
    pub parameters: Parameters,
}

/// A question but for the depth of its needle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Kind of retrieval.
    pub task: Task,
    /// Numbers or words.
    pub values: Values,
    /// Multiple of the training context.
    pub extension: usize,
    /// Seed of the haystack.
    pub seed: u64,
}
