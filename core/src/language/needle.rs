//! Needles and the questions about them, in the words of RULER and of the paper (appendix C.2).

use rand::{Rng, RngExt, seq::IndexedRandom};

use super::key::Key;
use super::words::VALUE_WORDS;
use crate::names::named;

named! {
    /// What the values of needles are.
    Values: "kind of values" {
        /// Numbers of [`Values::DIGITS`] digits, one token a digit.
        Numbers = "numbers",
        /// One word, one token.
        Words = "words",
    }
}

impl Values {
    /// Digits of a number in evaluation.
    pub const DIGITS: usize = 4;

    /// A random value; `digits` is its length if it is a number.
    pub fn random(self, rng: &mut impl Rng, digits: usize) -> String {
        match self {
            Self::Numbers => (0..digits).map(|_| char::from(b'0' + rng.random_range(0..10u8))).collect(),
            Self::Words => VALUE_WORDS.choose(rng).copied().unwrap_or_default().to_owned(),
        }
    }
}

/// A fact hidden in the haystack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needle {
    /// What is asked for.
    pub key: Key,
    /// What is to be answered.
    pub value: String,
}

impl Needle {
    /// `One of the special magic numbers for whispering-workhorse is: 1019.`
    pub fn sentence(&self) -> String {
        format!("{} {}.", self.opening(), self.value)
    }

    /// The needle up to its value.
    pub fn opening(&self) -> String {
        format!("One of the special magic {}s for {} is:", self.kind(), self.key)
    }

    /// The fact without its frame and value: `whispering-workhorse is:`, or the bare key. Only training uses it.
    pub fn short_opening(&self, is_bare: bool) -> String {
        if is_bare { self.key.to_string() } else { format!("{} is:", self.key) }
    }

    fn kind(&self) -> &'static str {
        if self.value.starts_with(|c: char| c.is_ascii_digit()) { "number" } else { "word" }
    }
}

/// The question for one needle (single, multi-key).
pub fn ask_one(needle: &Needle) -> String {
    format!("The special magic {} for {} mentioned in the provided text is:", needle.kind(), needle.key)
}

/// The question for two needles (multi-query).
pub fn ask_two(first: &Needle, second: &Needle) -> String {
    let kind = first.kind();
    format!("The special magic {kind}s for {} and {} mentioned in the provided text are:", first.key, second.key)
}

/// The question for all values of one key (multi-value).
pub fn ask_all(needle: &Needle) -> String {
    format!("What are all the special magic {}s for {} mentioned in the provided text?", needle.kind(), needle.key)
}

/// `a`, `a and b`, `a, b and c`: how an answer lists its values.
pub fn list(values: &[&str]) -> String {
    match values {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
