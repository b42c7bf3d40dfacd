//! A few facts, stated many times in random order and form.
//!
//! A fact is stated as a needle, as a question with its answer, or in its short form (`amber-acorn is: 1019.`); whatever
//! the form, the value must be found by the key. So what is learned first in the short form carries over to RULER's long
//! ones.

use rand::{Rng, RngExt};

use super::{DocumentMix, Piece};
use crate::language::Needle;

/// Pieces of at least `budget` tokens; the caller truncates.
pub(super) fn fact_pieces(
    rng: &mut impl Rng,
    budget: usize,
    mix: &DocumentMix,
    count: &impl Fn(&str) -> usize,
) -> Vec<Piece> {
    // Few enough that most facts occur twice: the first occurrence of a value cannot be predicted and teaches nothing.
    let n = rng.random_range(2..=(budget / 16).min(mix.max_needles).max(2));
    let facts: Vec<Needle> = mix
        .keys(rng, n)
        .into_iter()
        .map(|key| {
            let (values, digits) = mix.values(rng);
            Needle { key, value: values.random(rng, digits) }
        })
        .collect();
    let mut is_known = vec![false; n];
    let mut pieces = Vec::new();
    let mut used = 0;
    while used < budget {
        let index = rng.random_range(0..n);
        let fact = &facts[index];
        let opening = if rng.random_bool(0.5) {
            Piece::needle(state(rng, fact, mix))
        } else {
            Piece::question(ask(rng, fact, mix))
        };
        let value = format!("{}.", fact.value);
        // A tokenizer that drops unknown words gives 0 tokens; the loop must still end.
        used += (count(&opening.text) + count(&value)).max(1);
        let was_known = std::mem::replace(&mut is_known[index], true);
        pieces.push(opening);
        pieces.push(if was_known { Piece::answer(value) } else { Piece::new_value(value) });
    }
    pieces
}

/// A needle up to its value, in one of its forms.
pub(super) fn state(rng: &mut impl Rng, needle: &Needle, mix: &DocumentMix) -> String {
    if rng.random_bool(mix.terse) { needle.short_opening(rng.random_bool(0.5)) } else { needle.opening() }
}

/// The question for a needle, in one of its forms.
pub(super) fn ask(rng: &mut impl Rng, needle: &Needle, mix: &DocumentMix) -> String {
    if rng.random_bool(mix.terse) {
        needle.short_opening(rng.random_bool(0.5))
    } else {
        crate::language::ask_one(needle)
    }
}
