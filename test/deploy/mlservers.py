"""An MLServer of a test's own models, and Triton's clients for it."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import tritonclient.grpc
import tritonclient.http

DATATYPES = {
    "bool": "BOOL",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "float16": "FP16",
    "float32": "FP32",
    "float64": "FP64",
    "object": "BYTES",
}


class Client:
    """One of Triton's clients; that of REST is for one thread."""

    def __init__(self, server, protocol):
        self.server, self.protocol = server, protocol
        self.module = {"rest": tritonclient.http, "grpc": tritonclient.grpc}[protocol]
        port = {"rest": server.http, "grpc": server.grpc}[protocol]
        self.client = self.module.InferenceServerClient(f"127.0.0.1:{port}")
        # MLServer's REST has JSON alone.
        self.options = {"binary_data": False} if protocol == "rest" else {}

    def infer(self, model, inputs, outputs=None, **options):
        """Calls with arrays by name; outputs are the names of those that are wanted."""
        if outputs is not None:
            options["outputs"] = [
                self.module.InferRequestedOutput(name, **self.options) for name in outputs
            ]
        given = [self.input(name, array) for name, array in inputs.items()]
        return self.client.infer(model, given, **options)

    def input(self, name, array):
        value = self.module.InferInput(name, list(array.shape), DATATYPES[array.dtype.name])
        value.set_data_from_numpy(array, **self.options)
        return value


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


class Server:
    """An MLServer that serves a folder, with a process group of its own."""

    def __init__(self, folder, place, **settings):
        self.folder, self.log = folder, place / "log"
        self.http, self.grpc, self.metrics = free_ports(3)
        settings = {
            "host": "127.0.0.1",
            "http_port": self.http,
            "grpc_port": self.grpc,
            "metrics_port": self.metrics,
            "metrics_dir": place / "metrics",
            **settings,
        }
        self.environment = os.environ | {
            f"MLSERVER_{name.upper()}": str(value) for name, value in settings.items()
        }
        self.place = place
        self.start()

    def start(self):
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [pathlib.Path(sys.executable).parent / "mlserver", "start", self.folder],
                cwd=self.place,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        end = time.monotonic() + 120
        while not self.is_ready():
            assert self.process.poll() is None, self.text()
            assert time.monotonic() < end, self.text()
            time.sleep(0.1)

    def is_ready(self):
        try:
            return self.get("v2/health/ready")[0] == 200
        except urllib.error.URLError:
            return False

    def get(self, path, port=None):
        return self.request(f"http://127.0.0.1:{port or self.http}/{path}")

    def post(self, path, body):
        return self.request(
            urllib.request.Request(
                f"http://127.0.0.1:{self.http}/{path}",
                json.dumps(body).encode(),
                {"Content-Type": "application/json"},
            )
        )

    def request(self, request):
        """The status and the text of the answer."""
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def workers(self):
        """The processes that compute."""
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True
        )
        return [
            pid
            for pid in map(int, listed.stdout.split())
            if b"resource_tracker" not in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        ]

    def text(self):
        return self.log.read_text()[-6000:]

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def settings(name, uri, extra=None, **more):
    return {
        "name": name,
        "implementation": "treadle.mlserver.Runtime",
        "parameters": {"uri": str(uri), "extra": extra or {}},
        **more,
    }


def write_settings(folder, *models):
    for model in models:
        place = folder / model["name"]
        place.mkdir(parents=True)
        (place / "model-settings.json").write_text(json.dumps(model))
    return folder
