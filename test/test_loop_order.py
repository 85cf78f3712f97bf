"""The order that chains give to a loop's iterations: enough, and no edge too many.

Each program runs in the explorer under all schedules, as frames whose iterations overlap. All of
them give what the loop gives one iteration after the other; and without any single one of the edges
that the passes made, some schedule gives something else.
"""

import os
import pathlib
import random
import sys
import time

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from loop_programs import Body, Program, less, variable  # noqa: E402

PASSES = "tfg-deps-to-chains{loop-overlap=on},tfg-overlap-loops{all=true}"


def counting(names, make_body, cond_first=lambda b, handles: None, lists=1):
    """A loop of two iterations over variables that begin with 0."""
    program, main = Program(), Body()
    handles = [variable(main, name) for name in names]
    kinds = ["i32"] + ["list"] * lists + ["handle"] * len(names)
    init = [main.const(0), *[main.new_list() for _ in range(lists)], *handles]

    def cond(b, i, *rest):
        cond_first(b, rest[lists:])
        return less(b, i, b.const(2))

    def body(b, i, *rest):
        items = make_body(b, i, list(rest[:lists]), rest[lists:])
        return [b.add(i, b.const(1)), *items, *rest[lists:]]

    loop = program.loop(main, "while", kinds, init, cond, body)
    for items in loop[1 : 1 + lists]:
        main.stack(items)
    return program.graph(main)


def setup_of(names):
    return [f"{name}/init" for name in names]


def add_initializers(text, names):
    lines = []
    for k, name in enumerate(names):
        lines.append(
            f'  %iv{k}, %ic{k} = Const name("{name}/zero") '
            "{dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)\n"
            f'  %ih{k}, %ihc{k} = VarHandleOp name("{name}/handle") {{dtype = i32, '
            f'shape = #tf_type.shape<>, shared_name = "{name}", container = ""}} : () -> '
            "(tensor<!tf_type.resource>)\n"
            f'  %id{k} = AssignVariableOp(%ih{k}, %iv{k}) name("{name}/init") {{dtype = i32}} : '
            "(tensor<!tf_type.resource>, tensor<i32>) -> ()\n"
        )
    head, rest = text.split("{\n", 1)
    return head + "{\n" + "".join(lines) + rest


def multi_reads():
    def body(b, i, lists, handles):
        first, second = b.read(handles[0]), b.read(handles[0])
        at = b.mul(b.const(2), i)
        items = b.set_item(lists[0], at, first)
        items = b.set_item(items, b.add(at, b.const(1)), second)
        b.write("AssignAddVariableOp", handles[0], b.const(1))
        return [items]

    return add_initializers(counting(["v"], body), ["v"]), ["v"]


def reads_at_both_ends():
    def body(b, i, lists, handles):
        v = variable(b, "v")
        first = b.read(v)
        b.write("AssignAddVariableOp", v, b.const(1))
        last = b.read(v)
        return [b.set_item(lists[0], i, first), b.set_item(lists[1], i, last)]

    return add_initializers(counting([], body, lists=2), ["v"]), ["v"]


def condition_reads():
    def cond(b, handles):
        b.write("AssignAddVariableOp", handles[1], b.read(handles[0]))

    def body(b, i, lists, handles):
        b.write("AssignAddVariableOp", handles[0], b.const(1))
        return lists

    return add_initializers(counting(["v", "w"], body, cond), ["v", "w"]), ["v", "w"]


def condition_writes():
    def cond(b, handles):
        b.write("AssignAddVariableOp", handles[0], b.const(1))

    def body(b, i, lists, handles):
        return [b.set_item(lists[0], i, b.read(handles[0]))]

    return add_initializers(counting(["v"], body, cond), ["v"]), ["v"]


def says():
    def body(b, i, lists, handles):
        b.say("b")
        b.say("c")
        return lists

    return counting([], body, lambda b, handles: b.say("a")), []


def two_variables():
    """Two independent orders."""

    def body(b, i, lists, handles):
        items = b.set_item(lists[0], i, b.read(handles[0]))
        b.write("AssignVariableOp", handles[0], b.add(i, b.const(5)))
        b.write("AssignAddVariableOp", handles[1], b.const(1))
        b.write("AssignVariableOp", handles[1], b.mul(b.read(handles[1]), b.const(2)))
        return [items]

    return add_initializers(counting(["v", "w"], body), ["v", "w"]), ["v", "w"]


PROGRAMS = {
    f.__name__: f
    for f in (
        multi_reads,
        reads_at_both_ends,
        condition_reads,
        condition_writes,
        says,
        two_variables,
    )
}


def load(tmp_path, text):
    path = tmp_path / "program.mlir"
    path.write_text(text)
    return treadle.Graph.from_file(path)


def asked(graph):
    stacks = [f"{node.name}:0" for node in graph.nodes() if node.op == "TensorListStack"]
    return stacks or ["while:0"], ["while"]


def outcome(graph, variables, capfd):
    """Returns the outcome of one run: values, variables and printed text, or the class of the
    error."""
    capfd.readouterr()
    session = treadle.Session(graph, threads=1, loop_overlap="off")
    try:
        for name in setup_of(variables):
            session.run([], targets=[name])
        fetches, targets = asked(graph)
        values = [v.tolist() for v in session.run(fetches, targets=targets)]
    except treadle.Error as error:
        return type(error).__name__
    state = sorted((k, v.tolist()) for k, v in session.variables().items())
    return values, state, capfd.readouterr().out


def explore(graph, variables):
    fetches, targets = asked(graph)
    return graph.explore(fetches, {}, targets, setup=setup_of(variables))


def made_edges(graph):
    """Control edges within the loop, but for those that only say in which iteration a node is."""
    pivots = [n.name for n in graph.nodes() if n.name.startswith("while/Merge_")]
    pivot = max(pivots, key=lambda name: int(name.rsplit("_", 1)[1]))
    for node in graph.nodes():
        if not node.name.startswith(("while/cond/", "while/body/")):
            continue
        for value in node.inputs:
            if value.startswith("^") and value not in (f"^{pivot}", "^while/pivot"):
                yield node.name, value


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_schedules_give_what_turns_give(tmp_path, capfd, name):
    text, variables = PROGRAMS[name]()
    before = load(tmp_path, text)
    after = before.run_passes(PASSES)
    found = explore(after, variables)
    assert found.is_complete and not found.difference, found.difference
    assert outcome(after, variables, capfd) == outcome(before, variables, capfd)


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_any_edge_something_else_may_come(tmp_path, capfd, name):
    text, variables = PROGRAMS[name]()
    graph = load(tmp_path, text).run_passes(PASSES)
    right = outcome(graph, variables, capfd)
    edges = list(made_edges(graph))
    assert edges
    idle = []
    for node, edge in edges:
        changed = load(tmp_path, text).run_passes(PASSES)
        changed[node].inputs.remove(edge)
        unchanged = outcome(changed, variables, capfd) == right
        if unchanged and not explore(changed, variables).difference:
            idle.append((node, edge))
    assert not idle


# --- random programs -----------------------------------------------------------------------------


class RandomProgram:
    """A function with loops, two deep, of reads and writes of three variables, and pure nodes."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.program, self.loops = Program(), 0

    def text(self):
        main = Body()
        handles = [variable(main, name) for name in "uvw"]
        for handle in handles:
            main.write("AssignVariableOp", handle, main.const(self.random.randint(0, 5)))
        items, count = main.new_list(), main.const(0)
        for _ in range(self.random.randint(1, 2)):
            items, count = self.loop(main, items, count, handles, 0)
        values = [main.stack(items), *[main.read(h) for h in handles]]
        return self.program.text(main, values, ["tensor<*xi32>"] + ["tensor<i32>"] * 3)

    def statements(self, b, items, count, handles, depth, values):
        for _ in range(self.random.randint(1, 5)):
            value = self.random.choice(values)
            handle = self.random.choice(handles)
            match self.random.randint(0, 6 if depth < 1 else 5):
                case 0 | 1:
                    values.append(b.read(handle))
                    items = b.set_item(items, count, values[-1])
                    count = b.add(count, b.const(1))
                case 2:
                    b.write("AssignVariableOp", handle, value)
                case 3:
                    b.write("AssignAddVariableOp", handle, value)
                case 4:
                    values.append(b.delay(value))
                case 5:
                    values.append(b.add(value, b.const(self.random.randint(0, 3))))
                case 6:
                    items, count = self.loop(b, items, count, handles, depth + 1)
        return items, count

    def loop(self, at, items, count, handles, depth):
        self.loops += 1
        name, times = f"loop{self.loops}", self.random.randint(0, 4)
        # Some of the handles come in as variables, the others by name.
        own = [h for h in handles if self.random.random() < 0.6]
        kinds = ["i32", "list", "i32"] + ["handle"] * len(own)
        names = [n for n, h in zip("uvw", handles, strict=True) if h not in own]
        looks = self.random.random() < 0.3

        def cond(b, i, items, count, *rest):
            limit = b.const(times)
            if looks and rest:
                limit = b.add(limit, b.mul(b.read(rest[0]), b.const(0)))
            return less(b, i, limit)

        def body(b, i, items, count, *rest):
            inside = list(rest) + [variable(b, n) for n in names]
            items, count = self.statements(b, items, count, inside, depth, [i, count])
            return b.add(i, b.const(1)), items, count, *rest

        init = [at.const(0), items, count, *own]
        out = self.program.loop(at, name, kinds, init, cond, body, self.random.choice([2, 10]))
        return out[1], out[2]


def hand_on(x):
    if random.random() < 0.3:
        time.sleep(random.choice((0, 1e-4, 5e-4)))
    return x


PROGRAMS_AT_RANDOM = 20000 if os.environ.get("TREADLE_LONG_TESTS") else 150


def test_random_programs_give_the_same_in_any_mode(tmp_path):
    treadle.register_op("Delay", hand_on, effects="none")
    for seed in range(PROGRAMS_AT_RANDOM):
        graph = load(tmp_path, RandomProgram(seed).text())
        results = {}
        for mode, threads in (("off", 1), ("auto", 2), ("on", 1), ("on", 8)):
            session = treadle.Session(graph, threads=threads, loop_overlap=mode, timeout=30)
            got = session.run([f"call:{k}" for k in range(4)], {"n:0": np.int32(0)})
            results[mode, threads] = [v.tolist() for v in got]
        assert len({str(v) for v in results.values()}) == 1, (seed, results)
