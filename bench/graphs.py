"""The graphs that the bench measures, made once by TensorFlow and kept as GraphDef files.

Each maker fills a tf.Graph and says how to run it. Nothing in them folds: every value depends on a
placeholder or on a loop.
"""

import dataclasses
import json
import pathlib
import random


@dataclasses.dataclass
class Work:
    """How to run a graph, and how many units (ops, iterations) one run holds."""

    fetches: list
    feeds: dict
    units: int
    targets: list = dataclasses.field(default_factory=list)
    setup: list = dataclasses.field(default_factory=list)  # targets to run once, before


def scalar_chain(tf):
    """1,000 scalar additions and multiplications, each on the one before."""
    x = tf.compat.v1.placeholder(tf.float32, [], "x")
    scale, shift = tf.constant(0.5), tf.constant(1.0)
    y = x
    for i in range(500):
        y = tf.raw_ops.Mul(x=y, y=scale, name=f"mul_{i}")
        y = tf.raw_ops.AddV2(x=y, y=shift, name=f"add_{i}")
    return Work([y.name], {"x:0": 1.0}, 1000)


def counter_loop(tf, iterations=20_000):
    limit = tf.compat.v1.placeholder(tf.int32, [], "limit")
    count = tf.while_loop(lambda i: i < limit, lambda i: i + 1, [tf.constant(0)], name="loop")
    return Work([tf.identity(count, "count").name], {"limit:0": iterations}, iterations)


def while_functional(tf):
    """A loop of one counter, as the op `While`."""
    tf.compat.v1.enable_control_flow_v2()
    return counter_loop(tf)


def while_frames(tf):
    """The same loop in frames: Enter, Merge, Switch, NextIteration, Exit."""
    tf.compat.v1.disable_control_flow_v2()
    return counter_loop(tf)


def variable_loop(tf, iterations=20_000):
    limit = tf.compat.v1.placeholder(tf.int32, [], "limit")
    variable = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="v")
    start = tf.raw_ops.AssignVariableOp(resource=variable, value=tf.constant(0.0))

    def body(i):
        add = tf.raw_ops.AssignAddVariableOp(resource=variable, value=tf.constant(1.0))
        with tf.control_dependencies([add]):
            return i + 1

    count = tf.while_loop(lambda i: i < limit, body, [tf.constant(0)], name="loop")
    count = tf.identity(count, "count").name
    return Work([count], {"limit:0": iterations}, iterations, setup=[start.name])


def assign_functional(tf):
    """A loop that adds to a variable in each iteration, as the op `While`."""
    tf.compat.v1.enable_control_flow_v2()
    return variable_loop(tf)


def assign_frames(tf):
    """A loop that adds to a variable in each iteration, in frames."""
    tf.compat.v1.disable_control_flow_v2()
    return variable_loop(tf)


def large_graph(tf, size=100_000):
    """100,000 scalar ops, each on two of the hundred before it."""
    choose = random.Random(7)
    x = tf.compat.v1.placeholder(tf.float32, [], "x")
    definition = tf.compat.v1.get_default_graph().as_graph_def()
    names = ["x"]
    for i in range(size - 1):
        node = definition.node.add(name=f"n{i}", op=choose.choice(["AddV2", "Maximum", "Minimum"]))
        node.input.extend([names[-1], choose.choice(names[-100:])])
        node.attr["T"].type = x.dtype.as_datatype_enum
        names.append(node.name)
    return Work([names[-1] + ":0"], {"x:0": 1.0}, size), definition


def countdown(tf):
    """Counts from 32 to 0 in a frame."""
    tf.compat.v1.disable_control_flow_v2()
    count = tf.while_loop(lambda c: tf.not_equal(c, 0), lambda c: c - 1, [tf.constant(32)])
    return Work([tf.identity(count, "count").name], {}, 1)


MAKERS = [
    scalar_chain,
    while_functional,
    while_frames,
    assign_functional,
    assign_frames,
    large_graph,
    countdown,
]


def load(maker, folder):
    """Returns the path of the maker's GraphDef, and its Work; makes them when they aren't there."""
    graph_file = folder / f"{maker.__name__}.pb"
    work_file = folder / f"{maker.__name__}.json"
    source = pathlib.Path(__file__)
    if not work_file.exists() or work_file.stat().st_mtime < source.stat().st_mtime:
        make(maker, graph_file, work_file)
    return graph_file, Work(**json.loads(work_file.read_text()))


def make(maker, graph_file, work_file):
    import tensorflow as tf

    graph_file.parent.mkdir(parents=True, exist_ok=True)
    with tf.Graph().as_default() as graph:
        made = maker(tf)
        work, definition = made if isinstance(made, tuple) else (made, graph.as_graph_def())
    graph_file.write_bytes(definition.SerializeToString())
    work_file.write_text(json.dumps(dataclasses.asdict(work)))
