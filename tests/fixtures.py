"""Makes tiny random Llama checkpoints and their logits with Hugging Face transformers.

    pip install torch transformers safetensors
    python tests/fixtures.py

writes tests/fixtures/<case>/{config.json, model.safetensors, expected.safetensors}. The logits come from
transformers' own rotary code (default, linear, yarn); NTK, identity rotation and the norms of queries and
keys, which transformers' Llama lacks, are changed in its modules below.
"""

import json
import math
import pathlib

import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

FACTOR = 4.0
CONTEXT = 16
SEQ = 40
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
        shape = (*position_ids.shape, model.config.head_dim)
        return torch.ones(shape, dtype=x.dtype), torch.zeros(shape, dtype=x.dtype)

    model.model.rotary_emb.forward = forward


def make(case, method, rope=None, theta=10000.0, norms=(), heads=4, kv_heads=2, tied=False, drop_below=None, extra=None):
    torch.manual_seed(sum(map(ord, case)))
    config = LlamaConfig(
        vocab_size=48, hidden_size=32, intermediate_size=56, num_hidden_layers=2, num_attention_heads=heads,
        num_key_value_heads=kv_heads, head_dim=16, max_position_embeddings=CONTEXT, tie_word_embeddings=tied,
        rms_norm_eps=1e-5, rope_parameters={"rope_type": "default", "rope_theta": theta, **(rope or {})},
        attn_implementation="eager",
    )
    model = LlamaForCausalLM(config).eval()
    for parameter in model.parameters():
        if parameter.dim() == 2:
            torch.nn.init.normal_(parameter, 0, 0.25)
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    if tied:
        del weights["lm_head.weight"]
    for index, layer in enumerate(model.model.layers):
        for which in norms:
            normed = ProjectionNorm(getattr(layer.self_attn, f"{which}_proj"), config.rms_norm_eps)
            setattr(layer.self_attn, f"{which}_proj", normed)
            weights[f"model.layers.{index}.self_attn.{which}_norm.weight"] = normed.weight.detach().clone()
    rotary = model.model.rotary_emb
    if method == "ntk":
        d = config.head_dim
        base = theta * FACTOR ** (d / (d - 2))
        rotary.inv_freq = 1.0 / base ** (torch.arange(0, d, 2, dtype=torch.float64) / d).float()
    if drop_below is not None:
        rotary.inv_freq = torch.where(rotary.inv_freq < drop_below, 0.0, rotary.inv_freq)
    if method == "drope":
        identity_rotation(model)
    ids = torch.randint(0, config.vocab_size, (1, SEQ))
    with torch.no_grad():
        logits = model(ids).logits[0]
    # What Rust reads: the unscaled model; the method is the reader's.
    written = {
        "model_type": "llama_drope" if extra else "llama", "vocab_size": 48, "hidden_size": 32,
        "intermediate_size": 56, "num_hidden_layers": 2, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "head_dim": 16, "max_position_embeddings": CONTEXT,
        "tie_word_embeddings": tied, "rms_norm_eps": 1e-5, "rope_theta": theta, **(extra or {}),
    }
    folder = OUT / case
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(written, indent=2) + "\n")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    save_file({"ids": ids[0], "logits": logits.contiguous()}, folder / "expected.safetensors",
              metadata={"method": method, "factor": str(FACTOR)})
    print(case, tuple(logits.shape))


if __name__ == "__main__":
    scaled = {"factor": FACTOR, "original_max_position_embeddings": CONTEXT}
    make("rope", "rope")
    make("rope-mha-tied", "rope", kv_heads=4, tied=True)
    make("pi", "pi", {"rope_type": "linear", "factor": FACTOR})
    make("yarn", "yarn", {"rope_type": "yarn", **scaled})
    make("ntk", "ntk")
    make("drope", "drope")
    make("p-drope", "p-drope", drop_below=2 * math.pi / CONTEXT)
    make("rope-qk-norm", "rope", norms=("q", "k"), extra={"attention_type": "qk_norm_rope"})
    make("drope-qk-norm", "drope", norms=("q", "k"), extra={"attention_type": "qk_norm_nope"})
    make("drope-q-norm", "drope", norms=("q",), extra={"attention_type": "q_norm_nope"})
