"""What keeping keys and values in fewer bits costs and saves, beside llama.cpp; writes docs/results/real-models/cache.json.

    pip install gguf; cmake --build LLAMA --target llama-bench      # as for bench/real.py
    python bench/cache.py path/to/core MODEL.gguf TEXT LLAMA/bin/llama-bench [--rounds 5] [--threads 2]

SmolLM2-135M with weights in 8 bits: a prompt of 8,192 tokens, its context, and 64 tokens behind it; and the
perplexity of four texts of as many tokens.
"""

import json
import pathlib
import subprocess
import tempfile

from readers import core, in_rounds, llama
from results import RESULTS, add_rows, processor, rounds_and_threads
from weights import written_as

LENGTH, NEW, TEXTS = 8192, 64, 4
TYPES = ("f32", "f16", "bf16", "q8")


def perplexity(binary, model, cache, text):
    """Perplexity, its 95% interval, and of what."""
    with tempfile.TemporaryDirectory() as folder:
        results = f"{folder}/perplexity.json"
        command = [binary, "eval", "ppl", "--model", model, "--weights", "q8", "--cache", cache, "--lengths", LENGTH, "--text", text,
                   "--texts", TEXTS, "--device", "cpu", "--json", results]
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
        [cell] = json.loads(pathlib.Path(results).read_text())
        return {"length": cell["length"], "texts": cell["of_texts"], "perplexity": cell["perplexity"], "ci95": cell["ci95"]}


def main():
    args = rounds_and_threads("binary", "model", "text", "llama_bench")
    import gguf
    losses = {("core", cache): perplexity(args.binary, args.model, cache, args.text) for cache in TYPES}
    with tempfile.TemporaryDirectory() as folder:
        eight_bits = f"{folder}/Q8_0.gguf"
        written_as(args.model, eight_bits, gguf.GGMLQuantizationType.Q8_0)
        for threads in args.threads:
            programs = {("core", cache): core(args.binary, args.model, "q8", cache, threads, LENGTH) for cache in TYPES}
            programs["llama.cpp", "f16"] = llama(args.llama_bench, eight_bits, threads, LENGTH, NEW)
            rows = [{"processor": processor(), "threads": threads, "prompt_tokens": LENGTH, "program": program, "cache": cache, **found,
                     **losses.get((program, cache), {})}
                    for (program, cache), found in in_rounds(programs, args.rounds).items()]
            add_rows(RESULTS / "cache.json", rows, "processor", "threads")


if __name__ == "__main__":
    main()
