//! RULER (Hsieh et al. 2024, arXiv 2404.06654): its thirteen synthetic tasks, in its own templates, at lengths counted by the model's
//! tokenizer.
//!
//! As in its scripts of 2025 (github.com/NVIDIA/RULER), a haystack has the largest size that fits together with the
//! tokens to generate, and the prompt ends with the beginning of the answer. There are four differences: the random
//! numbers are ours, so that single questions differ; sentences are split by Unicode's rules and not by nltk's; the
//! user provides the essays and the documents of question answering; and below 4096 tokens, which RULER does not use,
//! haystacks grow in smaller steps.

mod common_words;
mod frequent_words;
mod needles;
mod questions;
mod size;
mod variables;
mod words;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub use self::questions::Documents;
use crate::error::{Error, Result};
use crate::names::named;

named! {
    /// A task of RULER.
    Task: "task of RULER" {
        /// A number in repeated sentences.
        Single1 = "niah_single_1",
        /// A number in essays.
        Single2 = "niah_single_2",
        /// A UUID in essays.
        Single3 = "niah_single_3",
        /// One of four numbers in essays.
        Multikey1 = "niah_multikey_1",
        /// A number, in a haystack that consists of needles.
        Multikey2 = "niah_multikey_2",
        /// A UUID whose key is a UUID, in a haystack that consists of needles.
        Multikey3 = "niah_multikey_3",
        /// Four numbers of one key.
        Multivalue = "niah_multivalue",
        /// The numbers of four keys.
        Multiquery = "niah_multiquery",
        /// Variable tracking: a chain of four assignments.
        VariableTracking = "vt",
        /// Common words extraction.
        CommonWords = "cwe",
        /// Frequent words extraction.
        FrequentWords = "fwe",
        /// Questions about SQuAD's paragraphs.
        Squad = "qa_1",
        /// Questions about HotpotQA's paragraphs.
        HotpotQa = "qa_2",
    }
}

impl Task {
    /// Tokens that an answer may have.
    pub fn max_answer_tokens(self) -> usize {
        match self {
            Self::VariableTracking => 30,
            Self::CommonWords => 120,
            Self::FrequentWords => 50,
            Self::Squad | Self::HotpotQa => 32,
            _ => 128,
        }
    }

    /// Whether its needles are hidden in essays, which the user has to provide.
    pub fn needs_essays(self) -> bool {
        use Task::{Multikey1, Multiquery, Multivalue, Single2, Single3};
        matches!(self, Single2 | Single3 | Multikey1 | Multivalue | Multiquery)
    }

    /// Whether one of the expected answers is enough; otherwise the score is the share of them that the answer
    /// contains.
    fn takes_any(self) -> bool {
        matches!(self, Self::Squad | Self::HotpotQa)
    }
}

/// One question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// What a user asks.
    pub message: String,
    /// How the model's answer begins.
    pub answer_prefix: String,
    /// What the answer should hold.
    pub outputs: Vec<String>,
}

/// Texts that questions are made of and that the user has to provide, since they are not part of RULER.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// A text that replaces Paul Graham's essays.
    pub essays: Option<String>,
    /// Paragraphs of SQuAD.
    pub squad: Option<Documents>,
    /// Paragraphs of HotpotQA.
    pub hotpotqa: Option<Documents>,
}

/// What the questions of one task and length are drawn from.
pub struct Questions<'a> {
    kind: Kind<'a>,
    task: Task,
    /// Tokens of a prompt and its answer.
    length: usize,
    seed: u64,
    count: &'a (dyn Fn(&Sample) -> usize + Sync),
    /// Size of the largest haystack that fits, in units of the task: lines, words or documents.
    size: usize,
}

/// A generator of questions.
enum Kind<'a> {
    Needles(needles::Needles<'a>),
    Variables(variables::Variables),
    CommonWords(common_words::CommonWords),
    FrequentWords(frequent_words::FrequentWords),
    Documents(&'a Documents),
}

impl<'a> Questions<'a> {
    /// Finds the size of haystack for prompts of `length` tokens, the answer included. `count` gives the tokens of a whole
    /// prompt, with whatever a chat template writes around the message.
    ///
    /// # Errors
    /// If the task needs a text that is not given, or not even the smallest haystack fits.
    pub fn new(
        task: Task,
        length: usize,
        seed: u64,
        texts: &'a Texts,
        count: &'a (dyn Fn(&Sample) -> usize + Sync),
    ) -> Result<Self> {
        let fits_few = |sample: &Sample| count(sample) <= variables::EXAMPLE_TOKENS;
        let documents = |documents: &'a Option<Documents>, file: &str| {
            let fail = || Error::Benchmark(format!("{} asks about documents; give {file}", task.name()));
            documents.as_ref().map(Kind::Documents).ok_or_else(fail)
        };
        let kind = match task {
            Task::VariableTracking => Kind::Variables(variables::Variables::new(seed, &fits_few)),
            Task::CommonWords => Kind::CommonWords(common_words::CommonWords::new(length)),
            Task::FrequentWords => Kind::FrequentWords(frequent_words::FrequentWords::new(length, seed)),
            Task::Squad => documents(&texts.squad, "a file of SQuAD")?,
            Task::HotpotQa => documents(&texts.hotpotqa, "a file of HotpotQA")?,
            _ => Kind::Needles(needles::Needles::new(task, texts.essays.as_deref())?),
        };
        let mut questions = Self { kind, task, length, seed, count, size: 0 };
        let step = questions.step();
        // A separate random generator, so that the questions that the size is found with are not questions of the task.
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ u64::MAX);
        let fits = |size: usize| questions.draw(size, 0, 1, &mut rng).iter().all(|sample| questions.fits(sample));
        questions.size = size::largest(step, fits).ok_or_else(|| {
            Error::Benchmark(format!("{} has no question of {length} tokens; choose a greater length", task.name()))
        })?;
        Ok(questions)
    }

    /// Question `index`: the same for all models whose tokenizers give the same counts.
    pub fn sample(&self, index: usize) -> Sample {
        self.samples(index, 1).swap_remove(0)
    }

    /// `questions` questions about haystack `index`, at most [`Questions::most_about_one`]. The first is
    /// [`Questions::sample`], unless the haystack had to be drawn again because one of them was too long.
    pub fn samples(&self, index: usize, questions: usize) -> Vec<Sample> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(index as u64 + 1);
        let step = self.step();
        let mut size = self.size;
        loop {
            let samples = self.draw(size, index, questions, &mut rng);
            if samples.iter().all(|sample| self.fits(sample)) || size <= step {
                return samples;
            }
            size -= step;
        }
    }

    /// How many questions can be asked about one haystack.
    pub fn most_about_one(&self) -> usize {
        match &self.kind {
            // The haystack may be drawn smaller, and keys may occur twice.
            Kind::Needles(needles) => needles.questions().min((self.size / 2).max(1)),
            _ => 1,
        }
    }

    /// Number of questions, if they come from a file; `None` if they are drawn.
    pub fn limit(&self) -> Option<usize> {
        match self.kind {
            Kind::Documents(documents) => Some(documents.questions()),
            _ => None,
        }
    }

    fn draw(&self, size: usize, index: usize, questions: usize, rng: &mut ChaCha8Rng) -> Vec<Sample> {
        vec![match &self.kind {
            Kind::Needles(needles) => return needles.samples(size, questions, rng),
            Kind::Variables(variables) => variables.sample(size, rng),
            Kind::CommonWords(words) => words.sample(size, rng),
            Kind::FrequentWords(words) => words.sample(size, rng),
            Kind::Documents(documents) => documents.sample(index, size, rng),
        }]
    }

    /// Whether a question and its answer fit. RULER leaves no room for the answer in frequent words extraction.
    fn fits(&self, sample: &Sample) -> bool {
        let answer = if self.task == Task::FrequentWords { 0 } else { self.task.max_answer_tokens() };
        (self.count)(sample).saturating_add(answer) <= self.length
    }

    /// Units by which a haystack grows.
    fn step(&self) -> usize {
        let is_short = self.length < 4096;
        match &self.kind {
            Kind::Needles(needles) => needles.step(is_short),
            Kind::Variables(_) => {
                if is_short {
                    5
                } else {
                    10
                }
            }
            Kind::CommonWords(_) => 10,
            Kind::FrequentWords(_) => (self.length / 32).max(1),
            Kind::Documents(_) => {
                if is_short {
                    1
                } else {
                    10
                }
            }
        }
    }
}

/// RULER's score of an answer, from 0 to 1: the share of the expected strings that it contains, in upper or lower case.
/// In question answering the score is 1 if the answer contains any of them.
pub fn score(task: Task, outputs: &[String], answer: &str) -> f64 {
    let answer: String = answer.trim().chars().map(|letter| if letter < ' ' { '\n' } else { letter }).collect();
    let answer = answer.trim().to_lowercase();
    let held = outputs.iter().filter(|output| answer.contains(&output.to_lowercase())).count();
    if task.takes_any() { f64::from(u8::from(held > 0)) } else { held as f64 / outputs.len().max(1) as f64 }
}

#[cfg(test)]
mod tests;
