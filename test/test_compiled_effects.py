"""Loops that change variables, or check something, as machine code: values, errors and what the
variables hold after them are those of the interpreter."""

import os
import random
import threading
import time

import numpy as np
import pytest

import treadle

PROGRAMS = int(os.environ.get("TREADLE_STRESS_PROGRAMS", 60))
SEED = int(os.environ.get("TREADLE_STRESS_SEED", 1))


class Run:
    """A graph in two sessions that start alike, interpreted and compiled."""

    def __init__(self, graph, **options):
        self.sessions = {
            tier: treadle.Session(graph, tier=tier, statistics=True, **options)
            for tier in ("interpret", "jit")
        }
        for session in self.sessions.values():
            session.run([], targets=["init"])

    def outcome(self, tier, fetches, feeds, targets=()):
        session = self.sessions[tier]
        try:
            results = session.run(fetches, feeds, targets=list(targets))
        except treadle.Error as error:
            results = str(error)
        return results, session.variables()

    def check(self, fetches, feeds, targets=()):
        """Runs it; gives the results, or the text of the error."""
        (expected, before), (found, after) = (
            self.outcome(tier, fetches, feeds, targets) for tier in self.sessions
        )
        assert isinstance(found, str) == isinstance(expected, str), (expected, found)
        if isinstance(expected, str):
            assert found == expected
        else:
            for a, b in zip(expected, found, strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-6)
        assert before.keys() == after.keys()
        for name, value in before.items():
            np.testing.assert_allclose(after[name], value, rtol=1e-5, atol=1e-6, err_msg=name)
        return found

    def counts(self):
        found = self.sessions["jit"].statistics()
        return found.compiled_calls, found.bails, found.interpreted_calls


def counted(body, timeout=None, **variables):
    """A graph with a loop of n iterations whose body is `body(g, i, **variables)`."""
    g = treadle.Builder()
    n = g.placeholder("n", "int32", [])
    made = {name: g.variable(name, value) for name, value in variables.items()}
    with g.while_loop(i=0) as loop:
        loop.condition(loop.i < n)
        body(g, loop.i, **made)
        loop.i += 1
    for name, variable in made.items():
        g.op("Identity", [variable], name=f"{name}_after")
    return Run(g.build(), timeout=timeout), [f"{name}_after" for name in variables]


def halve(g, i, v):
    v.assign(v * 0.5 + 1.0)


def test_a_variable_is_a_value_while_a_loop_runs():
    run, fetches = counted(halve, v=0.0)
    assert run.check(fetches, {"n": 3})[0] == 1.75
    assert run.check(fetches, {"n": 0})[0] == 1.75
    assert run.counts() == (2, 0, 0)


def test_a_loop_nobody_takes_a_result_of():
    g = treadle.Builder()
    v = g.variable("v", 0)
    with g.while_loop(i=0) as loop:
        loop.condition(loop.i < 5)
        v.assign_add(loop.i)
        loop.i += 1
    g.effects(name="all")
    run = Run(g.build())
    run.check([], {}, targets=["all"])
    assert run.sessions["jit"].variables()["v"] == 10
    assert run.counts() == (1, 0, 0)


def gradient_steps(g, i, w, b, steps):
    x = g.constant(np.linspace(-1, 1, 12).reshape(4, 3).astype(np.float32))
    error = g.op("MatMul", [x, w]) + b - 1.0
    w.assign_sub(g.op("MatMul", [x, error], transpose_a=True) * 0.1)
    b.assign_sub(g.op("Mean", [error, g.constant([0])]) * 0.1)
    steps.assign_add(1)


def scattered(g, i, table):
    rows = g.op("Pack", [i % 7, i % 3], N=2)
    g.op("ResourceScatterAdd", [table.handle, rows, g.constant(np.ones((2, 2), np.float32))])
    g.op("ResourceScatterMul", [table.handle, rows, g.constant(np.float32(0.5))])


def momentum(g, i, w, m):
    g.op("ResourceApplyMomentum", [w.handle, m.handle, 0.1, w * 2.0, 0.9])


def branches(g, i, v, hits):
    with g.cond(v > 4.0) as choice:
        with choice.true():
            v.assign(v / 8.0)
            hits.assign_add(1)
        with choice.false():
            v.assign(v * 1.5)


def nested(g, i, v):
    with g.while_loop(k=0) as inner:
        inner.condition(inner.k < i)
        v.assign_add(g.cast(inner.k, "float32") * 0.25)
        inner.k += 1
    v.assign(v * 0.9)


def swapped(g, i, a, b):
    old = a.read()
    a.assign(b.read())
    b.assign(old + 1.0)


LOOPS = {
    "counter": (halve, {"v": 0.0}),
    "large": (lambda g, i, v: v.assign_add(v * 0.5), {"v": np.ones(1000, np.float32)}),
    "small": (lambda g, i, v: v.assign(v * 0.5 + 1.0), {"v": np.arange(6, dtype=np.float32)}),
    "steps": (
        gradient_steps,
        {"w": np.ones((3, 1), np.float32), "b": np.zeros(1, np.float32), "steps": np.int64(0)},
    ),
    "rows": (scattered, {"table": np.ones((7, 2), np.float32)}),
    "momentum": (momentum, {"w": np.ones(5, np.float32), "m": np.zeros(5, np.float32)}),
    "branches": (branches, {"v": 1.0, "hits": 0}),
    "nested": (nested, {"v": 1.0}),
    "swapped": (swapped, {"a": 1.0, "b": 2.0}),
    "grows": (
        lambda g, i, v: g.op(
            "AssignVariableOp", [v.handle, g.op("ConcatV2", [[v.read(), g.constant([1.0])], 0])]
        ),
        {"v": np.zeros(2, np.float32)},
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_with_variables_are_compiled(name):
    body, variables = LOOPS[name]
    run, fetches = counted(body, **variables)
    for n in (1, 0, 5, 30):
        run.check(fetches, {"n": n})
    compiled, bails, interpreted = run.counts()
    assert (compiled, bails, interpreted) == (4, 0, 0)


def failing(g, i, v):
    v.assign_add(1.0)
    g.op("Assert", [v < 7.5, [v.read()]], T=["float32"])


def test_the_value_after_an_error_is_that_of_the_iteration_that_failed():
    run, fetches = counted(failing, v=0.0)
    assert run.check(fetches, {"n": 3})[0] == 3
    error = run.check(fetches, {"n": 30})
    assert "assertion failed" in error and "[8]" in error.replace("8.0", "8")
    assert run.sessions["jit"].variables()["v"] == 8
    assert run.counts() == (1, 1, 0)


def test_the_value_after_a_division_by_zero():
    run, fetches = counted(lambda g, i, v: v.assign(v + 12 // (3 - i)), v=0)
    assert "division by zero" in run.check(fetches, {"n": 5})
    assert run.sessions["jit"].variables()["v"] == 4 + 6 + 12


def added(g, i, v, large, stepped):
    v.assign_add(1.0)
    large.assign_add(large.read() * 0.0 + 1.0)
    g.op("ResourceApplyGradientDescent", [stepped.handle, 1.0, g.constant(np.float32([-1]))])


def test_the_values_after_a_deadline_are_those_of_the_last_iteration():
    variables = {"v": 0.0, "large": np.zeros(100, np.float32), "stepped": np.zeros(1, np.float32)}
    run, fetches = counted(added, timeout=0.3, **variables)
    run.check(fetches, {"n": 2})
    session = run.sessions["jit"]
    with pytest.raises(treadle.DeadlineExceededError):
        session.run(fetches, {"n": 2_000_000_000})
    after = session.variables()
    assert after["v"] > 2
    assert (after["large"] == after["v"]).all() and (after["stepped"] == after["v"]).all()


def test_a_variable_without_a_value_is_the_interpreters():
    g = treadle.Builder()
    v = g.variable("v", dtype="float32", shape=[])
    with g.while_loop(i=0) as loop:
        loop.condition(loop.i < 3)
        v.assign_add(1.0)
        loop.i += 1
    g.op("Identity", [v], name="y")
    session = treadle.Session(g.build(), tier="jit")
    with pytest.raises(treadle.Error, match="'v' has no value"):
        session.run("y")


ALIASES = """
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %v, %vc = VarHandleOp name("v") {dtype = i32, shared_name = "v"} : () -> (HANDLE)
  %v2, %v2c = VarHandleOp name("v2") {dtype = i32, shared_name = "v"} : () -> (HANDLE)
  %zero, %zc = Const name("zero") {dtype = i32, value = dense<0> : INT} : () -> (INT)
  %init = AssignVariableOp(%v, %zero) name("init") {dtype = i32} : HANDLE, INT
  %w:3, %wc = While(%zero, %v, %v2) name("w")
      {T = [i32, !tf_type.resource, !tf_type.resource], body = #tf_type.func<@body, {}>,
       cond = #tf_type.func<@cond, {}>} : (INT, HANDLE, HANDLE) -> (INT, HANDLE, HANDLE)
  %y, %yc = ReadVariableOp(%v) [%wc] name("y") {dtype = i32} : (HANDLE) -> (INT)
}
tfg.func @cond(%i: INT {tfg.name = "i"}, %a: HANDLE {tfg.name = "a"}, %b: HANDLE {tfg.name = "b"})
    -> (tensor<i1> {tfg.name = "p"}) {
  %five, %fc = Const name("five") {dtype = i32, value = dense<5> : INT} : () -> (INT)
  %p, %c = Less(%i, %five) name("less") {T = i32} : (INT, INT) -> (tensor<i1>)
  return(%p) : tensor<i1>
}
tfg.func @body(%i: INT {tfg.name = "i"}, %a: HANDLE {tfg.name = "a"}, %b: HANDLE {tfg.name = "b"})
    -> (INT {tfg.name = "o"}, HANDLE {tfg.name = "p"}, HANDLE {tfg.name = "q"}) {
  %one, %oc = Const name("one") {dtype = i32, value = dense<1> : INT} : () -> (INT)
  %j, %c = AddV2(%i, %one) name("next") {T = i32} : (INT, INT) -> (INT)
  %first = AssignAddVariableOp(%a, %j) name("first") {dtype = i32} : HANDLE, INT
  %r, %rc = ReadVariableOp(%b) [%first] name("read") {dtype = i32} : (HANDLE) -> (INT)
  %second = AssignAddVariableOp(%b, %r) name("second") {dtype = i32} : HANDLE, INT
  return(%j, %a, %b) [%second {tfg.name = "second"}] : INT, HANDLE, HANDLE
}
""".replace("HANDLE", "tensor<!tf_type.resource>").replace("INT", "tensor<i32>")


def test_two_handles_of_one_variable_are_told_apart_from_two_variables():
    run = Run(treadle.Graph.from_bytes(ALIASES.encode()))
    for _ in range(12):  # after some calls compiled code isn't asked any more
        run.check(["y"], {})
    compiled, bails, interpreted = run.counts()
    assert compiled == 0 and bails > 0


def test_no_run_loses_what_another_adds():
    """In concurrent runs of one session, all additions of a loop take effect, or are repeated."""
    g = treadle.Builder()
    v = g.variable("v", np.int64(0))
    with g.while_loop(i=0) as loop:
        loop.condition(loop.i < 200)
        v.assign_add(1)
        loop.i += 1
    g.effects(name="all")
    session = treadle.Session(g.build(), tier="jit")
    session.run([], targets=["init"])

    def work():
        for _ in range(50):
            session.run([], targets=["all"])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.variables()["v"] == 4 * 50 * 200


WAITING = """
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %v, %vc = VarHandleOp name("v") {dtype = i32, shared_name = "v"} : () -> (HANDLE)
  %s, %sc = VarHandleOp name("s") {dtype = i32, shared_name = "s"} : () -> (HANDLE)
  %zero, %zc = Const name("zero") {dtype = i32, value = dense<0> : INT} : () -> (INT)
  %one, %oc = Const name("one") {dtype = i32, value = dense<1> : INT} : () -> (INT)
  %begin = AssignVariableOp(%s, %zero) name("begin") {dtype = i32} : HANDLE, INT
  %count = AssignVariableOp(%v, %zero) [%begin] name("init") {dtype = i32} : HANDLE, INT
  %end = AssignVariableOp(%s, %one) name("end") {dtype = i32} : HANDLE, INT
  %w:3, %wc = While(%zero, %v, %s) name("w")
      {T = [i32, !tf_type.resource, !tf_type.resource], body = #tf_type.func<@body, {}>,
       cond = #tf_type.func<@cond, {}>} : (INT, HANDLE, HANDLE) -> (INT, HANDLE, HANDLE)
  %y, %yc = ReadVariableOp(%v) [%wc] name("y") {dtype = i32} : (HANDLE) -> (INT)
}
tfg.func @cond(%i: INT {tfg.name = "i"}, %v: HANDLE {tfg.name = "v"}, %s: HANDLE {tfg.name = "s"})
    -> (tensor<i1> {tfg.name = "p"}) {
  %one, %oc = Const name("one") {dtype = i32, value = dense<1> : INT} : () -> (INT)
  %p, %c = Less(%i, %one) name("less") {T = i32} : (INT, INT) -> (tensor<i1>)
  return(%p) : tensor<i1>
}
tfg.func @body(%i: INT {tfg.name = "i"}, %v: HANDLE {tfg.name = "v"}, %s: HANDLE {tfg.name = "s"})
    -> (INT {tfg.name = "o"}, HANDLE {tfg.name = "p"}, HANDLE {tfg.name = "q"}) {
  %one, %oc = Const name("one") {dtype = i32, value = dense<1> : INT} : () -> (INT)
  %add = AssignAddVariableOp(%v, %one) name("add") {dtype = i32} : HANDLE, INT
  %r, %rc = ReadVariableOp(%s) [%add] name("read") {dtype = i32} : (HANDLE) -> (INT)
  return(%r, %v, %s) [%add {tfg.name = "add"}] : INT, HANDLE, HANDLE
}
""".replace("HANDLE", "tensor<!tf_type.resource>").replace("INT", "tensor<i32>")


def test_a_loop_ends_once_another_run_says_so():
    """It counts until another run sets a variable: no value is taken for good."""
    graph = treadle.Graph.from_bytes(WAITING.encode())
    session = treadle.Session(graph, tier="jit", timeout=60)
    session.run([], targets=["end", "init"])
    session.run([], targets=["end"])
    assert session.run("y") == 1  # compiled by now
    session.run([], targets=["init"])
    found = []
    waiting = threading.Thread(target=lambda: found.append(session.run("y")))
    waiting.start()
    time.sleep(0.05)
    session.run([], targets=["end"])
    waiting.join()
    assert found and found[0] > 0


# --- random programs ------------------------------------------------------------------------------


class RandomLoop:
    """A loop over some variables: reads, assignments, branches, loops and assertions, as chance
    has it. `values` are numbers that its statements may use."""

    NAMES = "abc"

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.shape = self.random.choice([[], [], [3], [40]])
        self.g = treadle.Builder()
        self.n = self.g.placeholder("n", "int32", [])
        self.variables = [self.g.variable(name, self.array()) for name in self.NAMES]
        self.left = 14
        self.loop(self.n, 0)
        for name, variable in zip(self.NAMES, self.variables, strict=True):
            self.g.op("Identity", [variable], name=f"{name}_after")

    def array(self):
        return np.array(
            [self.random.randint(-3, 3) for _ in range(int(np.prod(self.shape)))], np.float32
        ).reshape(self.shape)

    def fetches(self):
        return [f"{name}_after" for name in self.NAMES]

    def loop(self, count, depth):
        with self.g.while_loop(i=0) as loop:
            loop.condition(loop.i < count)
            self.statements([self.g.cast(loop.i, "float32")], loop.i, depth + 1)
            loop.i += 1

    def statements(self, values, i, depth):
        values = list(values)
        for _ in range(self.random.randint(1, 4)):
            if self.left == 0:
                return
            self.left -= 1
            self.statement(values, i, depth)

    def statement(self, values, i, depth):
        pick, g = self.random.choice, self.g
        variable, value = pick(self.variables), pick(values)
        kind = self.random.randrange(9)
        if kind < 2:
            values.append(variable.read())
        elif kind == 2:
            values.append(g.op("Minimum", [value * 0.5 + pick(values), g.constant(50.0)]))
        elif kind == 3:
            variable.assign(value * 0.25 + self.array())
        elif kind == 4:
            variable.assign_add(value * 0.125 + self.array())
        elif kind == 5:
            variable.assign_sub(variable * 0.75)
        elif kind == 6 and depth < 3:
            self.loop(self.random.randint(0, 3), depth)
        elif kind == 7 and depth < 4:
            with g.cond(i % 3 < self.random.randint(0, 3)) as choice:
                with choice.true():
                    self.statements(values, i, depth + 1)
                with choice.false():
                    self.statements(values, i, depth + 1)
        elif kind == 8 and self.random.random() < 0.3:
            total = g.op("Sum", [value, g.op("Range", [0, g.op("Rank", [value]), 1])])
            g.op("Assert", [total < float(self.random.randint(20, 400)), [value]], T=["float32"])


@pytest.mark.parametrize("block", range(6))
def test_random_loops_with_effects(block):
    compiled = 0
    for seed in range(SEED + block, SEED + PROGRAMS, 6):
        program = RandomLoop(seed)
        run = Run(program.g.build())
        for n in (4, 1, 9):
            run.check(program.fetches(), {"n": n})
        compiled += run.counts()[0]
    assert compiled > PROGRAMS / 6
