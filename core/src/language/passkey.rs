//! The passkey of Wang et al. (2024, arXiv 2404.12224): a number hidden in a text of repeated sentences.

use rand::{Rng, RngExt};

use super::key::Split;

/// What the text begins with.
pub const INTRODUCTION: &str = "There is an important info hidden inside a lot of irrelevant text. Find it and memorize them. \
     I will quiz you about the important information there.";

/// What is asked after it.
pub const QUESTION: &str = "What is the pass key? The pass key is";

/// Digits of a pass key.
pub const DIGITS: usize = 5;

/// The filler: these sentences are repeated.
const GRASS: [&str; 5] =
    ["The grass is green.", "The sky is blue.", "The sun is yellow.", "Here we go.", "There and back again."];

/// The needle.
pub fn sentence(pass_key: &str) -> String {
    format!("The pass key is {pass_key}. Remember it. {pass_key} is the pass key.")
}

/// A random pass key. One number in eight never occurs in training.
pub fn random(rng: &mut impl Rng, split: Split) -> String {
    loop {
        let number: u32 = rng.random_range(0..10u32.pow(DIGITS as u32));
        if number.is_multiple_of(8) == (split == Split::Evaluation) {
            return format!("{number:0DIGITS$}");
        }
    }
}

/// Sentences of the filler, of at most `budget` tokens together; the tokens left are fewer than the next sentence has.
pub fn grass(budget: usize, count: &impl Fn(&str) -> usize) -> Vec<String> {
    let mut left = budget;
    let mut sentences = Vec::new();
    for text in GRASS.iter().cycle() {
        // A tokenizer that drops unknown words gives 0 tokens; the loop must still end.
        let tokens = count(text).max(1);
        if tokens > left {
            break;
        }
        left -= tokens;
        sentences.push((*text).to_owned());
    }
    sentences
}

/// Everything that is said about pass keys, for a tokenizer.
pub(super) fn corpus() -> Vec<String> {
    let mut corpus = vec![format!(" {INTRODUCTION}"), format!(" {QUESTION}"), format!(" {}", sentence("01234567890"))];
    corpus.extend(GRASS.iter().map(|text| format!(" {text}")));
    corpus
}
