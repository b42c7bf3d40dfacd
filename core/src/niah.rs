//! Needle-in-a-haystack tasks in the words of RULER (Hsieh et al. 2024, arXiv 2404.06654) and of the DroPE paper.

use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::language::{Key, MIN_WORDS, Needle, Split, Values, ask_all, ask_one, ask_two, list, prose};

/// Needles in every task but `single`.
const PAIRS: usize = 4;

/// Kinds of retrieval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// One needle.
    Single,
    /// Four needles with different keys, one asked for.
    MultiKey,
    /// Four needles with different keys, two asked for.
    MultiQuery,
    /// Four needles with one key, all asked for.
    MultiValue,
}

impl Task {
    /// Every task.
    pub const ALL: [Self; 4] = [Self::Single, Self::MultiKey, Self::MultiQuery, Self::MultiValue];

    /// Name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::MultiKey => "multi-key",
            Self::MultiQuery => "multi-query",
            Self::MultiValue => "multi-value",
        }
    }

    /// Most tokens that an answer can need.
    pub fn max_answer_tokens(self) -> usize {
        // A value, and what joins it to the next: digits, a space token where a tokenizer has one, "," or " and".
        let values = match self {
            Self::Single | Self::MultiKey => 1,
            Self::MultiQuery => 2,
            Self::MultiValue => PAIRS,
        };
        values * (Values::DIGITS + 3)
    }
}

impl std::str::FromStr for Task {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|task| task.name() == name).ok_or_else(|| Error::UnknownName {
            what: "task",
            name: name.to_owned(),
            choices: Self::ALL.map(Self::name).join(", "),
        })
    }
}

/// One question over one haystack.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Sentences of prose and needles, in order.
    pub haystack: Vec<Sentence>,
    /// What is asked behind the haystack.
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
    /// Whether it is prose, a needle, or a needle that is asked for.
    pub kind: SentenceKind,
}

/// What a sentence of the haystack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SentenceKind {
    /// Filler.
    Prose,
    /// A needle that is not asked for.
    Distractor,
    /// A needle that is asked for.
    Needle,
}

impl Sample {
    /// The whole text that the model reads.
    pub fn prompt(&self) -> String {
        let mut text: Vec<&str> = self.haystack.iter().map(|sentence| sentence.text.as_str()).collect();
        text.push(&self.question);
        text.join(" ")
    }

    /// The answer that a model is taught to give.
    pub fn expected(&self) -> String {
        let references: Vec<&str> = self.references.iter().map(String::as_str).collect();
        format!("{}.", list(&references))
    }

    /// Where the needle that is asked for begins, from 0 (start) to 1 (end of the haystack), in sentences' letters.
    pub fn depth(&self) -> f64 {
        let letters = |sentences: &[Sentence]| sentences.iter().map(|sentence| sentence.text.len() + 1).sum::<usize>();
        let at = self.haystack.iter().position(|sentence| sentence.kind == SentenceKind::Needle).unwrap_or(0);
        letters(&self.haystack[..at]) as f64 / letters(&self.haystack) as f64
    }

    /// Scores an answer.
    pub fn score(&self, answer: &str) -> Score {
        let answer = answer.to_lowercase();
        let found = self.references.iter().filter(|reference| answer.contains(&reference.to_lowercase())).count();
        let mut given: Vec<&str> = answer
            .split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| !word.is_empty() && *word != "and")
            .collect();
        let mut wanted: Vec<&str> = self.references.iter().map(String::as_str).collect();
        if !self.ordered {
            given.sort_unstable();
            wanted.sort_unstable();
        }
        Score { exact: given == wanted, string_match: found as f64 / self.references.len() as f64 }
    }
}

/// How good an answer is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The answer is the values that were asked for and nothing else.
    pub exact: bool,
    /// RULER's score: the share of the values that occur in the answer, upper and lower case alike.
    pub string_match: f64,
}

/// What a sample is drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec {
    /// Kind of retrieval.
    pub task: Task,
    /// Numbers or words.
    pub values: Values,
    /// Tokens of beginning-of-text, haystack, question and answer together.
    pub context: usize,
    /// Where the (first) needle that is asked for stands, 0 to 1; random if not given. The others are at random places.
    pub depth: Option<f64>,
    /// Seed; evaluation draws from another stream than training, and from other keys.
    pub seed: u64,
}

/// Random numbers of evaluation come from this stream of the generator; training uses stream 1 and up.
const STREAM: u64 = 0;

/// Draws a sample whose prompt and answer fill `context` tokens (exactly, with a tokenizer of one token a word).
///
/// `count` gives the tokens of a text that follows a space.
///
/// # Errors
/// If the context is too short for the needles and the question.
pub fn sample(spec: &Spec, count: &impl Fn(&str) -> usize) -> Result<Sample> {
    if spec.context == 0 {
        return Err(Error::Zero("the context"));
    }
    let mut rng = ChaCha8Rng::seed_from_u64(spec.seed);
    rng.set_stream(STREAM);
    let rng = &mut rng;
    let (distinct, asked) = match spec.task {
        Task::Single => (1, 1),
        Task::MultiKey => (PAIRS, 1),
        Task::MultiQuery => (PAIRS, 2),
        Task::MultiValue => (1, PAIRS),
    };
    let mut keys = Key::distinct(rng, Split::Evaluation, distinct);
    let mut values: Vec<String> = Vec::new();
    let total = distinct.max(asked);
    keys.resize(total, keys[0]);
    while values.len() < total {
        let value = spec.values.random(rng, Values::DIGITS);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let needles: Vec<Needle> = keys.into_iter().zip(values).map(|(key, value)| Needle { key, value }).collect();
    let question = match spec.task {
        Task::Single | Task::MultiKey => ask_one(&needles[0]),
        Task::MultiQuery => ask_two(&needles[0], &needles[1]),
        Task::MultiValue => ask_all(&needles[0]),
    };
    let mut sample = Sample {
        haystack: Vec::new(),
        question,
        references: needles[..asked].iter().map(|needle| needle.value.clone()).collect(),
        ordered: spec.task != Task::MultiValue,
    };
    let fixed: usize = 1
        + needles.iter().map(|needle| count(&needle.sentence())).sum::<usize>()
        + count(&sample.question)
        + count(&sample.expected());
    let needed = fixed + MIN_WORDS + 1;
    if needed > spec.context {
        return Err(Error::TooLong { needed, context: spec.context });
    }
    let filler = prose(rng, spec.context - fixed, count);
    sample.haystack = hide(rng, filler, &needles, asked, spec.depth);
    if !sample.ordered {
        // All values of a key come in the order of the text.
        sample.references = sample
            .haystack
            .iter()
            .filter_map(|sentence| needles.iter().find(|needle| needle.sentence() == sentence.text))
            .map(|needle| needle.value.clone())
            .collect();
    }
    Ok(sample)
}

/// Puts needles between sentences of prose: the first one asked for at `depth`, the others anywhere.
fn hide(
    rng: &mut ChaCha8Rng,
    filler: Vec<String>,
    needles: &[Needle],
    asked: usize,
    depth: Option<f64>,
) -> Vec<Sentence> {
    let sentence = |text, kind| Sentence { text, kind };
    let kind_of = |index| if index < asked { SentenceKind::Needle } else { SentenceKind::Distractor };
    let mut haystack: Vec<Sentence> = filler.into_iter().map(|text| sentence(text, SentenceKind::Prose)).collect();
    let mut others: Vec<usize> = (1..needles.len()).collect();
    others.shuffle(rng);
    for index in others {
        let at = rng.random_range(0..=haystack.len());
        haystack.insert(at, sentence(needles[index].sentence(), kind_of(index)));
    }
    let depth = depth.unwrap_or_else(|| rng.random()).clamp(0.0, 1.0);
    // Depth is measured in letters, so that long and short sentences count as what they are.
    let total: usize = haystack.iter().map(|sentence| sentence.text.len() + 1).sum();
    let mut before = 0.0;
    let at = haystack.iter().position(|sentence| {
        let length = (sentence.text.len() + 1) as f64;
        let is_place = before + length / 2.0 > depth * total as f64;
        before += length;
        is_place
    });
    let at = at.unwrap_or(haystack.len());
    haystack.insert(at, sentence(needles[0].sentence(), kind_of(0)));
    haystack
}
