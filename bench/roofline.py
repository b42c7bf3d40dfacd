"""How much of this machine `core` uses, on one thread and on two; writes docs/results/real-models/roofline.json.

    core convert --from "$(cargo xtask fetch smollm2)" --to MODEL
    python bench/roofline.py path/to/core MODEL MODEL.gguf [--rounds 5] [--threads 1,2]

`core bench --roofline` measures products of f32 whose numbers stay in registers and reading from memory, then a prompt, generated tokens and
updates: of SmolLM2 (a prompt of 2,048 tokens, updates of 1 x 512) with weights of 32 bits and of the GGUF's 4, and of nano-rope (1,024,
16 x 256). Every round measures all. Results of other processors stay in the file.
"""

import argparse
import json
import pathlib

from real import OUT as SPEEDS
from real import measured, processor, write_rows

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = SPEEDS.parent / "roofline.json"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("model")
    parser.add_argument("gguf")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", default="1,2")
    args = parser.parse_args()
    smollm2 = ["--prompt", 2048, "--batch", "1x512", "--repeats", 1]
    models = {
        ("SmolLM2", "f32"): ["--model", args.model, *smollm2],
        ("SmolLM2", "stored"): ["--model", args.gguf, "--weights", "stored", "--cache", "f16", *smollm2],
        ("nano-rope", "f32"): ["--model", ROOT / "models/nano-rope", "--repeats", 3],
    }
    places = [(model, weights, threads) for threads in map(int, args.threads.split(",")) for model, weights in models]
    rounds = []
    for _ in range(args.rounds):
        found = {}
        for model, weights, threads in places:
            command = [args.binary, "bench", "--roofline", "--threads", threads, *models[model, weights]]
            [found[model, weights, threads]], _ = measured(command)
        rounds.append(found)
        print({place: round(one["generation"]["share"], 2) for place, one in found.items()}, flush=True)
    rows = []
    for place in places:
        found = [one[place] for one in rounds]
        row = dict(zip(("model", "weights", "threads"), place), processor=processor())
        row |= {name: [one[name] for one in found] for name in ("gigaflops", "gigabytes")}
        for work in ("prompt", "generation", "training"):
            row[work] = [one[work] for one in found] if found[0][work] else None
        rows.append(row)
    earlier = json.loads(OUT.read_text()) if OUT.exists() else []
    place = lambda row: (row["processor"], row["threads"])
    write_rows(OUT, [row for row in earlier if place(row) not in map(place, rows)] + rows)


if __name__ == "__main__":
    main()
