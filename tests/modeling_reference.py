"""Logits of models that carry their own program for transformers (modeling_drope.py).

    python tests/modeling_reference.py FOLDER ...

Each folder has request.json, {"ids": [...], "extension_factor": s}; writes logits.safetensors into it: of the whole text at once
(logits), and of its tokens one by one through a cache (cached).
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
        model = AutoModelForCausalLM.from_pretrained(
            folder, trust_remote_code=True, dtype=torch.float32, extension_factor=request["extension_factor"]).eval()
        ids = torch.tensor([request["ids"]])
        with torch.no_grad():
            whole, cache, rows = model(ids).logits[0], None, []
            for at in range(ids.shape[1]):
                out = model(ids[:, at : at + 1], past_key_values=cache, use_cache=True)
                cache = out.past_key_values
                rows.append(out.logits[0, 0])
        save_file({"logits": whole.contiguous(), "cached": torch.stack(rows)}, folder / "logits.safetensors")
