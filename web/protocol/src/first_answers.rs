//! What the page's first screen begins with, before any model is loaded.

use drope_core::niah::SentenceKind;
use serde::{Deserialize, Serialize};

/// A question, and what each row's model answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FirstAnswers {
    /// Multiple of the training context.
    pub extension: usize,
    /// Training context, in tokens.
    pub context: usize,
    /// Depth of the needle, in percent.
    pub depth: u32,
    /// Seed of the question.
    pub seed: u64,
    /// Sentences of the haystack.
    pub haystack: Vec<(String, SentenceKind)>,
    /// What is asked behind it.
    pub question: String,
    /// Right values.
    pub references: Vec<String>,
    /// Where each token of the prompt ends in its text, in bytes.
    pub ends: Vec<u32>,
    /// In the order of the rows.
    pub answers: Vec<FirstAnswer>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstAnswer {
    /// Name of the model's folder.
    pub model: String,
    /// Position method.
    pub method: String,
    /// What it generated.
    pub text: String,
    /// Whether that is right.
    pub is_right: bool,
}
