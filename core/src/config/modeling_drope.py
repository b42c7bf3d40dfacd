# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models without rotary positions (DroPE), or with a part of them, for Hugging Face transformers.

DroPE: Gelberg et al. 2025, "Extending the Context of Pretrained LLMs by Dropping Their Positional Embeddings",
arXiv 2512.12167. This file lies beside the config.json and the weights of a model, whose config.json names it in
`auto_map`:

    AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True, extension_factor=4)

`extension_factor` is s, the length to be read divided by the training context (`max_position_embeddings`). A fitted
temperature depends on it; for texts within the training context it is 1, the default. It can be changed in
`model.config` at any time.

Written for transformers 5; 4.57 works too. Attention is `sdpa` or `eager`.
"""

import functools
import math

import torch
import transformers
from torch import nn
from transformers import LlamaConfig, Qwen2Config, Qwen2ForCausalLM, Qwen2Model
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.qwen2.modeling_qwen2 import (Qwen2Attention, Qwen2RMSNorm, Qwen2RotaryEmbedding,
                                                      apply_rotary_pos_emb, eager_attention_forward)

# Which projections each `attention_type` puts a norm on.
NORMS = {"rope": "", "nope": "", "qk_norm_rope": "qk", "q_norm_rope": "q", "k_norm_rope": "k", "qk_norm_nope": "qk",
         "q_norm_nope": "q", "k_norm_nope": "k"}


class DroPEFields:
    """Fields of config.json beside those of the family. Here they have the values that they have if left out."""

    attention_type = "nope"  # a key of NORMS
    softmax_scale = None  # factor of the logits in place of 1 / sqrt(head_dim)
    rope_min_frequency = 0.0  # partial drop: rotary frequencies below this (radians a token) are the identity
    rope_clipped_pairs = 0  # CoPE: so many of the lowest rotary frequencies are slowed down, the slowest to the identity
    temperature_coefficient = 0.0  # c of the logits' factor 1 + c ln(s)
    head_scales = None  # {"factor": s0, "scales": [layer][head]}: factors of the logits at s0, in place of c
    scalable_softmax = False  # SSMax: the logits of a query that sees n keys times ln(n + 1) / ln(training context)
    alibi = False  # a bias that falls with the distance, in place of rotary positions
    no_rope_layers = None  # SmolLM 3: 1 for each layer that has rotary positions, 0 for one that does not
    partial_rotary_factor = 1.0  # share of a head's components that rotate, the first ones
    extension_factor = 1.0  # s

    @property
    def rotary_share(self):
        # transformers 5 moves it.
        rope = getattr(self, "rope_parameters", None) or {}
        return rope.get("partial_rotary_factor", self.partial_rotary_factor)

    @property
    def method(self):
        if self.alibi:
            return "alibi"
        if not self.attention_type.endswith("rope"):
            return "drope"
        # With Qwen 2, a window says nothing about positions.
        if self.model_type == "llama_drope" and self.sliding_window is not None:
            return "rnope-swa"
        if self.rope_clipped_pairs > 0:
            return "cope"
        return "p-drope" if self.rope_min_frequency > 0 else "rope"


class DroPELlamaConfig(DroPEFields, LlamaConfig):
    model_type = "llama_drope"
    sliding_window = None  # RNoPE-SWA: three layers of four rotate and have this window, the fourth does neither

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        # The model below and the caches of transformers find the windows here.
        has_window = [self.method == "rnope-swa" and layer % 4 != 3 for layer in range(self.num_hidden_layers)]
        self.layer_types = ["sliding_attention" if has else "full_attention" for has in has_window]


class DroPEQwen2Config(DroPEFields, Qwen2Config):
    model_type = "qwen2_drope"


class DroPERotaryEmbedding(Qwen2RotaryEmbedding):
    """Transformers' own, `rope_scaling` included, except where frequencies are dropped or layers differ: there the
    frequencies that are left are those of plain RoPE."""

    def forward(self, x, position_ids):
        config = self.config
        is_partial = config.rotary_share != 1 and self.rope_type == "default"
        if config.method not in ("p-drope", "cope", "rnope-swa") and not is_partial:
            return super().forward(x, position_ids)
        # transformers 4 has rope_theta beside rope_scaling.
        rope = getattr(config, "rope_parameters", None) or {"rope_theta": config.rope_theta}
        return cos_and_sin(changed_frequencies(config, rope["rope_theta"]), x, position_ids)


def changed_frequencies(config, theta):
    """Those of plain RoPE, cut or clipped as the config says."""
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    rotary_dim = int(head_dim * config.rotary_share)
    inv_freq = [theta ** (-2 * pair / rotary_dim) for pair in range(rotary_dim // 2)]
    if config.method == "p-drope":
        inv_freq = [omega if omega >= config.rope_min_frequency else 0.0 for omega in inv_freq]
    if config.method == "cope":
        clipped = config.rope_clipped_pairs
        for index, pair in enumerate(range(len(inv_freq) - clipped, len(inv_freq))):
            angle = math.pi if clipped == 1 else math.pi * index / (clipped - 1)
            inv_freq[pair] *= 0.5 * (1 + math.cos(angle))
    return inv_freq


def cos_and_sin(inv_freq, x, position_ids):
    angles = position_ids[..., None] * torch.tensor(inv_freq, dtype=torch.float32, device=x.device)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


class DroPEAttention(Qwen2Attention):
    def __init__(self, config, layer_idx):
        super().__init__(config, layer_idx)
        if config.model_type == "llama_drope":
            # All that tells Llama from Qwen 2.
            self.q_proj.bias = self.k_proj.bias = self.v_proj.bias = None
        norms = NORMS[config.attention_type]
        # Over the whole projection, before the heads are split.
        self.q_norm = Qwen2RMSNorm(self.q_proj.out_features, config.rms_norm_eps) if "q" in norms else nn.Identity()
        self.k_norm = Qwen2RMSNorm(self.k_proj.out_features, config.rms_norm_eps) if "k" in norms else nn.Identity()
        if config.softmax_scale is not None:
            self.scaling = config.softmax_scale
        self.rotates = config.method in ("rope", "p-drope", "cope") or (config.method == "rnope-swa" and layer_idx % 4 != 3)
        if config.no_rope_layers is not None and not config.no_rope_layers[layer_idx]:
            self.rotates = False

    def forward(self, hidden_states, position_embeddings, attention_mask=None, past_key_values=None, cache=None, **kwargs):
        # From 5.24 on transformers calls it `cache`.
        cache = past_key_values if cache is None else cache
        shape = (*hidden_states.shape[:-1], -1, self.head_dim)
        query = self.q_norm(self.q_proj(hidden_states)).view(shape).transpose(1, 2)  # [batch, heads, seq, head_dim]
        key = self.k_norm(self.k_proj(hidden_states)).view(shape).transpose(1, 2)
        value = self.v_proj(hidden_states).view(shape).transpose(1, 2)
        if self.rotates:
            cos, sin = position_embeddings
            rotated = apply_rotary_pos_emb(*(x[..., : cos.shape[-1]] for x in (query, key)), cos, sin)
            query, key = (torch.cat((part, x[..., cos.shape[-1] :]), -1) for part, x in zip(rotated, (query, key)))
        query = (query * self.logit_factors(kwargs["position_ids"])).to(query.dtype)
        if cache is not None:
            # Static caches of transformers 4 need the position; others ignore it.
            cache_kwargs = {"cache_position": kwargs.get("cache_position")}
            key, value = cache.update(key, value, self.layer_idx, cache_kwargs)
        if self.config.method == "alibi":
            attention_mask = self.with_slopes(attention_mask, query, key)
        name = self.config._attn_implementation
        attend = eager_attention_forward if name == "eager" else ALL_ATTENTION_FUNCTIONS[name]
        dropout = self.attention_dropout if self.training else 0.0
        output, weights = attend(self, query, key, value, attention_mask, scaling=self.scaling, dropout=dropout,
                                 **kwargs)
        return self.o_proj(output.reshape(*hidden_states.shape[:-1], -1)), weights

    def logit_factors(self, position_ids):
        """What the logits are multiplied with beside `scaling`; for all, or [batch or 1, heads or 1, seq or 1, 1]."""
        config, factors = self.config, 1.0
        if not config.extension_factor >= 1:
            raise ValueError(f"extension_factor is {config.extension_factor} but must be at least 1")
        # A temperature is fitted after positions were dropped; models that were trained as they are have none.
        if config.method in ("drope", "p-drope", "cope"):
            log_s = math.log(config.extension_factor)
            if config.head_scales is None:
                factors = 1 + config.temperature_coefficient * log_s
            else:
                scales = config.head_scales["scales"][self.layer_idx]
                scales = torch.tensor(scales, dtype=torch.float32, device=position_ids.device)[:, None, None]
                factors = 1 + (scales - 1) * (log_s / math.log(config.head_scales["factor"]))
        if config.scalable_softmax:
            keys_seen = (position_ids + 1).clamp(1, self.sliding_window)
            ssmax = (keys_seen + 1).log() / math.log(config.max_position_embeddings)
            factors = factors * ssmax[:, None, :, None]
        return factors

    def with_slopes(self, mask, query, key):
        """ALiBi: the mask of transformers (none: causal), with -slope times the distance where a key is seen."""
        heads, queries, keys = query.shape[1], query.shape[2], key.shape[2]
        below = 2 ** (heads.bit_length() - 1)
        slopes = [2 ** (-8 * head / below) for head in range(1, below + 1)]
        # Not a power of two: every other slope of the next power's for the heads that are left.
        slopes += [2 ** (-4 * head / below) for head in range(1, 2 * below, 2)][: heads - below]
        slopes = torch.tensor(slopes, dtype=torch.float32, device=query.device)[:, None, None]
        # Without a mask several queries are the first of the keys (`is_causal` of sdpa), and one query sees all. With a
        # mask they are taken as the last; in a static cache they stand before that, and all distances of a query are
        # off by the same number, which softmax does not see.
        first = 0 if mask is None and queries > 1 else keys - queries
        index = torch.arange(keys, device=query.device)
        distance = index[first : first + queries, None] - index
        hidden = distance < 0 if mask is None else ~mask if mask.dtype == torch.bool else mask < 0
        bias = torch.where(hidden, torch.finfo(query.dtype).min, -slopes * distance)
        return bias.to(query.dtype).view(-1, heads, queries, keys)


class DroPEModel(Qwen2Model):
    """The decoder of Qwen 2, which also is that of Llama, with the attention above."""

    def __init__(self, config):
        super().__init__(config)
        for index, layer in enumerate(self.layers):
            layer.self_attn = DroPEAttention(config, index)
        self.rotary_emb = DroPERotaryEmbedding(config)
        self.post_init()

    def forward(self, input_ids=None, attention_mask=None, position_ids=None, inputs_embeds=None, **kwargs):
        if position_ids is None and isinstance(attention_mask, torch.Tensor) and attention_mask.dim() == 2:
            # Padding counts for nothing: SSMax needs the number of keys that a query sees.
            seq = (input_ids if inputs_embeds is None else inputs_embeds).shape[1]
            position_ids = (attention_mask.long().cumsum(-1) - 1).clamp(min=0)[:, -seq:]
        return super().forward(input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids,
                               inputs_embeds=inputs_embeds, **kwargs)


class DroPELlamaForCausalLM(Qwen2ForCausalLM):
    config_class = DroPELlamaConfig
    # Kernels that take no mask know neither the bias of ALiBi nor, where they are not told, the windows.
    _supports_flash_attn = _supports_flex_attn = False

    def __init__(self, config):
        # Past the parent's, which makes a Qwen2Model.
        super(Qwen2ForCausalLM, self).__init__(config)
        self.model = DroPEModel(config)
        self.vocab_size = config.vocab_size
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()


class DroPEQwen2ForCausalLM(DroPELlamaForCausalLM):
    config_class = DroPEQwen2Config


@functools.cache
def family(name):
    """Config and model of another family: its own classes, with other rotations and a factor of the logits."""
    base_config = getattr(transformers, f"{name}TextConfig" if hasattr(transformers, f"{name}TextConfig") else f"{name}Config")
    base_model = getattr(transformers, f"{name}ForCausalLM")

    class Config(DroPEFields, base_config):
        model_type = f"{base_config.model_type}_drope"

    class ForCausalLM(base_model):
        config_class = Config

        def __init__(self, config):
            unknown = config.scalable_softmax or config.head_scales or config.alibi or NORMS[config.attention_type]
            if unknown or config.rotary_share != 1:
                raise ValueError(f"a {name} with SSMax, head scales, ALiBi, other norms or heads of which a part rotates is "
                                 "computed by `core` alone")
            super().__init__(config)
            if config.method in ("p-drope", "cope"):
                self.model.rotary_emb = ChangedRotation(config, self.model.rotary_emb)
            for layer in self.model.layers:
                scaling = layer.self_attn.scaling if config.softmax_scale is None else config.softmax_scale
                layer.self_attn.register_forward_pre_hook(changes(config, scaling), with_kwargs=True)

    for made, kind in ((Config, "Config"), (ForCausalLM, "ForCausalLM")):
        made.__name__ = made.__qualname__ = f"DroPE{name}{kind}"
    return Config, ForCausalLM


class ChangedRotation(nn.Module):
    """Rotations of plain RoPE, cut or clipped; layers with frequencies of their own (Gemma 3) keep them."""

    def __init__(self, config, own):
        super().__init__()
        self.config, self.own = config, own

    def forward(self, x, position_ids, layer_type=None):
        if layer_type == "sliding_attention":
            return self.own(x, position_ids, layer_type)
        # transformers 4 has rope_theta beside rope_scaling.
        rope = getattr(self.config, "rope_parameters", None) or {"rope_theta": self.config.rope_theta}
        rope = rope if layer_type is None else rope[layer_type]
        return cos_and_sin(changed_frequencies(self.config, rope["rope_theta"]), x, position_ids)


def changes(config, scaling):
    """Before a layer's attention: no rotation where there is none, and the temperature."""

    def hook(attention, args, kwargs):
        layers = config.no_rope_layers
        if config.method == "drope" or (layers is not None and not layers[attention.layer_idx]):
            cos, sin = kwargs["position_embeddings"]
            kwargs["position_embeddings"] = (torch.ones_like(cos), torch.zeros_like(sin))
        has_temperature = config.method in ("drope", "p-drope", "cope")
        log_s = math.log(config.extension_factor) if has_temperature else 0.0
        attention.scaling = scaling * (1 + config.temperature_coefficient * log_s)
        return args, kwargs

    return hook


def __getattr__(name):
    """`config.json` names the classes: DroPEQwen3Config and DroPEQwen3ForCausalLM, say."""
    for kind, of_family in (("Config", 0), ("ForCausalLM", 1)):
        if name.startswith("DroPE") and name.endswith(kind):
            return family(name.removeprefix("DroPE").removesuffix(kind))[of_family]
    raise AttributeError(name)
