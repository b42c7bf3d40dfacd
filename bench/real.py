"""Speed and memory of `core` on a real model beside PyTorch and llama.cpp, in one run; writes docs/results/real-models/speed.json.

    pip install torch transformers gguf accelerate; npm install node-llama-cpp@3 --ignore-scripts
    python bench/real.py path/to/core MODEL.gguf

SmolLM2-135M: a prompt of 2,048 tokens and 64 tokens behind it, on one and two threads. Each program runs in a process of its
own, whose peak memory counts. llama.cpp reads the same weights written as F32 and Q8_0. Memory is measured by GNU time.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

PROMPT, NEW = 2048, 64
LLAMA_CPP = pathlib.Path(__file__).parent / "llama_cpp.mjs"
OUT = pathlib.Path(__file__).parent.parent / "docs/results/real-models/speed.json"

TORCH = """
import json, sys, time, torch
from transformers import AutoModelForCausalLM
path, threads, prompt, new = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(threads)
model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
ids = torch.tensor([[(i * 7919 + 13) % 49152 for i in range(prompt)]])
with torch.no_grad():
    for run in range(2):
        start = time.perf_counter()
        out = model(ids, use_cache=True, logits_to_keep=1)
        read = time.perf_counter()
        for _ in range(new):
            out = model(out.logits[:, -1:].argmax(-1), past_key_values=out.past_key_values, use_cache=True)
        end = time.perf_counter()
print(json.dumps({"prefill": prompt / (read - start), "decode": new / (end - read)}))
"""


def written_as(source, path, kind):
    """The same model with its matrices stored as `kind`."""
    import gguf
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(path, "llama")
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        kinds = field.types
        writer.add_key_value(field.name, field.contents(), kinds[0], kinds[-1] if kinds[0] == gguf.GGUFValueType.ARRAY else None)
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        if values.ndim == 2:
            writer.add_tensor(tensor.name, gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(tensor.name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_rows(path, rows):
    """A results file, a row a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


def measured(command):
    """The last line that a program prints, and its peak memory, which GNU time tells, in KiB, apart from that of this process."""
    done = subprocess.run(["/usr/bin/time", "-f", "%M", *map(str, command)], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return {"prefill": found["prefill"], "decode": found["decode"], "peak_bytes": 1024 * int(done.stderr.split()[-1])}


def main():
    binary, model = sys.argv[1:]
    import gguf
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        files = {name: f"{folder}/{name}.gguf" for name in ("F32", "Q8_0")}
        for name, path in files.items():
            written_as(model, path, gguf.GGMLQuantizationType[name])
        subprocess.run([binary, "convert", "--from", model, "--to", f"{folder}/hf"], check=True, stdout=subprocess.DEVNULL)
        for threads in (1, 2):
            sizes = [str(threads), str(PROMPT), str(NEW)]
            ours = lambda weights: [binary, "bench", "--model", model, "--weights", weights, "--threads", threads, "--prompt",
                                    PROMPT, "--repeats", 1, "--reading"]
            for program, weights, command in (
                ("core", "f32", ours("f32")),
                ("PyTorch", "f32", [sys.executable, "-c", TORCH, f"{folder}/hf", *sizes]),
                ("llama.cpp", "F32", ["node", LLAMA_CPP, files["F32"], *sizes]),
                ("core", "q8", ours("q8")),
                ("llama.cpp", "Q8_0", ["node", LLAMA_CPP, files["Q8_0"], *sizes]),
            ):
                found = {"program": program, "weights": weights, "threads": threads, **measured(command)}
                print(found, flush=True)
                rows.append(found)
    write_rows(OUT, rows)


if __name__ == "__main__":
    main()
