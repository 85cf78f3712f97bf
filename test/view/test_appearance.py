"""Sizes and colours: a phone, a small screen, dark, light, and high contrast."""

import pytest

LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "forced": {"forced_colors": "active"},
    "contrast": {"contrast": "more"},
    "phone": {"size": (390, 844), "has_touch": True, "is_mobile": True},
    "phone-dark": {
        "size": (390, 844),
        "has_touch": True,
        "is_mobile": True,
        "color_scheme": "dark",
    },
    "small": {"size": (1280, 720)},
    "wide": {"size": (1920, 1080)},
}


@pytest.mark.parametrize("look", LOOKS)
def test_the_page_looks_well(look, page_file, open_page):
    opened = open_page(page_file("beam_search"), **LOOKS[look])
    assert not opened.is_too_wide()
    assert opened.colours()[0] > 20
    opened.picture(f"look-{look}")


def test_dark_and_light_differ(page_file, open_page):
    brightness = []
    for scheme in ("light", "dark"):
        opened = open_page(page_file("countdown"), color_scheme=scheme)
        colour = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
        brightness.append(sum(int(n) for n in colour[colour.index("(") + 1 : -1].split(",")[:3]))
    assert brightness[0] > 600 and brightness[1] < 200


def test_a_key_turns_the_lights_off(page_file, open_page):
    opened = open_page(page_file("countdown"), color_scheme="light")
    theme = "document.documentElement.dataset.theme"
    before = opened.page.evaluate(theme)
    opened.page.keyboard.press("t")
    assert opened.page.evaluate(theme) != before


def test_a_touch_selects_a_node_on_a_phone(page_file, open_page):
    opened = open_page(page_file("countdown"), size=(390, 844), has_touch=True, is_mobile=True)
    opened.find("loop/dec").tap()
    opened.wait_for("() => location.hash.includes('loop/dec')")
    assert not opened.is_too_wide()
    opened.picture("phone-node")
