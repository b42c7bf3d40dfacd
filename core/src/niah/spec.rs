//! What a question is drawn from, and how hard it is made.

use serde::{Deserialize, Serialize};

use super::{Filler, PAIRS, Task};
use crate::error::{Error, Result};
use crate::language::{Split, Values};
use crate::left_out::is_default;
use crate::names::named;

/// What a sample is drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec<'a> {
    /// Kind of retrieval.
    pub task: Task,
    /// Numbers or words; a pass key is always a number.
    pub values: Values,
    /// Tokens of beginning-of-text, chat template, haystack, question and answer together.
    pub context: usize,
    /// What the model's chat template writes before and behind a prompt, where prompts are messages.
    pub chat_affixes: Option<[&'a str; 2]>,
    /// Where the (first) queried needle stands, 0 to 1; random if not given. The others are at random places. Of a chain
    /// one of its needles stands there.
    pub depth: Option<f64>,
    /// What surrounds the needles.
    pub filler: Filler,
    /// Noise right after each queried needle.
    pub sinks: Option<Sinks<'a>>,
    /// How hard it is.
    pub difficulty: Difficulty,
    /// Seed; evaluation draws from another stream than training, and from other keys.
    pub seed: u64,
}

/// Attention sinks in the haystack: the noisy setting of DoPE (Xiong et al. 2025, arXiv 2511.09146).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sinks<'a> {
    /// The tokenizer's beginning-of-text token, written out.
    pub token: &'a str,
    /// How many stand there.
    pub count: usize,
}

impl Spec<'_> {
    /// A question in its authors' filler, at a random depth, of the standard difficulty.
    pub fn new(task: Task, values: Values, context: usize, seed: u64) -> Self {
        let difficulty = Difficulty::default();
        Self {
            task,
            values,
            context,
            chat_affixes: None,
            depth: None,
            filler: task.filler(),
            sinks: None,
            difficulty,
            seed,
        }
    }

    /// Checks that the settings fit the task.
    ///
    /// # Errors
    /// If one does not; the message names it.
    pub fn check(&self) -> Result<()> {
        let Difficulty { keys, digits, distractors, hops, split: _ } = self.difficulty;
        let refuse = |reason: String| Err(Error::Question(reason));
        let is_pass_key = self.task == Task::Passkey;
        let has_distractors = !matches!(self.task, Task::Single | Task::Passkey);
        if is_pass_key && !matches!(self.filler, Filler::Prose | Filler::Grass) {
            return refuse("a pass key stands in prose or grass; choose one of these fillers".into());
        }
        if is_pass_key && self.difficulty != Difficulty::default() {
            return refuse("a pass key has no settings of difficulty; leave them out".into());
        }
        if !has_distractors
            && (keys.is_some() || distractors != Distractors::Unrelated || self.filler == Filler::Needles)
        {
            return refuse("single has one needle and no others; use multi-key".into());
        }
        let fewest = self.task.asked_keys();
        if let Some(keys) = keys.filter(|&keys| keys < fewest) {
            return refuse(format!("{} asks for {fewest} keys, so {keys} keys are too few", self.task.name()));
        }
        if !(1..=18).contains(&digits) {
            return refuse(format!("numbers cannot have {digits} digits; choose 1 to 18"));
        }
        if self.values == Values::Words && digits != Values::DIGITS {
            return refuse("words have no digits; leave the number of digits out".into());
        }
        if self.task != Task::VariableTracking && hops != Difficulty::default().hops {
            return refuse("hops are links of a chain; use them with variable-tracking".into());
        }
        if !(1..=8).contains(&hops) {
            return refuse(format!("a chain cannot have {hops} links; choose 1 to 8"));
        }
        Ok(())
    }
}

/// What makes a question harder than the standard one, whose settings are the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Difficulty {
    /// Different keys with a value of their own: each begins a chain in variable tracking. If not given, the task's
    /// ([`Task::standard_keys`]), and in [`Filler::Needles`] as many as fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<usize>,
    /// Digits of numbers; RULER has 7.
    #[serde(skip_serializing_if = "is_standard_digits")]
    pub digits: usize,
    /// Keys that are not asked for.
    #[serde(skip_serializing_if = "is_default")]
    pub distractors: Distractors,
    /// Links of a chain, in variable tracking: each key but the first has the one before it as its value.
    #[serde(skip_serializing_if = "is_standard_hops")]
    pub hops: usize,
    /// The split of the keys.
    #[serde(skip_serializing_if = "is_default")]
    pub split: QuestionSplit,
}

impl Default for Difficulty {
    fn default() -> Self {
        Self {
            keys: None,
            digits: Values::DIGITS,
            distractors: Distractors::default(),
            hops: 2,
            split: QuestionSplit::default(),
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_standard_digits(digits: &usize) -> bool {
    *digits == Difficulty::default().digits
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_standard_hops(hops: &usize) -> bool {
    *hops == Difficulty::default().hops
}

named! {
    /// Kinds of keys that are not asked for.
    #[derive(Default)]
    Distractors: "distractors" {
        /// Any others of the split.
        #[default]
        Unrelated = "unrelated",
        /// Half share the adjective with a key that is asked for, half the noun.
        Sharing = "sharing",
    }
}

named! {
    /// Which questions: their keys and their random numbers differ.
    #[derive(Default)]
    QuestionSplit: "split" {
        /// For published results.
        #[default]
        Evaluation = "evaluation",
        /// For choosing settings of methods.
        Selection = "selection",
    }
}

impl QuestionSplit {
    /// The split that the keys are from.
    pub fn keys(self) -> Split {
        match self {
            Self::Evaluation => Split::Evaluation,
            Self::Selection => Split::Selection,
        }
    }

    /// Stream of the random numbers. Training uses those from 1 on, one a step.
    #[cfg(feature = "model")]
    pub(super) fn stream(self) -> u64 {
        match self {
            Self::Evaluation => 0,
            Self::Selection => u64::MAX,
        }
    }
}

impl Task {
    /// Number of keys that a question names. For a chain it is the last key alone.
    pub(super) fn asked_keys(self) -> usize {
        if self == Self::MultiQuery { 2 } else { 1 }
    }

    /// Different keys with a value of their own in the standard question.
    pub fn standard_keys(self) -> usize {
        match self {
            Self::MultiKey | Self::MultiQuery | Self::VariableTracking => PAIRS,
            Self::Single | Self::MultiValue | Self::LatestValue | Self::Passkey => 1,
        }
    }

    /// Values of the keys that are asked for.
    pub(super) fn asked_values(self) -> usize {
        match self {
            Self::MultiQuery => 2,
            Self::MultiValue | Self::LatestValue => PAIRS,
            Self::Single | Self::MultiKey | Self::VariableTracking | Self::Passkey => 1,
        }
    }
}
