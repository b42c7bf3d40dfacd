"""How much memory the page's worker has in Chromium once SmolLM2 has read a prompt; writes docs/results/real-models/tab-memory.json.

    cargo xtask fetch smollm2; cargo xtask page
    pip install selenium
    python bench/browser_memory.py

The browser itself counts, as the bytes of its worker of the page (performance.measureUserAgentSpecificMemory). WebAssembly's memory never
shrinks: what is counted afterwards is the most that was used, import of the file included.
"""

from chromium import SMOLLM2, browser, page_speeds, page_with_smollm2, serve
from results import RESULTS, write_rows

PROMPT = 2048
# Keys and values of 30 layers with 3 heads of 64 numbers of 16 bits.
CACHE = PROMPT * 2 * 30 * 3 * 64 * 2
BYTES = """
const done = arguments[0];
performance.measureUserAgentSpecificMemory().then(({ breakdown }) => {
  const isOfWorker = ({ attribution }) => attribution.some(({ scope }) => scope === "DedicatedWorkerGlobalScope");
  done(breakdown.filter(isOfWorker).reduce((sum, { bytes }) => sum + bytes, 0));
}, (error) => done(String(error)));
"""


def main():
    address = serve({})
    rows = []
    for threads in (1, 2):
        with browser() as driver:
            page_with_smollm2(driver, address, SMOLLM2, PROMPT, threads, columns=1)
            page_speeds(driver)
            found = driver.execute_async_script(BYTES)
        if isinstance(found, str):
            raise RuntimeError(found)
        rows.append({"bits": 4, "prompt": PROMPT, "threads": threads, "bytes": found, "cache": CACHE})
        print(rows[-1], flush=True)
    write_rows(RESULTS / "tab-memory.json", rows)


if __name__ == "__main__":
    main()
