//! Drawing a question and the haystack around its needles.

use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::{Filler, PAIRS, Sample, Sentence, SentenceKind, Task};
use crate::error::{Error, Result};
use crate::language::{Key, MIN_WORDS, Needle, Split, Values, ask_all, ask_one, ask_two, passkey, prose};
use crate::tokenizer::Tokenizer;

/// What a sample is drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec<'a> {
    /// Kind of retrieval.
    pub task: Task,
    /// Numbers or words; a pass key is always a number.
    pub values: Values,
    /// Tokens of beginning-of-text, haystack, question and answer together.
    pub context: usize,
    /// Where the (first) queried needle stands, 0 to 1; random if not given. The others are at random places.
    pub depth: Option<f64>,
    /// What surrounds the needles.
    pub filler: Filler,
    /// Noise right after each queried needle.
    pub sinks: Option<Sinks<'a>>,
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
    /// A question in its authors' filler, at a random depth.
    pub fn new(task: Task, values: Values, context: usize, seed: u64) -> Self {
        Self { task, values, context, depth: None, filler: task.filler(), sinks: None, seed }
    }
}

/// Random numbers of evaluation come from this stream of the generator; training uses stream 1 and up.
const STREAM: u64 = 0;

/// Needles, and what is asked about them.
struct Problem {
    /// Text and value of each.
    needles: Vec<(String, String)>,
    /// The first so many are asked for.
    asked: usize,
    introduction: Option<&'static str>,
    question: String,
}

/// Draws a sample whose prompt and answer fill `context` tokens (exactly in prose, with a tokenizer of one token a
/// word; in repeated sentences to within one of them).
///
/// # Errors
/// If the context is too short for the needles and the question.
pub fn sample(spec: &Spec, tokenizer: &Tokenizer) -> Result<Sample> {
    let count = &|text: &str| tokenizer.count(text);
    if spec.context == 0 {
        return Err(Error::Zero("the context"));
    }
    let mut rng = ChaCha8Rng::seed_from_u64(spec.seed);
    rng.set_stream(STREAM);
    let rng = &mut rng;
    let problem = if spec.task == Task::Passkey { pass_key(rng) } else { magic(rng, spec) };
    let asked = problem.asked;
    let mut sample = Sample {
        haystack: Vec::new(),
        question: problem.question,
        references: problem.needles[..asked].iter().map(|(_, value)| value.clone()).collect(),
        ordered: spec.task != Task::MultiValue,
    };
    let sinks = spec.sinks.filter(|sinks| sinks.count > 0).map(|sinks| sinks.token.repeat(sinks.count));
    let fixed: usize = tokenizer.prefix().len()
        + problem.introduction.map_or(0, count)
        + problem.needles.iter().map(|(text, _)| count(text)).sum::<usize>()
        + asked * sinks.as_deref().map_or(0, |text| tokenizer.encode(text).map_or(0, |ids| ids.len()))
        + count(&sample.question)
        + count(&sample.expected());
    let needed = fixed + MIN_WORDS + 1;
    if needed > spec.context {
        return Err(Error::TooLong { needed, context: spec.context });
    }
    let filler = match spec.filler {
        Filler::Prose => prose(rng, spec.context - fixed, count),
        Filler::Grass => passkey::grass(spec.context - fixed, count),
    };
    sample.haystack = hide(rng, filler, &problem.needles, asked, spec.depth);
    if let Some(text) = problem.introduction {
        sample.haystack.insert(0, Sentence { text: text.to_owned(), kind: SentenceKind::Prose });
    }
    if !sample.ordered {
        // All values of a key come in the order of the text.
        let told = |sentence: &Sentence| problem.needles.iter().find(|(text, _)| *text == sentence.text);
        sample.references = sample.haystack.iter().filter_map(told).map(|(_, value)| value.clone()).collect();
    }
    if let Some(text) = sinks {
        let sink = Sentence { text, kind: SentenceKind::Sink };
        let with_sink = |sentence: Sentence| {
            let sink = (sentence.kind == SentenceKind::Needle).then(|| sink.clone());
            std::iter::once(sentence).chain(sink)
        };
        sample.haystack = sample.haystack.into_iter().flat_map(with_sink).collect();
    }
    // The first word follows no space, which may cost a byte-level tokenizer a token more than was counted.
    let answer = count(&sample.expected());
    while tokenizer.prompt(&sample.prompt())?.len() + answer > spec.context {
        let last = sample.haystack.iter().rposition(|sentence| sentence.kind == SentenceKind::Prose);
        let Some(last) = last else { break };
        sample.haystack.remove(last);
    }
    Ok(sample)
}

/// Special magic numbers or words.
fn magic(rng: &mut ChaCha8Rng, spec: &Spec) -> Problem {
    let (distinct, asked) = match spec.task {
        Task::MultiKey => (PAIRS, 1),
        Task::MultiQuery => (PAIRS, 2),
        Task::MultiValue => (1, PAIRS),
        Task::Single | Task::Passkey => (1, 1),
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
        Task::MultiQuery => ask_two(&needles[0], &needles[1]),
        Task::MultiValue => ask_all(&needles[0]),
        Task::Single | Task::MultiKey | Task::Passkey => ask_one(&needles[0]),
    };
    let needles = needles.into_iter().map(|needle| (needle.sentence(), needle.value)).collect();
    Problem { needles, asked, introduction: None, question }
}

fn pass_key(rng: &mut ChaCha8Rng) -> Problem {
    let pass_key = passkey::random(rng, Split::Evaluation);
    Problem {
        needles: vec![(passkey::sentence(&pass_key), pass_key)],
        asked: 1,
        introduction: Some(passkey::INTRODUCTION),
        question: passkey::QUESTION.to_owned(),
    }
}

/// Puts needles between sentences of filler: the first one asked for at `depth`, the others anywhere.
fn hide(
    rng: &mut ChaCha8Rng,
    filler: Vec<String>,
    needles: &[(String, String)],
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
        haystack.insert(at, sentence(needles[index].0.clone(), kind_of(index)));
    }
    let depth = depth.unwrap_or_else(|| rng.random()).clamp(0.0, 1.0);
    // Depth is measured in bytes, so that long and short sentences count as what they are.
    let total: usize = haystack.iter().map(|sentence| sentence.text.len() + 1).sum();
    let mut before = 0.0;
    let at = haystack.iter().position(|sentence| {
        let length = (sentence.text.len() + 1) as f64;
        let is_place = before + length / 2.0 > depth * total as f64;
        before += length;
        is_place
    });
    let at = at.unwrap_or(haystack.len());
    haystack.insert(at, sentence(needles[0].0.clone(), kind_of(0)));
    haystack
}
