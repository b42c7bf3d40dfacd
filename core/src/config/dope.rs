//! Which heads DoPE treats (Xiong et al. 2025, arXiv 2511.09146): those whose queries or keys have a low truncated matrix entropy.
//!
//! The paper contradicts itself in places; both readings are options here, and the first one is the default:
//! - A head's truncated matrix entropy is −Σ_{i≤r} λ_i ln λ_i over the largest eigenvalues λ of its trace-normalised Gram matrix, for r = 1 the
//!   share λ_1 itself (the printed formulas normalise within the r, or leave the sign out).
//! - Heads of lowest or of highest entropy are chosen ([`Order`]).
//! - Removing a head's encoding leaves its queries and keys unrotated, or sets them to zero as printed ([`Removal`]).
//! - By parts removes the frequencies below 2π/C, or those above as printed ([`Parts`]).
//! - Gaussian noise has the variance of what it replaces, or 1 ([`Noise`]).

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::names::named;

/// Heads that DoPE treats, and how: what `core dope select` writes, and the field `dope_heads` of a config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DopeHeads {
    /// What the heads were chosen by.
    pub criterion: Criterion,
    /// Extension factor of the texts that they were chosen on.
    pub extension: usize,
    /// What removing a head's encoding means.
    #[serde(default)]
    pub removal: Removal,
    /// Which frequencies `dope-parts` removes.
    #[serde(default)]
    pub parts: Parts,
    /// How strong the noise of `dope-gaussian` is.
    #[serde(default)]
    pub noise: Noise,
    /// Seed of the noise.
    pub seed: u64,
    /// The heads.
    pub heads: Vec<DopeHead>,
}

/// One head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DopeHead {
    /// Layer, from 0.
    pub layer: usize,
    /// Query head, from 0.
    pub head: usize,
    /// Truncated matrix entropy of its queries or keys, nats.
    #[serde(rename = "score")]
    pub entropy: f64,
    /// Standard deviation of its queries.
    pub query_std: f64,
    /// Standard deviation of its keys.
    pub key_std: f64,
}

/// What heads are chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    /// Queries or keys.
    pub from: ScoredVectors,
    /// Where in the forward pass.
    pub stage: Stage,
    /// r: eigenvalues that count; `None`: all.
    pub rank: Option<usize>,
    /// Which end of the ranking.
    pub order: Order,
}

named! {
    /// The vectors whose Gram matrix is computed.
    #[derive(Default)]
    ScoredVectors: "choice of vectors" {
        /// Queries: they distinguish heads better, according to the paper.
        #[default]
        Query = "query",
        /// Keys; heads of a group share theirs.
        Key = "key",
    }
}

named! {
    /// Where in the forward pass queries and keys are taken.
    #[derive(Default)]
    Stage: "stage" {
        /// As projected, without rotation.
        PreNtk = "pre_ntk",
        /// Rotated by the frequencies of NTK scaling.
        #[default]
        PostNtk = "post_ntk",
        /// Rotated by the frequencies of training.
        PostRope = "post_rope",
    }
}

named! {
    /// Which heads of the ranking are treated.
    #[derive(Default)]
    Order: "order" {
        /// The lowest entropies: nearly all energy in few directions.
        #[default]
        Ascending = "ascending",
        /// The highest.
        Descending = "descending",
    }
}

named! {
    /// What removing a position encoding means.
    #[derive(Default)]
    Removal: "removal" {
        /// Queries and keys are not rotated.
        #[default]
        Identity = "identity",
        /// They are zero: such a head gives every token the same weight.
        Zero = "zero",
    }
}

named! {
    /// Which frequencies are removed by parts.
    #[derive(Default)]
    Parts: "part" {
        /// Those below 2π/C.
        #[default]
        Low = "low",
        /// Those of at least 2π/C.
        High = "high",
    }
}

named! {
    /// Variance of the noise.
    #[derive(Default)]
    Noise: "noise" {
        /// That of the queries and keys that it replaces.
        #[default]
        Matched = "matched",
        /// 1.
        Unit = "unit",
    }
}

impl DopeHeads {
    /// Whether a model has these heads.
    ///
    /// # Errors
    /// If it does not, or a number is not finite.
    pub fn check(&self, layers: usize, heads: usize) -> Result<()> {
        for head in &self.heads {
            let place = format!("dope_heads names layer {} head {}", head.layer, head.head);
            if head.layer >= layers || head.head >= heads {
                return Err(Error::Config(format!(
                    "{place}, but the model has {layers} layers of {heads} heads; choose the heads on this model"
                )));
            }
            if let Some(std) = [head.query_std, head.key_std].into_iter().find(|std| !(0.0..=1e6).contains(std)) {
                return Err(Error::Config(format!(
                    "{place} with a standard deviation of {std}; choose the heads again"
                )));
            }
        }
        Ok(())
    }

    /// A short label of the choice, for results: `query r16 post_ntk ascending 3`, and what is not the default.
    pub fn label(&self) -> String {
        let Criterion { from, stage, rank, order } = self.criterion;
        let rank = rank.map_or("all".to_owned(), |r| format!("r{r}"));
        let mut label = format!(
            "{} {rank} {} {} {} at {}x",
            from.name(),
            stage.name(),
            order.name(),
            self.heads.len(),
            self.extension
        );
        let usual = [Removal::default().name(), Parts::default().name(), Noise::default().name()];
        for (name, usual) in [self.removal.name(), self.parts.name(), self.noise.name()].into_iter().zip(usual) {
            if name != usual {
                label.push(' ');
                label.push_str(name);
            }
        }
        label
    }
}
