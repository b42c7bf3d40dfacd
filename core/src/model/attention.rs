//! Grouped-query attention with an optional norm, positions and a cache.

use burn::module::Module;
use burn::nn::{Linear, RmsNorm};
use burn::tensor::{Device, Tensor, activation::softmax};

use super::cache::LayerCache;
use super::rotation::Rotation;
use super::visible::Visible;
use super::{linear, norm};
use crate::config::Config;

/// Projections, norms and sizes of one attention layer.
#[derive(Module, Debug)]
pub(super) struct Attention {
    q_proj: Linear,
    k_proj: Linear,
    v_proj: Linear,
    o_proj: Linear,
    /// Over the whole projection, before the heads are split (OLMo 2), unlike Qwen 3's per-head norm.
    q_norm: Option<RmsNorm>,
    k_norm: Option<RmsNorm>,
    num_attention_heads: usize,
    num_key_value_heads: usize,
    /// 1/√head_dim, or the config's `softmax_scale`.
    scale: f64,
}

/// How the layers of one kind see a run of positions.
pub(super) struct View {
    pub(super) rotation: Rotation,
    pub(super) visible: Visible,
    /// Query heads that share keys; 1 where each rotates them in its own way.
    pub(super) group_size: usize,
    /// β.
    pub(super) logit_scale: f64,
}

/// What one layer works with in a pass.
pub(super) struct Layer<'a> {
    pub(super) view: &'a View,
    /// `[1, heads, 1, 1]`: factors of the logits.
    pub(super) head_scales: Option<&'a Tensor<4>>,
    pub(super) cache: Option<&'a mut LayerCache>,
    pub(super) activations: Option<&'a mut Activations>,
}

/// What was seen inside a pass, layer after layer.
#[derive(Default)]
pub struct Activations {
    /// Queries before they are rotated, `[batch, heads, seq, head_dim]`.
    pub queries: Vec<Tensor<4>>,
    /// Keys before they are rotated, `[batch, kv_heads, seq, head_dim]`.
    pub keys: Vec<Tensor<4>>,
    /// Attention weights, `[batch, heads, seq, keys]`.
    pub attention: Vec<Tensor<4>>,
    /// The residual stream behind each block, `[batch, seq, hidden]`.
    pub hidden: Vec<Tensor<3>>,
}

impl Attention {
    pub(super) fn zeros(config: &Config, device: &Device) -> Self {
        let d = config.hidden_size;
        let (queries, keys) =
            (config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim);
        Self {
            q_proj: linear(d, queries, device),
            k_proj: linear(d, keys, device),
            v_proj: linear(d, keys, device),
            o_proj: linear(queries, d, device),
            q_norm: config.attention.norms_queries().then(|| norm(config, queries, device)),
            k_norm: config.attention.norms_keys().then(|| norm(config, keys, device)),
            num_attention_heads: config.num_attention_heads,
            num_key_value_heads: config.num_key_value_heads,
            scale: config.attention_scale(),
        }
    }

    /// Query heads that share a key-value head.
    pub(super) fn group_size(&self) -> usize {
        self.num_attention_heads / self.num_key_value_heads
    }

    /// Key heads and their width.
    pub(super) fn key_shape(&self) -> [usize; 2] {
        [self.num_key_value_heads, self.k_proj.weight.dims()[1] / self.num_key_value_heads]
    }

    /// `[batch, seq, hidden]` to the same.
    pub(super) fn forward(&self, x: Tensor<3>, layer: Layer) -> Tensor<3> {
        let [batch, seq, _] = x.dims();
        let mut q = self.q_proj.forward(x.clone()); // [batch, seq, heads · head_dim]
        let mut k = self.k_proj.forward(x.clone()); // [batch, seq, kv_heads · head_dim]
        let v = self.v_proj.forward(x);
        if let Some(norm) = &self.q_norm {
            q = norm.forward(q);
        }
        if let Some(norm) = &self.k_norm {
            k = norm.forward(k);
        }
        let View { rotation, visible, group_size: group, logit_scale } = layer.view;
        let (q, k) = (heads(q, self.num_attention_heads), heads(k, self.num_key_value_heads));
        let mut activations = layer.activations;
        if let Some(activations) = &mut activations {
            activations.queries.push(q.clone());
            activations.keys.push(k.clone());
        }
        let q = rotation.queries(q, self.scale * logit_scale); // [batch, heads, seq, head_dim]
        let q = match layer.head_scales {
            None => q,
            Some(scales) => q * scales.clone(),
        };
        let k = rotation.written_keys(k); // [batch, kv_heads, seq, head_dim]
        let v = heads(v, self.num_key_value_heads);
        let head_dim = q.dims()[3];
        let (k, v) = match layer.cache {
            Some(cache) => {
                cache.append(k, v, visible.past());
                cache.last(visible.past() + seq)
            }
            None => (k, v),
        };
        let keys = k.dims()[2];
        // Query heads of a group stand below each other, so that keys and values are not copied per head, unless each head
        // rotates keys in its own way.
        let (k, v) = if *group < self.group_size() { (self.per_head(k), self.per_head(v)) } else { (k, v) };
        let q = q.reshape([batch, self.num_attention_heads / group, group * seq, head_dim]);
        let weights = attention(q, rotation.read_keys(k), visible);
        if let Some(activations) = activations {
            activations.attention.push(weights.clone().reshape([batch, self.num_attention_heads, seq, keys]));
        }
        let y = weights.matmul(v);
        let y = y.reshape([batch, self.num_attention_heads, seq, head_dim]).swap_dims(1, 2); // [batch, seq, heads, head_dim]
        self.o_proj.forward(y.reshape([batch, seq, self.num_attention_heads * head_dim]))
    }

    /// `[batch, kv_heads, keys, head_dim]` to `[batch, heads, keys, head_dim]`: a copy for each head of a group.
    fn per_head(&self, x: Tensor<4>) -> Tensor<4> {
        let [batch, kv_heads, keys, head_dim] = x.dims();
        let copies = x.reshape([batch, kv_heads, 1, keys, head_dim]).repeat_dim(2, self.group_size());
        copies.reshape([batch, self.num_attention_heads, keys, head_dim])
    }
}

/// `[batch, seq, heads · head_dim]` to `[batch, heads, seq, head_dim]`.
fn heads(x: Tensor<3>, num_heads: usize) -> Tensor<4> {
    let [batch, seq, width] = x.dims();
    x.reshape([batch, seq, num_heads, width / num_heads]).swap_dims(1, 2)
}

/// softmax(q·kᵀ) over the keys that are seen, `[batch, kv_heads, group · seq, keys]`.
///
/// q `[batch, kv_heads, group · seq, head_dim]`, k `[batch, kv_heads, keys, head_dim]`.
fn attention(q: Tensor<4>, k: Tensor<4>, visible: &Visible) -> Tensor<4> {
    softmax(visible.apply(q.matmul(k.swap_dims(2, 3))), 3)
}
