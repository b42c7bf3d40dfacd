"""An update of transformers' model by PyTorch on one batch: forward pass, backward pass, clipping and AdamW.

    python bench/training_step.py MODEL eager|compiled ROWSxLENGTH THREADS UPDATES

prints tokens a second (the median of the updates, after one that does not count) and the most memory that the process took.
"""

import json
import pathlib
import statistics
import sys
import time

import torch
from transformers import AutoModelForCausalLM


def ids(model, rows, length):
    """Token ids `[rows, length]`, those that `core bench` trains on."""
    vocab = model.config.vocab_size
    return torch.tensor([(i * 7919 + 13) % vocab for i in range(rows * length)]).view(rows, length)


def update(model, ids, is_compiled=False):
    """A function that makes one update; attention is scaled-dot-product attention, transformers' default."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    forward = torch.compile(model) if is_compiled else model

    def step():
        logits = forward(ids[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def median_seconds(function, repeats):
    """Median seconds of a call, after one that does not count."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def peak_memory():
    """Bytes; what getrusage says begins with the memory of the process that started this one."""
    status = pathlib.Path("/proc/self/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmHWM:")).split()[1])


def main():
    path, form, batch, threads, updates = sys.argv[1:]
    rows, length = map(int, batch.split("x"))
    torch.set_num_threads(int(threads))
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    seconds = median_seconds(update(model, ids(model, rows, length), form == "compiled"), int(updates))
    print(json.dumps({"train": rows * length / seconds, "peak_bytes": peak_memory(), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
