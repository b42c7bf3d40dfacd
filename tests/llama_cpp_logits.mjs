// What llama.cpp computes behind a text: [{ context, logits: [number, …], greedy: [id, …] }, …] as JSON, one for each request.
//
//     node tests/llama_cpp_logits.mjs ADDON_FOLDER REQUESTS.json
//
// ADDON_FOLDER is the unpacked package @node-llama-cpp/linux-x64; REQUESTS is [{ file, ids, greedy }, …]. `context` is the length for
// which llama.cpp takes the model to be trained, `logits` those behind the last id, `greedy` so many tokens after it.
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";
import {resolve} from "node:path";

// ggml's type of 32 bits: a cache of 16 would hide small differences.
const F32 = 0;

const [folder, requests] = process.argv.slice(2);
const addon = createRequire(import.meta.url)(resolve(folder, "bins/linux-x64/llama-addon.node"));
addon.setLogger(() => {});
// Weights, unlike vocabularies, need the backend of this processor, which lies beside the addon.
addon.loadBackends(resolve(folder, "bins/linux-x64"));
await addon.init();

async function answer({file, ids, greedy}) {
    const model = new addon.AddonModel(resolve(file), {addonExports: addon, gpuLayers: 0});
    if (!(await model.init())) throw new Error(`llama.cpp cannot read ${file}`);
    const context = new addon.AddonContext(model, {
        contextSize: ids.length + greedy, batchSize: ids.length, sequences: 1, flashAttention: false, threads: 2,
        kvCacheKeyType: F32, kvCacheValueType: F32, swaFullCache: true,
    });
    if (!(await context.init())) throw new Error(`llama.cpp has no room for ${file}`);
    const sampler = new addon.AddonSampler(model);
    // Without a sampler of some kind no logits come back.
    sampler.applyConfig({temperature: 0});
    // Logits of the token behind `tokens`, which follow `at` others, by id.
    async function read(tokens, at) {
        context.initBatch(tokens.length);
        const [index] = context.addToBatch(0, at, Uint32Array.from(tokens), Uint32Array.from([tokens.length - 1]));
        await context.decodeBatch();
        const [, , , pairs] = await context.sampleToken(index, sampler, false, false, true);
        const logits = [];
        for (let i = 0; i < pairs.length; i += 2) logits[pairs[i]] = pairs[i + 1];
        return logits;
    }
    const logits = await read(ids, 0);
    const written = [];
    for (let last = logits; written.length < greedy; last = await read(written.slice(-1), ids.length + written.length - 1)) {
        written.push(last.reduce((best, logit, id) => (logit > last[best] ? id : best), 0));
    }
    const trained = model.getTrainContextSize();
    await context.dispose();
    await model.dispose();
    return {context: trained, logits, greedy: written};
}

const answers = [];
for (const request of JSON.parse(readFileSync(requests, "utf8"))) answers.push(await answer(request));
process.stdout.write(JSON.stringify(answers));
await addon.dispose();
