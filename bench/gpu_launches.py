"""What a GPU does for a prompt and for a generated token: launches, and bytes that are read; writes docs/results/real-models/launches.json.

    cargo build --release -p drope-native --features wgpu
    python bench/gpu_launches.py path/to/core MODEL TEXT

These hold without a card, on Vulkan in software (VK_ICD_FILENAMES=/usr/share/vulkan/icd.d/lvp_icd.x86_64.json). CubeCL's log has a line for each
launch. Bytes are counted from the model's shape: a token reads
every matrix once, and a key and a value once for up to four query heads that share it.
"""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from results import RESULTS, write_rows

# Bytes of text before the generated tokens: less than one chunk of 256 tokens, and two with some more.
PROMPTS = (400, 2400)
BITS = {"f32": 32, "f16": 16, "q8": 9}
# Of weights, and of keys and values.
TYPES = [("f32", "f32"), ("f16", "f32"), ("q8", "f32"), ("q8", "f16")]
HEADS = 4


def passes(binary, model, weights, cache, prompt):
    """For each part of the prompt, and then for each generated token, how often which kernel was launched."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log")
        environment = {**os.environ, "CUBECL_DEBUG_LOG": str(log), "CUBECL_DEBUG_OPTION": "profile-full"}
        command = [binary, "generate", "--model", model, "--device", "wgpu", "--weights", weights, "--cache", cache, "--prompt", prompt,
                   "--max-new-tokens", 3]
        subprocess.run(list(map(str, command)), check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        names = re.findall(r"^\| [\d.]+(?:s|ms|µs|ns) +\| ([\w:]+)", log.read_text(errors="replace"), re.MULTILINE)
    found = [collections.Counter()]
    for name in names:
        found[-1][name.rsplit("::", 1)[0]] += 1
        # What a pass ends with.
        if "choice::choose" in name:
            found.append(collections.Counter())
    return found[:-1]


def main():
    binary, model, text = sys.argv[1:]
    config = json.loads(pathlib.Path(model, "config.json").read_text())
    layers, kv_heads, heads, hidden = (config[f"num_{name}"] if name != "hidden_size" else config[name]
                                       for name in ("hidden_layers", "key_value_heads", "attention_heads", "hidden_size"))
    head_dim = config.get("head_dim") or hidden // heads
    matrices = layers * (2 * hidden * (heads + kv_heads) * head_dim + 3 * hidden * config["intermediate_size"]) + config["vocab_size"] * hidden
    readers = -(-(heads // kv_heads) // HEADS)
    rows = []
    for weights, cache in TYPES:
        for length in PROMPTS:
            found = passes(binary, model, weights, cache, pathlib.Path(text).read_text()[:length])
            chunks = [one for one in found if "drope_core::kernels::gpu::attention::tiles::attend" in one]
            rows.append({
                "model": pathlib.Path(model).name, "weights": weights, "cache": cache, "chunks": len(chunks),
                "token_launches": found[-1].total(),
                # The first has what loading launched.
                "chunk_launches": chunks[1].total() if chunks[1:] else None,
                "matrices_bytes": matrices * BITS[weights] / 8,
                "cache_bytes": readers * 2 * layers * kv_heads * head_dim * BITS[cache] // 8 * 256 * len(chunks),
            })
            print(rows[-1], chunks[-1].most_common(), flush=True)
    write_rows(RESULTS / "launches.json", rows)


if __name__ == "__main__":
    main()
