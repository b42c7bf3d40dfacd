//! Text of any kind, packed: windows of the training context out of a long row of tokens.

use std::ops::Range;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::copies::multiplicities;
use super::recipe::CopiesSettings;
use super::{Batch, DocumentSource, Shuffled};
use crate::error::{Error, Result};

/// Tokens of all documents, one behind the other.
pub trait TokenText {
    /// Number of tokens.
    fn len(&self) -> u64;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Some of them.
    ///
    /// # Errors
    /// If they cannot be read.
    fn tokens(&self, range: Range<u64>) -> Result<Vec<u32>>;
}

/// Windows of `context` tokens in a shuffled order, each once before any comes again. A window may hold the end of one document and
/// the beginning of the next, which see each other.
pub struct PackedText<T> {
    /// The text.
    pub text: T,
    /// Tokens of a window.
    pub context: usize,
    /// Tokens of a batch, roughly.
    pub tokens_per_step: usize,
    /// The last token of every document, where they have one.
    pub end: Option<u32>,
    /// Tokens that count several times in attention.
    pub copies: Option<CopiesSettings>,
}

/// Streams of random numbers from here on are those of windows; the others are of documents.
const WINDOWS: u64 = 1 << 63;

impl<T: TokenText> PackedText<T> {
    /// The windows of a batch, of so many in all: the number of the draw, and that of the window.
    fn windows(&self, seed: u64, step: usize, windows: u64) -> impl Iterator<Item = (u64, u64)> {
        let rows = (self.tokens_per_step / self.context).max(1) as u64;
        let draws = step as u64 * rows..(step as u64 + 1) * rows;
        draws.map(move |drawn| (drawn, Shuffled::new(windows, seed, drawn / windows).at(drawn % windows)))
    }
}

impl<T: TokenText> DocumentSource for PackedText<T> {
    fn batch(&self, seed: u64, step: usize) -> Result<Batch> {
        let context = self.context as u64;
        let windows = self.text.len() / context;
        if windows == 0 {
            return Err(Error::Recipe(format!(
                "the text has {} tokens, fewer than one window of {context}; prepare more text",
                self.text.len()
            )));
        }
        let (mut ids, mut multiplicity) = (Vec::with_capacity(self.tokens_per_step), Vec::new());
        for (drawn, window) in self.windows(seed, step, windows) {
            let tokens = self.text.tokens(window * context..(window + 1) * context)?;
            if let Some(copies) = self.copies {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                rng.set_stream(WINDOWS | drawn);
                multiplicity.extend(multiplicities(&mut rng, copies, &tokens, self.end));
            }
            ids.extend(tokens);
        }
        Ok(Batch { multiplicity, ..Batch::plain(ids, self.context) })
    }

    fn place(&self, seed: u64, step: usize) -> String {
        let context = self.context as u64;
        let drawn = self.windows(seed, step, (self.text.len() / context).max(1));
        let tokens: Vec<String> =
            drawn.map(|(_, window)| format!("{} to {}", window * context, (window + 1) * context)).collect();
        format!("tokens {}", tokens.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::super::recipe::{CopiesSettings, Filler};
    use super::{Batch, DocumentSource, PackedText, TokenText};

    /// Tokens that say where they are.
    struct Counting(u64);

    impl TokenText for Counting {
        fn len(&self) -> u64 {
            self.0
        }

        fn tokens(&self, range: Range<u64>) -> crate::Result<Vec<u32>> {
            Ok(range.map(|token| token as u32).collect())
        }
    }

    #[test]
    fn each_window_comes_once_in_a_round_and_a_step_is_a_function_of_its_number() {
        let source = PackedText { text: Counting(1003), context: 10, tokens_per_step: 40, end: None, copies: None };
        let steps: Vec<_> = (0..25).map(|step| source.batch(3, step).unwrap()).collect();
        let mut firsts: Vec<u32> = steps.iter().flat_map(|batch| batch.ids.iter().step_by(10).copied()).collect();
        assert!(steps.iter().all(|batch| (batch.rows, batch.length) == (4, 10)));
        firsts.sort_unstable();
        assert!(firsts.into_iter().eq((0..1000).step_by(10)), "100 windows in 25 steps");
        assert_eq!(source.batch(3, 7).unwrap(), steps[7]);
        assert_ne!(source.batch(4, 7).unwrap(), steps[7]);
        // The next round has another order.
        assert_ne!(source.batch(3, 25).unwrap(), steps[0]);
        // Copies change nothing but how often tokens count.
        let copies = Some(CopiesSettings { max: 8.0, filler: Filler::Spans });
        let counted = PackedText { text: Counting(1003), context: 10, tokens_per_step: 40, end: None, copies };
        let (plain, counted) = (source.batch(3, 25).unwrap(), counted.batch(3, 25).unwrap());
        assert_eq!((plain.multiplicity.len(), counted.multiplicity.len()), (0, 40));
        assert_eq!(Batch { multiplicity: Vec::new(), ..counted }, plain);
        let short = PackedText { text: Counting(9), context: 10, tokens_per_step: 40, end: None, copies: None };
        assert!(short.batch(1, 0).unwrap_err().to_string().contains("9 tokens, fewer than one window of 10"));
    }
}
