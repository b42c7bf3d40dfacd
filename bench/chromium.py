"""What the measurements in headless Chromium share: the server, the browser, packages from npm, and the page's own speeds."""

import contextlib
import functools
import http.server
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from results import ROOT, processor

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "drope"
SMOLLM2 = CACHE / "SmolLM2-135M-Instruct.Q4_1.gguf"


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
    """The folder of a package, which npm checks by its hash."""
    folder = CACHE / f"{name.replace('/', '-').removeprefix('@')}-{version}"
    if not (folder / "package").exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as part:
            packed = subprocess.run(["npm", "pack", f"{name}@{version}"], cwd=part, check=True, capture_output=True, text=True)
            subprocess.run(["tar", "xzf", packed.stdout.split()[-1]], cwd=part, check=True)
            (pathlib.Path(part) / "package").rename(folder / "package")
    return folder / "package"


@contextlib.contextmanager
def browser(minutes=120):
    """A browser whose scripts may take so many minutes."""
    options = webdriver.ChromeOptions()
    for argument in ["--headless=new", "--no-sandbox"]:
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    # A long prompt takes minutes, in which neither the script nor the connection to the browser may end.
    driver.set_script_timeout(60 * minutes)
    driver.command_executor.client_config.timeout = 60 * minutes + 600
    try:
        yield driver
    finally:
        driver.quit()


def measure(driver, address, *arguments):
    """What `window.measure` of a peer's page resolves to."""
    driver.get(address)
    WebDriverWait(driver, 60).until(lambda _: driver.execute_script("return window.ready"))
    call = "const done = arguments[1]; measure(...arguments[0]).then(done, (error) => done(String(error)));"
    # ChromeDriver's own limit waits for the thread of the page, which a peer may occupy for as long as it computes. So a timer ends the
    # browser, ChromeDriver's child process.
    seconds = driver.timeouts.script
    end = time.monotonic() + seconds
    limit = threading.Timer(seconds, subprocess.run, [["pkill", "-KILL", "-P", str(driver.service.process.pid)]])
    limit.start()
    try:
        found = driver.execute_async_script(call, arguments)
    except WebDriverException:
        if time.monotonic() < end:
            raise
        raise RuntimeError(f"no answer in {seconds / 60:.0f} minutes") from None
    finally:
        limit.cancel()
    if isinstance(found, str):
        raise RuntimeError(found)
    return found


def page_opened(driver, address):
    """Waits until the page computes."""
    driver.get(address)
    WebDriverWait(driver, 300).until(lambda _: driver.find_element(By.ID, "backend").text.startswith("Computing"))


def page_with_smollm2(driver, address, file, length, threads, columns):
    """Opens the page with SmolLM2 of a file in every column, asked in `length` tokens."""
    chosen = "~".join(["rope"] * columns)
    page_opened(driver, f"{address}/?backend=cpu&threads={threads}&tokens={length}&columns={chosen}&embed=0")
    driver.find_element(By.ID, "model-zip").send_keys(str(file))
    stored = "return document.querySelector('.stored')?.textContent ?? ''"
    WebDriverWait(driver, 300).until(lambda _: "context 8192" in driver.execute_script(stored))
    for column in range(1, columns + 1):
        driver.execute_script(
            "const select = document.getElementById(`model-${arguments[0]}`);"
            "select.value = [...select.options].find((option) => option.text.includes('SmolLM2')).value;"
            "select.dispatchEvent(new Event('change', { bubbles: true }));", column)


def page_speeds(driver):
    """Tokens read and written a second by the page's last column; the columns before it warm it up with the same prompt."""
    # Two columns read a prompt, one of 16,384 tokens for many minutes.
    wait = WebDriverWait(driver, 7200)
    verdicts = "return [...document.querySelectorAll('.verdict')].map((verdict) => verdict.textContent)"
    driver.execute_script("document.getElementById('run').click()")
    wait.until(lambda _: all("tokens/s" in verdict for verdict in driver.execute_script(verdicts)))
    wait.until(lambda _: not driver.find_element(By.ID, "stop").is_enabled())
    speeds = "return [...document.querySelectorAll('.verdict')].at(-1).dataset.speeds"
    return [float(number) for number in driver.execute_script(speeds).split()]


def compared(programs, rounds, place):
    """After each round, what each program of `programs` (name and version, and a function) reads and writes a second, a row each with a
    number a round. They run in turn, so that a slow minute of the machine meets all. A program that fails, as one does whose memory does not
    suffice, has no numbers and is not run again."""
    found, errors = {name: [] for name in programs}, {}
    for _ in range(rounds):
        for name, run in programs.items():
            if name in errors:
                continue
            try:
                found[name].append(run())
            except (RuntimeError, WebDriverException) as error:
                found[name], errors[name] = [], str(error).splitlines()[0]
        print(place, {name: errors.get((name, version)) or [round(speed) for speed in speeds[-1]]
                      for (name, version), speeds in found.items()}, flush=True)
        yield [{"processor": processor(), **place, "program": name, "version": version,
                "prompt": [prompt for prompt, _ in speeds], "generation": [generation for _, generation in speeds],
                **({"error": errors[name, version]} if (name, version) in errors else {})}
               for (name, version), speeds in found.items()]
