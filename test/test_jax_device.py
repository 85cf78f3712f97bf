"""Treadle as a device of JAX, where TREADLE_JAX_PYTHON names a Python that has JAX.

The programs run in one process; each prints a line of JSON. The expected values are numpy's.
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from pages import ROOT
from test_docs import python_programs

JAX = os.environ.get("TREADLE_JAX_PYTHON") or sys.executable

PROGRAMS = """
import json
import jax, jax.numpy as jnp, numpy as np
from jax import lax


def arithmetic():
    return jnp.arange(6.0).reshape(2, 3) @ jnp.ones((3, 2))


def loops():
    def powers(n):
        return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2), (0, 1))

    return jax.jit(powers)(10)


def gradients():
    return jax.vmap(jax.grad(lambda x: x**3))(jnp.arange(3.0))


def randomness():
    return jax.random.randint(jax.random.key(7), (4,), 0, 1000)


def equations():
    return jnp.linalg.solve(jnp.array([[2.0, 0], [0, 4]]), jnp.array([2.0, 4]))


def donation():
    x = jnp.ones(3)
    y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    return [y, x.is_deleted()]


def callbacks():
    shape = jax.ShapeDtypeStruct((2,), jnp.float32)
    tenfold = lambda x: jax.pure_callback(lambda a: np.asarray(a) * 10, shape, x)
    return jax.jit(lambda x: tenfold(x) + 1)(jnp.ones(2))


def sparse_solutions():
    from jax.experimental import sparse

    a = sparse.BCSR.fromdense(jnp.array([[2.0, 0], [1, 4]]))
    x = sparse.linalg.spsolve(a.data, a.indices, a.indptr, jnp.array([2.0, 5]))
    return [x, a @ x, jax.jit(lambda a, x: a @ x)(a, jnp.eye(2))[1]]


def functions_exported_for_cpus():
    x = jnp.array([[4.0, 2], [2, 5]])
    exported = jax.export.export(jax.jit(jnp.linalg.cholesky), platforms=["tpu", "cpu"])(x)
    for_tpus = jax.export.export(jax.jit(jnp.sin), platforms=["tpu"])(x)
    try:
        for_tpus.call(x)
        refused = False
    except ValueError as error:
        refused = "exported for platforms '('tpu',)'" in str(error)
    called = jax.export.deserialize(exported.serialize()).call
    return [called(x), jax.jit(lambda x: called(x) * 2)(x), refused]


def branches_by_platform():
    def of_cpus(x):
        return lax.platform_dependent(x, cpu=jnp.sin, tpu=jnp.cos)

    def own(x):
        return lax.platform_dependent(x, cpu=jnp.sin, treadle=lambda x: x + 7, default=jnp.cos)

    def of_others(x):
        return lax.platform_dependent(x, tpu=jnp.sin, default=lambda x: x + 8)

    x = jnp.zeros(1)
    return [jax.jit(f)(x) for f in (of_cpus, own, of_others)] + [jax.vmap(of_cpus)(x), of_cpus(x)]


def ordered_callbacks():
    seen = []

    @jax.jit
    def f(x):
        def step(i, x):
            jax.debug.callback(lambda i: seen.append(int(i)), i, ordered=True)
            return x + i
        return lax.fori_loop(0, 4, step, x)

    f(0).block_until_ready()
    jax.effects_barrier()
    return seen


def callbacks_in_branches():
    calls, seen = [], []

    def twice(x):
        calls.append(1)
        return np.asarray(x) * 2

    @jax.jit
    def f(x, first):
        def step(i, x):
            def call(x):
                jax.debug.callback(lambda i: seen.append(int(i)), i, ordered=True)
                return jax.pure_callback(twice, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

            return lax.cond(i < first, lambda x: x + 1, call, x)

        return lax.fori_loop(0, 5, step, x)

    results = []
    for first in (9, 3, 0, 4):
        calls.clear()
        results.append([float(f(jnp.ones(3), first)[1]), len(calls)])
    jax.effects_barrier()
    return [results, seen]


def callbacks_that_fail_in_loops():
    seen = []

    def fail(x):
        seen.append("fail")
        raise ValueError("wrong")

    @jax.jit
    def f(x, last):
        def step(i, x):
            jax.debug.callback(lambda i: seen.append(int(i)), i, ordered=True)
            shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
            return lax.cond(i == last, lambda x: jax.pure_callback(fail, shape, x), jnp.cos, x)

        return lax.fori_loop(0, 4, step, x)

    for last in (2, 9):
        try:
            f(jnp.ones(20), last).block_until_ready()
        except Exception as error:
            seen.append("wrong" in str(error))
    jax.effects_barrier()
    return seen


def callbacks_on_buffers():
    from jax.experimental.buffer_callback import buffer_callback

    def add(ctx, out, pair, *, third):
        assert out.writeable and not third.writeable and out.shape == third.shape
        np.asarray(out)[...] = np.asarray(pair[0]) + np.asarray(pair[1]) + np.from_dlpack(third)

    def double(ctx, out, x):
        np.asarray(out)[...] *= 2

    def wrong(ctx, out, x):
        return x

    x = jnp.arange(6.0).reshape(2, 3)
    of_rows = jax.ShapeDtypeStruct(x.shape[1:], x.dtype)
    adding = buffer_callback(add, of_rows, vmap_method="sequential")
    doubling = buffer_callback(double, x, input_output_aliases={0: 0})
    try:
        buffer_callback(wrong, x)(x).block_until_ready()
    except Exception as error:
        refused = "expected None" in str(error)
    return [jax.vmap(lambda x: adding((x, x), third=x))(x), jax.jit(doubling)(x), x, refused]


def errors_of_callbacks():
    def wrong(a):
        raise ValueError("not today")

    try:
        jax.jit(lambda x: jax.pure_callback(wrong, x, x))(jnp.ones(2)).block_until_ready()
    except Exception as error:
        return "not today" in str(error)


def several_devices():
    here, there = jax.devices()[:2]
    x = jax.device_put(jnp.arange(3), there)
    y = jax.jit(lambda x: x * 2)(x)
    return [y, y.devices() == {there}, jax.device_put(y, here).devices() == {here}]


def on_both(spec):
    mesh = jax.make_mesh((2,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    return mesh, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))


def sharded_arrays():
    _, rows = on_both(["i"])
    x = jax.device_put(jnp.arange(8.0).reshape(4, 2), rows)
    y = jax.jit(lambda x: x @ x.T, out_shardings=rows)(x)
    return [y[1], [list(part.data.shape) for part in y.addressable_shards], (x + 1).sum()]


def parts_of_devices():
    mesh, rows = on_both(["i"])
    spec = rows.spec

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=spec, out_specs=spec)
    def centred(x):
        def step(x, _):
            return x - lax.pmean(x.mean(), "i"), None

        return lax.scan(step, x, length=2)[0]

    return centred(jnp.array([1.0, 2, 3, 6]))


def parts_of_parts():
    mesh = jax.make_mesh((2, 2), ("i", "j"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    rows, columns = jax.sharding.PartitionSpec("i"), jax.sharding.PartitionSpec(None, "j")

    def inner(x):
        cut = jax.shard_map(
            lambda x: x * 10 + lax.axis_index("j"),
            in_specs=columns, out_specs=columns, axis_names={"j"},
        )  # fmt: skip
        return jax.jit(cut)(x)

    outer = jax.shard_map(inner, in_specs=rows, out_specs=rows, axis_names={"i"}, check_vma=False)
    with jax.set_mesh(mesh):
        return jax.jit(outer)(jnp.arange(4.0).reshape(2, 2))


def spread_results():
    mesh, rows = on_both(["i"])
    x = jax.device_put(jnp.arange(8.0).reshape(4, 2), rows)
    parts = jax.shard_map(lambda x: x.sum(1), mesh=mesh, in_specs=rows.spec, out_specs=rows.spec)
    columns = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(None, "i"))
    programs = (
        jnp.sin,
        parts,
        lambda x: jax.nn.relu(x + 1),
        lambda x: lax.with_sharding_constraint(x, columns) * 2,
        lambda x: x[1],
        lambda x: jnp.resize(parts(x), 3),
        lambda x: (jax.nn.relu(jnp.ones(x.shape)), jax.nn.relu(x), jax.nn.relu(-x)),
    )
    return [
        jax.tree.map(lambda y: list(y.addressable_shards[1].data.shape), jax.jit(program)(x))
        for program in programs
    ]


def inspected_shardings():
    seen = []

    @jax.jit
    def f(x):
        jax.debug.inspect_array_sharding(x, callback=seen.append)
        return x

    _, rows = on_both(["i"])
    for x in (jnp.arange(4), jax.device_put(jnp.arange(4), rows)):
        f(x)
    return [[len(sharding.device_set), sharding.is_fully_replicated] for sharding in seen]


def hints_for_partitioners():
    from jax.experimental.custom_partitioning import custom_partitioning
    from jax.experimental.shard_alike import shard_alike

    @custom_partitioning
    def negated(x):
        return -x

    negated.def_partition(
        infer_sharding_from_operands=None,
        partition=lambda mesh, arguments, result: None,
        sharding_rule="i -> i",
    )

    @jax.jit
    def f(x):
        y, _ = shard_alike(x * 2, x)
        jax.ffi.ffi_call("control_dep", (), has_side_effect=True)(x, y)
        return negated(y)

    _, rows = on_both(["i"])
    return f(jax.device_put(jnp.arange(4), rows))


def maps_over_devices():
    return jax.pmap(lambda x: x - lax.psum(x, "i"), axis_name="i")(jnp.array([1.0, 10]))


def failures_that_pass():
    mesh, rows = on_both(["i"])
    fails = [True]

    def call(x):
        if fails[0]:
            raise ValueError("just once")
        return np.asarray(x)

    @jax.jit
    @jax.shard_map(
        mesh=mesh, in_specs=rows.spec, out_specs=jax.sharding.PartitionSpec(), check_vma=False
    )
    def total(x):
        return lax.psum(jax.pure_callback(call, jax.ShapeDtypeStruct(x.shape, x.dtype), x), "i")

    try:
        total(jnp.ones(2)).block_until_ready()
        failed = False
    except Exception as error:
        failed = "just once" in str(error)
    fails[0] = False
    return [failed, total(jnp.ones(2))]


def what_is_missing():
    try:
        jax.jit(lambda x: jax.ffi.ffi_call("nobody", x)(x))(jnp.ones(2))
    except Exception as error:
        return ["UNIMPLEMENTED" in str(error), "nobody" in str(error)]


def a_copy_of_numpy():
    x = np.ones(1000, np.float32)
    y = jnp.array(x)
    x[:] = 7
    return y.sum()


def results_without_waiting():
    x = jnp.ones((300, 300))
    for _ in range(50):
        x = x @ x / 300
    return x[0, 0]


def plain(value):
    return value.tolist() if hasattr(value, "tolist") else value


for name, program in [item for item in globals().items() if item[0] in NAMES]:
    print(json.dumps([name, jax.tree.map(plain, program())]), flush=True)
"""

EXPECTED = {
    "arithmetic": [[3, 3], [12, 12]],
    "loops": [10, 1024],
    "gradients": [0, 3, 12],
    "randomness": None,
    "equations": [1, 1],
    "donation": [[2, 2, 2], True],
    "callbacks": [11, 11],
    "sparse_solutions": [[1, 1], [2, 5], [1, 4]],
    "functions_exported_for_cpus": [[[2, 0], [1, 2]], [[4, 0], [2, 4]], True],
    "branches_by_platform": [[0], [7], [8], [0], [0]],
    "ordered_callbacks": [0, 1, 2, 3],
    "callbacks_in_branches": [
        [[6, 0], [16, 2], [32, 5], [10, 1]],
        [3, 4, 0, 1, 2, 3, 4, 4],
    ],
    "callbacks_that_fail_in_loops": [0, 1, 2, "fail", True, 0, 1, 2, 3],
    "callbacks_on_buffers": [
        [[0, 3, 6], [9, 12, 15]],
        [[0, 2, 4], [6, 8, 10]],
        [[0, 1, 2], [3, 4, 5]],
        True,
    ],
    "errors_of_callbacks": True,
    "several_devices": [[0, 2, 4], True, True],
    "sharded_arrays": [[3, 13, 23, 33], [[2, 4], [2, 4]], 36],
    "parts_of_devices": [-2, -1, 0, 3],
    "parts_of_parts": [[0, 11], [20, 31]],
    "spread_results": [[2, 2], [2], [2, 2], [4, 1], [2], [3], [[4, 2], [2, 2], [2, 2]]],
    "inspected_shardings": [[1, True], [2, True]],
    "hints_for_partitioners": [0, -2, -4, -6],
    "maps_over_devices": [-10, -1],
    "failures_that_pass": [True, [2]],
    "what_is_missing": [True, True],
    "a_copy_of_numpy": 1000,
    "results_without_waiting": 1,
}


def run(program, platforms="treadle", **variables):
    if subprocess.run([JAX, "-c", "import jax"], capture_output=True).returncode:
        pytest.skip(f"{JAX} has no JAX; TREADLE_JAX_PYTHON can name one that has")
    environment = {**os.environ, "JAX_PLATFORMS": platforms, "TREADLE_NUM_DEVICES": "4"} | variables
    return subprocess.run(
        [JAX, "-c", program], capture_output=True, text=True, timeout=300, env=environment
    )


@pytest.fixture(scope="module")
def values():
    names = f"NAMES = {list(EXPECTED)}\n"
    done = run(names + PROGRAMS)
    assert done.returncode == 0, done.stderr
    found = dict(json.loads(line) for line in done.stdout.splitlines())
    elsewhere = run(f"NAMES = ['randomness']\n{PROGRAMS}", "cpu")
    EXPECTED["randomness"] = json.loads(elsewhere.stdout)[1]
    return found


@pytest.mark.parametrize("name", EXPECTED)
def test_a_program_gives_what_it_should(values, name):
    mixed = (
        "callbacks_in_branches",
        "callbacks_on_buffers",
        "callbacks_that_fail_in_loops",
        "donation",
        "functions_exported_for_cpus",
        "failures_that_pass",
        "several_devices",
        "sharded_arrays",
        "spread_results",
    )
    if name in ("loops", "what_is_missing", *mixed):
        assert values[name] == EXPECTED[name]
    else:
        np.testing.assert_allclose(values[name], EXPECTED[name], rtol=1e-5)


def test_nothing_happens_unless_it_is_asked_for():
    done = run("import jax; print(jax.devices()); print(jax.devices('treadle'))", "cpu")
    assert done.stdout.startswith("[CpuDevice") and "Unknown backend" in done.stderr


AS_CPU = """
import jax, jax.numpy as jnp, numpy as np


def of(x):
    return np.asarray(jnp.sin(x))  # runs on the device that waits for it


x = jnp.arange(3.0)
shape = jax.ShapeDtypeStruct((3,), jnp.float32)
called = jax.jit(lambda x: jax.pure_callback(of, shape, x) + 1)(x)
device = jax.devices("cpu")[0]
print(jax.default_backend(), device.platform, device.device_kind)
print(bool(jnp.allclose(called, jnp.sin(x) + 1)), np.from_dlpack(x))
print(jnp.linalg.cholesky(jnp.eye(1)))
"""


@pytest.mark.parametrize("platforms", ["treadle", "cpu", ""])
def test_packages_may_see_a_cpu(platforms):
    done = run(AS_CPU, platforms, TREADLE_PLATFORM="cpu")
    assert done.stdout == "cpu cpu treadle\nTrue [0. 1. 2.]\n[[1.]]\n", done.stderr


def test_unknown_platforms_are_named():
    done = run("import jax; jax.devices()", TREADLE_PLATFORM="gpu")
    assert done.returncode and "TREADLE_PLATFORM is 'gpu', expected treadle or cpu" in done.stderr


def test_wrong_options_are_named():
    environment = {**os.environ, "JAX_PLATFORMS": "treadle", "TREADLE_TIER": "fast"}
    if subprocess.run([JAX, "-c", "import jax"], capture_output=True).returncode:
        pytest.skip(f"{JAX} has no JAX; TREADLE_JAX_PYTHON can name one that has")
    done = subprocess.run(
        [JAX, "-c", "import jax; jax.devices()"],
        capture_output=True, text=True, timeout=300, env=environment,
    )  # fmt: skip
    assert done.returncode and "'fast'" in done.stderr and "jit" in done.stderr


def test_the_page():
    for program, output in python_programs(pathlib.Path(ROOT, "docs", "from-jax.md"), "jax-device"):
        environment = {**os.environ, "JAX_PLATFORMS": "treadle"}
        done = subprocess.run(
            [JAX, "-c", program], capture_output=True, text=True, timeout=300, env=environment
        )
        if "No module named 'jax'" in done.stderr:
            pytest.skip(f"{JAX} has no JAX; TREADLE_JAX_PYTHON can name one that has")
        assert done.stdout == output, done.stderr
