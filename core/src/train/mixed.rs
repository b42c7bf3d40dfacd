//! Several sources of text in one run.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Batch, DocumentSource};
use crate::error::Result;

/// A source of text, wherever it is from.
pub type AnySource = Box<dyn DocumentSource + Send>;

/// Every update has text of one source, drawn with the sources' weights.
pub struct MixedText {
    sources: Vec<AnySource>,
    /// The source of each update, and how many updates had that source before.
    turns: Vec<(usize, usize)>,
}

impl MixedText {
    /// Sources with their weights, for a run of so many updates.
    pub fn new(sources: Vec<(AnySource, f64)>, seed: u64, steps: usize) -> Self {
        let (sources, weights): (Vec<_>, Vec<f64>) = sources.into_iter().unzip();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        // Apart from the streams of the documents, which are the updates' numbers.
        rng.set_stream(u64::MAX);
        let mut before = vec![0; sources.len()];
        let sum: f64 = weights.iter().sum();
        let turn = |_| {
            let mut drawn = sum * rng.random::<f64>();
            let source = weights.iter().position(|weight| {
                drawn -= weight;
                drawn < 0.0
            });
            let source = source.unwrap_or(weights.len() - 1);
            before[source] += 1;
            (source, before[source] - 1)
        };
        Self { turns: (0..steps).map(turn).collect(), sources }
    }
}

impl DocumentSource for MixedText {
    fn batch(&self, seed: u64, step: usize) -> Result<Batch> {
        let (source, own_step) = self.turns[step];
        self.sources[source].batch(seed, own_step)
    }

    fn place(&self, seed: u64, step: usize) -> String {
        let (source, own_step) = self.turns[step];
        format!("{} of source {source}", self.sources[source].place(seed, own_step))
    }
}

#[cfg(test)]
mod tests {
    use super::{AnySource, Batch, DocumentSource, MixedText};

    /// Says which source it is and which of its updates.
    struct Numbered(u32);

    impl DocumentSource for Numbered {
        fn batch(&self, _: u64, step: usize) -> crate::Result<Batch> {
            Ok(Batch::plain(vec![self.0, step as u32], 2))
        }
    }

    #[test]
    fn sources_take_turns_by_their_weights_and_go_on_where_they_were() {
        let mixed = || {
            let sources: Vec<(AnySource, f64)> = vec![(Box::new(Numbered(0)), 3.0), (Box::new(Numbered(1)), 1.0)];
            MixedText::new(sources, 5, 4000)
        };
        let (whole, again) = (mixed(), mixed());
        let mut next = [0, 0];
        for step in 0..4000 {
            let ids = whole.batch(5, step).unwrap().ids;
            assert_eq!(ids[1], next[ids[0] as usize]);
            next[ids[0] as usize] += 1;
            assert_eq!(again.batch(5, step).unwrap().ids, ids);
        }
        assert!(next[1].abs_diff(1000) < 100, "{next:?}");
    }
}
