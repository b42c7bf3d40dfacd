"""Records the slider of the page's first screen as an animated picture, docs/slider.gif, and the still docs/page.png.

    cargo xtask page
    pip install selenium pillow
    python bench/recording.py
"""

import io

from PIL import Image
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from chromium import ROOT, browser, page_opened, serve

SIZE = (1280, 720)
# Width of the animation, milliseconds of a frame while something moves, and of one to read.
WIDTH = 800
MOVING, READING = 120, 1600
# Places of the slider: 8, 4, 2, 1 and back, to 16 times the training context.
PLACES = [3, 2, 1, 0, 1, 2, 3, 4]

ANSWERED = "return [...document.querySelectorAll('.story .rows li')].every((row) => row.className)"
MOVE = """
const slider = document.getElementById('length');
slider.value = arguments[0];
for (const kind of ['input', 'change']) slider.dispatchEvent(new Event(kind, { bubbles: true }));
"""


def picture(driver):
    return Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")


def frames(driver):
    """Pictures with the milliseconds that each is shown."""
    yield picture(driver), READING
    for place in PLACES[1:]:
        driver.execute_script(MOVE, place)
        # The ribbon grows, then the answers come.
        for _ in range(3):
            yield picture(driver), MOVING
        WebDriverWait(driver, 60).until(lambda _: driver.execute_script(ANSWERED))
        yield picture(driver), READING


def shrunk(frame):
    """With a palette that keeps colours of few points: what is right is green."""
    small = frame.resize((WIDTH, WIDTH * SIZE[1] // SIZE[0]), Image.Resampling.LANCZOS)
    return small.quantize(128, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)


def main():
    with browser() as driver:
        size = {"width": SIZE[0], "height": SIZE[1], "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        page_opened(driver, serve({}) + "/?backend=cpu")
        driver.find_element(By.ID, "row-3")
        shown, times = zip(*frames(driver))
    shown[0].save(ROOT / "docs/page.png", optimize=True)
    small = [shrunk(frame) for frame in shown]
    out = ROOT / "docs/slider.gif"
    small[0].save(out, save_all=True, append_images=small[1:], duration=times, loop=0, optimize=True)
    print(f"{out}: {out.stat().st_size / 1e6:.2f} MB, {len(shown)} frames")


if __name__ == "__main__":
    main()
