//! Grouped-query attention with an optional norm, positions and a cache.

use burn::module::Module;
use burn::nn::{Linear, RmsNorm};
use burn::tensor::{Bool, Device, Int, Tensor, activation::softmax};

use super::cache::LayerCache;
use super::rotation::Rotation;
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

    /// `[batch, seq, hidden]` to the same.
    pub(super) fn forward(
        &self,
        x: Tensor<3>,
        rotation: &Rotation,
        causal: &Causal,
        cache: Option<&mut LayerCache>,
    ) -> Tensor<3> {
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
        let q = rotation.queries(heads(q, self.num_attention_heads), self.scale); // [batch, heads, seq, head_dim]
        let k = rotation.keys(heads(k, self.num_key_value_heads)); // [batch, kv_heads, seq, head_dim]
        let v = heads(v, self.num_key_value_heads);
        let head_dim = q.dims()[3];
        // Query heads of a group stand below each other, so that keys and values are never copied per head.
        let q = q.reshape([batch, self.num_key_value_heads, self.group_size() * seq, head_dim]);
        let y = match cache {
            Some(cache) => {
                cache.append(k, v);
                let (k, v) = cache.filled();
                attend(q, k, v, causal)
            }
            None => attend(q, k, v, causal),
        };
        let y = y.reshape([batch, self.num_attention_heads, seq, head_dim]).swap_dims(1, 2); // [batch, seq, heads, head_dim]
        self.o_proj.forward(y.reshape([batch, seq, self.num_attention_heads * head_dim]))
    }
}

/// `[batch, seq, heads · head_dim]` to `[batch, heads, seq, head_dim]`.
fn heads(x: Tensor<3>, num_heads: usize) -> Tensor<4> {
    let [batch, seq, width] = x.dims();
    x.reshape([batch, seq, num_heads, width / num_heads]).swap_dims(1, 2)
}

/// softmax(q·kᵀ)·v under the causal mask.
///
/// q `[batch, kv_heads, group · seq, head_dim]`, k and v `[batch, kv_heads, total, head_dim]`.
fn attend(q: Tensor<4>, k: Tensor<4>, v: Tensor<4>, causal: &Causal) -> Tensor<4> {
    let scores = causal.apply(q.matmul(k.swap_dims(2, 3))); // [batch, kv_heads, group · seq, total]
    softmax(scores, 3).matmul(v)
}

/// Which keys a query may see; shared by all layers.
pub(super) struct Causal {
    /// `[1, 1, group · seq, past + seq]`, true where the key is later; `None` for a single query, which sees all.
    hidden: Option<Tensor<4, Bool>>,
    /// `[batch, 1, 1, past + seq]`, added to the logits of each key.
    key_bias: Option<Tensor<4>>,
}

impl Causal {
    pub(super) fn new(past: usize, seq: usize, group_size: usize, device: &Device) -> Self {
        if seq == 1 {
            return Self { hidden: None, key_bias: None };
        }
        let query = Tensor::<1, Int>::arange(past as i64..(past + seq) as i64, device).reshape([seq, 1]);
        let key = Tensor::<1, Int>::arange(0..(past + seq) as i64, device).reshape([1, past + seq]);
        let later = key.expand([seq, past + seq]).greater(query.expand([seq, past + seq]));
        let hidden = later.repeat_dim(0, group_size).reshape([1, 1, group_size * seq, past + seq]);
        Self { hidden: Some(hidden), key_bias: None }
    }

    /// The same with `bias` `[batch, 1, 1, past + seq]` added to the logits of each key.
    pub(super) fn with_key_bias(self, bias: Tensor<4>) -> Self {
        Self { key_bias: Some(bias), ..self }
    }

    fn apply(&self, scores: Tensor<4>) -> Tensor<4> {
        let scores = match &self.key_bias {
            None => scores,
            Some(bias) => scores + bias.clone(),
        };
        match &self.hidden {
            None => scores,
            Some(hidden) => {
                let shape = scores.dims();
                scores.mask_fill(hidden.clone().expand(shape), f32::NEG_INFINITY)
            }
        }
    }
}
