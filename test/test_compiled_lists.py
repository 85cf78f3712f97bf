"""Lists of tensors in loops: as machine code they are what they are to the interpreter."""

import numpy as np
import pytest

import treadle

NO_SHAPE = np.int32(-1)


def filling(element_shape, item, index=None, length=None, feeds_shape=(None,)):
    """A list of n elements, item(i, x) at each; gives what is fetched of it."""
    g = treadle.Builder()
    n = g.placeholder("n", "int32", [])
    x = g.placeholder("x", "float32", None if feeds_shape is None else list(feeds_shape))
    items = g.op("TensorListReserve", [element_shape, length or n], element_dtype="float32")
    with g.while_loop(i=0, items=items) as loop:
        loop.condition(loop.i < n)
        at = loop.i if index is None else index(loop.i)
        loop.items = g.op("TensorListSetItem", [loop.items, at, item(g, loop.i, x)])
        loop.i += 1
    stacked = g.op("TensorListStack", [loop.items, element_shape], element_dtype="float32")
    return g.build(), stacked.name


def times(g, i, x):
    return x * g.cast(i, "float32")


def in_both(graph, fetch, feeds):
    """The value or the error of each tier, and the statistics of the compiled one."""
    results = []
    for tier in ("interpret", "jit"):
        session = treadle.Session(graph, tier=tier, statistics=True)
        try:
            results.append(session.run(fetch, feeds))
        except treadle.Error as error:
            results.append((type(error), error.message))
    return *results, session.statistics()


def check_equal(interpreted, compiled):
    if isinstance(interpreted, tuple):
        assert compiled == interpreted
    else:
        assert compiled.dtype == interpreted.dtype
        np.testing.assert_array_equal(compiled, interpreted)


@pytest.mark.parametrize("element_shape", [NO_SHAPE, np.array([-1], "int32")])
@pytest.mark.parametrize("n", [1, 2, 40])
def test_lists_are_filled_and_stacked(element_shape, n):
    graph, fetch = filling(element_shape, times)
    feeds = {"n:0": n, "x:0": np.arange(3, dtype="float32")}
    *results, statistics = in_both(graph, fetch, feeds)
    check_equal(*results)
    assert statistics.compiled_calls == 1 and statistics.bails == 0


def test_a_list_is_one_allocation_and_no_copy():
    graph, fetch = filling(NO_SHAPE, lambda g, i, x: x)
    *results, statistics = in_both(graph, fetch, {"n:0": 50, "x:0": np.ones(100, "float32")})
    check_equal(*results)
    assert (statistics.allocations, statistics.copies) == (1, 0)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 1), (2, 0, 2), (2, 3, 1, 2)])
def test_elements_of_many_shapes(shape):
    graph, fetch = filling(NO_SHAPE, times, feeds_shape=None)
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    *results, statistics = in_both(graph, fetch, {"n:0": 5, "x:0": x})
    check_equal(*results)
    assert statistics.compiled_calls == 1 and statistics.bails == 0


def test_elements_that_were_never_set_are_zeros():
    graph, fetch = filling(NO_SHAPE, times, index=lambda i: i * 2, length=20)
    *results, statistics = in_both(graph, fetch, {"n:0": 7, "x:0": np.ones(2, "float32")})
    check_equal(*results)
    assert statistics.compiled_calls == 1


@pytest.mark.parametrize(
    "n, at", [(3, 3), (3, -1), (-1, 0), (0, 0)], ids=["past", "before", "length", "empty"]
)
def test_errors_are_those_of_the_interpreter(n, at):
    graph, fetch = filling(NO_SHAPE, times, index=lambda i: i * 0 + at)
    *results, _ = in_both(graph, fetch, {"n:0": n, "x:0": np.ones(2, "float32")})
    assert isinstance(results[0], tuple)
    check_equal(*results)


def test_an_element_of_another_shape_is_an_error():
    def growing(g, i, x):
        return g.op("Fill", [g.op("Pack", [i + 1]), np.float32(2)])

    for shape in (NO_SHAPE, np.array([1], "int32")):
        graph, fetch = filling(shape, growing)
        for n in (1, 2):
            *results, _ = in_both(graph, fetch, {"n:0": n, "x:0": np.ones(2, "float32")})
            assert isinstance(results[0], tuple) == (n == 2)
            check_equal(*results)


def test_a_list_of_rows_is_read():
    g = treadle.Builder()
    x = g.placeholder("x", "float32", [None, None])
    rows = g.op("TensorListFromTensor", [x, np.array([-1], "int32")])
    length = g.op("TensorListLength", [rows])
    with g.while_loop(i=0, y=np.float32(0)) as loop:
        loop.condition(loop.i < length)
        row = g.op("TensorListGetItem", [rows, loop.i, NO_SHAPE], element_dtype="float32")
        loop.y = loop.y * 2.0 + g.op("Sum", [row, 0])
        loop.i += 1
    graph = g.build()
    x = np.arange(12, dtype="float32").reshape(4, 3)
    *results, statistics = in_both(graph, loop.y.name, {"x:0": x})
    check_equal(*results)
    assert statistics.compiled_calls == 1 and statistics.copies == 0


def pushing(n, most=-1, pops=None):
    g = treadle.Builder()
    x = g.placeholder("x", "float32", None)
    items = g.op("EmptyTensorList", [NO_SHAPE, most], element_dtype="float32")
    with g.while_loop(i=0, items=items, x=x) as loop:
        loop.condition(loop.i < n)
        loop.items = g.op("TensorListPushBack", [loop.items, loop.x])
        loop.x = loop.x * 1.5
        loop.i += 1
    with g.while_loop(i=0, items=loop.items, y=x) as back:
        back.condition(back.i < (n if pops is None else pops))
        back.items, last = g.op(
            "TensorListPopBack", [back.items, NO_SHAPE], element_dtype="float32"
        )
        back.y = back.y * 0.5 + last
        back.i += 1
    return g.build(), back.y.name


@pytest.mark.parametrize("n, most, pops", [(0, -1, None), (1, -1, None), (30, -1, 17), (9, 9, 9)])
def test_a_list_is_a_stack(n, most, pops):
    graph, fetch = pushing(n, most, pops)
    *results, statistics = in_both(graph, fetch, {"x:0": np.ones(3, "float32")})
    check_equal(*results)
    assert statistics.bails == 0


@pytest.mark.parametrize("n, most, pops", [(3, -1, 4), (5, 4, 1)], ids=["too few", "too many"])
def test_errors_of_a_stack(n, most, pops):
    graph, fetch = pushing(n, most, pops)
    *results, _ = in_both(graph, fetch, {"x:0": np.ones(3, "float32")})
    assert isinstance(results[0], tuple)
    check_equal(*results)


def test_a_list_leaves_compiled_code_as_a_handle():
    """Ops that gather from a list get it as a handle, like kernels."""
    g = treadle.Builder()
    n = g.placeholder("n", "int32", [])
    x = g.placeholder("x", "float32", [None])
    items = g.op("TensorListReserve", [NO_SHAPE, n + 1], element_dtype="float32")
    with g.while_loop(i=0, items=items) as loop:
        loop.condition(loop.i < n)
        loop.items = g.op("TensorListSetItem", [loop.items, loop.i, times(g, loop.i, x)])
        loop.i += 1
    picked = g.op(
        "TensorListGather",
        [loop.items, np.array([1, 2, 0], "int32"), NO_SHAPE],
        element_dtype="float32",
    )
    graph = g.build()
    for n in (0, 2, 5):
        *results, _ = in_both(graph, picked.name, {"n:0": n, "x:0": np.ones(3, "float32")})
        check_equal(*results)


def test_gradients_of_loops_with_lists():
    """The list of a gradient's loop is one of what the loop forgot."""
    g = treadle.Builder()
    x = g.placeholder("x", "float32", [None])
    with g.while_loop(i=0, y=x) as loop:
        loop.condition(loop.i < 6)
        loop.y = g.op("Tanh", [loop.y]) * x
        loop.i += 1
    (gradient,) = g.gradients([loop.y], [x])
    *results, statistics = in_both(
        g.build(), gradient.name, {"x:0": np.linspace(-1, 2, 5, dtype="float32")}
    )
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5)
    assert statistics.compiled_calls > 0 and statistics.bails == 0


def random_program(random):
    """Lists that are made, filled, read, pushed to and popped from in turns, in a loop."""
    shape = tuple(random.integers(0, 4, random.integers(0, 3)))
    g = treadle.Builder()
    x = g.placeholder("x", "float32", None)
    length = int(random.integers(0, 5))
    stated = random.choice(["unknown", "open", "known"])
    element_shape = (
        NO_SHAPE
        if stated == "unknown"
        else np.array([-1 if stated == "open" else dim for dim in shape], "int32").reshape(-1)
    )
    items = g.op("TensorListReserve", [element_shape, length], element_dtype="float32")
    steps = [
        str(step) for step in random.choice(["set", "get", "push", "pop", "length", "share"], 4)
    ]
    with g.while_loop(i=0, items=items, other=items, y=x) as loop:
        loop.condition(loop.i < int(random.integers(0, 6)))
        for step in steps:
            place = int(random.integers(-1, length + 2))
            if step == "set":
                loop.items = g.op(
                    "TensorListSetItem",
                    [loop.items, loop.i if place < 0 else place, loop.y],
                    resize_if_index_out_of_bounds=bool(random.integers(0, 2)),
                )
            elif step == "get":
                got = g.op(
                    "TensorListGetItem",
                    [loop.items, loop.i, element_shape],
                    element_dtype="float32",
                )
                loop.y = got + x
            elif step == "push":
                loop.items = g.op("TensorListPushBack", [loop.items, loop.y * 2.0])
            elif step == "pop":
                loop.items, got = g.op(
                    "TensorListPopBack", [loop.items, element_shape], element_dtype="float32"
                )
                loop.y = loop.y + got
            elif step == "length":
                many = g.op("TensorListLength", [loop.items])
                loop.y = loop.y + g.cast(many, "float32")
            else:
                loop.other = loop.items
        loop.i += 1
    fetches = [
        g.op("TensorListStack", [value, element_shape], element_dtype="float32").name
        for value in (loop.items, loop.other)
    ] + [loop.y.name, g.op("TensorListLength", [loop.items]).name]
    return g.build(), fetches, {"x:0": random.standard_normal(shape).astype("float32")}


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed):
    graph, fetches, feeds = random_program(np.random.default_rng(seed))
    for fetch in fetches:
        interpreted, compiled, _ = in_both(graph, [fetch], feeds)
        if isinstance(interpreted, tuple):
            assert compiled == interpreted
        else:
            np.testing.assert_allclose(compiled[0], interpreted[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [[], [3], [20]])
@pytest.mark.parametrize(
    "dtype",
    ["int8", "uint16", "bool", "uint64", "float16", "bfloat16", "complex64", "complex128"],
)
def test_elements_of_any_plain_dtype(dtype, shape):
    g = treadle.Builder()
    x = g.op("Cast", [g.placeholder("x", "int32", shape)], SrcT="int32", DstT=dtype)
    sizes = np.array(shape, np.int32)
    items = g.op("TensorListReserve", [sizes, np.int32(5)], element_dtype=dtype)
    with g.while_loop(i=0, items=items, v=x) as loop:
        loop.condition(loop.i < 5)
        loop.items = g.op("TensorListSetItem", [loop.items, loop.i, loop.v])
        loop.v = g.op("LogicalNot", [loop.v]) if dtype == "bool" else loop.v + x
        loop.i += 1
    stacked = g.op("TensorListStack", [loop.items, sizes], element_dtype=dtype)
    values = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape) % 2 + 1
    *results, statistics = in_both(g.build(), stacked.name, {"x:0": values})
    assert results[0].tobytes() == results[1].tobytes()
    assert statistics.compiled_calls == 1
