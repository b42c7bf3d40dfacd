//! Statistics of one head's attention on a question.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::left_out::is_default;

/// Parts of a text that entropies are averaged over.
pub const PARTS: usize = 16;

/// Where the attention of one head goes when a question has been read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeadProbe {
    /// Layer, from 0.
    pub layer: usize,
    /// Query head, from 0.
    pub head: usize,
    /// Attention of the last query on the queried needle (Gelberg et al. 2025, figure 8).
    pub needle: f64,
    /// The largest attention of a token of the question on the queried needle: models may fetch the value at the key's
    /// token.
    pub needle_of_question: f64,
    /// Which token of the question that is, from its end: 0 is the last. Left out where it is one of the chat template's, and of means over
    /// questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_from_end: Option<usize>,
    /// Attention of that token on each sentence of the haystack; empty in means over questions, whose haystacks differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sentences: Vec<f64>,
    /// The same of the last query.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sentences_of_last: Vec<f64>,
    /// Attention of the last query on all other needles.
    pub distractors: f64,
    /// The same of the token of the question.
    #[serde(default, skip_serializing_if = "is_default")]
    pub distractors_of_question: f64,
    /// Attention of that token on sentences of filler in which words of keys, or values, occur.
    #[serde(default, skip_serializing_if = "is_default")]
    pub decoys_of_question: f64,
    /// Attention of the last query on the first token.
    pub first: f64,
    /// Entropy of the last query's attention, nats.
    pub entropy: f64,
    /// Upper bound of `entropy`: ln of the number of visible keys.
    pub entropy_bound: f64,
    /// Mean entropy of the queries in each part of the text, nats (Wang et al. 2024, figure 3).
    pub entropies: Vec<f64>,
    /// Mean bound of the same queries: ln i for the i-th.
    pub entropy_bounds: Vec<f64>,
    /// Positional bias A^c towards the token itself (Gelberg et al. 2025, figure 4).
    pub diagonal_bias: f64,
    /// The same towards the token before.
    pub previous_bias: f64,
    /// Prefix spread of the residual stream after the layer (Gelberg et al. 2025, theorem 3.4).
    pub prefix_spread: f64,
}

impl HeadProbe {
    /// Every number of a head, always in the same order.
    fn numbers(&mut self) -> impl Iterator<Item = &mut f64> {
        let Self { layer: _, head: _, needle, needle_of_question, distractors, first, entropy, entropy_bound, .. } =
            self;
        let Self { distractors_of_question, decoys_of_question, .. } = self;
        let Self { entropies, entropy_bounds, diagonal_bias, previous_bias, prefix_spread, .. } = self;
        [needle, needle_of_question, distractors, distractors_of_question, decoys_of_question]
            .into_iter()
            .chain([first, entropy, entropy_bound])
            .chain(entropies)
            .chain(entropy_bounds)
            .chain([diagonal_bias, previous_bias, prefix_spread])
    }
}

/// Means over questions: from `[question][head]` to `[head]`.
pub fn mean(questions: &[Vec<HeadProbe>]) -> Vec<HeadProbe> {
    let Some((first, others)) = questions.split_first() else { return Vec::new() };
    let mut means = first.clone();
    for head in &mut means {
        head.token_from_end = None;
        head.sentences.clear();
        head.sentences_of_last.clear();
    }
    for probes in others {
        for (mean, mut head) in means.iter_mut().zip(probes.clone()) {
            for (sum, number) in mean.numbers().zip(head.numbers()) {
                *sum += *number;
            }
        }
    }
    let share = 1.0 / questions.len() as f64;
    means.iter_mut().flat_map(HeadProbe::numbers).for_each(|sum| *sum *= share);
    means
}

/// Share of the attention that falls on the keys at positions `at` of a text of `tokens`; `weights` are of its last keys.
pub fn mass(weights: &[f32], at: &Range<usize>, tokens: usize) -> f64 {
    let first = tokens - weights.len();
    at.clone().filter(|&key| key >= first).map(|key| f64::from(weights[key - first])).sum()
}

/// Entropy of attention weights in nats; at most ln of their number, where all are alike.
pub fn entropy(weights: &[f32]) -> f64 {
    weights.iter().map(|&p| f64::from(p)).filter(|&p| p > 0.0).map(|p| -p * p.ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::{HeadProbe, entropy, mass, mean};

    #[test]
    fn uniform_weights_have_the_largest_entropy() {
        assert!((entropy(&[0.125; 8]) - 8f64.ln()).abs() < 1e-6);
        assert_eq!(entropy(&[0.0, 1.0, 0.0]), 0.0);
        assert!(entropy(&[0.5, 0.25, 0.25]) < 3f64.ln());
    }

    #[test]
    fn mass_counts_keys_from_the_start_of_the_text() {
        assert!((mass(&[0.1, 0.2, 0.3, 0.4], &(1..3), 4) - 0.5).abs() < 1e-6);
        // The window holds the last four keys of ten.
        assert!((mass(&[0.1, 0.2, 0.3, 0.4], &(5..8), 10) - 0.3).abs() < 1e-6);
    }

    #[test]
    fn means_are_of_each_head_and_number() {
        let probe = |head, needle, entropies: [f64; 2]| HeadProbe {
            head,
            needle,
            entropies: entropies.to_vec(),
            prefix_spread: 2.0 * needle,
            ..HeadProbe::default()
        };
        let questions = [
            vec![probe(0, 0.1, [1.0, 2.0]), probe(1, 0.5, [0.0, 4.0])],
            vec![probe(0, 0.3, [3.0, 2.0]), probe(1, 0.5, [1.0, 4.0])],
        ];
        assert_eq!(mean(&questions), [probe(0, 0.2, [2.0, 2.0]), probe(1, 0.5, [0.5, 4.0])]);
        let with_sentences = HeadProbe { sentences: vec![0.2, 0.1], ..probe(0, 0.1, [1.0, 2.0]) };
        assert_eq!(mean(&[vec![with_sentences]]), [probe(0, 0.1, [1.0, 2.0])]);
        assert!(mean(&[]).is_empty());
    }
}
