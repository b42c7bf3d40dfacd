"""Logits of models that carry their own program for transformers (modeling_drope.py).

    python tests/modeling_reference.py FOLDER ...

Each folder has request.json, {"ids": [...], "extension_factor": s}; writes logits.safetensors into it: of the whole text at once
(logits), and of its tokens one by one through a cache (cached). With {"greedy": n} in place of the factor the model has to open without a
program of its own, and `greedy` holds n tokens behind the first half of the text.
"""

import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

if __name__ == "__main__":
    for folder in map(pathlib.Path, sys.argv[1:]):
        request = json.loads((folder / "request.json").read_text())
        greedy = request.get("greedy")
        options = {} if greedy else {"trust_remote_code": True, "extension_factor": request["extension_factor"]}
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **options).eval()
        ids = torch.tensor([request["ids"]])
        more = {}
        if greedy:
            half = ids[:, : ids.shape[1] // 2]
            written = model.generate(half, attention_mask=torch.ones_like(half), do_sample=False, max_new_tokens=greedy)
            more["greedy"] = written[0, half.shape[1] :].contiguous()
        with torch.no_grad():
            whole, cache, rows = model(ids).logits[0], None, []
            for at in range(ids.shape[1]):
                out = model(ids[:, at : at + 1], past_key_values=cache, use_cache=True)
                cache = out.past_key_values
                rows.append(out.logits[0, 0])
        save_file({"logits": whole.contiguous(), "cached": torch.stack(rows), **more}, folder / "logits.safetensors")
