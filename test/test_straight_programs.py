"""Machine code beside the interpreter, op by op and in random programs: the same numbers to the
sign of a zero, but for the rounding of functions, and the same errors.

TREADLE_STRESS_PROGRAMS sets how many programs; TREADLE_STRESS_SEED the first one, to repeat a
failure.
"""

import itertools
import os
import pathlib
import re
import sys

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import straight_programs as programs  # noqa: E402
from straight_programs import (  # noqa: E402
    FLOATS,
    INTEGERS,
    NATIVE,
    UNSIGNED,
    Loop,
    Moves,
    Program,
    Straight,
    Value,
)

PROGRAMS = int(os.environ.get("TREADLE_STRESS_PROGRAMS", "80"))
FIRST = int(os.environ.get("TREADLE_STRESS_SEED", "1"))
NUMBERS = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 6, -7, 100.25, 1e-3, -1e-3, 88.8, -104]
NUMBERS += [
    np.inf,
    -np.inf,
    np.nan,
    1e-37,
    3e38,
    -3e38,
    2.0**31,
    -(2.0**63),
    8388607.5,
    2.0**24 + 1,
]
WHOLE = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    7,
    -7,
    31,
    32,
    100,
    2**31 - 1,
    -(2**31),
    2**63 - 1,
    -(2**63),
    2**53 + 1,
]


def outcome(session, fetches, feeds):
    try:
        return session.run(fetches, feeds)
    except treadle.Error as error:
        return error


def sessions(text, denormals="flush"):
    graph = treadle.Graph.from_bytes(text.encode())
    return (
        treadle.Session(graph, tier=t, threads=1, statistics=True, denormals=denormals)
        for t in ("interpret", "jit")
    )


# --- op by op -----------------------------------------------------------------------------------


def families():
    """(op, input types, result type, attributes, whether it rounds, whether of scalars alone)."""
    p = programs
    for t in FLOATS:
        yield from ((op, [t], t, "", True, False) for op in p.ROUNDING)
        yield from ((op, [t], t, "", False, False) for op in p.EXACT + p.JUMPING + p.KEEPING)
        yield from ((op, [t], "i1", "", False, False) for op in p.ASKING)
        yield from ((op, [t, t], t, "", False, False) for op in p.SUMS + p.PRODUCTS + p.QUOTIENTS)
        yield from ((op, [t, t], t, "", True, False) for op in p.ROUNDING_BINARY)
    for t in INTEGERS:
        yield from ((op, [t], t, "", False, False) for op in p.INTEGER_UNARY)
        yield from ((op, [t, t], t, "", False, False) for op in p.INTEGER_BINARY)
        yield from ((op, [t, t], t, "", False, False) for op in p.SHIFTS)
        yield from ((op, [t, t], t, "", False, True) for op in p.DIVIDING)
    for t in UNSIGNED:
        yield from ((op, [t, t], t, "", False, False) for op in p.UNSIGNED_BINARY)
        yield "Invert", [t], t, "", False, False
        yield from ((op, [t, t], t, "", False, True) for op in ("FloorDiv", "FloorMod"))
    for t in [*NATIVE, *UNSIGNED]:
        ops = p.COMPARING if t != "i1" else p.COMPARING[:2]
        for op in ops:
            strict = ", incompatible_shape_error = true" if op in p.COMPARING[:2] else ""
            yield op, [t, t], "i1", strict, False, False
        for to in [*NATIVE, *UNSIGNED]:
            attrs = f", SrcT = {t}, DstT = {to}, Truncate = false"
            yield "Cast", [t], to, attrs, False, t in FLOATS and to in INTEGERS + UNSIGNED
    yield from ((op, ["i1", "i1"], "i1", "", False, False) for op in p.LOGICAL)


def attributes(op, types, more):
    return (
        more[2:]
        if op == "Cast"
        else ""
        if types == ["i1", "i1"] and not more
        else f"T = {types[0]}{more}"
    )


def pool(type):
    if type == "i1":
        return np.array([False, True])
    if type in FLOATS:
        with np.errstate(all="ignore"):
            return np.array(NUMBERS, programs.NUMPY[type])
    ends = np.iinfo(programs.NUMPY[type])
    return np.array([w for w in WHOLE if ends.min <= w <= ends.max], programs.NUMPY[type])


def tail(value, lines, length=6):
    """Operations after a value, so many that they are compiled with what makes it."""
    for k in range(length):
        op, attrs = "Neg", f"T = {value.type}"
        if value.type == "i1":
            op, attrs = "LogicalNot", ""
        elif value.type in UNSIGNED:
            op = "Invert"
        value, before = Value(f"t{k}", value.type, text=value.text), value
        lines.append(programs.node(op, [before], value, attrs))


def expect_same(expected, found, rounds, given):
    if isinstance(expected, treadle.Error) or isinstance(found, treadle.Error):
        assert (type(expected), str(expected)) == (type(found), str(found)), given
        return
    for a, b in zip(expected, found, strict=True):
        same = programs.same(np.asarray(a), np.asarray(b), rounds)
        wrong = np.flatnonzero(~np.atleast_1d(same))[:3]
        assert wrong.size == 0, [
            ([np.ravel(v)[i] for v in given], np.ravel(a)[i], np.ravel(b)[i]) for i in wrong
        ]


CASES = [pytest.param(*c, id=f"{c[0]}-{'-'.join(c[1])}-{c[2]}") for c in families()]


@pytest.mark.parametrize(("op", "types", "result", "more", "rounds", "scalars"), CASES)
def test_an_op_on_numbers_that_break_things(op, types, result, more, rounds, scalars):
    inputs = [Value(f"x{k}", t, scalars) for k, t in enumerate(types)]
    shape = "" if scalars else "*"
    lines = [
        programs.node("Placeholder", [], x, f"dtype = {x.type}, shape = #tf_type.shape<{shape}>")
        for x in inputs
    ]
    y = Value("y", result, scalars)
    lines.append(programs.node(op, inputs, y, attributes(op, types, more)))
    tail(y, lines)
    interpreted, compiled = sessions(programs.graph(lines))
    grids = [g.ravel() for g in np.meshgrid(*(pool(t) for t in types))]
    for given in zip(*grids, strict=True) if scalars else [grids]:
        feeds = {f"{x.name}:0": v for x, v in zip(inputs, given, strict=True)}
        expected, found = (outcome(s, ["y:0", "t5:0"], feeds) for s in (interpreted, compiled))
        expect_same(expected, found, rounds, given)
    statistics = compiled.statistics()
    assert statistics.compiled_calls + statistics.bails > 0, statistics.last_failure


# Ops that the compiler may evaluate when it reads constants.
CONSTANT_OPS = [
    "Atan2",
    "Pow",
    "Sqrt",
    "Maximum",
    "RealDiv",
    "Sign",
    "Round",
    "Log",
    "Square",
    "Exp",
]


@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("op", CONSTANT_OPS)
def test_an_op_on_constants(op, type):
    numbers = [0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan]
    lines, made = zip(
        *(programs.constant(f"c{k}", type, v) for k, v in enumerate(numbers)), strict=True
    )
    lines, results = list(lines), []
    last = Value("x", type, True)
    lines.append(
        programs.node("Placeholder", [], last, f"dtype = {type}, shape = #tf_type.shape<>")
    )
    is_binary = op in programs.PRODUCTS + programs.QUOTIENTS + programs.ROUNDING_BINARY
    for k, inputs in enumerate(itertools.product(made, repeat=2 if is_binary else 1)):
        results.append(Value(f"y{k}", type, True))
        lines.append(programs.node(op, list(inputs), results[-1], f"T = {type}"))
        last, before = Value(f"z{k}", type, True), last
        lines.append(programs.node("AddV2", [before, results[-1]], last, f"T = {type}"))
    interpreted, compiled = sessions(programs.graph(lines))
    fetches = [f"{v.name}:0" for v in [*results, last]]
    feeds = {"x:0": programs.NUMPY[type](0)}
    expect_same(*(outcome(s, fetches, feeds) for s in (interpreted, compiled)), True, numbers)
    assert compiled.statistics().compiled_calls > 0


# --- random programs ----------------------------------------------------------------------------


def check(program, text, fetches):
    # Some ops copy a denormal number in one tier and make it zero in the other.
    interpreted, compiled = sessions(text, "keep" if program.is_strange else "flush")
    expected, found = (outcome(s, fetches, program.feeds) for s in (interpreted, compiled))
    if isinstance(found, treadle.Error) and isinstance(expected, treadle.Error):
        # If several nodes fail, either may be the first.
        assert type(expected) is type(found)
        node = re.match(r"node '(\w+)'", str(found))[1]
        if text == program.text:
            alone = outcome(interpreted, [f"{node}:0"], program.feeds)
            assert str(found) in (str(expected), str(alone))
        return
    assert not isinstance(expected, treadle.Error), f"no error, but {expected}"
    assert not isinstance(found, treadle.Error), found
    for name, a, b in zip(program.fetches, expected, found, strict=True):
        wrong = programs.differs(np.asarray(a), np.asarray(b), name in program.tainted)
        assert wrong is None, f"{name}: {wrong}"


def check_all(make, part):
    for seed in range(FIRST + part, FIRST + PROGRAMS, 4):
        program = make(seed)
        try:
            if make is not Loop:
                check(program, program.text, program.fetches)
            check(program, program.loop, program.loop_fetches)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}\n{program.loop}") from None


@pytest.mark.parametrize("part", range(4))
def test_random_programs(part):
    check_all(lambda seed: Program(seed, size=40 if seed % 2 else 16), part)


@pytest.mark.parametrize("part", range(4))
def test_random_programs_that_move_elements(part):
    check_all(Moves, part)


@pytest.mark.parametrize("part", range(4))
def test_random_loops(part):
    check_all(Loop, part)


# --- ops whose shapes have rules of their own ----------------------------------------------------


SHAPES = {
    "BiasAdd": ([(2, 3), (2, 3)], [(2, 3), (1,)], [(3,), (3,)], [(), ()], [(2, 3), (3,)]),
    "Select": (
        [(), (2, 3), (1, 3)],
        [(2,), (2, 3), (2, 3)],
        [(1,), (2, 3), (2, 3)],
        [(1, 3), (2, 3), (2, 3)],
        [(2, 3), (2, 3), (2, 3)],
        [(), (3,), (1,)],
    ),
}


@pytest.mark.parametrize("op", SHAPES)
def test_nothing_is_repeated_where_the_op_says_so(op):
    """A bias is a vector, and what the first form of Select chooses from is of one shape."""
    rng = np.random.default_rng(1)
    for shapes in SHAPES[op]:
        program = Straight()
        for k, shape in enumerate(shapes):
            type = "i1" if op == "Select" and k == 0 else "f32"
            data = rng.integers(0, 2, shape).astype(programs.NUMPY[type])
            program.take(Value(f"x{k}", type), data)
        attrs = "T = f32" + (', data_format = "NHWC"' if op == "BiasAdd" else "")
        program.ask([program.node(op, program.given, Value("y", "f32"), attrs)])
        check(program, program.loop, program.loop_fetches)


def test_nothing_is_written_to_an_empty_tensor():
    """Not even rows that have no elements themselves."""
    program = Straight()
    for k, (shape, type) in enumerate([((3, 0, 2), "f32"), ((1, 1), "i32"), ((1, 0, 2), "f32")]):
        program.take(Value(f"x{k}", type), np.zeros(shape, programs.NUMPY[type]))
    attrs = "T = f32, Tindices = i32"
    program.ask([program.node("TensorScatterUpdate", program.given, Value("y", "f32"), attrs)])
    check(program, program.loop, program.loop_fetches)


def test_a_bias_of_channels_that_come_first():
    program = Straight()
    program.take(Value("x", "f32"), np.arange(18, dtype=np.float32).reshape(1, 3, 2, 3))
    program.take(Value("b", "f32"), np.float32([10, 20, 30]))
    attrs = 'T = f32, data_format = "NCHW"'
    program.ask([program.node("BiasAdd", program.given, Value("y", "f32"), attrs)])
    check(program, program.loop, program.loop_fetches)


@pytest.mark.parametrize("shape", [(1,), (3,), (1, 1), (2, 3)])
def test_one_element_has_no_other_shape(shape):
    """A vector of one element: its shape is known, but not that it equals the requested one."""
    program = Straight()
    x = program.take(Value("x", "f32"), np.ones(1, np.float32))
    y = program.take(Value("y", "f32"), np.ones(shape, np.float32))
    sizes = program.node("Shape", [y], Value("sizes", "i32"), "T = f32, out_type = i32")
    program.ask([program.node("Reshape", [x, sizes], Value("r", "f32"), "T = f32, Tshape = i32")])
    check(program, program.loop, program.loop_fetches)
