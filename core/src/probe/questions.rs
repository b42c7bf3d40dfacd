//! The questions of which heads are measured.

use serde::{Deserialize, Serialize};

use crate::left_out::is_default;
use crate::niah::{Difficulty, Filler, Task};

/// Questions of the task [`HeadQuestions::TASK`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadQuestions {
    /// How many.
    pub trials: usize,
    /// Seed of the first; the others follow one by one.
    pub seed: u64,
    /// What the needles are hidden in, if not prose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filler: Option<Filler>,
    /// How hard they are.
    #[serde(default, skip_serializing_if = "is_default")]
    pub difficulty: Difficulty,
}

impl HeadQuestions {
    /// One of several keys is asked for.
    pub const TASK: Task = Task::MultiKey;

    /// Whether they have this seed, stand in prose and are as hard as usual.
    pub fn are_usual(&self, seed: u64) -> bool {
        (self.seed, self.filler, self.difficulty) == (seed, None, Difficulty::default())
    }

    /// The same questions with `trials` = 0, so that two measurements are equal that differ in nothing but the number of questions.
    pub fn without_count(self) -> Self {
        Self { trials: 0, ..self }
    }

    /// The seed of one of them, counted from 0.
    pub fn seed_of(&self, trial: usize) -> u64 {
        self.seed.wrapping_add(trial as u64)
    }

    /// The spec that one of them is drawn from, counted from 0, in a text of `context` tokens.
    #[cfg(feature = "model")]
    pub fn spec(&self, trial: usize, context: usize) -> crate::niah::Spec<'static> {
        let numbers = crate::language::Values::Numbers;
        let standard = crate::niah::Spec::new(Self::TASK, numbers, context, self.seed_of(trial));
        crate::niah::Spec {
            filler: self.filler.unwrap_or(Self::TASK.filler()),
            difficulty: self.difficulty,
            ..standard
        }
    }
}
