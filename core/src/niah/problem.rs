//! Needles, and what is asked about them.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::{Distractors, Spec, Task};
use crate::error::{Error, Result};
use crate::language::{Key, Needle, Split, chain, passkey};

/// Needles, and what is asked about them.
pub(super) struct Problem {
    /// Text and value of each needle. The needles of a chain all have the chain's value and are in the order of the
    /// text.
    pub needles: Vec<(String, String)>,
    /// The question asks for the first `asked` needles.
    pub asked: usize,
    /// Needles of a chain.
    pub chain_length: usize,
    /// All keys.
    pub keys: Vec<Key>,
    pub introduction: Option<&'static str>,
    pub question: String,
}

/// Special magic numbers or words of `n` keys, or of `n` chains.
///
/// # Errors
/// If the split has too few keys.
pub(super) fn magic(rng: &mut ChaCha8Rng, spec: &Spec, n: usize) -> Result<Problem> {
    let (chain_length, asked_values) = (spec.chain_length(), spec.task.asked_values());
    let asked_keys = spec.task.asked_keys() * chain_length;
    let keys = draw_keys(rng, spec, asked_keys, n.saturating_mul(chain_length))?;
    let values = draw_values(rng, spec, asked_values, n + asked_values - spec.task.asked_keys());
    let needles: Vec<(String, String)> = if chain_length > 1 {
        let chains = keys.chunks(chain_length).zip(&values);
        chains.flat_map(|(keys, value)| chain(keys, value).into_iter().map(|text| (text, value.clone()))).collect()
    } else {
        // A key with several values is repeated, once for each of them.
        let repeated = std::iter::repeat_n(keys[0], asked_values - asked_keys);
        let sentence = |(key, value): (Key, &String)| {
            let needle = Needle { key, value: value.clone() };
            (if spec.is_short() { needle.short_sentence() } else { needle.sentence() }, needle.value)
        };
        repeated.chain(keys.iter().copied()).zip(&values).map(sentence).collect()
    };
    let named = |key: usize, value: usize| Needle { key: keys[key], value: values[value].clone() };
    let question = spec.question(&named(chain_length - 1, 0), &named(asked_keys - 1, asked_values - 1));
    let asked = if chain_length > 1 { chain_length } else { asked_values };
    Ok(Problem { needles, asked, chain_length, keys, introduction: None, question })
}

/// `n` different keys; the first `asked` are asked for.
fn draw_keys(rng: &mut ChaCha8Rng, spec: &Spec, asked: usize, n: usize) -> Result<Vec<Key>> {
    let split = spec.difficulty.split.keys();
    if n > Key::all(split).count() {
        return Err(Error::TooFewKeys { wanted: n });
    }
    if spec.difficulty.distractors == Distractors::Unrelated {
        return Ok(Key::distinct(rng, split, n));
    }
    let mut keys = Key::distinct(rng, split, asked);
    let begins_with_adjective = rng.random_bool(0.5);
    for index in 0..n - asked {
        // The distractors share a word with each asked key in turn, alternately its adjective and its noun.
        let shares_adjective = (index / asked + index % asked).is_multiple_of(2) == begins_with_adjective;
        // If no such key is left, one that shares the other word, or a word of another asked key.
        let choices = (0..asked).flat_map(|step| [(index + step, shares_adjective), (index + step, !shares_adjective)]);
        let key = choices
            .into_iter()
            .find_map(|(shared, is_adjective)| keys[shared % asked].sharing(rng, split, is_adjective, &keys));
        keys.push(key.ok_or(Error::TooFewKeys { wanted: n })?);
    }
    Ok(keys)
}

/// `n` different values. If `n` is more than half of all possible values, they differ only from the first `asked`.
fn draw_values(rng: &mut ChaCha8Rng, spec: &Spec, asked: usize, n: usize) -> Vec<String> {
    let digits = spec.difficulty.digits;
    let compared = if n <= spec.values.different(digits) / 2 { n } else { asked };
    let mut values: Vec<String> = Vec::with_capacity(n);
    while values.len() < n {
        let value = spec.values.random(rng, digits);
        if !values.iter().take(compared).any(|known| *known == value) {
            values.push(value);
        }
    }
    values
}

pub(super) fn pass_key(rng: &mut ChaCha8Rng) -> Problem {
    let pass_key = passkey::random(rng, Split::Evaluation);
    Problem {
        needles: vec![(passkey::sentence(&pass_key), pass_key)],
        asked: 1,
        chain_length: 1,
        keys: Vec::new(),
        introduction: Some(passkey::INTRODUCTION),
        question: passkey::QUESTION.to_owned(),
    }
}

impl Problem {
    /// What a right answer holds, where the needles stand in this order.
    pub fn references(&self, task: Task, order: impl Iterator<Item = usize>) -> Vec<String> {
        let value = |index: usize| self.needles[index].1.clone();
        let asked: Vec<usize> = order.filter(|&index| index < self.asked).collect();
        match task {
            // In the order of the text.
            Task::MultiValue => asked.into_iter().map(value).collect(),
            Task::LatestValue => asked.last().copied().map(value).into_iter().collect(),
            Task::VariableTracking => vec![value(0)],
            // In the order of the question.
            Task::Single | Task::MultiKey | Task::MultiQuery | Task::Passkey => (0..self.asked).map(value).collect(),
        }
    }
}
