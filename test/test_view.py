"""`treadle view` without a browser: what it writes, serves and refuses. test/view has the page."""

import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.error
import urllib.request
import xml.dom.minidom

import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import command_line  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
COUNTDOWN = ROOT / "examples" / "countdown.pbtxt"
BINARY = command_line.BINARY


def run(*arguments):
    return subprocess.run(
        [BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=120
    )


def test_a_page_is_one_file_that_asks_for_nothing(tmp_path):
    page = tmp_path / "page.html"
    done = run("view", COUNTDOWN, "--input", "start=3", "--output", page)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    text = page.read_text()
    assert len(text) < 2 << 20
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "default-src 'none'" in policy and "http:" not in policy and "https:" not in policy
    assert not re.search(r"""(src|href)=["']?https?:""", text)
    assert {"scene", "steps"} <= set(json.loads(re.search(r"({\"scene.*?})</script>", text)[1]))


@pytest.fixture
def served():
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    command = [BINARY, "view", str(COUNTDOWN), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        yield process.stdout.readline().strip()
        process.terminate()


def fetch(address, **headers):
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
        return answer.read()


def test_a_served_page_is_for_who_has_its_address(served):
    address, token = re.fullmatch(
        r"(http://127\.0\.0\.1:\d+/)\?token=([0-9a-f]{32})", served
    ).groups()
    assert b'"from":"section/"' in fetch(served)
    scene = fetch(address + "section/scene", Authorization=f"Bearer {token}")
    assert scene.startswith(b"TRDLVIEW")
    for path, headers in [
        ("", {}),
        ("?token=0", {}),
        ("section/scene", {}),
        (f"?token={token}", {"Host": "somewhere.example"}),
    ]:
        with pytest.raises(urllib.error.HTTPError, match="403"):
            fetch(address + path, **headers)


def test_pictures_of_a_loop(tmp_path):
    svg, dot = tmp_path / "loop.svg", tmp_path / "loop.dot"
    assert run("view", COUNTDOWN, "--svg", svg, "--dot", dot, "--loop", "loop").returncode == 0
    parsed = xml.dom.minidom.parse(str(svg))
    texts = [node.firstChild.data for node in parsed.getElementsByTagName("text")]
    assert {"merge", "NextIteration", "parallel_iterations 10"} <= set(texts)
    assert "start" not in texts, "it is outside of the loop"
    assert "subgraph" in dot.read_text() or "->" in dot.read_text()


def test_graphs_show_themselves_in_notebooks(tmp_path):
    graph = treadle.Graph.from_file(COUNTDOWN)
    frame = graph._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts') and "<script" not in frame
    page = graph.view(["count"], {"start": 2})
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == page.content
    assert "digraph" in graph.draw(dot=True) and graph.draw().startswith("<svg")
    with pytest.raises(treadle.NotFoundError, match="no function 'f'"):
        graph.draw(function="f")


@pytest.mark.parametrize(
    "options, status, message",
    [
        (["--svg", "x.svg", "--loop", "lop"], 1, "no v1 loop 'lop' (did you mean"),
        (["--svg", "x.svg", "--function", "f"], 1, "NotFoundError: there is no function 'f'"),
        (
            ["--loop", "loop"],
            2,
            "choose what --svg, --png and --dot draw; the page shows everything",
        ),
        (["--port", "70000"], 2, "option '--port' got 70000, expected at most 65535"),
        (["--prot", "1"], 2, "unknown option '--prot' (did you mean '--dot' or '--port'?)"),
        (["--trace", "nowhere.json"], 1, "'nowhere.json': cannot be opened"),
        (["--trace", str(COUNTDOWN)], 1, "the file is not a trace, expected JSON with traceEvents"),
        (["--with", "nowhere.pb"], 1, "there is no file 'nowhere.pb'"),
        (["--fetch", "cuont:0"], 1, "did you mean 'count'"),
        (["--output", "nowhere/page.html"], 1, "nowhere/page.html"),
    ],
)
def test_what_is_wrong_is_said(options, status, message, tmp_path):
    done = subprocess.run(
        [BINARY, "view", str(COUNTDOWN), *options],
        capture_output=True, text=True, timeout=60, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert message in done.stderr


def test_a_trace_is_opened_in_perfetto(tmp_path):
    trace = tmp_path / "trace.json"
    assert run("run", COUNTDOWN, "--fetch", "count:0", "--trace", trace).returncode == 0
    command = [BINARY, "view", trace, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        line = p.stdout.readline().strip()
        if not line:
            assert "port 9001" in p.stderr.read(), "that of others, which Perfetto asks too"
            pytest.skip("port 9001 is taken")
        page, _, file = line.partition("/#!/?url=")
        with urllib.request.urlopen(file) as answer:
            assert answer.read() == trace.read_bytes()
            assert answer.headers["Access-Control-Allow-Origin"] == page
        p.terminate()


def test_differences_as_a_page(tmp_path):
    other, page = tmp_path / "other.pbtxt", tmp_path / "page.html"
    other.write_text(COUNTDOWN.read_text().replace('name: "count"', 'name: "counted"'))
    done = run("diff", COUNTDOWN, other, "--html", page)
    assert done.returncode == 1 and "counted" in done.stdout
    parts = json.loads(re.search(r"({\"differences.*?})</script>", page.read_text())[1])
    assert {"scene", "other", "differences"} == set(parts)


def test_show_as_a_tree_and_its_loops():
    tree = run("show", COUNTDOWN, "--tree").stdout.splitlines()
    assert tree[0] == "graph: 14 nodes" and "  loop/ 11 nodes" in tree
    assert "    merge (Merge)" in tree
    assert "    merge (Merge)" not in run("show", COUNTDOWN, "--tree", "--depth", "1").stdout
    loops = run("show", COUNTDOWN, "--loops").stdout
    assert loops.startswith("loop (frame), parallel_iterations 10\n  one iteration after the other")
    for options in (["--depth", "2"], ["--tree", "--json"], ["--tree", "--depth", "0"]):
        assert run("show", COUNTDOWN, *options).returncode == 2


def test_quiet_keeps_notes_to_itself():
    told = run("explore", COUNTDOWN)
    assert "note: " in told.stderr
    quiet = run("explore", COUNTDOWN, "--quiet")
    assert (quiet.stderr, quiet.stdout) == ("", told.stdout)
