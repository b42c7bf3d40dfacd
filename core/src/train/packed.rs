//! Text of any kind, packed: windows of the training context out of a long row of tokens.

use std::ops::Range;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::copies::{CopiesSettings, multiplicities};
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

    /// Where documents begin, of those that begin in the range, in order.
    fn documents(&self, range: Range<u64>) -> Vec<u64>;
}

/// Windows of `context` tokens in a shuffled order, each once before any comes again. A window may hold the end of one document and
/// the beginning of the next.
pub struct PackedText<T> {
    /// The text.
    pub text: T,
    /// Tokens of a window.
    pub context: usize,
    /// Tokens of a batch, roughly.
    pub tokens_per_step: usize,
    /// Whether tokens see those of their own document alone; otherwise those of earlier ones in the window too.
    pub mask_documents: bool,
    /// Tokens that count several times in attention, and behind which positions skip what their copies would take.
    pub copies: Option<CopiesSettings>,
}

/// Streams of random numbers from here on are those of windows; the others are of documents.
const WINDOWS: u64 = 1 << 63;

impl<T: TokenText> PackedText<T> {
    /// For each row of a batch the index of the draw and that of its window, out of `windows` windows.
    fn windows(&self, seed: u64, step: usize, windows: u64) -> impl Iterator<Item = (u64, u64)> {
        let rows = (self.tokens_per_step / self.context).max(1) as u64;
        let draws = step as u64 * rows..(step as u64 + 1) * rows;
        draws.map(move |drawn| (drawn, Shuffled::new(windows, seed, drawn / windows).at(drawn % windows)))
    }

    /// Tokens that a window has of each of its documents.
    fn lengths_of_documents(&self, window: Range<u64>) -> Vec<usize> {
        let inside = self.text.documents(window.start + 1..window.end);
        let starts: Vec<u64> = [window.start].into_iter().chain(inside).chain([window.end]).collect();
        starts.windows(2).map(|ends| (ends[1] - ends[0]) as usize).collect()
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
        let mut ids = Vec::with_capacity(self.tokens_per_step);
        let (mut multiplicity, mut document_starts) = (Vec::new(), Vec::new());
        for (drawn, window) in self.windows(seed, step, windows) {
            let range = window * context..(window + 1) * context;
            let documents = self.lengths_of_documents(range.clone());
            if let Some(copies) = self.copies {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                rng.set_stream(WINDOWS | drawn);
                multiplicity.extend(multiplicities(&mut rng, copies, &documents));
            }
            if self.mask_documents {
                let starts = documents.iter().scan(0, |end, length| Some(std::mem::replace(end, *end + length)));
                let of_tokens = starts.zip(&documents).flat_map(|(start, &length)| std::iter::repeat_n(start, length));
                document_starts.extend(of_tokens);
            }
            ids.extend(self.text.tokens(range)?);
        }
        Ok(Batch { multiplicity, document_starts, ..Batch::plain(ids, self.context) })
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

    use super::super::copies::{CopiesSettings, RepeatedText};
    use super::{Batch, DocumentSource, PackedText, TokenText};

    /// Tokens that say where they are, in documents of 14.
    struct Counting(u64);

    impl TokenText for Counting {
        fn len(&self) -> u64 {
            self.0
        }

        fn tokens(&self, range: Range<u64>) -> crate::Result<Vec<u32>> {
            Ok(range.map(|token| token as u32).collect())
        }

        fn documents(&self, range: Range<u64>) -> Vec<u64> {
            range.filter(|token| token.is_multiple_of(14)).collect()
        }
    }

    #[test]
    fn each_window_comes_once_in_a_round_and_a_step_is_a_function_of_its_number() {
        let whole = |tokens| PackedText {
            text: Counting(tokens),
            context: 10,
            tokens_per_step: 40,
            mask_documents: false,
            copies: None,
        };
        let source = whole(1003);
        let steps: Vec<_> = (0..25).map(|step| source.batch(3, step).unwrap()).collect();
        let mut firsts: Vec<u32> = steps.iter().flat_map(|batch| batch.ids.iter().step_by(10).copied()).collect();
        assert!(steps.iter().all(|batch| (batch.rows, batch.length) == (4, 10)));
        firsts.sort_unstable();
        assert!(firsts.into_iter().eq((0..1000).step_by(10)), "100 windows in 25 steps");
        assert_eq!(source.batch(3, 7).unwrap(), steps[7]);
        assert_ne!(source.batch(4, 7).unwrap(), steps[7]);
        // The next round has another order.
        assert_ne!(source.batch(3, 25).unwrap(), steps[0]);
        // Copies change no token, but how often tokens count.
        let copies = Some(CopiesSettings { max: 8.0, filler: RepeatedText::Spans });
        let counted = PackedText { copies, ..whole(1003) };
        let (plain, counted) = (source.batch(3, 25).unwrap(), counted.batch(3, 25).unwrap());
        assert_eq!((plain.multiplicity.len(), counted.multiplicity.len()), (0, 40));
        assert_eq!(Batch { multiplicity: Vec::new(), ..counted }, plain);
        // A mask says where the document of each token begins: here tokens 0 and 14.
        let masked = PackedText { mask_documents: true, ..whole(20) }.batch(3, 0).unwrap();
        let of_window = |first: u32| masked.ids.chunks(10).position(|ids| ids[0] == first).unwrap() * 10;
        assert_eq!(masked.document_starts[of_window(10)..][..10], [0, 0, 0, 0, 4, 4, 4, 4, 4, 4]);
        assert_eq!(masked.document_starts[of_window(0)..][..10], [0; 10]);
        assert!(whole(9).batch(1, 0).unwrap_err().to_string().contains("9 tokens, fewer than one window of 10"));
    }
}
