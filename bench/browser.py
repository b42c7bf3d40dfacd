"""Measures SmolLM2 on the page beside wllama (llama.cpp in the browser), in one headless Chromium, at equal threads.

    cargo xtask fetch smollm2; cargo xtask fetch manual; cargo xtask page
    pip install selenium gguf
    python bench/browser.py

Both keep the weights in 8 bits: the page's form of them, and Q8_0. Prints tokens per second, medians of the rounds, and their ratios, and
writes docs/results/real-models/browser.json.
"""

import argparse

from gguf import GGMLQuantizationType
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from chromium import CACHE, ROOT, browser, compared, measure, npm, page_opened, page_speeds, serve
from results import write_rows
from weights import written_as

OUT = ROOT / "docs/results/real-models/browser.json"
MODEL = CACHE / "SmolLM2-135M-Instruct.Q4_1.gguf"
Q8 = CACHE / "SmolLM2-135M-Instruct.Q8_0.gguf"
PROMPT = 1024
ANSWER = 32

# One prompt through wllama; the first answer warms up.
PEER = """
<!doctype html><meta charset="utf-8"><script type="module">
import { Wllama } from "./esm/index.js";
window.measure = async (threads, text, tokens) => {
  const wllama = new Wllama({ default: "./esm/wasm/wllama.wasm" });
  const model = await (await fetch("/model.gguf")).blob();
  await wllama.loadModel([model], { n_ctx: 2048, n_threads: threads, n_gpu_layers: 0 });
  const ask = (prompt) => wllama.createCompletion({ prompt, max_tokens: tokens, temperature: 0, cache_prompt: false });
  await ask("A short text to begin with.");
  const { timings } = await ask(text);
  await wllama.exit();
  return [timings.prompt_n, timings.prompt_per_second, timings.predicted_per_second];
};
window.ready = true;
</script>
"""


def page(address, threads):
    """Tokens read and written a second by the page."""
    with browser() as driver:
        page_opened(driver, f"{address}/?backend=cpu&threads={threads}&tokens={PROMPT}&columns=rope~rope&embed=0")
        driver.find_element(By.ID, "model-zip").send_keys(str(MODEL))
        stored = "return document.querySelector('.stored')?.textContent ?? ''"
        WebDriverWait(driver, 300).until(lambda _: "context 8192" in driver.execute_script(stored))
        for column in (1, 2):
            driver.execute_script(
                "const select = document.getElementById(`model-${arguments[0]}`);"
                "select.value = [...select.options].find((option) => option.text.includes('SmolLM2')).value;"
                "select.dispatchEvent(new Event('change', { bubbles: true }));", column)
        return page_speeds(driver)


def wllama(address, threads):
    """The same by wllama."""
    text = (CACHE / "django-5.2.8-manual.txt").read_text()[:4600]
    with browser() as driver:
        tokens, *speeds = measure(driver, f"{address}/peer/index.html", threads, text, ANSWER)
    print(f"  wllama read {tokens} tokens")
    return speeds


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=3)
    rounds = arguments.parse_args().rounds
    if not Q8.exists():
        written_as(MODEL, Q8, GGMLQuantizationType.Q8_0)
    peer = npm("@wllama/wllama", "3.8.1")
    (peer / "index.html").write_text(PEER)
    address = serve({"/peer/": peer, "/model.gguf": Q8})
    programs = [("page", "q8", lambda threads: page(address, threads)), ("wllama", "Q8_0", lambda threads: wllama(address, threads))]
    write_rows(OUT, compared(programs, rounds))
