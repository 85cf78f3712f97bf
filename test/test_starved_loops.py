# ruff: noqa: E501
"""Loops in which a node waits for an Enter that isn't constant: they starve in iteration 1."""

import json
import os
import pathlib
import subprocess

import pytest

import treadle

BINARY = os.environ.get("TREADLE_BIN") or pathlib.Path(treadle.__file__).parents[2] / "bin/treadle"


def command(*args):
    done = subprocess.run([BINARY, *map(str, args)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def node(op, name, inputs, types, result="i32", control="", attrs=""):
    return (
        f'  %{name}, %{name}c = {op}({inputs}) {control} name("{name}") {{{attrs}}} : '
        f"({types}) -> (tensor<{result}>)\n"
    )


def number(name, value, control=""):
    attrs = f"dtype = i32, value = dense<{value}> : tensor<i32>"
    return (
        f'  %{name}, %{name}c = Const {control} name("{name}") {{{attrs}}} : () -> (tensor<i32>)\n'
    )


def enter(name, value, constant, frame="loop"):
    flag = str(constant).lower()
    attrs = f'T = i32, frame_name = "{frame}", is_constant = {flag}'
    return node("Enter", name, f"%{value}", "tensor<i32>", attrs=attrs)


def count(body, limit=True, start="zero"):
    """Counts from 0 to the limit, by what `body` makes of `%s#1`: `%sum`."""
    return (
        "tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {\n"
        + number("zero", 0)
        + number("four", 4)
        + number("ten", 10)
        + enter("start", start, False)
        + enter("to", "ten", limit)
        + '  %n:2, %nc = Merge(%start, %next) name("n") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)\n'
        + node("Less", "more", "%n#0, %to", "tensor<i32>, tensor<i32>", "i1", attrs="T = i32")
        + node("LoopCond", "cond", "%more", "tensor<i1>", "i1")
        + '  %s:2, %sc = Switch(%n#0, %cond) name("s") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)\n'
        + body
        + node("NextIteration", "next", "%sum", "tensor<i32>", attrs="T = i32")
        + node("Exit", "exit", "%s#0", "tensor<i32>", attrs="T = i32")
        + "}\n"
    )


def add(name, a, b, control=""):
    return node(
        "AddV2", name, f"%{a}, %{b}", "tensor<i32>, tensor<i32>", control=control, attrs="T = i32"
    )


def written(tmp_path, text):
    path = tmp_path / "g.mlir"
    path.write_text(text)
    return path


# The starved nodes, and the Enter that each waits for.
STARVED = {
    "the step": (count(enter("by", "four", False) + add("sum", "s#1", "by")), ["sum"], ["by"]),
    "the limit": (
        count(enter("by", "four", True) + add("sum", "s#1", "by"), limit=False),
        ["more"],
        ["to"],
    ),
    "both": (
        count(enter("by", "four", False) + add("sum", "s#1", "by"), limit=False),
        ["more", "sum"],
        ["to", "by"],
    ),
    "by a control edge": (
        count(enter("once", "four", False) + number("by", 4, "[%oncec]") + add("sum", "s#1", "by")),
        ["sum"],
        ["once"],
    ),
    "through other nodes": (
        count(
            enter("once", "four", False)
            + enter("always", "zero", True)
            + add("by", "once", "always")
            + add("sum", "s#1", "by")
        ),
        ["sum"],
        ["once"],
    ),
}


@pytest.mark.parametrize("case", STARVED)
def test_a_run_says_what_starves(case, tmp_path):
    text, nodes, enters = STARVED[case]
    status, _, message = command("run", written(tmp_path, text), "--fetch", "exit")
    assert status == 1
    assert "'exit:0' has no value: node" in message or "'exit' has no value: node" in message
    assert "branch" not in message
    for name in nodes:
        assert f"node '{name}' (" in message
    for name in enters:
        assert f"'{name}' (Enter)" in message
    assert "waits in iteration 1 of loop 'loop'" in message and "is_constant = true" in message


@pytest.mark.parametrize("case", STARVED)
def test_check_and_explain_say_it_too(case, tmp_path):
    text, nodes, enters = STARVED[case]
    path = written(tmp_path, text)
    for options in ([], ["--fetch", "exit"]):
        status, out, _ = command("check", path, *options)
        # The first iteration runs, and a fetch in it has a value: this is no error.
        assert status == 0 and "0 errors, 0 races" in out
        notes = [line for line in out.splitlines() if line.startswith("note: ")]
        assert len(notes) == len(nodes)
        for note, name, source in zip(notes, nodes, enters, strict=True):
            assert f"node '{name}' (" in note and f"for '{source}' (Enter)" in note
    out = command("explain", path)[1]
    assert out.count("waits in iteration 1 of loop 'loop'") == len(nodes) and "starves:" in out
    (loop,) = treadle.Graph.from_file(path).explain().loops
    assert len(loop.starved) == len(nodes)
    (body,) = json.loads(command("explain", path, "--json")[1])["bodies"]
    assert body["loops"][0]["starved"] == list(loop.starved)


@pytest.mark.parametrize("tier", ["interpret", "auto", "jit"])
def test_iteration_zero_runs(tier, tmp_path):
    graph = treadle.Graph.from_file(written(tmp_path, STARVED["the step"][0]))
    session = treadle.Session(graph, tier=tier)
    assert session.run("sum:0") == 4
    with pytest.raises(treadle.InvalidArgumentError, match="node 'sum' .* for 'by'"):
        session.run("exit")
    with pytest.raises(
        treadle.OutOfRangeError, match="requested iteration: node 'sum' .* for 'by'"
    ):
        session.run("sum:0@1")


@pytest.mark.parametrize("start, status", [("ten", 0), ("zero", 1)])
def test_a_loop_that_ends_in_its_first_iteration_or_never(start, status, tmp_path):
    text = count(add("sum", "s#1", "s#1"), start=start).replace("Less(%n#0", "Less(%start")
    path = written(tmp_path, text)
    done, out, message = command("run", path, "--fetch", "exit")
    assert done == status and ("= 10" in out or "node 's' (Switch) waits in iteration 1" in message)
    assert command("check", path)[1] == "0 errors, 0 races\n"
    assert "starves" not in command("explain", path)[1]


def test_a_loop_that_ends_at_once_has_a_value(tmp_path):
    text = count(enter("by", "four", False) + add("sum", "s#1", "by"), start="ten")
    assert treadle.Session(treadle.Graph.from_file(written(tmp_path, text))).run("exit") == 10


def test_an_inner_loop_starves_in_an_iteration_of_the_outer_one(tmp_path):
    inner = (
        enter("once", "ten", False)
        + enter("i0", "s#1", False, "inner")
        + enter("ito", "once", True, "inner")
        + '  %i:2, %ic = Merge(%i0, %inext) name("i") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)\n'
        + node("Less", "imore", "%i#0, %ito", "tensor<i32>, tensor<i32>", "i1", attrs="T = i32")
        + node("LoopCond", "icond", "%imore", "tensor<i1>", "i1")
        + '  %is:2, %isc = Switch(%i#0, %icond) name("is") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)\n'
        + number("one", 1, "[%isc]")
        + add("iplus", "is#1", "one")
        + node("NextIteration", "inext", "%iplus", "tensor<i32>", attrs="T = i32")
        + node("Exit", "iexit", "%is#0", "tensor<i32>", attrs="T = i32")
        + number("less", -8, "[%sc]")
        + add("sum", "iexit", "less")
    )
    path = written(tmp_path, count(inner))
    status, _, message = command("run", path, "--fetch", "exit")
    assert status == 1
    assert "node 'imore' (Less) waits in iteration 1 of loop 'loop' for 'once' (Enter)" in message
    mended = inner.replace('"loop", is_constant = false', '"loop", is_constant = true')
    mended = mended.replace("dense<-8>", "dense<1>")
    assert command("run", written(tmp_path, count(mended)), "--fetch", "exit")[1].endswith("= 11\n")


# Loops without starved nodes.
FED = {
    "constant": count(enter("by", "four", True) + add("sum", "s#1", "by")),
    "on the way to a Merge": count(
        enter("a", "four", False)
        + enter("b", "zero", True)
        + add("v0", "a", "b")
        + '  %v:2, %vc = Merge(%v0, %vnext) name("v") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)\n'
        + '  %vs:2, %vsc = Switch(%v#0, %cond) name("vs") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)\n'
        + node("NextIteration", "vnext", "%vs#1", "tensor<i32>", attrs="T = i32")
        + add("sum", "s#1", "vs#1")
    ),
    "out again at once": count(
        enter("a", "four", False)
        + node("Exit", "out", "%a", "tensor<i32>", attrs="T = i32")
        + enter("by", "out", True, "other")
        + enter("step", "four", True)
        + add("sum", "s#1", "step")
    ),
}


@pytest.mark.parametrize("case", FED)
def test_other_loops_are_left_alone(case, tmp_path):
    path = written(tmp_path, FED[case])
    assert command("run", path, "--fetch", "exit") == (0, "exit: int32[] = 12\n", "")
    assert command("check", path)[1] == "0 errors, 0 races\n"
    assert "starves" not in command("explain", path)[1]


def test_a_branch_not_taken_is_still_one(tmp_path):
    """A starved loop elsewhere in the graph has nothing to do with it."""
    text = STARVED["the step"][0].rstrip()[:-1] + (
        '  %no, %noc = Const name("no") {dtype = i1, value = dense<false> : tensor<i1>} : () -> (tensor<i1>)\n'
        '  %t:2, %tc = Switch(%four, %no) name("t") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)\n'
        + node("Neg", "neg", "%t#1", "tensor<i32>", attrs="T = i32")
        + "}\n"
    )
    message = command("run", written(tmp_path, text), "--fetch", "neg:0")[2]
    assert message.endswith("'neg:0' has no value: it is on a branch that was not taken\n")


# As tf_executor text: Treadle reads the Enters that the condition needs as constant.
EXECUTOR = """
func.func @main() {
  %fetches = tf_executor.graph {
    %a, %ac = tf_executor.island wraps "tf.Const"() {value = dense<3> : tensor<i32>} : () -> tensor<i32> loc("a")
    %b, %bc = tf_executor.island wraps "tf.Const"() {value = dense<-1> : tensor<i32>} : () -> tensor<i32> loc("b")
    %c, %cc = tf_executor.island wraps "tf.Const"() {value = dense<0> : tensor<i32>} : () -> tensor<i32> loc("c")
    %start, %0 = tf_executor.Enter %a frame "f" : tensor<i32> loc("start")
    %step, %1 = tf_executor.Enter %b frame "f"STEP : tensor<i32> loc("step")
    %end, %2 = tf_executor.Enter %c frame "f"END : tensor<i32> loc("end")
    %next, %token, %3 = tf_executor.NextIteration.Source : tensor<i32>
    %n, %index, %4 = tf_executor.Merge %start, %next : tensor<i32> loc("n")
    %sum, %5 = tf_executor.island wraps "tf.AddV2"(%n, %step) : (tensor<i32>, tensor<i32>) -> tensor<i32> loc("sum")
    %more, %6 = tf_executor.island wraps "tf.NotEqual"(%sum, %end) : (tensor<i32>, tensor<i32>) -> tensor<i1> loc("more")
    %no, %yes, %7 = tf_executor.Switch %sum, %more : tensor<i32> loc("switch")
    tf_executor.NextIteration.Sink [%token] %yes : tensor<i32>
    %exit, %8 = tf_executor.Exit %no : tensor<i32> loc("exit")
    tf_executor.fetch %exit : tensor<i32>
  }
  return
}
"""
INFERRED = EXECUTOR.replace("STEP", "").replace("END", "")


@pytest.mark.parametrize(
    "line",
    [
        ["run", "--fetch", "exit"],
        ["run", "--fetch", "exit", "--sandbox"],
        ["check"],
        ["explain"],
        ["explain", "--code"],
        ["convert", "OUT"],
        ["show"],
    ],
    ids=" ".join,
)
def test_reading_says_that_it_makes_an_enter_constant(line, tmp_path):
    path = written(tmp_path, INFERRED)
    name, *options = line
    options = [str(tmp_path / "out.pb") if o == "OUT" else o for o in options]
    status, out, message = command(name, path, *options)
    assert status == 0, message
    (note,) = [line for line in message.splitlines() if "treated as constant" in line]
    assert note.startswith(
        f"treadle: note: {path}: Enters 'step' and 'end' of loop 'f' are treated"
    )
    assert "write 'constant' after the name of the frame" in note
    assert "treated as constant" not in command(name, path, *options, "--quiet")[2]
    if name == "run":
        assert out == "exit: int32[] = 0\n"


def test_text_that_says_it_is_read_without_a_note(tmp_path):
    said = EXECUTOR.replace("STEP", " constant").replace("END", " constant")
    assert command("run", written(tmp_path, said), "--fetch", "exit") == (
        0,
        "exit: int32[] = 0\n",
        "",
    )
    one = EXECUTOR.replace("STEP", " constant").replace("END", "")
    message = command("run", written(tmp_path, one), "--fetch", "exit")[2]
    assert (
        "Enter 'end' of loop 'f' is treated as constant: the loop's condition needs its" in message
    )


def test_text_can_say_that_an_enter_is_not_constant(tmp_path):
    path = written(tmp_path, INFERRED)
    command("convert", path, tmp_path / "g.pbtxt")
    text = (tmp_path / "g.pbtxt").read_text().replace("b: true", "b: false")
    (tmp_path / "g.pbtxt").write_text(text)
    command("convert", tmp_path / "g.pbtxt", path, "--to", "tf_executor")
    assert "_mlir_not_constant" in path.read_text()
    status, _, message = command("run", path, "--fetch", "exit")
    assert status == 1 and "treated as constant" not in message
    assert "node 'sum' (AddV2) waits in iteration 1 of loop 'f' for 'step' (Enter)" in message
    assert "node 'more' (NotEqual) waits in iteration 1 of loop 'f' for 'end' (Enter)" in message


def test_python_warns():
    with pytest.warns(UserWarning, match="'step' .*'end' .* are treated as constant"):
        graph = treadle.Graph.from_bytes(INFERRED.encode())
    assert treadle.Session(graph).run("exit") == 0
