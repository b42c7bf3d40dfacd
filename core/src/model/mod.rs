//! The decoder, in the order in which a token goes through it.
//!
//! Fields are named as in Hugging Face's models, so the path of a parameter is its name in the weights file.

mod attention;
mod block;
mod blocks;
mod cache;
mod compute;
#[cfg(feature = "gpu")]
mod decode;
mod layer_kinds;
mod load_as;
mod pass;
mod patch;
mod projection;
mod rotation;
mod safetensors_files;
mod shard_index;
mod weight_source;
mod weights;
mod write_safetensors;

use burn::module::Module;
use burn::nn::{RmsNorm, RmsNormConfig};
use burn::tensor::{Device, Int, Tensor, TensorData};

pub use self::cache::Cache;

pub use self::attention::Activations;
use self::attention::LayerInputs;
use self::block::{Block, scaled};
pub use self::blocks::Blocks;
use self::layer_kinds::LayerKinds;
pub use self::load_as::WeightType;
use self::pass::Pass;
pub use self::pass::SequenceLayout;
pub use self::patch::AttentionPatch;
use self::projection::{Projection, TokenEmbedding};
pub use self::safetensors_files::{ReadAt, SafetensorsFiles};
pub use self::shard_index::ShardIndex;
pub(crate) use self::weight_source::Unfused;
pub use self::weight_source::{QuantizedRows, ScaledQueries, WeightSource, has_fused_projections};
pub use self::weights::StoredType;
pub(crate) use self::weights::{finite_f32, is_norm};
pub use self::write_safetensors::write_safetensors;
pub(crate) use self::write_safetensors::{pieces, stored, write};
use crate::config::Config;
#[cfg(feature = "gpu")]
use crate::kernels::gpu;
#[cfg(feature = "cuda")]
pub use crate::kernels::gpu::keep_compiled_kernels;
#[cfg(feature = "gpu")]
pub use crate::kernels::gpu::{LAUNCHES_AT_ONCE, detect_subgroups, use_subgroups};
use crate::kernels::rms_norm;
pub use crate::kernels::{ComputeType, NumberType};
use crate::positions::Positions;

/// A decoder of Llama's kind; what differs between families is in [`Architecture`](crate::config::Architecture).
#[derive(Module, Debug)]
pub struct Model {
    embed_tokens: TokenEmbedding,
    layers: Vec<Block>,
    norm: RmsNorm,
    /// `None` where the embedding is tied.
    lm_head: Option<Projection>,
    /// C where the logits grow with the number of keys (`scalable_softmax`).
    ssmax_context: Option<usize>,
    /// How keys and values are kept in a cache.
    #[module(skip)]
    cache_type: NumberType,
    embedding_multiplier: f64,
    /// Divides the logits.
    logits_scaling: f64,
    /// Is added to the weights of norms when they are read from files, and subtracted when they are written.
    norm_offset: f64,
}

/// Types of the numbers of a model that is used for inference only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumberTypes {
    /// Projections and embedding.
    pub weights: WeightType,
    /// Keys and values; on a GPU those of 8 bits, and of types that it lacks, are kept in 32.
    pub cache: NumberType,
    /// In what products of many tokens with weights are computed.
    pub compute: ComputeType,
}

impl Model {
    /// The structure of the model; weights are all zero until [`Model::random`] or [`Model::from_safetensors`] fills them.
    fn zeros(config: &Config, device: &Device) -> Self {
        let d = config.hidden_size;
        let architecture = &config.architecture;
        Self {
            embed_tokens: TokenEmbedding::zeros(config.vocab_size, d, device),
            layers: (0..config.num_hidden_layers).map(|_| Block::zeros(config, device)).collect(),
            norm: norm(config, d, device),
            lm_head: (!config.tie_word_embeddings).then(|| Projection::zeros(d, config.vocab_size, false, device)),
            ssmax_context: config.scalable_softmax.then_some(config.max_position_embeddings),
            cache_type: NumberType::F32,
            embedding_multiplier: architecture.embedding_multiplier,
            logits_scaling: architecture.logits_scaling,
            norm_offset: architecture.norm_offset,
        }
    }

    /// A cache with room for `tokens` tokens of one sequence; it grows if more come.
    pub fn cache(&self, config: &Config, positions: &Positions, tokens: usize) -> Cache {
        Cache::new(config, positions, tokens, self.cache_type, &self.device())
    }

    /// Logits of the token after each of `ids`, which follow what `cache` holds.
    ///
    /// Takes `[batch, seq]`, gives `[batch, seq, vocab]`.
    pub fn forward(&self, ids: Tensor<2, Int>, positions: &Positions, cache: Option<&mut Cache>) -> Tensor<3> {
        self.logits(self.hidden(ids, positions, cache))
    }

    /// The residual stream after the last norm: `[batch, seq]` to `[batch, seq, hidden]`.
    pub fn hidden(&self, ids: Tensor<2, Int>, positions: &Positions, cache: Option<&mut Cache>) -> Tensor<3> {
        let pass = self.pass(&ids, positions, cache.as_deref());
        rms_norm(&self.norm, self.residual(ids, positions, &pass, cache, None))
    }

    /// Logits of the token after `ids`, `[1, seq]`, which follow what `cache` holds: `[1, 1, vocab]`.
    pub fn next_logits(&self, ids: Tensor<2, Int>, positions: &Positions, cache: &mut Cache) -> Tensor<3> {
        let pass = Pass { is_last_output_only: true, ..self.pass(&ids, positions, Some(cache)) };
        let last = self.residual(ids, positions, &pass, Some(cache), None).slice_dim(1, -1); // [1, 1, hidden]
        #[cfg(feature = "gpu")]
        if gpu::takes(&last) {
            let matrix = self.lm_head.as_ref().map_or_else(|| self.embed_tokens.matrix(), Projection::matrix);
            return scaled(gpu::normed_product(&self.norm, &last, &matrix), 1.0 / self.logits_scaling);
        }
        self.logits(rms_norm(&self.norm, last))
    }

    /// Queries, keys, attention weights and residual stream of `ids`, which follow what `cache` holds; `[batch, seq]`.
    pub fn capture(&self, ids: Tensor<2, Int>, positions: &Positions, cache: Option<&mut Cache>) -> Activations {
        let pass = self.pass(&ids, positions, cache.as_deref());
        let mut activations = Activations::default();
        self.residual(ids, positions, &pass, cache, Some(&mut activations));
        activations
    }

    /// The final hidden states `[1, seq, hidden]` of a whole text `[1, seq]`, where `patches` replace the attention weights of some heads.
    pub fn hidden_patched(
        &self,
        ids: Tensor<2, Int>,
        positions: &Positions,
        patches: Vec<AttentionPatch>,
    ) -> Tensor<3> {
        let pass = Pass { patches, ..self.pass(&ids, positions, None) };
        rms_norm(&self.norm, self.residual(ids, positions, &pass, None, None))
    }

    /// The final hidden states of a whole text, `[batch, seq]` to `[batch, seq, hidden]`, with a factor of the logits for each head:
    /// `scales` has one tensor `[heads]` for each layer, and gradients flow into it.
    #[cfg(feature = "train")]
    pub fn hidden_with_head_scales(
        &self,
        ids: Tensor<2, Int>,
        positions: &Positions,
        scales: &[Tensor<1>],
    ) -> Tensor<3> {
        let head_scales = scales.iter().map(|scales| scales.clone().reshape([1, -1, 1, 1])).collect();
        let pass = Pass { head_scales, ..self.pass(&ids, positions, None) };
        rms_norm(&self.norm, self.residual(ids, positions, &pass, None, None))
    }

    fn pass(&self, ids: &Tensor<2, Int>, positions: &Positions, cache: Option<&Cache>) -> Pass {
        let seq = ids.dims()[1];
        let past = cache.map_or(0, Cache::len);
        let text_len = cache.map_or(seq, |cache| cache.text_len(seq));
        Pass::new(positions, past..past + seq, text_len, &ids.device())
    }

    /// The residual stream after the last layer: `[batch, seq]` to `[batch, seq, hidden]`. If the pass needs the last token's alone, earlier
    /// ones may be missing.
    fn residual(
        &self,
        ids: Tensor<2, Int>,
        positions: &Positions,
        pass: &Pass,
        mut cache: Option<&mut Cache>,
        mut activations: Option<&mut Activations>,
    ) -> Tensor<3> {
        let device = ids.device();
        let mut x = self.embed(ids);
        #[cfg(feature = "gpu")]
        if let (Some(cache), None) = (&mut cache, &activations)
            && let Some(x) = self.decode(&x, positions, pass, cache)
        {
            return x;
        }
        let kinds = LayerKinds::new(positions, pass, self.ssmax_context, &device);
        for (index, block) in self.layers.iter().enumerate() {
            let inputs = LayerInputs {
                kind: kinds.of(index),
                head_scales: pass.head_scales.get(index),
                cache: cache.as_mut().map(|cache| cache.layer(index)),
                activations: activations.as_deref_mut(),
                patches: pass.patches.iter().filter(|patch| patch.layer == index).collect(),
                is_last_output_only: pass.is_last_output_only && index + 1 == self.layers.len(),
            };
            x = block.forward(x, inputs);
            if let Some(activations) = &mut activations {
                activations.hidden.push(x.clone());
            }
        }
        if let Some(cache) = cache {
            cache.advance(pass.tokens.len());
        }
        x
    }

    /// Projects onto the vocabulary: `[batch, seq, hidden]` to `[batch, seq, vocab]`.
    pub fn logits(&self, hidden: Tensor<3>) -> Tensor<3> {
        let logits = match &self.lm_head {
            Some(head) => head.forward(hidden),
            None => self.embed_tokens.logits(hidden),
        };
        scaled(logits, 1.0 / self.logits_scaling)
    }

    /// The residual stream before the first layer: `[batch, seq]` to `[batch, seq, hidden]`.
    fn embed(&self, ids: Tensor<2, Int>) -> Tensor<3> {
        scaled(self.embed_tokens.forward(ids), self.embedding_multiplier)
    }

    /// Number of blocks.
    #[cfg(feature = "train")]
    pub(crate) fn blocks(&self) -> usize {
        self.layers.len()
    }

    /// Bytes of weight matrices that are read to generate one token, without the row of the embedding.
    pub fn weight_bytes_per_token(&self) -> usize {
        let of_block = |block: &Block| {
            let (attention, mlp) = (&block.self_attn, &block.mlp);
            let attention = [&attention.q_proj, &attention.k_proj, &attention.v_proj, &attention.o_proj];
            let mlp = [&mlp.gate_proj, &mlp.up_proj, &mlp.down_proj];
            attention.into_iter().chain(mlp).map(Projection::bytes).sum::<usize>()
        };
        let head = self.lm_head.as_ref().map_or_else(|| self.embed_tokens.bytes(), Projection::bytes);
        self.layers.iter().map(of_block).sum::<usize>() + head
    }

    /// Bytes of the embedding of tokens.
    pub fn bytes_of_embedding(&self) -> usize {
        self.embed_tokens.bytes()
    }

    /// Where the weights are.
    pub fn device(&self) -> Device {
        self.norm.gamma.val().device()
    }
}

/// Ids as an integer tensor of a shape `[batch, seq]`.
///
/// # Panics
/// If the shape does not have as many elements as there are ids.
pub fn token_ids(ids: &[u32], shape: [usize; 2], device: &Device) -> Tensor<2, Int> {
    let values: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

const ZEROS: burn::nn::Initializer = burn::nn::Initializer::Zeros;

fn norm(config: &Config, width: usize, device: &Device) -> RmsNorm {
    RmsNormConfig::new(width).with_epsilon(config.rms_norm_eps).init(device)
}
