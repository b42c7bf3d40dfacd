"""Exports nano-rope for the page's peer, onnxruntime-web: web/peer/nano-rope.onnx, which `?benchmark` reads.

    pip install torch transformers onnx onnx-ir onnxruntime onnxruntime-genai
    python bench/peer_model.py

Weights lie in the file as the page ships its own, in f16, and are widened when the file is opened: both compute in f32.
"""

import pathlib
import tempfile

import numpy as np
import onnx
import onnxruntime
import torch
import transformers
from onnx import TensorProto, helper, numpy_helper

import onnx_peers
from results import ROOT

MODEL = ROOT / "models/nano-rope"
OUT = ROOT / "web/peer/nano-rope.onnx"
# The longest prompt that the benchmark asks for unless told otherwise, and an answer.
POSITIONS = 4096 + 128
# Tables of cosines and sines stay in f32.
EXACT = ("cos_cache", "sin_cache")


def halve(graph):
    """Stores the weights of `graph` in f16, each behind a cast to f32."""
    kept, casts = [], []
    for weight in graph.initializer:
        if weight.data_type != TensorProto.FLOAT or weight.name in EXACT:
            kept.append(weight)
            continue
        half = numpy_helper.from_array(numpy_helper.to_array(weight).astype(np.float16), weight.name + ".f16")
        kept.append(half)
        casts.append(helper.make_node("Cast", [half.name], [weight.name], to=TensorProto.FLOAT))
    nodes = casts + list(graph.node)
    for field, values in ((graph.initializer, kept), (graph.node, nodes)):
        del field[:]
        field.extend(values)


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        _, told = onnx_peers.exported(MODEL, folder, POSITIONS)
        model = onnx.load(folder / "model/onnx/model.onnx")
    halve(model.graph)

    ids = torch.arange(300).unsqueeze(0) * 7919 % told["vocabulary"]
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    inputs = {"input_ids": ids.numpy(), "attention_mask": np.ones(ids.shape, dtype=np.int64)}
    caches = [cache for cache in session.get_inputs() if cache.name.startswith("past_key_values")]
    # [1, heads, 0, head_dim]
    inputs |= {cache.name: np.zeros((1, cache.shape[1], 0, cache.shape[3]), dtype=np.float32) for cache in caches}
    found = session.run(["logits"], inputs)[0][0, -1]
    with torch.no_grad():
        expected = transformers.AutoModelForCausalLM.from_pretrained(MODEL)(ids).logits[0, -1].numpy()
    apart = float(np.abs(found - expected).max())
    if apart > 0.05:
        raise SystemExit(f"the export computes something else: logits differ from transformers' by {apart:.4f}")
    OUT.parent.mkdir(exist_ok=True)
    onnx.save(model, OUT)
    print(f"{OUT.stat().st_size} bytes; logits differ from transformers' by at most {apart:.4f}")


if __name__ == "__main__":
    main()
