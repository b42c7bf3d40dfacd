//! What a random guess is worth.

use super::counts::tokens_of_words;
use super::{Distractors, Spec, Task};

impl Spec<'_> {
    /// The chance level: the probability that values of needles drawn at random, as many as are asked for, are
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
    pub fn chance_level(&self) -> f64 {
        let asked = self.task.asked_values();
        let keys = self.keys(&tokens_of_words).max(self.task.asked_keys());
        let values = (keys - self.task.asked_keys()).saturating_add(asked);
        let choose = |n: usize, k: usize| (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product::<f64>();
        match self.task {
            Task::Single | Task::Passkey => 1.0,
            Task::MultiKey | Task::VariableTracking | Task::LatestValue => 1.0 / values as f64,
            Task::MultiQuery => 0.5 / choose(values, 2),
            Task::MultiValue => 1.0 / choose(values, asked),
        }
    }

    /// The chance level of a reader of one word of the key, where distractors share the other. It finds the keys that have the asked
    /// key's noun (or its adjective) and guesses among their values. `None` where keys are unrelated, or not one of them is asked for.
    ///
    /// Of the n − 1 distractors half share the adjective and half the noun; of an odd number, one word or the other has one more.
    pub fn one_word_chance_level(&self) -> Option<f64> {
        if self.task != Task::MultiKey || self.difficulty.distractors != Distractors::Sharing {
            return None;
        }
        let distractors = self.keys(&tokens_of_words).saturating_sub(1);
        let guess = |sharing: usize| 1.0 / (1 + sharing) as f64;
        Some((guess(distractors / 2) + guess(distractors.div_ceil(2))) / 2.0)
    }
}
