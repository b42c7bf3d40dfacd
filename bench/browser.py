"""Measures SmolLM2 on the page beside wllama (llama.cpp in the browser) and transformers.js, in one headless Chromium, at equal threads.

    cargo xtask fetch smollm2; cargo xtask fetch manual; cargo xtask page
    core convert --from SmolLM2.gguf --to MODEL
    pip install selenium gguf tokenizers torch transformers onnx onnx-ir onnxruntime onnxruntime-genai
    python bench/browser.py MODEL [--lengths 1024,4096,16384] [--bits 4,8] [--rounds 5] [--threads 1,2] [--programs page,wllama,transformers.js]
        [--minutes 120]

The page and wllama read a file of 4 bits (Q4_1) and one of 8 (Q8_0), transformers.js weights of 8 as it loads them where nothing else is
asked for. Every program reads the prompt twice, of which the second time counts; the first time, transformers.js reads at most 4,096 tokens
of it. Others than the page that take longer than so many minutes for that have no speed. Needs Node's npm. Prints tokens per second of each
round, and writes docs/results/real-models/browser.json.
"""

import itertools
import pathlib
import shutil
import subprocess
import sys
import tempfile

from gguf import GGMLQuantizationType
from tokenizers import Tokenizer
import onnx_peers
from chromium import SMOLLM2, browser, compared, measure, npm, page_speeds, page_with_smollm2, serve
from results import RESULTS, add_rows, rounds_and_threads
from weights import written_as

FILES = {4: SMOLLM2, 8: SMOLLM2.with_name("SmolLM2-135M-Instruct.Q8_0.gguf")}
MANUAL = SMOLLM2.with_name("django-5.2.8-manual.txt")
WLLAMA = "3.13.0"
ANSWER = 32
# Of SmolLM2; wllama refuses more tokens than the file says.
CONTEXT = 8192

# One prompt through wllama, twice: the first time, as on the page, to warm up.
PEER = """
<!doctype html><meta charset="utf-8"><script type="module">
import { Wllama } from "./esm/index.js";
window.measure = async (bits, threads, text, length, tokens) => {
  const wllama = new Wllama({ default: "./esm/wasm/wllama.wasm" });
  const model = await (await fetch(`/${bits}.gguf`)).blob();
  await wllama.loadModel([model], { n_ctx: length + 512, n_threads: threads, n_gpu_layers: 0 });
  const ask = (prompt) => wllama.createCompletion({ prompt, max_tokens: tokens, temperature: 0, cache_prompt: false });
  await ask(text);
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


def wllama(address, text, bits, length, threads, minutes):
    """The same by wllama, if it answers in so many minutes."""
    with browser(minutes) as driver:
        read, *speeds = measure(driver, f"{address}/peer/index.html", bits, threads, text, length, ANSWER)
    if not 0.97 * length < read < length + 256:
        raise RuntimeError(f"wllama read {read} tokens in place of {length}")
    return speeds


def beginning(text, tokenizer, tokens):
    """So many tokens from the beginning of a text on."""
    return text[:tokenizer.encode(text).offsets[tokens - 1][1]]


def with_context(file, folder, context):
    """A copy of a GGUF that says it has a longer context."""
    copy = pathlib.Path(folder) / file.name
    shutil.copy(file, copy)
    command = [sys.executable, "-m", "gguf.scripts.gguf_set_metadata", "--force", copy, "llama.context_length", str(context)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return copy


def main():
    args = rounds_and_threads("model", lengths=[1024, 4096, 16384], bits=[4, 8], programs=["page", "wllama", "transformers.js"], minutes=120)
    if not FILES[8].exists():
        part = FILES[8].with_suffix(".part")
        written_as(FILES[4], part, GGMLQuantizationType.Q8_0)
        part.replace(FILES[8])
    package = npm("@wllama/wllama", WLLAMA)
    (package / "index.html").write_text(PEER)
    manual, tokenizer = MANUAL.read_text(), Tokenizer.from_file(str(pathlib.Path(args.model) / "tokenizer.json"))
    with tempfile.TemporaryDirectory() as folder:
        places, told = {}, None
        if "transformers.js" in args.programs:
            model = pathlib.Path(args.model).resolve()
            places, told = onnx_peers.exported(model, pathlib.Path(folder), 2 * max(args.lengths), in_8_bits=True)
        files = FILES
        if max(args.lengths) + 512 > CONTEXT:
            files = {bits: with_context(file, folder, max(args.lengths) + 512) for bits, file in FILES.items()}
        address = serve({**places, "/peer/": package, **{f"/{bits}.gguf": file for bits, file in files.items()}})
        for length, bits, threads in itertools.product(args.lengths, args.bits, args.threads):
            programs = {
                ("page", None): lambda: page(address, bits, length, threads),
                ("wllama", WLLAMA): lambda: wllama(address, beginning(manual, tokenizer, length), bits, length, threads, args.minutes),
            }
            if bits == 8:
                programs["transformers.js", onnx_peers.TRANSFORMERS] = (
                    lambda: onnx_peers.speeds(address, "transformers", threads, length, ANSWER, told, args.minutes))
            programs = {name: run for name, run in programs.items() if name[0] in args.programs}
            place = {"length": length, "bits": bits, "threads": threads}
            fields = ["processor", *place]
            if len(args.programs) < 3:
                # What other programs did before stays.
                fields.append("program")
            # Written after each round, since one of a long prompt takes many minutes and may be the last.
            for rows in compared(programs, args.rounds, place):
                add_rows(RESULTS / "browser.json", rows, *fields)


if __name__ == "__main__":
    main()
