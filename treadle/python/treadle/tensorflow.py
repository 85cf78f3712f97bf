"""Treadle's passes inside TensorFlow, on every graph that TensorFlow optimizes.

>>> import tensorflow as tf, treadle.tensorflow
>>> treadle.tensorflow.enable("tfg-cse")
>>> tf.function(lambda x: tf.sin(x) + tf.sin(x))(1.0)  # computes one sine

The passes run in a process of their own, treadle-rewriter; see docs/tensorflow-plugin.md.
"""

import os
import pathlib

from ._errors import InvalidArgumentError, NotFoundError
from ._native import Graph

_PLUGIN = pathlib.Path(__file__).parent / "libtreadle_tensorflow.so"
_loaded = False


def enable(pipeline: str = "tfg-default", *, log: bool = False) -> None:
    """Runs a pipeline of passes over each graph that TensorFlow optimizes from now on.

    That is each graph of a tf.function when it is first run, the functions that it calls, those of
    tf.data, and graphs of v1 sessions. Graphs that were optimized before stay as they are.

    Args:
        pipeline: passes as Graph.run_passes takes them. Where a pass has no options it gets those
            that keep what TensorFlow needs; in options `{names}` stands for the nodes to keep.
        log: a line on standard error for each graph.

    Raises:
        InvalidArgumentError: the pipeline isn't one.
        NotFoundError: the plug-in isn't where the package is.
        ModuleNotFoundError: there is no TensorFlow.

    A graph for which a pass fails stays as it was, and a line on standard error says why.
    """
    _check(pipeline)
    _load()
    os.environ["TREADLE_PIPELINE"] = pipeline
    os.environ["TREADLE_LOG"] = "1" if log else ""


def disable() -> None:
    """Leaves graphs alone from now on; those that were changed stay so."""
    os.environ.pop("TREADLE_PIPELINE", None)


def _check(pipeline: str) -> None:
    if not isinstance(pipeline, str):
        raise TypeError(f"pipeline is a {type(pipeline).__name__}, expected a str")
    if not pipeline.strip():
        raise InvalidArgumentError("the pipeline is empty, expected passes such as 'tfg-cse'")
    Graph._check_pipeline(pipeline.replace("{names}", "name"))


def _load() -> None:
    global _loaded
    if _loaded:
        return
    if not _PLUGIN.exists():
        raise NotFoundError(f"the plug-in '{_PLUGIN}' isn't there; './dev build' makes it")
    from tensorflow.python.framework import load_library

    load_library.load_pluggable_device_library(str(_PLUGIN))
    _loaded = True
