//! How often the pieces of a document count in attention ([`DocumentMix::max_copies`]).

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{DocumentMix, LossClass, Piece};

/// Multiplicity of each piece.
///
/// With [`DocumentMix::separate_copies`] a document takes one number from `rng` whether it has copies or not, so that
/// the documents after it are the same for every `max_copies`. Without it, the copies of a document change all random
/// numbers after them, and runs with and without copies read different texts.
pub(super) fn multiplicities(rng: &mut impl Rng, mix: &DocumentMix, pieces: &[Piece]) -> Vec<f64> {
    if mix.separate_copies {
        draw(&mut ChaCha8Rng::seed_from_u64(rng.random()), mix, pieces)
    } else {
        draw(rng, mix, pieces)
    }
}

fn draw(rng: &mut impl Rng, mix: &DocumentMix, pieces: &[Piece]) -> Vec<f64> {
    // Drawn only where needed, so that recipes without multiplicities still draw the same documents.
    let mean = if mix.max_copies > 1.0 { mix.max_copies.powf(rng.random()) } else { 1.0 };
    let multiplicity = |piece: &Piece| match piece.class {
        LossClass::Unpredictable if mean > 1.0 => 1.0 + (mean - 1.0) * rng.random_range(0.0..2.0),
        _ => 1.0,
    };
    pieces.iter().map(multiplicity).collect()
}
