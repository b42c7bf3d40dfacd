//! Retrieval: what `core eval niah` writes, and the page and the README's table read.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::{CellHeader, Outcomes, Reading, ResultCell, SEED, Shard, rounded};
use crate::language::Values;
use crate::left_out::is_default;
use crate::niah::{Difficulty, Filler, Spec, Task};
use crate::stats::wilson;

/// One cell of a retrieval table: a model read with a method, on a task, at a length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetrievalCell {
    /// What was read, and how.
    #[serde(flatten)]
    pub header: CellHeader,
    /// Task.
    pub task: Task,
    /// Kind of values.
    pub values: Values,
    /// s·C tokens: prompt and answer.
    pub context: usize,
    /// Questions asked.
    pub trials: usize,
    /// Exact matches.
    pub correct: usize,
    /// Share of exact matches.
    pub accuracy: f64,
    /// RULER's score, 0 to 1.
    pub string_match: f64,
    /// Wilson's interval of the accuracy.
    pub ci95: [f64; 2],
    /// Seed of the questions.
    pub seed: u64,
    /// Where the queried needle was put, if not at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<f64>,
    /// What the needles were hidden in, if not what the task's authors use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filler: Option<Filler>,
    /// Attention-sink tokens after each queried needle.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sinks: usize,
    /// How hard the questions were; the fields stand beside the others.
    #[serde(flatten)]
    pub difficulty: Difficulty,
    /// The heads that DoPE treats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heads: Option<String>,
    /// Which of the questions were asked, if not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Which questions were answered exactly; missing in results from before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcomes: Option<Outcomes>,
}

impl Deref for RetrievalCell {
    type Target = CellHeader;

    fn deref(&self) -> &CellHeader {
        &self.header
    }
}

impl ResultCell for RetrievalCell {
    fn reading(&self) -> Reading<'_> {
        self.header.reading(self.heads.as_deref())
    }

    fn same_question(&self, other: &Self) -> bool {
        let question = |cell: &Self| {
            let Self { task, values, context, seed, depth, filler, sinks, difficulty, .. } = *cell;
            (task, values, context, seed, depth, filler, sinks, difficulty)
        };
        question(self) == question(other)
    }

    fn questions(&self) -> usize {
        self.trials
    }

    fn is_standard(&self) -> bool {
        let is_usual_question = (self.seed, self.depth, self.filler, self.sinks) == (SEED, None, None, 0)
            && self.difficulty == Difficulty::default();
        is_usual_question && self.shard.is_none() && self.reading().is_standard()
    }
}

impl RetrievalCell {
    /// Share of right answers at the training context below which a task says nothing about a model at longer ones.
    pub const THRESHOLD: f64 = 0.8;

    /// The probability that values of needles drawn at random are the right answer ([`Spec::chance_level`]).
    pub fn chance_level(&self) -> f64 {
        self.spec().chance_level()
    }

    /// The chance level of a reader of one word of the key ([`Spec::one_word_chance_level`]).
    pub fn one_word_chance_level(&self) -> Option<f64> {
        self.spec().one_word_chance_level()
    }

    fn spec(&self) -> Spec<'static> {
        let filler = self.filler.unwrap_or(self.task.filler());
        Spec { filler, difficulty: self.difficulty, ..Spec::new(self.task, self.values, self.context, 0) }
    }

    /// Whether the model, read in the same way, answers at least [`RetrievalCell::THRESHOLD`] of such questions at its training
    /// context, so that the task counts for the model. `None` if `cells` has no such result.
    pub fn passes_threshold(&self, cells: &[Self]) -> Option<bool> {
        let at_training_context = |cell: &Self| Self {
            header: CellHeader { extension: 1, ..cell.header.clone() },
            context: cell.context / cell.extension.max(1),
            ..cell.clone()
        };
        let here = at_training_context(self);
        let is_at_training_context =
            |cell: &&Self| cell.extension == 1 && cell.same_place(&here) && cell.fingerprint == self.fingerprint;
        cells.iter().find(is_at_training_context).map(|cell| cell.accuracy >= Self::THRESHOLD)
    }

    /// The same with accuracy, interval and string match computed from its counts; `matched` is the sum of the string
    /// matches of all questions.
    #[must_use]
    pub fn recomputed(self, matched: f64) -> Self {
        let trials = self.trials.max(1) as f64;
        Self {
            accuracy: self.correct as f64 / trials,
            ci95: wilson(self.correct, self.trials).map(rounded),
            // Rounded, so that the result does not depend on the order of the summands.
            string_match: (matched * 1e6).round() / 1e6 / trials,
            ..self
        }
    }
}

#[cfg(test)]
impl RetrievalCell {
    /// A cell without questions, for tests.
    pub(super) fn example() -> Self {
        Self {
            header: CellHeader {
                model: "m".into(),
                method: crate::positions::Method::Drope,
                extension: 2,
                beta: 1.0,
                beta_given: false,
                cut: None,
                parameters: crate::positions::Parameters::default(),
                fingerprint: String::new(),
            },
            task: Task::Single,
            values: Values::Words,
            context: 512,
            trials: 0,
            correct: 0,
            accuracy: 0.0,
            string_match: 0.0,
            ci95: [0.0, 0.0],
            seed: SEED,
            depth: None,
            filler: None,
            sinks: 0,
            difficulty: Difficulty::default(),
            heads: None,
            shard: None,
            outcomes: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RetrievalCell;
    use crate::niah::{Difficulty, Distractors, QuestionSplit, Task};
    use crate::results::CellHeader;
    use crate::results::to_json;

    #[test]
    fn a_harder_cell_survives_its_file_and_a_standard_one_says_nothing_of_difficulty() {
        let difficulty = Difficulty {
            keys: Some(16),
            digits: 7,
            distractors: Distractors::Sharing,
            hops: 3,
            split: QuestionSplit::Selection,
        };
        let hard = RetrievalCell {
            difficulty,
            outcomes: Some([true, false].into_iter().collect()),
            ..RetrievalCell::example()
        };
        let cells = [hard, RetrievalCell::example()];
        let text = to_json(&cells).unwrap();
        assert_eq!(serde_json::from_str::<Vec<RetrievalCell>>(&text).unwrap(), cells);
        let standard = text.lines().nth(2).unwrap();
        assert!(
            !["keys", "digits", "distractors", "hops", "split", "outcomes"].iter().any(|word| standard.contains(word))
        );
    }

    #[test]
    fn a_task_counts_where_the_model_answers_it_at_its_training_context() {
        let at = |extension, accuracy| RetrievalCell {
            header: CellHeader { extension, ..RetrievalCell::example().header },
            context: 256 * extension,
            accuracy,
            ..RetrievalCell::example()
        };
        let long = at(4, 0.1);
        assert_eq!(long.passes_threshold(&[long.clone(), at(1, 0.8)]), Some(true));
        assert_eq!(long.passes_threshold(&[at(1, 0.799), long.clone()]), Some(false));
        assert_eq!(long.passes_threshold(&[at(2, 0.9), long.clone()]), None, "nothing is known of 1x");
        let sharing = Difficulty { distractors: Distractors::Sharing, ..Difficulty::default() };
        for other in [
            RetrievalCell { difficulty: sharing, ..at(1, 0.9) },
            RetrievalCell { task: Task::MultiKey, ..at(1, 0.9) },
            RetrievalCell { header: CellHeader { fingerprint: "other".into(), ..at(1, 0.9).header }, ..at(1, 0.9) },
        ] {
            assert_eq!(long.passes_threshold(&[other]), None, "another question or model");
        }
    }
}
