//! Needle-in-a-haystack tasks: RULER's (Hsieh et al. 2024, arXiv 2404.06654) in its words and those of the DroPE paper, and
//! the passkey of Wang et al. (2024, arXiv 2404.12224).

#[cfg(feature = "model")]
mod ask;
mod chance;
mod counts;
#[cfg(feature = "model")]
mod draw;
mod own_text;
#[cfg(feature = "model")]
mod problem;
mod spec;

use serde::{Deserialize, Serialize};

#[cfg(feature = "model")]
pub use self::ask::{AskedModel, answer_options, ask};
#[cfg(feature = "model")]
pub use self::draw::sample;
pub use self::own_text::OwnText;
pub use self::spec::{Difficulty, Distractors, QuestionSplit, Sinks, Spec};
use crate::language::{list, passkey};
use crate::names::named;

/// Keys, or values of one key, in every standard task but `single`.
const PAIRS: usize = 4;

named! {
    /// Kinds of retrieval.
    Task: "task" {
        /// One needle.
        Single = "single",
        /// Four needles with different keys, one asked for.
        MultiKey = "multi-key",
        /// Four needles with different keys, two asked for.
        MultiQuery = "multi-query",
        /// Four needles with one key, all asked for.
        MultiValue = "multi-value",
        /// Chains of assignments (RULER's variable tracking): the value at the end of one of them is asked for.
        VariableTracking = "variable-tracking",
        /// Four values of one key, the one that stands last asked for.
        LatestValue = "latest-value",
        /// Wang's pass key, a number of five digits.
        Passkey = "passkey",
    }
}

impl Task {
    /// The filler that the task's authors use.
    pub fn filler(self) -> Filler {
        if self == Self::Passkey { Filler::Grass } else { Filler::Prose }
    }

    /// Most tokens that an answer can need, where numbers have so many digits.
    pub fn max_answer_tokens(self, digits: usize) -> usize {
        // A value, and what joins it to the next: digits, a space token where a tokenizer has one, "," or " and".
        let values = match self {
            Self::Single | Self::MultiKey | Self::VariableTracking | Self::LatestValue => 1,
            Self::MultiQuery => 2,
            Self::MultiValue => PAIRS,
            Self::Passkey => return passkey::DIGITS + 3,
        };
        values * (digits + 3)
    }
}

named! {
    /// What needles are hidden in.
    Filler: "filler" {
        /// Sentences that are all different.
        Prose = "prose",
        /// Wang's five sentences, repeated. This filler is hard for models without positions: to them equal tokens with
        /// equal neighbours look nearly the same (Wang et al. 2024; Gelberg et al. 2025, proposition 3.2).
        Grass = "grass",
        /// Nothing but needles, in their short form (RULER's multikey-2 and 3): as many as fit, or as many as there are keys.
        /// The text is then shorter than the context where the keys do not fill it.
        Needles = "needles",
        /// Prose in which words of keys and values occur as well, so that neither is a mark of a needle.
        Decoys = "decoys",
        /// A few sentences of such prose, repeated: longer texts have as many different decoys as short ones.
        RepeatedDecoys = "repeated-decoys",
    }
}

impl Filler {
    /// Whether words of keys, and values, occur in it.
    pub fn has_decoys(self) -> bool {
        matches!(self, Self::Decoys | Self::RepeatedDecoys)
    }
}

/// One question over one haystack.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Sentences of prose and needles, in order.
    pub haystack: Vec<Sentence>,
    /// What is asked after the haystack.
    pub question: String,
    /// Values that a right answer holds, in the order in which a model is taught to give them.
    pub references: Vec<String>,
    /// Whether the order of the values is part of the question (all tasks but multi-value).
    pub ordered: bool,
}

/// A sentence of the haystack.
#[derive(Clone, Debug, PartialEq)]
pub struct Sentence {
    /// Its words.
    pub text: String,
    /// Whether it is prose, a needle, or a queried needle.
    pub kind: SentenceKind,
}

impl Sentence {
    /// Writes it after the text so far.
    pub(crate) fn join(&self, text: &mut String) {
        // A space before a special token would be a token of its own.
        if !text.is_empty() && self.kind != SentenceKind::Sink {
            text.push(' ');
        }
        text.push_str(&self.text);
    }
}

/// What a sentence of the haystack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SentenceKind {
    /// Filler, and the introduction of a passkey.
    Prose,
    /// Filler in which words of keys, or values, occur.
    Decoy,
    /// Tokens without meaning that attract attention.
    Sink,
    /// A needle that is not queried.
    Distractor,
    /// A queried needle.
    Needle,
}

impl SentenceKind {
    /// Whether a question could do without it.
    pub fn is_filler(self) -> bool {
        matches!(self, Self::Prose | Self::Decoy)
    }
}

impl Sample {
    /// The whole text that the model reads.
    pub fn prompt(&self) -> String {
        let mut text = String::new();
        for sentence in &self.haystack {
            sentence.join(&mut text);
        }
        text + " " + &self.question
    }

    /// The answer that a model is taught to give.
    pub fn expected(&self) -> String {
        let references: Vec<&str> = self.references.iter().map(String::as_str).collect();
        format!("{}.", list(&references))
    }

    /// Where the queried needle begins, from 0 (start) to 1 (end of the haystack), in sentences' bytes.
    pub fn depth(&self) -> f64 {
        let bytes = |sentences: &[Sentence]| sentences.iter().map(|sentence| sentence.text.len() + 1).sum::<usize>();
        let at = self.haystack.iter().position(|sentence| sentence.kind == SentenceKind::Needle).unwrap_or(0);
        bytes(&self.haystack[..at]) as f64 / bytes(&self.haystack) as f64
    }

    /// Scores an answer.
    pub fn score(&self, answer: &str) -> Score {
        let answer = answer.to_lowercase();
        let references: Vec<String> = self.references.iter().map(|reference| reference.to_lowercase()).collect();
        let found = references.iter().filter(|reference| answer.contains(*reference)).count();
        let mut given: Vec<&str> = words(&answer).collect();
        let mut wanted: Vec<&str> = references.iter().flat_map(|reference| words(reference)).collect();
        if !self.ordered {
            given.sort_unstable();
            wanted.sort_unstable();
        }
        Score { exact: given == wanted, string_match: found as f64 / references.len().max(1) as f64 }
    }
}

/// Words and numbers of an answer, without the `and` of a list.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty() && *word != "and")
}

/// How good an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The answer is the values that were asked for and nothing else.
    pub exact: bool,
    /// RULER's score: the share of the values that occur in the answer, upper and lower case alike.
    pub string_match: f64,
}
