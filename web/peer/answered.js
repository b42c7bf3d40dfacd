// How onnxruntime-web answers greedily, for `?benchmark` and for bench/onnx_peers.py.

// The ids of a prompt: any will do, since only times count.
export const ids = (length, vocabulary) => BigInt64Array.from({ length }, (_, at) => BigInt((at * 7919 + 13) % vocabulary));

// Times in milliseconds: at the beginning, and after each token of the answer.
export async function answered(ort, session, { prompt, tokens, vocabulary }) {
  const caches = session.inputMetadata.filter(({ name }) => name.startsWith("past_key_values"));
  // [1, heads, 0, head_dim]
  const empty = ({ shape }) => new ort.Tensor("float32", [], [1, shape[1], 0, shape[3]]);
  let past = Object.fromEntries(caches.map((cache) => [cache.name, empty(cache)]));
  let input = ids(prompt, vocabulary);
  let length = 0;
  const times = [performance.now()];
  while (times.length <= tokens) {
    length += input.length;
    const out = await session.run({
      input_ids: new ort.Tensor("int64", input, [1, input.length]),
      attention_mask: new ort.Tensor("int64", new BigInt64Array(length).fill(1n), [1, length]),
      ...past,
    });
    const logits = (await out.logits.getData()).subarray(-out.logits.dims.at(-1));
    input = BigInt64Array.of(BigInt(logits.indexOf(logits.reduce((a, b) => Math.max(a, b)))));
    out.logits.dispose();
    Object.values(past).forEach((tensor) => tensor.dispose());
    past = Object.fromEntries(caches.map(({ name }) => [name, out[name.replace("past_key_values", "present")]]));
    times.push(performance.now());
  }
  Object.values(past).forEach((tensor) => tensor.dispose());
  return times;
}
