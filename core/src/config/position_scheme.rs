//! How a model encodes positions, and Sakana's words for it.

use serde::{Deserialize, Serialize};

use super::architecture::{Architecture, ProjectionNorm};

/// How a model encodes positions in the layers that have some ([`LayerType`](super::LayerType)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PositionScheme {
    /// Rotary positions, scaled as `rope.scaling` says.
    Rotary,
    /// Rotary positions in which the frequencies below a cut are the identity: a partial drop.
    Partial {
        /// The cut in radians a token, above 0.
        min_frequency: f64,
    },
    /// Rotary positions whose lowest frequencies are clipped softly: CoPE.
    Clipped {
        /// So many of the pairs, at least 1.
        pairs: usize,
    },
    /// None: a full drop, or a model that was trained without.
    None,
    /// Logits fall linearly with the distance.
    Alibi,
    /// RNoPE-SWA: three layers of four have rotary positions and a window; the fourth sees everything and has none.
    RnopeSwa {
        /// Keys that a query of these layers attends to, itself included.
        window: usize,
    },
}

impl PositionScheme {
    /// Whether the layers that are meant to have rotary positions have them, with all frequencies or the higher ones.
    pub fn rotates(self) -> bool {
        matches!(self, Self::Rotary | Self::Partial { .. } | Self::Clipped { .. })
    }
}

/// Sakana's `attention_type`: whether positions are dropped, and which projections are normed, as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttentionType {
    /// Rotary positions, no norm: a plain Llama.
    Rope,
    /// Rotary positions, queries and keys normed.
    QkNormRope,
    /// Rotary positions, queries normed.
    QNormRope,
    /// Rotary positions, keys normed.
    KNormRope,
    /// No positions.
    Nope,
    /// No positions, queries and keys normed.
    QkNormNope,
    /// No positions, queries normed.
    QNormNope,
    /// No positions, keys normed.
    KNormNope,
}

impl AttentionType {
    /// Whether the model is to be read without positions.
    pub fn drops_positions(self) -> bool {
        matches!(self, Self::Nope | Self::QkNormNope | Self::QNormNope | Self::KNormNope)
    }

    /// Adds the norms to an architecture.
    pub fn add_norms(self, architecture: &mut Architecture) {
        if matches!(self, Self::QkNormRope | Self::QNormRope | Self::QkNormNope | Self::QNormNope) {
            architecture.query_norm = ProjectionNorm::Whole;
        }
        if matches!(self, Self::QkNormRope | Self::KNormRope | Self::QkNormNope | Self::KNormNope) {
            architecture.key_norm = ProjectionNorm::Whole;
        }
    }

    /// What says whether positions are dropped, and which norms a model has beside those of its family.
    pub(super) fn of(drops_positions: bool, architecture: &Architecture, family: &Architecture) -> Self {
        let is_added = |norm, of_family| norm == ProjectionNorm::Whole && of_family == ProjectionNorm::None;
        let query_norm = is_added(architecture.query_norm, family.query_norm);
        let key_norm = is_added(architecture.key_norm, family.key_norm);
        match (drops_positions, query_norm, key_norm) {
            (false, false, false) => Self::Rope,
            (false, true, true) => Self::QkNormRope,
            (false, true, false) => Self::QNormRope,
            (false, false, true) => Self::KNormRope,
            (true, false, false) => Self::Nope,
            (true, true, true) => Self::QkNormNope,
            (true, true, false) => Self::QNormNope,
            (true, false, true) => Self::KNormNope,
        }
    }
}
