//! The questions of which `core probe` and `core patch` measure heads.

use clap::Args;
use drope_core::niah::Filler;
use drope_core::probe::HeadQuestions;

use super::{DifficultyArgs, at_least_one};

/// The settings of [`HeadQuestions`].
#[derive(Clone, Copy, Args)]
pub struct HeadQuestionsArgs {
    /// Questions a length.
    #[arg(long, default_value = "50", value_parser = at_least_one)]
    pub trials: usize,
    /// What needles are hidden in: prose, decoys, repeated-decoys, needles, or grass.
    #[arg(long, default_value = "prose")]
    pub filler: Filler,
    #[command(flatten)]
    pub difficulty: DifficultyArgs,
}

impl HeadQuestionsArgs {
    /// The questions from a seed on.
    pub fn of(&self, seed: u64) -> HeadQuestions {
        let task = HeadQuestions::TASK;
        HeadQuestions {
            trials: self.trials,
            seed,
            filler: (self.filler != task.filler()).then_some(self.filler),
            difficulty: self.difficulty.of(task, self.filler),
        }
    }
}
