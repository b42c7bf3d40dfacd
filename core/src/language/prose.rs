//! The haystack: readable prose of sentences whose length in words can be chosen.

use rand::{Rng, RngExt, seq::IndexedRandom};

use super::words::{ADJECTIVES, ADVERBS, DETERMINERS, NOUNS, OPENINGS, PREPOSITIONS, VERBS};

/// Shortest sentence: determiner, noun, verb.
pub const MIN_WORDS: usize = 3;
/// Longest sentence that is drawn.
pub const MAX_WORDS: usize = 12;

/// One sentence of exactly `words` words (at least [`MIN_WORDS`]) and a full stop.
///
/// Which verbs a noun takes is fixed (a third of all), so that there is something to learn
/// and perplexity on the prose means something.
pub fn sentence(rng: &mut impl Rng, words: usize) -> String {
    assert!(words >= MIN_WORDS, "a sentence has at least {MIN_WORDS} words");
    let mut left = words - MIN_WORDS;
    let mut text: Vec<&str> = Vec::with_capacity(words);
    if left > 0 && rng.random_bool(0.25) {
        text.push(pick(rng, &OPENINGS));
        left -= 1;
    }
    let subject = noun_phrase(rng, &mut text, &mut left);
    text.push(verb_of(rng, subject));
    while left > 0 {
        match rng.random_range(0..4) {
            0 if left >= 2 => {
                text.push("and");
                text.push(verb_of(rng, subject));
                left -= 2;
            }
            // Two adverbs in a row read badly, so the object phrase comes first where it fits.
            1 | 2 if left >= 3 => {
                text.push(pick(rng, &PREPOSITIONS));
                left -= 3;
                noun_phrase(rng, &mut text, &mut left);
            }
            3 if left <= 2 || rng.random_bool(0.2) => {
                text.push(pick(rng, &ADVERBS));
                left -= 1;
            }
            _ => {}
        }
    }
    let mut sentence = text.join(" ");
    sentence[..1].make_ascii_uppercase();
    sentence.push('.');
    sentence
}

/// Determiner, perhaps an adjective if `left` allows, noun. Returns the noun's index.
fn noun_phrase(rng: &mut impl Rng, text: &mut Vec<&'static str>, left: &mut usize) -> usize {
    text.push(pick(rng, &DETERMINERS));
    if *left > 0 && rng.random_bool(0.4) {
        text.push(pick(rng, &ADJECTIVES));
        *left -= 1;
    }
    let noun = rng.random_range(0..NOUNS.len());
    text.push(NOUNS[noun]);
    noun
}

/// A verb that this noun takes.
fn verb_of(rng: &mut impl Rng, noun: usize) -> &'static str {
    let step = rng.random_range(0..VERBS.len() / 3);
    VERBS[(noun * 7 + step * 3) % VERBS.len()]
}

fn pick(rng: &mut impl Rng, words: &[&'static str]) -> &'static str {
    words.choose(rng).copied().unwrap_or_default()
}

/// Prose of at most `budget` tokens, and exactly `budget` where `count` gives one token a word and
/// one for the full stop. `count` returns the tokens of a sentence that follows a space.
pub fn prose(rng: &mut impl Rng, budget: usize, count: &impl Fn(&str) -> usize) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut left = budget;
    // A sentence takes MIN_WORDS + 1 tokens at least: never leave a rest smaller than that.
    let shortest = MIN_WORDS + 1;
    while left >= shortest {
        let longest = if left <= MAX_WORDS + 1 { left - 1 } else { (left - shortest - 1).min(MAX_WORDS) };
        let words = if left <= MAX_WORDS + 1 { longest } else { rng.random_range(MIN_WORDS..=longest) };
        let Some((text, tokens)) = (MIN_WORDS..=words).rev().find_map(|words| {
            let text = sentence(rng, words);
            // A tokenizer that drops what it does not know must not go on for ever.
            let tokens = count(&text).max(1);
            (tokens <= left).then_some((text, tokens))
        }) else {
            break;
        };
        left -= tokens;
        sentences.push(text);
    }
    sentences
}
