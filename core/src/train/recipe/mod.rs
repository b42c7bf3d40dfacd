//! Recipes: everything that decides a run.

mod check;
mod data;
mod drop_positions;
mod scaling;

use serde::{Deserialize, Serialize};

pub use self::data::{DataSettings, EvaluationSettings, ShardsSettings, is_held_out};
use super::{Curriculum, GuardSettings, Hyperparameters, Memory, OptimizerKind, Schedule, SyntheticDocuments};
use crate::config::{AttentionType, Config, PositionScheme};
use crate::error::{Error, Result};
use crate::language::{CopiesChange, DocumentMix};
use crate::left_out::is_default;
use crate::model::ComputeType;
use crate::names::named;
use crate::tokenizer::Tokenizer;

/// A recipe for `pretrain` or `recalibrate`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Seed of the weights and of the documents.
    pub seed: u64,
    /// C: no document is longer, in tokens, unless `longest` says so.
    pub context: usize,
    /// Longest document of the synthetic language, in tokens, where a run trains on texts beyond C: what DroPE avoids, to compare
    /// with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<usize>,
    /// Updates.
    pub steps: usize,
    /// Tokens of an update, roughly.
    pub tokens_per_step: usize,
    /// Decay of matrices.
    pub weight_decay: f32,
    /// Gradients of a larger global norm are scaled down to it.
    pub max_gradient_norm: f64,
    /// AdamW or Muon.
    pub optimizer: OptimizerKind,
    /// Learning rate.
    pub schedule: Schedule,
    /// Lengths of documents of the synthetic language.
    #[serde(default = "Curriculum::at_context")]
    pub curriculum: Curriculum,
    /// Kinds of documents.
    #[serde(default)]
    pub documents: DocumentMix,
    /// Text of one's own, packed into windows of the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataSettings>,
    /// When the loss on held-out text is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<EvaluationSettings>,
    /// In what products with weights are computed; weights and the optimizer's state stay in f32.
    #[serde(default, skip_serializing_if = "is_default")]
    pub compute: ComputeType,
    /// What bounds the memory of an update.
    #[serde(default, skip_serializing_if = "is_default")]
    pub memory: Memory,
    /// Which updates are left out; without it, gradients that are not finite end the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<GuardSettings>,
    /// Size of the model; for `pretrain` alone.
    pub model: Option<ModelShape>,
    /// What is dropped; for `recalibrate` alone.
    pub drop: Option<DropSettings>,
    /// Scaling of the rotary frequencies to train on with; for `recalibrate` alone.
    pub scaling: Option<ScalingSettings>,
}

/// Size of a model; the vocabulary comes from the tokenizer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelShape {
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width of the MLPs.
    pub intermediate_size: usize,
    /// Blocks.
    pub num_hidden_layers: usize,
    /// Heads of queries; they share the width.
    pub num_attention_heads: usize,
    /// Heads of keys and values.
    pub num_key_value_heads: usize,
    /// θ of the rotary frequencies.
    pub rope_theta: f64,
    /// For `pe = "cope"`: pairs that are clipped softly; where it is not given, the share of CoPE's authors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clipped_pairs: Option<usize>,
    /// What the model is trained with.
    #[serde(default = "PositionEmbedding::standard")]
    pub pe: PositionEmbedding,
}

named! {
    /// What a model is trained with from its first step on.
    PositionEmbedding: "position embedding" {
        /// Rotary positions in every layer.
        Rope = "rope",
        /// Rotary, without the frequencies that do not turn once in the context.
        PRope = "p-rope",
        /// Rotary, with the lowest frequencies clipped softly.
        Cope = "cope",
        /// None.
        Nope = "nope",
        /// Linear biases.
        Alibi = "alibi",
        /// Groups of four layers: three rotary with a window of C/4, one with full attention and no positions.
        RnopeSwa = "rnope-swa",
    }
}

impl PositionEmbedding {
    fn standard() -> Self {
        Self::Rope
    }
}

/// What recalibration takes away and adds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropSettings {
    /// All positions, the low frequencies, or none.
    pub positions: Dropped,
    /// Frequencies below this, in radians a token, are the low ones; 2π/C where it is not given.
    pub cut: Option<f64>,
    /// For `positions = "all"`: the layers that lose them, the first is 0; where it is not given, all. The others keep theirs, as in
    /// SmolLM3, Llama 4 and RNoPE (Yang et al. 2025, arXiv 2501.18795).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<Vec<usize>>,
    /// For `positions = "all"`: `nope`, or with norms that start at 1: `qk_norm_nope`, `q_norm_nope`, `k_norm_nope`. Where it
    /// is not given, the model keeps the norms that it has.
    pub attention_type: Option<AttentionType>,
    /// Whether logits grow with the log of the number of keys (SSMax); where it is not given, as before.
    pub scalable_softmax: Option<bool>,
}

/// Which positions are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dropped {
    /// All: DroPE; also the biases of ALiBi, and the windows of RNoPE-SWA with its rotations.
    All,
    /// Frequencies below a cut: partial DroPE.
    Low,
    /// None: training goes on with the model as it is, the control of equal budget.
    None,
}

/// A scaling of RoPE that a model with positions is trained on with, at no more than its context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScalingSettings {
    /// The method.
    pub method: ScalingMethod,
    /// Extension factor s: the frequencies are those for texts of s·C tokens.
    pub factor: f64,
}

/// Scalings that do not depend on the length of the text, with their customary parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScalingMethod {
    /// Position interpolation.
    Pi,
    /// YaRN.
    Yarn,
    /// Llama 3's.
    Llama3,
}

impl Recipe {
    /// Tokens of an update: whole windows of text of one's own; of the synthetic language roughly those that are asked for.
    pub fn tokens_of_update(&self) -> usize {
        match self.data {
            Some(_) => self.rows_of_update() * self.context,
            None => self.tokens_per_step,
        }
    }

    /// Windows of an update, of as many tokens as the context.
    pub fn rows_of_update(&self) -> usize {
        (self.tokens_per_step / self.context).max(1)
    }

    /// Checks every field.
    ///
    /// # Errors
    /// If a field has a value that no run can have; the message names the field.
    pub fn check(&self) -> Result<()> {
        check::recipe(self).map_err(Error::Recipe)
    }

    /// The config of a model that this recipe trains on: without the positions that it drops, with the scaling that it asks
    /// for.
    ///
    /// # Errors
    /// If there is nothing to drop, or the model lacks what the recipe needs.
    pub fn recalibrated(&self, config: &Config) -> Result<Config> {
        let Some(drop) = &self.drop else {
            return Err(Error::Recipe(
                "the recipe has no [drop] table; recalibration needs to know what to drop".into(),
            ));
        };
        if self.context > config.max_position_embeddings {
            return Err(Error::Recipe(format!(
                "the recipe's context of {} exceeds the model's training context of {}; recalibration stays within it",
                self.context, config.max_position_embeddings
            )));
        }
        let config = drop_positions::drop_positions(config, drop)?;
        let config = scaling::with_scaling(config, self.scaling.as_ref())?;
        self.check_copies(&config)?;
        Ok(config)
    }

    /// Checks that the model allows copies. A token that counts m times has one position, so a bias by distance or a
    /// window would count it once.
    ///
    /// # Errors
    /// If the recipe has copies and the model one of these.
    pub fn check_copies(&self, config: &Config) -> Result<()> {
        let of_text = self.data.as_ref().and_then(|data| data.copies.as_ref()).map_or(1.0, |copies| copies.max);
        for (field, most) in [("documents.max_copies", self.documents.max_copies), ("data.copies.max", of_text)] {
            if most > 1.0 && (config.positions == PositionScheme::Alibi || config.has_windows()) {
                return Err(Error::Recipe(format!(
                    "{field} is above 1, but copies have no distance for alibi and for sliding windows; set it to 1"
                )));
            }
        }
        if self.documents.copies_change == CopiesChange::Positions && config.positions == PositionScheme::None {
            return Err(Error::Recipe(
                "documents.copies_change is \"positions\", but the model has none; use \"counts\" or \"both\"".into(),
            ));
        }
        Ok(())
    }

    /// Checks that a tokenizer knows the words of the documents.
    ///
    /// # Errors
    /// If it does not; the message names the word.
    pub fn check_words(&self, tokenizer: &Tokenizer) -> Result<()> {
        // A word of its own, where the recipe asks for the latest value.
        let words = if self.documents.latest > 0.0 { "latest special magic number" } else { "special magic number" };
        match tokenizer.unknown_word(words)? {
            Some(word) => Err(Error::Recipe(format!(
                "the tokenizer does not know {word:?}, which the documents of recalibration hold"
            ))),
            None => Ok(()),
        }
    }

    /// What decides the updates, beside the text.
    pub fn hyperparameters(&self) -> Hyperparameters {
        Hyperparameters {
            steps: self.steps,
            optimizer: self.optimizer,
            weight_decay: self.weight_decay,
            schedule: self.schedule.clone(),
            max_gradient_norm: self.max_gradient_norm,
            compute: self.compute,
            memory: self.memory,
            guard: self.guard,
        }
    }

    /// The text.
    pub fn documents(&self, tokenizer: &Tokenizer, bos: Option<u32>) -> SyntheticDocuments {
        SyntheticDocuments {
            tokenizer: tokenizer.clone(),
            bos,
            mix: self.documents.clone(),
            curriculum: self.curriculum.clone(),
            longest: self.longest.unwrap_or(self.context),
            tokens_per_step: self.tokens_per_step,
            steps: self.steps,
        }
    }
}
