"""Speed of `core` beside PyTorch on the same model, machine and run; writes docs/benchmarks.json and .md.

    pip install torch transformers brotli
    cargo build --release -p drope-native
    cargo xtask test                      # leaves the browser's times in artifacts/
    python bench/compare.py path/to/core

Both sides use one thread and are measured in turn, five times each; the median ratio counts, beside its range. PyTorch runs
transformers' LlamaForCausalLM with scaled-dot-product attention and torch.optim.AdamW, not compiled; bench/training.py has both forms.
"""

import json
import statistics
import subprocess
import sys
import time

import brotli
import torch
from transformers import LlamaForCausalLM

import training_step
from render import render
from results import ROOT, processor
from training_step import median_seconds

MODEL = ROOT / "models" / "nano-rope"
BATCH, LENGTH, PROMPT, NEW, REPEATS, ROUNDS = 16, 256, 1024, 64, 7, 5


def pytorch():
    torch.set_num_threads(1)
    model = LlamaForCausalLM.from_pretrained(MODEL, dtype=torch.float32)
    text = training_step.ids(model, BATCH, LENGTH)
    train = BATCH * LENGTH / median_seconds(training_step.update(model, text), REPEATS)
    model.eval()
    prompt = text.flatten()[:PROMPT].view(1, -1)
    with torch.no_grad():
        prefill = PROMPT / median_seconds(lambda: model(prompt, use_cache=True, logits_to_keep=1), REPEATS)
        speeds = []
        for _ in range(REPEATS):
            out = model(prompt, use_cache=True, logits_to_keep=1)
            start = time.perf_counter()
            for _ in range(NEW):
                token = out.logits[:, -1:].argmax(-1)
                out = model(token, past_key_values=out.past_key_values, use_cache=True)
            speeds.append(NEW / (time.perf_counter() - start))
    return {"train": train, "prefill": prefill, "decode": statistics.median(speeds)}


def core(binary):
    line = subprocess.run([binary, "bench", "--model", MODEL, "--repeats", str(REPEATS)], check=True,
                          capture_output=True, text=True).stdout
    return json.loads(line)


def operations(binary):
    """Milliseconds of each kind of operation in a training step, plain and fused."""
    output = subprocess.run([binary, "bench", "--model", MODEL, "--repeats", str(REPEATS), "--operations"], check=True,
                            capture_output=True, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def browser():
    """What the end-to-end tests measured, and the weight of the page; None where they have not run."""
    files = [ROOT / "artifacts" / name for name in ("webgpu.json", "first-token.json")]
    if not all(path.exists() for path in files):
        return None
    wasm = {path.name: (path.stat().st_size, len(brotli.compress(path.read_bytes())))
            for path in sorted((ROOT / "dist").glob("*.wasm"))}
    return {**json.loads(files[0].read_text()), **json.loads(files[1].read_text()), "wasm": wasm}


def main():
    rounds = [(core(sys.argv[1]), pytorch()) for _ in range(ROUNDS)]
    rows = []
    for kind, label in (("train", "training, batch 16 × 256, AdamW"), ("prefill", "prefill, 1,024 tokens"),
                        ("decode", "decode, 64 tokens behind 1,024")):
        ours = statistics.median(a[kind] for a, _ in rounds)
        theirs = statistics.median(b[kind] for _, b in rounds)
        ratios = sorted(a[kind] / b[kind] for a, b in rounds)
        rows.append({"what": label, "core": round(ours), "pytorch": round(theirs), "ratio": round(statistics.median(ratios), 2),
                     "range": [round(ratios[0], 2), round(ratios[-1], 2)]})
    by_operation = operations(sys.argv[1])
    sizes = {path.parent.name: path.stat().st_size for path in sorted((ROOT / "dist/models").glob("*/model.safetensors"))}
    result = {"torch": torch.__version__, "processor": processor(), "rounds": ROUNDS, "threads": 1, "batch": BATCH, "length": LENGTH,
              "rows": rows, "operations": by_operation, "model_bytes": sizes, "browser": browser()}
    (ROOT / "docs" / "benchmarks.json").write_text(json.dumps(result, indent=2) + "\n")
    render()


if __name__ == "__main__":
    main()
