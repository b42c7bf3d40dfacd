//! Recipes: everything that decides a run, in TOML.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use drope_core::config::AttentionType;
use drope_core::language::DocumentMix;
use drope_core::train::{Curriculum, OptimizerKind, Schedule};
use serde::{Deserialize, Serialize};

use crate::files;

/// Far fewer than there are keys, so that different ones are drawn at once.
const MOST_NEEDLES: usize = 1000;

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
    /// Largest norm of the gradients.
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
    pub model: Option<Shape>,
    /// What is dropped; for `recalibrate` alone.
    pub drop: Option<Drop>,
}

/// Size of a model; the vocabulary comes from the tokenizer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
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

/// What tells positions apart from the first step on.
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
    /// Groups of four layers: three rotary with a window of C/4, one that sees everything without positions.
    RnopeSwa,
}

/// What recalibration takes away and adds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drop {
    /// All positions, the low frequencies, or none.
    pub positions: Dropped,
    /// Frequencies below this, in radians a token, are the low ones; 2π/C where it is not given.
    pub cut: Option<f64>,
    /// `nope`, or with norms that start at 1: `qk_norm_nope`, `q_norm_nope`, `k_norm_nope`.
    #[serde(default = "Drop::no_norm")]
    pub attention_type: AttentionType,
    /// Whether logits grow with the log of the number of keys (SSMax).
    #[serde(default)]
    pub scalable_softmax: bool,
}

impl Drop {
    fn no_norm() -> AttentionType {
        AttentionType::Nope
    }
}

/// Which frequencies become the identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dropped {
    /// Every one: DroPE.
    All,
    /// Those below a cut: partial DroPE.
    Low,
    /// None: the model is trained on as it is, the control of equal budget.
    None,
}

impl Recipe {
    /// What must be from 0 to 1, by name.
    fn shares(&self) -> Vec<(&'static str, f64)> {
        let (documents, curriculum) = (&self.documents, &self.curriculum);
        let easy = curriculum
            .easy
            .iter()
            .flat_map(|easy| [("curriculum.easy.until", easy.until), ("curriculum.easy.facts", easy.facts)]);
        [
            ("documents.repeat", documents.repeat),
            ("documents.full", documents.full),
            ("documents.all_asked", documents.all_asked),
            ("documents.multi_query", documents.multi_query),
            ("documents.multi_value", documents.multi_value),
            ("documents.words", documents.words),
            ("documents.facts", documents.facts),
            ("documents.terse", documents.terse),
            ("documents.passkey", documents.passkey),
            ("curriculum.grow", curriculum.grow),
            ("curriculum.at_context", curriculum.at_context),
            ("schedule.floor", self.schedule.floor),
        ]
        .into_iter()
        .chain(easy)
        .collect()
    }

    /// Reads a recipe.
    pub fn read(path: &Path) -> Result<Self> {
        let text = files::read_text(path)?;
        let recipe: Self = toml::from_str(&text).map_err(|error| {
            // The parser's own report draws a picture of several lines.
            let line = error.span().map_or(1, |span| text[..span.start].lines().count().max(1));
            anyhow!("{} is not a recipe: {} (line {line})", path.display(), error.message().replace('\n', " "))
        })?;
        for (name, value) in
            [("context", recipe.context), ("steps", recipe.steps), ("tokens_per_step", recipe.tokens_per_step)]
        {
            if value == 0 {
                bail!("{}: {name} is 0 but must be at least 1", path.display());
            }
        }
        for (name, share) in recipe.shares() {
            if !(0.0..=1.0).contains(&share) {
                bail!("{}: {name} is {share} but must be a share from 0 to 1", path.display());
            }
        }
        let easy = recipe.curriculum.easy.iter().map(|easy| ("curriculum.easy.max_needles", easy.max_needles));
        for (name, needles) in std::iter::once(("documents.max_needles", recipe.documents.max_needles)).chain(easy) {
            if !(1..=MOST_NEEDLES).contains(&needles) {
                bail!("{}: {name} is {needles} but must be from 1 to {MOST_NEEDLES}", path.display());
            }
        }
        let pe = recipe.model.as_ref().map(|shape| shape.pe);
        if recipe.documents.max_copies > 1.0
            && matches!(pe, Some(PositionEmbedding::Alibi | PositionEmbedding::RnopeSwa))
        {
            bail!(
                "{}: documents.max_copies is above 1, but copies have no distance for alibi and rnope-swa",
                path.display()
            );
        }
        if let Some(drop) = &recipe.drop {
            if drop.attention_type != AttentionType::Nope && drop.positions != Dropped::All {
                bail!("{}: drop.attention_type is for positions = \"all\" alone", path.display());
            }
            if drop.cut.is_some() && drop.positions != Dropped::Low {
                bail!("{}: drop.cut is for positions = \"low\" alone", path.display());
            }
            if drop.cut.is_some_and(|cut| !(cut.is_finite() && cut > 0.0)) {
                bail!("{}: drop.cut must be a frequency above 0, in radians a token", path.display());
            }
        }
        // The shortest document that holds a sentence that is repeated.
        if recipe.curriculum.min_length < 16 || recipe.context < recipe.curriculum.min_length {
            bail!("{}: curriculum.min_length must be at least 16 and at most context", path.display());
        }
        Ok(recipe)
    }
}
