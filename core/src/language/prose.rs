//! The haystack: readable prose of sentences whose length in words can be chosen.

use rand::{Rng, RngExt, seq::IndexedRandom};

use super::decoys::Decoys;
use super::words::{ADJECTIVES, ADVERBS, DETERMINERS, NOUNS, OPENINGS, PREPOSITIONS, VERBS};

/// Shortest sentence: determiner, noun, verb.
pub const MIN_WORDS: usize = 3;
/// Longest sentence that is drawn, but for a decoy's value.
const MAX_WORDS: usize = 12;

/// One sentence of exactly `words` words (at least [`MIN_WORDS`]) and a full stop.
///
/// Which verbs a noun takes is fixed (a third of all), so that there is something to learn
/// and perplexity on the prose means something.
pub fn sentence(rng: &mut impl Rng, words: usize) -> String {
    sentence_with(rng, words, None)
}

/// As [`sentence`]; of a decoy each half of a key and each digit counts as a word.
fn sentence_with(rng: &mut impl Rng, words: usize, decoys: Option<&Decoys>) -> String {
    assert!(words >= MIN_WORDS, "a sentence has at least {MIN_WORDS} words");
    let mut left = words - MIN_WORDS;
    let mut text = String::new();
    if left > 0 && rng.random_bool(0.25) {
        push(&mut text, pick(rng, &OPENINGS));
        left -= 1;
    }
    let subject = noun_phrase(rng, &mut text, &mut left, decoys);
    push(&mut text, verb_of(rng, subject));
    while left > 0 {
        if let Some((value, tokens)) = decoys.and_then(|decoys| decoys.value(rng, left - 1)) {
            push(&mut text, pick(rng, &PREPOSITIONS));
            push(&mut text, &value);
            left -= 1 + tokens;
            continue;
        }
        match rng.random_range(0..4) {
            0 if left >= 2 => {
                push(&mut text, "and");
                push(&mut text, verb_of(rng, subject));
                left -= 2;
            }
            // Two adverbs in a row read badly, so the object phrase comes first where it fits.
            1 | 2 if left >= 3 => {
                push(&mut text, pick(rng, &PREPOSITIONS));
                left -= 3;
                noun_phrase(rng, &mut text, &mut left, decoys);
            }
            3 if left <= 2 || rng.random_bool(0.2) => {
                push(&mut text, pick(rng, &ADVERBS));
                left -= 1;
            }
            _ => {}
        }
    }
    text[..1].make_ascii_uppercase();
    text.push('.');
    text
}

/// Determiner, perhaps an adjective if `left` allows, noun. Returns the noun's index.
fn noun_phrase(rng: &mut impl Rng, text: &mut String, left: &mut usize, decoys: Option<&Decoys>) -> usize {
    push(text, pick(rng, &DETERMINERS));
    if *left > 0
        && let Some(key) = decoys.and_then(|decoys| decoys.key(rng))
    {
        push(text, &key.to_string());
        *left -= 1;
        return key.index();
    }
    if *left > 0 && rng.random_bool(0.4) {
        push(text, decoys.and_then(|decoys| decoys.adjective(rng)).unwrap_or_else(|| pick(rng, &ADJECTIVES)));
        *left -= 1;
    }
    let noun = rng.random_range(0..NOUNS.len());
    push(text, NOUNS[noun]);
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

fn push(text: &mut String, word: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(word);
}

/// Prose of at most `budget` tokens, and exactly `budget` where `count` gives one token a word and
/// one for the full stop. `count` returns the tokens of a sentence that follows a space.
pub fn prose(rng: &mut impl Rng, budget: usize, count: &impl Fn(&str) -> usize) -> Vec<String> {
    prose_with(rng, budget, None, count)
}

/// As [`prose`], with decoys where they are given.
pub fn prose_with(
    rng: &mut impl Rng,
    budget: usize,
    decoys: Option<&Decoys>,
    count: &impl Fn(&str) -> usize,
) -> Vec<String> {
    let max_words = MAX_WORDS + decoys.map_or(0, Decoys::value_tokens);
    let mut sentences = Vec::new();
    let mut left = budget;
    // A sentence takes MIN_WORDS + 1 tokens at least: never leave a rest smaller than that.
    let shortest = MIN_WORDS + 1;
    while left >= shortest {
        let longest = if left <= max_words + 1 { left - 1 } else { (left - shortest - 1).min(max_words) };
        let words = if left <= max_words + 1 { longest } else { rng.random_range(MIN_WORDS..=longest) };
        let Some((text, tokens)) = (MIN_WORDS..=words).rev().find_map(|words| {
            let text = sentence_with(rng, words, decoys);
            // A tokenizer that drops unknown words gives 0 tokens; the loop must still end.
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
