"""The stepper: firing by firing, forwards and backwards."""

import pytest
from command import view

OPTIONS = ["--steps", "--fetch", "count:0", "--input", "start=3"]
NESTED = ["--steps", "--fetch", "i/exit"]


def open_steps(open_page, file, **options):
    opened = open_page(file, **options)
    opened.open_tab("Steps")
    opened.page.get_by_role("slider", name="Firing").wait_for()
    opened.page.wait_for_timeout(500)
    opened.page.locator(".steps-graph").click(position={"x": 5, "y": 5})
    return opened


def state(opened):
    """All that the column says."""
    return opened.page.evaluate(
        "[document.querySelector('.player-place').textContent,"
        " document.querySelector('.steps-now').textContent,"
        " document.querySelector('.frames').textContent]"
    )


def sentence(opened):
    return opened.page.locator(".sentence").inner_text()


def press(opened, key, times=1):
    for _ in range(times):
        opened.page.keyboard.press(key)
    opened.page.wait_for_timeout(60)


def test_backwards_is_what_was_forwards(page_file, open_page):
    opened = open_steps(open_page, page_file("countdown", *OPTIONS))
    states = [state(opened)]
    for _ in range(20):
        press(opened, "ArrowRight")
        states.append(state(opened))
    assert len({text[1] for text in states}) > 15
    for expected in reversed(states[:-1]):
        press(opened, "ArrowLeft")
        assert state(opened) == expected
    press(opened, "End")
    end = state(opened)
    press(opened, "Home")
    assert state(opened) == states[0]
    press(opened, "End")
    assert state(opened) == end


def test_each_rule_is_said_in_a_sentence(page_file, open_page):
    opened = open_steps(open_page, page_file("countdown", *OPTIONS))
    said = []
    for _ in range(43):
        press(opened, "ArrowRight")
        said.append(sentence(opened))
    text = "\n".join(said)
    for part in (
        "Enter ‘loop/enter’ brings 3 into iteration 0 of loop ‘loop’.",
        "Merge ‘loop/merge’ passes on 3, which came by input 0 from ‘loop/enter’",
        "Switch ‘loop/switch’ got 3 and true: 3 leaves by output 1 (true), output 0 is dead.",
        "Switch ‘loop/switch’ got 0 and false: 0 leaves by output 0 (false), output 1 is dead.",
        "LoopCond ‘loop/cond’ says false: the loop ends with iteration 3.",
        "Exit ‘loop/exit’ takes 0 out of the loop ‘loop’, from iteration 3.",
        "doesn't run: ",
        "NextIteration ‘loop/next’ got dead and sends nothing: iteration 4 doesn't begin.",
    ):
        assert part in text, text


def test_the_picture_shows_the_moment(page_file, open_page):
    opened = open_steps(open_page, page_file("countdown", *OPTIONS))
    graph = opened.page.locator(".steps-graph")
    pictures = [graph.screenshot()]
    for _ in range(4):
        press(opened, "ArrowRight", 3)
        opened.page.wait_for_timeout(100)
        pictures.append(graph.screenshot())
    assert len(set(pictures)) == 5
    opened.picture("steps-countdown")


def test_it_plays_and_pauses(page_file, open_page):
    opened = open_steps(open_page, page_file("countdown", *OPTIONS))
    opened.page.get_by_role("combobox", name="Speed").select_option(label="30 a second")
    opened.page.locator(".steps-graph").click(position={"x": 5, "y": 5})
    press(opened, " ")
    opened.wait_for("() => Number(document.querySelector('.player-slider').value) > 5")
    press(opened, " ")
    place = state(opened)[0]
    opened.page.wait_for_timeout(200)
    assert state(opened)[0] == place


def test_loops_in_loops_have_iterations_of_their_own(page_file, open_page):
    opened = open_steps(open_page, page_file("nested", *NESTED))
    opened.page.get_by_role("slider", name="Firing").evaluate(
        "e => { e.value = Math.round(e.max * 0.6); e.dispatchEvent(new Event('input')); }"
    )
    opened.page.wait_for_timeout(300)
    text = opened.page.locator(".frames").inner_text()
    assert "outer" in text and "inner" in text
    opened.picture("steps-nested")


def test_a_node_shows_what_it_did_in_each_iteration(page_file, open_page):
    opened = open_steps(open_page, page_file("countdown", *OPTIONS))
    press(opened, "End")
    # The middle of the picture: some node of the loop, or the loop.
    rows = opened.page.locator(".long-list-row").filter(has_text="loop/dec")
    rows.last.click()
    assert "loop/dec" in sentence(opened)


def test_it_works_on_a_phone(page_file, open_page):
    opened = open_steps(
        open_page, page_file("countdown", *OPTIONS), size=(390, 844), has_touch=True
    )
    press(opened, "ArrowRight", 9)
    assert not opened.is_too_wide()
    opened.picture("steps-phone")


# Two assignments that nothing orders.
RACE = """
node { name: "v" op: "VarHandleOp" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "shape" value { shape {} } } attr { key: "shared_name" value { s: "v" } } }
node { name: "one" op: "Const" INT attr { key: "value" value {
  tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }
node { name: "two" op: "Const" INT attr { key: "value" value {
  tensor { dtype: DT_INT32 tensor_shape {} int_val: 2 } } } }
node { name: "a" op: "AssignVariableOp" input: "v" input: "one" INT }
node { name: "b" op: "AssignVariableOp" input: "v" input: "two" INT }
node { name: "r" op: "ReadVariableOp" input: "v" input: "^a" input: "^b" INT }
""".replace(" INT ", ' attr { key: "dtype" value { type: DT_INT32 } } ')


def test_two_schedules_that_differ_stand_side_by_side(tmp_path, open_page):
    (tmp_path / "race.pbtxt").write_text(RACE)
    view(tmp_path / "race.pbtxt", "--steps", "--fetch", "r", "--output", tmp_path / "race.html")
    opened = open_steps(open_page, tmp_path / "race.html")
    opened.page.get_by_role("button", name="Two schedules differ").click()
    page = opened.page.get_by_role("region", name="Schedules")
    assert "part" in page.inner_text()
    assert page.locator(".parting").count() == 2
    outcomes = page.locator(".outcome")
    assert outcomes.count() == 2
    assert outcomes.first.inner_text() != outcomes.last.inner_text()
    opened.picture("steps-schedules")


@pytest.mark.parametrize("name", ["jax", "large100k"])
def test_a_graph_without_steps_has_no_such_tab(name, page_file, open_page):
    opened = open_page(page_file(name))
    assert opened.page.get_by_role("tab", name="Steps").count() == 0
