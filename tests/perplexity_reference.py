"""The perplexity of a text by the recipe of transformers' guide to models of fixed length.

    python tests/perplexity_reference.py MODEL.gguf TEXT WINDOW STRIDE

prints it. https://huggingface.co/docs/transformers/perplexity, but for two changes: the mean of each window is weighted by the
tokens that it is of, and the tokenizer is SmolLM2's own (smollm2_reference.py).
"""

import pathlib
import sys

import torch
from smollm2_reference import smollm2_tokenizer
from transformers import AutoModelForCausalLM

if __name__ == "__main__":
    path, text = map(pathlib.Path, sys.argv[1:3])
    window, stride = map(int, sys.argv[3:])
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()
    ids = torch.tensor([smollm2_tokenizer(path).encode(text.read_text()).ids])
    total, tokens, counted = 0.0, 0, 0
    for begin in range(0, ids.shape[1], stride):
        end = min(begin + window, ids.shape[1])
        targets = ids[:, begin:end].clone()
        targets[:, : counted - end] = -100
        predicted = (targets[:, 1:] != -100).sum().item()
        with torch.no_grad():
            total += model(ids[:, begin:end], labels=targets).loss.item() * predicted
        tokens += predicted
        counted = end
        if end == ids.shape[1]:
            break
    print(torch.tensor(total / tokens, dtype=torch.float64).exp().item())
