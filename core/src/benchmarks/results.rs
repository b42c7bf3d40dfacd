//! The format of what `core eval ruler`, `longbench` and `choice` write.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::left_out::is_default;
use crate::names::named;
use crate::results::{CellHeader, Reading, ResultCell, check_all, joined, rounded};
use crate::stats::{effective_trials, wilson_of_mean};

named! {
    /// A benchmark.
    Benchmark: "benchmark" {
        /// RULER.
        Ruler = "ruler",
        /// LongBench.
        LongBench = "longbench",
        /// Multiple choice, as lm-evaluation-harness scores it.
        Choice = "choice",
    }
}

/// One question, the model's answer and its score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Number of the question.
    pub index: usize,
    /// From 0 to 1.
    pub score: f64,
    /// Multiple choice: the score by log-likelihood per letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normed: Option<f64>,
    /// What the model answered.
    pub said: String,
    /// What the answer should contain.
    pub expected: Vec<String>,
}

/// A task of a benchmark, answered by a model read with a method at a length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkCell {
    /// What was read, and how.
    #[serde(flatten)]
    pub header: CellHeader,
    /// Tokens of prompt and answer that the model may have.
    pub context: usize,
    /// Benchmark.
    pub benchmark: Benchmark,
    /// Task or dataset.
    pub task: String,
    /// Names and hashes of the user's files that the questions were made of; empty if there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Whether the question was a message in the model's chat template.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_chat: bool,
    /// Seed of the questions.
    pub seed: u64,
    /// Number of questions, including those of other shards.
    pub of_questions: usize,
    /// Number of consecutive questions about one haystack; the last haystack may have fewer.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub questions_per_haystack: usize,
    /// Mean score, from 0 to 1.
    pub score: f64,
    /// Its 95 % interval: Wilson's, which is somewhat too wide for scores between 0 and 1. For questions that share
    /// haystacks, the number of questions is replaced by an effective number of independent ones.
    pub ci95: [f64; 2],
    /// Mean score by log-likelihood per letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normed: Option<f64>,
    /// In the order of the questions.
    pub answers: Vec<Answer>,
}

fn one() -> usize {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_one(number: &usize) -> bool {
    *number == 1
}

impl Deref for BenchmarkCell {
    type Target = CellHeader;

    fn deref(&self) -> &CellHeader {
        &self.header
    }
}

impl ResultCell for BenchmarkCell {
    fn reading(&self) -> Reading<'_> {
        self.header.reading(None)
    }

    fn same_question(&self, other: &Self) -> bool {
        let question = |cell: &Self| {
            let Self { benchmark, context, is_chat, seed, of_questions, questions_per_haystack, .. } = *cell;
            (benchmark, context, is_chat, seed, of_questions, questions_per_haystack)
        };
        question(self) == question(other) && (&self.task, &self.source) == (&other.task, &other.source)
    }

    fn questions(&self) -> usize {
        self.answers.len()
    }

    fn is_standard(&self) -> bool {
        self.answers.len() == self.of_questions && self.reading().is_standard()
    }
}

impl BenchmarkCell {
    /// The same cell with its answers sorted, and every number computed from them.
    #[must_use]
    pub fn recomputed(mut self) -> Self {
        self.answers.sort_by_key(|answer| answer.index);
        let mean = |scores: &[f64]| rounded(scores.iter().sum::<f64>() / scores.len().max(1) as f64);
        let scores: Vec<f64> = self.answers.iter().map(|answer| answer.score).collect();
        let normed: Option<Vec<f64>> = self.answers.iter().map(|answer| answer.normed).collect();
        self.score = mean(&scores);
        self.normed = normed.filter(|normed| !normed.is_empty()).map(|normed| mean(&normed));
        let haystack = |answer: &Answer| answer.index / self.questions_per_haystack.max(1);
        let haystacks = self.answers.chunk_by(|a, b| haystack(a) == haystack(b));
        let haystacks: Vec<Vec<f64>> =
            haystacks.map(|answers| answers.iter().map(|answer| answer.score).collect()).collect();
        self.ci95 = wilson_of_mean(self.score, effective_trials(&haystacks)).map(rounded);
        self
    }
}

/// Joins the shards of each cell; the numbers equal those of a run without shards.
///
/// # Errors
/// If a question of a cell is missing or occurs twice.
pub fn merge(cells: Vec<BenchmarkCell>) -> Result<Vec<BenchmarkCell>> {
    let merged = joined(cells, BenchmarkCell::same_measurement, |first, cell| first.answers.extend(cell.answers));
    let whole = |cell: BenchmarkCell| {
        let is_score = |score: f64| (0.0..=1.0).contains(&score);
        if !cell.answers.iter().all(|answer| is_score(answer.score) && answer.normed.is_none_or(is_score)) {
            return Err(Error::DamagedResults("a score is not from 0 to 1".into()));
        }
        let cell = cell.recomputed();
        let name = || format!("{} {} {} at {}", cell.model, cell.method.name(), cell.task, cell.context);
        check_all(name, cell.answers.iter().map(|answer| answer.index), cell.of_questions)?;
        Ok(cell)
    };
    merged.into_iter().map(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::{Answer, Benchmark, BenchmarkCell, merge};
    use crate::results::CellHeader;

    fn cell(indices: &[usize]) -> BenchmarkCell {
        let answer = |&index: &usize| Answer {
            index,
            score: f64::from(u8::from(index % 2 == 0)),
            normed: None,
            said: String::new(),
            expected: vec![],
        };
        BenchmarkCell {
            header: CellHeader {
                model: "m".into(),
                method: crate::positions::Method::Yarn,
                extension: 2,
                beta: 1.0,
                beta_given: false,
                cut: None,
                parameters: crate::positions::Parameters::default(),
                fingerprint: "a".into(),
            },
            context: 8192,
            benchmark: Benchmark::Ruler,
            task: "vt".into(),
            source: String::new(),
            is_chat: false,
            seed: 42,
            of_questions: 4,
            questions_per_haystack: 1,
            score: 0.0,
            ci95: [0.0, 0.0],
            normed: None,
            answers: indices.iter().map(answer).collect(),
        }
    }

    #[test]
    fn questions_about_one_haystack_that_agree_count_once() {
        let wide = |per_haystack| BenchmarkCell { questions_per_haystack: per_haystack, ..cell(&[0, 1, 2, 3]) };
        let with_scores = |mut cell: BenchmarkCell| {
            for answer in &mut cell.answers {
                answer.score = f64::from(u8::from(answer.index < 2));
            }
            cell.recomputed().ci95
        };
        let [one, two] = [1, 2].map(|per_haystack| with_scores(wide(per_haystack)));
        assert!(two[0] < one[0] && two[1] > one[1], "{one:?} {two:?}");
    }

    #[test]
    fn scores_do_not_depend_on_the_shards() {
        let whole = merge(vec![cell(&[0, 1, 2, 3])]).unwrap();
        assert_eq!(whole[0].score, 0.5);
        assert_eq!(whole[0].ci95.map(|bound| (bound * 1e3).round()), [150.0, 850.0]);
        assert_eq!(merge(vec![cell(&[3, 1]), cell(&[0, 2])]).unwrap(), whole);
        assert!(merge(vec![cell(&[0, 1, 3])]).is_err() && merge(vec![cell(&[0, 1, 2, 3]), cell(&[1])]).is_err());
        let other = BenchmarkCell { task: "cwe".into(), ..cell(&[0, 1, 2, 3]) };
        assert_eq!(merge(vec![other, cell(&[0, 1, 2, 3])]).unwrap().len(), 2);
    }
}
