"""Speed and memory of training a real model in `core` beside PyTorch, eager and compiled; writes
docs/results/real-models/training.json, and what each kind of operation of an update takes to operations.json beside it.

    pip install torch transformers
    core convert --from "$(cargo xtask fetch smollm2)" --to MODEL
    python bench/training.py path/to/core MODEL [--batches 16x256,1x512,1x2048] [--threads 1,2] [--rounds 5]

An update is a forward pass, a backward pass, clipping and AdamW on one batch. In each round every program runs once, in a process of its
own with one update that does not count and some that do, since the first ones get their memory from the system, so that what else the machine does meets all alike. PyTorch runs transformers' model with
scaled-dot-product attention; `compiled` is torch.compile of it, whose compiling does not count. Results of other processors stay in the
file; those of this model, processor, batch and number of threads are replaced.
"""

import argparse
import json
import pathlib
import subprocess
import sys

from results import RESULTS, add_rows, processor

STEP = pathlib.Path(__file__).resolve().parent / "training_step.py"


def ours(binary, model, batch, threads, updates, *more):
    return [binary, "bench", "--model", model, "--training", "--batch", batch, "--threads", threads, "--repeats", updates, *more]


def commands(binary, model, batch, threads, updates):
    theirs = [[sys.executable, STEP, model, form, batch, threads, updates] for form in ("eager", "compiled")]
    return {
        "core": ours(binary, model, batch, threads, updates),
        "core, blocks computed again": ours(binary, model, batch, threads, updates, "--recompute"),
        "PyTorch": theirs[0],
        "PyTorch, compiled": theirs[1],
    }


def measured(command):
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def operations(binary, model, batch):
    """Milliseconds of each kind of operation in an update on one thread, plain and fused."""
    command = [binary, "bench", "--model", model, "--operations", "--batch", batch, "--repeats", "3"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    place = {"model": pathlib.Path(model).name, "processor": processor(), "batch": batch}
    return [{**place, **json.loads(line)} for line in lines]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("model")
    parser.add_argument("--batches", default="16x256,1x512,1x2048")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=5)
    parser.add_argument("--profile", default="1x512", help="batch of the profile by operation, or none")
    args = parser.parse_args()
    # Where it cannot be named, this says so before hours of work.
    processor()
    for batch in args.batches.split(","):
        for threads in map(int, args.threads.split(",")):
            programs = commands(args.binary, args.model, batch, threads, args.updates)
            rounds = []
            for _ in range(args.rounds):
                rounds.append({name: measured(command) for name, command in programs.items()})
                print(batch, threads, {name: round(found["train"]) for name, found in rounds[-1].items()}, flush=True)
            row = lambda name: {
                "model": pathlib.Path(args.model).name, "processor": processor(), "torch": rounds[0]["PyTorch"]["torch"],
                "batch": batch, "threads": threads, "program": name, "speeds": [found[name]["train"] for found in rounds],
                "peak_bytes": max(found[name]["peak_bytes"] for found in rounds),
            }
            rows = [row(name) for name in programs]
            add_rows(RESULTS / "training.json", rows, "model", "processor", "batch", "threads")
    if args.profile != "none":
        add_rows(RESULTS / "operations.json", operations(args.binary, args.model, args.profile), "model", "processor", "batch")


if __name__ == "__main__":
    main()
