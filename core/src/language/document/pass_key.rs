//! A pass key in filler: the repeated sentences of the evaluation, prose, or both.

use rand::{Rng, RngExt};

use super::Piece;
use super::repeated::repeated_pieces;
use crate::language::{MIN_WORDS, Split, passkey, prose};

/// Pieces of at most `budget` tokens. Short documents have no introduction, and the shortest no pass key.
pub(super) fn pass_key_pieces(rng: &mut impl Rng, budget: usize, count: &impl Fn(&str) -> usize) -> Vec<Piece> {
    let pass_key = passkey::random(rng, Split::Training);
    let needle = passkey::sentence(&pass_key);
    let answer = format!("{pass_key}.");
    let fixed = count(&needle) + count(passkey::QUESTION) + count(&answer);
    // If the tokens left are too few for a sentence, they cannot be filled.
    let smallest = fixed + MIN_WORDS + 1;
    if budget < smallest {
        return repeated_pieces(rng, budget, count);
    }
    let introduction = count(passkey::INTRODUCTION);
    let has_introduction = budget >= smallest + introduction;
    let left = budget - fixed - if has_introduction { introduction } else { 0 };
    let mut filler = match rng.random_range(0..3) {
        0 => Vec::new(),
        1 => passkey::grass(left / 2, count),
        _ => passkey::grass(left, count),
    };
    let tokens = |filler: &[String]| filler.iter().map(|text| count(text)).sum::<usize>();
    while (1..=MIN_WORDS).contains(&(left - tokens(&filler))) {
        filler.pop();
    }
    let rest = left - tokens(&filler);
    for text in prose(rng, rest, count) {
        let at = rng.random_range(0..=filler.len());
        filler.insert(at, text);
    }
    let at = rng.random_range(0..=filler.len());
    let behind = filler.split_off(at);
    let introduction = has_introduction.then(|| Piece::repeated_prose(passkey::INTRODUCTION.to_owned()));
    introduction
        .into_iter()
        .chain(filler.into_iter().map(Piece::prose))
        .chain([Piece::needle(needle)])
        .chain(behind.into_iter().map(Piece::prose))
        .chain([Piece::question(passkey::QUESTION.to_owned()), Piece::answer(answer)])
        .collect()
}
