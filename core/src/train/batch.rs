//! Batches of synthetic documents, with lengths that start short.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::language::{DocumentMix, training_document};

/// How the documents' length grows. Heads that copy form at short lengths within a tenth of the tokens
/// that they need at a fixed long one, and then hold at longer ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curriculum {
    /// Shortest document, in tokens.
    pub min_length: usize,
    /// Share of the steps over which the longest grows to the context.
    pub grow: f64,
    /// What the run begins with; left out, documents are the recipe's mix from the start.
    #[serde(default)]
    pub easy: Option<Easy>,
    /// Once grown, share of batches at the whole context; the others are log-uniform.
    pub at_context: f64,
}

/// Easy documents at the start: a few facts, told tersely and over and over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Easy {
    /// Share of the steps after which the documents are the recipe's mix; from half of it on they change over.
    pub until: f64,
    /// Share of documents of facts told over and over.
    pub facts: f64,
    /// Most needles in a document.
    pub max_needles: usize,
}

impl Curriculum {
    /// What the documents of step `step` of `steps` are drawn from.
    ///
    /// Runs that began with a few facts, the value right behind the key, bound keys to values within 4 M tokens, and
    /// that carried over to longer forms and more needles; runs without had not when they were stopped
    /// (models/README.md).
    fn mix(&self, step: usize, steps: usize, mix: &DocumentMix) -> DocumentMix {
        let Some(easy) = &self.easy else { return mix.clone() };
        let progress = step as f64 / (easy.until * steps as f64).max(1.0);
        let share = (2.0 - 2.0 * progress).clamp(0.0, 1.0);
        let blend = |easy: f64, value: f64| share * easy + (1.0 - share) * value;
        DocumentMix {
            terse: blend(1.0, mix.terse),
            facts: blend(easy.facts, mix.facts),
            max_needles: blend(easy.max_needles as f64, mix.max_needles as f64).round() as usize,
            multi_query: blend(0.0, mix.multi_query),
            multi_value: blend(0.0, mix.multi_value),
            ..mix.clone()
        }
    }

    /// Length of the documents of step `step` of `steps`, at most `context` tokens.
    fn length(&self, rng: &mut ChaCha8Rng, step: usize, steps: usize, context: usize) -> usize {
        let progress = step as f64 / steps.max(1) as f64;
        let (least, most) = (self.min_length.min(context) as f64, context as f64);
        if progress >= self.grow && rng.random_bool(self.at_context) {
            return context;
        }
        let grown = if self.grow > 0.0 { (progress / self.grow).min(1.0) } else { 1.0 };
        let longest = least + (most - least) * grown;
        let drawn = (least.ln() + (longest.ln() - least.ln()) * rng.random::<f64>()).exp();
        (drawn as usize).clamp(least as usize, context)
    }
}

/// Documents of one length, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// `rows · length` ids.
    pub ids: Vec<u32>,
    /// `rows · length` loss weights of the ids.
    pub weights: Vec<f32>,
    /// `rows · length` copies of the ids that attention counts; empty where each counts once.
    pub copies: Vec<f32>,
    /// Documents.
    pub rows: usize,
    /// Tokens of a document.
    pub length: usize,
}

impl Batch {
    /// The rows in `parts` parts of near equal size, without empty ones: for threads that share a step.
    pub fn split(&self, parts: usize) -> Vec<Self> {
        let rows = self.rows.div_ceil(parts.max(1));
        let size = rows * self.length;
        let ids = self.ids.chunks(size).enumerate();
        ids.map(|(part, ids)| Self {
            ids: ids.to_vec(),
            weights: self.weights[part * size..][..ids.len()].to_vec(),
            copies: self.copies.iter().skip(part * size).take(ids.len()).copied().collect(),
            rows: ids.len() / self.length,
            length: self.length,
        })
        .collect()
    }

    /// Sum of the loss weights of all predicted tokens: what the loss is divided by.
    pub fn total_weight(&self) -> f32 {
        self.weights.chunks(self.length).flat_map(|row| &row[1..]).sum()
    }
}

/// The batch of step `step`: about `tokens` tokens, a function of `seed` and `step` alone, so that a resumed
/// run sees what an uninterrupted one would.
#[allow(clippy::too_many_arguments, reason = "each is one plain number or setting of the recipe")]
pub fn batch(
    seed: u64,
    step: usize,
    steps: usize,
    tokens: usize,
    context: usize,
    curriculum: &Curriculum,
    mix: &DocumentMix,
    bos: u32,
    encode: &impl Fn(&str) -> Vec<u32>,
) -> Batch {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(step as u64 + 1);
    let length = curriculum.length(&mut rng, step, steps, context);
    let mut batch = Batch { ids: Vec::new(), weights: Vec::new(), copies: Vec::new(), rows: 0, length };
    let mix = &curriculum.mix(step, steps, mix);
    let rows = (tokens / length).max(1);
    while batch.rows < rows {
        let document = training_document(&mut rng, length, mix, bos, encode);
        // A rare document ends a sentence short of the length; rows of a batch are alike.
        if document.ids.len() == length {
            batch.ids.extend(document.ids);
            batch.weights.extend(document.weights);
            if mix.max_copies > 1.0 {
                batch.copies.extend(document.copies);
            }
            batch.rows += 1;
        }
    }
    batch
}

#[cfg(test)]
mod tests {
    use super::{Batch, Curriculum, Easy, batch};
    use crate::language::DocumentMix;

    /// One token a word or full stop; 1 for the word that only RULER's forms have.
    fn encode(text: &str) -> Vec<u32> {
        text.replace('.', " .").split_whitespace().map(|word| u32::from(word == "special")).collect()
    }

    fn at(step: usize) -> Batch {
        let easy = Easy { until: 0.5, facts: 0.8, max_needles: 3 };
        let curriculum = Curriculum { min_length: 32, grow: 0.4, easy: Some(easy), at_context: 0.5 };
        batch(1, step, 100, 2048, 128, &curriculum, &DocumentMix::default(), 0, &encode)
    }

    #[test]
    fn documents_begin_short_and_terse_and_never_exceed_the_context() {
        let has_ruler = |step: usize| at(step).ids.contains(&1);
        assert!((0..25).all(|step| at(step).length <= 32 + 96 * 25 / 40 && !has_ruler(step)));
        assert!((60..90).all(has_ruler));
        let late: Vec<usize> = (60..90).map(|step| at(step).length).collect();
        assert!(late.iter().all(|&length| length <= 128) && late.contains(&128) && late.iter().any(|&l| l < 128));
    }

    #[test]
    fn a_step_always_gives_the_same_batch() {
        assert_eq!(at(40), at(40));
        assert_ne!(at(40), at(41));
    }
}
