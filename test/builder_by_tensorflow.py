"""Values of the programs of builder_programs.py, written as tf.functions; needs tensorflow.

    builder_by_tensorflow.py OUT.npz GRAPHS.json

GRAPHS.json lists what Treadle built: [name, graph.pb, fetches, feeds]. OUT gets `NAME/own/I`, what
the tf.function gives, and `NAME/graph/I`, what a session of TensorFlow gives for the graph.
"""

import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf


def stateless_loop():
    a, b = 0, 1
    for _ in tf.range(3):
        a += 2
        b *= 3
    return a, b


def nested_loops():
    total = 0
    for i in tf.range(5):
        for j in tf.range(i):
            total += i * j
    return (total,)


def conditional_in_a_loop():
    n, steps = tf.constant(27), 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return (steps,)


def variable_in_a_loop(v=("int", 123)):
    items = tf.TensorArray(tf.int32, 6)
    for i in tf.range(3):
        items = items.write(i * 2, v.read_value())
        v.assign_add(1)
        items = items.write(i * 2 + 1, v.read_value())
    return items.stack(), v.read_value()


def condition_on_a_mutated_resource(ticker=("int", 0), counter=("int", 1)):
    ticker.assign(0)
    counter.assign(0)
    while ticker.read_value() < 3:
        ticker.assign_add(1)
        counter.assign_add(1)
    return ticker.read_value(), counter.read_value()


def condition_with_effects(v=("int", 0)):
    i = 0
    while v.assign_add(1) < 5:
        i += 1
    return i, v.read_value() - 1


def function_with_effects(v=("float", 3.0)):
    x = tf.constant([1.0, 2.0])

    @tf.function
    def scaled(y, by):
        v.assign_add(by)
        return y * v.read_value()

    first = scaled(x, 1.0)
    if x[0] > 0.0:
        v.assign_add(x[1])
    y = first
    for _ in tf.range(1):
        y = scaled(y + 1.0, 0.0)
    for _ in tf.range(3):
        v.assign_add(1.0)
    return first, y + (0.0, -18.0), v.read_value()


def growing():
    squares = tf.zeros([0], tf.int32)
    for i in tf.range(4):
        tf.autograph.experimental.set_loop_options(
            shape_invariants=[(squares, tf.TensorShape([None]))]
        )
        squares = tf.concat([squares, [i * i]], 0)
    return (squares,)


def choices_in_a_loop(seen=("int", [0, 0, 0, 0])):
    for i in tf.range(4):
        value = tf.switch_case(i, [lambda: 1, lambda: 20], default=lambda: 300)
        seen.scatter_nd_update([[i]], [value])
    return (seen.read_value(),)


def powers_of_a_matrix():
    p = tf.eye(2)
    for _ in tf.range(10):
        p = p @ tf.constant([[1.0, 1.0], [1.0, 0.0]])
    return (p,)


def swapped_variables():
    a, b = 0, 1
    for _ in tf.range(10):
        a, b = b, a + b
    return a, b


def no_iteration(v=("int", 1)):
    x = tf.constant(7)
    while x < 0:
        v.assign(2)
        x -= 1
    return x, v.read_value()


def effects_in_nested_branches(v=("int", 0), calls=("int", 0)):
    @tf.function
    def digit(n):
        calls.assign_add(1)
        if n > 0:
            if n > 10:
                v.assign_add(n)
            else:
                v.assign(v * 10 + n)

    digit(tf.constant(111))
    digit(tf.constant(-5))
    for _ in tf.range(1):
        digit(tf.constant(1))
    return v.read_value(), calls.read_value()


def indexing():
    x, k = tf.constant([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), tf.constant(2)
    return x[::2, ::2], x[1, ::-1], x[None, :1, :, None][:, 0], x[k, -1]


def gradients_of_nested_loops(w=("float", 1.5)):
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for i in tf.range(4):
            for _ in tf.range(i):
                y = y * w + x
            if y > 20.0:
                y = y - 3.0 * x
    return y, *tape.gradient(y, [x, w])


def gradients_of_a_function(w=("float", [1.0, 2.0]), calls=("float", 0.0)):
    @tf.function
    def loss(x):
        calls.assign_add(1.0)
        return tf.reduce_sum((x - w) ** 2.0)

    first, second = tf.constant([3.0, 6.0]), tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        total = loss(first) + loss(second) + 2.0 * loss(first)
    slope = tape.gradient(total, w)
    calls.assign_add(1.0)
    return calls.read_value(), slope + (-4.0, -8.0)


def own_values(name):
    """Returns the result of the tf.function, with variables of the kinds and values in its
    defaults."""
    function = globals()[name]
    dtypes = {"int": tf.int32, "float": tf.float32}
    variables = [
        tf.Variable(value, dtype=dtypes[kind]) for kind, value in function.__defaults__ or ()
    ]
    return tf.function(lambda: function(*variables))()


def graph_values(path, fetches, feeds):
    graph_def = tf.compat.v1.GraphDef.FromString(open(path, "rb").read())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        with tf.compat.v1.Session(graph=graph) as session:
            if any(op.name == "init" for op in graph.get_operations()):
                session.run("init")
            return session.run(fetches, feeds)


if __name__ == "__main__":
    out = {}
    for name, path, fetches, feeds in json.load(open(sys.argv[2])):
        for kind, values in (
            ("own", own_values(name)),
            ("graph", graph_values(path, fetches, feeds)),
        ):
            for i, value in enumerate(values):
                out[f"{name}/{kind}/{i}"] = np.asarray(value)
    np.savez(sys.argv[1], **out)
