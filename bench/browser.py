"""Measures SmolLM2 on the page beside wllama (llama.cpp in the browser) and transformers.js, in one headless Chromium, at equal threads.

    cargo xtask fetch smollm2; cargo xtask fetch manual; cargo xtask page
    core convert --from SmolLM2.gguf --to MODEL
    pip install selenium gguf torch transformers onnx onnx-ir onnxruntime onnxruntime-genai
    python bench/browser.py MODEL [--lengths 1024,4096,16384] [--bits 4,8] [--rounds 5] [--threads 1,2] [--programs page,wllama,transformers.js]

The page and wllama read a file of 4 bits (Q4_1) and one of 8 (Q8_0), transformers.js weights of 8 as it loads them where nothing else is
asked for. Prints tokens per second of each round, and writes docs/results/real-models/browser.json.
"""

import itertools
import pathlib
import tempfile

from gguf import GGMLQuantizationType
import onnx_peers
from chromium import SMOLLM2, browser, compared, measure, npm, page_speeds, page_with_smollm2, serve
from results import RESULTS, add_rows, rounds_and_threads
from weights import written_as

FILES = {4: SMOLLM2, 8: SMOLLM2.with_name("SmolLM2-135M-Instruct.Q8_0.gguf")}
MANUAL = SMOLLM2.with_name("django-5.2.8-manual.txt")
WLLAMA = "3.13.0"
ANSWER = 32
# Of the manual, in a token of SmolLM2.
CHARACTERS = 4.45

# One prompt through wllama; its beginning comes first, to warm up.
PEER = """
<!doctype html><meta charset="utf-8"><script type="module">
import { Wllama } from "./esm/index.js";
window.measure = async (bits, threads, text, length, tokens) => {
  const wllama = new Wllama({ default: "./esm/wasm/wllama.wasm" });
  const model = await (await fetch(`/${bits}.gguf`)).blob();
  await wllama.loadModel([model], { n_ctx: length + 512, n_threads: threads, n_gpu_layers: 0 });
  const ask = (prompt) => wllama.createCompletion({ prompt, max_tokens: tokens, temperature: 0, cache_prompt: false });
  await ask(text.slice(0, 4096));
  const { timings } = await ask(text);
  await wllama.exit();
  return [timings.prompt_n, timings.prompt_per_second, timings.predicted_per_second];
};
window.ready = true;
</script>
"""


def page(address, bits, length, threads):
    """Tokens read and written a second by the page."""
    with browser() as driver:
        page_with_smollm2(driver, address, FILES[bits], length, threads, columns=2)
        return page_speeds(driver)


def wllama(address, text, bits, length, threads):
    """The same by wllama."""
    with browser() as driver:
        read, *speeds = measure(driver, f"{address}/peer/index.html", bits, threads, text[:int(CHARACTERS * length)], length, ANSWER)
    if not 0.97 * length < read < length + 256:
        raise RuntimeError(f"wllama read {read} tokens in place of {length}")
    return speeds


def main():
    args = rounds_and_threads("model", lengths=[1024, 4096, 16384], bits=[4, 8], programs=["page", "wllama", "transformers.js"])
    if not FILES[8].exists():
        written_as(FILES[4], FILES[8], GGMLQuantizationType.Q8_0)
    package = npm("@wllama/wllama", WLLAMA)
    (package / "index.html").write_text(PEER)
    manual = MANUAL.read_text()
    with tempfile.TemporaryDirectory() as folder:
        places, told = {}, None
        if "transformers.js" in args.programs:
            model = pathlib.Path(args.model).resolve()
            places, told = onnx_peers.exported(model, pathlib.Path(folder), 2 * max(args.lengths), in_8_bits=True)
        address = serve({**places, "/peer/": package, **{f"/{bits}.gguf": file for bits, file in FILES.items()}})
        for length, bits, threads in itertools.product(args.lengths, args.bits, args.threads):
            programs = {
                ("page", None): lambda: page(address, bits, length, threads),
                ("wllama", WLLAMA): lambda: wllama(address, manual, bits, length, threads),
            }
            if bits == 8:
                programs["transformers.js", onnx_peers.TRANSFORMERS] = (
                    lambda: onnx_peers.speeds(address, "transformers", threads, length, ANSWER, told))
            programs = {name: run for name, run in programs.items() if name[0] in args.programs}
            place = {"length": length, "bits": bits, "threads": threads}
            # Written after each round, since one of a long prompt takes many minutes and may be the last.
            for rows in compared(programs, args.rounds, place):
                add_rows(RESULTS / "browser.json", rows, "processor", *place)


if __name__ == "__main__":
    main()
