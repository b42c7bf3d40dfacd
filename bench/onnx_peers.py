"""The page's peers that read ONNX files, onnxruntime-web and transformers.js, and how a model is exported for them.

    pip install torch transformers onnx onnx-ir onnxruntime onnxruntime-genai
"""

import json
import subprocess
import sys

from chromium import browser, measure, npm
from results import ROOT

ONNXRUNTIME = "1.30.0"
TRANSFORMERS = "4.3.1"
# The one that this transformers.js was built with.
ITS_ONNXRUNTIME = "1.31.0-dev.20260914-8d85527a0"

PAGE = """
<!doctype html><meta charset="utf-8"><script type="module">
import { answered, ids } from "/answered.js";

async function onnxruntime(threads, { vocabulary }) {
  const ort = await import("/onnxruntime/dist/ort.wasm.min.mjs");
  ort.env.wasm.wasmPaths = "/onnxruntime/dist/";
  ort.env.wasm.numThreads = threads;
  const session = await ort.InferenceSession.create("/model/onnx/model.onnx", { executionProviders: ["wasm"] });
  return (prompt, tokens) => answered(ort, session, { prompt, tokens, vocabulary });
}

async function transformers(threads, model) {
  const { AutoModelForCausalLM, BaseStreamer, Tensor, env } = await import("/transformers/dist/transformers.min.js");
  Object.assign(env, { allowRemoteModels: false, allowLocalModels: true, localModelPath: "/", useBrowserCache: false });
  Object.assign(env.backends.onnx.wasm, { wasmPaths: "/its-onnxruntime/dist/", numThreads: threads });
  const loaded = await AutoModelForCausalLM.from_pretrained("model", { dtype: model.dtype, device: "wasm" });
  return async (prompt, tokens) => {
    const times = [performance.now()];
    class Clock extends BaseStreamer {
      prompt = true;
      put() { if (this.prompt) { this.prompt = false; } else { times.push(performance.now()); } }
      end() {}
    }
    const inputs = new Tensor("int64", ids(prompt, model.vocabulary), [1, prompt]);
    const attention_mask = new Tensor("int64", new BigInt64Array(prompt).fill(1n), [1, prompt]);
    await loaded.generate({ inputs, attention_mask, max_new_tokens: tokens, min_new_tokens: tokens, do_sample: false, streamer: new Clock() });
    return times;
  };
}

// Tokens a second of a prompt and of the answer behind it, the second time. The first time, the prompt has at most 4,096 tokens, since
// one of 16,384 takes more than an hour.
window.measure = async (peer, threads, prompt, tokens, model) => {
  const answer = await { onnxruntime, transformers }[peer](threads, model);
  await answer(Math.min(prompt, 4096), tokens);
  const times = await answer(prompt, tokens);
  if (times.length !== tokens + 1) throw new Error(`${times.length - 1} tokens`);
  return [1000 * prompt / (times[1] - times[0]), 1000 * (tokens - 1) / (times.at(-1) - times[1])];
};
window.ready = true;
</script>
"""


def exported(model, folder, positions, in_8_bits=False):
    """Exports the folder `model` of a transformers model into `folder`; places to serve, and what the peers are told of the model.

    onnxruntime-genai's builder makes attention one operation, and a prompt's logits those of its last token. In 8 bits the weights are
    what transformers.js calls q8: those of products, by onnxruntime's dynamic quantization."""
    import onnx
    source, built, files = (folder / name for name in ("source", "built", "model"))
    source.mkdir()
    (files / "onnx").mkdir(parents=True)
    config = json.loads((model / "config.json").read_text())
    # The builder wants an end of text, and makes tables of cosines for this many positions.
    config |= {"max_position_embeddings": positions, "eos_token_id": config.get("eos_token_id") or 0}
    config.pop("dope_heads", None)
    (source / "config.json").write_text(json.dumps(config))
    for name in ("model.safetensors", "tokenizer.json"):
        (source / name).symlink_to(model / name)
    subprocess.run([sys.executable, "-m", "onnxruntime_genai.models.builder", "-m", source, "-o", built, "-p", "fp32", "-e", "cpu",
                    "-c", folder / "cache", "--extra_options", "prune_lm_head=true"], check=True, capture_output=True)
    if in_8_bits:
        from onnxruntime.quantization import QuantType, quantize_dynamic
        quantize_dynamic(built / "model.onnx", built / "quantized.onnx", weight_type=QuantType.QInt8)
    graph = onnx.load(built / ("quantized.onnx" if in_8_bits else "model.onnx"))
    head_dim = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    # transformers.js takes the shape of an empty cache from here, and a name for nothing.
    for cache in [*graph.graph.input, *graph.graph.output]:
        if cache.name.endswith((".key", ".value")):
            cache.type.tensor_type.shape.dim[3].dim_value = head_dim
    # One file, weights included.
    onnx.save(graph, files / "onnx" / ("model_quantized.onnx" if in_8_bits else "model.onnx"))
    (files / "config.json").write_text(json.dumps(config))
    (folder / "peer.html").write_text(PAGE)
    places = {
        "/peer.html": folder / "peer.html",
        "/model/": files,
        "/answered.js": ROOT / "web/peer/answered.js",
        "/onnxruntime/": npm("onnxruntime-web", ONNXRUNTIME),
        "/transformers/": npm("@huggingface/transformers", TRANSFORMERS),
        "/its-onnxruntime/": npm("onnxruntime-web", ITS_ONNXRUNTIME),
    }
    told = {"vocabulary": config["vocab_size"], "dtype": "q8" if in_8_bits else "fp32"}
    return places, told


def speeds(address, peer, threads, prompt, answer, told, minutes=120):
    """Tokens that a peer (onnxruntime or transformers) reads and writes a second, if it does so in so many minutes."""
    with browser(minutes) as driver:
        return measure(driver, f"{address}/peer.html", peer, threads, prompt, answer, told)
