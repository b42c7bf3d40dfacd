//! A list of random keys, words and digits that is repeated.

use rand::{Rng, RngExt};

use super::{DocumentMix, Piece};
use crate::language::{Key, Values};

/// Pieces of at least `budget` tokens; the caller truncates.
pub(super) fn list_pieces(
    rng: &mut impl Rng,
    budget: usize,
    mix: &DocumentMix,
    count: &impl Fn(&str) -> usize,
) -> Vec<Piece> {
    let tokens = |item: &str| count(item).max(1);
    let tokens_once = (budget as f64 * rng.random_range(0.3..0.5)) as usize;
    let mut items: Vec<String> = Vec::new();
    let mut used = 0;
    while used < tokens_once.max(1) {
        let item = match rng.random_range(0..3) {
            0 => Key::random(rng, mix.split()).to_string(),
            1 => Values::Words.random(rng, Values::DIGITS),
            _ => Values::Numbers.random(rng, 1),
        };
        used += tokens(&item);
        items.push(item);
    }
    let mut pieces: Vec<Piece> = items.iter().cloned().map(Piece::prose).collect();
    for item in items.iter().cycle() {
        if used >= budget {
            break;
        }
        used += tokens(item);
        pieces.push(Piece::repeated_prose(item.clone()));
    }
    pieces
}
