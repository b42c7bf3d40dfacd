"""Speed of `core` on an NVIDIA card beside PyTorch, eager and compiled; adds to docs/results/real-models/card.json.

    pip install torch transformers
    core convert --from "$(cargo xtask fetch smollm2)" --to MODEL
    python bench/card.py path/to/core MODEL [--rounds 5] [--updates 3]

`core` is built with `--features cuda`. PyTorch runs transformers' model in this process, so that its compiling does not count; in each round
every program is measured once. An update is four micro-batches, clipping and AdamW; products are in bf16 by autocast and in f32, weights
and the optimizer's state in f32, attention is scaled-dot-product attention. Reading is of one prompt, and 64 tokens behind it. The first run of
`core` on a card takes some minutes to compile kernels; --device cpu tries the program out where there is none.
"""

import argparse
import functools
import json
import pathlib
import subprocess
import sys

import torch
from results import RESULTS, add_rows, processor
from training_step import ids, median_seconds
from transformers import AutoModelForCausalLM

MICRO_BATCHES = 4
NEW_TOKENS = 64


def wait():
    """Until the card has done what it was asked."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def seconds(work, repeats):
    """Median seconds of a call, the card's work included, after one that does not count."""
    return median_seconds(lambda: (work(), wait()), repeats)


class Training:
    """Updates of a model on one batch."""

    def __init__(self, path, compute, is_compiled, device):
        self.model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).to(device)
        self.forward = torch.compile(self.model) if is_compiled else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
        self.cast = functools.partial(torch.autocast, device, dtype=torch.bfloat16, enabled=compute == "bf16")

    def update(self, batch):
        self.optimizer.zero_grad()
        for part in batch.chunk(MICRO_BATCHES):
            with self.cast():
                logits = self.forward(part[:, :-1], use_cache=False).logits
            loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), part[:, 1:].flatten())
            (loss / MICRO_BATCHES).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()

    def measured(self, rows, length, updates):
        batch = ids(self.model, rows, length).to(self.model.device)
        return {"train": rows * length / seconds(lambda: self.update(batch), updates)}


class Reading:
    """Prompts and answers of a model."""

    def __init__(self, path, weights, is_compiled, device):
        dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[weights]
        self.model = AutoModelForCausalLM.from_pretrained(path, dtype=dtype).to(device).eval()
        self.forward = torch.compile(self.model) if is_compiled else self.model
        self.options = {"cache_implementation": "static"} if is_compiled else {}

    @torch.inference_mode()
    def measured(self, prompt, repeats):
        text = ids(self.model, 1, prompt).to(self.model.device)
        first = seconds(lambda: self.forward(text, logits_to_keep=1), repeats)
        answer = lambda tokens: lambda: self.model.generate(
            text, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False, pad_token_id=0, **self.options
        )
        one, all_of_them = [seconds(answer(tokens), repeats) for tokens in (1, NEW_TOKENS + 1)]
        return {"prefill": prompt / first, "decode": NEW_TOKENS / (all_of_them - one)}


def ours(args, *arguments):
    """What `core bench` prints, or the end of what it says instead."""
    torch.cuda.empty_cache()
    command = [args.binary, "bench", "--device", args.device, "--model", args.model, *map(str, arguments), "--repeats", str(args.updates)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr[-600:], file=sys.stderr)
        return None
    found = json.loads(done.stdout.splitlines()[-1])
    return {field: found[field] for field in ("train", "prefill", "decode") if found.get(field)}


def in_rounds(programs, rounds, place, file):
    """Measures every program once a round, and adds its speeds to the results."""
    found = {name: [] for name in programs}
    for _ in range(rounds):
        for name, measure in programs.items():
            found[name].append(measure())
            print(json.dumps({**place, "program": name, **(found[name][-1] or {})}), flush=True)
    if not all(map(all, found.values())):
        # Rows of one place are of one run: those before stay.
        return
    rows = [
        {**place, "program": name, **{field: [one[field] for one in of_rounds] for field in of_rounds[0]}}
        for name, of_rounds in found.items()
    ]
    add_rows(file, rows, *place)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("model")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=3)
    parser.add_argument("--batches", default="64x1024,8x8192")
    parser.add_argument("--prompts", default="2048,8192")
    parser.add_argument("--types", default="bf16,f32")
    parser.add_argument("--compiled", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS / "card.json")
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    card = torch.cuda.get_device_name() if args.device == "cuda" else processor()
    shared = {"model": pathlib.Path(args.model).name, "card": card, "torch": torch.__version__}
    forms = [("PyTorch", False)] + [("PyTorch, compiled", True)] * args.compiled
    for kind in args.types.split(","):
        for batch in filter(None, args.batches.split(",")):
            rows, length = map(int, batch.split("x"))
            core = lambda: ours(args, "--training", "--recompute", "--compute", kind, "--batch", batch)
            peers = {name: Training(args.model, kind, compiled, args.device) for name, compiled in forms}
            programs = {"core": core} | {
                name: functools.partial(peer.measured, rows, length, args.updates) for name, peer in peers.items()
            }
            in_rounds(programs, args.rounds, {**shared, "work": f"training, {batch}", "type": kind}, args.out)
        peers = {name: Reading(args.model, kind, compiled, args.device) for name, compiled in forms if args.prompts}
        for prompt in map(int, filter(None, args.prompts.split(","))):
            core = lambda: ours(args, "--reading", "--weights", kind, "--compute", kind, "--prompt", prompt)
            programs = {"core": core} | {name: functools.partial(peer.measured, prompt, args.updates) for name, peer in peers.items()}
            in_rounds(programs, args.rounds, {**shared, "work": f"reading, {prompt}", "type": kind}, args.out)


if __name__ == "__main__":
    main()
