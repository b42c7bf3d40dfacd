//! Prose in which several sentences come twice.

use rand::{Rng, RngExt};

use super::Piece;
use crate::language::prose;

/// Pieces of more than `budget` tokens; the caller truncates.
pub(super) fn repeated_pieces(rng: &mut impl Rng, budget: usize, count: &impl Fn(&str) -> usize) -> Vec<Piece> {
    let mut sentences = prose(rng, budget, count);
    if sentences.is_empty() {
        return Vec::new();
    }
    let start = rng.random_range(0..sentences.len().div_ceil(2));
    let end = rng.random_range(start + 1..=sentences.len().div_ceil(2).max(start + 1));
    let again: Vec<Piece> = sentences[start..end].iter().cloned().map(Piece::repeated_prose).collect();
    let at = rng.random_range(end..=sentences.len());
    let after = sentences.split_off(at);
    let prose = |sentences: Vec<String>| sentences.into_iter().map(Piece::prose);
    prose(sentences).chain(again).chain(prose(after)).collect()
}
