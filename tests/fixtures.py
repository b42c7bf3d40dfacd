"""Makes tiny random Llama checkpoints and their logits with Hugging Face transformers.

    pip install torch transformers safetensors
    python tests/fixtures.py [CASE ...]

writes tests/fixtures/<case>/{config.json, model.safetensors, expected.safetensors}. The logits come from
transformers' own rotary code (default, linear, dynamic, yarn, llama3, longrope); NTK, identity rotation, ALiBi,
sliding windows and the norms of queries and keys, which transformers' Llama lacks, are changed in its modules below.
"""

import json
import math
import pathlib
import sys

import torch
from safetensors.torch import save_file
import transformers

FACTOR = 4.0
CONTEXT = 16
SEQ = 40
# Fields of ours that transformers reads too.
THEIRS = ["original_max_position_embeddings", "use_sliding_window", "sliding_window", "max_window_layers",
          "no_rope_layers", "pad_token_id", "query_pre_attn_scalar", "layer_types", "embedding_multiplier",
          "attention_multiplier", "residual_multiplier", "logits_scaling", "partial_rotary_factor"]
CLASSES = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3", "smollm3": "SmolLM3", "olmo2": "Olmo2",
           "phi3": "Phi3", "gemma3_text": "Gemma3", "granite": "Granite", "seed_oss": "SeedOss"}
OUT = pathlib.Path(__file__).parent / "fixtures"


class ProjectionNorm(torch.nn.Module):
    """A projection followed by an RMSNorm over its whole width, before the heads are split (OLMo 2)."""

    def __init__(self, projection, eps):
        super().__init__()
        self.projection = projection
        self.weight = torch.nn.Parameter(1 + 0.2 * torch.randn(projection.out_features))
        self.eps = eps

    def forward(self, x):
        return torch.nn.functional.rms_norm(self.projection(x), (self.weight.numel(),), self.weight, self.eps)


def identity_rotation(model):
    """cos = 1 and sin = 0 in every layer: DroPE at inference."""

    def forward(x, position_ids, *args, **kwargs):
        shape = (*position_ids.shape, model.model.layers[0].self_attn.head_dim)
        return torch.ones(shape, dtype=x.dtype), torch.zeros(shape, dtype=x.dtype)

    model.model.rotary_emb.forward = forward


def alibi_slopes(heads):
    """As in the authors' get_slopes (github.com/ofirpress/attention_with_linear_biases)."""
    if math.log2(heads).is_integer():
        start = 2 ** (-(2 ** -(math.log2(heads) - 3)))
        return [start * start**i for i in range(heads)]
    below = 2 ** math.floor(math.log2(heads))
    return alibi_slopes(below) + alibi_slopes(2 * below)[0::2][: heads - below]


def change_attention(layer, mask=None, rotates=True):
    """Gives a layer an additive mask [1, heads or 1, seq, seq] of its own, and takes its rotation away."""

    def before(module, args, kwargs):
        if mask is not None:
            kwargs["attention_mask"] = mask
        if not rotates:
            cos, sin = kwargs["position_embeddings"]
            kwargs["position_embeddings"] = (torch.ones_like(cos), torch.zeros_like(sin))
        return args, kwargs

    return layer.self_attn.register_forward_pre_hook(before, with_kwargs=True)


def ntk_frequencies(theta, d):
    base = theta * FACTOR ** (d / (d - 2))
    return 1.0 / base ** (torch.arange(0, d, 2, dtype=torch.float64) / d)


def rotate(x, frequencies):
    """x [..., seq, head_dim] turned by position * frequencies [..., head_dim / 2], half-split."""
    angles = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * frequencies[..., None, :]
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def treat_heads(model, chosen, removes_all):
    """DoPE: NTK scaling in every query head, but no rotation (of frequencies below 2 pi / C, or at all) in the chosen."""
    config = model.config
    d, heads = config.head_dim, config.num_attention_heads
    scaled = ntk_frequencies(config.rope_parameters["rope_theta"], d)
    trained = 1.0 / config.rope_parameters["rope_theta"] ** (torch.arange(0, d, 2, dtype=torch.float64) / d)
    removed = torch.ones_like(trained, dtype=torch.bool) if removes_all else trained < 2 * math.pi / CONTEXT
    for index, layer in enumerate(model.model.layers):
        frequencies = scaled.repeat(heads, 1)
        for at, head in chosen:
            if at == index:
                frequencies[head, removed] = 0

        def forward(hidden_states, attention=layer.self_attn, frequencies=frequencies, **kwargs):
            split = lambda x: x.view(*x.shape[:-1], -1, d).transpose(1, 2)
            q, k, v = (split(getattr(attention, f"{name}_proj")(hidden_states)) for name in "qkv")
            k, v = (x.repeat_interleave(heads // k.shape[1], dim=1) for x in (k, v))
            q, k = rotate(q, frequencies), rotate(k, frequencies)
            y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return attention.o_proj(y.transpose(1, 2).flatten(2)), None

        layer.self_attn.forward = forward


def entropies(model, ids):
    """DoPE's score of every head, in float64, by four criteria: see core/tests/dope.rs."""
    config, rows = model.config, []
    seen = {}
    for index, layer in enumerate(model.model.layers):
        for name in "qk":
            layer.self_attn.get_submodule(f"{name}_proj").register_forward_hook(
                lambda module, args, out, key=(index, name): seen.update({key: out[0].double()}))
    with torch.no_grad():
        model(ids)
    d = config.head_dim
    theta = config.rope_parameters["rope_theta"]
    trained = 1.0 / theta ** (torch.arange(0, d, 2, dtype=torch.float64) / d)
    scaled = ntk_frequencies(theta, d)
    for name, frequencies, rank in [("q", scaled, 4), ("k", trained * 0, d), ("q", trained, 1), ("k", scaled, 8)]:
        scores = []
        for index in range(config.num_hidden_layers):
            x = seen[index, name].view(SEQ, -1, d).transpose(0, 1)
            x = rotate(x, frequencies).repeat_interleave(config.num_attention_heads // x.shape[0], dim=0)
            for head in x:
                values = torch.linalg.eigvalsh(head.T @ head).flip(0)
                values = values[:rank] / values.sum()
                scores.append(values[0] if rank == 1 else -(values * values.log()).sum())
        rows.append(torch.stack(scores))
    return torch.stack(rows)


def with_multiplicity(model, ids, multiplicity):
    """Logits where key j counts m_j times: ln m_j on its logits, and (m - 1) * n positions skipped after a stretch of n keys."""
    positions, skipped = [], 0
    for j, m in enumerate(multiplicity.tolist()):
        if j > 0 and m != multiplicity[j - 1]:
            skipped += round(stretch * (multiplicity[j - 1].item() - 1))
        stretch = stretch + 1 if j > 0 and m == multiplicity[j - 1] else 1
        positions.append(j + skipped)
    future = torch.ones(len(positions), len(positions)).triu(1).bool()
    mask = multiplicity.log().expand(len(positions), -1).masked_fill(future, -torch.inf)
    hooks = [change_attention(layer, mask[None, None]) for layer in model.model.layers]
    with torch.no_grad():
        logits = model(ids, position_ids=torch.tensor([positions])).logits[0]
    for hook in hooks:
        hook.remove()
    return logits.contiguous()


def make(case, method, rope=None, theta=10000.0, norms=(), heads=4, kv_heads=2, layers=2, hidden_size=32, tied=False,
         drop_below=None, chosen=(), extra=None, context=CONTEXT, factor=FACTOR, seq=SEQ, multiplicity=None,
         model_type="llama", clipped=0):
    if len(sys.argv) > 1 and case not in sys.argv[1:]:
        return
    torch.manual_seed(sum(map(ord, case)))
    family = CLASSES[model_type]
    config_class = getattr(transformers, f"{family}TextConfig" if family == "Gemma3" else f"{family}Config")
    model_class = getattr(transformers, f"{family}ForCausalLM")
    rope = {"rope_type": "default", "rope_theta": theta, **(rope or {})}
    if family == "Gemma3":
        local = {"rope_type": "default", "rope_theta": extra["rope_local_base_freq"]}
        rope = {"full_attention": rope, "sliding_attention": local}
    config = config_class(
        vocab_size=48, hidden_size=hidden_size, intermediate_size=56, num_hidden_layers=layers, num_attention_heads=heads,
        num_key_value_heads=kv_heads, head_dim=16, max_position_embeddings=context, tie_word_embeddings=tied,
        rms_norm_eps=1e-5, rope_parameters=rope,
        attn_implementation="eager",
        **{name: value for name, value in (extra or {}).items() if name in THEIRS},
    )
    model = model_class(config).eval()
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2 or name.endswith(".bias"):
            torch.nn.init.normal_(parameter, 0, 0.25)
        elif model_type not in ("llama", "qwen2", "smollm3"):
            # Norms that do something, around 1 or around 0.
            torch.nn.init.normal_(parameter, parameter.mean().item(), 0.2)
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    if tied:
        del weights["lm_head.weight"]
    for index, layer in enumerate(model.model.layers):
        for which in norms:
            normed = ProjectionNorm(getattr(layer.self_attn, f"{which}_proj"), config.rms_norm_eps)
            setattr(layer.self_attn, f"{which}_proj", normed)
            weights[f"model.layers.{index}.self_attn.{which}_norm.weight"] = normed.weight.detach().clone()
    rotary = model.model.rotary_emb
    if method == "ntk" or chosen:
        rotary.inv_freq = ntk_frequencies(theta, config.head_dim).float()
    if drop_below is not None and family == "Gemma3":
        # Layers with a window keep their own frequencies.
        full = rotary.full_attention_inv_freq
        rotary.full_attention_inv_freq = torch.where(full < drop_below, 0.0, full)
    elif drop_below is not None:
        rotary.inv_freq = torch.where(rotary.inv_freq < drop_below, 0.0, rotary.inv_freq)
    for index in range(clipped):
        rotary.inv_freq[len(rotary.inv_freq) - clipped + index] *= 0.5 * (1 + math.cos(math.pi * index / (clipped - 1)))
    if method == "drope":
        identity_rotation(model)
    distance = torch.arange(SEQ)[:, None] - torch.arange(SEQ)[None, :]
    if method == "alibi":
        bias = -torch.tensor(alibi_slopes(heads))[:, None, None] * distance
        for layer in model.model.layers:
            change_attention(layer, bias.masked_fill(distance < 0, -torch.inf)[None], rotates=False)
    if method == "rnope-swa":
        hidden = (distance < 0) | (distance >= CONTEXT // 4)
        window = torch.zeros(1, 1, SEQ, SEQ).masked_fill(hidden, -torch.inf)
        for index, layer in enumerate(model.model.layers):
            is_global = index % 4 == 3
            change_attention(layer, None if is_global else window, rotates=not is_global)
    ids = torch.randint(0, config.vocab_size, (1, seq))
    more = {}
    if chosen:
        more["scores"] = entropies(model, ids)
        treat_heads(model, chosen, removes_all=method == "dope-all")
        criterion = {"from": "query", "stage": "post_ntk", "rank": 4, "order": "ascending"}
        named = [{"layer": layer, "head": head, "score": 0.0, "query_std": 1.0, "key_std": 1.0} for layer, head in chosen]
        extra = {"dope_heads": {"criterion": criterion, "extension": 4, "seed": 42, "heads": named}}
    with torch.no_grad():
        logits = model(ids).logits[0]
    if multiplicity is not None:
        more["multiplicity"] = torch.tensor(multiplicity)
        more["multiplicity_logits"] = with_multiplicity(model, ids, more["multiplicity"])
    # What Rust reads: the unscaled model; the method is the reader's.
    written = {
        "model_type": f"{model_type}_drope" if extra and "attention_type" in extra else model_type, "vocab_size": 48, "hidden_size": hidden_size,
        "intermediate_size": 56, "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "head_dim": 16, "max_position_embeddings": context,
        "tie_word_embeddings": tied, "rms_norm_eps": 1e-5, "rope_theta": theta, **(extra or {}),
    }
    folder = OUT / case
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(written, indent=2) + "\n")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    save_file({"ids": ids[0], "logits": logits.contiguous(), **more}, folder / "expected.safetensors",
              metadata={"method": method, "factor": str(factor)})
    print(case, tuple(logits.shape))


if __name__ == "__main__":
    scaled = {"factor": FACTOR, "original_max_position_embeddings": CONTEXT}
    make("rope", "rope")
    stretches = [(3, 1.0), (8, 4.0), (5, 1.0), (6, 2.0), (4, 8.0), (14, 1.0)]
    make("rope-multiplicity", "rope", multiplicity=[m for n, m in stretches for _ in range(n)])
    make("rope-mha-tied", "rope", kv_heads=4, tied=True)
    make("pi", "pi", {"rope_type": "linear", "factor": FACTOR})
    make("yarn", "yarn", {"rope_type": "yarn", **scaled})
    make("ntk", "ntk")
    make("drope", "drope")
    make("p-drope", "p-drope", drop_below=2 * math.pi / CONTEXT)
    # 10000^(-2m/16): 6 of 8 pairs are kept, down to 10000^(-10/16) = 0.00316.
    make("p-rope", "p-rope", drop_below=0.002)
    # The slowest three of 8 pairs: times 1, 1/2 and 0.
    make("cope", "cope", clipped=3, extra={"rope_clipped_pairs": 3})
    make("rope-qk-norm", "rope", norms=("q", "k"), extra={"attention_type": "qk_norm_rope"})
    make("drope-qk-norm", "drope", norms=("q", "k"), extra={"attention_type": "qk_norm_nope"})
    make("drope-q-norm", "drope", norms=("q",), extra={"attention_type": "q_norm_nope"})
    make("dynamic-ntk", "dynamic-ntk", {"rope_type": "dynamic", "factor": 1.0}, seq=3 * CONTEXT)
    dynamic = {"rope_type": "dynamic", "factor": FACTOR}
    make("dynamic-ntk-f4", "dynamic-ntk", dynamic, seq=3 * CONTEXT, extra={"rope_scaling": dynamic})
    make("llama3", "llama3", {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0, **scaled})
    scales = {"mscale": 0.7, "mscale_all_dim": 1.3}
    make("yarn-mscale", "yarn", {"rope_type": "yarn", **scaled, **scales},
         extra={"rope_scaling": {"rope_type": "yarn", "factor": FACTOR, **scales}})
    factors = {"short_factor": [1.0 + 0.1 * m for m in range(8)], "long_factor": [1.0 + 0.5 * m for m in range(8)]}
    make("longrope", "longrope", {"rope_type": "longrope", **scaled, **factors},
         extra={"rope_scaling": {"rope_type": "longrope", **factors}})
    make("longrope-short", "longrope", {"rope_type": "longrope", **scaled, **factors}, seq=CONTEXT - 4,
         extra={"rope_scaling": {"rope_type": "longrope", **factors}})
    # The context before the extension stands outside the scaling, as in Phi-3, and goes before the one inside.
    inside = {"rope_type": "longrope", "original_max_position_embeddings": 2 * CONTEXT, **factors}
    make("longrope-outside", "longrope", inside, context=4 * CONTEXT, factor=1.0,
         extra={"rope_scaling": inside, "original_max_position_embeddings": CONTEXT})
    # Checkpoints that were extended before: their context is the extended one, and they are read as they are.
    extended = {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0, **scaled}
    make("llama3-extended", "llama3", extended, context=4 * CONTEXT, factor=1.0, extra={"rope_scaling": extended})
    extended = {"rope_type": "longrope", "original_max_position_embeddings": CONTEXT, **factors}
    make("longrope-extended", "longrope", extended, context=4 * CONTEXT, factor=1.0, extra={"rope_scaling": extended})
    # Two query heads of one key head, of which one is chosen, and a layer with none.
    make("dope-parts", "dope-parts", layers=3, chosen=[(0, 1), (2, 0), (2, 3)])
    make("dope-all", "dope-all", layers=3, chosen=[(0, 1), (2, 0), (2, 3)])
    make("alibi", "alibi", heads=6, kv_heads=2, hidden_size=36)
    make("rnope-swa", "rnope-swa", layers=5)
    # Biases on queries, keys and values.
    make("qwen2", "rope", model_type="qwen2")
    make("qwen2-yarn", "yarn", {"rope_type": "yarn", **scaled}, tied=True, model_type="qwen2")
    make("qwen2-drope", "drope", model_type="qwen2", extra={"attention_type": "nope"})
    # Layers that see a window, from the second on.
    make("qwen2-windows", "rope", model_type="qwen2", layers=3,
         extra={"use_sliding_window": True, "sliding_window": 6, "max_window_layers": 1})
    make("smollm3", "rope", model_type="smollm3", layers=4, extra={"no_rope_layers": [1, 1, 0, 1], "pad_token_id": 0})
    # Without the list every fourth layer has no positions.
    make("smollm3-yarn", "yarn", {"rope_type": "yarn", **scaled}, model_type="smollm3", layers=5, tied=True,
         extra={"pad_token_id": 0})
    # Other families, as they are, dropped, dropped in part, and with a scaling.
    below = 2 * math.pi / CONTEXT
    gemma = {"query_pre_attn_scalar": 24, "sliding_window": 6, "rope_local_base_freq": 100.0,
             "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
    granite = {"embedding_multiplier": 3.0, "attention_multiplier": 0.2, "residual_multiplier": 0.4, "logits_scaling": 2.5}
    families = {"qwen3": {}, "olmo2": {}, "phi3": {"pad_token_id": 0}, "gemma3_text": gemma, "granite": granite, "mistral": {"sliding_window": 6},
                "seed_oss": {}}
    for family, extra in families.items():
        case = family.removesuffix("_text")
        # Gemma's embedding is always the head.
        more = {"model_type": family, "extra": extra, "layers": 3 if family == "gemma3_text" else 2, "tied": family == "gemma3_text"}
        make(case, "rope", **more)
        make(f"{case}-drope", "drope", **more)
        make(f"{case}-p-drope", "p-drope", drop_below=below, **more)
        if family == "phi3":
            # Phi-4-mini: three quarters of a head rotate.
            make("phi3-partial", "rope", {"partial_rotary_factor": 0.75}, model_type="phi3",
                 extra={"pad_token_id": 0, "partial_rotary_factor": 0.75})
        else:
            make(f"{case}-yarn", "yarn", {"rope_type": "yarn", **scaled}, **more)
            make(f"{case}-pi", "pi", {"rope_type": "linear", "factor": FACTOR}, **more)
            make(f"{case}-dynamic-ntk", "dynamic-ntk", {"rope_type": "dynamic", "factor": 1.0}, seq=3 * CONTEXT, **more)
            make(f"{case}-llama3", "llama3", {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0, **scaled}, **more)
    # The larger models of Gemma 3 were trained on with a scaling, and are read with it at every length.
    linear = {"rope_type": "linear", "factor": 8.0}
    make("gemma3-linear", "pi", linear, factor=1.0, model_type="gemma3_text", layers=3, tied=True, extra={**gemma, "rope_scaling": linear})
