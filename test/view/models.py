"""The models that the page is tried with: each function writes one into a folder."""

import os
import pathlib
import re

import numpy as np

import treadle

ROOT = pathlib.Path(__file__).parent.parent.parent
SHARED = pathlib.Path(os.environ.get("TREADLE_SHARED", ROOT.parent / "shared"))


def countdown(_):
    return ROOT / "examples" / "countdown.pbtxt"


def nested(folder):
    """The loop in a loop of docs/frames.md."""
    text = (ROOT / "docs" / "frames.md").read_text()
    program = re.search(r"^```mlir file=nested\.mlir\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    file = folder / "nested.mlir"
    file.write_text(program[1])
    return file


def jax(_):
    return ROOT / "examples" / "simulator" / "pendulum.mlir"


def resnet50(_):
    """Returns None if the models are missing."""
    folder = SHARED / "models" / "resnet50"
    return folder if folder.exists() else None


def saved(graph, folder, name):
    file = folder / f"{name}.pb"
    graph.to_file(str(file))
    return file


def beam_search(folder):
    """Keeps the best texts, word by word."""
    words, beams, length = 12, 3, 6
    random = np.random.default_rng(5)
    g = treadle.Builder()
    likely = g.constant(random.normal(0, 1, (words, words)).astype(np.float32), name="likely")
    scores, texts = np.zeros(beams, np.float32), np.zeros((beams, length), np.int32)
    with g.while_loop(i=0, scores=scores, texts=texts, name="search") as loop:
        loop.condition(loop.i < length - 1)
        last = g.op("GatherV2", [loop.texts, loop.i, 1], name="last")
        steps = g.op("GatherV2", [likely, last, 0], name="steps")
        all_scores = g.op("Reshape", [loop.scores[:, None] + steps, [-1]], name="all_scores")
        best, places = g.op("TopKV2", [all_scores, beams], name="best")
        kept = g.op("GatherV2", [loop.texts, places // words, 0], name="kept")
        is_next = g.op("Equal", [g.op("Range", [0, length, 1]), loop.i + 1], name="is_next")
        word = g.op("FloorMod", [places, words], name="word")[:, None]
        loop.texts = g.op("SelectV2", [is_next, word, kept], name="texts")
        loop.scores = best
        loop.i += 1
    return saved(g.build(), folder, "beam_search")


def write_step(exchange=None):
    """A net of two layers, and the step that trains it; each gradient goes through `exchange`."""
    g = treadle.Builder()
    x, y = g.placeholder("x", "float32", [8, 16]), g.placeholder("y", "float32", [8, 4])
    with g.scope("layer1"):
        w1 = g.variable("weights", np.full((16, 16), 0.1, np.float32))
        hidden = g.op("Relu", [x @ w1.read()], name="out")
    with g.scope("layer2"):
        w2 = g.variable("weights", np.full((16, 4), 0.1, np.float32))
        error = g.op("Sub", [hidden @ w2.read(), y], name="error")
    loss = g.op("Mean", [error * error, [0, 1]], name="loss")
    for number, (variable, gradient) in enumerate(
        zip((w1, w2), g.gradients(loss, [w1, w2]), strict=True)
    ):
        with g.scope(f"update{number + 1}"):
            mean = exchange(g, gradient, number) if exchange else gradient
            variable.assign_sub(0.1 * mean)
    g.effects(name="step")
    return g.build()


def training(folder):
    return saved(write_step(), folder, "training")


def mean_of_ranks(g, gradient, number):
    return g.op(
        "CollectiveReduceV2",
        [gradient, 2, 1, number + 1],
        merge_op="Add",
        final_op="Div",
        name="mean",
    )


def distributed(folder):
    return saved(write_step(mean_of_ranks), folder, "distributed")


# --- graphs that are written byte by byte: of too many nodes, or of too strange ones ---


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def type_attr(key, code=1):
    return field(5, field(1, key) + field(2, b"\x30" + varint(code)))


FLOAT = type_attr(b"T")


def node(name, op, inputs=(), attrs=FLOAT):
    content = field(1, name.encode()) + field(2, op.encode())
    content += b"".join(field(3, text.encode()) for text in inputs)
    return field(1, content + attrs)


PLACEHOLDER = type_attr(b"dtype")


def large(folder, count):
    """Towers of blocks of layers, as nets have them."""
    file = folder / f"large{count}.pb"
    with file.open("wb") as out:
        out.write(node("x", "Placeholder", attrs=PLACEHOLDER))
        towers, layers, ops = 4, 10, ("MatMul", "AddV2", "Relu", "Mul", "Sub")
        last = ["x"] * towers
        for i in range(count - 1):
            tower = i % towers
            place = i // towers
            op = ops[place % len(ops)]
            block, layer = place // (len(ops) * layers), place // len(ops) % layers
            name = f"tower{tower}/block{block}/layer{layer}/{op.lower()}"
            inputs = [last[tower]] if op == "Relu" else [last[tower], last[tower]]
            out.write(node(name, op, inputs))
            last[tower] = name
    return file


def large100k(folder):
    return large(folder, 100_000)


def large1m(folder):
    return large(folder, 1_000_000)


HOSTILE = [
    "<script>window.harmed=1</script>",
    "<img src=x onerror=window.harmed=1>",
    "</script><script>window.harmed=1</script>",
    "</style><b>bold</b>",
    "<!--",
    "]]>",
    "\"'`${window.harmed=1}",
    "\u202egnp.exe\u202c",
    "\u2066\u2067bidi\u2069",
    "a/../../b//c/",
    "__proto__",
    "constructor",
    "\u0000nul",
    "line\nbreak",
    "\U0001f9f5 thread",
]


def numbers(values):
    """A Const of float32."""
    content = np.asarray(values, np.float32).tobytes()
    tensor = b"\x08\x01" + field(2, field(2, b"\x08" + varint(len(values)))) + field(4, content)
    return PLACEHOLDER + field(5, field(1, b"value") + field(2, field(8, tensor)))


def hostile(folder):
    """Names that mean something to HTML and scripts, a long one, strange weights, many edges."""
    file = folder / "hostile.pb"
    with file.open("wb") as out:
        out.write(node("x", "Placeholder", attrs=PLACEHOLDER))
        for name in HOSTILE:
            out.write(node(name, "Identity", ["x"]))
            op = "Odd" if {"\0", "\n"} & set(name) else name
            out.write(node(f"group/{name}/inner", op, ["x"]))
        out.write(node("address", "javascript:window.harmed=1", ["x"]))
        out.write(node("long" + "g" * 1_000_000, "Identity", ["x"]))
        out.write(node("nans", "Const", attrs=numbers([np.nan] * 100 + [np.inf, -np.inf])))
        out.write(node("large", "Const", attrs=numbers([3e38, -3e38, 0])))
        out.write(
            node(
                "hub",
                "AddN",
                ["x"] * 50_000,
                FLOAT + field(5, field(1, b"N") + field(2, b"\x18" + varint(50_000))),
            )
        )
        for i in range(50_000):
            out.write(node(f"leaf{i}", "Neg", ["hub"]))
    return file
