"""Begins the corpora: whole files of every kind, small, from which the fuzzer goes on.

    pip install gguf safetensors
    python fuzz/seeds.py
"""

import json
import pathlib

import numpy as np
from gguf import GGUFWriter
from safetensors.numpy import save_file

FUZZ = pathlib.Path(__file__).parent
ROOT = FUZZ.parent


def folder(target):
    out = FUZZ / "corpus" / target
    out.mkdir(parents=True, exist_ok=True)
    return out


def configs():
    """The config of every kind of model that the tests know, and of every nano model."""
    for config in [*ROOT.glob("tests/fixtures/*/config.json"), *ROOT.glob("models/*/config.json")]:
        (folder("config") / f"{config.parent.name}.json").write_bytes(config.read_bytes())


def recipes():
    for recipe in [*ROOT.glob("recipes/nano-*.toml"), ROOT / "recipes/study/rope.toml", ROOT / "recipes/study/yarn.toml"]:
        (folder("recipe") / f"{recipe.parent.name}-{recipe.name}").write_bytes(recipe.read_bytes())


def results():
    """Two cells of every results file of another kind."""
    for name in ["niah", "perplexity", "real-models/perplexity", "depths"]:
        text = json.dumps(json.loads((ROOT / f"docs/results/{name}.json").read_text())[:2])
        (folder("results") / f"{name.replace('/', '-')}.json").write_text(text)
    answer = {"index": 0, "score": 1.0, "said": " 4", "expected": ["4"]}
    ruler = {"model": "m", "method": "yarn", "extension": 2, "context": 8192, "benchmark": "ruler", "task": "niah_multikey_2", "seed": 1,
             "beta": 1.0, "fingerprint": "a", "of_questions": 2, "questions_per_haystack": 2, "score": 0.5, "ci95": [0.1, 0.9],
             "answers": [answer, answer | {"index": 1, "score": 0.0}]}
    choice = ruler | {"benchmark": "choice", "questions_per_haystack": 1, "normed": 0.5, "is_chat": True}
    (folder("results") / "benchmarks.json").write_text(json.dumps([ruler, choice]))


def tensors(writer, layers=1):
    rng = np.random.default_rng(1)
    shapes = {"token_embd": (12, 8), "output_norm": (8,)}
    for layer in range(layers):
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in {
            "attn_q": (8, 8), "attn_k": (4, 8), "attn_v": (4, 8), "attn_output": (8, 8), "ffn_gate": (4, 8), "ffn_up": (4, 8),
            "ffn_down": (8, 4), "attn_norm": (8,), "ffn_norm": (8,)}.items()}
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", rng.normal(0, 0.1, shape).astype(np.float32))


def ggufs():
    """A Llama and a Qwen 2 of one layer, with each kind of tokenizer."""
    for kind, words in [("gpt2", "gpt-2"), ("gpt2", "llama-bpe"), ("gpt2", "smollm"), ("gpt2", "qwen2"), ("llama", "default")]:
        writer = GGUFWriter(folder("gguf") / f"{words}.gguf", "qwen2" if words == "qwen2" else "llama")
        writer.add_block_count(1)
        writer.add_context_length(64)
        writer.add_embedding_length(8)
        writer.add_feed_forward_length(4)
        writer.add_head_count(2)
        writer.add_head_count_kv(1)
        writer.add_layer_norm_rms_eps(1e-5)
        writer.add_rope_freq_base(10000.0)
        writer.add_tokenizer_model(kind)
        writer.add_tokenizer_pre(words)
        space = "▁" if kind == "llama" else "Ġ"
        writer.add_token_list(["<s>", "</s>", "a", "b", "ab", space, "1", space + "a", "n", "T", "h", "<0x0A>"])
        writer.add_token_types([3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 6])
        if kind == "llama":
            writer.add_token_scores([0.0, 0.0, -3.0, -4.0, -1.0, -5.0, -6.0, -2.0, -7.0, -8.0, -9.0, 0.0])
        else:
            writer.add_token_merges(["a b", f"{space} a"])
        writer.add_bos_token_id(0)
        writer.add_eos_token_id(1)
        writer.add_add_bos_token(words == "llama-bpe")
        writer.add_chat_template("{% for m in messages %}<s>{{ m.role }}: {{ m.content }}</s>{% endfor %}")
        tensors(writer)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


def safetensors():
    numbers = np.arange(6, dtype=np.float32)
    save_file({"a": numbers, "b": numbers.astype(np.float16).reshape(2, 3)}, folder("safetensors") / "two.safetensors")
    save_file({"a": numbers[:1]}, folder("safetensors") / "one.safetensors", metadata={"format": "pt"})
    index = {"metadata": {"total_size": 4}, "weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (folder("safetensors") / "index.json").write_text(json.dumps(index))


if __name__ == "__main__":
    configs()
    recipes()
    results()
    ggufs()
    safetensors()
