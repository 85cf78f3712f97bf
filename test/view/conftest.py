"""Fixtures of the page's tests: a browser, models, and opened pages."""

import pathlib
import shutil
import sys

import pytest
from playwright.sync_api import sync_playwright

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

import models  # noqa: E402
from command import BINARY, view  # noqa: E402
from opened import Opened, Server  # noqa: E402

# Graphics by the processor: there may be no other.
ARGUMENTS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


def pytest_addoption(parser):
    parser.addoption("--pictures", help="a folder for pictures of the pages", default=None)


@pytest.fixture(scope="session")
def browser():
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    assert found, "needs chromium: './dev test view' installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """The file of a model, by the name of its function in models.py."""
    folder, made = tmp_path_factory.mktemp("models"), {}

    def write(name):
        if name not in made:
            made[name] = getattr(models, name)(folder)
        if made[name] is None:
            pytest.skip(f"{name} isn't here: it is one of the models of the shared folder")
        return made[name]

    return write


@pytest.fixture(scope="session")
def page_file(model, tmp_path_factory):
    """The page of a model as a file; `options` go to `treadle view`."""
    folder, made = tmp_path_factory.mktemp("pages"), {}

    def write(name, *options):
        key = (name, *map(str, options))
        if key not in made:
            file = folder / f"{name}-{len(made)}.html"
            view(model(name), "--output", file, *options)
            made[key] = file
        return made[key]

    return write


@pytest.fixture
def open_page(browser, request):
    """Opens a page in a window of its own, and looks at its end for what must never be."""
    opened = []

    def open_(address, *, allowed=(), wait=True, size=(1280, 720), **options):
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce", **options
        )
        opened.append(Opened(context, address, allowed, picture_folder(request)))
        if wait:
            opened[-1].wait_for_picture()
        return opened[-1]

    yield open_
    for each in opened:
        each.finish()


def picture_folder(request):
    folder = request.config.getoption("--pictures")
    if not folder:
        return None
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    return pathlib.Path(folder)


@pytest.fixture
def serve():
    """Starts `treadle view MODEL --no-browser`, and gives its address."""
    servers = []

    def start(*arguments):
        servers.append(Server([BINARY, "view", *map(str, arguments), "--no-browser"]))
        return servers[-1].address

    yield start
    for server in servers:
        server.stop()
