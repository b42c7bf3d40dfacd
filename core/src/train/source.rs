//! Where training text comes from.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{Batch, Curriculum};
use crate::error::{Error, Result};
use crate::language::{DocumentMix, training_document};
use crate::tokenizer::Tokenizer;

/// Documents in a row that may miss the batch's length before the source gives up.
const MOST_MISSES: usize = 1000;

/// A source of training text.
pub trait DocumentSource {
    /// The batch of update `step` (from 0): a function of `seed` and `step` alone, so that a resumed run gets what an
    /// uninterrupted one would.
    ///
    /// # Errors
    /// If the source has no text for it.
    fn batch(&self, seed: u64, step: usize) -> Result<Batch>;

    /// Where the text of that batch is from, for a message.
    fn place(&self, seed: u64, step: usize) -> String {
        format!("batch {step} of the synthetic language with seed {seed}")
    }
}

/// The synthetic language of [`crate::language`].
#[derive(Clone)]
pub struct SyntheticDocuments {
    /// Makes ids of the text.
    pub tokenizer: Tokenizer,
    /// First token of every document, where the model has one.
    pub bos: Option<u32>,
    /// Kinds of documents.
    pub mix: DocumentMix,
    /// Lengths over the run.
    pub curriculum: Curriculum,
    /// Longest document, in tokens.
    pub longest: usize,
    /// Tokens of a batch, roughly.
    pub tokens_per_step: usize,
    /// Updates that draw from these documents, over which the curriculum goes.
    pub steps: usize,
}

impl DocumentSource for SyntheticDocuments {
    fn batch(&self, seed: u64, step: usize) -> Result<Batch> {
        let encode = |text: &str| self.tokenizer.encode(text).unwrap_or_default();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(step as u64 + 1);
        let length = self.curriculum.length(&mut rng, step, self.steps, self.longest);
        let mix = self.curriculum.mix(step, self.steps, &self.mix);
        let rows = (self.tokens_per_step / length).max(1);
        let mut batch = Batch { copies_change: mix.copies_change, ..Batch::empty(length) };
        let mut misses = 0;
        while batch.rows < rows {
            let document = training_document(&mut rng, length, &mix, self.bos, &encode);
            // A few documents are one sentence shorter than the length.
            if document.ids.len() == length {
                batch.push(document);
                misses = 0;
            } else {
                misses += 1;
                if misses > MOST_MISSES {
                    return Err(Error::NoDocument { length, step });
                }
            }
        }
        if mix.max_copies <= 1.0 {
            batch.multiplicity.clear();
        }
        Ok(batch)
    }
}
