// onnxruntime-web reads nano-rope in a worker of its own, as the page's programs do: for `?benchmark`. Messages are JSON.
// nano-rope.onnx is of bench/peer_model.py; ort.* are files of the npm package, put beside this one when the page is built.

import { answered } from "./answered.js";

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
      const times = await answered(ort, session, { prompt, tokens: answer, vocabulary: 256 });
      const prefill = (1000 * prompt) / (times[1] - times[0]);
      const decode = (1000 * (answer - 1)) / (times.at(-1) - times[1]);
      say({ round, at, prefill, decode });
    }
  }
  say({ finished: true });
}
