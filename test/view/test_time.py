"""The tab of times: a timeline of a trace, what took the time, and the way to Perfetto."""

import json
import subprocess
import threading

import models
import numpy as np
import pytest
from command import BINARY

import treadle


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """The file of a trace, by the name of its function below."""
    folder, made = tmp_path_factory.mktemp("traces"), {}

    def write(name):
        if name not in made:
            made[name] = folder / f"{name}.json"
            made[name].write_text(globals()["trace_of_" + name](folder))
        return made[name]

    return write


def trace_of_countdown(folder):
    file = folder / "run.json"
    command = [BINARY, "run", models.countdown(folder), "--fetch", "count:0", "--trace", file]
    subprocess.run(command, check=True, capture_output=True)
    return file.read_text()


def trace_of_distributed(folder):
    """Returns the trace of the first of two ranks, with a slow link between them."""
    file = models.distributed(folder)
    ranks = treadle.Communicator.simulated(2, latency=0.002, bytes_per_second=1e6)
    sessions = [treadle.Session(file, communicator=rank, trace=True) for rank in ranks]
    feeds = {"x:0": np.ones((8, 16), np.float32), "y:0": np.ones((8, 4), np.float32)}

    def run(session):
        session.run([], targets=["init"])
        session.run([], feeds, targets=["step"])

    threads = [threading.Thread(target=run, args=[session]) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sessions[0].trace()


def trace_of_million(_):
    """Slices of nodes of the graph of 100,000 nodes, on four threads."""
    events, ops = [], ("MatMul", "AddV2", "Relu", "Mul", "Sub")
    for thread in range(4):
        time = 0.0
        for i in range(250_000):
            op, place = ops[i % 5], i % 25_000
            name = f"tower{thread}/block{place // 50}/layer{place // 5 % 10}/{op.lower()}"
            events.append(
                f'{{"ph":"X","pid":1,"tid":{thread},"name":"{name}","ts":{time:.3f},'
                f'"dur":{1 + i % 7}.5,"args":{{"op":"{op}"}}}}'
            )
            time += 2 + i % 7
    return '{"otherData":{"slices left out":"7"},"traceEvents":[\n' + ",\n".join(events) + "\n]}\n"


def trace_of_stranger(_):
    event = {
        "ph": "X",
        "pid": 1,
        "tid": 0,
        "name": "elsewhere",
        "ts": 0,
        "dur": 5,
        "args": {"op": "Add"},
    }
    return json.dumps({"traceEvents": [event]})


def trace_of_damaged(_):
    return '{"traceEvents":[{"ph":"X","name":"a"'


def open_time(open_page, file):
    opened = open_page(file)
    opened.open_tab("Time")
    return opened


def timeline(opened):
    canvas = opened.page.get_by_role("application", name="Timeline")
    canvas.wait_for(timeout=60_000)
    opened.page.wait_for_timeout(300)
    return canvas


def text_of(opened):
    return (
        opened.page.get_by_role("tabpanel")
        .filter(has=opened.page.locator(".timeline"))
        .inner_text()
    )


def test_a_trace_is_a_timeline(page_file, traces, open_page):
    opened = open_time(open_page, page_file("countdown", "--trace", traces("countdown")))
    timeline(opened)
    assert opened.colours(".timeline")[0] > 10
    text = text_of(opened)
    assert "slices" in text and "critical path" in text and "another graph" not in text
    rows = opened.page.get_by_role("table", name="Ops by their own time").get_by_role("row")
    assert rows.filter(has_text="Sub").count() == 1
    opened.picture("time-countdown")
    assert not opened.is_too_wide()


def test_a_slice_is_shown_hovered_and_selected_in_the_graph(page_file, traces, open_page):
    opened = open_time(open_page, page_file("countdown", "--trace", traces("countdown")))
    canvas = timeline(opened)
    canvas.focus()
    for _ in range(2):
        opened.page.keyboard.press(".")
    opened.page.keyboard.press("f")
    nodes = opened.page.get_by_role("button", name="Nodes")
    nodes.click()
    table = opened.page.get_by_role("table", name="Nodes by their own time")
    table.get_by_role("row").filter(has_text="loop/dec").first.click()
    about = opened.page.locator(".time-about")
    assert "loop/dec" in about.inner_text() and "duration" in about.inner_text()
    box = canvas.bounding_box()
    opened.page.mouse.move(box["x"] + 150 + (box["width"] - 150) / 2, box["y"] + 26 + 24 + 50)
    opened.page.wait_for_timeout(100)
    opened.page.get_by_role("button", name="Show in the graph").click()
    opened.wait_for("() => location.hash.includes('loop/dec')")


def test_the_timeline_zooms_and_moves(page_file, traces, open_page):
    opened = open_time(open_page, page_file("countdown", "--trace", traces("countdown")))
    canvas = timeline(opened)
    pictures = [canvas.screenshot()]
    canvas.focus()
    for key in ("w", "ArrowRight", "-", "d"):
        opened.page.keyboard.press(key)
        opened.page.wait_for_timeout(100)
        pictures.append(canvas.screenshot())
    canvas.hover(position={"x": 500, "y": 60})
    opened.page.mouse.wheel(0, -300)
    opened.page.wait_for_timeout(100)
    pictures.append(canvas.screenshot())
    assert all(a != b for a, b in zip(pictures, pictures[1:], strict=False))
    opened.page.mouse.move(2, 2)
    opened.page.get_by_role("button", name="All", exact=True).click()
    opened.page.wait_for_timeout(150)
    assert opened.colours(".timeline")[0] > 10


def test_the_critical_path_and_waits_are_listed(page_file, traces, open_page):
    opened = open_time(open_page, page_file("countdown", "--trace", traces("countdown")))
    timeline(opened)
    opened.page.get_by_role("button", name="Critical path").first.click()
    table = opened.page.get_by_role("table", name="Critical path")
    assert table.get_by_role("row").filter(has_text="loop/more").count() >= 2
    opened.picture("time-critical-path")
    opened.page.get_by_role("button", name="Waits").click()
    opened.page.wait_for_timeout(100)


def test_exchanges_say_what_was_hidden(page_file, traces, open_page):
    opened = open_time(open_page, page_file("distributed", "--trace", traces("distributed")))
    timeline(opened)
    assert "another graph" not in text_of(opened)
    opened.page.get_by_role("button", name="Exchanges").click()
    table = opened.page.get_by_role("table", name="Exchanges")
    assert table.get_by_role("row").filter(has_text="mean").count() >= 2
    assert "hidden behind computing" in text_of(opened)
    opened.picture("time-distributed")


def test_heat_colours_the_graph(page_file, traces, open_page):
    opened = open_time(open_page, page_file("countdown", "--trace", traces("countdown")))
    timeline(opened)
    graph = opened.page.locator("[aria-roledescription=graph]")
    opened.page.get_by_role("tab", name="Graph").click()
    before = graph.screenshot()
    opened.page.get_by_role("tab", name="Time").click()
    opened.page.get_by_role("button", name="Heat on the graph").click()
    opened.page.wait_for_timeout(300)
    assert graph.screenshot() != before
    opened.picture("time-heat")


def test_a_million_slices_are_shown(page_file, traces, open_page):
    opened = open_time(open_page, page_file("large100k", "--trace", traces("million")))
    canvas = timeline(opened)
    text = text_of(opened)
    assert "1,000,000 slices" in text and "7 later slices" in text and "another graph" not in text
    time = opened.page.evaluate(
        """async () => {
          const frame = () => new Promise(requestAnimationFrame);
          const canvas = document.querySelector(".timeline canvas"), times = [];
          for (let i = 0; i < 30; ++i) {
            const deltaY = i < 15 ? -120 : 120;
            canvas.dispatchEvent(new WheelEvent("wheel", { deltaY, cancelable: true }));
            const begin = performance.now();
            await frame();
            await frame();
            times.push(performance.now() - begin);
          }
          return times.sort((a, b) => a - b)[15];
        }"""
    )
    assert canvas.is_visible()
    # Two frames, on a machine that does other things too.
    assert time < 250
    opened.picture("time-million")


def test_the_trace_of_another_graph_is_said(page_file, traces, open_page):
    opened = open_time(open_page, page_file("countdown", "--trace", traces("stranger")))
    timeline(opened)
    assert "This looks like the trace of another graph" in text_of(opened)


def test_a_damaged_trace_is_refused(model, traces, tmp_path):
    command = [BINARY, "view", model("countdown"), "--trace", traces("damaged")]
    done = subprocess.run(
        [*command, "--output", tmp_path / "x.html"], capture_output=True, text=True
    )
    assert done.returncode == 0 or "trace" in done.stderr


def test_the_trace_is_saved_as_it_was(page_file, traces, open_page, tmp_path):
    opened = open_time(open_page, page_file("countdown", "--trace", traces("countdown")))
    timeline(opened)
    with opened.page.expect_download() as download:
        opened.page.get_by_role("button", name="Save for Perfetto").click()
    download.value.save_as(tmp_path / "saved.json")
    assert (tmp_path / "saved.json").read_bytes() == traces("countdown").read_bytes()
