//! The format of what `core gradients` writes.

use serde::{Deserialize, Serialize};

/// Gradients of the positional bias at random weights, and the prefix spread (arXiv 2512.12167, figure 4 and theorem 3.4): means
/// over models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GradientRecord {
    /// Name of the model whose shape and tokenizer the random models have.
    pub model: String,
    /// Number of random models, each with a text of its own.
    pub models: usize,
    /// Seed of the texts; the models have the seeds 0, 1, ….
    pub seed: u64,
    /// Tokens of a text.
    pub tokens: usize,
    /// The first layer first.
    pub layers: Vec<LayerGradients>,
}

/// One layer, with rotary positions and without positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayerGradients {
    /// With RoPE.
    pub rope: BiasNorms,
    /// Without positions.
    pub nope: BiasNorms,
}

/// Norms of the gradients that the layer's query and key projections get from the positional biases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BiasNorms {
    /// Towards the token itself.
    pub diagonal: f64,
    /// Towards the token before.
    pub token_before: f64,
    /// How far hidden states of different tokens lie apart behind the layer.
    pub prefix_spread: f64,
}
