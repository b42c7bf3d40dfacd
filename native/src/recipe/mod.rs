//! Recipes: everything that decides a run, in TOML.

mod check;

use std::path::Path;

use anyhow::{Result, anyhow};
use drope_core::config::AttentionType;
use drope_core::language::DocumentMix;
use drope_core::tokenizer::Tokenizer;
use drope_core::train::{Curriculum, Hyperparameters, OptimizerKind, Schedule, SyntheticDocuments};
use serde::{Deserialize, Serialize};

use crate::files;

/// A recipe for `pretrain` or `recalibrate`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Seed of the weights and of the documents.
    pub seed: u64,
    /// C: no document is longer, in tokens.
    pub context: usize,
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
    /// Lengths.
    pub curriculum: Curriculum,
    /// Kinds of documents.
    #[serde(default)]
    pub documents: DocumentMix,
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
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    pub num_key_value_heads: usize,
    pub rope_theta: f64,
    /// What the model is trained with.
    #[serde(default)]
    pub pe: PositionEmbedding,
}

/// What a model is trained with from its first step on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum PositionEmbedding {
    /// Rotary positions in every layer.
    #[default]
    Rope,
    /// None.
    Nope,
    /// Linear biases.
    Alibi,
    /// Groups of four layers: three rotary with a window of C/4, one with full attention and no positions.
    RnopeSwa,
}

/// What recalibration takes away and adds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropSettings {
    /// All positions, the low frequencies, or none.
    pub positions: Dropped,
    /// Frequencies below this, in radians a token, are the low ones; 2π/C where it is not given.
    pub cut: Option<f64>,
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
    pub method: ScalingMethod,
    /// Extension factor s: the frequencies are those for texts of s·C tokens.
    pub factor: f64,
}

/// Scalings that do not depend on the length of the text, with their customary parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScalingMethod {
    Pi,
    Yarn,
    Llama3,
}

impl Recipe {
    /// Reads a recipe.
    ///
    /// # Errors
    /// If it is not TOML of this form, or a field has a value that no run can have; the sentence names the field.
    pub fn read(path: &Path) -> Result<Self> {
        let text = files::read_text(path)?;
        Self::from_toml(&text).map_err(|reason| anyhow!("{}: {reason}", path.display()))
    }

    fn from_toml(text: &str) -> Result<Self, String> {
        let recipe: Self = toml::from_str(text).map_err(|error| {
            // The parser's own report draws a picture of several lines.
            let start = error.span().map_or(0, |span| span.start);
            let number = text[..start].lines().count().max(1);
            let line = text.lines().nth(number - 1).unwrap_or_default();
            format!("this is not a recipe: {} (line {number}: {line})", error.message().replace('\n', " "))
        })?;
        check::recipe(&recipe)?;
        Ok(recipe)
    }

    /// What decides the updates, beside the text.
    pub fn hyperparameters(&self) -> Hyperparameters {
        Hyperparameters {
            steps: self.steps,
            optimizer: self.optimizer,
            weight_decay: self.weight_decay,
            schedule: self.schedule.clone(),
            max_gradient_norm: self.max_gradient_norm,
        }
    }

    /// The text.
    pub fn documents(&self, tokenizer: &Tokenizer, bos: Option<u32>) -> SyntheticDocuments {
        SyntheticDocuments {
            tokenizer: tokenizer.clone(),
            bos,
            mix: self.documents.clone(),
            curriculum: self.curriculum.clone(),
            context: self.context,
            tokens_per_step: self.tokens_per_step,
            steps: self.steps,
        }
    }
}

#[cfg(test)]
mod study_tests;
