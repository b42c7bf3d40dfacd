"""What keeping keys and values in fewer bits costs and saves, beside llama.cpp; writes docs/results/real-models/cache.json.

    pip install gguf; npm install node-llama-cpp@3 --ignore-scripts
    python bench/cache.py path/to/core MODEL.gguf TEXT

SmolLM2-135M with weights in 8 bits on two threads: a prompt of 16,384 tokens and 64 tokens behind it, each program in a process
of its own, whose peak memory counts; and the perplexity of four texts of 8,192 tokens.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from results import RESULTS, measured, write_rows
from weights import written_as

LLAMA_CPP = pathlib.Path(__file__).parent / "llama_cpp.mjs"
PROMPT, NEW, THREADS = 16384, 64, 2
LENGTH, TEXTS = "8k", 4


def perplexity(binary, model, cache, text):
    """Perplexity, its 95% interval, and of what."""
    with tempfile.TemporaryDirectory() as folder:
        results = f"{folder}/perplexity.json"
        command = [binary, "eval", "ppl", "--model", model, "--weights", "q8", "--cache", cache, "--lengths", LENGTH, "--text", text,
                   "--texts", TEXTS, "--threads", THREADS, "--device", "cpu", "--json", results]
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
        [cell] = json.loads(pathlib.Path(results).read_text())
        return {"length": cell["length"], "texts": cell["of_texts"], "perplexity": cell["perplexity"], "ci95": cell["ci95"]}


def speeds(command):
    """Tokens a second, which a program prints, and its peak memory."""
    [found], peak = measured(command)
    return {"prefill": found["prefill"], "decode": found["decode"], "peak_bytes": peak}


def main():
    binary, model, text = sys.argv[1:]
    import gguf
    rows = []

    def add(row):
        print(row, flush=True)
        rows.append({"prompt": PROMPT, "threads": THREADS, **row})

    with tempfile.TemporaryDirectory() as folder:
        eight_bits = f"{folder}/Q8_0.gguf"
        written_as(model, eight_bits, gguf.GGMLQuantizationType.Q8_0)
        for cache in ("f32", "f16", "bf16", "q8"):
            command = [binary, "bench", "--model", model, "--weights", "q8", "--cache", cache, "--threads", THREADS, "--prompt", PROMPT,
                       "--repeats", 1, "--reading"]
            add({"program": "core", "cache": cache, **speeds(command), **perplexity(binary, model, cache, text)})
        add({"program": "llama.cpp", "cache": "F16", **speeds(["node", LLAMA_CPP, eight_bits, THREADS, PROMPT, NEW])})
    write_rows(RESULTS / "cache.json", rows)


if __name__ == "__main__":
    main()
