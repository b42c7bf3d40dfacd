//! The words of wonderwords 3.0.1 (MIT), of which RULER makes its keys and lists.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

const ADJECTIVES: &str = include_str!("words/adjectives.txt");
const NOUNS: &str = include_str!("words/nouns.txt");
const VERBS: &str = include_str!("words/verbs.txt");

static LISTS: LazyLock<[Vec<&str>; 2]> = LazyLock::new(|| [ADJECTIVES, NOUNS].map(|list| list.lines().collect()));

/// Nouns, adjectives and verbs, each once.
pub(super) static ALL: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let words: BTreeSet<&str> = [NOUNS, ADJECTIVES, VERBS].iter().flat_map(|list| list.lines()).collect();
    words.into_iter().collect()
});

/// An adjective and a noun with a hyphen between.
pub(super) fn pair(rng: &mut ChaCha8Rng) -> String {
    let [adjective, noun] = LISTS.each_ref().map(|list| list[rng.random_range(0..list.len())]);
    format!("{adjective}-{noun}")
}

/// Random letters.
pub(super) fn letters(first: u8, length: usize, rng: &mut ChaCha8Rng) -> String {
    (0..length).map(|_| char::from(first + rng.random_range(0..26u8))).collect()
}
