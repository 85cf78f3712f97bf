"""The examples are short, and the commands of docs/examples.md print what is expected here."""

import contextlib
import io
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import treadle

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "examples.md").read_text()
ROW = re.compile(r"^\| .* \| \[(\S+)\]\(\.\./examples/\S+\) \| `([^`]+)` \|$", re.M)
COMMANDS = dict(ROW.findall(PAGE))
SOURCES = {".c", ".cpp", ".go", ".h", ".js", ".py", ".rs"}
# Makes the model `words`, for this folder and for tests. It is not there to be copied.
LONG = {"make_words.py"}
MADE = {"build", "node_modules"}
OFFLINE = re.compile(r"npm error code (E(?:CONN|NOTFOUND|AI_AGAIN|TIMEDOUT)\w*)")

WORDS = {
    "from_c": "lookup(word)\nserving_default(x)\n2.5 5 7.5 \n",
    "from_cpp": "2.5 5 7.5 \n9\n",
    "from_go": "lookup\nserving_default\n[2.5 5 7.5]\n",
    "from_js": "lookup\nserving_default\n2.5 5 7.5\n",
    "from_rust": "lookup\nserving_default\n[2.5, 5.0, 7.5]\n",
}


def bash(command, folder, env):
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=300,
    )


@pytest.fixture(scope="session")
def sources(tmp_path_factory):
    """A folder with the examples, where they can be built."""
    folder = tmp_path_factory.mktemp("sources")
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "build").mkdir()
    return folder


@pytest.fixture(scope="session")
def environment(installed, installed_environment):
    path = os.pathsep.join(
        [str(installed / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    )
    return installed_environment | {
        "PATH": path,
        "CMAKE_PREFIX_PATH": str(installed),
        "GOTOOLCHAIN": "local",
        "npm_config_fetch_retries": "0",
    }


def require_tools(command, folder, env):
    """Skips the test if a tool of the command isn't there, or npm can't fetch what it installs."""
    for tool in re.findall(r"(?:^|&& )(?!cd )(\w\S*)(?= |$)", command):
        if "/" not in tool and not shutil.which(tool, path=env["PATH"]):
            pytest.skip(f"needs {tool}, which isn't on PATH")
    before, npm, _ = command.partition("npm install")
    if npm:
        done = bash(before + npm, folder, env)
        if offline := OFFLINE.search(done.stderr):
            pytest.skip(f"npm can't fetch packages: {offline[1]}")


@pytest.mark.parametrize("name", WORDS)
def test_other_languages_call_a_model(name, sources, environment):
    command = COMMANDS[name]
    require_tools(command, sources, environment)
    done = bash(command, sources, environment)
    assert done.stdout.endswith(WORDS[name]), done.stderr
    assert done.returncode == 0
    # Compilers warn of nothing; npm tells its own news there.
    assert done.stderr == "" or name == "from_js"


@pytest.mark.parametrize("name", WORDS)
def test_other_languages_say_that_there_is_no_model(name, sources, environment):
    command, replaced = re.subn(r"\.\./words$", "nowhere", COMMANDS[name])
    assert replaced == 1
    require_tools(command, sources, environment)
    done = bash(command, sources, environment)
    assert done.stderr.splitlines()[-1:] == ["there is no file 'nowhere'"]
    assert done.returncode == 1


PENDULUM = """\
0.0 s                                                  o
0.4 s                                     o
0.8 s                o
1.2 s            o
1.6 s                              o
2.0 s                                                o
"""


def output(name, sources, env):
    """Returns the output of the command on the page."""
    require_tools(COMMANDS[name], sources, env)
    done = bash(COMMANDS[name], sources, env)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


GAUGE = """\
ok: 2 5 6.5 7.25
high: 7.625 11.8125
ok: 5.90625 2.95312 1.47656
"""


def test_a_program_of_pytorch_is_called_without_python(sources, environment):
    assert output("from_torch", sources, environment) == GAUGE


ORBITS = """\
energy: -0.50 -0.37
places: -0.01 1.00 -0.74 1.69 -1.00 -0.02 -1.15 0.70 0.01 -1.01 -0.18 -0.65 1.00 -0.00 1.15 0.49
"""


def test_a_program_of_jax_is_called_without_python(sources, environment):
    assert output("from_jax", sources, environment) == ORBITS


WAVES = """\
sine: 100 %
square: 100 %
sawtooth: 100 %
"""


def test_a_net_of_keras_is_called_without_python(sources, environment):
    assert output("from_keras", sources, environment) == WAVES


def test_a_program_says_that_there_is_no_net(sources, environment):
    done = bash(COMMANDS["from_keras"] + " nowhere", sources, environment)
    assert (done.returncode, done.stderr) == (1, "there is no file 'nowhere'\n")


def test_a_server_answers_in_time(sources, environment):
    answers = output("serving.cpp", sources, environment).splitlines()
    late = "504 the run exceeded its timeout of 2 s"
    assert [answers[0][:9], answers[1], answers[2][:8], answers[3]] == [
        "200 -0.98",
        late,
        "200 0.92",
        late,
    ]


def test_a_server_says_that_there_is_no_model(sources, environment):
    done = bash(COMMANDS["serving.cpp"] + " nowhere", sources, environment)
    assert (done.returncode, done.stderr) == (1, "there is no file 'nowhere'\n")


def test_a_program_in_c_simulates(sources, environment):
    assert output("simulator", sources, environment) == PENDULUM


def test_jax_writes_the_simulator(sources, environment):
    python = os.environ.get("TREADLE_JAX_PYTHON") or sys.executable
    if subprocess.run([python, "-c", "import jax"], capture_output=True).returncode:
        pytest.skip(f"{python} has no JAX; TREADLE_JAX_PYTHON can name one that has")
    folder = sources / "made_by_jax"
    folder.mkdir()
    kept = sources / "examples" / "simulator"
    subprocess.run([python, kept / "pendulum.py"], cwd=folder, check=True)
    done = bash(f"treadle diff {kept}/pendulum.mlir pendulum.mlir", folder, environment)
    assert done.returncode == 0, done.stdout


def cells_of(notebook):
    return [cell for cell in json.loads(notebook.read_text())["cells"] if "outputs" in cell]


NOTEBOOKS = sorted((ROOT / "examples").rglob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.name)
def test_a_notebook_prints_what_it_shows(notebook):
    names = {}
    for place, cell in enumerate(cells_of(notebook), start=1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec("".join(cell["source"]), names)
        assert "".join("".join(output["text"]) for output in cell["outputs"]) == printed.getvalue()
        assert cell["execution_count"] == place


def decode_without_cache(names, prompt):
    """Computes keys and values of all tokens again for each new token."""
    tokens = list(prompt)
    while len(tokens) < names["LENGTH"]:
        x = names["EMBEDDING"][tokens] + names["POSITIONS"][: len(tokens)]
        scores = (x[-1] @ names["QUERY"]) @ (x @ names["KEY"]).T / 4
        shares = np.exp(scores - scores.max())
        attention = shares / shares.sum() @ (x @ names["VALUE"])
        tokens.append(np.argmax(names["EMBEDDING"] @ (x[-1] + attention @ names["OUT"])))
    return tokens


@pytest.mark.parametrize("tier", ["interpret", "jit"])
def test_the_decoder_needs_no_more_than_its_cache(tier):
    names = runpy.run_path(str(ROOT / "examples" / "decoder.py"))
    session = treadle.Session(names["graph"], tier=tier)
    for prompt in ([3, 1, 4], [5], [0, 19, 7, 7, 2]):
        tokens = session.run(names["tokens"], {"prompt": prompt})
        assert tokens.tolist() == decode_without_cache(names, prompt)
        assert len(set(tokens.tolist())) > 2


def test_the_decoder_prints_tokens(sources, environment):
    assert re.fullmatch(r"\[ 3  1  4( +\d+){9}\]\n", output("decoder.py", sources, environment))


def test_the_pipeline_overlaps(sources, environment):
    """The service answers only while four iterations are in progress."""
    overlaps, in_order, at_once, answers = output("pipeline.py", sources, environment).splitlines()
    assert overlaps.startswith("overlaps: up to 4 iterations at a time")
    assert "take" in in_order and at_once == "at once:  ask"
    assert answers == "[  0   1   4   9  16  25  36  49  64  81 100 121]"


def test_the_plan_hides_exchanges(sources, environment):
    summary, *nodes, same = output("plan.py", sources, environment).splitlines()
    with_plan, without = map(float, re.findall(r"([\d.]+) ms (?:by|without)", summary))
    assert with_plan < without - 3
    starts = {line.split()[-2]: float(line.split()[0]) for line in nodes}
    assert starts["statistics"] > starts["mean2"]
    assert same == "the machines have the same weights: True"


SURGERY = """\
[1. 4. 9.]
race nodes 'count' (AssignAddVariableOp) and 'calls_now' (ReadVariableOp): one writes variable \
'calls', the other reads it, and no path orders them; add a control edge
y is computed from ['x:0', 'x:0', '^count']
problems left: 0
{'calls': array(11), 'scaled': array([2.5, 5. , 7.5], dtype=float32)}
"""


def test_surgery_mends_the_model(sources, environment):
    shutil.rmtree(sources / "build" / "mended", ignore_errors=True)
    assert output("surgery.py", sources, environment) == SURGERY


def test_surgery_overwrites_nothing(sources, environment):
    (sources / "build" / "mended").mkdir(exist_ok=True)
    (sources / "build" / "mended" / "mine").touch()
    done = bash(COMMANDS["surgery.py"], sources, environment)
    assert done.stderr.startswith("'build/mended' already exists, expected no folder")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


def examples():
    folder = ROOT / "examples"
    files = [f for f in folder.rglob("*") if f.suffix in SOURCES and f.name not in LONG]
    return [f for f in files if not MADE & set(f.relative_to(folder).parts)]


@pytest.mark.parametrize("file", examples(), ids=lambda file: file.name)
def test_an_example_is_short(file):
    assert len(file.read_text().splitlines()) < 60


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.name)
def test_a_notebook_is_short(notebook):
    assert sum(len(cell["source"]) for cell in cells_of(notebook)) < 60


def test_pages_name_every_example():
    folder = ROOT / "examples"
    text = "".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))
    named = {folder / name for name in re.findall(r"\bexamples/([\w./]+\w)", text)}
    files = [*examples(), *NOTEBOOKS]
    assert [file for file in files if not named & {file, *file.parents}] == []
