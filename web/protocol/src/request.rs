//! From the page to the worker.

use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::positions::Method;
use serde::{Deserialize, Serialize};

/// What the worker is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// First message: choose a backend.
    Start {
        /// What the reader wants.
        backend: BackendChoice,
        /// Address of the page: the worker's own is a blob, below which there are no files.
        base: String,
    },
    /// Let both methods answer one question.
    Answer(Comparison),
    /// Measure what attention does in every head of both models while they read it.
    Probe(Comparison),
    /// Measure one cell of the grid.
    Measure {
        /// Number of the run.
        run: u32,
        /// What is asked; trial t has `seed + t`.
        question: Question,
        /// Method of the cell.
        method: Method,
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

/// One question to both methods.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Number of the run; messages of older runs are stale.
    pub run: u32,
    /// What is asked.
    pub question: Question,
    /// Depth of the needle, 0 to 1.
    pub depth: f64,
    /// Left and right method.
    pub methods: [Method; 2],
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

/// Which backend the reader wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendChoice {
    /// WebGPU if it gives the CPU's answer and is not slower, else the CPU.
    Auto,
    /// WebGPU if it gives the CPU's answer, however slow.
    Webgpu,
    /// The CPU.
    Cpu,
}
