"""Multiple choice by lm-evaluation-harness on SmolLM2, for the tests of `core eval choice`.

    pip install lm_eval==0.4.13 torch transformers gguf accelerate
    cargo xtask fetch smollm2; python tests/choice_fixture.py MODEL.gguf

writes tests/fixtures/choice.json: for each form of questions its lines, and for each line the log-likelihoods of the choices and
whether the one chosen by them (`acc`), and by them for each letter (`acc_norm`), is right. The tasks are the harness's own, on
questions of ours.
"""

import json
import pathlib
import sys
import tempfile

import lm_eval
import torch
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks._yaml_loader import load_yaml
from smollm2_reference import smollm2_tokenizer
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

TASKS = pathlib.Path(lm_eval.__file__).parent / "tasks"


def listed(texts, labels="ABCD"):
    return {"text": texts, "label": list(labels[:len(texts)])}


def both(question, texts, key, stem="question", labels="ABCD"):
    return {"id": question, stem: question, "choices": listed(texts, labels), "answerKey": key}


# The harness's file of the task, and our questions.
FORMS = {
    "hellaswag": ("hellaswag/hellaswag.yaml", [
        {"activity_label": "Making tea", "ctx_a": "A woman fills a kettle with water.", "ctx_b": "she",
         "endings": ["puts the kettle on the stove and waits until it boils.", "paints the kettle with a brush [substeps] twice.",
                     "throws the kettle  over the fence.", "is [title] reading the kettle to her dog."], "label": "0"},
        {"activity_label": "How to sharpen a knife", "ctx_a": "[header] How to sharpen a knife [title] Wet the stone.",
         "ctx_b": "THE stone needs [step] water.", "endings": [
             "Eat the stone slowly.", "Soak it for ten minutes before you begin.", "Call the stone by its name.", "Drive it home."],
         "label": "1"},
        {"activity_label": "Playing the violin", "ctx_a": "A man stands on a stage.", "ctx_b": "",
         "endings": ["He lifts the violin and begins to play.", "He lifts the stage and begins to eat.", "The violin buys a ticket.",
                     "é è — nothing."], "label": "2"},
    ]),
    "arc": ("arc/arc_easy.yaml", [
        both("Which of these is a source of light?", ["the Moon", "the Sun", "a mirror", "a window"], "B"),
        both("What do plants take from the air?", ["carbon dioxide", "gold", "salt"], "1", labels="123"),
        both("Water freezes at which temperature?", ["0 °C", "50 °C", "100 °C", "200 °C"], "A"),
    ]),
    "openbookqa": ("openbookqa/openbookqa.yaml", [
        both("A person wants to keep ice from melting, so they put it in", ["an oven", "a freezer", "the sunlight", "hot soup"],
             "B", stem="question_stem"),
        both("Birds build nests to", ["drive cars", "raise their young", "read books", "pay taxes"], "B", stem="question_stem"),
    ]),
    "piqa": ("piqa/piqa.yaml", [
        {"goal": "To open a jar with a tight lid,", "sol1": "run the lid under hot water and twist.",
         "sol2": "run the lid under hot water and sing to it until it is blue.", "label": 0},
        {"goal": "How do I keep cut apples from turning brown?", "sol1": "Leave them in the sun.",
         "sol2": "Put some lemon juice on them.", "label": 1},
    ]),
    "winogrande": ("winogrande/default.yaml", [
        {"sentence": "The trophy did not fit into the suitcase because the _ was too large.", "option1": "trophy",
         "option2": "suitcase", "answer": "1"},
        {"sentence": "Anna asked Maria for help because _ knew the answer.", "option1": "Anna", "option2": "Maria", "answer": "2"},
    ]),
    "boolq": ("super_glue/boolq/default.yaml", [
        {"passage": "Paris is the capital and largest city of France. It lies on the Seine.", "question": "is paris the capital of france",
         "label": 1, "idx": 0},
        {"passage": "Penguins are birds that cannot fly; they swim instead.", "question": "can penguins fly", "label": 0, "idx": 1},
    ]),
}


def samples(form, model, folder):
    """What the harness says about each question."""
    file, rows = FORMS[form]
    path = folder / f"{form}.jsonl"
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    task = load_yaml(TASKS / file, resolve_func=True)
    task = {key: value for key, value in task.items() if key not in ("tag", "dataset_name", "training_split", "test_split")}
    task |= {"task": f"ours_{form}", "dataset_path": "json", "dataset_kwargs": {"data_files": {"validation": str(path)}},
             "validation_split": "validation"}
    found = lm_eval.simple_evaluate(model=model, tasks=[task], num_fewshot=0, log_samples=True, bootstrap_iters=0)
    told = sorted(found["samples"][task["task"]], key=lambda sample: sample["doc_id"])
    return [{"form": form, "line": line, "log_likelihoods": [float(response[0]) for response in sample["filtered_resps"]],
             "acc": sample["acc"], "acc_norm": sample.get("acc_norm")} for line, sample in zip(lines, told, strict=True)]


if __name__ == "__main__":
    source = pathlib.Path(sys.argv[1])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=smollm2_tokenizer(source), eos_token="<|im_end|>")
    model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
    model = HFLM(model, tokenizer=tokenizer, batch_size=1)
    with tempfile.TemporaryDirectory() as folder:
        examples = [sample for form in FORMS for sample in samples(form, model, pathlib.Path(folder))]
    out = pathlib.Path(__file__).parent / "fixtures/choice.json"
    out.write_text("[\n" + ",\n".join(json.dumps(example, ensure_ascii=False) for example in examples) + "\n]\n")
    print(len(examples), "questions")
