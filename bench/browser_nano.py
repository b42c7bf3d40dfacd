"""Measures nano-rope on the page beside onnxruntime-web and transformers.js, in one headless Chromium, at equal threads.

    cargo xtask page
    pip install selenium torch transformers onnx onnx-ir onnxruntime onnxruntime-genai
    python bench/browser_nano.py

All compute in f32 with WebAssembly on the CPU. Prints tokens per second of each round, and writes docs/benchmarks-browser.json and
docs/benchmarks.md.
"""

import pathlib
import tempfile

import onnx_peers
from chromium import browser, compared, page_opened, page_speeds, serve
from render import render
from results import ROOT, add_rows, rounds_and_threads

OUT = ROOT / "docs/benchmarks-browser.json"
PROMPT = 1024
ANSWER = 32


def page(address, threads):
    """Tokens read and written a second by the page: YaRN costs as much as RoPE and goes on to the end of a long answer."""
    with browser() as driver:
        page_opened(driver, f"{address}/?backend=cpu&threads={threads}&extension=4&task=multi-value&digits=7&columns=yarn~yarn&embed=0")
        return page_speeds(driver)


def main():
    args = rounds_and_threads()
    with tempfile.TemporaryDirectory() as folder:
        places, told = onnx_peers.exported(ROOT / "models/nano-rope", pathlib.Path(folder), 2 * PROMPT)
        address = serve(places)
        for threads in args.threads:
            peer = lambda name: onnx_peers.speeds(address, name, threads, PROMPT, ANSWER, told)
            programs = {
                ("page", None): lambda: page(address, threads),
                ("onnxruntime-web", onnx_peers.ONNXRUNTIME): lambda: peer("onnxruntime"),
                ("transformers.js", onnx_peers.TRANSFORMERS): lambda: peer("transformers"),
            }
            for rows in compared(programs, args.rounds, {"threads": threads}):
                add_rows(OUT, rows, "processor", "threads")
    render()


if __name__ == "__main__":
    main()
