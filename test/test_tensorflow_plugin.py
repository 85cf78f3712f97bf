"""Treadle's passes inside TensorFlow: what TensorFlow computes stays, and our pass is seen to work.

Each test runs a program in a Python that has TensorFlow: the one that TREADLE_TENSORFLOW_PYTHON
names, or this one. Without it they are skipped.
"""

import functools
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import treadle

PACKAGE = pathlib.Path(treadle.__file__).parent
PYTHON = os.environ.get("TREADLE_TENSORFLOW_PYTHON") or sys.executable

# TensorFlow's own optimizers would leave nothing to do.
PLAIN = """
import tensorflow as tf
tf.config.optimizer.set_experimental_options(
    dict.fromkeys(
        ["constant_folding", "common_subgraph_elimination", "arithmetic_optimization",
         "dependency_optimization", "function_optimization", "remapping"], False)
    | {"min_graph_nodes": -1})
"""

FUNCTIONS = """
v = tf.Variable(1.0)

@tf.function(autograph=False)
def add_to_v(x):
    v.assign_add(1.0)
    return tf.sin(x) + tf.sin(x) * v

@tf.function(autograph=False)
def pure(x):
    return tf.sin(x) + tf.sin(x) * 2.0

@tf.function(autograph=False)
def f(x, n):
    a = pure(x) + pure(x + 1.0) + add_to_v(x) + tf.map_fn(pure, x)
    _, total = tf.while_loop(
        lambda i, total: i < n,
        lambda i, total: (i + 1, total + tf.reduce_sum(tf.sin(a)) * tf.sin(1.0) + tf.sin(1.0)),
        (tf.constant(0), tf.constant(0.0)))
    a = tf.cond(n > 2, lambda: add_to_v(a), lambda: pure(a))
    v.assign_add(total)
    return a, total, v.read_value()

for n in (2, 3):
    print([t.numpy().tolist() for t in f(tf.constant([1.0, 2.0]), tf.constant(n))])
print([x.numpy().tolist() for x in tf.data.Dataset.range(5).map(
    lambda x: pure(tf.cast(x, tf.float32))).batch(2)])
with tf.GradientTape() as tape:
    y = pure(v)
print(tape.gradient(y, v).numpy())
"""


@functools.cache
def has_tensorflow():
    command = [PYTHON, "-c", "import importlib.util as u; exit(not u.find_spec('tensorflow'))"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def run(program, **settings):
    """Returns the output of the program, and the lines of the plug-in."""
    if not has_tensorflow():
        pytest.skip(f"{PYTHON} has no TensorFlow; TREADLE_TENSORFLOW_PYTHON can name one that has")
    done = subprocess.run(
        [PYTHON, "-c", program],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": str(PACKAGE.parent),
            "TF_CPP_MIN_LOG_LEVEL": "2",
            **settings,
        },
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = [line for line in done.stderr.splitlines() if line.startswith("treadle: ")]
    return done.stdout, said


def enabled(call, program=FUNCTIONS):
    return PLAIN + f"import treadle.tensorflow\ntreadle.tensorflow.{call}\n" + program


@functools.cache
def expected():
    return run(PLAIN + FUNCTIONS)[0]


@pytest.mark.parametrize("pipeline", ["tfg-cse", "tfg-default"])
def test_results_stay_and_graphs_shrink(pipeline):
    output, said = run(enabled(f"enable({pipeline!r}, log=True)"))
    assert output == expected()
    assert not [line for line in said if "stays" in line]
    counts = [(int(line.split()[1]), int(line.split()[3])) for line in said]
    assert any(before > after for before, after in counts), said


def test_a_pass_that_fails_leaves_graphs_alone_and_says_so_once():
    output, said = run(enabled("enable('tfg-prune{fetches=nothing}')"))
    assert output == expected()
    reasons = [line for line in said if "the graph has no node 'nothing'" in line]
    assert len(reasons) == 1, said
    assert reasons[0].startswith("treadle: a graph was left unchanged: ")


def test_nodes_that_tensorflow_needs_are_not_removed():
    output, said = run(enabled("enable('tfg-prune{targets= functions=false},tfg-name-compress{}')"))
    assert output == expected()
    assert any("which TensorFlow needs" in line for line in said), said


def test_a_rewriter_that_crashes_leaves_graphs_alone():
    output, said = run(enabled("enable('tfg-cse')"), TREADLE_REWRITER="/bin/false")
    assert output == expected()
    assert "treadle: a graph was left unchanged: the rewriter ended" in "\n".join(said)


def test_a_rewriter_that_is_not_there():
    output, said = run(enabled("enable('tfg-cse')"), TREADLE_REWRITER="/no/such/program")
    assert output == expected()
    assert any("'/no/such/program' can't be started" in line for line in said), said


def test_disable_and_import_order():
    program = "import treadle.tensorflow\n" + enabled("enable('tfg-cse', log=True)", "")
    output, said = run(program + "treadle.tensorflow.disable()\n" + FUNCTIONS)
    assert output == expected()
    assert said == []


def test_sessions_feed_what_they_like():
    program = """
    with tf.Graph().as_default(), tf.compat.v1.Session() as s:
        x = tf.compat.v1.placeholder(tf.float32, name="x")
        a, b = tf.sin(x, name="a"), tf.sin(x, name="b")
        c = tf.add(a, b, name="c")
        print([float(value) for value in s.run([c, a], {x: 1.0})])
        print([float(value) for value in s.run([c, a], {x: 1.0, b: 5.0})])
    """
    for call in ("disable()", "enable()"):
        output, _ = run(enabled(call, textwrap.dedent(program)))
        assert output.splitlines() == [
            "[1.6829419136047363, 0.8414709568023682]",
            "[5.841470718383789, 0.8414709568023682]",
        ]


def test_misuse():
    with pytest.raises(
        treadle.InvalidArgumentError, match="'nonsense' is not a valid pass pipeline"
    ):
        _enable("nonsense")
    with pytest.raises(treadle.InvalidArgumentError, match="the pipeline is empty"):
        _enable(" ")
    with pytest.raises(TypeError, match="pipeline is a int"):
        _enable(1)


def _enable(pipeline):
    import treadle.tensorflow

    treadle.tensorflow.enable(pipeline)
