#!/usr/bin/env python3
"""Measures calls of SavedModels against TensorFlow and ONNX Runtime, side by side in one process.

A folder of models has one folder each, with the SavedModel and an io.npz: in/K holds the inputs of
serving_default, out/K what it gives (in/CALL/K and out/CALL/K for several calls, made in order).

    ./dev bench models FOLDER                   every model
    ./dev bench models FOLDER --only lstm_text --threads 1
    ./dev bench models FOLDER --markdown        the table of the README
"""

import argparse
import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import onnx_models

import bench


def first_call(answers):
    """The inputs and the outputs of the first call."""
    with np.load(answers, allow_pickle=True) as file:
        arrays = {name: file[name] for name in file.files}
    call = {"in": {}, "out": {}}
    for name, array in arrays.items():
        kind, *rest = name.split("/")
        if len(rest) == 1 or rest[0] == "0":
            call[kind][rest[-1]] = array
    return call["in"], call["out"]


def treadle_call(folder, inputs, threads):
    import treadle

    signature = treadle.load(folder, threads=threads).signatures["serving_default"]
    return lambda: signature(**inputs)


def tensorflow_call(folder, inputs):
    import tensorflow as tf

    model = tf.saved_model.load(folder)
    signature = model.signatures["serving_default"]
    constants = {key: tf.constant(value) for key, value in inputs.items()}

    def call(model=model):  # the model must outlive its signatures
        return {key: value.numpy() for key, value in signature(**constants).items()}

    return call


def limit_tensorflow(threads):
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def check(name, got, expected):
    for key, value in expected.items():
        if value.dtype.kind == "f" and not np.allclose(got[key], value, rtol=1e-3, atol=1e-4):
            sys.exit(f"bench: {name}: {key} differs from what it should be")


def measure(folder, args):
    inputs, outputs = first_call(folder / "io.npz")
    calls = {"treadle": treadle_call(folder, inputs, args.threads)}
    if not args.no_tensorflow:
        calls["tensorflow"] = tensorflow_call(folder, inputs)
    if not args.no_onnx:
        onnx = onnx_models.onnx_call(folder, inputs, outputs, args.threads)
        if onnx:
            calls["onnx"] = onnx
    for name, call in calls.items():
        check(f"{folder.name} in {name}", call(), outputs)
    medians = {k: v * 1e3 for k, v in bench.interleaved(calls, args.repeat).items()}
    goal = 3 if folder.name in LOOPS else 1
    return bench.Row(folder.name, "ms", goal, medians, ("tensorflow",))


# Those whose time goes into small ops and loops.
LOOPS = ("beam_search", "cartpole", "greedy_decode", "lstm_text")


def print_rows(rows, markdown):
    line = "| {} | {} | {} | {} | {} | {} |" if markdown else "{:<16}" + " {:>12}" * 5 + "  {}"
    verdict = [] if markdown else [""]
    ratios = ("of TF", "of ONNX")
    if markdown:
        ratios = ("TensorFlow / Treadle", "ONNX Runtime / Treadle")
    heads = ("TensorFlow", "ONNX Runtime", "Treadle", *ratios)
    print(line.format("a call, ms", *heads, *verdict))
    if markdown:
        print("| --- " * 6 + "|")
    for row in rows:
        theirs, onnx, own = row.tensorflow(), row.medians.get("onnx"), row.treadle()
        times = [f"{x:.3g}" if x else "can't" for x in (theirs, onnx, own)]
        faster = [f"{x / own:.3g}x" if x else "" for x in (theirs, onnx)]
        print(line.format(row.name, *times, *faster, *([] if markdown else [row.verdict()])))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", help="models whose name has this")
    parser.add_argument("--threads", type=int, default=2, help="of each runtime; 2 by default")
    parser.add_argument("--repeat", type=int, default=30, help="rounds; 30 by default")
    parser.add_argument("--no-tensorflow", action="store_true")
    parser.add_argument("--no-onnx", action="store_true", help="without ONNX Runtime")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    models = [file.parent for file in sorted(args.folder.glob("*/io.npz"))]
    models = [m for m in models if (m / "saved_model.pb").exists()]
    models = [m for m in models if not args.only or args.only in m.name]
    if not models:
        sys.exit(f"bench: '{args.folder}' has no folder with a saved_model.pb and an io.npz")
    if not args.no_tensorflow:
        limit_tensorflow(args.threads)
    rows = [measure(model, args) for model in models]
    if args.json:
        print(json.dumps([row.as_json() for row in rows]))
    else:
        print_rows(rows, args.markdown)


if __name__ == "__main__":
    main()
