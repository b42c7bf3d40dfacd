//! What the models are asked: the table of questions of docs/protocol.md.

use drope_core::language::Values;
use drope_core::niah::{Difficulty, Distractors, Filler, QuestionSplit, Task};
use drope_core::results::RetrievalCell;

/// Of the evaluation's questions.
pub const QUESTION_SEED: u64 = 31_000;

/// Of the selection split's.
pub const SELECTION_SEED: u64 = 32_000;

/// Extension factors of every task.
pub const LENGTHS: [usize; 4] = [1, 2, 4, 8];

/// Further ones of the primary task.
pub const GREATER_LENGTHS: [usize; 3] = [16, 32, 64];

/// Questions of one kind at several lengths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StudyTask {
    pub name: &'static str,
    task: Task,
    filler: Option<Filler>,
    difficulty: Difficulty,
    seed: u64,
    pub lengths: &'static [usize],
}

pub const STANDARD: Difficulty = Difficulty {
    keys: None,
    digits: Values::DIGITS,
    distractors: Distractors::Unrelated,
    hops: 2,
    split: QuestionSplit::Evaluation,
};

const fn standard(name: &'static str, task: Task) -> StudyTask {
    StudyTask { name, task, filler: None, difficulty: STANDARD, seed: QUESTION_SEED, lengths: &LENGTHS }
}

const fn needles(name: &'static str, keys: usize) -> StudyTask {
    let difficulty = Difficulty { keys: Some(keys), ..STANDARD };
    let filler = Some(Filler::Needles);
    StudyTask { filler, difficulty, lengths: &[1, 2, 4], ..standard(name, Task::MultiKey) }
}

const fn tracking(name: &'static str, hops: usize) -> StudyTask {
    StudyTask { difficulty: Difficulty { hops, ..STANDARD }, ..standard(name, Task::VariableTracking) }
}

/// The primary task.
pub const PRIMARY: StudyTask = StudyTask {
    difficulty: Difficulty { digits: 7, distractors: Distractors::Sharing, ..STANDARD },
    ..standard("multi-key, sharing distractors, 7 digits", Task::MultiKey)
};

pub const LATEST_VALUE: StudyTask = standard("latest value", Task::LatestValue);

pub const MULTI_QUERY: StudyTask = standard("multi-query", Task::MultiQuery);

pub const MULTI_KEY: StudyTask = standard("multi-key, unrelated keys, 4 digits", Task::MultiKey);

/// The primary task in prose that has words of keys and other numbers.
pub const DECOYS: StudyTask = StudyTask { name: "decoys", filler: Some(Filler::Decoys), ..PRIMARY };

/// The same in a few sentences of such prose, repeated.
pub const REPEATED_DECOYS: StudyTask =
    StudyTask { name: "repeated decoys", filler: Some(Filler::RepeatedDecoys), ..PRIMARY };

/// A text of needles alone.
pub const NEEDLES_ALONE: StudyTask = needles("needles alone, 16 keys", 16);

pub const SECONDARY: [StudyTask; 11] = [
    MULTI_KEY,
    NEEDLES_ALONE,
    needles("needles alone, 32 keys", 32),
    needles("needles alone, 64 keys", 64),
    DECOYS,
    MULTI_QUERY,
    standard("multi-value", Task::MultiValue),
    tracking("variable tracking, 2 hops", 2),
    tracking("variable tracking, 3 hops", 3),
    tracking("variable tracking, 4 hops", 4),
    LATEST_VALUE,
];

/// The primary task, then the others.
pub fn all() -> impl Iterator<Item = StudyTask> {
    std::iter::once(PRIMARY).chain(SECONDARY)
}

impl StudyTask {
    /// The same task with the questions of another split.
    pub const fn with_split(self, split: QuestionSplit, seed: u64) -> Self {
        Self { difficulty: Difficulty { split, ..self.difficulty }, seed, ..self }
    }

    /// Whether a cell is of these questions, at some length.
    pub fn is_of(&self, cell: &RetrievalCell) -> bool {
        (cell.task, cell.values, cell.filler, cell.difficulty)
            == (self.task, Values::Numbers, self.filler, self.difficulty)
            && (cell.seed, cell.depth, cell.sinks) == (self.seed, None, 0)
    }
}

#[cfg(test)]
impl StudyTask {
    /// A cell of these questions, for tests.
    pub fn asked_in(&self, cell: RetrievalCell) -> RetrievalCell {
        let Self { task, filler, difficulty, seed, .. } = *self;
        RetrievalCell { task, filler, difficulty, values: Values::Numbers, seed, ..cell }
    }
}
