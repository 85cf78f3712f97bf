"""Small graphs that expand to much: loading them, and passes, take little memory and time."""

import json
import pathlib
import resource
import subprocess
import sys

import pytest

from treadle import Graph

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command_line import BINARY  # noqa: E402

MEMORY, SECONDS = 3 << 30, 30  # threads' stacks and arenas count in full


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def treadle(*args):
    return subprocess.run(
        [BINARY, *map(str, args)], capture_output=True, text=True, preexec_fn=limit
    )


def typed(dtype):
    return f'attr {{ key: "T" value {{ type: {dtype} }} }}'


def constant(count):
    return f"""
node {{ name: "c" op: "Const" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
       attr {{ key: "value" value {{ tensor {{ dtype: DT_FLOAT float_val: 1
                                          tensor_shape {{ dim {{ size: {count} }} }} }} }} }} }}
node {{ name: "n" op: "Neg" input: "c" {typed("DT_FLOAT")} }}
"""


def function(name, body, result):
    return f"""function {{ signature {{ name: "{name}" input_arg {{ name: "x" type: DT_FLOAT }}
  output_arg {{ name: "y" type: DT_FLOAT }} }} {body} ret {{ key: "y" value: "{result}:y:0" }} }}"""


def call(name, callee, value):
    return f'node_def {{ name: "{name}" op: "{callee}" input: "{value}" }}'


def graph_of(functions, called):
    return f"""
node {{ name: "x" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
       attr {{ key: "shape" value {{ shape {{ }} }} }} }}
node {{ name: "f" op: "{called}" input: "x" }}
library {{ {"".join(functions)} }} versions {{ producer: 1987 }}
"""


def doubling(levels):
    """Each function calls the next one twice."""
    negation = f'node_def {{ name: "n" op: "Neg" input: "x" {typed("DT_FLOAT")} }}'
    functions = [
        function(f"F{i}", call("a", f"F{i + 1}", "x") + call("b", f"F{i + 1}", "a:y:0"), "b")
        for i in range(levels)
    ]
    return graph_of([*functions, function(f"F{levels}", negation, "n")], "F0")


@pytest.mark.parametrize("command", [["show"], ["check"], ["explain"]])
@pytest.mark.parametrize("count", [1 << 31, 1 << 40, 1 << 62])
def test_a_value_that_stands_for_many(tmp_path, command, count):
    path = tmp_path / "splat.pbtxt"
    path.write_text(constant(count))
    done = treadle(*command, path)
    assert done.returncode in (0, 1), done
    reported = "1 error, 0 races" in done.stdout if command == ["check"] else "Error" in done.stderr
    assert done.returncode == 0 or reported


def test_its_memory_is_that_of_the_run(tmp_path):
    path = tmp_path / "splat.pbtxt"
    path.write_text(constant(1 << 31))
    done = treadle("run", path, "--fetch", "n:0", "--memory", "1GiB")
    assert "ResourceExhaustedError: node 'c' (Const)" in done.stderr


def test_functions_that_double_are_not_all_inlined(tmp_path):
    path = tmp_path / "doubling.pbtxt"
    path.write_text(doubling(40))
    done = treadle("convert", path, tmp_path / "out.pb", "--passes", "tfg-inline{max-nodes=20000}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.pb").stat().st_size < 5_000_000


def test_functions_that_double_run_until_time_is_up(tmp_path):
    path = tmp_path / "doubling.pbtxt"
    path.write_text(doubling(40))
    done = treadle("run", path, "--fetch", "f:0", "--input", "x=1", "--timeout", "1")
    assert "DeadlineExceededError" in done.stderr


def test_a_function_that_calls_itself(tmp_path):
    path = tmp_path / "self.pbtxt"
    path.write_text(graph_of([function("F", call("a", "F", "x"), "a")], "F"))
    assert treadle("check", path).returncode == 0
    done = treadle("run", path, "--fetch", "f:0", "--input", "x=1")
    assert "it may recurse infinitely" in done.stderr


@pytest.mark.parametrize("depth", [1000, 100_000])
def test_messages_that_nest(tmp_path, depth):
    path = tmp_path / "deep.pbtxt"
    level = 'list { func { attr { key: "b" value { '
    path.write_text('node { attr { key: "a" value { ' + level * depth)
    done = treadle("show", path)
    assert done.returncode == 1
    assert "too deep" in done.stderr


def test_many_effects_that_nothing_orders(tmp_path):
    path = tmp_path / "effects.pbtxt"
    path.write_text("".join(f'node {{ name: "n{i}" op: "NoSuch" }}\n' for i in range(30_000)))
    done = treadle("check", path)
    assert done.returncode == 0, done.stderr
    assert "unfinished: the search for races stopped early" in done.stdout
    found = json.loads(treadle("check", path, "--json").stdout)
    assert [problem["kind"] for problem in found].count("unfinished") == 1
    assert any(problem.kind == "unfinished" for problem in Graph.from_file(path).check())


@pytest.fixture(scope="module")
def call_chain(tmp_path_factory):
    """30,000 functions, each of which calls the next one."""
    negation = f'node_def {{ name: "n" op: "Neg" input: "x" {typed("DT_FLOAT")} }}'
    functions = [function(f"F{i}", call("a", f"F{i + 1}", "x"), "a") for i in range(29_999)]
    path = tmp_path_factory.mktemp("chain") / "chain.pbtxt"
    path.write_text(graph_of([*functions, function("F29999", negation, "n")], "F0"))
    return path


def test_a_chain_of_calls(call_chain):
    done = treadle("explain", call_chain)
    assert done.returncode == 0, done.stderr


def test_a_chain_of_calls_is_too_deep_to_run(call_chain):
    done = treadle("run", call_chain, "--fetch", "f:0", "--input", "x=1")
    assert "'F1000' is called inside more than 1000 other calls" in done.stderr


def nested_loops(depth):
    """Each loop but the last runs the next one in its body, once."""
    one = """node_def { name: "one" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }"""
    condition = f"""function {{ signature {{ name: "C" input_arg {{ name: "x" type: DT_FLOAT }}
      output_arg {{ name: "y" type: DT_BOOL }} }} {one}
      node_def {{ name: "l" op: "Less" input: "x" input: "one:output:0" {typed("DT_FLOAT")} }}
      ret {{ key: "y" value: "l:z:0" }} }}"""
    loop = """name: "f" op: "StatelessWhile" input: "x"
      attr {{ key: "T" value {{ list {{ type: DT_FLOAT }} }} }}
      attr {{ key: "cond" value {{ func {{ name: "C" }} }} }}
      attr {{ key: "body" value {{ func {{ name: "F{}" }} }} }}""".format
    bodies = [
        function(f"F{i}", f"node_def {{ {loop(i + 1)} }}", "f").replace("f:y:0", "f:output:0")
        for i in range(1, depth)
    ]
    add = (
        f'node_def {{ name: "a" op: "AddV2" input: "x" input: "one:output:0" {typed("DT_FLOAT")} }}'
    )
    last = function(f"F{depth}", one + add, "a").replace("a:y:0", "a:z:0")
    return graph_of([condition, *bodies, last], "").replace('name: "f" op: "" input: "x"', loop(1))


@pytest.mark.parametrize("tier", ["interpret", "auto", "jit"])
def test_loops_nest_as_deeply_in_each_tier(tmp_path, tier):
    path = tmp_path / "loops.pbtxt"
    for depth in (600, 1000):
        path.write_text(nested_loops(depth))
        done = treadle("run", path, "--fetch", "f:0", "--input", "x=0", "--tier", tier)
        assert done.stdout.strip() == "f:0: float32[] = 1.0", done.stderr
    path.write_text(nested_loops(1001))
    done = treadle("run", path, "--fetch", "f:0", "--input", "x=0", "--tier", tier)
    assert "'F1001' is called inside more than 1000 other calls" in done.stderr


def test_many_stages_of_a_conditional(tmp_path):
    """Each pair of Switch and Merge, of one predicate, uses the result of the last one."""
    pairs = "".join(
        f"""node {{ name: "s{i}" op: "Switch" input: "{f"m{i - 1}" if i else "x"}" input: "p"
                   {typed("DT_FLOAT")} }}
            node {{ name: "t{i}" op: "Neg" input: "s{i}:1" {typed("DT_FLOAT")} }}
            node {{ name: "f{i}" op: "Abs" input: "s{i}" {typed("DT_FLOAT")} }}
            node {{ name: "m{i}" op: "Merge" input: "f{i}" input: "t{i}" {typed("DT_FLOAT")}
                   attr {{ key: "N" value {{ i: 2 }} }} }}"""
        for i in range(24_000)
    )
    placeholders = "".join(
        f"""node {{ name: "{name}" op: "Placeholder"
                   attr {{ key: "dtype" value {{ type: {dtype} }} }} }}"""
        for name, dtype in (("x", "DT_FLOAT"), ("p", "DT_BOOL"))
    )
    path = tmp_path / "stages.pbtxt"
    path.write_text(placeholders + pairs)
    done = treadle("convert", path, tmp_path / "out.pb", "--passes", "tfg-v1-to-functional")
    assert done.returncode == 0, done.stderr


def test_gradients_of_many_conditionals(tmp_path):
    """Each one gets functions of its own."""
    negation = f'node_def {{ name: "n" op: "Neg" input: "x" {typed("DT_FLOAT")} }}'
    types = " ".join(
        f'attr {{ key: "{key}" value {{ list {{ type: DT_FLOAT }} }} }}' for key in ("Tin", "Tout")
    )
    branches = " ".join(
        f'attr {{ key: "{key}" value {{ func {{ name: "F" }} }} }}'
        for key in ("then_branch", "else_branch")
    )
    conditionals = "".join(
        f"""node {{ name: "c{i}" op: "StatelessIf" input: "x" input: "{f"c{i - 1}" if i else "x"}"
                   attr {{ key: "Tcond" value {{ type: DT_FLOAT }} }} {types} {branches} }}"""
        for i in range(8000)
    )
    path = tmp_path / "conditionals.pbtxt"
    path.write_text(graph_of([function("F", negation, "n")], "F") + conditionals)
    script = f"import treadle; treadle.Graph.from_file({str(path)!r}).gradients('c7999:0', 'x:0')"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, preexec_fn=limit
    )
    assert done.returncode == 0, done.stderr
