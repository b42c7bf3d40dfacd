//! Keys of needles, split into those for training and those for evaluation.

use rand::{Rng, RngExt};

use super::words::{KEY_ADJECTIVES, KEY_NOUNS};

/// Which half of the keys a document may use. Every adjective and every noun occurs in both;
/// no pair does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Seven eighths of the pairs.
    Training,
    /// One eighth of the pairs, never seen in training.
    Evaluation,
}

/// An adjective-noun pair such as `whispering-workhorse`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    adjective: usize,
    noun: usize,
}

impl Key {
    /// A random key of the split.
    pub fn random(rng: &mut impl Rng, split: Split) -> Self {
        loop {
            let key = Self {
                adjective: rng.random_range(0..KEY_ADJECTIVES.len()),
                noun: rng.random_range(0..KEY_NOUNS.len()),
            };
            if key.split() == split {
                return key;
            }
        }
    }

    /// `n` different keys of the split.
    pub fn distinct(rng: &mut impl Rng, split: Split, n: usize) -> Vec<Self> {
        let mut keys = Vec::with_capacity(n);
        while keys.len() < n {
            let key = Self::random(rng, split);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// Every key of the split.
    pub fn all(split: Split) -> impl Iterator<Item = Self> {
        (0..KEY_ADJECTIVES.len())
            .flat_map(|adjective| (0..KEY_NOUNS.len()).map(move |noun| Self { adjective, noun }))
            .filter(move |key| key.split() == split)
    }

    /// The split that the pair belongs to.
    pub fn split(self) -> Split {
        if (self.adjective * 31 + self.noun * 17).is_multiple_of(8) { Split::Evaluation } else { Split::Training }
    }

    /// Number of the pair, counted over all.
    pub fn index(self) -> usize {
        self.adjective * KEY_NOUNS.len() + self.noun
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", KEY_ADJECTIVES[self.adjective], KEY_NOUNS[self.noun])
    }
}
