"""Measures nano-rope on the page beside onnxruntime-web and transformers.js, in one headless Chromium, at equal threads.

    cargo xtask page
    pip install selenium torch transformers onnxruntime-genai onnx onnx-ir
    python bench/browser_nano.py

All compute in f32 with WebAssembly on the CPU. The peers' ONNX file is that of onnxruntime-genai's model builder, whose attention is one
operation. Prints tokens per second, medians of the rounds, and their ratios, and writes docs/benchmarks-browser.json and
docs/benchmarks.md.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import onnx

from chromium import ROOT, browser, compared, measure, npm, page_opened, page_speeds, serve
from render import render
from results import write_rows

OUT = ROOT / "docs/benchmarks-browser.json"
PROMPT = 1024
ANSWER = 32
ONNXRUNTIME = "1.30.0"
TRANSFORMERS = "4.3.1"
# The one that this transformers.js was built with.
ITS_ONNXRUNTIME = "1.31.0-dev.20260914-8d85527a0"

PEER = """
<!doctype html><meta charset="utf-8"><script type="module">
const PROMPT = %d, ANSWER = %d, VOCABULARY = 488;
const ids = BigInt64Array.from({ length: PROMPT }, (_, i) => BigInt((i * 7919 + 13) %% VOCABULARY));

async function onnxruntime(threads) {
  const ort = await import("/onnxruntime/dist/ort.wasm.min.mjs");
  ort.env.wasm.wasmPaths = "/onnxruntime/dist/";
  ort.env.wasm.numThreads = threads;
  const session = await ort.InferenceSession.create("/model/onnx/model.onnx", { executionProviders: ["wasm"] });
  const caches = session.inputNames.filter((name) => name.startsWith("past_key_values"));
  const answer = async () => {
    let past = Object.fromEntries(caches.map((name) => [name, new ort.Tensor("float32", [], [1, 4, 0, 32])]));
    let input = ids, length = 0;
    const times = [performance.now()];
    for (let token = 0; token < ANSWER; token += 1) {
      length += input.length;
      const mask = new BigInt64Array(length).fill(1n);
      const out = await session.run({
        input_ids: new ort.Tensor("int64", input, [1, input.length]),
        attention_mask: new ort.Tensor("int64", mask, [1, length]), ...past });
      const logits = out.logits.data.subarray(-VOCABULARY);
      input = BigInt64Array.of(BigInt(logits.indexOf(Math.max(...logits))));
      past = Object.fromEntries(caches.map((name) => [name, out[name.replace("past_key_values", "present")]]));
      times.push(performance.now());
    }
    return times;
  };
  await answer();
  return await answer();
}

async function transformers(threads) {
  const { AutoModelForCausalLM, BaseStreamer, Tensor, env } = await import("/transformers/dist/transformers.min.js");
  Object.assign(env, { allowRemoteModels: false, allowLocalModels: true, localModelPath: "/", useBrowserCache: false });
  Object.assign(env.backends.onnx.wasm, { wasmPaths: "/its-onnxruntime/dist/", numThreads: threads });
  const model = await AutoModelForCausalLM.from_pretrained("model", { dtype: "fp32", device: "wasm" });
  const answer = async () => {
    const times = [performance.now()];
    class Clock extends BaseStreamer {
      prompt = true;
      put() { if (this.prompt) { this.prompt = false; } else { times.push(performance.now()); } }
      end() {}
    }
    const inputs = new Tensor("int64", ids, [1, PROMPT]);
    const attention_mask = new Tensor("int64", new BigInt64Array(PROMPT).fill(1n), [1, PROMPT]);
    await model.generate({ inputs, attention_mask, max_new_tokens: ANSWER, min_new_tokens: ANSWER, do_sample: false, streamer: new Clock() });
    return times;
  };
  await answer();
  return await answer();
}

window.measure = async (peer, threads) => {
  const times = await { onnxruntime, transformers }[peer](threads);
  if (times.length !== ANSWER + 1) throw new Error(`${times.length - 1} tokens`);
  return [1000 * PROMPT / (times[1] - times[0]), 1000 * (ANSWER - 1) / (times.at(-1) - times[1])];
};
window.ready = true;
</script>
""" % (PROMPT, ANSWER)


def exported(folder):
    """nano-rope as transformers.js expects it, in `folder`."""
    source, built, files = (folder / name for name in ("source", "built", "model"))
    source.mkdir()
    (files / "onnx").mkdir(parents=True)
    config = json.loads((ROOT / "models/nano-rope/config.json").read_text())
    # The builder wants an end of text, and makes tables of cosines for this many positions.
    config |= {"eos_token_id": 0, "max_position_embeddings": 2 * PROMPT}
    config.pop("dope_heads", None)
    (source / "config.json").write_text(json.dumps(config))
    for name in ("model.safetensors", "tokenizer.json"):
        (source / name).symlink_to(ROOT / "models/nano-rope" / name)
    subprocess.run([sys.executable, "-m", "onnxruntime_genai.models.builder", "-m", source, "-o", built, "-p", "fp32", "-e", "cpu",
                    "-c", folder / "cache"], check=True, capture_output=True)
    model = onnx.load(built / "model.onnx")
    # transformers.js takes the shape of an empty cache from here, and a name for nothing.
    for cache in [*model.graph.input, *model.graph.output]:
        if cache.name.endswith((".key", ".value")):
            cache.type.tensor_type.shape.dim[3].dim_value = config["head_dim"]
    # One file, weights included.
    onnx.save(model, files / "onnx/model.onnx")
    (files / "config.json").write_text(json.dumps(config))
    return files


def page(address, threads):
    """Tokens read and written a second by the page: YaRN costs as much as RoPE and goes on to the end of a long answer."""
    with browser() as driver:
        page_opened(driver, f"{address}/?backend=cpu&threads={threads}&extension=4&task=multi-value&digits=7&columns=yarn~yarn&embed=0")
        return page_speeds(driver)


def peer(address, name, threads):
    """The same by a peer."""
    with browser() as driver:
        return measure(driver, f"{address}/peer.html", name, threads)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=3)
    rounds = arguments.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "peer.html").write_text(PEER)
        address = serve({
            "/peer.html": pathlib.Path(folder) / "peer.html",
            "/model/": exported(pathlib.Path(folder)),
            "/onnxruntime/": npm("onnxruntime-web", ONNXRUNTIME),
            "/transformers/": npm("@huggingface/transformers", TRANSFORMERS),
            "/its-onnxruntime/": npm("onnxruntime-web", ITS_ONNXRUNTIME),
        })
        programs = [
            ("page", "f32", lambda threads: page(address, threads)),
            (f"onnxruntime-web {ONNXRUNTIME}", "f32", lambda threads: peer(address, "onnxruntime", threads)),
            (f"transformers.js {TRANSFORMERS}", "f32", lambda threads: peer(address, "transformers", threads)),
        ]
        write_rows(OUT, compared(programs, rounds))
    render()
