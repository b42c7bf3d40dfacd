//! Frequent words extraction: the three words that come most often in a text of coded words, whose counts follow a zeta
//! distribution. The most frequent of all is noise, `...`.

use std::f64::consts::PI;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::{Sample, words};

/// Exponent of the distribution.
const ALPHA: i32 = 2;
const LETTERS: usize = 6;
const NOISE: &str = "...";

/// The coded words of a length.
pub(super) struct FrequentWords {
    /// From the most frequent on; the first is noise.
    vocabulary: Vec<String>,
}

impl FrequentWords {
    pub(super) fn new(length: usize, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut vocabulary = vec![NOISE.to_owned()];
        while vocabulary.len() < (length / 50).max(4) {
            let word = words::letters(b'a', LETTERS, &mut rng);
            if !vocabulary.contains(&word) {
                vocabulary.push(word);
            }
        }
        Self { vocabulary }
    }

    pub(super) fn sample(&self, size: usize, rng: &mut ChaCha8Rng) -> Sample {
        // Which word has which rank is drawn anew for each question.
        let mut ranked: Vec<&str> = self.vocabulary[1..].iter().map(String::as_str).collect();
        ranked.shuffle(rng);
        ranked.insert(0, NOISE);
        let zeta = PI * PI / 6.0;
        let mut text: Vec<&str> = Vec::new();
        for (rank, word) in (1..).zip(&ranked) {
            let times = (size as f64 * f64::from(rank).powi(-ALPHA) / zeta) as usize;
            text.extend(std::iter::repeat_n(*word, times));
        }
        text.shuffle(rng);
        let context = text.join(" ");
        Sample {
            message: format!(
                "Read the following coded text and track the frequency of each coded word. Find the three most frequently appeared coded words. {context}\nQuestion: Do not provide any explanation. Please ignore the dots '....'. What are the three most frequently appeared words in the above coded text?"
            ),
            answer_prefix: " Answer: According to the coded text above, the three most frequently appeared words are:"
                .to_owned(),
            outputs: ranked[1..4].iter().map(|&word| word.to_owned()).collect(),
        }
    }
}
