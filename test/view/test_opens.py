"""Pages open: from a file and from the server, quietly, alone, and with a picture."""

import gzip
import pathlib
import re

import pytest

SMALL = ["countdown", "nested", "beam_search", "training", "jax", "distributed"]
# The most seconds to the first picture, on a busy machine.
MOST_SECONDS = {"resnet50": 20, "large100k": 20, "large1m": 60}
GRAPH = "[role=application][aria-roledescription=graph]"


def assert_is_shown(opened):
    colours, most = opened.colours(GRAPH)
    assert colours > 20 and most < 0.995
    assert not opened.is_too_wide()


@pytest.mark.parametrize("name", [*SMALL, "resnet50", "large100k", "large1m"])
def test_a_page_opens_from_its_file(name, page_file, open_page):
    opened = open_page(page_file(name))
    assert_is_shown(opened)
    opened.picture(f"graph-{name}")
    assert opened.first_picture() < MOST_SECONDS.get(name, 10)


@pytest.mark.parametrize("name", ["countdown", "training", "large100k"])
def test_a_page_opens_from_its_server(name, model, serve, open_page):
    opened = open_page(serve(model(name)))
    assert_is_shown(opened)
    assert opened.first_picture() < MOST_SECONDS.get(name, 10)


def test_the_page_is_small(page_file):
    page = page_file("countdown").read_text()
    sections = re.search(r'<script id="treadle-sections"[^>]*>(.*?)</script>', page, re.DOTALL)[1]
    assert len(page.encode()) - len(sections) < 2 * 1024 * 1024
    assert len(gzip.compress(page.encode())) < 1024 * 1024


def test_a_page_says_what_it_cannot_read(page_file, tmp_path, open_page):
    page = page_file("countdown").read_text()
    damaged = tmp_path / "damaged.html"
    damaged.write_text(
        re.sub(r'("scene": ?")[A-Za-z0-9+/]{40}', r"\1" + "H4sIAAAAAAAA" + "A" * 28, page)
    )
    opened = open_page(damaged, wait=False)
    alert = opened.page.get_by_role("alert")
    alert.wait_for()
    assert len(alert.inner_text()) > 10


def test_the_title_names_the_model(page_file, open_page):
    assert open_page(page_file("countdown")).page.title().startswith("countdown.pbtxt")


def test_a_server_gives_nothing_without_its_token(model, serve, open_page):
    address = serve(model("countdown"))
    import urllib.error
    import urllib.request

    for path in ("/", "/scene", "/sections/scene", "/../../etc/passwd"):
        host = re.match(r"http://[^/]+", address)[0]
        try:
            body = urllib.request.urlopen(host + path, timeout=20).read()
        except urllib.error.HTTPError as error:
            assert error.code in (400, 401, 403, 404)
        else:
            assert b"TRDLVIEW" not in body and b"countdown" not in body
    assert pathlib.Path(str(model("countdown"))).exists()
