"""Treadle's passes inside TensorFlow: the plug-in on, a tf.function run, and our pass seen to work.

Needs the plug-in (TREADLE_TENSORFLOW_PLUGIN at configuration) and a Python with TensorFlow, which
TREADLE_TENSORFLOW_PYTHON names; else these are skipped.
"""

import os
import pathlib
import subprocess

import pytest

import treadle

PLUGIN = pathlib.Path(treadle.__file__).parents[2] / "lib" / "libtreadle_tensorflow.so"
PYTHON = os.environ.get("TREADLE_TENSORFLOW_PYTHON", "")

PROGRAM = f"""
import tensorflow as tf
from tensorflow.python.framework import load_library
load_library.load_pluggable_device_library({str(PLUGIN)!r})
tf.config.optimizer.set_experimental_options({{
    "disable_meta_optimizer": False, "min_graph_nodes": -1, "constant_folding": False,
    "common_subgraph_elimination": False, "arithmetic_optimization": False,
    "dependency_optimization": False, "function_optimization": False, "remapping": False,
    "use_plugin_optimizers": True}})

v = tf.Variable(1.0)

@tf.function
def f(x, n):
    a = tf.math.sin(x) + tf.math.sin(x)
    _, total = tf.while_loop(
        lambda i, total: i < n,
        lambda i, total: (i + 1, total + tf.reduce_sum(a) * tf.math.sin(1.0)),
        (tf.constant(0), tf.constant(0.0)))
    v.assign_add(total)
    return a, total, v.read_value()

for n in (2, 3):
    print([t.numpy().tolist() for t in f(tf.constant([1.0, 2.0]), tf.constant(n))])
"""


def run(passes, log="1"):
    if not PLUGIN.exists() or not PYTHON:
        pytest.skip("no plug-in was built, or TREADLE_TENSORFLOW_PYTHON doesn't name TensorFlow's")
    environment = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "TREADLE_TENSORFLOW_PASSES": passes,
        "TREADLE_TENSORFLOW_LOG": log,
    }
    environment.pop("PYTHONPATH", None)
    command = [PYTHON, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    said = [line for line in done.stderr.splitlines() if line.startswith("treadle: ")]
    return done.stdout, said


def test_a_pass_works_on_tensorflows_graphs_and_results_stay():
    plain, said = run("")
    assert said == []
    optimized, said = run("tfg-cse{keep={names}}")
    assert optimized == plain
    counts = [(int(line.split()[1]), int(line.split()[3])) for line in said if "after" in line]
    assert any(before > after for before, after in counts), said


def test_a_pipeline_that_fails_leaves_the_graph_alone():
    plain, _ = run("")
    for pipeline in ("tfg-no-such-pass", "tfg-prune{fetches=nothing}"):
        output, said = run(pipeline)
        assert output == plain
        assert said and all("stays as it is" in line for line in said)
