//! How many needles a question has, and what a random guess is worth.

use super::{Distractors, Filler, Spec, Task};
use crate::language::{Key, Needle, Split, Values, ask_all, ask_latest, ask_one, ask_two, chain, list};

impl Spec<'_> {
    /// Number of different keys that have a value of their own; `count` gives the tokens of a text that follows a
    /// space.
    pub(super) fn keys(&self, count: &impl Fn(&str) -> usize) -> usize {
        let standard = self.task.standard_keys();
        match (self.difficulty.keys, self.filler) {
            (Some(keys), _) => keys,
            (None, Filler::Needles) => self.keys_that_fit(count).max(standard),
            (None, _) => standard,
        }
    }

    /// Number of keys that fit in a haystack of needles alone.
    fn keys_that_fit(&self, count: &impl Fn(&str) -> usize) -> usize {
        let (chain_length, values) = (self.chain_length(), self.task.asked_values());
        let keys: Vec<Key> = Key::all(Split::Evaluation).take(chain_length).collect();
        let value = match self.values {
            Values::Numbers => "0".repeat(self.difficulty.digits),
            Values::Words => "airport".to_owned(),
        };
        let needle = Needle { key: keys[0], value: value.clone() };
        let question = self.question(&needle, &needle);
        let answer = list(&vec![value.as_str(); if self.task == Task::LatestValue { 1 } else { values }]) + ".";
        let tokens_of_key: usize = chain(&keys, &value).iter().map(|text| count(text)).sum();
        // One more for the beginning of the text.
        let room = self.context.saturating_sub(1 + count(&question) + count(&answer));
        // A key with several values takes as much room as that many keys.
        (room / tokens_of_key.max(1) + self.task.asked_keys()).saturating_sub(values)
    }

    /// Number of needles for each key with a value: the length of the chain, or 1.
    pub(super) fn chain_length(&self) -> usize {
        if self.task == Task::VariableTracking { self.difficulty.hops + 1 } else { 1 }
    }

    /// Whether needles are in their short form.
    #[cfg(feature = "model")]
    pub(super) fn is_short(&self) -> bool {
        self.task == Task::VariableTracking || self.filler == Filler::Needles
    }

    /// What is asked; only multi-query asks for the second.
    pub(super) fn question(&self, first: &Needle, second: &Needle) -> String {
        match self.task {
            Task::MultiQuery => ask_two(first, second),
            Task::MultiValue => ask_all(first),
            Task::LatestValue => ask_latest(first),
            Task::Single | Task::MultiKey | Task::VariableTracking | Task::Passkey => ask_one(first),
        }
    }

    /// The random-guess floor: the probability that values of needles drawn at random, as many as are asked for, are
    /// the right answer. With n keys that have a value of their own it is
    ///
    /// * 1 for a single needle and a pass key, where there is only one value to copy;
    /// * 1/n for multi-key and variable tracking;
    /// * 1/(n·(n − 1)) for multi-query, whose two values have an order;
    /// * 1/(n + 3 choose 4) for multi-value, where the key has four of the n + 3 values;
    /// * 1/(n + 3) for latest-value, likewise.
    ///
    /// Values in the prose of decoys belong to no needle and do not count. In [`Filler::Needles`] without a number of
    /// keys, n is counted for a tokenizer that has one token for each word and digit.
    pub fn guess_floor(&self) -> f64 {
        let asked = self.task.asked_values();
        let values = (self.keys(&tokens_of_words) + asked).saturating_sub(self.task.asked_keys());
        let choose = |n: usize, k: usize| (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product::<f64>();
        match self.task {
            Task::Single | Task::Passkey => 1.0,
            Task::MultiKey | Task::VariableTracking | Task::LatestValue => 1.0 / values as f64,
            Task::MultiQuery => 0.5 / choose(values, 2),
            Task::MultiValue => 1.0 / choose(values, asked),
        }
    }

    /// What a reader of one word of the key scores where distractors share the other: it finds the keys that have the asked key's noun
    /// (or its adjective) and guesses among their values. `None` where keys are unrelated, or not one of them is asked for.
    ///
    /// Of the n − 1 distractors half share the adjective and half the noun; of an odd number, one word or the other has one more.
    pub fn one_word_floor(&self) -> Option<f64> {
        if self.task != Task::MultiKey || self.difficulty.distractors != Distractors::Sharing {
            return None;
        }
        let distractors = self.keys(&tokens_of_words) - 1;
        let guess = |sharing: usize| 1.0 / (1 + sharing) as f64;
        Some((guess(distractors / 2) + guess(distractors.div_ceil(2))) / 2.0)
    }
}

/// Tokens of a text where a word with its colon, a half of a key, a digit and a sign are one each.
fn tokens_of_words(text: &str) -> usize {
    let mut tokens = 0;
    let mut before = ' ';
    for letter in text.chars() {
        let is_inside = letter.is_alphabetic() && before.is_alphabetic() || letter == ':';
        tokens += usize::from(!is_inside && ![' ', '-'].contains(&letter));
        before = letter;
    }
    tokens
}
