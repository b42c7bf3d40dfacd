"""Speed of `core` beside PyTorch on the same model, machine and run; adds to docs/benchmarks.json, and writes
docs/benchmarks-page.json and docs/benchmarks.md.

    pip install torch transformers brotli
    cargo build --release -p drope-native
    cargo xtask test                      # leaves the browser's times in artifacts/
    python bench/compare.py path/to/core

All use one thread and are measured in turn, five times each. PyTorch runs transformers' LlamaForCausalLM with scaled-dot-product
attention and torch.optim.AdamW, as it is and with torch.compile, whose compiling does not count; `core` is compared with the faster form of
each round. The median of these ratios counts, beside its range.
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
from results import ROOT, add_rows, processor
from training_step import median_seconds

MODEL = ROOT / "models" / "nano-rope"
BATCH, LENGTH, PROMPT, NEW, REPEATS, ROUNDS = 16, 256, 1024, 64, 7, 5


def pytorch(is_compiled):
    """A function that measures one form of PyTorch, which is compiled before it is returned."""
    torch.set_num_threads(1)
    trained, model = [LlamaForCausalLM.from_pretrained(MODEL, dtype=torch.float32) for _ in range(2)]
    text = training_step.ids(model, BATCH, LENGTH)
    update = training_step.update(trained, text, is_compiled)
    forward = torch.compile(model.eval(), dynamic=True) if is_compiled else model.eval()
    prompt = text.flatten()[:PROMPT].view(1, -1)

    def generate():
        out = forward(prompt, use_cache=True, logits_to_keep=1)
        start = time.perf_counter()
        for _ in range(NEW):
            token = out.logits[:, -1:].argmax(-1)
            out = forward(token, past_key_values=out.past_key_values, use_cache=True)
        return NEW / (time.perf_counter() - start)

    def measure():
        train = BATCH * LENGTH / median_seconds(update, REPEATS)
        with torch.no_grad():
            prefill = PROMPT / median_seconds(lambda: forward(prompt, use_cache=True, logits_to_keep=1), REPEATS)
            decode = statistics.median(generate() for _ in range(REPEATS))
        return {"train": train, "prefill": prefill, "decode": decode}

    measure()
    return measure


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
    """What the end-to-end tests measured, and the weight of the page; None where they have not run on it."""
    files = [ROOT / "artifacts" / name for name in ("webgpu.json", "first-token.json")]
    built = ROOT / "dist/index.html"
    if not all(path.exists() for path in [*files, built]) or min(path.stat().st_mtime for path in files) < built.stat().st_mtime:
        return None
    wasm = {path.name: (path.stat().st_size, len(brotli.compress(path.read_bytes())))
            for path in sorted((ROOT / "dist").glob("*.wasm"))}
    return {**json.loads(files[0].read_text()), **json.loads(files[1].read_text()), "wasm": wasm}


def main():
    programs = {"core": lambda: core(sys.argv[1]), "pytorch": pytorch(False), "compiled": pytorch(True)}
    rounds = [{name: measure() for name, measure in programs.items()} for _ in range(ROUNDS)]
    rows = []
    for kind, label in (("train", "training, batch 16 × 256, AdamW"), ("prefill", "prefill, 1,024 tokens"),
                        ("decode", "decode, 64 tokens behind 1,024")):
        medians = {name: round(statistics.median(found[name][kind] for found in rounds)) for name in programs}
        ratios = sorted(found["core"][kind] / max(found["pytorch"][kind], found["compiled"][kind]) for found in rounds)
        rows.append({"what": label, **medians, "ratio": round(statistics.median(ratios), 2),
                     "range": [round(ratios[0], 2), round(ratios[-1], 2)]})
    by_operation = operations(sys.argv[1])
    sizes = {path.parent.name: path.stat().st_size for path in sorted((ROOT / "dist/models").glob("*/model.safetensors"))}
    machine = {"torch": torch.__version__, "processor": processor(), "rounds": ROUNDS, "threads": 1, "batch": BATCH, "length": LENGTH,
               "rows": rows, "operations": by_operation}
    add_rows(ROOT / "docs/benchmarks.json", [machine], "processor")
    times = browser()
    if sizes and times:
        page = {"processor": processor(), "model_bytes": sizes, "times": times}
        (ROOT / "docs/benchmarks-page.json").write_text(json.dumps(page, indent=2) + "\n")
    else:
        print("docs/benchmarks-page.json stays as it was: `cargo xtask test` builds the page and measures it")
    render()


if __name__ == "__main__":
    main()
