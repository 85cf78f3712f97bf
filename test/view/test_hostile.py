"""Models that mean harm: names that are markup, a name of a megabyte, NaN, many edges."""

import re

import models
import pytest


@pytest.fixture
def hostile(page_file, open_page):
    opened = open_page(page_file("hostile"))
    opened.page.wait_for_timeout(500)
    return opened


def is_harmed(opened):
    return opened.page.evaluate("window.harmed !== undefined || window.xss !== undefined")


def test_names_are_texts(hostile):
    assert not is_harmed(hostile)
    assert hostile.page.locator("img, iframe, object, embed, b:text('bold')").count() == 0
    assert not hostile.is_too_wide()
    hostile.picture("hostile")


def test_each_hostile_name_is_found_and_shown(hostile):
    for name in models.HOSTILE:
        part = max((p for p in re.split("[\\0\\n]", name) if p), key=len)
        hostile.find(part).click()
        hostile.page.wait_for_timeout(200)
        assert not is_harmed(hostile), name
        assert hostile.page.get_by_role("complementary", name="Details").inner_text()


@pytest.mark.parametrize("text", ["longggg", "nans", "large", "hub"])
def test_what_is_too_long_or_too_many_is_shown(text, hostile):
    hostile.find(text).click()
    hostile.page.wait_for_timeout(600)
    details = hostile.page.get_by_role("complementary", name="Details").inner_text()
    assert len(details) < 20_000
    if text == "nans":
        assert "NaN" in details
    hostile.picture(f"hostile-{text}")


def test_a_hostile_address_does_nothing(page_file, open_page):
    hostile = "#node=<img src=x onerror=window.harmed=1>&body=</script>&open=,,0/9/9,__proto__"
    opened = open_page(page_file("countdown").as_uri() + hostile + "&tab=constructor")
    opened.page.wait_for_timeout(300)
    assert not is_harmed(opened)
