"""A page that is open in a browser, with what it said and asked for; and the server of one."""

import base64
import pathlib
import queue
import subprocess
import threading
import time
import urllib.parse

FIRST_PICTURE = "treadle:first-picture"

# The colours of a picture: how many there are, and the share of the one that is most of it.
COUNT_COLOURS = """
async (png) => {
  const image = new Image();
  image.src = "data:image/png;base64," + png;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height), c = canvas.getContext("2d");
  c.drawImage(image, 0, 0);
  const dots = new Uint32Array(c.getImageData(0, 0, image.width, image.height).data.buffer);
  const counts = new Map();
  for (const dot of dots) counts.set(dot, (counts.get(dot) ?? 0) + 1);
  return [counts.size, Math.max(...counts.values()) / dots.length];
}
"""


class Opened:
    """Fails at the end if the page complained, or asked another host for something."""

    def __init__(self, context, address, allowed, pictures):
        self.context, self.allowed, self.pictures = context, allowed, pictures
        self.said, self.asked = [], []
        self.page = context.new_page()
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        if isinstance(address, pathlib.Path):
            address = address.as_uri()
        self.address = address
        self.host = urllib.parse.urlsplit(address).netloc
        self.page.goto(address, wait_until="commit", timeout=120_000)

    def _listen(self, message):
        if message.type in ("error", "warning") and not any(
            a in message.text for a in self.allowed
        ):
            self.said.append(f"{message.type}: {message.text}")

    def wait_for_picture(self, seconds=120):
        self.wait_for(
            "name => performance.getEntriesByName(name).length > 0", FIRST_PICTURE, seconds
        )

    def wait_for(self, condition, argument=None, seconds=30):
        """Playwright's own waiting evaluates texts, which the page's policy forbids."""
        end = time.monotonic() + seconds
        while not (found := self.page.evaluate(condition, argument)):
            assert time.monotonic() < end, f"after {seconds} s there is still not: {condition}"
            self.page.wait_for_timeout(20)
        return found

    def open_tab(self, name):
        """Once what it shows is there."""
        self.wait_for(
            """name => [...document.querySelectorAll("[role=tab]")].some(
                 tab => tab.textContent === name && !tab.disabled)""",
            name,
        )
        self.page.get_by_role("tab", name=name).click()

    def find(self, text):
        """Searches for it; the first node found."""
        box = self.page.get_by_role("combobox", name="Search nodes")
        box.fill("")
        box.fill(text)
        found = self.page.get_by_role("listbox", name="Nodes found").get_by_role("option").first
        found.wait_for()
        return found

    def first_picture(self):
        """Returns the seconds from the request of the page."""
        time = "name => performance.getEntriesByName(name)[0].startTime"
        return self.page.evaluate(time, FIRST_PICTURE) / 1000

    def colours(self, selector=None):
        """Returns the number of visible colours, and the share of the most common one."""
        shown = self.page.locator(selector).first if selector else self.page
        png = base64.b64encode(shown.screenshot()).decode()
        blank = self.context.new_page()
        try:
            return blank.evaluate(COUNT_COLOURS, png)
        finally:
            blank.close()

    def picture(self, name):
        if self.pictures:
            self.page.screenshot(path=self.pictures / f"{name}.png")

    def is_too_wide(self):
        return self.page.evaluate(
            "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        )

    def check(self):
        assert self.said == []
        own = ("file", "data", "blob", "about")
        strange = [
            url
            for url in self.asked
            if (parts := urllib.parse.urlsplit(url)).scheme not in own and parts.netloc != self.host
        ]
        assert strange == []

    def finish(self):
        try:
            self.check()
        finally:
            self.context.close()


class Server:
    """`treadle view --no-browser`: says its address first."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        lines = queue.Queue()
        threading.Thread(
            target=lambda: lines.put(self.process.stdout.readline()), daemon=True
        ).start()
        try:
            line = lines.get(timeout=300)
        except queue.Empty:
            line = ""
        words = [word for word in line.split() if word.startswith("http://")]
        if not words:
            self.stop()
            raise AssertionError(f"no address: {line!r}, {self.process.stderr.read()!r}")
        self.address = words[0]

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=20)
