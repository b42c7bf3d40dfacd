// The ids that llama.cpp gives texts, with what it adds before and after them: { FILE: [[id, …], …] } as JSON.
//
//     node tests/llama_cpp_ids.mjs ADDON_FOLDER TEXTS.json FILE.gguf…
//
// ADDON_FOLDER is the unpacked package @node-llama-cpp/linux-x64; vocabularies alone are loaded, no weights.
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";
import {resolve} from "node:path";

const [folder, textsFile, ...files] = process.argv.slice(2);
const addon = createRequire(import.meta.url)(resolve(folder, "bins/linux-x64/llama-addon.node"));
addon.setLogger(() => {});
addon.loadBackends();
await addon.init();
const texts = JSON.parse(readFileSync(textsFile, "utf8"));
const ids = {};
for (const file of files) {
    const model = new addon.AddonModel(resolve(file), {addonExports: addon, vocabOnly: true, gpuLayers: 0});
    if (!(await model.init())) throw new Error(`llama.cpp cannot read ${file}`);
    const before = model.shouldPrependBosToken() ? [model.tokenBos()] : [];
    const after = model.shouldAppendEosToken() ? [model.tokenEos()] : [];
    ids[file] = texts.map((text) => [...before, ...model.tokenize(text, false), ...after]);
    await model.dispose();
}
process.stdout.write(JSON.stringify(ids));
await addon.dispose();
