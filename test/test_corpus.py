"""Replays the control-flow graphs that TensorFlow's own tests ran, where that corpus is at hand.

The corpus lies outside this repository: TREADLE_SHARED, or ../shared, holds corpus/replay.py.
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest

SHARED = pathlib.Path(
    os.environ.get("TREADLE_SHARED", pathlib.Path(__file__).parents[2] / "shared")
)
REPLAY = SHARED / "corpus" / "replay.py"
SHARE_TO_PASS = 0.97
# Outcomes that no case may have: a missing op is acceptable, these are not.
NEVER = ("crash", "no answer", "values differ", "strings differ", "shape ", "dtype ")


# Read by each Python at its start: sessions whose loops always overlap, or never.
CUSTOMIZED = """
import treadle
made = treadle.Session
treadle.Session = lambda *args, **options: made(*args, **options, loop_overlap="{}")
"""


@pytest.fixture(scope="module", params=["auto", "off", "on"])
def cases(request, tmp_path_factory):
    if not REPLAY.exists():
        pytest.skip(f"there is no {REPLAY}")
    folder = tmp_path_factory.mktemp("corpus")
    out = folder / "results.jsonl"
    (folder / "sitecustomize.py").write_text(CUSTOMIZED.format(request.param))
    jobs = str(os.cpu_count() or 1)
    replay = [sys.executable, REPLAY, "--control-flow", "--jobs", jobs, "--out", out]
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    environment = dict(os.environ, PYTHONPATH=path)
    done = subprocess.run(replay, capture_output=True, text=True, env=environment)
    # It exits with 1 where any case fails; whether that matters is for the tests to say.
    assert out.exists(), done.stderr
    return [json.loads(line) for line in out.read_text().splitlines()]


def listed(cases):
    return "\n".join(f"{case['case']}: {case['why']}" for case in cases[:40])


def test_most_control_flow_cases_pass(cases):
    rest = [case for case in cases if case["result"] != "passed"]
    assert len(rest) <= (1 - SHARE_TO_PASS) * len(cases), listed(rest)


def test_no_case_crashes_hangs_or_gives_a_wrong_value(cases):
    wrong = [case for case in cases if case["result"] == "failed" and is_never(case["why"])]
    assert not wrong, listed(wrong)


def is_never(why):
    reason = why.split(": ", 1)[-1] if why.startswith("call ") else why
    return reason.startswith(NEVER)
