//! The decoder, in the order in which a token goes through it.
//!
//! Fields are named as in Hugging Face's Llama, so the path of a parameter is its name in the weights file.

mod attention;
mod cache;
mod mlp;
mod pass;
mod rotation;
mod visible;
mod weights;

use burn::module::Module;
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig, RmsNorm, RmsNormConfig};
use burn::tensor::{Device, Int, Tensor, TensorData};

pub use self::cache::Cache;

pub use self::attention::Activations;
use self::attention::{Attention, Layer, View};
use self::mlp::Mlp;
use self::pass::Pass;
use self::rotation::Rotation;
use self::visible::Visible;
use crate::config::Config;
use crate::positions::{Encoding, LayerPositions, Positions};

/// A Llama-architecture decoder.
#[derive(Module, Debug)]
pub struct Model {
    embed_tokens: Embedding,
    layers: Vec<Block>,
    norm: RmsNorm,
    /// `None` where the embedding is tied.
    lm_head: Option<Linear>,
    /// C where the logits grow with the number of keys (`scalable_softmax`).
    ssmax_context: Option<usize>,
}

/// One layer: attention and SwiGLU, each behind a norm and beside a residual.
#[derive(Module, Debug)]
struct Block {
    self_attn: Attention,
    mlp: Mlp,
    input_layernorm: RmsNorm,
    post_attention_layernorm: RmsNorm,
}

impl Model {
    /// The structure of the model; weights are all zero until [`Model::random`] or [`Model::from_safetensors`] fills them.
    fn zeros(config: &Config, device: &Device) -> Self {
        let d = config.hidden_size;
        let block = |_| Block {
            self_attn: Attention::zeros(config, device),
            mlp: Mlp::zeros(config, device),
            input_layernorm: norm(config, d, device),
            post_attention_layernorm: norm(config, d, device),
        };
        Self {
            embed_tokens: EmbeddingConfig::new(config.vocab_size, d).with_initializer(ZEROS).init(device),
            layers: (0..config.num_hidden_layers).map(block).collect(),
            norm: norm(config, d, device),
            lm_head: (!config.tie_word_embeddings).then(|| linear(d, config.vocab_size, device)),
            ssmax_context: config.scalable_softmax.then_some(config.max_position_embeddings),
        }
    }

    /// Logits of the token after each of `ids`, which follow what `cache` holds.
    ///
    /// Takes `[batch, seq]`, gives `[batch, seq, vocab]`.
    pub fn forward(&self, ids: Tensor<2, Int>, positions: &Positions, cache: Option<&mut Cache>) -> Tensor<3> {
        self.logits(self.hidden(ids, positions, cache))
    }

    /// The residual stream behind the last norm: `[batch, seq]` to `[batch, seq, hidden]`.
    pub fn hidden(&self, ids: Tensor<2, Int>, positions: &Positions, mut cache: Option<&mut Cache>) -> Tensor<3> {
        let [batch, seq] = ids.dims();
        let past = cache.as_ref().map_or(0, |cache| cache.len());
        match positions.constant_within() {
            // Frequencies that follow the length: beyond the context every query has its own.
            Some(context) if seq > 1 && past + seq > context => {
                let [kv_heads, head_dim] = self.layers.first().map_or([1, 2], |block| block.self_attn.key_shape());
                let room = [batch, kv_heads, seq, head_dim];
                let mut own = Cache::with_room(self.layers.len(), room, positions, &ids.device());
                let cache = cache.as_deref_mut().unwrap_or(&mut own);
                let together = context.saturating_sub(past);
                let starts = std::iter::once(0).chain(together.max(1)..seq);
                let ends = together.max(1)..=seq;
                let part = |(start, end): (usize, usize)| {
                    self.hidden(ids.clone().narrow(1, start, end - start), positions, Some(&mut *cache))
                };
                Tensor::cat(starts.zip(ends).map(part).collect(), 1)
            }
            _ => {
                let pass = Pass::plain(positions, past..past + seq, &ids.device());
                self.through_layers(ids, positions, &pass, cache, None)
            }
        }
    }

    /// Attention weights and residual stream of `ids`, which follow what `cache` holds; `[batch, seq]`.
    ///
    /// Where the frequencies follow the length, all of `ids` get those of their end.
    pub fn capture(&self, ids: Tensor<2, Int>, positions: &Positions, cache: Option<&mut Cache>) -> Activations {
        let [_, seq] = ids.dims();
        let past = cache.as_ref().map_or(0, |cache| cache.len());
        let pass = Pass::plain(positions, past..past + seq, &ids.device());
        let mut activations = Activations::default();
        self.through_layers(ids, positions, &pass, cache, Some(&mut activations));
        activations
    }

    /// As [`Model::hidden`], but attention counts each token as if it stood there `copies` times (`batch · seq` numbers,
    /// each at least 1): a longer text simulated without a longer sequence. In a first layer without positions the last
    /// token gets exactly what it would from the copies; below, copies would differ among themselves, and do not here.
    /// With positions, a stretch of equal copies is followed by a gap as long as its other copies would be.
    pub fn hidden_with_multiplicity(&self, ids: Tensor<2, Int>, copies: &[f32], positions: &Positions) -> Tensor<3> {
        let pass = Pass::with_multiplicity(copies, ids.dims(), &ids.device());
        self.through_layers(ids, positions, &pass, None, None)
    }

    /// As [`Model::hidden`] of a whole text, with a factor of the logits for each head, `[heads]` a layer, that gradients
    /// flow into.
    #[cfg(feature = "train")]
    pub fn hidden_with_head_scales(
        &self,
        ids: Tensor<2, Int>,
        positions: &Positions,
        scales: &[Tensor<1>],
    ) -> Tensor<3> {
        let [_, seq] = ids.dims();
        let head_scales = scales.iter().map(|scales| scales.clone().reshape([1, -1, 1, 1])).collect();
        let pass = Pass { head_scales, ..Pass::plain(positions, 0..seq, &ids.device()) };
        self.through_layers(ids, positions, &pass, None, None)
    }

    fn through_layers(
        &self,
        ids: Tensor<2, Int>,
        positions: &Positions,
        pass: &Pass,
        mut cache: Option<&mut Cache>,
        mut activations: Option<&mut Activations>,
    ) -> Tensor<3> {
        let [_, seq] = ids.dims();
        let device = ids.device();
        let group_size = self.layers.first().map_or(1, |block| block.self_attn.group_size());
        // Layers of a kind share their tables.
        let view = |layer: &LayerPositions| {
            let group_size = if matches!(layer.encoding, Encoding::PerHead(_)) { 1 } else { group_size };
            let ssmax = self.ssmax(&pass.keys_seen, seq, layer.window, &device);
            let at = pass.past..pass.past + seq;
            View {
                rotation: Rotation::new(&layer.encoding, &pass.at, ssmax, &device),
                visible: Visible::new(layer, at, group_size, pass.log_multiplicity.as_ref(), &device),
                group_size,
                logit_scale: positions.logit_scale,
            }
        };
        let views: Vec<View> = positions.layers.iter().map(view).collect();
        let mut x = self.embed_tokens.forward(ids); // [batch, seq, hidden]
        for (index, block) in self.layers.iter().enumerate() {
            let layer = Layer {
                view: &views[index % views.len()],
                head_scales: pass.head_scales.get(index),
                cache: cache.as_mut().map(|cache| cache.layer(index)),
                activations: activations.as_deref_mut(),
            };
            x = block.forward(x, layer);
            if let Some(activations) = &mut activations {
                activations.hidden.push(x.clone());
            }
        }
        if let Some(cache) = cache {
            cache.advance(seq);
        }
        self.norm.forward(x)
    }

    /// The factor ln(n + 1)/ln C of each query's logits under SSMax, where it sees n keys (Nakanishi 2025,
    /// arXiv 2501.19399): `[batch, 1, seq, 1]`.
    fn ssmax(&self, keys_seen: &[f32], seq: usize, window: Option<usize>, device: &Device) -> Option<Tensor<4>> {
        let scale = 1.0 / (self.ssmax_context? as f32).ln();
        let most = window.map_or(f32::INFINITY, |window| window as f32);
        let factors = keys_seen.iter().map(|n| (n.min(most) + 1.0).ln() * scale).collect();
        Some(Tensor::from_data(TensorData::new(factors, [keys_seen.len() / seq, 1, seq, 1]), device))
    }

    /// Projects onto the vocabulary: `[batch, seq, hidden]` to `[batch, seq, vocab]`.
    pub fn logits(&self, hidden: Tensor<3>) -> Tensor<3> {
        match &self.lm_head {
            Some(head) => head.forward(hidden),
            None => burn::tensor::module::linear(hidden, self.embed_tokens.weight.val().transpose(), None),
        }
    }

    /// Where the weights are.
    pub fn device(&self) -> Device {
        self.embed_tokens.weight.val().device()
    }
}

impl Block {
    fn forward(&self, x: Tensor<3>, layer: Layer) -> Tensor<3> {
        let x = x.clone() + self.self_attn.forward(self.input_layernorm.forward(x), layer);
        x.clone() + self.mlp.forward(self.post_attention_layernorm.forward(x))
    }
}

/// Ids as a model takes them in.
pub fn token_ids(ids: &[u32], shape: [usize; 2], device: &Device) -> Tensor<2, Int> {
    let values: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

const ZEROS: burn::nn::Initializer = burn::nn::Initializer::Zeros;

/// A projection without bias.
fn linear(d_input: usize, d_output: usize, device: &Device) -> Linear {
    LinearConfig::new(d_input, d_output).with_bias(false).with_initializer(ZEROS).init(device)
}

fn norm(config: &Config, width: usize, device: &Device) -> RmsNorm {
    RmsNormConfig::new(width).with_epsilon(config.rms_norm_eps).init(device)
}
