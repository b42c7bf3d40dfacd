"""Speed and memory of `core` on a real model beside PyTorch, eager and compiled, and llama.cpp compiled on this machine; writes
docs/results/real-models/speed.json.

    pip install torch transformers gguf accelerate
    pip download --no-deps --no-binary llama-cpp-python --no-build-isolation llama-cpp-python   # has llama.cpp in vendor/llama.cpp
    cmake -B LLAMA -DCMAKE_BUILD_TYPE=Release -DLLAMA_CURL=OFF SOURCE && cmake --build LLAMA --target llama-bench
    python bench/real.py path/to/core MODEL.gguf LLAMA/bin/llama-bench [--rounds 5] [--threads 1,2]

SmolLM2-135M, a Q4_1: a prompt of 2,048 tokens, and 64 tokens behind it. In each round every program runs once, so that what else the machine
does meets all alike; PyTorch's two forms stay in processes of their own, since compiling takes minutes. llama.cpp reads the file as it
is, and the same weights written as F32 and Q8_0; keys and values have 16 bits, its default, in PyTorch 32. Memory is the peak of each
process, measured by GNU time, or told by PyTorch's. Results of other processors stay in the file.
"""

import json
import subprocess
import sys
import tempfile

from results import RESULTS, add_rows, measured, processor, rounds_and_threads
from weights import written_as

PROMPT, NEW = 2048, 64

# Measures once for each line that it reads.
TORCH = """
import json, pathlib, sys, time, torch
from transformers import AutoModelForCausalLM
path, form, threads, prompt, new = sys.argv[1:3] + [int(word) for word in sys.argv[3:]]
torch.set_num_threads(threads)
model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
forward = torch.compile(model, dynamic=True) if form == "compiled" else model
ids = torch.tensor([[(i * 7919 + 13) % 49152 for i in range(prompt)]])
print(json.dumps("ready"), flush=True)
for round, _ in enumerate(sys.stdin):
    for run in range(2 if round == 0 else 1):
        with torch.no_grad():
            start = time.perf_counter()
            out = forward(ids, use_cache=True, logits_to_keep=1)
            read = time.perf_counter()
            for _ in range(new):
                out = forward(out.logits[:, -1:].argmax(-1), past_key_values=out.past_key_values, use_cache=True)
            end = time.perf_counter()
    peak = next(line for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    found = {"prefill": prompt / (read - start), "decode": new / (end - read), "peak_bytes": 1024 * int(peak.split()[1])}
    print(json.dumps({**found, "version": torch.__version__}), flush=True)
"""


class PyTorch:
    """A process that measures whenever it is asked."""

    def __init__(self, folder, form, threads):
        command = [sys.executable, "-c", TORCH, folder, form, threads, PROMPT, NEW]
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        # Loading the model must not slow what is measured first.
        self.process.stdout.readline()

    def __call__(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def core(binary, model, weights, threads):
    command = [binary, "bench", "--model", model, "--weights", weights, "--cache", "f16", "--threads", threads, "--prompt", PROMPT,
               "--repeats", 1, "--reading"]

    def run():
        [found], peak = measured(command)
        return {"prefill": found["prefill"], "decode": found["decode"], "peak_bytes": peak}

    return run


def llama(binary, model, threads):
    # A prompt, and then tokens behind one.
    shared = [binary, "-m", model, "-t", threads, "-r", 1, "-o", "jsonl"]
    parts = [["-p", PROMPT, "-n", 0], ["-p", 0, "-n", NEW, "-d", PROMPT]]

    def run():
        ([prompt], _), ([generated], peak) = [measured([*shared, *part]) for part in parts]
        version = f"build {prompt['build_number']}, {prompt['build_commit']}"
        return {"prefill": prompt["avg_ts"], "decode": generated["avg_ts"], "peak_bytes": peak, "version": version}

    return run


def main():
    args = rounds_and_threads("binary", "model", "llama_bench")
    import gguf
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        files = {name: f"{folder}/{name}.gguf" for name in ("F32", "Q8_0")}
        for name, path in files.items():
            written_as(args.model, path, gguf.GGMLQuantizationType[name])
        subprocess.run([args.binary, "convert", "--from", args.model, "--to", f"{folder}/hf"], check=True, stdout=subprocess.DEVNULL)
        for threads in args.threads:
            programs = {
                (32, "core"): core(args.binary, args.model, "f32", threads),
                (32, "PyTorch"): PyTorch(f"{folder}/hf", "eager", threads),
                (32, "PyTorch, compiled"): PyTorch(f"{folder}/hf", "compiled", threads),
                (32, "llama.cpp"): llama(args.llama_bench, files["F32"], threads),
                (8, "core"): core(args.binary, args.model, "q8", threads),
                (8, "llama.cpp"): llama(args.llama_bench, files["Q8_0"], threads),
                (4, "core"): core(args.binary, args.model, "stored", threads),
                (4, "llama.cpp"): llama(args.llama_bench, args.model, threads),
            }
            rounds = []
            for _ in range(args.rounds):
                rounds.append({place: program() for place, program in programs.items()})
                print(threads, {place: (round(found["prefill"]), round(found["decode"])) for place, found in rounds[-1].items()}, flush=True)
            for program in programs.values():
                if isinstance(program, PyTorch):
                    program.process.kill()
            for (bits, program), first in rounds[0].items():
                found = [one[bits, program] for one in rounds]
                rows.append({
                    "processor": processor(), "bits": bits, "threads": threads, "program": program, "version": first.get("version"),
                    "prompt": [one["prefill"] for one in found], "generation": [one["decode"] for one in found],
                    "peak_bytes": max(one["peak_bytes"] for one in found),
                })
    add_rows(RESULTS / "speed.json", rows, "processor", "threads")


if __name__ == "__main__":
    main()
