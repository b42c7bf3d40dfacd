//! The question that was asked last.

use drope_core::niah::SentenceKind;

/// The question that all columns answer.
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
    /// Whether the text is the reader's.
    pub is_own: bool,
    /// Where each token of the prompt ends in its text, in bytes.
    pub ends: Vec<u32>,
    /// Training context.
    pub context: usize,
}
