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
    /// Digits of a number in the standard questions.
    pub const DIGITS: usize = 4;
    /// Digits of a number in RULER.
    pub const LONG_DIGITS: usize = 7;

    /// How many different values there are; `digits` as in [`Values::random`].
    pub fn different(self, digits: usize) -> usize {
        match self {
            Self::Numbers => 10usize.saturating_pow(digits as u32),
            Self::Words => VALUE_WORDS.len(),
        }
    }

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

    /// The needle without its frame: `whispering-workhorse is: 1019.`
    pub fn short_sentence(&self) -> String {
        format!("{} {}.", self.short_opening(false), self.value)
    }

    /// The fact without its frame and value: `whispering-workhorse is:`, or the bare key, which only training uses.
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

/// The question for the value of a key that stands last in the text (latest-value).
pub fn ask_latest(needle: &Needle) -> String {
    format!("The latest special magic {} for {} mentioned in the provided text is:", needle.kind(), needle.key)
}

/// A chain of assignments, RULER's variable tracking: `amber-acorn is: 1019.`, `bold-beacon is: amber-acorn.` and so on. The
/// value of every key of the chain is `value`.
pub fn chain(keys: &[Key], value: &str) -> Vec<String> {
    let values = std::iter::once(value.to_owned()).chain(keys.iter().map(Key::to_string));
    keys.iter().zip(values).map(|(&key, value)| Needle { key, value }.short_sentence()).collect()
}

/// `a`, `a and b`, `a, b and c`: how an answer lists its values.
pub fn list(values: &[&str]) -> String {
    match values {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
