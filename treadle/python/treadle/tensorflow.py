"""Treadle's passes inside TensorFlow, on every graph that TensorFlow optimizes.

>>> import tensorflow as tf, treadle.tensorflow
>>> treadle.tensorflow.enable("tfg-cse")
>>> tf.function(lambda x: tf.sin(x) + tf.sin(x))(1.0)  # computes one sine

The passes run in a process of their own, treadle-rewriter; see docs/from-tensorflow.md.
"""

import os
import pathlib

from ._errors import InvalidArgumentError, NotFoundError
from ._native import Graph

_PLUGIN = pathlib.Path(__file__).parent / "libtreadle_tensorflow.so"
_loaded = False


def enable(pipeline: str = "tfg-default", *, log: bool = False) -> None:
    """Runs a pass pipeline on each graph that TensorFlow optimizes from now on.

    These are the graphs of tf.functions when they first run, the functions that they call, those of
    tf.data, and graphs of v1 sessions. Graphs that were optimized before are not changed.

    Args:
        pipeline: passes as in Graph.run_passes. A pass without options gets those that keep the
            nodes TensorFlow needs; in options `{names}` is replaced by the names of these nodes.
        log: whether to print a line to standard error for each graph.

    Raises:
        InvalidArgumentError: the pipeline is malformed.
        NotFoundError: the plug-in is missing from the package.
        ModuleNotFoundError: TensorFlow is not installed.

    A graph for which a pass fails is left unchanged, and a line on standard error gives the reason.
    """
    _check(pipeline)
    _load()
    os.environ["TREADLE_PIPELINE"] = pipeline
    os.environ["TREADLE_LOG"] = "1" if log else ""


def disable() -> None:
    """Stops changing graphs; graphs that were already changed are kept."""
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
        raise NotFoundError(f"the plug-in '{_PLUGIN}' is missing; './dev build' builds it")
    from tensorflow.python.framework import load_library

    load_library.load_pluggable_device_library(str(_PLUGIN))
    _loaded = True
