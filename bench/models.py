#!/usr/bin/env python3
"""Measures calls of SavedModels against TensorFlow, XLA, ONNX Runtime, OpenVINO and LiteRT, in one
process.

A folder of models has one folder each, with the SavedModel and an io.npz: in/K holds the inputs of
serving_default, out/K what it gives (in/CALL/K and out/CALL/K for several calls, made in order).
make_models.py makes some.

    ./dev bench models FOLDER                   every model
    ./dev bench models FOLDER --only lstm_text --threads 1
    ./dev bench models FOLDER --only resnet50 --batch 8
    ./dev bench models FOLDER --without XLA --without LiteRT
    ./dev bench models FOLDER --markdown        the table of docs/performance.md
"""

import argparse
import json
import pathlib
import sys

import numpy as np
from model_rivals import MODEL_RIVALS, Model, agrees, rival_call

import bench


def first_call(folder, batch=1):
    """The model with the inputs and the outputs of its first call, `batch` times side by side."""
    with np.load(folder / "io.npz", allow_pickle=True) as file:
        arrays = {name: file[name] for name in file.files}
    call = {"in": {}, "out": {}}
    for name, array in arrays.items():
        kind, *rest = name.split("/")
        if len(rest) == 1 or rest[0] == "0":
            call[kind][rest[-1]] = np.concatenate([array] * batch) if batch > 1 else array
    return Model(folder, call["in"], call["out"])


def treadle_call(model, threads, tier="auto"):
    import treadle

    loaded = treadle.load(model.folder, threads=threads, tier=tier)
    signature = loaded.signatures["serving_default"]
    call = lambda: signature(**model.inputs)  # noqa: E731
    if not agrees(call(), model.outputs):
        sys.exit(f"bench: {model.folder.name}: the outputs differ from what they should be")
    call()  # repeated calls use compiled code
    while loaded.session.is_compiling:
        call()
    return call


def measure(folder, args):
    model = first_call(folder, args.batch)
    calls = {"treadle": treadle_call(model, args.threads)}
    for rival in args.rivals:
        call = rival_call(rival, model, args.threads)
        if call:
            calls[rival] = call
    medians = {k: v * 1e3 for k, v in bench.interleaved(calls, args.repeat).items()}
    return bench.Row(folder.name, "ms", 1, medians, tuple(args.rivals))


def print_rows(rows, rivals, markdown):
    heads = ["a call, ms", *rivals, "Treadle", "fastest / Treadle"]
    if markdown:
        print("| " + " | ".join(heads) + " |\n" + "| --- " * len(heads) + "|")
    else:
        print(f"{heads[0]:<16}" + "".join(f"{head:>18}" for head in heads[1:]))
    for row in rows:
        times = [row.medians.get(rival) for rival in [*rivals, "treadle"]]
        cells = [f"{time:.3g}" if time else "can't" for time in times]
        cells.append(f"{row.ratio():.3g}x" if row.ratio() else "")
        if markdown:
            print(f"| {row.name} | " + " | ".join(cells) + " |")
        else:
            print(f"{row.name:<16}" + "".join(f"{cell:>18}" for cell in cells), row.verdict())


def main():
    parser = argparse.ArgumentParser(
        prog="./dev bench models",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", help="only models with this in their names")
    parser.add_argument(
        "--threads", type=int, default=2, help="threads of each runtime; default: 2"
    )
    parser.add_argument(
        "--batch", type=int, default=1, help="the inputs so many times along their first dimension"
    )
    parser.add_argument("--repeat", type=int, default=30, help="rounds; default: 30")
    parser.add_argument("--without", action="append", default=[], choices=[*MODEL_RIVALS])
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    args.rivals = [name for name in MODEL_RIVALS if name not in args.without]
    models = [file.parent for file in sorted(args.folder.glob("*/io.npz"))]
    models = [m for m in models if (m / "saved_model.pb").exists()]
    models = [m for m in models if not args.only or args.only in m.name]
    if not models:
        sys.exit(f"bench: '{args.folder}' has no folder with a saved_model.pb and an io.npz")
    rows = [measure(model, args) for model in models]
    if args.json:
        print(json.dumps([row.as_json() for row in rows]))
    else:
        print_rows(rows, args.rivals, args.markdown)


if __name__ == "__main__":
    main()
