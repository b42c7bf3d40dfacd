//! Hashes that tell contents apart.

use sha2::{Digest, Sha256};

/// The first 48 bits of SHA-256 over bytes that come piece by piece: enough to tell contents apart.
#[derive(Default)]
pub struct ShortHash(Sha256);

impl ShortHash {
    /// Adds the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The hash, in hexadecimal.
    pub fn finish(self) -> String {
        self.0.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The [`ShortHash`] of `parts` in order.
pub fn short_hash(parts: &[&[u8]]) -> String {
    let mut hash = ShortHash::default();
    for part in parts {
        hash.update(part);
    }
    hash.finish()
}
