"""Logits of converted models in Apple's MLX, by mlx-lm's own classes.

    pip install "mlx[cpu]" mlx-lm safetensors
    python tests/mlx_reference.py FOLDER ...

Each folder has request.json, {"ids": [...], "greedy": n}; writes logits.safetensors into it: of the whole text (logits), and n tokens
behind its first half (greedy).
"""

import json
import pathlib
import sys

import mlx.core as mx
import numpy as np
from mlx_lm.utils import load_model
from safetensors.numpy import save_file

if __name__ == "__main__":
    mx.set_default_device(mx.cpu)
    for folder in map(pathlib.Path, sys.argv[1:]):
        request = json.loads((folder / "request.json").read_text())
        model, _ = load_model(folder)
        logits = lambda ids: np.array(model(mx.array([ids]))[0].astype(mx.float32))
        ids = request["ids"]
        text = ids[: len(ids) // 2]
        for _ in range(request["greedy"]):
            text = [*text, int(logits(text)[-1].argmax())]
        greedy = np.array(text[len(ids) // 2 :], dtype=np.int64)
        save_file({"logits": logits(ids), "greedy": greedy}, folder / "logits.safetensors")
