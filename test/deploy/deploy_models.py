"""Small SavedModels that the tests and `./dev bench deploy` serve."""

import pathlib
import tempfile

import numpy as np

import treadle

# TensorFlow's names of dtypes.
KINDS = {
    "bool": "DT_BOOL",
    "int8": "DT_INT8",
    "int16": "DT_INT16",
    "int32": "DT_INT32",
    "int64": "DT_INT64",
    "uint8": "DT_UINT8",
    "uint16": "DT_UINT16",
    "uint32": "DT_UINT32",
    "uint64": "DT_UINT64",
    "float16": "DT_HALF",
    "float32": "DT_FLOAT",
    "float64": "DT_DOUBLE",
    "complex64": "DT_COMPLEX64",
    "string": "DT_STRING",
}


def write_saved_model(folder, builder, signatures, init=None):
    """Writes a graph as a SavedModel. A signature is a pair of dicts, of its inputs and outputs:
    tuples of a value, its dtype and its shape by key. `init` is a node to run after loading."""
    definitions = "".join(
        f'signature_def {{ key: "{name}" value {{ {tensors("inputs", inputs)}'
        f" {tensors('outputs', outputs)} }} }}\n"
        for name, (inputs, outputs) in signatures.items()
    )
    if init:
        key = "__saved_model_init_op"
        value = f'outputs {{ key: "{key}" value {{ name: "{init}" }} }}'
        definitions += f'signature_def {{ key: "{key}" value {{ {value} }} }}\n'
    with tempfile.TemporaryDirectory() as place:
        file = pathlib.Path(place) / "graph.pbtxt"
        builder.build().to_file(file)
        graph = file.read_text()
    folder.mkdir(parents=True)
    (folder / "saved_model.pbtxt").write_text(
        f'meta_graphs {{ meta_info_def {{ tags: "serve" }}\n'
        f"graph_def {{\n{graph}}}\n{definitions}}}\n"
    )
    return folder


def tensors(field, values):
    texts = []
    for key, (value, dtype, shape) in values.items():
        sizes = " ".join(f"dim {{ size: {-1 if size is None else size} }}" for size in shape)
        info = f'name: "{value.name}" dtype: {KINDS[dtype]} tensor_shape {{ {sizes} }}'
        texts.append(f'{field} {{ key: "{key}" value {{ {info} }} }}')
    return " ".join(texts)


def identity(folder, dtype, shape=(None,)):
    """Gives what it gets: input x, output y."""
    g = treadle.Builder()
    x = g.placeholder("x", dtype, list(shape))
    y = g.op("Identity", [x])
    signature = ({"x": (x, dtype, shape)}, {"y": (y, dtype, shape)})
    return write_saved_model(folder, g, {"serving_default": signature})


def weights(sizes, seed=0):
    """Returns the weights of a net of dense layers: a matrix and a bias for each."""
    random = np.random.default_rng(seed)
    for rows, columns in zip(sizes, sizes[1:], strict=False):
        matrix = random.standard_normal((rows, columns)) / np.sqrt(rows)
        yield matrix.astype(np.float32), random.standard_normal(columns).astype(np.float32)


def net(folder, sizes):
    """Dense layers with tanh between them: x[?, first] -> y[?, last]."""
    g = treadle.Builder()
    x = y = g.placeholder("x", "float32", [None, sizes[0]])
    for layer, (matrix, bias) in enumerate(weights(sizes)):
        y = g.op("BiasAdd", [g.op("MatMul", [g.op("Tanh", [y]) if layer else y, matrix]), bias])
    signature = (
        {"x": (x, "float32", (None, sizes[0]))},
        {"y": (y, "float32", (None, sizes[-1]))},
    )
    return write_saved_model(folder, g, {"serving_default": signature})


def answer_of_net(x, sizes):
    """Computes the result of `net` with numpy."""
    for layer, (matrix, bias) in enumerate(weights(sizes)):
        x = (np.tanh(x) if layer else x) @ matrix + bias
    return x


def holding(folder, floats):
    """A model that holds a variable of so many floats: y is x plus its first element, 1."""
    g = treadle.Builder()
    x = g.placeholder("x", "float32", [None])
    held = g.variable("held", lambda: g.op("Fill", [[floats], np.float32(1)]))
    y = x + held.read()[0]
    signature = ({"x": (x, "float32", (None,))}, {"y": (y, "float32", (None,))})
    return write_saved_model(folder, g, {"serving_default": signature}, init="init")


def calls(folder):
    """Gives the number of its calls, for each element of x; as complex numbers by "complex"."""
    g = treadle.Builder()
    x = g.placeholder("x", "float32", [None])
    seen = g.variable("seen", np.float32(0))
    seen.assign_add(np.float32(1))
    y = x * 0.0 + seen.read()
    given = {"x": (x, "float32", (None,))}
    signatures = {
        "serving_default": (given, {"y": (y, "float32", (None,))}),
        "complex": (given, {"y": (g.cast(y, "complex64"), "complex64", (None,))}),
    }
    return write_saved_model(folder, g, signatures, init="init")


def halves(folder):
    """Gives every other element of x."""
    g = treadle.Builder()
    x = g.placeholder("x", "float32", [None])
    y = x[::2]
    signature = ({"x": (x, "float32", (None,))}, {"y": (y, "float32", (None,))})
    return write_saved_model(folder, g, {"serving_default": signature})


def counting(folder):
    """A loop of n iterations, which takes as long as is asked for: n -> n."""
    g = treadle.Builder()
    n = g.placeholder("n", "int64", [])
    with g.while_loop(i=np.int64(0)) as loop:
        loop.condition(loop.i < n)
        loop.i += np.int64(1)
    signature = ({"n": (n, "int64", ())}, {"count": (loop.i, "int64", ())})
    return write_saved_model(folder, g, {"serving_default": signature})
