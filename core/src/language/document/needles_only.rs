//! A haystack of needles alone, and as many questions as fit.

use rand::{Rng, RngExt, seq::SliceRandom};

use super::facts::ask;
use super::repeated::repeated_pieces;
use super::{DocumentMix, Piece};
use crate::language::{Key, Needle, ask_one};

/// Fewest needles: with one there is nothing to find.
const FEWEST: usize = 2;

/// Pieces of at least `budget` tokens; the caller truncates. Too short a document has repeated prose instead.
pub(super) fn needle_pieces(
    rng: &mut impl Rng,
    budget: usize,
    mix: &DocumentMix,
    count: &impl Fn(&str) -> usize,
) -> Vec<Piece> {
    let (values, digits) = mix.values(rng);
    let needle = |rng: &mut _, key| Needle { key, value: values.random(rng, digits) };
    let key = Key::random(rng, mix.split());
    let first = needle(rng, key);
    let tokens = count(&first.short_sentence()).max(1);
    let tokens_of_question = count(&ask_one(&first)) + count(&format!("{}.", first.value));
    // Half of the keys, so that drawing different ones does not take long.
    let most = (budget.saturating_sub(tokens_of_question) / tokens).min(Key::all(mix.split()).count() / 2);
    if most < FEWEST {
        return repeated_pieces(rng, budget, count);
    }
    let n = rng.random_range(FEWEST..=most);
    let needles: Vec<Needle> = mix.keys(rng, n).into_iter().map(|key| needle(rng, key)).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.shuffle(rng);
    let mut is_asked = vec![false; n];
    let mut questions = Vec::new();
    let mut used = n * tokens;
    for &index in order.iter().cycle() {
        if used >= budget {
            break;
        }
        let needle = &needles[index];
        let (question, answer) = (ask(rng, needle, mix), format!("{}.", needle.value));
        used += (count(&question) + count(&answer)).max(1);
        is_asked[index] = true;
        questions.extend([Piece::question(question), Piece::answer(answer)]);
    }
    let haystack = needles.iter().zip(is_asked).map(|(needle, is_asked)| {
        let text = needle.short_sentence();
        if is_asked { Piece::needle(text) } else { Piece::unasked_needle(text) }
    });
    haystack.chain(questions).collect()
}
