//! Common words extraction: which ten words of a list occur more often than the others.

use rand::seq::{SliceRandom, index};
use rand_chacha::ChaCha8Rng;

use super::{Sample, words};

/// Common words in a list.
const COMMON: usize = 10;

/// The lengths of the lists, and how often their words occur.
pub(super) struct CommonWords {
    example: Repeats,
    asked: [usize; 2],
}

struct Repeats {
    words: usize,
    /// How often a common word occurs, and how often any other word.
    times: [usize; 2],
}

impl CommonWords {
    pub(super) fn new(length: usize) -> Self {
        if length < 4096 {
            Self { example: Repeats { words: 20, times: [3, 1] }, asked: [6, 1] }
        } else {
            Self { example: Repeats { words: 40, times: [10, 3] }, asked: [30, 3] }
        }
    }

    pub(super) fn sample(&self, size: usize, rng: &mut ChaCha8Rng) -> Sample {
        let example = list(self.example.words, self.example.times, rng);
        // The question asks for ten words, so the list has at least ten.
        let asked = list(size.max(COMMON), self.asked, rng);
        let answer = numbered(example.outputs.iter().map(String::as_str));
        let answered = [&example.message, &example.answer_prefix, " ", &answer, "\n"].concat();
        Sample { message: answered + &asked.message, ..asked }
    }
}

/// A list of `size` different words. If the vocabulary has fewer, its words are used again with a number appended.
fn list(size: usize, [common, other]: [usize; 2], rng: &mut ChaCha8Rng) -> Sample {
    let known = words::ALL.len();
    let word = |at: usize| match at / known {
        0 => words::ALL[at].to_owned(),
        round => format!("{}{}", words::ALL[at % known], round + 1),
    };
    let drawn: Vec<String> = index::sample(rng, known * size.div_ceil(known), size).into_iter().map(word).collect();
    let mut text: Vec<&str> = Vec::new();
    for (at, word) in drawn.iter().enumerate() {
        text.extend(std::iter::repeat_n(word.as_str(), if at < COMMON { common } else { other }));
    }
    text.shuffle(rng);
    let context = numbered(text.into_iter());
    Sample {
        message: format!(
            "Below is a numbered list of words. In these words, some appear more often than others. Memorize the ones that appear most often.\n{context}\nQuestion: What are the 10 most common words in the above list?"
        ),
        answer_prefix: " Answer: The top 10 words that appear most often in the list are:".to_owned(),
        outputs: drawn[..COMMON].to_vec(),
    }
}

/// `1. word 2. word …`
fn numbered<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.enumerate().map(|(at, word)| format!("{}. {word}", at + 1)).collect::<Vec<_>>().join(" ")
}
