"""Recalibrates the model in `model/` with transformers' Trainer, on the batches that `core recalibrate` would draw.

    python train.py                                             # one device
    accelerate launch --num_processes 8 train.py --fsdp         # several: PyTorch's FSDP shares weights, gradients and moments
    torchrun --nnodes 4 --nproc_per_node 8 ... train.py --fsdp  # several machines

`batches.bin` holds the tokens of all updates in their order, `plan.json` its shape, and the learning rate of each update. The result is
the folder `trained`, which `core` and transformers read; losses go to `losses.jsonl`. Checkpoints are Trainer's; the same command goes on
from the last one. Needs torch, transformers and accelerate.
"""

import argparse
import json
import os
import shutil

import numpy as np
import torch
import transformers
from transformers.trainer_utils import get_last_checkpoint

HERE = os.path.dirname(os.path.abspath(__file__))


class Batches(torch.utils.data.Dataset):
    """Rows of `context` tokens, those of one update behind those of the one before."""

    def __init__(self, plan):
        shape = (plan["steps"] * plan["rows"], plan["context"])
        self.rows = np.memmap(os.path.join(HERE, "batches.bin"), dtype=plan["type"], mode="r", shape=shape)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        ids = torch.from_numpy(self.rows[index].astype(np.int64))
        return {"input_ids": ids, "labels": ids}


class Trainer(transformers.Trainer):
    """Takes rows in their order, and the learning rates of the plan."""

    def __init__(self, rates, **kwargs):
        super().__init__(**kwargs)
        self.rates = rates

    def _get_train_sampler(self, dataset=None):
        return torch.utils.data.SequentialSampler(dataset if dataset is not None else self.train_dataset)

    def create_scheduler(self, num_training_steps, optimizer=None):
        peak = self.args.learning_rate
        last = len(self.rates) - 1
        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
            optimizer if optimizer is not None else self.optimizer, lambda step: self.rates[min(step, last)] / peak
        )
        return self.lr_scheduler

    def log(self, logs, *args, **kwargs):
        super().log(logs, *args, **kwargs)
        if "loss" in logs and self.is_world_process_zero():
            with open(os.path.join(HERE, "losses.jsonl"), "a") as file:
                file.write(json.dumps({"step": self.state.global_step, "loss": logs["loss"]}) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fsdp", action="store_true", help="share everything among the processes")
    parser.add_argument("--rows", type=int, default=1, help="rows that go through the model at once in a process")
    parser.add_argument("--cpu", action="store_true", help="compute on processors")
    parser.add_argument("--save-steps", type=int, default=500)
    arguments = parser.parse_args()
    with open(os.path.join(HERE, "plan.json")) as file:
        plan = json.load(file)
    processes = int(os.environ.get("WORLD_SIZE", 1))
    at_once = arguments.rows * processes
    if plan["rows"] % at_once:
        raise SystemExit(f"the {plan['rows']} rows of an update are no multiple of {at_once}: choose other --rows or processes")

    model = transformers.AutoModelForCausalLM.from_pretrained(
        os.path.join(HERE, "model"), trust_remote_code=True, dtype=torch.float32, attn_implementation="sdpa"
    )
    model.config.use_cache = False
    is_bf16 = plan["compute"] == "bf16" and not arguments.cpu
    layers = sorted(model._no_split_modules or [])
    sharing = {"transformer_layer_cls_to_wrap": layers, "activation_checkpointing": plan["recompute"]}
    settings = transformers.TrainingArguments(
        output_dir=os.path.join(HERE, "checkpoints"),
        max_steps=plan["steps"],
        per_device_train_batch_size=arguments.rows,
        gradient_accumulation_steps=plan["rows"] // at_once,
        learning_rate=max(plan["learning_rates"]),
        weight_decay=plan["weight_decay"],
        adam_beta1=0.9,
        adam_beta2=0.95,
        adam_epsilon=1e-8,
        max_grad_norm=plan["max_gradient_norm"],
        bf16=is_bf16,
        use_cpu=arguments.cpu,
        gradient_checkpointing=plan["recompute"] and not arguments.fsdp,
        fsdp="full_shard auto_wrap" if arguments.fsdp else "",
        fsdp_config=sharing if arguments.fsdp else None,
        ddp_backend="gloo" if arguments.cpu and processes > 1 else None,
        logging_steps=1,
        save_steps=arguments.save_steps,
        save_total_limit=2,
        report_to=[],
        seed=plan["seed"],
        dataloader_drop_last=True,
        remove_unused_columns=False,
    )
    trainer = Trainer(plan["learning_rates"], model=model, args=settings, train_dataset=Batches(plan))
    trainer.train(resume_from_checkpoint=get_last_checkpoint(settings.output_dir) if os.path.isdir(settings.output_dir) else None)

    trained = os.path.join(HERE, "trained")
    if trainer.is_fsdp_enabled:
        trainer.accelerator.state.fsdp_plugin.set_state_dict_type("FULL_STATE_DICT")
    trainer.save_model(trained)
    if trainer.is_world_process_zero():
        # All but the weights stays as it was.
        for name in os.listdir(os.path.join(HERE, "model")):
            if not name.endswith(".safetensors"):
                shutil.copy(os.path.join(HERE, "model", name), trained)


if __name__ == "__main__":
    main()
