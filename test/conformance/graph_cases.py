"""Graphs that TensorFlow can run before and after passes, for graphs.py."""

import functools
import hashlib
import io
import json
import os
import pathlib
import tempfile
import types

import numpy as np

import treadle

SECONDS = 20


def tensorflow():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    return tf


def as_value(array):
    """Converts to a value with an exact dtype that is comparable by bytes."""
    array = np.asarray(array)
    return array if array.dtype.kind != "O" else array.astype(object)


class Outcomes:
    """The outcomes of a case's calls: values, or the class of an error."""

    def __init__(self):
        self.calls = []

    def add(self, call):
        try:
            self.calls.append([as_value(v) for v in call()])
        except Exception as error:
            self.calls.append(error)

    def difference(self, other, differs):
        """(kind, reason) of the first difference of `other`, or None."""
        for i, (want, got) in enumerate(zip(self.calls, other.calls, strict=True)):
            if isinstance(got, Exception):
                if type(want) is not type(got):
                    return ["refused", f"call {i}: {type(got).__name__}: {str(got)[:300]}"]
            elif isinstance(want, Exception):
                return ["different", f"call {i}: no error, expected {type(want).__name__}"]
            else:
                for w, g in zip(want, got, strict=True):
                    if reason := differs(w, g):
                        return ["different", f"call {i}: {reason}"]
        return None


def check_functions(library):
    """Refuses what the reader of SavedModels refuses, and a session does not."""
    for function in library.function:
        if "_input_shapes" not in function.attr:
            continue
        num_shapes = len(function.attr["_input_shapes"].list.shape)
        num_arguments = len(function.signature.input_arg)
        if num_shapes != num_arguments:
            raise ValueError(
                f"function '{function.signature.name}': {num_shapes} _input_shapes and "
                f"{num_arguments} arguments"
            )


def session_of(graph_def, optimized):
    tf = tensorflow()
    check_functions(graph_def.library)
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
    config.operation_timeout_in_ms = SECONDS * 1000
    config.inter_op_parallelism_threads = config.intra_op_parallelism_threads = 1
    if not optimized:
        config.graph_options.optimizer_options.opt_level = -1
        config.graph_options.rewrite_options.disable_meta_optimizer = True
    return graph, tf.compat.v1.Session(graph=graph, config=config)


def without_optimizers(content):
    """The graph with calls that ask for functions as they are."""
    tf = tensorflow()
    graph_def = tf.compat.v1.GraphDef.FromString(content)
    config = tf.compat.v1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    for nodes in (graph_def.node, *(f.node_def for f in graph_def.library.function)):
        for node in nodes:
            if "config_proto" in node.attr:
                node.attr["config_proto"].s = config.SerializeToString()
    return graph_def.SerializeToString()


class GraphCase:
    """A graph, and calls in one session. The values of feeds are arrays."""

    optimized = False

    def __init__(self, content, case):
        self.content, self.case = content, case

    @functools.cached_property
    def graph(self):
        return treadle.Graph.from_bytes(self.content)

    def converted(self, sequence):
        """The bytes of the graph after passes, or as Treadle gives it back without any."""
        graph = self.graph.run_passes(sequence) if sequence else self.graph
        return graph.to_bytes()

    def digest(self, content):
        """Equal for graphs that differ by the order of their nodes and functions alone."""
        graph_def = tensorflow().compat.v1.GraphDef.FromString(content)
        functions = graph_def.library.function
        for nodes in (graph_def.node, *(function.node_def for function in functions)):
            nodes.sort(key=lambda node: node.name)
        functions.sort(key=lambda function: function.signature.name)
        return hashlib.sha256(graph_def.SerializeToString(deterministic=True)).digest()

    def own_ops(self, content):
        """Ops that TensorFlow doesn't have."""
        from tensorflow.python.framework import op_def_registry

        graph = tensorflow().compat.v1.GraphDef.FromString(content)
        functions = {function.signature.name for function in graph.library.function}
        nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
        ops = {node.op for node in nodes} - functions
        return {op for op in ops if op_def_registry.get(op) is None}

    def run(self, content):
        """The outcomes of all calls; raises what loading raises."""
        graph_def = tensorflow().compat.v1.GraphDef.FromString(content)
        graph, session = session_of(graph_def, self.optimized)
        outcomes = Outcomes()
        with session:
            for call in self.case["calls"]:
                outcomes.add(lambda call=call: self.call(graph, session, call))
        return outcomes

    def call(self, graph, session, call):
        names, opaque = split_fetches(call)
        fetches = [graph.get_tensor_by_name(name) for name in names]
        targets = [graph.get_operation_by_name(name) for name in [*call["targets"], *opaque]]
        feeds = {f["tensor"]: f["value"] for f in call["feeds"]}
        return session.run(fetches + targets, feeds)[: len(fetches)]


def split_fetches(call):
    """Values that can be compared, and the nodes of handles, which only run."""
    values = call.get("expect", {}).get("values") or [{}] * len(call["fetches"])
    pairs = list(zip(call["fetches"], values, strict=True))
    return (
        [name for name, value in pairs if "opaque" not in value],
        [name.split(":")[0] for name, value in pairs if "opaque" in value],
    )


class CalledCase(GraphCase):
    """The same as a function that is called, as TensorFlow 2 runs its programs."""

    optimized = True

    def __init__(self, content, case):
        super().__init__(content, case)
        asked = {
            json.dumps([c["fetches"], c["targets"], [f["tensor"] for f in c["feeds"]]])
            for c in self.case["calls"]
        }
        if len(asked) > 1:
            raise ValueError("its calls ask for several things")
        self.wrap()

    def wrap(self):
        tf = tensorflow()
        call = self.case["calls"][0]
        graph_def = tf.compat.v1.GraphDef.FromString(self.content)
        whole = tf.compat.v1.wrap_function(lambda: tf.import_graph_def(graph_def, name=""), [])
        names, opaque = split_fetches(call)
        fed = [whole.graph.get_tensor_by_name(f["tensor"]) for f in call["feeds"]]
        fetched = [whole.graph.get_tensor_by_name(name) for name in names]
        targets = [whole.graph.get_operation_by_name(n) for n in [*call["targets"], *opaque]]
        function = whole.prune(fed, [fetched, targets])
        with tf.Graph().as_default() as graph:
            arguments = [
                tf.compat.v1.placeholder(t.dtype, t.shape, f"argument_{i}")
                for i, t in enumerate(fed)
            ]
            # A function that nothing but its effects is asked of has no results.
            results = tf.nest.flatten(function(*arguments))
            results = [r for r in results if isinstance(r, tf.Tensor)][: len(fetched)]
            results = [tf.identity(r, f"result_{i}") for i, r in enumerate(results)]
            calls = [op.name for op in graph.get_operations() if "PartitionedCall" in op.type]
        self.content = with_input_shapes(graph.as_graph_def(add_shapes=False)).SerializeToString()
        for call in self.case["calls"]:
            for i, feed in enumerate(call["feeds"]):
                feed["tensor"] = f"argument_{i}:0"
            call["fetches"] = [r.name for r in results]
            call["targets"] = calls
            call.pop("expect", None)


def with_input_shapes(graph_def):
    """Adds the attribute for input shapes that functions of SavedModels have."""
    for function in graph_def.library.function:
        if "_input_shapes" not in function.attr:
            shapes = function.attr["_input_shapes"].list.shape
            for _ in function.signature.input_arg:
                shapes.add().unknown_rank = True
    return graph_def


def corpus_case(replay, files):
    """(graph, case) of the files of one of the corpus's cases."""
    case = json.loads(files["case.json"])
    values = files.get("values.npz")
    npz = np.load(io.BytesIO(values)) if values else {}
    for call in case["calls"]:
        for feed in call["feeds"]:
            feed["value"] = replay.value(feed["value"], npz)
    return files["graph.pb"], case


def file_case(path):
    """(graph, case) of a graph in a file: its placeholders are ones, and whatever no other node
    uses is fetched."""
    tf = tensorflow()
    content = treadle.Graph.from_file(path).to_bytes()
    graph_def = tf.compat.v1.GraphDef.FromString(content)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    used = {name.lstrip("^").split(":")[0] for node in graph_def.node for name in node.input}
    call = {"feeds": [], "fetches": [], "targets": []}
    for op in graph.get_operations():
        if op.type == "Placeholder":
            call["feeds"].append({"tensor": op.outputs[0].name, "value": ones(op.outputs[0])})
        elif op.name not in used:
            opaque = any(o.dtype in (tf.resource, tf.variant) for o in op.outputs)
            if op.outputs and not opaque:
                call["fetches"] += [output.name for output in op.outputs]
            else:
                call["targets"].append(op.name)
    return content, {"calls": [call]}


def ones(tensor):
    """Returns ones with the type of a placeholder; unknown sizes are 2."""
    shape = [2 if size is None else size for size in tensor.shape or ()]
    if tensor.dtype == tensorflow().string:
        return np.full(shape, b"1", object)
    return np.ones(shape, tensor.dtype.as_numpy_dtype)


class SavedModelCase:
    """A SavedModel, each function of which is called with ones."""

    def __init__(self, folder):
        self.folder = folder

    case = types.MappingProxyType({"calls": ()})

    @functools.cached_property
    def graph(self):
        return treadle.Graph.from_file(self.folder)

    def converted(self, sequence):
        folder = pathlib.Path(tempfile.mkdtemp()) / "model"
        graph = self.graph.run_passes(sequence) if sequence else self.graph
        graph.to_file(folder)
        return str(folder)

    def digest(self, folder):
        files = sorted(p for p in pathlib.Path(folder).rglob("*") if p.is_file())
        return hashlib.sha256(b"".join(p.read_bytes() for p in files)).digest()

    def own_ops(self, folder):
        return set()

    def run(self, folder):
        tf = tensorflow()
        outcomes = Outcomes()
        model = tf.saved_model.load(str(folder))
        for name in sorted(model.signatures):
            outcomes.add(lambda name=name: self.call(model.signatures[name]))
        return outcomes

    def call(self, function):
        tf = tensorflow()
        given = {
            name: tf.ones([2 if d is None else d for d in spec.shape], spec.dtype)
            for name, spec in function.structured_input_signature[1].items()
        }
        results = function(**given)
        return [results[name].numpy() for name in sorted(results)]
