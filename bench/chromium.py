"""What the measurements in headless Chromium share: the server, the browser, packages from npm, and the page's own speeds."""

import contextlib
import functools
import http.server
import pathlib
import re
import shutil
import statistics
import subprocess
import threading

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from results import ROOT

CACHE = pathlib.Path.home() / ".cache/drope"


class Handler(http.server.SimpleHTTPRequestHandler):
    """The page, and other folders and files below addresses of their own; isolated, so that all may have threads."""

    def __init__(self, *arguments, places, **more):
        self.places = places
        super().__init__(*arguments, directory=ROOT / "dist", **more)

    def translate_path(self, path):
        for prefix, place in self.places.items():
            if path.startswith(prefix):
                rest = path.removeprefix(prefix)
                return str(place / rest if rest else place)
        return super().translate_path(path)

    def end_headers(self):
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()

    def log_message(self, *_):
        pass


def serve(places):
    """The address at which the page and `places` are served."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, places=places))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


@functools.cache
def npm(name, version):
    """The folder of a package."""
    folder = CACHE / f"{name.replace('/', '-').removeprefix('@')}-{version}"
    if not (folder / "package").exists():
        folder.mkdir(parents=True, exist_ok=True)
        packed = subprocess.run(["npm", "pack", f"{name}@{version}"], cwd=folder, check=True, capture_output=True, text=True)
        subprocess.run(["tar", "xzf", packed.stdout.split()[-1]], cwd=folder, check=True)
    return folder / "package"


@contextlib.contextmanager
def browser():
    options = webdriver.ChromeOptions()
    for argument in ["--headless=new", "--no-sandbox"]:
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(600)
    try:
        yield driver
    finally:
        driver.quit()


def measure(driver, address, *arguments):
    """What `window.measure` of a peer's page resolves to."""
    driver.get(address)
    WebDriverWait(driver, 60).until(lambda _: driver.execute_script("return window.ready"))
    call = "const done = arguments[1]; measure(...arguments[0]).then(done, (error) => done(String(error)));"
    found = driver.execute_async_script(call, arguments)
    if isinstance(found, str):
        raise RuntimeError(found)
    return found


def page_opened(driver, address):
    """Waits until the page computes."""
    driver.get(address)
    WebDriverWait(driver, 300).until(lambda _: driver.find_element(By.ID, "backend").text.startswith("Computing"))


def page_speeds(driver):
    """Tokens read and written a second by the page's second column, which finds the model warm."""
    wait = WebDriverWait(driver, 300)
    verdicts = "return [...document.querySelectorAll('.verdict')].map((verdict) => verdict.textContent)"
    for _ in range(2):
        driver.execute_script("document.getElementById('run').click()")
        wait.until(lambda _: all("tokens/s" in verdict for verdict in driver.execute_script(verdicts)))
        wait.until(lambda _: not driver.find_element(By.ID, "stop").is_enabled())
    return [float(number) for number in re.findall(r"(\d+) tokens/s", driver.execute_script(verdicts)[1])]


def compared(programs, rounds):
    """Medians of what each program of `programs` (name, weights, function of the threads) reads and writes a second, a row each,
    with the ratios of the first to it. They run in turn, so that a slow minute of the machine meets all."""
    rows = []
    for threads in (1, 2):
        runs = [[run(threads) for _, _, run in programs] for _ in range(rounds)]
        for at, (name, weights, _) in enumerate(programs):
            prefill, decode = (statistics.median(run[at][kind] for run in runs) for kind in (0, 1))
            ratios = [statistics.median(run[0][kind] / run[at][kind] for run in runs) for kind in (0, 1)]
            rows.append({"program": name, "weights": weights, "threads": threads, "prefill": prefill, "decode": decode,
                         "page_ratio": ratios})
            print(f"{threads} threads, {name}: read {prefill:.0f} and wrote {decode:.0f} tokens/s; the page's are "
                  f"{ratios[0]:.2f} and {ratios[1]:.2f} times as fast", flush=True)
    return rows
