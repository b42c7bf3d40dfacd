//! How often the tokens of a document count in attention ([`DocumentMix::max_copies`]).

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{CopiesOf, CopiesUnit, DocumentMix, LossClass, Piece, TokenRole};

/// Multiplicity of each token; `lengths` has the number of tokens of each piece.
///
/// With [`DocumentMix::separate_copies`] a document takes one number from `rng` whether it has copies or not, so that
/// the documents after it are the same for every `max_copies`. Without it, the copies of a document change all random
/// numbers after them, and runs with and without copies read different texts.
pub(super) fn multiplicities(rng: &mut impl Rng, mix: &DocumentMix, pieces: &[Piece], lengths: &[usize]) -> Vec<f32> {
    if mix.separate_copies {
        draw(&mut ChaCha8Rng::seed_from_u64(rng.random()), mix, pieces, lengths)
    } else {
        draw(rng, mix, pieces, lengths)
    }
}

/// The mean multiplicity of the filler of a document or window: from 1 to `max`, evenly on a log scale.
pub fn mean_multiplicity(rng: &mut impl Rng, max: f64) -> f64 {
    max.powf(rng.random())
}

/// How often a piece of filler counts: from 1 to 2·`mean` − 1, evenly.
pub fn multiplicity(rng: &mut impl Rng, mean: f64) -> f32 {
    (1.0 + (mean - 1.0) * rng.random_range(0.0..2.0)) as f32
}

fn draw(rng: &mut impl Rng, mix: &DocumentMix, pieces: &[Piece], lengths: &[usize]) -> Vec<f32> {
    // Drawn only where needed, so that recipes without multiplicities still draw the same documents.
    let mean = if mix.max_copies > 1.0 { mean_multiplicity(rng, mix.max_copies) } else { 1.0 };
    let mut often = || multiplicity(rng, mean);
    let mut multiplicities: Vec<f32> = Vec::with_capacity(lengths.iter().sum());
    for (index, (piece, &tokens)) in pieces.iter().zip(lengths).enumerate() {
        let end = multiplicities.len() + tokens;
        // A fact that is stated by a needle's opening and its value is one sentence, be the value new or known.
        let goes_on = mix.copies_of == CopiesOf::Haystack && index > 0 && is_opening(&pieces[index - 1]);
        match mix.copies_unit {
            _ if mean <= 1.0 || !(goes_on || has_copies(mix.copies_of, piece)) => multiplicities.resize(end, 1.0),
            CopiesUnit::Sentence if goes_on => {
                let opening = multiplicities.last().copied().unwrap_or(1.0);
                multiplicities.resize(end, opening);
            }
            CopiesUnit::Sentence => multiplicities.resize(end, often()),
            CopiesUnit::Token => multiplicities.resize_with(end, &mut often),
        }
    }
    multiplicities
}

/// Whether a piece is a needle up to its value, which is the next piece.
fn is_opening(piece: &Piece) -> bool {
    piece.role == TokenRole::Needle && piece.text.ends_with(|last: char| last != '.')
}

fn has_copies(of: CopiesOf, piece: &Piece) -> bool {
    match of {
        CopiesOf::Filler => piece.class == LossClass::Unpredictable,
        CopiesOf::Haystack => matches!(piece.role, TokenRole::Prose | TokenRole::Needle),
    }
}
