"""Where the memory goes that a prompt and an answer take; writes docs/results/real-models/memory.json.

    core convert --from "$(cargo xtask fetch smollm2)" --to MODEL
    python bench/memory.py path/to/core MODEL MODEL.gguf

SmolLM2 reads 2,048 tokens and writes 64, with weights of 32 and 8 bits and of the GGUF's 4, on one thread and on two.
"""

import json
import subprocess
import sys

from results import RESULTS, write_rows

SETTINGS = (("f32", "f32"), ("f32", "f16"), ("q8", "f16"), ("stored", "f16"))


def main():
    binary, model, gguf = sys.argv[1:]
    rows = []
    for threads in (1, 2):
        for weights, cache in SETTINGS:
            command = [binary, "bench", "--memory", "--model", gguf if weights == "stored" else model, "--weights", weights,
                       "--cache", cache, "--prompt", 2048, "--threads", threads]
            output = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout
            rows.append({"model": "SmolLM2", "bits": weights, "cache_type": cache, **json.loads(output)})
            print(rows[-1], flush=True)
    write_rows(RESULTS / "memory.json", rows)


if __name__ == "__main__":
    main()
