"""Measures SmolLM2 on the page beside wllama (llama.cpp in the browser), in one headless Chromium, at equal threads.

    cargo xtask fetch smollm2; cargo xtask page
    pip install selenium gguf
    python bench/browser.py

Both keep the weights in 8 bits: the page's form of them, and Q8_0. Prints tokens per second, medians of the rounds, and their ratios, and
writes docs/results/real-models/browser.json.
"""

import argparse
import functools
import http.server
import pathlib
import re
import shutil
import statistics
import subprocess
import threading

from gguf import GGMLQuantizationType
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from real import write_rows, written_as

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "docs/results/real-models/browser.json"
CACHE = pathlib.Path.home() / ".cache/drope"
MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
WLLAMA = "3.8.1"
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


class Handler(http.server.SimpleHTTPRequestHandler):
    """The page, wllama below /peer/, and the model; isolated, so that both may have threads."""

    def __init__(self, *arguments, peer, **more):
        self.peer = peer
        super().__init__(*arguments, directory=ROOT / "dist", **more)

    def translate_path(self, path):
        if path.startswith("/peer/"):
            return str(self.peer / path.removeprefix("/peer/"))
        return str(q8()) if path == "/model.gguf" else super().translate_path(path)

    def end_headers(self):
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()

    def log_message(self, *_):
        pass


@functools.cache
def q8():
    """The model as wllama reads it."""
    path = CACHE / MODEL.replace("Q4_1", "Q8_0")
    if not path.exists():
        written_as(CACHE / MODEL, path, GGMLQuantizationType.Q8_0)
    return path


def wllama():
    """wllama's folder, from npm."""
    folder = CACHE / f"wllama-{WLLAMA}"
    if not folder.exists():
        folder.mkdir(parents=True)
        name = subprocess.run(["npm", "pack", f"@wllama/wllama@{WLLAMA}"], cwd=folder, check=True, capture_output=True, text=True)
        subprocess.run(["tar", "xzf", name.stdout.split()[-1]], cwd=folder, check=True)
    (folder / "package/index.html").write_text(PEER)
    return folder / "package"


def browser():
    options = webdriver.ChromeOptions()
    for argument in ["--headless=new", "--no-sandbox"]:
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(600)
    return driver


def page(address, threads):
    """Tokens read and written a second by the page."""
    driver = browser()
    try:
        wait = WebDriverWait(driver, 300)
        driver.get(f"{address}/?backend=cpu&threads={threads}&tokens={PROMPT}&columns=rope~rope&embed=0")
        wait.until(lambda _: driver.find_element(By.ID, "backend").text.startswith("Computing"))
        driver.find_element(By.ID, "model-zip").send_keys(str(CACHE / MODEL))
        wait.until(lambda _: "context 8192" in driver.execute_script("return document.querySelector('.stored')?.textContent ?? ''"))
        for column in (1, 2):
            driver.execute_script(
                "const select = document.getElementById(`model-${arguments[0]}`);"
                "select.value = [...select.options].find((option) => option.text.includes('SmolLM2')).value;"
                "select.dispatchEvent(new Event('change', { bubbles: true }));", column)
        speeds = []
        for _ in range(2):
            driver.execute_script("document.getElementById('run').click()")
            verdicts = "return [...document.querySelectorAll('.verdict')].map((verdict) => verdict.textContent)"
            wait.until(lambda _: all("tokens/s" in verdict for verdict in driver.execute_script(verdicts)))
            wait.until(lambda _: not driver.find_element(By.ID, "stop").is_enabled())
            # The second column finds the model warm.
            speeds = [float(number) for number in re.findall(r"(\d+) tokens/s", driver.execute_script(verdicts)[1])]
        return speeds
    finally:
        driver.quit()


def peer(address, threads):
    """The same by wllama."""
    text = (CACHE / "django-5.2.8-manual.txt").read_text()[:4600]
    driver = browser()
    try:
        driver.get(f"{address}/peer/index.html")
        WebDriverWait(driver, 60).until(lambda _: driver.execute_script("return window.ready"))
        call = "const done = arguments[3]; measure(arguments[0], arguments[1], arguments[2]).then(done, (error) => done(String(error)));"
        found = driver.execute_async_script(call, threads, text, ANSWER)
        if isinstance(found, str):
            raise RuntimeError(found)
        tokens, read, written = found
        print(f"  wllama read {tokens} tokens")
        return [read, written]
    finally:
        driver.quit()


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=3)
    rounds = arguments.parse_args().rounds
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, peer=wllama()))
    q8()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    rows = []
    for threads in (1, 2):
        # In turn, so that a slow minute of the machine meets both.
        pairs = [(page(address, threads), peer(address, threads)) for _ in range(rounds)]
        for name, weights, side in (("page", "q8", 0), ("wllama", "Q8_0", 1)):
            prefill, decode = (statistics.median(pair[side][at] for pair in pairs) for at in (0, 1))
            rows.append({"program": name, "weights": weights, "threads": threads, "prefill": prefill, "decode": decode})
        for at, what in enumerate(["read", "wrote"]):
            ratio = statistics.median(own[at] / other[at] for own, other in pairs)
            own, other = (row[("prefill", "decode")[at]] for row in rows[-2:])
            print(f"{threads} threads, {what}: page {own:.0f}, wllama {other:.0f} tokens/s, {ratio:.2f}x", flush=True)
    write_rows(OUT, rows)
