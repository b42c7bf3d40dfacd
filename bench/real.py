"""Speed and memory of `core` on a real model beside PyTorch, eager and compiled, and llama.cpp compiled on this machine; writes
docs/results/real-models/speed.json.

    pip install torch transformers gguf accelerate
    pip download --no-deps --no-binary llama-cpp-python --no-build-isolation llama-cpp-python   # has llama.cpp in vendor/llama.cpp
    # gcc 12 compiles llama.cpp's products by tiles (AMX) to a program that crashes; clang 16 does not (CC=clang-16 CXX=clang++-16).
    cmake -B LLAMA -DCMAKE_BUILD_TYPE=Release -DLLAMA_CURL=OFF SOURCE && cmake --build LLAMA --target llama-bench
    python bench/real.py path/to/core MODEL.gguf LLAMA/bin/llama-bench [--rounds 5] [--threads 1,2]

SmolLM2-135M, a Q4_1: a prompt of 2,048 tokens, and 64 tokens behind it. PyTorch's two forms stay in processes of their own for all
rounds, since compiling takes minutes. llama.cpp reads the file as it is, and the same weights written as F32 and Q8_0; keys and values
have 16 bits, its default, in PyTorch 32, where transformers' default cache grows with each token. Memory is the peak of each process, measured by GNU time, or told by PyTorch's. Results of other
processors stay in the file.
"""

import json
import subprocess
import sys
import tempfile

from readers import IN_BF16, core, in_rounds, llama
from results import RESULTS, add_rows, processor, rounds_and_threads
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
            ours = lambda weights, compute="f32": core(args.binary, args.model, weights, "f16", threads, PROMPT, compute)
            theirs = lambda model: llama(args.llama_bench, model, threads, PROMPT, NEW)
            pytorch = lambda form: PyTorch(f"{folder}/hf", form, threads)
            programs = {
                (32, "core"): ours("f32"),
                (32, "PyTorch"): pytorch("eager"),
                (32, "PyTorch, compiled"): pytorch("compiled"),
                (32, "llama.cpp"): theirs(files["F32"]),
                (8, "core"): ours("q8"),
                (8, "llama.cpp"): theirs(files["Q8_0"]),
                (4, "core"): ours("stored"),
                (4, "llama.cpp"): theirs(args.model),
            }
            if processor().endswith("amx_bf16"):
                programs |= {(bits, IN_BF16): ours(weights, "bf16") for bits, weights in ((32, "f32"), (8, "q8"), (4, "stored"))}
            rows += [{"processor": processor(), "bits": bits, "threads": threads, "program": program, **found}
                     for (bits, program), found in in_rounds(programs, args.rounds).items()]
            for program in programs.values():
                if isinstance(program, PyTorch):
                    program.process.kill()
    add_rows(RESULTS / "speed.json", rows, "processor", "threads")


if __name__ == "__main__":
    main()
