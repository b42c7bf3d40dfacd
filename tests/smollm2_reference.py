"""What transformers makes of a GGUF of SmolLM2: ids of lines, and logits under six methods at twice the context.

The tokenizer is put together here, as SmolLM2's own tokenizer.json has it: single digits, then bytes. transformers' reader of GGUF
leaves the digits out, which changes the ids of fractions such as ½.

    python tests/smollm2_reference.py MODEL.gguf LINES.txt OUT

writes OUT/ids.json (a list a line) and OUT/logits.safetensors (the ids of the first 64 tokens of the lines, and logits a method).
"""

import json
import pathlib
import sys

import torch
from gguf import GGUFReader
from fixtures import identity_rotation, ntk_frequencies
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

FACTOR = 2.0


def smollm2_tokenizer(path):
    fields = GGUFReader(path).fields
    tokens, merges, kinds = (fields[f"tokenizer.ggml.{name}"].contents() for name in ["tokens", "merges", "token_type"])
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [tuple(merge.split(" ")) for merge in merges]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token, kind in zip(tokens, kinds) if kind == 3])
    return tokenizer


if __name__ == "__main__":
    path, lines, out = map(pathlib.Path, sys.argv[1:])
    tokenizer = smollm2_tokenizer(path)
    texts = lines.read_text().split("\n")
    (out / "ids.json").write_text(json.dumps([tokenizer.encode(text).ids for text in texts]))
    base = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()
    ids = torch.tensor(tokenizer.encode("\n".join(texts)).ids[:64])[None]
    theta, context = 100000.0, 8192
    scaled = {"factor": FACTOR, "original_max_position_embeddings": context, "rope_theta": theta}
    methods = {
        "rope": None,
        "pi": {"rope_type": "linear", "factor": FACTOR, "rope_theta": theta},
        "yarn": {"rope_type": "yarn", **scaled},
        "llama3": {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0, **scaled},
        "ntk": None,
        "drope": None,
    }
    found = {"ids": ids[0]}
    for method, parameters in methods.items():
        config = LlamaConfig.from_dict(base.config.to_dict())
        if parameters:
            config.rope_parameters = parameters
        config._attn_implementation = "eager"
        model = LlamaForCausalLM(config).eval()
        model.load_state_dict(base.state_dict())
        if method == "ntk":
            # fixtures.py has the factor of its own cases.
            d = config.hidden_size // config.num_attention_heads
            stretched = theta * FACTOR ** (d / (d - 2))
            model.model.rotary_emb.inv_freq = stretched ** (-torch.arange(0, d, 2, dtype=torch.float64) / d).float()
        if method == "drope":
            identity_rotation(model)
        with torch.no_grad():
            found[method] = model(ids).logits[0].contiguous()
    save_file(found, out / "logits.safetensors")
