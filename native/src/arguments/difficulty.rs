//! How hard the questions of `core eval niah` are.

use clap::Args;
use drope_core::language::Values;
use drope_core::niah::{Difficulty, Distractors, Filler, QuestionSplit, Task};

use super::at_least_one;

/// The settings of [`Difficulty`].
#[derive(Clone, Copy, Args)]
pub struct DifficultyArgs {
    /// Number of different keys with a value; for variable-tracking, number of chains. Default: the task's own number;
    /// with --filler needles, as many as fit.
    #[arg(long, value_parser = at_least_one)]
    pub keys: Option<usize>,
    /// Digits of numbers; RULER has 7.
    #[arg(long, default_value_t = Values::DIGITS)]
    pub digits: usize,
    /// Kind of the keys that are not asked for: unrelated, or sharing (half of them share the adjective of a key that
    /// is asked for, half its noun).
    #[arg(long, default_value = "unrelated")]
    pub distractors: Distractors,
    /// For variable-tracking: links of a chain.
    #[arg(long, default_value_t = Difficulty::default().hops)]
    pub hops: usize,
    /// Keys that the questions use: those for evaluation, or those for the selection of settings.
    #[arg(long, default_value = "evaluation")]
    pub split: QuestionSplit,
}

impl DifficultyArgs {
    /// The settings for a task. The task's own number of keys gives the same settings as no number.
    pub fn of(&self, task: Task, filler: Filler) -> Difficulty {
        let Self { keys, digits, distractors, hops, split } = *self;
        let keys = keys.filter(|&keys| filler == Filler::Needles || keys != task.standard_keys());
        Difficulty { keys, digits, distractors, hops, split }
    }
}
