#!/usr/bin/env python3
"""Measures how soon a process has its first answer from a SavedModel: with Treadle, and with ONNX
Runtime, OpenVINO and LiteRT, whose own formats it is converted to beforehand.

    ./dev bench first FOLDER                    the models that all can run, of what is there
    ./dev bench first FOLDER --only mobilenet_v2 --repeat 15

Each process is a new Python that imports numpy, then the runtime, loads the model and calls it
twice; they run in turn. Printed are the fastest milliseconds of each step.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from model_rivals import agrees, openvino_of, to_onnx
from models import first_call

STEPS = ("import", "load", "first call", "second call")

PROGRAM = """
import json, sys, time
import numpy as np
inputs = dict(np.load(sys.argv[2], allow_pickle=True))
times = [time.perf_counter()]
def done(): times.append(time.perf_counter())
{body}
call(); done()
call(); done()
print(json.dumps([1e3 * (b - a) for a, b in zip(times, times[1:])]))
"""

BODIES = {
    "Treadle": """
import treadle; done()
serve = treadle.load(sys.argv[1], threads={threads}).signatures["serving_default"]; done()
call = lambda: serve(**inputs)
""",
    "ONNX Runtime": """
import onnxruntime; done()
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = {threads}
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
done()
feeds = {f"{key}:0": value for key, value in inputs.items()}
call = lambda: session.run(None, feeds)
""",
    "OpenVINO": """
import openvino as ov; done()
compiled = ov.Core().compile_model(sys.argv[1], "CPU", {"INFERENCE_NUM_THREADS": {threads},
                                   "INFERENCE_PRECISION_HINT": "f32"})
request = compiled.create_infer_request(); done()
named = lambda port: next(v for k, v in inputs.items() if port.names & {k, f"{k}:0"})
feeds = {i: named(port) for i, port in enumerate(compiled.inputs)}
call = lambda: request.infer(feeds)
""",
    "LiteRT": """
from ai_edge_litert.interpreter import Interpreter; done()
interpreter = Interpreter(sys.argv[1], num_threads={threads})
runner = interpreter.get_signature_runner("serving_default"); done()
call = lambda: runner(**inputs)
""",
}


def convert(model, folder):
    """The files that the rivals load, by rival; without those that can't run the model."""
    import numpy as np
    import openvino as ov
    import tensorflow as tf

    files = {"Treadle": model.folder}
    np.savez(folder / "in.npz", **model.inputs)
    try:
        onnx = to_onnx(model.folder)
        (folder / "model.onnx").write_bytes(onnx)
        files["ONNX Runtime"] = folder / "model.onnx"
        if agrees(openvino_of(model, onnx, 1)(), model.outputs):
            ov.save_model(ov.Core().read_model(onnx), folder / "model.xml", compress_to_fp16=False)
            files["OpenVINO"] = folder / "model.xml"
    except Exception as error:  # the converter's own, of many kinds
        print(f"{model.folder.name}: not in ONNX: {error}", file=sys.stderr)
    try:
        lite = tf.lite.TFLiteConverter.from_saved_model(str(model.folder)).convert()
        (folder / "model.tflite").write_bytes(lite)
        files["LiteRT"] = folder / "model.tflite"
    except Exception as error:
        print(f"{model.folder.name}: not in LiteRT's format: {error}", file=sys.stderr)
    return files


def run(name, path, inputs, threads):
    program = PROGRAM.replace("{body}", BODIES[name]).replace("{threads}", str(threads))
    words = [sys.executable, "-c", program, str(path), str(inputs)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{name}: {done.stderr.strip()[-200:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def measure(folder, args):
    model = first_call(folder)
    with tempfile.TemporaryDirectory() as scratch:
        files = convert(model, pathlib.Path(scratch))
        times = {name: [] for name in files}
        for _ in range(args.repeat):
            for name, path in files.items():
                if taken := run(name, path, pathlib.Path(scratch) / "in.npz", args.threads):
                    times[name].append([*taken, sum(taken[:3])])
    for name, rows in times.items():
        if rows:
            best = [f"{min(column):>12.1f}" for column in zip(*rows, strict=True)]
            print(f"{folder.name:<16}{name:<14}" + "".join(best))
        else:
            print(f"{folder.name:<16}{name:<14}can't")


def main():
    parser = argparse.ArgumentParser(
        prog="./dev bench first",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="", help="only models with this in their names")
    parser.add_argument(
        "--threads", type=int, default=2, help="threads of each runtime; default: 2"
    )
    parser.add_argument("--repeat", type=int, default=9, help="processes of each; default: 9")
    args = parser.parse_args()
    heads = [*STEPS, "first answer"]
    print(f"{'ms':<30}" + "".join(f"{head:>12}" for head in heads))
    for folder in sorted(args.folder.iterdir()):
        if (folder / "io.npz").exists() and args.only in folder.name:
            measure(folder, args)


if __name__ == "__main__":
    main()
