"""Programs that read a prompt and write behind it, each run in a process of its own, whose peak memory counts."""

from results import measured

# `core` with prompts computed in bf16.
IN_BF16 = "core, bf16"


def core(binary, model, weights, cache, threads, prompt, compute="f32"):
    command = [binary, "bench", "--model", model, "--weights", weights, "--cache", cache, "--threads", threads, "--prompt", prompt,
               "--compute", compute, "--repeats", 1, "--reading"]

    def run():
        [found], peak = measured(command)
        return {"prefill": found["prefill"], "decode": found["decode"], "peak_bytes": peak}

    return run


def llama(binary, model, threads, prompt, new):
    """llama.cpp's llama-bench; keys and values in 16 bits, its default; the faster of its two forms of attention counts. Its memory is that
    of a run of that form alone: tokens behind a prompt are measured with a copy of the prompt's keys and values beside."""
    # A prompt, and then tokens behind one.
    shared = [binary, "-m", model, "-t", threads, "-r", 1, "-o", "jsonl"]
    parts = [["-p", prompt, "-n", 0], ["-p", 0, "-n", new, "-d", prompt]]

    def run():
        (read, _), (generated, _) = [measured([*shared, "-fa", "0,1", *part]) for part in parts]
        form = int(max(read, key=lambda form: form["avg_ts"])["flash_attn"])
        _, peak = measured([*shared, "--no-warmup", "-fa", form, "-p", 0, "-n", 0, "-pg", f"{prompt},{new}"])
        version = f"build {read[0]['build_number']}, {read[0]['build_commit']}"
        fastest = lambda forms: max(form["avg_ts"] for form in forms)
        return {"prefill": fastest(read), "decode": fastest(generated), "peak_bytes": peak, "version": version}

    return run


def in_rounds(programs, rounds):
    """What each program of `programs` (its place in a table and a function) told, a list with a number a round. In each round every
    program runs once, so that what else the machine does meets all alike."""
    told = []
    for _ in range(rounds):
        told.append({place: run() for place, run in programs.items()})
        print({place: (round(found["prefill"]), round(found["decode"])) for place, found in told[-1].items()}, flush=True)
    return {place: {
        "version": told[0][place].get("version"),
        "prompt": [one[place]["prefill"] for one in told],
        "generation": [one[place]["decode"] for one in told],
        "peak_bytes": max(one[place]["peak_bytes"] for one in told),
    } for place in programs}
