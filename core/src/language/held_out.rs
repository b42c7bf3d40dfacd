//! Documents that training does not draw: for perplexity, for fitting temperatures and factors, and for probes.
//!
//! They have training's keys, but come from seeds that training does not use.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{Document, DocumentMix, training_document};

/// What held-out documents are for. Committed results depend on each one's random numbers and mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldOutUse {
    /// Temperatures, LongRoPE's factors and DoPE's heads at an extension factor: a series of retrieval documents.
    Fitting {
        /// The extension factor s.
        factor: usize,
    },
    /// Perplexity: one retrieval document an index, so that shards of the texts draw the same ones.
    Perplexity {
        /// Index of the text.
        index: usize,
    },
    /// Gradients of the positional biases: the default mix.
    BiasGradients,
}

impl HeldOutUse {
    fn mix(self) -> DocumentMix {
        match self {
            Self::Fitting { .. } => DocumentMix { repeat: 0.0, facts: 0.0, ..DocumentMix::default() },
            Self::Perplexity { .. } => {
                DocumentMix { repeat: 0.0, facts: 0.0, terse: 0.0, full: 0.0, ..DocumentMix::default() }
            }
            Self::BiasGradients => DocumentMix::default(),
        }
    }

    /// Seeds of training are small numbers, and their streams are above 0.
    fn rng(self, seed: u64) -> ChaCha8Rng {
        match self {
            Self::Fitting { factor } => ChaCha8Rng::seed_from_u64(seed ^ (0x5ca1e << 40) ^ factor as u64),
            Self::Perplexity { index } => {
                let mut rng = ChaCha8Rng::seed_from_u64(seed ^ (0x99_1eaf << 32));
                rng.set_stream(index as u64);
                rng
            }
            Self::BiasGradients => ChaCha8Rng::seed_from_u64(seed),
        }
    }
}

/// An endless series of documents of `length` tokens; a function of its arguments alone.
pub fn held_out_documents<'a>(
    purpose: HeldOutUse,
    seed: u64,
    length: usize,
    bos: Option<u32>,
    encode: &'a impl Fn(&str) -> Vec<u32>,
) -> impl Iterator<Item = Document> + 'a {
    let (mut rng, mix) = (purpose.rng(seed), purpose.mix());
    std::iter::repeat_with(move || training_document(&mut rng, length, &mix, bos, encode))
}
