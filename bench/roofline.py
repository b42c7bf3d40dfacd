"""How much of this machine `core` uses, on one thread and on two; writes docs/results/real-models/roofline.json.

    core convert --from "$(cargo xtask fetch smollm2)" --to MODEL
    python bench/roofline.py path/to/core MODEL MODEL.gguf [--rounds 5] [--threads 1,2]

`core bench --roofline` measures products of f32 whose numbers stay in registers and reading from memory, then a prompt, generated tokens and
updates: of SmolLM2 (a prompt of 2,048 tokens, updates of 1 x 512) with weights of 32 and 8 bits and of the GGUF's 4, and of nano-rope (1,024,
16 x 256); and, with one thread, how much of the time more threads would not share. Every round measures all, each speed as the median of three runs. Results of
other processors stay in the file.
"""

from results import RESULTS, ROOT, add_rows, measured, processor, rounds_and_threads


def main():
    args = rounds_and_threads("binary", "model", "gguf")
    # A run before the first that counts gets its memory from the system.
    smollm2 = ["--prompt", 2048, "--batch", "1x512", "--repeats", 3]
    models = {
        ("SmolLM2", "f32"): ["--model", args.model, *smollm2],
        ("SmolLM2", "q8"): ["--model", args.model, "--weights", "q8", "--cache", "f16", *smollm2],
        ("SmolLM2", "stored"): ["--model", args.gguf, "--weights", "stored", "--cache", "f16", *smollm2],
        ("nano-rope", "f32"): ["--model", ROOT / "models/nano-rope", "--repeats", 3],
    }
    places = [(model, weights, threads) for threads in args.threads for model, weights in models]
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
    add_rows(RESULTS / "roofline.json", rows, "processor", "threads")


if __name__ == "__main__":
    main()
