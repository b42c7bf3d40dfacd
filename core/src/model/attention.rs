//! Grouped-query attention with an optional norm, positions and a cache.

use burn::module::Module;
use burn::nn::RmsNorm;
use burn::tensor::{Device, Tensor};

use super::cache::LayerCache;
use super::layer_kinds::LayerKind;
use super::norm;
use super::patch::AttentionPatch;
use super::projection::Projection;
use crate::config::{Config, ProjectionNorm};
#[cfg(feature = "gpu")]
use crate::kernels::gpu::GpuMatrix;
use crate::kernels::{ComputeType, KeysOrValues, attend, rms_norm};

/// Projections, norms and sizes of one attention layer.
#[derive(Module, Debug)]
pub(super) struct Attention {
    pub(super) q_proj: Projection,
    pub(super) k_proj: Projection,
    pub(super) v_proj: Projection,
    pub(super) o_proj: Projection,
    /// Over the whole projection (OLMo 2), or over each head (Qwen 3).
    q_norm: Option<RmsNorm>,
    k_norm: Option<RmsNorm>,
    num_attention_heads: usize,
    num_key_value_heads: usize,
    /// Factor of the logits ([`Config::attention_scale`]).
    scale: f64,
}

/// What one layer takes in beside the residual stream.
pub(super) struct LayerInputs<'a> {
    pub(super) kind: &'a LayerKind,
    /// `[1, heads, 1, 1]`: factors of the logits.
    pub(super) head_scales: Option<&'a Tensor<4>>,
    pub(super) cache: Option<&'a mut LayerCache>,
    pub(super) activations: Option<&'a mut Activations>,
    /// What replaces the attention weights of some heads of this layer.
    pub(super) patches: Vec<&'a AttentionPatch>,
    /// Whether the output of the last token alone is needed: nothing reads the others behind the last layer of a prompt. All keys and
    /// values go into the cache, which there must be.
    pub(super) is_last_output_only: bool,
}

impl LayerInputs<'_> {
    /// The tokens whose output is needed, of `[batch, seq, hidden]`.
    pub(super) fn with_output(&self, x: Tensor<3>) -> Tensor<3> {
        if self.is_last_output_only { x.slice_dim(1, -1) } else { x }
    }
}

/// Activations captured in a forward pass, layer after layer.
#[derive(Default)]
pub struct Activations {
    /// Queries before they are rotated, `[batch, heads, seq, head_dim]`.
    pub queries: Vec<Tensor<4>>,
    /// Keys before they are rotated, `[batch, kv_heads, seq, head_dim]`.
    pub keys: Vec<Tensor<4>>,
    /// Attention weights, `[batch, heads, seq, keys]`.
    pub attention: Vec<Tensor<4>>,
    /// The residual stream after each block, `[batch, seq, hidden]`.
    pub hidden: Vec<Tensor<3>>,
}

impl Attention {
    pub(super) fn zeros(config: &Config, device: &Device) -> Self {
        let d = config.hidden_size;
        let (queries, keys) =
            (config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim);
        let projection_norm = |kind, width| match kind {
            ProjectionNorm::None => None,
            ProjectionNorm::Whole => Some(norm(config, width, device)),
            ProjectionNorm::PerHead => Some(norm(config, config.head_dim, device)),
        };
        Self {
            q_proj: Projection::zeros(d, queries, config.architecture.qkv_bias, device),
            k_proj: Projection::zeros(d, keys, config.architecture.qkv_bias, device),
            v_proj: Projection::zeros(d, keys, config.architecture.qkv_bias, device),
            o_proj: Projection::zeros(queries, d, false, device),
            q_norm: projection_norm(config.architecture.query_norm, queries),
            k_norm: projection_norm(config.architecture.key_norm, keys),
            num_attention_heads: config.num_attention_heads,
            num_key_value_heads: config.num_key_value_heads,
            scale: config.attention_scale(),
        }
    }

    /// `[batch, seq, hidden]` to the same, or to `[batch, 1, hidden]` if the output of the last token alone is needed.
    pub(super) fn forward(&self, x: Tensor<3>, mut layer: LayerInputs) -> Tensor<3> {
        let seq = x.dims()[1];
        let [q, k, v] = self.queries_keys_values(x, &mut layer);
        let LayerKind { rotation, bias: of_all, .. } = layer.kind;
        let of_last = layer.is_last_output_only.then(|| of_all.of_queries(seq - 1..seq));
        let bias = of_last.as_ref().unwrap_or(of_all);
        debug_assert!(of_last.is_none() || layer.cache.is_some(), "keys that the last query sees are those of a cache");
        let [k, v] = match layer.cache {
            Some(cache) => {
                cache.append(k, v, of_all.past());
                cache.last(bias.past() + q.dims()[2])
            }
            None => [k, v].map(KeysOrValues::from),
        };
        let [k, v] = self.shared_or_per_head([k, v], layer.kind);
        let k = rotation.read_keys(k);
        if layer.activations.is_none() && layer.patches.is_empty() {
            return self.project_output(attend(q, k, v, bias, self.compute(), None));
        }
        let mut map_weights = |weights| {
            let weights = layer.patches.iter().fold(weights, |weights, patch| patch.apply(weights));
            if let Some(activations) = &mut layer.activations {
                activations.attention.push(weights.clone());
            }
            weights
        };
        self.project_output(attend(q, k, v, bias, self.compute(), Some(&mut map_weights)))
    }

    /// What attention reads of a text without a cache: queries `[batch, heads, seq, head_dim]`, keys and values
    /// `[batch, kv_heads, seq, head_dim]`, all with their positions.
    #[cfg(feature = "train")]
    pub(super) fn attention_inputs(&self, x: Tensor<3>, mut layer: LayerInputs) -> [Tensor<4>; 3] {
        let [q, k, v] = self.queries_keys_values(x, &mut layer);
        let [k, v] = self.shared_or_per_head([k, v].map(KeysOrValues::from), layer.kind);
        [q, layer.kind.rotation.read_keys(k).tensor(), v.tensor()]
    }

    /// In what the layer's products are computed.
    pub(super) fn compute(&self) -> ComputeType {
        self.q_proj.inference.compute()
    }

    /// The output projection: `[batch, heads, seq, head_dim]` to `[batch, seq, hidden]`.
    pub(super) fn project_output(&self, y: Tensor<4>) -> Tensor<3> {
        self.o_proj.forward(y.swap_dims(1, 2).flatten(2, 3))
    }

    /// Queries with their positions and every factor of the logits, `[batch, heads, seq, head_dim]`, of the tokens whose output is
    /// needed; keys as a cache keeps them, and values, `[batch, kv_heads, seq, head_dim]`.
    fn queries_keys_values(&self, x: Tensor<3>, layer: &mut LayerInputs) -> [Tensor<4>; 3] {
        let q = self.q_proj.forward(layer.with_output(x.clone())); // [batch, seq or 1, heads · head_dim]
        let k = self.k_proj.forward(x.clone()); // [batch, seq, kv_heads · head_dim]
        let v = self.v_proj.forward(x);
        let q = normed_heads(self.q_norm.as_ref(), q, self.num_attention_heads);
        let k = normed_heads(self.k_norm.as_ref(), k, self.num_key_value_heads);
        let LayerKind { rotation, logit_scale, .. } = layer.kind;
        if let Some(activations) = &mut layer.activations {
            activations.queries.push(q.clone());
            activations.keys.push(k.clone());
        }
        let q = rotation.queries(q, self.scale * logit_scale); // [batch, heads, seq, head_dim]
        let q = match layer.head_scales {
            None => q,
            Some(scales) => q * scales.clone(),
        };
        [q, rotation.written_keys(k), heads(v, self.num_key_value_heads)]
    }

    /// Keys and values as they are, or a copy for each query head where each rotates keys in its own way.
    fn shared_or_per_head<'a>(&self, rows: [KeysOrValues<'a>; 2], kind: &LayerKind) -> [KeysOrValues<'a>; 2] {
        if kind.has_keys_per_head { rows.map(|rows| self.per_head(rows.tensor())) } else { rows }
    }

    /// Weights of queries, keys and values.
    #[cfg(feature = "gpu")]
    pub(super) fn matrices(&self) -> [GpuMatrix; 3] {
        [&self.q_proj, &self.k_proj, &self.v_proj].map(Projection::matrix)
    }

    /// Their biases one behind another, `[q + k + v]`.
    #[cfg(feature = "gpu")]
    pub(super) fn biases(&self) -> Option<Tensor<1>> {
        let projections = [&self.q_proj, &self.k_proj, &self.v_proj];
        let biases: Option<Vec<Tensor<1>>> = projections.into_iter().map(Projection::bias).collect();
        biases.map(|biases| Tensor::cat(biases, 0))
    }

    /// `[heads, head_dim]` of the queries, and the scale of the logits; `None` where queries or keys have a norm.
    #[cfg(feature = "gpu")]
    pub(super) fn without_norms(&self) -> Option<([usize; 2], f64)> {
        let heads = self.num_attention_heads;
        let shape = [heads, self.q_proj.matrix().rows / heads];
        (self.q_norm.is_none() && self.k_norm.is_none()).then_some((shape, self.scale))
    }

    /// `[batch, kv_heads, keys, head_dim]` to `[batch, heads, keys, head_dim]`: a copy for each head of a group.
    fn per_head(&self, x: Tensor<4>) -> KeysOrValues<'static> {
        let [batch, kv_heads, keys, head_dim] = x.dims();
        let group = self.num_attention_heads / kv_heads;
        let copies = x.reshape([batch, kv_heads, 1, keys, head_dim]).repeat_dim(2, group);
        copies.reshape([batch, self.num_attention_heads, keys, head_dim]).into()
    }
}

/// The same after a norm: of all heads together, or of each, as its width says.
fn normed_heads(norm: Option<&RmsNorm>, x: Tensor<3>, num_heads: usize) -> Tensor<4> {
    match norm {
        None => heads(x, num_heads),
        Some(norm) if norm.gamma.dims()[0] == x.dims()[2] => heads(rms_norm(norm, x), num_heads),
        Some(norm) => rms_norm(norm, heads(x, num_heads)),
    }
}

/// `[batch, seq, heads · head_dim]` to `[batch, heads, seq, head_dim]`.
fn heads(x: Tensor<3>, num_heads: usize) -> Tensor<4> {
    let [batch, seq, width] = x.dims();
    x.reshape([batch, seq, num_heads, width / num_heads]).swap_dims(1, 2)
}
