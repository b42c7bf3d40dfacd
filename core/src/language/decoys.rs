//! Decoys: words of keys, and values, in prose, so that neither is a mark of a needle.
//!
//! They stand where an adjective, a noun or an object would: `The amber-beacon waits near 1019.` No key is followed by a
//! value, so that no decoy reads like a fact.

use rand::{Rng, RngExt, seq::IndexedRandom};

use super::words::{KEY_ADJECTIVES, KEY_NOUNS, VALUE_WORDS};
use super::{Key, Split, Values};

/// Shares of noun phrases and sentences that hold a decoy, where there is room.
const SHARE: f64 = 0.3;

/// The words and values that occur in the prose.
#[derive(Clone, Copy, Debug)]
pub struct Decoys<'a> {
    /// Pairs are of this split.
    pub split: Split,
    /// The text's own keys, which never occur as a pair.
    pub avoid: &'a [Key],
    /// Kind of the needles' values.
    pub values: Values,
    /// Digits, where they are numbers.
    pub digits: usize,
}

/// Whether a word of a key, or a value, occurs in a sentence of prose.
pub fn holds_decoy(sentence: &str) -> bool {
    let is_decoy = |word: &str| {
        let words: [&[&str]; 3] = [&KEY_ADJECTIVES, &KEY_NOUNS, &VALUE_WORDS];
        word.starts_with(|c: char| c.is_ascii_digit()) || words.iter().any(|words| words.contains(&word))
    };
    sentence.to_ascii_lowercase().split(|c: char| !c.is_ascii_alphanumeric()).any(is_decoy)
}

impl Decoys<'_> {
    /// Tokens of a value, where a word and a digit are one.
    pub(super) fn value_tokens(&self) -> usize {
        match self.values {
            Values::Numbers => self.digits,
            Values::Words => 1,
        }
    }

    /// Sometimes a value of at most `room` tokens, and its number of tokens.
    pub(super) fn value(&self, rng: &mut impl Rng, room: usize) -> Option<(String, usize)> {
        let tokens = self.value_tokens();
        (tokens <= room && rng.random_bool(SHARE)).then(|| (self.values.random(rng, self.digits), tokens))
    }

    /// Sometimes a key in place of a noun.
    pub(super) fn key(&self, rng: &mut impl Rng) -> Option<Key> {
        let key = rng.random_bool(SHARE).then(|| Key::random(rng, self.split))?;
        (!self.avoid.contains(&key)).then_some(key)
    }

    /// Sometimes the first word of a key.
    pub(super) fn adjective(&self, rng: &mut impl Rng) -> Option<&'static str> {
        rng.random_bool(SHARE).then(|| KEY_ADJECTIVES.choose(rng).copied())?
    }
}
