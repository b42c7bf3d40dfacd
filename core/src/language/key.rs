//! Keys of needles, split into those for training, for the selection of settings, and for evaluation.

use rand::{Rng, RngExt, seq::IndexedRandom};

use super::words::{KEY_ADJECTIVES, KEY_NOUNS};

/// Which of the keys a text may use. Every adjective and every noun occurs in each split; no pair occurs in two of
/// training, selection and evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Thirteen sixteenths of the pairs.
    Training,
    /// One sixteenth of the pairs, for choosing settings of methods: never seen in training or evaluation.
    Selection,
    /// One eighth of the pairs, never seen in training or selection.
    Evaluation,
    /// Training and selection: what recipes from before the selection split use, and held-out documents.
    NotEvaluation,
}

impl Split {
    fn holds(self, key: Key) -> bool {
        let residue = (key.adjective * 31 + key.noun * 17) % 16;
        let (is_evaluation, is_selection) = (residue.is_multiple_of(8), residue == 5);
        match self {
            Self::Training => !is_evaluation && !is_selection,
            Self::Selection => is_selection,
            Self::Evaluation => is_evaluation,
            Self::NotEvaluation => !is_evaluation,
        }
    }
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
            if split.holds(key) {
                return key;
            }
        }
    }

    /// `n` different keys of the split, which must have as many.
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
            .filter(move |&key| split.holds(key))
    }

    /// A random key of the split, not among `taken`, with the adjective of this one or else its noun; `None` where there is
    /// none left.
    pub fn sharing(self, rng: &mut impl Rng, split: Split, shares_adjective: bool, taken: &[Self]) -> Option<Self> {
        let others = if shares_adjective { KEY_NOUNS.len() } else { KEY_ADJECTIVES.len() };
        let other =
            |word| if shares_adjective { Self { noun: word, ..self } } else { Self { adjective: word, ..self } };
        let keys: Vec<Self> =
            (0..others).map(other).filter(|&key| split.holds(key) && key != self && !taken.contains(&key)).collect();
        keys.choose(rng).copied()
    }

    /// `n` different keys of the split, which must have as many, that share words: with probability 2/5 all share one adjective, with 2/5 one
    /// noun, and otherwise each key but the first shares the adjective or the noun of an earlier one. If all keys share
    /// a word, only the other word distinguishes them: models trained on the third kind alone used only the adjective,
    /// and answered 40 % of the questions.
    pub fn related(rng: &mut impl Rng, split: Split, n: usize) -> Vec<Self> {
        let mut keys = vec![Self::random(rng, split)];
        let kind = rng.random_range(0..5);
        while keys.len() < n {
            let (shared, is_adjective) = match kind {
                0 | 1 => (keys[0], true),
                2 | 3 => (keys[0], false),
                _ => (keys[rng.random_range(0..keys.len())], rng.random_bool(0.5)),
            };
            // Where no other key has that word, any key.
            let key = shared.sharing(rng, split, is_adjective, &keys).unwrap_or_else(|| Self::random(rng, split));
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
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
