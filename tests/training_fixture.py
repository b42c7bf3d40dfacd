"""Five updates of a tiny model with PyTorch: losses, gradients, clipping, schedule, AdamW and Muon.

    pip install torch transformers safetensors
    python tests/training_fixture.py

reads the model tests/fixtures/rope and writes tests/fixtures/training/expected.safetensors, which core/tests/train.rs
compares with. PyTorch computes in float64, so that what differs is our float32: transformers' RMSNorm, which casts to
float32, is replaced by torch's own, and torch.optim.Muon, which orthogonalises in bfloat16, gets float64 instead.
"""

import json
import pathlib
import unittest.mock

import torch
from safetensors.torch import load_file, save_file
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaRMSNorm

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
STEPS, ROWS, LENGTH = 5, 4, 16
PEAK, WARMUP, FLOOR = 1e-2, 2, 0.1
WEIGHT_DECAY, MAX_NORM = 0.1, 5.2


def rms_norm(norm, x):
    return torch.nn.functional.rms_norm(x, (x.shape[-1],), norm.weight, norm.variance_epsilon)


def load():
    config = LlamaConfig(**json.loads((FIXTURES / "rope" / "config.json").read_text()), attn_implementation="eager")
    model = LlamaForCausalLM(config)
    model.load_state_dict(load_file(FIXTURES / "rope" / "model.safetensors"))
    return model.double()


def optimizers(model, kind):
    """No decay on norms. Muon takes the matrices inside the blocks, AdamW the rest."""
    named = list(model.named_parameters())
    norms = [parameter for name, parameter in named if "norm" in name]
    blocks = [parameter for name, parameter in named if "_proj" in name]
    others = [parameter for name, parameter in named if "norm" not in name and "_proj" not in name]
    adamw = lambda matrices: torch.optim.AdamW(
        [{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": norms, "weight_decay": 0.0}],
        lr=PEAK, betas=(0.9, 0.95), eps=1e-8)
    if kind == "adamw":
        return [adamw(blocks + others)]
    muon = torch.optim.Muon(blocks, lr=PEAK, weight_decay=WEIGHT_DECAY, momentum=0.95, nesterov=True, ns_steps=5,
                            adjust_lr_fn="match_rms_adamw")
    return [adamw(others), muon]


def learning_rates():
    """Linear warm-up times a cosine, from two of PyTorch's schedulers."""
    def rates(schedule):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=PEAK)
        scheduler = schedule(optimizer)
        found = []
        for _ in range(STEPS):
            found.append(scheduler.get_last_lr()[0])
            optimizer.step()
            scheduler.step()
        return torch.tensor(found, dtype=torch.float64)
    warmup = rates(lambda optimizer: LinearLR(optimizer, 1 / WARMUP, 1.0, total_iters=WARMUP - 1))
    cosine = rates(lambda optimizer: CosineAnnealingLR(optimizer, STEPS, eta_min=FLOOR * PEAK))
    return warmup * cosine / PEAK


def token_losses(model, ids):
    logits = model(ids[:, :-1], use_cache=False).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")


def train(kind, ids, loss_weights, rates):
    model = load()
    found = {f"{kind}.token_losses": [], f"{kind}.norms": []}
    first = {}
    steps = optimizers(model, kind)
    for step in range(STEPS):
        losses = token_losses(model, ids[step])
        weights = loss_weights[step, :, 1:].flatten()
        model.zero_grad()
        ((losses * weights).sum() / weights.sum()).backward()
        if step == 0:
            first = {f"gradient.{name}": parameter.grad.clone() for name, parameter in model.named_parameters()}
        found[f"{kind}.token_losses"].append(losses.detach())
        found[f"{kind}.norms"].append(torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM))
        for optimizer in steps:
            for group in optimizer.param_groups:
                group["lr"] = rates[step].item()
            optimizer.step()
    weights = {f"{kind}.{name}": parameter.detach() for name, parameter in model.named_parameters()}
    return {name: torch.stack(values) for name, values in found.items()} | weights | first


if __name__ == "__main__":
    LlamaRMSNorm.forward = rms_norm
    torch.manual_seed(1)
    ids = torch.randint(0, 48, (STEPS, ROWS, LENGTH))
    choice = torch.randint(0, 3, (STEPS, ROWS, LENGTH))
    loss_weights = torch.tensor([0.25, 1.0, 4.0], dtype=torch.float64)[choice]
    rates = learning_rates()
    with unittest.mock.patch("torch.bfloat16", torch.float64):
        expected = train("adamw", ids, loss_weights, rates) | train("muon", ids, loss_weights, rates)
    expected |= {"ids": ids.int(), "loss_weights": loss_weights, "learning_rates": rates}
    single = lambda tensor: tensor.float() if tensor.is_floating_point() else tensor
    folder = FIXTURES / "training"
    folder.mkdir(exist_ok=True)
    numbers = {"peak": PEAK, "warmup": WARMUP, "floor": FLOOR, "weight_decay": WEIGHT_DECAY, "max_norm": MAX_NORM}
    save_file({name: single(tensor).contiguous() for name, tensor in expected.items()}, folder / "expected.safetensors",
              metadata={name: str(number) for name, number in numbers.items()})
    print("norms", expected["adamw.norms"].tolist(), expected["muon.norms"].tolist())
