//! Lengths and kinds of documents over a run: short and easy ones first.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::language::DocumentMix;
use crate::left_out::is_default;

/// How the documents' length grows. Heads that copy form at short lengths within a tenth of the tokens that they need at a
/// fixed long one, and keep working at longer ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curriculum {
    /// Shortest document, in tokens.
    pub min_length: usize,
    /// Share of the steps over which the longest grows to the context.
    pub grow: f64,
    /// The documents at the start of a run; without this field, they are the recipe's mix from the start.
    #[serde(default)]
    pub easy: Option<EasyStart>,
    /// Share of batches at the whole context after the growth; the lengths of the others are log-uniform.
    pub at_context: f64,
}

/// Easy documents at the start: a few facts in their short form, each stated many times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EasyStart {
    /// Share of the steps after which the documents are the recipe's mix; from half of it on they change gradually.
    pub until: f64,
    /// Share of documents of nothing but facts.
    pub facts: f64,
    /// Most needles in a document.
    pub max_needles: usize,
    /// Share of documents of repeated lists.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lists: f64,
    /// Whether keys share words from half of the time on only. A model that knows keys by one of their words learns the
    /// other quickly; one that had to learn both at once had learned neither after twice the time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unrelated_first: bool,
}

impl Curriculum {
    /// Documents of the whole context from the first step on.
    pub(super) fn at_context() -> Self {
        Self { min_length: 16, grow: 0.0, easy: None, at_context: 1.0 }
    }

    /// What the documents of step `step` of `steps` are drawn from.
    ///
    /// Runs that began with a few facts, with the value next to the key, learned within 4 M tokens to find values by
    /// their keys, also in longer forms and among more needles. Runs that did not begin so had not learned it when they
    /// were stopped (models/README.md).
    pub(super) fn mix(&self, step: usize, steps: usize, mix: &DocumentMix) -> DocumentMix {
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
            decoys: blend(0.0, mix.decoys),
            needles_only: blend(0.0, mix.needles_only),
            tracking: blend(0.0, mix.tracking),
            latest: blend(0.0, mix.latest),
            lists: blend(easy.lists, mix.lists),
            sharing: if easy.unrelated_first && progress < 0.5 { 0.0 } else { mix.sharing },
            ..mix.clone()
        }
    }

    /// Length of the documents of step `step` of `steps`, at most `context` tokens.
    pub(super) fn length(&self, rng: &mut ChaCha8Rng, step: usize, steps: usize, context: usize) -> usize {
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
