//! How often the tokens of one's own text count in attention.
//!
//! Filler that counts m times stands for m copies of it, so that a window of the training context is to attention what a longer text
//! would be. Where a model has positions, those behind the filler skip what its copies would take. It is the repository's own method; [`crate::language::DocumentMix::max_copies`] is the same for synthetic documents.

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use crate::language::{mean_multiplicity, multiplicity};

/// Lengths of spans, in tokens.
const SPANS: std::ops::RangeInclusive<usize> = 16..=128;

/// Which tokens of one's own text count several times in attention, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopiesSettings {
    /// A window's mean multiplicity of filler is drawn from 1 to this, evenly on a log scale.
    pub max: f64,
    /// What counts as filler.
    pub filler: RepeatedText,
}

/// What counts as filler in a window of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RepeatedText {
    /// Every document but one, chosen at random.
    Documents,
    /// Spans of 16 to 128 tokens, each with probability ½.
    Spans,
}

/// Multiplicity of each token of a window; `documents` has the number of its tokens in each document.
pub(super) fn multiplicities(rng: &mut impl Rng, copies: CopiesSettings, documents: &[usize]) -> Vec<f32> {
    let tokens = documents.iter().sum();
    let mean = mean_multiplicity(rng, copies.max);
    let pieces: Vec<usize> = match copies.filler {
        RepeatedText::Documents => documents.to_vec(),
        RepeatedText::Spans => spans(rng, tokens),
    };
    let chosen = rng.random_range(0..pieces.len().max(1));
    let mut multiplicities = Vec::with_capacity(tokens);
    for (piece, &length) in pieces.iter().enumerate() {
        let is_filler = match copies.filler {
            RepeatedText::Documents => piece != chosen,
            RepeatedText::Spans => rng.random(),
        };
        let often = multiplicity(rng, mean);
        multiplicities.resize(multiplicities.len() + length, if is_filler { often } else { 1.0 });
    }
    multiplicities
}

/// Lengths of spans that fill a window.
fn spans(rng: &mut impl Rng, mut rest: usize) -> Vec<usize> {
    let mut spans = Vec::new();
    while rest > 0 {
        let length = rng.random_range(SPANS).min(rest);
        spans.push(length);
        rest -= length;
    }
    spans
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::{CopiesSettings, RepeatedText, multiplicities};

    #[test]
    fn all_documents_but_one_are_filler() {
        let copies = CopiesSettings { max: 8.0, filler: RepeatedText::Documents };
        let mut counted_once = [false; 3];
        for seed in 0..50 {
            let found = multiplicities(&mut ChaCha8Rng::seed_from_u64(seed), copies, &[3, 2, 3]);
            let documents = [&found[..3], &found[3..5], &found[5..]];
            assert!(documents.iter().all(|document| document.iter().all(|m| m == &document[0] && *m >= 1.0)));
            let once: Vec<usize> = (0..3).filter(|&index| documents[index][0] == 1.0).collect();
            assert_eq!(once.len(), 1, "seed {seed}");
            counted_once[once[0]] = true;
        }
        assert_eq!(counted_once, [true; 3]);
        let alone = multiplicities(&mut ChaCha8Rng::seed_from_u64(1), copies, &[3]);
        assert_eq!(alone, [1.0; 3]);
    }

    #[test]
    fn half_of_the_spans_are_filler_with_the_mean_that_is_asked_for() {
        let copies = CopiesSettings { max: 8.0, filler: RepeatedText::Spans };
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let found: Vec<f32> = (0..500).flat_map(|_| multiplicities(&mut rng, copies, &[512])).collect();
        assert_eq!(found.len(), 500 * 512);
        let filler: Vec<f32> = found.iter().copied().filter(|&m| m > 1.0).collect();
        let share = filler.len() as f64 / found.len() as f64;
        assert!((share - 0.5).abs() < 0.03, "{share}");
        // The mean of 8^u for u from 0 to 1 is 7/ln 8.
        let mean = filler.iter().map(|&m| f64::from(m)).sum::<f64>() / filler.len() as f64;
        assert!((mean - 7.0 / 8f64.ln()).abs() < 0.3, "{mean}");
    }
}
