//! Messages between the page and the worker, as JSON strings.

use drope_core::language::Values;
use drope_core::niah::{SentenceKind, Task};
use drope_core::positions::Method;
use drope_core::probe::HeadProbe;
use serde::{Deserialize, Serialize};

/// From the page.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// See what the heads of both models do with it.
    Look(Comparison),
    /// Measure one cell of the grid.
    Measure {
        /// Number of the run.
        run: u32,
        /// What is asked; trial t has `seed + t`.
        question: Question,
        /// Method of the cell.
        method: MethodName,
        /// Questions.
        trials: usize,
    },
    /// Stop what is running.
    Stop,
}

impl Request {
    /// Number of the run that it begins.
    pub fn run(&self) -> Option<u32> {
        match self {
            Self::Answer(Comparison { run, .. }) | Self::Look(Comparison { run, .. }) | Self::Measure { run, .. } => {
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
    pub methods: [MethodName; 2],
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

/// From the worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// The worker is there.
    Awake,
    /// The backend is chosen.
    Ready {
        /// `WebGPU` or `CPU`.
        backend: String,
        /// Why, in a sentence.
        note: String,
    },
    /// Weights on their way.
    Loading {
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
        /// 0 or 1.
        column: usize,
        /// Tokens so far.
        tokens: usize,
    },
    /// Text was generated.
    Text {
        /// Number of the run.
        run: u32,
        /// 0 or 1.
        column: usize,
        /// The whole answer so far.
        text: String,
    },
    /// A column is done.
    Answered {
        /// Number of the run.
        run: u32,
        /// 0 or 1.
        column: usize,
        /// Whether the answer is exact.
        exact: bool,
        /// Tokens of the prompt a second.
        prefill: f64,
        /// Generated tokens a second.
        decode: f64,
    },
    /// What the heads of a column do.
    Looked {
        /// Number of the run.
        run: u32,
        /// 0 or 1.
        column: usize,
        /// Method that read.
        method: MethodName,
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
        /// Number of the run; none while the backend was chosen.
        run: Option<u32>,
        /// What, and what to do, in a sentence.
        message: String,
    },
}

/// A method by its name, so that messages and addresses stay readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MethodName(pub Method);

impl TryFrom<String> for MethodName {
    type Error = drope_core::Error;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        name.parse().map(Self)
    }
}

impl From<MethodName> for String {
    fn from(method: MethodName) -> Self {
        method.0.name().to_owned()
    }
}

/// Folder of the model that a method reads with: scalings read the model as it was pretrained.
pub fn model_of(method: Method) -> &'static str {
    match method {
        Method::Rope
        | Method::Crop
        | Method::Pi
        | Method::Ntk
        | Method::DynamicNtk
        | Method::Yarn
        | Method::YarnAsPrinted
        | Method::Llama3
        | Method::DopeParts
        | Method::DopeAll
        | Method::DopeGaussian => "nano-rope",
        Method::Drope => "nano-drope",
        Method::PDrope => "nano-p-drope",
        Method::Nope => "nano-nope",
        Method::Alibi => "nano-alibi",
        Method::RnopeSwa => "nano-rnope-swa",
        Method::LongRope => "nano-longrope2",
    }
}
