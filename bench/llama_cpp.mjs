// Speed of llama.cpp, by the binary that npm's node-llama-cpp carries: tokens a second of a prompt and of what is generated after
// it, in one line of JSON.
//
//     npm install node-llama-cpp@3 --ignore-scripts
//     node bench/llama_cpp.mjs MODEL.gguf THREADS PROMPT NEW
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";

const require = createRequire(process.cwd() + "/");
const {getLlama} = await import(pathToFileURL(require.resolve("node-llama-cpp")).href);
const [modelPath, threads, prompt, generated] = [process.argv[2], ...process.argv.slice(3).map(Number)];
const llama = await getLlama({gpu: false, build: "never", maxThreads: threads});
const model = await llama.loadModel({modelPath});
const context = await model.createContext({contextSize: prompt + generated + 64, threads, batchSize: 512});
const sequence = context.getSequence();
const ids = Array.from({length: prompt}, (_, i) => (i * 7919 + 13) % 49152);
const speeds = [];
for (let run = 0; run < 2; run++) {
    await sequence.clearHistory();
    const start = performance.now();
    const tokens = sequence.evaluate(ids, {temperature: 0, yieldEogToken: true});
    await tokens.next();
    const read = performance.now();
    let written = 0;
    while (written < generated) {
        const {done} = await tokens.next();
        if (done) break;
        written++;
    }
    const end = performance.now();
    await tokens.return?.();
    speeds.push({prefill: (1000 * prompt) / (read - start), decode: (1000 * written) / (end - read)});
}
console.log(JSON.stringify(speeds.at(-1)));
process.exit(0);
