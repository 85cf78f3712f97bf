"""The memory limit includes state of sessions besides tensors: tables, lists, stacks, maps,
barriers."""

import numpy as np
import pytest

import treadle

MEMORY = 1_000_000
TEXT_ROWS, ROWS = 500, 1_000


def table(g, kind, key, value, **attrs):
    return g.op(kind, name="table", key_dtype=key, value_dtype=value, **attrs)


def insert(g, kind, key="int64", value="int64"):
    handle = table(g, kind, key, value)
    keys, values = g.placeholder("keys", key, [None]), g.placeholder("values", value, [None])
    g.op("LookupTableSizeV2", [handle], name="size")
    g.op("LookupTableInsertV2", [handle, keys, values], name="more")


def text(kind):
    def build(g):
        insert(g, kind, "string", "string")

    return build


def numbers(g):
    insert(g, "MutableHashTableV2")


def dense(g):
    handle = g.op(
        "MutableDenseHashTableV2",
        [np.int64(-1), np.int64(-2)],
        name="table",
        key_dtype="int64",
        value_dtype="int64",
        value_shape=[],
    )
    keys, values = (g.placeholder(name, "int64", [None]) for name in ("keys", "values"))
    g.op("LookupTableSizeV2", [handle], name="size")
    g.op("LookupTableInsertV2", [handle, keys, values], name="more")


# References to strings, which the builder doesn't make.
BARRIER = """
node { name: "keys" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } } }
node { name: "values" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "barrier" op: "Barrier"
  attr { key: "component_types" value { list { type: DT_FLOAT type: DT_FLOAT } } } }
node { name: "more" op: "BarrierInsertMany" input: "barrier" input: "keys" input: "values"
  attr { key: "component_index" value { i: 0 } } attr { key: "T" value { type: DT_FLOAT } } }
node { name: "size" op: "BarrierIncompleteSize" input: "barrier" }
"""


def session_of(build, memory=MEMORY):
    if isinstance(build, str):
        return treadle.Session(build.encode(), memory=memory)
    g = treadle.Builder()
    build(g)
    return treadle.Session(g.build(), memory=memory)


def texts(begin):
    keys = np.array([f"a key that takes memory {begin + i}" for i in range(TEXT_ROWS)], object)
    return {"keys": keys, "values": keys}


def integers(begin):
    keys = np.arange(begin, begin + ROWS)
    return {"keys": keys, "values": keys}


def components(begin):
    return {"keys": texts(begin)["keys"], "values": np.ones(TEXT_ROWS, np.float32)}


@pytest.mark.parametrize(
    ("build", "rows", "count"),
    [
        (numbers, integers, ROWS),
        (dense, integers, ROWS),
        (text("MutableHashTableV2"), texts, TEXT_ROWS),
        (BARRIER, components, TEXT_ROWS),
    ],
    ids=["numbers", "dense", "texts", "barrier"],
)
def test_what_grows_from_run_to_run_ends_with_an_error(build, rows, count):
    session = session_of(build)
    assert session.run("size") == 0
    runs = 0
    with pytest.raises(treadle.ResourceExhaustedError, match=r"'more'.*1000000 bytes"):
        for runs in range(1000):
            session.run([], rows(runs * count), "more")
    assert 2 < runs < 60
    assert session.run("size") >= runs * count  # earlier contents remain
    without = session_of(build, memory=None)
    for i in range(runs + 2):
        without.run([], rows(i * count), "more")
    assert without.run("size") == (runs + 2) * count


def test_a_table_that_can_not_be_filled_is_empty():
    g = treadle.Builder()
    handle = table(g, "HashTableV2", "int64", "int64")
    keys = g.placeholder("keys", "int64", [None])
    g.op("LookupTableSizeV2", [handle], name="size")
    g.op("LookupTableImportV2", [handle, keys, keys], name="fill")
    session = treadle.Session(g.build(), memory=MEMORY)
    with pytest.raises(treadle.ResourceExhaustedError, match="'fill'"):
        session.run([], {"keys": np.arange(50_000)}, "fill")
    assert session.run("size") == 0
    session.run([], {"keys": np.arange(1000)}, "fill")
    assert session.run("size") == 1000


@pytest.mark.parametrize("tier", ["interpret", "jit"])
def test_a_list_counts_by_its_elements(tier):
    g = treadle.Builder()
    size = g.placeholder("size", "int32", [])
    made = g.op("TensorListReserve", [np.int32(-1), size], name="list", element_dtype="float32")
    g.op("TensorListLength", [made], name="length")
    session = treadle.Session(g.build(), memory=MEMORY, tier=tier)
    assert session.run("length", {"size": 1000}) == 1000
    with pytest.raises(treadle.ResourceExhaustedError, match="'list'"):
        session.run("length", {"size": 10_000_000})
    assert session.run("length", {"size": 1000}) == 1000


def growing(g, start, step):
    """A loop of `n` rounds over what `step` makes of its value."""
    n = g.placeholder("n", "int32", [])
    with g.while_loop(i=np.int32(0), held=start) as loop:
        loop.condition(loop.i < n)
        loop.held = step(loop.i, loop.held)
        loop.i = loop.i + np.int32(1)
    return loop.held


def pushes_to_list(g):
    start = g.op("EmptyTensorList", [np.int32(-1), np.int32(-1)], element_dtype="float32")
    end = growing(g, start, lambda i, held: g.op("TensorListPushBack", [held, np.float32(1)]))
    g.op("TensorListLength", [end], name="count")


def pushes_to_stack(g):
    stack = g.op("StackV2", [np.int32(-1)], elem_type="float32", stack_name="s")
    push = lambda i, held: held + g.op("StackPushV2", [stack, np.float32(1)])  # noqa: E731
    g.op("Identity", [growing(g, np.float32(0), push)], name="count")


def inserts_into_map(g):
    start = g.op("EmptyTensorMap")
    end = growing(g, start, lambda i, held: g.op("TensorMapInsert", [held, i, np.float32(1)]))
    g.op("TensorMapSize", [end], name="count")


@pytest.mark.parametrize("tier", ["interpret", "jit"])
@pytest.mark.parametrize("build", [pushes_to_list, pushes_to_stack, inserts_into_map])
def test_what_grows_in_a_loop_ends_with_an_error(build, tier):
    g = treadle.Builder()
    build(g)
    session = treadle.Session(g.build(), memory=MEMORY, tier=tier)
    assert session.run("count", {"n": 1000}) == 1000
    with pytest.raises(treadle.ResourceExhaustedError, match="1000000 bytes"):
        session.run("count", {"n": 1_000_000})
    assert session.run("count", {"n": 1000}) == 1000
