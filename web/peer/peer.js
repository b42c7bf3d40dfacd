// onnxruntime-web reads nano-rope in a worker of its own, as the page's programs do: for `?benchmark`. Messages are JSON.
// nano-rope.onnx is of bench/peer_model.py; the other files are of the npm package, and lie beside this one when the page is built.

// Its script, and the program that this starts.
const FILES = { wasm: ["ort.wasm.min", "ort-wasm-simd-threaded"], webgpu: ["ort.webgpu.min", "ort-wasm-simd-threaded.asyncify"] };

self.onmessage = ({ data }) => {
  const say = (message) => self.postMessage(JSON.stringify(message));
  measure(JSON.parse(data), say).catch((error) => say({ failed: String(error?.message ?? error) }));
};

// A first round, number 0, warms up. Every round says how many tokens of its prompt, and of the answer, a second has.
async function measure({ provider, threads, prompts, rounds, answer }, say) {
  const [script, program] = FILES[provider];
  const file = (name) => new URL(name, import.meta.url).href;
  const ort = await import(file(`${script}.js`));
  ort.env.wasm.wasmPaths = { mjs: file(`${program}.js`), wasm: file(`${program}.wasm`) };
  ort.env.wasm.numThreads = threads;
  const session = await ort.InferenceSession.create(file("nano-rope.onnx"), {
    executionProviders: [provider],
    // Errors alone: it warns of operations that it computes on the CPU.
    logSeverityLevel: 3,
    // Keys and values stay where they are computed.
    ...(provider === "webgpu" && { preferredOutputLocation: "gpu-buffer" }),
  });
  for (const [at, prompt] of prompts.entries()) {
    for (let round = 0; round <= rounds; round += 1) {
      say({ begins: round, at });
      const times = await answered(ort, session, prompt, answer);
      const prefill = (1000 * prompt) / (times[1] - times[0]);
      const decode = (1000 * (answer - 1)) / (times.at(-1) - times[1]);
      say({ round, at, prefill, decode });
    }
  }
  say({ finished: true });
}

// Times at the beginning and after each token of the answer.
async function answered(ort, session, prompt, tokens) {
  const caches = session.inputMetadata.filter(({ name }) => name.startsWith("past_key_values"));
  // [1, heads, 0, head_dim]
  const empty = ({ shape }) => new ort.Tensor("float32", [], [1, shape[1], 0, shape[3]]);
  let past = Object.fromEntries(caches.map((cache) => [cache.name, empty(cache)]));
  let ids = BigInt64Array.from({ length: prompt }, (_, at) => BigInt((at * 7919 + 13) % 256));
  let length = 0;
  const times = [performance.now()];
  while (times.length <= tokens) {
    length += ids.length;
    const out = await session.run({
      input_ids: new ort.Tensor("int64", ids, [1, ids.length]),
      attention_mask: new ort.Tensor("int64", new BigInt64Array(length).fill(1n), [1, length]),
      ...past,
    });
    const logits = (await out.logits.getData()).subarray(-out.logits.dims.at(-1));
    ids = BigInt64Array.of(BigInt(logits.indexOf(logits.reduce((a, b) => Math.max(a, b)))));
    out.logits.dispose();
    Object.values(past).forEach((tensor) => tensor.dispose());
    past = Object.fromEntries(caches.map(({ name }) => [name, out[name.replace("past_key_values", "present")]]));
    times.push(performance.now());
  }
  Object.values(past).forEach((tensor) => tensor.dispose());
  return times;
}
