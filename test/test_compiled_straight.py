"""Straight code as machine code: the values and the errors are those of the interpreter."""

import random

import numpy as np
import pytest

import treadle

F32 = "tensor<*xf32>"
UNARY = [
    "Neg",
    "Abs",
    "Square",
    "Tanh",
    "Sigmoid",
    "Relu",
    "Exp",
    "Sqrt",
    "Sign",
    "Softplus",
    "Rsqrt",
]
BINARY = ["AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "RealDiv"]
REDUCING = ["Sum", "Mean", "Max", "Min", "Prod"]


def op(result, name, operands, attrs="T = f32"):
    types = ["tensor<i32>" if o.startswith("%axis") else F32 for o in operands]
    call = f'%{result}, %{result}_c = {name}({", ".join(operands)}) name("{result}")'
    return f"{call} {{{attrs}}} : ({', '.join(types)}) -> ({F32})\n"


def graph(body, inputs=("x", "y")):
    text = "tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {\n"
    for name in inputs:
        attrs = "dtype = f32, shape = #tf_type.shape<*>"
        text += f'%{name}, %{name}_c = Placeholder name("{name}") {{{attrs}}} : () -> ({F32})\n'
    for axis in (0, 1):
        value = f"dtype = i32, value = dense<{axis}> : tensor<i32>"
        name = f"axis{axis}"
        text += f'%{name}, %{name}_c = Const name("{name}") {{{value}}} : () -> (tensor<i32>)\n'
    return treadle.Graph.from_bytes((text + body + "}\n").encode())


def chain(length=11):
    """Operations one after the other; the last one is `c{length - 1}`."""
    body, last = "", "%x"
    for i in range(length):
        name = ["Tanh", "AddV2", "Neg", "Mul", "Abs"][i % 5]
        body += op(f"c{i}", name, [last, "%y"] if name in BINARY else [last])
        last = f"%c{i}"
    return body


def random_body(seed, size):
    rng = random.Random(seed)
    values, body = ["%x", "%y"], ""
    for i in range(size):
        kind = rng.random()
        if kind < 0.45:
            body += op(f"n{i}", rng.choice(UNARY), [rng.choice(values)])
        elif kind < 0.9:
            body += op(f"n{i}", rng.choice(BINARY), [rng.choice(values), rng.choice(values)])
        else:
            attrs = "T = f32, Tidx = i32, keep_dims = " + rng.choice(["true", "false"])
            axis = rng.choice(["%axis0", "%axis1"])
            body += op(f"n{i}", rng.choice(REDUCING), [rng.choice(values), axis], attrs)
        values.append(f"%n{i}")
    return body, [v[1:] + ":0" for v in values[2:]]


def outcome(session, fetches, feeds):
    try:
        return session.run(fetches, feeds)
    except treadle.Error as error:
        return error


def test_a_chain_is_one_call_of_machine_code():
    session = treadle.Session(graph(chain()), tier="jit", statistics=True)
    x, y = np.linspace(-1, 1, 1000, dtype=np.float32), np.full(1000, 0.5, np.float32)
    expected = treadle.Session(graph(chain()), tier="interpret").run("c10:0", {"x:0": x, "y:0": y})
    np.testing.assert_allclose(session.run("c10:0", {"x:0": x, "y:0": y}), expected, rtol=1e-6)
    statistics = session.statistics()
    assert statistics.compiled_calls == 1 and statistics.compilations == 1
    assert statistics.allocations <= 1  # nothing is written between the operations


def test_few_operations_stay_with_their_kernels():
    session = treadle.Session(graph(chain(3)), tier="jit", statistics=True)
    session.run("c2:0", {"x:0": np.float32(1), "y:0": np.float32(2)})
    assert session.statistics().compilations == 0


def test_each_value_may_be_fetched_and_fed():
    interpreted, compiled = (treadle.Session(graph(chain()), tier=t) for t in ("interpret", "jit"))
    feeds = {"x:0": np.float32([1, 2]), "y:0": np.float32([[3], [4]])}
    names = [f"c{i}:0" for i in range(11)]
    for a, b in zip(interpreted.run(names, feeds), compiled.run(names, feeds), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    feeds["c5:0"] = np.float32([[7, 8]])
    for a, b in zip(interpreted.run(names, feeds), compiled.run(names, feeds), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_constant_that_a_run_feeds_is_not_compiled_in():
    constant = "dtype = f32, value = dense<2.0> : tensor<f32>"
    body = f'%k, %k_c = Const name("k") {{{constant}}} : () -> (tensor<f32>)\n'
    body += op("scaled", "Mul", ["%x", "%k"]).replace(f"({F32}, {F32})", f"({F32}, tensor<f32>)")
    body += chain(10).replace("(%x)", "(%scaled)")
    interpreted, compiled = (treadle.Session(graph(body), tier=t) for t in ("interpret", "jit"))
    feeds = {"x:0": np.float32([0.5, 1]), "y:0": np.float32([0.1, 0.2])}
    plain = compiled.run("c9:0", feeds)
    np.testing.assert_allclose(plain, interpreted.run("c9:0", feeds), rtol=1e-6)
    feeds["k:0"] = np.float32(0.25)
    fed = compiled.run("c9:0", feeds)
    np.testing.assert_allclose(fed, interpreted.run("c9:0", feeds), rtol=1e-6)
    assert np.all(fed != plain)


def test_the_gradient_of_a_function_with_code_of_its_own():
    gradient = "Tin = [f32, f32], Tout = [f32], f = #tf_type.func<@f, {}>"
    text = f"""
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {{
  %x, %xc = Placeholder name("x") {{dtype = f32, shape = #tf_type.shape<*>}} : () -> ({F32})
  %dy, %dyc = Placeholder name("dy") {{dtype = f32, shape = #tf_type.shape<*>}} : () -> ({F32})
  %f, %fc = f(%x) name("f") : ({F32}) -> ({F32})
  %g, %gc = SymbolicGradient(%x, %dy) name("g") {{{gradient}}} : ({F32}, {F32}) -> ({F32})
}}
tfg.func @f(%x: {F32} {{tfg.name = "x"}}) -> ({F32} {{tfg.name = "y"}}) {{
{chain(10).replace("%y", "%x")}  return(%c9) : {F32}
}}
"""
    results = [
        treadle.Session(treadle.Graph.from_bytes(text.encode()), tier=tier).run(
            ["f:0", "g:0"], {"x:0": np.float32([0.5, -2]), "dy:0": np.float32([1, 3])}
        )
        for tier in ("interpret", "jit")
    ]
    for expected, found in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    "shapes", [((3,), (4,)), ((2, 3), (3, 2)), ((2, 3), (3,)), ((1, 4), (3, 1))]
)
def test_shapes_that_do_not_fit_are_the_interpreters_error(shapes):
    feeds = {f"{n}:0": np.ones(s, np.float32) for n, s in zip("xy", shapes, strict=True)}
    results = [
        outcome(treadle.Session(graph(chain()), tier=t), "c10:0", feeds)
        for t in ("interpret", "jit")
    ]
    if isinstance(results[0], treadle.Error):
        assert type(results[0]) is type(results[1]) and str(results[0]) == str(results[1])
    else:
        np.testing.assert_allclose(results[0], results[1], rtol=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_random_code_gives_what_the_interpreter_gives(seed):
    rng = np.random.default_rng(seed)
    body, names = random_body(seed, 14)
    wanted = [names[-1], names[len(names) // 2]]
    interpreted, compiled = (treadle.Session(graph(body), tier=t) for t in ("interpret", "jit"))
    for shapes in [((3, 4), (3, 4)), ((2, 5), (5,)), ((1, 3), (2, 1)), ((0, 2), (1, 2)), ((), ())]:
        feeds = {
            f"{n}:0": rng.normal(size=s).astype(np.float32)
            for n, s in zip("xy", shapes, strict=True)
        }
        expected, found = (outcome(s, wanted, feeds) for s in (interpreted, compiled))
        if isinstance(expected, treadle.Error):
            assert type(expected) is type(found) and str(expected) == str(found)
            continue
        for a, b in zip(expected, found, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=3e-5, atol=1e-5)
