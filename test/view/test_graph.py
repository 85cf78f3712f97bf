"""The graph tab: search, groups, details, the address, and the keyboard alone."""

import re

import pytest

GRAPH = "[role=application][aria-roledescription=graph]"


def details(opened):
    return opened.page.get_by_role("complementary", name="Details")


def settle(opened):
    """Frames in which what was asked for is laid out and drawn."""
    opened.page.wait_for_timeout(400)


def hash_of(opened):
    return opened.page.evaluate("location.hash")


def open_groups(opened):
    groups = re.search(r"open=([^&]*)", hash_of(opened))
    return len([group for group in (groups[1] if groups else "").split(",") if group])


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("countdown", "dec", "loop/dec"),
        ("countdown", "op:Switch", "loop/switch"),
        ("beam_search", "op:TopKV2", "best"),
        ("large100k", "tower3/block7/layer2/relu", "tower3/block7/layer2/relu"),
    ],
)
def test_search_finds_a_node_and_details_show_it(name, text, found, page_file, open_page):
    opened = open_page(page_file(name))
    opened.find(text).click()
    details(opened).get_by_text(found).first.wait_for()
    opened.wait_for("name => decodeURIComponent(location.hash).includes(name)", found)


def test_search_says_that_nothing_has_the_name(page_file, open_page):
    opened = open_page(page_file("countdown"))
    opened.page.get_by_role("combobox", name="Search nodes").fill("nobody")
    opened.page.get_by_role("status").get_by_text("Nothing has this name").wait_for()


def test_a_link_to_a_node_restores_it(page_file, open_page):
    opened = open_page(page_file("countdown"))
    opened.find("loop/switch").click()
    opened.wait_for("() => location.hash.includes('switch')")
    again = open_page(page_file("countdown").as_uri() + hash_of(opened))
    details(again).get_by_text("loop/switch").first.wait_for()


def test_back_goes_to_what_was_selected_before(page_file, open_page):
    opened = open_page(page_file("countdown"))
    for name in ("loop/switch", "loop/dec"):
        opened.find(name).click()
        opened.wait_for("name => location.hash.includes(name)", name)
        settle(opened)
    opened.page.go_back()
    opened.wait_for("() => location.hash.includes('loop/switch')")
    details(opened).get_by_text("loop/switch").first.wait_for()


def test_groups_open_and_close(page_file, open_page):
    opened = open_page(page_file("large100k"))
    graph = opened.page.locator(GRAPH)
    graph.focus()
    opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press("Enter")
    opened.wait_for("() => /open=[^&]/.test(location.hash)")
    settle(opened)
    opened.picture("groups-open")
    many = open_groups(opened)
    opened.page.keyboard.press("Enter")
    opened.wait_for(
        """most => (/open=([^&]*)/.exec(location.hash)?.[1] ?? "")
             .split(",").filter(Boolean).length < most""",
        many,
    )


def test_the_keyboard_alone_walks_the_graph(page_file, open_page):
    opened = open_page(page_file("countdown"))
    page = opened.page
    page.keyboard.press("/")
    page.keyboard.type("loop/merge")
    page.get_by_role("listbox", name="Nodes found").get_by_role("option").first.wait_for()
    page.keyboard.press("Enter")
    details(opened).get_by_text("loop/merge").first.wait_for()
    settle(opened)
    seen = set()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp", "ArrowRight"):
        page.keyboard.press(key)
        settle(opened)
        seen.add(details(opened).inner_text())
    assert len(seen) >= 3
    page.keyboard.press("Escape")
    details(opened).get_by_text("Select a node").wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Keys").wait_for(state="detached")


def test_each_control_can_be_reached_and_has_a_name(page_file, open_page):
    opened = open_page(page_file("countdown"))
    names = set()
    for _ in range(40):
        opened.page.keyboard.press("Tab")
        name = opened.page.evaluate(
            "(() => { const e = document.activeElement;"
            " return e === document.body ? null : e.getAttribute('aria-label') || e.title ||"
            " e.innerText || e.labels?.[0]?.innerText || ''; })()"
        )
        assert name != "", opened.page.evaluate("document.activeElement.outerHTML")
        if name:
            names.add(name)
    assert len(names) > 8


def test_two_graphs_are_compared(model, page_file, open_page, tmp_path):
    changed = tmp_path / "changed.pbtxt"
    text = model("countdown").read_text()
    changed.write_text(re.sub(r'"Greater"', '"GreaterEqual"', text))
    opened = open_page(page_file("countdown", "--with", changed))
    opened.page.get_by_role("tab", name="Compare").click()
    opened.page.get_by_role("complementary", name="Differences").get_by_text(
        "loop/more"
    ).first.wait_for()
    settle(opened)
    for side in ("Before", "After"):
        pane = opened.page.get_by_role("region", name=side)
        pane.wait_for()
    opened.picture("compare")
