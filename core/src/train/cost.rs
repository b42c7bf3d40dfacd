//! What a recalibration costs, before it is run: memory by part, and operations.
//!
//! Memory is counted from the tensors that a pass keeps. The number of operations is the customary one: a multiplication and an
//! addition for each weight and token forward, twice as many backward, and those of attention (Kaplan et al. 2020, arXiv 2001.08361,
//! section 2.1, with causal attention counted as half of the square).

use super::backward::LOGITS_AT_ONCE;
use super::optimizer::OptimizerKind;
use crate::config::{Activation, BlockNorms, Config, ProjectionNorm};

/// Bytes of a number in 32 bits.
const F32: u64 = 4;
/// Bytes of a number in 16 bits.
const BF16: u64 = 2;

/// Which program trains, since they keep different things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// This one, on the CPU: everything in f32, and products in bf16 where the recipe says so.
    Core,
    /// PyTorch under FSDP on this many devices: weights, gradients and the optimizer's state shared among them, passes in bf16.
    Torch {
        /// Number of devices.
        devices: usize,
    },
}

/// How much of a batch is in memory at once, and what of it is computed again.
#[derive(Clone, Copy, Debug)]
pub struct MicroBatch {
    /// Tokens of a row.
    pub context: usize,
    /// Tokens that go through the model at once on a device.
    pub tokens: usize,
    /// Whether the backward pass computes each block again.
    pub recompute: bool,
}

/// A part of the memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPart {
    /// What it is.
    pub name: &'static str,
    /// Its size.
    pub bytes: u64,
}

/// Memory of one device, by part.
pub fn memory(config: &Config, optimizer: OptimizerKind, engine: Engine, micro_batch: MicroBatch) -> Vec<MemoryPart> {
    let parameters = config.num_parameters();
    let (shards, number) = match engine {
        Engine::Core => (1, F32),
        Engine::Torch { devices } => (devices as u64, BF16),
    };
    let (tokens, layers) = (micro_batch.tokens as u64, config.num_hidden_layers as u64);
    let of_block = tokens * numbers_of_block(config) * number;
    let inputs_of_blocks = layers * tokens * config.hidden_size as u64 * number;
    // While a block goes backward, gradients of what it keeps exist too.
    let activations = if micro_batch.recompute { inputs_of_blocks + 2 * of_block } else { (layers + 1) * of_block };
    let logits = match engine {
        // The logits, their exponentials and their gradients.
        Engine::Core => 3 * F32 * (LOGITS_AT_ONCE as u64).min(tokens * config.vocab_size as u64),
        // transformers widens all logits of a batch, and keeps them and their gradients in both types.
        Engine::Torch { .. } => 2 * (F32 + BF16) * tokens * config.vocab_size as u64,
    };
    let gathered = match engine {
        Engine::Core => 0,
        // Two blocks at a time and the embeddings, which FSDP gathers for a pass.
        Engine::Torch { .. } => {
            let embeddings = embedding_parameters(config);
            BF16 * (embeddings + 2 * (parameters - embeddings) / layers.max(1))
        }
    };
    let state = optimizer_numbers(config, optimizer) * F32;
    let checkpoint = match engine {
        // A copy of the optimizer's state, when there are neither gradients nor activations.
        Engine::Core => state.saturating_sub(parameters * F32 + activations + logits),
        Engine::Torch { .. } => 0,
    };
    let parts = [
        ("weights", parameters * F32 / shards),
        ("gradients", parameters * F32 / shards),
        ("optimizer's state", state / shards),
        ("weights gathered for a pass", gathered),
        ("activations", activations),
        ("logits", logits),
        ("checkpoints, beyond that", checkpoint),
    ];
    parts.into_iter().filter(|part| part.1 > 0).map(|(name, bytes)| MemoryPart { name, bytes }).collect()
}

/// Floating-point operations of training for each token.
pub fn operations_per_token(config: &Config, micro_batch: MicroBatch) -> f64 {
    let head = operations_of_head(config);
    let forward = head + operations_of_blocks(config, micro_batch.context);
    3.0 * forward + if micro_batch.recompute { forward - head } else { 0.0 }
}

/// Floating-point operations of reading a prompt: of most tokens the last block computes keys and values alone, and the last token alone
/// is projected onto the vocabulary.
pub fn operations_of_prompt(config: &Config, tokens: usize) -> f64 {
    let attention_width = config.num_attention_heads * config.head_dim;
    let unused_weights = config.hidden_size * (2 * attention_width + 3 * config.intermediate_size);
    let unused = 2.0 * (unused_weights + attention_width * tokens) as f64;
    let others = tokens.saturating_sub(1) as f64;
    tokens as f64 * operations_of_blocks(config, tokens) - others * unused + operations_of_head(config)
}

/// Those of the blocks forward, for each token of a text.
fn operations_of_blocks(config: &Config, tokens: usize) -> f64 {
    let weights = (config.num_parameters() - embedding_parameters(config)) as f64;
    let attention_width = (config.num_attention_heads * config.head_dim) as f64;
    // Each query meets half of the text on average, with its keys and again with their values.
    2.0 * weights + config.num_hidden_layers as f64 * 2.0 * attention_width * tokens as f64
}

/// Parameters of the embedding, and of the matrix in front of the logits where that is another.
fn embedding_parameters(config: &Config) -> u64 {
    (config.vocab_size * config.hidden_size) as u64 * if config.tie_word_embeddings { 1 } else { 2 }
}

/// Those of the projection onto the vocabulary, tied or not, for a token; the embedding is a lookup.
fn operations_of_head(config: &Config) -> f64 {
    2.0 * (config.vocab_size * config.hidden_size) as f64
}

/// Numbers that the backward pass needs of a block, for each token.
fn numbers_of_block(config: &Config) -> u64 {
    let [hidden, inner] = [config.hidden_size, config.intermediate_size].map(|size| size as u64);
    let [queries, keys] =
        [config.num_attention_heads, config.num_key_value_heads].map(|heads| (heads * config.head_dim) as u64);
    // A norm keeps what goes into it, and the form that the next product reads.
    let norms = match config.architecture.block_norms {
        BlockNorms::Before | BlockNorms::After => 0,
        BlockNorms::Both => 2 * hidden,
    };
    let has_norm = |norm| norm != ProjectionNorm::None;
    let query_norms = if has_norm(config.architecture.query_norm) { queries } else { 0 };
    let key_norms = if has_norm(config.architecture.key_norm) { keys } else { 0 };
    // Burn keeps the steps of GELU: the gate's cube, the argument and the value of tanh, and the factor of the gate.
    let activation = match config.architecture.activation {
        Activation::Silu => 0,
        Activation::GeluTanh => 4 * inner,
    };
    // The stream before and after attention and behind the block, both normed forms, and the output of attention's projection;
    // queries and keys before and after rotation, values, and the output of attention; gate, up, and their product.
    let block = 6 * hidden + 2 * (queries + keys) + keys + queries + 3 * inner;
    block + norms + query_norms + key_norms + activation
}

/// Numbers that an optimizer keeps.
fn optimizer_numbers(config: &Config, optimizer: OptimizerKind) -> u64 {
    let parameters = config.num_parameters();
    match optimizer {
        OptimizerKind::AdamW => 2 * parameters,
        // One moment of the matrices of blocks; AdamW for the rest.
        OptimizerKind::Muon => parameters + embedding_parameters(config),
    }
}

#[cfg(test)]
mod tests {
    use super::{Engine, MicroBatch, memory, operations_per_token};
    use crate::config::Config;
    use crate::train::OptimizerKind;

    fn smollm2() -> Config {
        Config::from_json(
            r#"{"model_type": "llama", "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
            "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152, "rope_theta": 100000.0,
            "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "tie_word_embeddings": true}"#,
        )
        .unwrap()
    }

    fn total(engine: Engine, recompute: bool) -> f64 {
        let micro_batch = MicroBatch { context: 1024, tokens: 4096, recompute };
        memory(&smollm2(), OptimizerKind::AdamW, engine, micro_batch).iter().map(|part| part.bytes as f64).sum::<f64>()
            / 1e9
    }

    /// Peaks that were measured on a processor with 4 windows of 1,024 tokens, the whole process: 7.5 GB, and 3.1 to 3.4 GB with
    /// recomputation.
    #[test]
    fn memory_is_what_was_measured() {
        assert!((total(Engine::Core, false) / 7.5 - 1.0).abs() < 0.1, "{}", total(Engine::Core, false));
        assert!((total(Engine::Core, true) / 3.25 - 1.0).abs() < 0.1, "{}", total(Engine::Core, true));
    }

    #[test]
    fn devices_share_what_the_optimizer_needs() {
        let alone = total(Engine::Torch { devices: 1 }, true);
        let eight = total(Engine::Torch { devices: 8 }, true);
        assert!((alone - eight - 4.0 * 134_515_008.0 * 4.0 * 7.0 / 8.0 / 1e9).abs() < 1e-6);
    }

    /// 6 a weight, and attention: the head, which is tied, counts once.
    #[test]
    fn operations_are_the_customary_number() {
        let micro_batch = MicroBatch { context: 1024, tokens: 4096, recompute: false };
        let expected = 6.0 * 134_515_008.0 + 6.0 * 30.0 * 576.0 * 1024.0;
        assert_eq!(operations_per_token(&smollm2(), micro_batch), expected);
        let again = operations_per_token(&smollm2(), MicroBatch { recompute: true, ..micro_batch });
        assert_eq!(again, expected * 4.0 / 3.0 - 2.0 * (49152.0 * 576.0));
    }
}
