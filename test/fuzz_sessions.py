"""Runs graphs with something wrong in each, and looks for crashes, hangs and errors of no class.

    fuzz_sessions.py [--seconds N] [--jobs N] [--only SUBSTRING] [--first-seed N]
    fuzz_sessions.py --case NAME --seed N [--save FILE.pb]      one of them again

Each graph is one that runs, changed at random in a few places: dtypes, sizes, shapes, constants,
inputs, ops, attributes that are missing or of another kind, and feeds. Where the captured sessions
of TensorFlow's tests are at hand (TREADLE_SHARED, or ../shared, holds corpus/) it starts from
those, else from the few graphs of this repository. They run in processes with little memory.
"""

import argparse
import base64
import collections
import io
import json
import os
import pathlib
import queue
import random
import resource
import struct
import subprocess
import sys
import tarfile
import threading
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
CORPUS = pathlib.Path(os.environ.get("TREADLE_SHARED", ROOT.parent / "shared")) / "corpus"
TIMEOUT = 1.0  # seconds that a run may take
PATIENCE = 120.0  # seconds after which a process that says nothing hangs; machines may be busy
MEMORY = 3 << 30

# --- protobuf's wire format, as far as GraphDef needs it ------------------------------------------


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def parse(data):
    """A message's fields in order: [number, wire type, integer or bytes]."""
    fields, at = [], 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = read_varint(data, at)
        else:
            size = 8 if wire == 1 else 4
            if wire == 2:
                size, at = read_varint(data, at)
            value, at = bytes(data[at : at + size]), at + size
        fields.append([number, wire, value])
    return fields


def serialize(fields):
    out = bytearray()
    for number, wire, value in fields:
        out += varint(number << 3 | wire)
        if wire == 2:
            out += varint(len(value))
        out += varint(value) if wire == 0 else value
    return bytes(out)


def first(fields, number, otherwise=b""):
    return next((value for n, _, value in fields if n == number), otherwise)


class Node:
    """A NodeDef: fields 1 name, 2 op, 3 input, 5 attr."""

    def __init__(self, data):
        fields = parse(data)
        self.rest = [field for field in fields if field[0] not in (2, 3, 5)]
        self.name, self.op = first(fields, 1), first(fields, 2)
        self.inputs = [value for number, _, value in fields if number == 3]
        entries = [parse(value) for number, _, value in fields if number == 5]
        self.attrs = {first(entry, 1): parse(first(entry, 2)) for entry in entries}

    def serialize(self):
        attrs = [
            [5, 2, serialize([[1, 2, key], [2, 2, serialize(value)]])]
            for key, value in self.attrs.items()
        ]
        inputs = [[3, 2, value] for value in self.inputs]
        return serialize([*self.rest, [2, 2, self.op], *inputs, *attrs])


# --- faults ------------------------------------------------------------------------------

# Fields of AttrValue and of TensorProto.
LIST, TEXT, INT, FLOAT, BOOL, TYPE, SHAPE, TENSOR = 1, 2, 3, 4, 5, 6, 7, 8
DTYPE, TENSOR_SHAPE = 1, 2
DTYPES = [*range(0, 31), 101, 105, 120, -1]
NUMBERS = [0, 1, 2, 3, 5, 7, 31, 1000, -1, -2, -5]
NUMBERS += [1 << 31, (1 << 31) - 1, -(1 << 31), (1 << 63) - 1, -(1 << 63), 1 << 40]
FLOATS = [0.0, -0.0, 1.0, -1.0, 1e-40, 3e38, float("nan"), float("inf"), float("-inf")]
TEXTS = [b"", b"VALID", b"SAME", b"EXPLICIT", b"NCHW", b"NHWC", b"ij,jk->ik", b"ii->i", b"...,->"]
TEXTS += [b"max", b"\xff\xfe", b"a" * 300, b"reflect", b"SYMMETRIC", b"REFLECT", b"MIN_COMBINED"]


def shape_of(rng):
    """The bytes of a TensorShapeProto."""
    if rng.random() < 0.1:
        return serialize([[3, 0, 1]])
    sizes = [rng.choice([0, 1, 2, 3, 4, rng.choice(NUMBERS)]) for _ in range(rng.randrange(5))]
    return serialize([[2, 2, serialize([[1, 0, size]])] for size in sizes])


def change_tensor(rng, data):
    fields = parse(data)
    what = rng.randrange(4)
    if what == 0:
        return serialize([[DTYPE, 0, rng.choice(DTYPES)], *(f for f in fields if f[0] != DTYPE)])
    if what == 1:
        others = [f for f in fields if f[0] != TENSOR_SHAPE]
        return serialize([*others, [TENSOR_SHAPE, 2, shape_of(rng)]])
    values = [f for f in fields if f[0] not in (DTYPE, TENSOR_SHAPE)]
    if not values:
        return data
    field = rng.choice(values)
    if field[1] == 0:
        field[2] = rng.choice(NUMBERS)
    elif what == 2:
        field[2] = change_bytes(rng, field[2])
    elif field[1] == 2 and rng.random() < 0.5:
        field[2] = field[2][: rng.randrange(len(field[2]) + 1)]
    return serialize(fields)


def change_bytes(rng, data):
    """Numbers of either width and order; the size stays."""
    for pattern, pool in ((">q", NUMBERS), ("<i", NUMBERS), ("<q", NUMBERS), ("<f", FLOATS)):
        size = struct.calcsize(pattern)
        if len(data) >= size and rng.random() < 0.5:
            at = rng.randrange(len(data) // size) * size
            value = rng.choice(pool)
            if pattern == "<i":
                value = (value + (1 << 31)) % (1 << 32) - (1 << 31)
            return data[:at] + struct.pack(pattern, value) + data[at + size :]
    return bytes(rng.randrange(256) for _ in data[:64]) + data[64:]


def change_list(rng, data):
    fields = parse(data)
    if not fields:
        return data
    at, what = rng.randrange(len(fields)), rng.randrange(4)
    number, wire, value = fields[at]
    if what == 0:
        del fields[at]
    elif what == 1:
        fields.insert(at, [number, wire, value])
    elif wire == 0:
        fields[at][2] = rng.choice(DTYPES if number == TYPE else NUMBERS)
    elif number in (INT, TYPE):  # packed varints
        pool = DTYPES if number == TYPE else NUMBERS
        size = rng.choice([len(value), rng.randrange(6)])
        fields[at][2] = b"".join(
            varint(rng.choice(pool)) if rng.random() < 0.5 else varint(value[i % len(value)])
            for i in range(size if value else 0)
        )
    elif number == SHAPE:
        fields[at][2] = shape_of(rng)
    return serialize(fields)


def change_attr(rng, value):
    """Another value of the same kind, mostly."""
    if not value or rng.random() < 0.05:
        return rng.choice([[], [[INT, 0, 1]], [[TYPE, 0, 1]], [[TEXT, 2, b"x"]], [[BOOL, 0, 1]]])
    number, wire, old = value[0]
    new = {
        LIST: lambda: change_list(rng, old),
        TEXT: lambda: rng.choice(TEXTS),
        INT: lambda: rng.choice(NUMBERS),
        FLOAT: lambda: struct.pack("<f", rng.choice(FLOATS)),
        BOOL: lambda: 1 - old,
        TYPE: lambda: rng.choice(DTYPES),
        SHAPE: lambda: shape_of(rng),
        TENSOR: lambda: change_tensor(rng, old),
    }.get(number, lambda: old)()
    return [[number, wire, new]]


def change_node(rng, nodes, node):
    what = rng.random()
    if what < 0.55 and node.attrs:
        key = rng.choice(list(node.attrs))
        node.attrs[key] = change_attr(rng, node.attrs[key])
        if rng.random() < 0.3:  # the same dtype everywhere gets further
            for other in nodes:
                if key in other.attrs and rng.random() < 0.8:
                    other.attrs[key] = node.attrs[key]
    elif what < 0.6 and node.attrs:
        del node.attrs[rng.choice(list(node.attrs))]
    elif what < 0.85 and node.inputs:
        source = rng.choice(nodes)
        at = rng.randrange(len(node.inputs))
        suffix = rng.choice([b"", b"", b"", b":1", b":9"])
        node.inputs[at] = rng.choice([b"", b"", b"", b"^"]) + source.name + suffix
    elif what < 0.9 and node.inputs:
        node.inputs.pop() if rng.random() < 0.5 else node.inputs.append(node.inputs[-1])
    else:
        node.op = rng.choice(nodes).op


def constants(nodes):
    return [node for node in nodes if node.op == b"Const"]


def mutate(rng, graph):
    """Returns the graph with a few changes; functions are unchanged."""
    fields = parse(graph)
    nodes = [Node(value) for number, _, value in fields if number == 1]
    if not nodes:
        return graph
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        consts = constants(nodes)
        if consts and rng.random() < 0.4:
            node = rng.choice(consts)
            node.attrs[b"value"] = change_attr(rng, node.attrs.get(b"value", []))
        else:
            change_node(rng, nodes, rng.choice(nodes))
    rest = [field for field in fields if field[0] != 1]
    return serialize([*([1, 2, node.serialize()] for node in nodes), *rest])


def change_feed(rng, array):
    what = rng.randrange(5)
    if what == 0 and array.ndim:
        return array[: rng.randrange(array.shape[0] + 1)]
    if what == 1:
        return array.reshape([1, *array.shape])
    if what == 2 and array.size:
        return array.reshape(-1)[0]
    if what == 3 and array.dtype.kind in "iu":
        info = np.iinfo(array.dtype)
        array = array.copy()
        array[...] = rng.choice([info.min, info.max, 0, 1, -1 if info.min else 3])
        return array
    return np.zeros([rng.randrange(4) for _ in array.shape], array.dtype)


def mutate_calls(rng, calls):
    return [
        ({k: change_feed(rng, v) if rng.random() < 0.1 else v for k, v in feeds.items()}, *rest)
        for feeds, *rest in calls
    ]


# --- graphs to start from -------------------------------------------------------------------------


def array_of(value, arrays):
    """A feed of case.json; None for what has no array."""
    if "b64" in value:
        array = np.empty(len(value["b64"]), object)
        array[:] = [base64.b64decode(text) for text in value["b64"]]
        return array.reshape(value["shape"])
    if "npz" not in value:
        return None
    array = arrays[value["npz"]]
    if "stored_as" in value:
        import ml_dtypes

        array = array.view(np.dtype(getattr(ml_dtypes, value["dtype"])))
    return array.reshape(value["shape"])


def calls_of(case, arrays):
    calls = []
    for call in case["calls"]:
        feeds = {feed["tensor"]: array_of(feed["value"], arrays) for feed in call["feeds"]}
        feeds = {name: array for name, array in feeds.items() if array is not None}
        calls.append((feeds, call["fetches"], call["targets"]))
    return calls


def captured(path):
    """(name, graph, calls) of each session of an archive."""
    files = collections.defaultdict(dict)
    with tarfile.open(path, "r:xz") as archive:
        for member in archive:
            folder, name = member.name.rsplit("/", 1)
            files[folder][name] = archive.extractfile(member).read()
    for folder, parts in files.items():
        stored = parts.get("values.npz")
        arrays = np.load(io.BytesIO(stored)) if stored else {}
        calls = calls_of(json.loads(parts["case.json"]), arrays)
        yield f"{path.name}/{folder}", parts["graph.pb"], calls


def own(path):
    import treadle

    graph = treadle.Graph.from_file(path)
    feeds = {value.name: np.zeros([], np.int32) for value in graph.inputs()}
    yield path.name, graph.to_bytes(), [(feeds, [v.name for v in graph.outputs()], [])]


def sources(only):
    """Returns the sources of graphs: files, with their readers."""
    archives = sorted((CORPUS / "cases").glob("*.tar.xz"))
    paths = archives or sorted([*ROOT.glob("fuzz/seeds/*.pbtxt"), *ROOT.glob("examples/*.pbtxt")])
    return [path for path in paths if only in path.name] or paths


def graphs_of(path):
    return captured(path) if path.name.endswith(".tar.xz") else own(path)


# --- processes that run them ----------------------------------------------------------------------


def run_one(name, graph, calls, seed, save=None):
    """Describes the fault of a run, or "" if it returned values or a proper error."""
    import treadle

    rng = random.Random(f"{name} {seed}")
    graph, calls = mutate(rng, graph), mutate_calls(rng, calls)
    if save:
        pathlib.Path(save).write_bytes(graph)
    try:
        session = treadle.Session(graph, timeout=TIMEOUT, threads=rng.choice([1, 2]))
    except treadle.Error as error:
        return blame(error)
    for feeds, fetches, targets in calls:
        start, is_late = time.process_time(), False
        try:
            session.run(fetches, feeds, targets)
        except treadle.Error as error:
            if text := blame(error):
                return text
            is_late = isinstance(error, treadle.DeadlineExceededError)
        took = time.process_time() - start  # of two threads
        if took > 2 * TIMEOUT + 4:
            return f"worked for {took:.1f} s, with a timeout of {TIMEOUT} s"
        if is_late:  # later calls may wait for effects that this one lacks
            break
    return ""


def blame(error):
    import treadle

    if type(error) in (treadle.Error, treadle.InternalError, treadle.UnknownError):
        return f"{type(error).__name__}: {error}"
    return ""


def limit_memory():
    # A thread's stack and arena count in full, however little of them is used.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def work():
    """Takes paths and seeds from standard input, and says what it does line by line."""
    limit_memory()
    for line in sys.stdin:
        path, seed, skip = json.loads(line)
        for i, (name, graph, calls) in enumerate(graphs_of(pathlib.Path(path))):
            if i < skip:
                continue
            print(json.dumps(["begin", i, name, seed]), flush=True)
            try:
                problem = run_one(name, graph, calls, seed)
            except BaseException as error:  # nothing but treadle.Error is expected
                problem = f"{type(error).__name__}: {error}"
            print(json.dumps(["end", i, name, seed, problem]), flush=True)
        print(json.dumps(["done"]), flush=True)


class Worker:
    """A process, and a thread that reads what it says."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.lines = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(["gone"])

    def stop(self):
        self.process.kill()
        self.process.wait()


class Fuzz:
    """Hands out files to workers until the time is over, and keeps what they found."""

    def __init__(self, paths, seconds, first_seed):
        self.end = time.monotonic() + seconds
        self.findings, self.runs, self.lock = [], 0, threading.Lock()
        self.work = ((path, seed) for seed in range(first_seed, 1 << 30) for path in paths)

    def take(self):
        with self.lock:
            return next(self.work)

    def note(self, what, name, seed):
        with self.lock:
            self.findings.append((what, name, seed))
            print(f"{what}\n    --case {name} --seed {seed}", flush=True)

    def loop(self):
        worker = Worker()
        while time.monotonic() < self.end:
            path, seed = self.take()
            skip = 0
            while skip is not None and time.monotonic() < self.end:
                skip = self.file(worker, path, seed, skip)
                if skip is not None:
                    worker.stop()
                    worker = Worker()
        worker.stop()

    def file(self, worker, path, seed, skip):
        """Returns None if the worker finished; otherwise the graph to continue with, in another
        worker."""
        worker.process.stdin.write(json.dumps([str(path), seed, skip]) + "\n")
        worker.process.stdin.flush()
        at, name = skip, str(path)
        while time.monotonic() < self.end:
            try:
                what, *rest = worker.lines.get(timeout=PATIENCE)
            except queue.Empty:
                self.note(f"no answer for {PATIENCE} s", name, seed)
                return at + 1
            if what == "done":
                return None
            if what == "gone":
                self.note(f"crash: exit status {worker.process.wait()}", name, seed)
                return at + 1
            at, name = rest[0], rest[1]
            if what == "end":
                self.runs += 1
                if rest[3]:
                    self.note(rest[3], name, seed)
        return None


def fuzz(seconds, jobs, only, first_seed):
    todo = Fuzz(sources(only), seconds, first_seed)
    threads = [threading.Thread(target=todo.loop) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{todo.runs} graphs, {len(todo.findings)} findings")
    return todo


def again(name, seed, save):
    file, _, folder = name.partition("/")
    path = next(path for path in sources("") if path.name == file)
    limit_memory()
    for found, graph, calls in graphs_of(path):
        if found == name:
            print(run_one(name, graph, calls, seed, save) or "nothing wrong")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="archives whose names hold this")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--case", help="run this one again, with --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", help="write the graph of --case here")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        work()
    elif args.case:
        again(args.case, args.seed, args.save)
    else:
        sys.exit(bool(fuzz(args.seconds, args.jobs, args.only, args.first_seed).findings))


if __name__ == "__main__":
    main()
