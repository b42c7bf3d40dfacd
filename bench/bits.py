"""What keeping weights in fewer bits costs in perplexity, beside llama.cpp; writes docs/results/real-models/bits.json.

    pip install gguf; cmake --build LLAMA --target llama-perplexity      # as for bench/real.py
    python bench/bits.py path/to/core MODEL.gguf TEXT LLAMA/bin/llama-perplexity

SmolLM2-135M, a Q4_1, on eight stretches of 2,048 tokens of a text, on a processor that multiplies bf16. Each program is compared with itself
at 32 bits: they choose their stretches and count tokens in their own ways.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

from readers import IN_BF16
from results import RESULTS, write_rows
from weights import written_as

LENGTH, TEXTS, THREADS = 2048, 8, 2


def core(binary, model, weights, compute, text):
    with tempfile.TemporaryDirectory() as folder:
        results = f"{folder}/perplexity.json"
        command = [binary, "eval", "ppl", "--model", model, "--weights", weights, "--compute", compute, "--lengths", LENGTH, "--text", text,
                   "--texts", TEXTS, "--threads", THREADS, "--device", "cpu", "--json", results]
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
        [cell] = json.loads(pathlib.Path(results).read_text())
        return cell["perplexity"]


def llama(binary, model, text):
    command = [binary, "-m", model, "-f", text, "-c", LENGTH, "--chunks", TEXTS, "-t", THREADS]
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return float(re.search(r"Final estimate: PPL = ([0-9.]+)", done.stdout + done.stderr)[1])


def main():
    binary, model, text, llama_perplexity = sys.argv[1:]
    import gguf
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        files = {32: f"{folder}/F32.gguf", 8: f"{folder}/Q8_0.gguf", 4: model}
        written_as(model, files[32], gguf.GGMLQuantizationType.F32)
        written_as(model, files[8], gguf.GGMLQuantizationType.Q8_0)
        for bits, weights in ((32, "f32"), (8, "q8"), (4, "stored")):
            rows.append({"program": "core", "bits": bits, "perplexity": core(binary, model, weights, "f32", text)})
            rows.append({"program": IN_BF16, "bits": bits, "perplexity": core(binary, model, weights, "bf16", text)})
            rows.append({"program": "llama.cpp", "bits": bits, "perplexity": llama(llama_perplexity, files[bits], text)})
            print(rows[-3:], flush=True)
    write_rows(RESULTS / "bits.json", [{"text": pathlib.Path(text).name, "texts": TEXTS, "length": LENGTH, **row} for row in rows])


if __name__ == "__main__":
    main()
