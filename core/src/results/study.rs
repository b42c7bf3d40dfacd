//! What the study found, as `cargo xtask table` writes it (docs/study.json) and the page shows it.

use serde::{Deserialize, Serialize};

use crate::left_out::is_default;
use crate::positions::{Method, Parameters};

/// Retrieval against length on the primary task, a line a method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyFigure {
    /// The primary task.
    pub task: String,
    /// The chance level, from 0 to 1.
    pub floor: f64,
    /// Multiples of the training context.
    pub lengths: Vec<usize>,
    /// Trunks whose runs are all measured, and those that are planned.
    pub trunks: [usize; 2],
    /// The findings; the one against DroPE is the first.
    pub findings: Vec<Finding>,
    /// What the second study says of rivals, as far as it is judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rivals: Vec<Finding>,
    /// The lines.
    pub methods: Vec<MethodLine>,
    /// Those that the page's first screen asks, at every length that was measured, whatever number of trunks it is of.
    pub played: Vec<MethodLine>,
}

/// What the test of a hypothesis says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// A sentence without its full stop.
    pub claim: String,
    /// The numbers that it rests on; empty where there is no test.
    pub numbers: String,
}

/// The line of a method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodLine {
    /// Name in the figure.
    pub name: String,
    /// Run of the study.
    pub run: String,
    /// How its models are read.
    pub method: Method,
    /// Parameters that replace the method's own.
    #[serde(default, skip_serializing_if = "is_default")]
    pub parameters: Parameters,
    /// Index in the list of all lines that may be drawn, so that a line looks the same whichever others are drawn.
    pub style: usize,
    /// A point for each length.
    pub points: Vec<LinePoint>,
}

/// Accuracies at one length, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinePoint {
    /// Extension factor s.
    pub extension: usize,
    /// Mean over trunks.
    pub mean: f64,
    /// Accuracy of the lowest trunk.
    pub low: f64,
    /// Accuracy of the highest trunk.
    pub high: f64,
    /// Number of trunks.
    pub trunks: usize,
    /// Smallest number of questions that a trunk was asked.
    pub questions: usize,
}

impl StudyFigure {
    /// Whether trunks are still to be measured, so that what is found may change.
    pub fn is_interim(&self) -> bool {
        self.trunks[0] < self.trunks[1]
    }
}
