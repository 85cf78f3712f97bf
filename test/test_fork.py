"""Processes that are forked from one with sessions: they say why these don't work, and go on."""

import pathlib
import subprocess
import sys

import pytest

COUNTDOWN = pathlib.Path(__file__).parents[1] / "examples" / "countdown.pbtxt"

PROGRAM = """
import os, sys
import treadle

feeds = {"start:0": 3}
session = treadle.Session(sys.argv[1], threads=int(sys.argv[2]), tier=sys.argv[3])
for _ in range(3):
    session.run("count", feeds)
child = os.fork()
if child == 0:
    try:
        print("old:", session.run("count", feeds), flush=True)
    except treadle.FailedPreconditionError as error:
        print("old:", str(error)[:60], flush=True)
    fresh = treadle.Session(sys.argv[1], threads=int(sys.argv[2]), tier=sys.argv[3])
    for _ in range(3):
        got = fresh.run("count", feeds)
    print("new:", got, flush=True)
    del session, fresh
    sys.exit(0)
_, status = os.waitpid(child, 0)
print("child:", os.waitstatus_to_exitcode(status), "parent:", session.run("count", feeds))
"""


@pytest.mark.parametrize("tier", ["interpret", "auto", "jit"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_child_says_why_a_session_of_its_parent_does_not_work(threads, tier):
    words = [sys.executable, "-c", PROGRAM, COUNTDOWN, str(threads), tier]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    old, new, last = done.stdout.splitlines()
    assert old == "old: 0" or (threads > 1 and "before this process was forked" in old)
    assert new == "new: 0" and last == "child: 0 parent: 0"
