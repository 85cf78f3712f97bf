"""Draws the picture of the README: the page of `treadle view`, a loop's run under way.

    ./dev build && build/view-venv/bin/python scripts/docs/view_picture.py docs/pictures/view.png

`./dev test view` makes the environment.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).parent.parent.parent
TREADLE = ROOT / "build" / "release" / "bin" / "treadle"
MODEL = ROOT / "examples" / "countdown.pbtxt"
ARGUMENTS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SIZE = {"width": 1280, "height": 720}
# In iteration 1: the Switch has forwarded the value, and a dead tensor to the Exit.
FIRINGS = 17
MOST_BYTES = 200_000


def write_page(file):
    options = ["--steps", "--fetch", "count:0", "--input", "start=3", "--output", file]
    subprocess.run([TREADLE, "view", MODEL, *options], check=True)


def take_picture(page_file, picture):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
        page.goto(page_file.as_uri())
        page.locator("[role=tab]:enabled", has_text="Steps").click()
        page.get_by_role("slider", name="Firing").wait_for()
        page.wait_for_timeout(1000)
        page.locator(".long-list").focus()
        page.evaluate("document.activeElement?.blur()")
        for _ in range(FIRINGS):
            page.keyboard.press("ArrowRight")
        page.wait_for_timeout(500)
        page.screenshot(path=picture)
        browser.close()


def main():
    picture = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "countdown.html"
        write_page(page)
        take_picture(page, picture)
    size = picture.stat().st_size
    if size > MOST_BYTES:
        sys.exit(f"{picture} has {size} bytes, expected at most {MOST_BYTES}")


if __name__ == "__main__":
    main()
