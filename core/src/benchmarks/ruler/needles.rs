//! Needles in a haystack: of repeated sentences, of essays, or of needles.

use std::collections::HashMap;

use rand::RngExt;
use rand::seq::{SliceRandom, index};
use rand_chacha::ChaCha8Rng;
use unicode_segmentation::UnicodeSegmentation;

use super::{Sample, Task, words};
use crate::error::{Error, Result};

/// The sentences that RULER repeats as a haystack.
pub(super) const NOISE: &str =
    "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.";

/// Number of depths in essays: 0, 1/39, … 1, rounded to whole percent. The needles of one text have different depths.
const DEPTHS: usize = 40;

/// A task of needles.
pub(super) struct Needles<'a> {
    haystack: Haystack<'a>,
    has_uuid_keys: bool,
    has_uuid_values: bool,
    keys: usize,
    values_of_a_key: usize,
    queries: usize,
}

enum Haystack<'a> {
    Noise,
    /// Words of the user's text.
    Essays(Vec<&'a str>),
    Needles,
}

impl<'a> Needles<'a> {
    pub(super) fn new(task: Task, essays: Option<&'a str>) -> Result<Self> {
        let haystack = match task {
            Task::Single1 => Haystack::Noise,
            Task::Multikey2 | Task::Multikey3 => Haystack::Needles,
            _ => {
                let words: Vec<&str> = essays.unwrap_or_default().split_whitespace().collect();
                if words.is_empty() {
                    let message = format!("{} hides needles in essays; give a text as the haystack", task.name());
                    return Err(Error::Benchmark(message));
                }
                Haystack::Essays(words)
            }
        };
        let four = |has_four: bool| if has_four { 4 } else { 1 };
        Ok(Self {
            haystack,
            has_uuid_keys: task == Task::Multikey3,
            has_uuid_values: matches!(task, Task::Single3 | Task::Multikey3),
            keys: four(matches!(task, Task::Multikey1 | Task::Multiquery)),
            values_of_a_key: four(task == Task::Multivalue),
            queries: four(task == Task::Multiquery),
        })
    }

    /// Lines or words by which the haystack grows.
    pub(super) fn step(&self, is_short: bool) -> usize {
        match (&self.haystack, is_short) {
            (Haystack::Essays(_), false) => 500,
            (Haystack::Essays(_), true) => 25,
            (_, false) => 25,
            (_, true) => 5,
        }
    }

    /// How many questions can be asked about one haystack.
    pub(super) fn questions(&self) -> usize {
        match self.haystack {
            _ if self.queries * self.values_of_a_key > 1 => 1,
            Haystack::Needles => usize::MAX,
            _ => self.keys,
        }
    }

    /// Questions about one haystack: the first is the one that RULER asks, the others ask for other needles in it.
    pub(super) fn samples(&self, size: usize, questions: usize, rng: &mut ChaCha8Rng) -> Vec<Sample> {
        let keys: Vec<String> = (0..self.keys).map(|_| self.key(rng)).collect();
        let values: Vec<Vec<String>> =
            keys.iter().map(|_| (0..self.values_of_a_key).map(|_| self.value(rng)).collect()).collect();
        let of_key = |(key, values): (&String, &Vec<String>)| -> Vec<String> {
            values.iter().map(|value| self.needle(key, value)).collect()
        };
        let mut needles: Vec<String> = keys.iter().zip(&values).flat_map(of_key).collect();
        needles.shuffle(rng);
        let (context, distractors) = self.context(size, &needles, rng);
        let asked = index::sample(rng, self.keys, self.queries).into_vec();
        let query = match &asked[..] {
            [only] => keys[*only].clone(),
            [rest @ .., last] => {
                let rest: Vec<&str> = rest.iter().map(|&key| keys[key].as_str()).collect();
                format!("{}, and {}", rest.join(", "), keys[*last])
            }
            [] => String::new(),
        };
        let outputs = asked.iter().flat_map(|&key| values[key].clone()).collect();
        let first = self.question(&context, &query, outputs);
        if questions == 1 {
            return vec![first];
        }
        // A key that occurs twice has two values, so a question about it has no single right answer.
        let mut times: HashMap<&str, usize> = HashMap::new();
        for key in keys.iter().chain(distractors.iter().map(|(key, _)| key)) {
            *times.entry(key).or_default() += 1;
        }
        let others = (0..self.keys).filter(|key| !asked.contains(key)).map(|key| (&keys[key], values[key].clone()));
        let mut told: Vec<(&String, Vec<String>)> =
            distractors.iter().map(|(key, value)| (key, vec![value.clone()])).collect();
        told.shuffle(rng);
        let queries = others.chain(told).filter(|(key, _)| times[key.as_str()] == 1).take(questions - 1);
        let further = queries.map(|(query, outputs)| self.question(&context, query, outputs));
        std::iter::once(first).chain(further).collect()
    }

    fn question(&self, context: &str, query: &str, outputs: Vec<String>) -> Sample {
        let kind = self.kind();
        let (message, answer_prefix) = if self.queries * self.values_of_a_key == 1 {
            let kind = kind.trim_end_matches('s');
            (
                format!(
                    "A special magic {kind} is hidden within the following text. Make sure to memorize it. I will quiz you about the {kind} afterwards.\n{context}\nWhat is the special magic {kind} for {query} mentioned in the provided text?"
                ),
                format!(" The special magic {kind} for {query} mentioned in the provided text is"),
            )
        } else {
            (
                format!(
                    "Some special magic {kind} are hidden within the following text. Make sure to memorize it. I will quiz you about the {kind} afterwards.\n{context}\nWhat are all the special magic {kind} for {query} mentioned in the provided text?"
                ),
                format!(" The special magic {kind} for {query} mentioned in the provided text are"),
            )
        };
        Sample { message, answer_prefix, outputs }
    }

    fn kind(&self) -> &'static str {
        if self.has_uuid_values { "uuids" } else { "numbers" }
    }

    fn key(&self, rng: &mut ChaCha8Rng) -> String {
        if self.has_uuid_keys { uuid(rng) } else { words::pair(rng) }
    }

    fn value(&self, rng: &mut ChaCha8Rng) -> String {
        if self.has_uuid_values { uuid(rng) } else { rng.random_range(1_000_000..10_000_000u32).to_string() }
    }

    /// The sentence of a needle: it says `numbers` even where the question says `number`.
    fn needle(&self, key: &str, value: &str) -> String {
        format!("One of the special magic {} for {key} is: {value}.", self.kind())
    }

    /// The haystack with its needles, and the keys and values of the needles that the haystack itself consists of.
    fn context(&self, size: usize, needles: &[String], rng: &mut ChaCha8Rng) -> (String, Vec<(String, String)>) {
        let mut distractors = Vec::new();
        let mut lines: Vec<String> = match &self.haystack {
            Haystack::Essays(words) => return (in_essays(words, size, needles, rng), distractors),
            Haystack::Noise => vec![NOISE.to_owned(); size],
            Haystack::Needles => {
                distractors.extend((0..size).map(|_| (self.key(rng), self.value(rng))));
                distractors.iter().map(|(key, value)| self.needle(key, value)).collect()
            }
        };
        for (needle, at) in needles.iter().zip(places(size, needles.len(), rng).into_iter().rev()) {
            lines.insert(at, needle.clone());
        }
        (lines.join("\n"), distractors)
    }
}

/// Distinct places, in order. If there are more needles than lines, the surplus needles stand at the end.
pub(super) fn places(size: usize, count: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let mut places = index::sample(rng, size.max(count), count).into_vec();
    places.sort_unstable();
    places.into_iter().map(|place| place.min(size)).collect()
}

/// The first `size` words, repeated as often as is needed, with the needles between their sentences.
fn in_essays(words: &[&str], size: usize, needles: &[String], rng: &mut ChaCha8Rng) -> String {
    let text = words.iter().cycle().take(size).copied().collect::<Vec<_>>().join(" ");
    let sentences: Vec<&str> = text.unicode_sentences().map(str::trim).collect();
    let mut depths = index::sample(rng, DEPTHS, needles.len()).into_vec();
    depths.sort_unstable();
    let mut parts: Vec<String> = Vec::new();
    let mut from = 0;
    for (needle, depth) in needles.iter().zip(depths) {
        let percent = (depth as f64 * 100.0 / (DEPTHS - 1) as f64).round();
        let to = (sentences.len() as f64 * percent / 100.0) as usize;
        parts.extend([sentences[from..to].join(" "), needle.clone()]);
        from = to;
    }
    parts.push(sentences[from..].join(" "));
    parts.join(" ")
}

/// A random UUID of version 4.
fn uuid(rng: &mut ChaCha8Rng) -> String {
    uuid::Builder::from_random_bytes(rng.random()).into_uuid().to_string()
}
