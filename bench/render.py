"""Writes docs/benchmarks.md from docs/benchmarks.json and docs/benchmarks-page.json (bench/compare.py) and docs/benchmarks-browser.json
(bench/browser_nano.py)."""

import json
import statistics

from results import ROOT

# What a row is compared within.
PLACE = ("processor", "threads")


def beside_pytorch(machines):
    versions, rounds = [" or ".join(sorted({str(machine[field]) for machine in machines})) for field in ("torch", "rounds")]
    text = ["Written by `python bench/compare.py`; do not edit. Of a real model: [speed.md](speed.md).", "",
            f"`core` beside PyTorch ({versions}) as it is and with torch.compile, one thread each, in turn; nano-rope, f32. Tokens per second,",
            f"medians of {rounds} rounds; the ratio is that to the faster form of PyTorch, round by round: median and range.", "",
            "| processor | | core | PyTorch | PyTorch, compiled | core / the faster |", "|---|---|---|---|---|---|"]
    if any("began" not in machine for machine in machines):
        text[3] += " In results from before 28 November 2026"
        text.insert(4, "PyTorch's AdamW goes through the tensors one by one, its default on a CPU; since then its fused form is measured.")
    row = "| {processor} | {what} | {core:,} | {pytorch:,} | {compiled:,} | {ratio} [{0}, {1}] |"
    return text + [row.format(*r["range"], processor=machine["processor"], **r) for machine in machines for r in machine["rows"]]


def operations(machines):
    text = ["Where a training step's time goes: milliseconds of each kind of operation, forward and backward, measured",
            "alone (`core bench --operations`), in Burn's tensor operations and in the kernels of `core/src/kernels`. The rest",
            "of a step is the embedding's gradient, the optimizer and what lies between operations.", "",
            "| processor | operation | calls | plain | fused |", "|---|---|---|---|---|"]
    for machine in machines:
        of_step, name = machine["operations"], machine["processor"]
        step = 1000 * machine["batch"] * machine["length"] / machine["rows"][0]["core"]
        sums = (sum(o[form] for o in of_step) for form in ("plain", "fused"))
        text += [*(f"| {name} | {o['name']} | {o['calls']} | {o['plain']:.1f} | {o['fused']:.1f} |" for o in of_step),
                 "| {} | all of these | | {:.1f} | {:.1f} |".format(name, *sums), f"| {name} | a whole step | | | {step:.1f} |"]
    return text


def beside_others_in_the_browser(rows):
    text = ["In headless Chromium, wasm on the CPU, nano-rope in f32 (`python bench/browser_nano.py`): a prompt of about 1,024 tokens and",
            "an answer behind it (the page's of at most 7 tokens, the others' of 32), tokens per second, medians of",
            f"{' or '.join(sorted({str(len(row['prompt'])) for row in rows}))} rounds in which every program runs once; the page's speed",
            "by the other's in the same round: median and range.", "",
            "| processor | threads | program | prompt | generation | page ÷ this program, prompt | page ÷ this program, generation |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        if row.get("error"):
            program = " ".join(filter(None, [row["program"], row["version"]]))
            text.append(f"| {row['processor']} | {row['threads']} | {program} | {row['error']} | – | – | – |")
            continue
        page = next(one for one in rows if one["program"] == "page" and [one[f] for f in PLACE] == [row[f] for f in PLACE])
        ratios = ["–" if row is page else ratio(page[kind], row[kind]) for kind in ("prompt", "generation")]
        program = " ".join(filter(None, [row["program"], row["version"]]))
        speeds = [f"{statistics.median(row[kind]):,.0f}" for kind in ("prompt", "generation")]
        text.append(f"| {' | '.join([row['processor'], str(row['threads']), program, *speeds, *ratios])} |")
    return text


def ratio(ours, theirs):
    """Median and range of the ratios of the rounds."""
    ratios = [our / their for our, their in zip(ours, theirs)]
    return f"{statistics.median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]"


def page(measured):
    times = measured["times"]
    text = ["Weights of the models, as the page ships them: " + ", ".join(f"{name} {size:,} bytes" for name, size in measured["model_bytes"].items()) + "."]
    return text if times is None else [
        f"{measured['processor']}: headless Chromium, WebGPU by SwiftShader in software (`cargo xtask test` leaves the times):", "",
        f"- {times['tokens']} tokens of nano-rope: {times['webgpu_ms']} ms on WebGPU, {times['cpu_ms']} ms on the wasm CPU;",
        f"- from the click to the first token at 4×, weights included, wasm CPU: {times['first_token_ms']:.0f} ms;",
        *(f"- {name}: {size:,} bytes, {packed:,} with brotli;" for name, (size, packed) in times["wasm"].items()), "", *text]


def render():
    read = lambda name: json.loads((ROOT / "docs" / name).read_text())
    machines = read("benchmarks.json")
    parts = [["# Benchmarks"], beside_pytorch(machines), operations(machines), beside_others_in_the_browser(read("benchmarks-browser.json")),
             page(read("benchmarks-page.json"))]
    text = "\n\n".join("\n".join(part) for part in parts)
    (ROOT / "docs/benchmarks.md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    render()
