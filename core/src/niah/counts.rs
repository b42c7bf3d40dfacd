//! How many keys and needles a question has, and what it asks.

use super::{Filler, Spec, Task};
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
}

/// Tokens of a text where a word with its colon, a half of a key, a digit and a sign are one each.
pub(super) fn tokens_of_words(text: &str) -> usize {
    let mut tokens = 0;
    let mut before = ' ';
    for letter in text.chars() {
        let is_inside = letter.is_alphabetic() && before.is_alphabetic() || letter == ':';
        tokens += usize::from(!is_inside && ![' ', '-'].contains(&letter));
        before = letter;
    }
    tokens
}
