#!/usr/bin/env python3
"""Measures a served model beside the same one in ONNX Runtime: calls a second under MLServer.

One server has both, in one worker process, with one thread for a call. The same code takes requests
apart and puts answers together; only the call itself differs. Clients of Triton, of REST and gRPC,
ask for one row at a time, with MLServer's joining of requests and without. The two take turns; a
line gives the median of the rounds, and Treadle's over ONNX Runtime's (above 1: Treadle is faster).
The same follows for calls in a second of the worker's processor time, which other programs of the
machine disturb less.

    ./dev bench deploy
    ./dev bench deploy --only large --rounds 9 --markdown
"""

import argparse
import contextlib
import os
import pathlib
import statistics
import sys
import tempfile
import threading
import time

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "deploy"))
import deploy_models as models  # noqa: E402
import processes  # noqa: E402
from mlservers import Client, Server, settings, write_settings  # noqa: E402

# Dense layers with tanh between them: 17 thousand weights, and 5 million.
NETS = {"small": [64, 128, 64, 10], "large": [256, 2048, 2048, 256]}
RIVALS = {"onnx": "deploy_rival.OnnxRuntime", "treadle": "treadle.mlserver.Runtime"}
JOINED = {"each": {}, "joined": {"max_batch_size": 32, "max_batch_time": 0.002}}


def write_onnx(file, sizes):
    """The net of deploy_models.net."""
    nodes, constants, last = [], [], "x"
    for layer, (matrix, bias) in enumerate(models.weights(sizes)):
        if layer:
            nodes.append(onnx.helper.make_node("Tanh", [last], [f"tanh{layer}"]))
            last = f"tanh{layer}"
        constants += [
            onnx.numpy_helper.from_array(matrix, f"matrix{layer}"),
            onnx.numpy_helper.from_array(bias, f"bias{layer}"),
        ]
        result = "y" if layer == len(sizes) - 2 else f"layer{layer}"
        nodes.append(
            onnx.helper.make_node("Gemm", [last, f"matrix{layer}", f"bias{layer}"], [result])
        )
        last = result
    x, y = (
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["rows", size])
        for name, size in (("x", sizes[0]), ("y", sizes[-1]))
    )
    graph = onnx.helper.make_graph(nodes, "net", [x], [y], constants)
    opset = onnx.helper.make_opsetid("", 17)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8), file)
    return file


def write_models(place):
    for net, sizes in NETS.items():
        files = {
            "treadle": models.net(place / net, sizes),
            "onnx": write_onnx(place / f"{net}.onnx", sizes),
        }
        for rival, implementation in RIVALS.items():
            for way, joined in JOINED.items():
                extra = {"threads": 1} if rival == "treadle" else {}
                model = settings(f"{net}_{way}_{rival}", files[rival], extra, **joined)
                yield model | {"implementation": implementation}


@contextlib.contextmanager
def served():
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT / "bench"), os.environ.get("PYTHONPATH", "")]
    )
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        folder = write_settings(place / "models", *write_models(place / "saved"))
        server = Server(folder, place, debug="false")
        try:
            yield server
        finally:
            server.kill()


def calls_a_second(server, protocol, model, sizes, clients, seconds):
    """Measures the calls per second of all clients together, and per second of the worker's CPU
    time.

    Each answer is compared with numpy's.
    """
    x = np.random.default_rng(3).standard_normal((1, sizes[0])).astype(np.float32)
    expected = models.answer_of_net(x, sizes)
    counts, failures = [0] * clients, []
    end = time.perf_counter() + seconds

    def work(number):
        try:
            client = Client(server, protocol)
            while time.perf_counter() < end:
                y = client.infer(model, {"x": x}).as_numpy("y")
                np.testing.assert_allclose(y, expected, rtol=1e-3, atol=1e-3)
                counts[number] += 1
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=[number]) for number in range(clients)]
    [worker] = server.workers()
    start, used = time.perf_counter(), processes.seconds(worker)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        sys.exit(f"bench: {model} by {protocol}: {failures[0]}")
    used = processes.seconds(worker) - used
    return sum(counts) / (time.perf_counter() - start), sum(counts) / used


def measure(server, net, protocol, way, args):
    """Calls a second, and in a second of processor time, by rival."""
    rates = {rival: [] for rival in RIVALS}
    for number in range(args.rounds + 1):
        for rival in [*RIVALS][:: 1 if number % 2 else -1]:
            found = calls_a_second(
                server, protocol, f"{net}_{way}_{rival}", NETS[net], args.clients, args.seconds
            )
            if number:  # the first round warms up
                rates[rival].append(found)
    return {
        rival: [statistics.median(column) for column in zip(*found, strict=True)]
        for rival, found in rates.items()
    }


def main():
    parser = argparse.ArgumentParser(
        prog="./dev bench deploy",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", choices=NETS, help="only this net")
    parser.add_argument("--clients", type=int, default=8, help="concurrent clients; default: 8")
    parser.add_argument("--rounds", type=int, default=8, help="default: 8")
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="duration of a round; default: 1"
    )
    parser.add_argument("--markdown", action="store_true")
    args = parser.parse_args()
    heads = ["calls a second", "ONNX Runtime", "Treadle", "ratio"]
    heads += ["ONNX Runtime, worker", "Treadle, worker", "ratio"]
    if args.markdown:
        print("| " + " | ".join(heads) + " |\n" + "| --- " * len(heads) + "|")
    else:
        print(f"{heads[0]:<24}" + "".join(f"{head:>22}" for head in heads[1:]))
    with served() as server:
        for net in [args.only] if args.only else NETS:
            for protocol in ("rest", "grpc"):
                for way in JOINED:
                    found = measure(server, net, protocol, way, args)
                    print_row(name_of(net, protocol, way), found, args.markdown)


def name_of(net, protocol, way):
    joined = ", joined" if way == "joined" else ""
    return f"{net}, {'REST' if protocol == 'rest' else 'gRPC'}{joined}"


def print_row(name, found, markdown):
    cells = []
    for onnx_runtime, treadle in zip(found["onnx"], found["treadle"], strict=True):
        cells += [f"{onnx_runtime:,.0f}", f"{treadle:,.0f}", f"{treadle / onnx_runtime:.2f}"]
    if markdown:
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    else:
        print(f"{name:<24}" + "".join(f"{cell:>22}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
