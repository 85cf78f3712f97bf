"""How soon people see a graph: from the command to the first picture, beside Netron and Model
Explorer on the same file, in the same headless Chromium.

    ./dev bench view MODEL...

A model is a .pb or .pbtxt of a GraphDef. Each program starts its server again for every try, so the
time includes everything: starting, reading the graph, sending the page, layout, and drawing.
"picture" begins when the browser asks for the page. Where a program asks first whether it shall
draw so many nodes, the answer is yes. Prints the median of the tries; '-' means no picture in the
time given.
"""

import argparse
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from playwright.sync_api import Error, TimeoutError, sync_playwright

ROOT = pathlib.Path(__file__).parent.parent
TREADLE = ROOT / "build" / "release" / "bin" / "treadle"
ARGUMENTS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
PICTURE = "bench: picture"

# Looks at each frame whether there is a picture, and says so once it has been painted.
WATCH = """
(() => {
  const isThere = () => { try { return IS_THERE; } catch { return false; } };
  const look = () => {
    if (!isThere()) return requestAnimationFrame(look);
    requestAnimationFrame(() => setTimeout(() => console.log("bench: picture", performance.now())));
  };
  requestAnimationFrame(look);
})();
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(address, process, seconds):
    """Waits until a server does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=seconds).close()
            return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.02)
    return False


class Viewer:
    """A program that shows a graph in a browser."""

    def __init__(self, name, is_there, command):
        self.name, self.is_there, self.command = name, is_there, command
        self.is_here = shutil.which(str(command(pathlib.Path("x.pb"), 1)[0])) is not None

    def address(self, process, port, model, seconds):
        """Returns the server's address; None if it doesn't start."""
        address = f"http://127.0.0.1:{port}/"
        return address if answers(address, process, seconds) else None


class TreadleViewer(Viewer):
    def address(self, process, port, model, seconds):
        words = process.stdout.readline().split()
        return next((word for word in words if word.startswith("http://")), None)


class ModelExplorer(Viewer):
    def address(self, process, port, model, seconds):
        address = super().address(process, port, model, seconds)
        # It takes GraphDefs by the end of their name.
        copy = model.with_suffix(".graphdef")
        if not copy.exists():
            shutil.copy(model, copy)
        data = urllib.parse.quote(f'{{"models": [{{"url": "{copy}"}}]}}')
        return address and f"{address}?data={data}"


def beside(program):
    return str(pathlib.Path(sys.executable).parent / program)


VIEWERS = [
    TreadleViewer(
        "treadle",
        'performance.getEntriesByName("treadle:first-picture").length > 0',
        lambda model, port: [str(TREADLE), "view", str(model), "--no-browser"],
    ),
    Viewer(
        "netron",
        """(document.querySelectorAll(".message-button").forEach((button) => {
             if (button.offsetParent) button.click(); }),
           document.body.classList.contains("default") && document.querySelector(".node"))""",
        lambda model, port: [
            *(beside("netron"), "--host", "127.0.0.1", "--port", str(port), str(model))
        ],
    ),
    ModelExplorer(
        "model explorer",
        """document.querySelector("webgl-renderer canvas")?.width > 0 &&
           !document.querySelector("mat-spinner")""",
        lambda model, port: [
            *(beside("model-explorer"), "--no_open_in_browser", "--host", "127.0.0.1"),
            *("--port", str(port)),
        ],
    ),
]


def one_try(browser, viewer, model, seconds):
    """Seconds from the command to the picture, and from the page's address to the picture."""
    port, begin = free_port(), time.monotonic()
    process = subprocess.Popen(
        viewer.command(model, port),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    try:
        address = viewer.address(process, port, model, seconds)
        if not address:
            return None
        # Netron asks before its first page whether it may count users: say that it was answered.
        context.add_cookies([{"name": "consent", "value": "1", "url": address}])
        page = context.new_page()
        page.add_init_script(WATCH.replace("IS_THERE", viewer.is_there))
        with page.expect_console_message(
            lambda message: message.text.startswith(PICTURE), timeout=1000 * seconds
        ) as said:
            page.goto(address, wait_until="commit", timeout=1000 * seconds)
        return time.monotonic() - begin, float(said.value.text.split()[-1]) / 1000
    except (TimeoutError, Error):
        return None
    finally:
        context.close()
        process.terminate()
        process.wait(timeout=30)


def measure(browser, viewer, model, tries, seconds):
    times = []
    for _ in range(tries):
        found = one_try(browser, viewer, model, seconds)
        if found is None:
            return None
        times.append(found)
    return [statistics.median(column) for column in zip(*times, strict=True)]


def row(model, results):
    ours = results.get("treadle")
    cells = [f"`{model.stem}`"]
    for name, found in results.items():
        if found is None:
            cells.append("-")
        elif name == "treadle" or ours is None:
            cells.append(f"{found[0]:.2f} s ({found[1]:.2f} s)")
        else:
            cells.append(f"{found[0]:.2f} s ({found[1]:.2f} s), {found[0] / ours[0]:.1f}x")
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(
        prog="./dev bench view",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("models", nargs="+", type=pathlib.Path, metavar="MODEL")
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=120, help="time limit of one try")
    args = parser.parse_args()
    viewers = [viewer for viewer in VIEWERS if viewer.is_here]
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        sys.exit("needs chromium: './dev test view' installs it")
    print("From the command to the first picture (of it, in the browser).\n")
    print("| model | " + " | ".join(viewer.name for viewer in viewers) + " |")
    print("| --- |" + " --- |" * len(viewers), flush=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        for original in args.models:
            model = pathlib.Path(folder) / original.name
            shutil.copy(original, model)
            results = {
                v.name: measure(browser, v, model, args.tries, args.seconds) for v in viewers
            }
            print(row(model, results), flush=True)
        browser.close()


if __name__ == "__main__":
    main()
