"""Writes the reference of ops from their records (treadle/ops) and from ops.tsv of the build.

docs/OpReference.cpp describes the format of that file.
"""

import csv
import dataclasses
import re
import sys

from .pages import ROOT
from .prose import fenced

sys.path.insert(0, str(ROOT / "treadle" / "ops"))
import op_facts  # noqa: E402
import table_format  # noqa: E402

TITLES = {
    "arrays": "Data movement",
    "control_flow": "Control flow, calls and constants",
    "datasets": "Datasets and iterators",
    "elementwise": "Elementwise functions",
    "exchange": "Queues and collectives",
    "files": "Files: checkpoints, records, summaries",
    "functions": "Ops that call functions",
    "images": "Images",
    "linear_algebra": "Linear algebra",
    "lists": "Tensor lists",
    "nets": "Neural networks: normalizations, losses, cells, optimizers",
    "products": "Matrix products",
    "quantized": "Quantized tensors",
    "random": "Random numbers",
    "reductions": "Reductions",
    "signals": "Fourier transforms and audio",
    "sparse": "Sparse and ragged tensors",
    "state": "Variables and tables",
    "text": "Strings",
    "windows": "Convolutions and pooling",
}
GRADIENTS = {"rule": "has a rule", "constant": "is zero", "no": "has no rule"}
ACCESSES = {"read": "reads", "write": "writes", "put": "puts into", "take": "takes out of"}
REACHED = {
    "world": "the outside world",
    "own": "its own state",
    "named": "the resource that its attributes name",
    "channel": "a channel",
}

INTRODUCTION = """\
# Ops

All ops that Treadle knows, generated from its op records. In a definition
`Name input:dtype -> output:dtype`, `T` is an attribute, `N*T` means N tensors, `[T]` one tensor for
each dtype in a list, and `&` a reference.

- **kernel**: the dtypes that the kernel supports. With several attributes, a dtype is listed if the
  kernel supports it together with some dtypes of the others.
- **compiled**: whether [the compiler](../../tiers.md) generates code for the op, perhaps only for
  some shapes and dtypes. Otherwise a cluster calls the kernel, or the nodes are interpreted;
  `treadle explain` says which.
- **gradient**: whether [`Graph.gradients`](../../gradients.md) has a rule.
- **shapes**: whether `tfg-shape-inference` has a shape function.
- **effects**: the [side effects](../../spec.md) that order the op besides its inputs.

| ops | | compiled | with a gradient | with shapes |
| --- | --- | --- | --- | --- |
"""


@dataclasses.dataclass
class Op:
    definition: table_format.Op
    facts: dict
    room: str
    dtypes: dict
    has_form: bool
    has_shapes: bool
    gradient: str

    @property
    def name(self):
        return self.definition.name


def definitions():
    ops = []
    for name in ("OpTable.txt", "OwnOps.txt"):
        ops += table_format.parse_table((ROOT / "treadle" / "ops" / name).read_text(), name)
    return {op.name: op for op in ops}


def read(table):
    """Yields the ops of ops.tsv."""
    known = definitions()
    said = op_facts.parse_facts((ROOT / "treadle/ops/OpFacts.txt").read_text(), known)
    resource = table_format.DTYPES.index("resource")
    with open(table) as file:
        for name, room, dtypes, form, shapes, gradient in csv.reader(file, delimiter="\t"):
            facts = op_facts.with_defaults(said.get(name, {}), known[name], resource)
            pairs = (pair.split("=") for pair in dtypes.split(";") if pair)
            by_attr = {attr: names.split(",") for attr, names in pairs}
            told = (form == "yes", shapes == "yes", gradient)
            yield Op(known[name], facts, room, by_attr, *told)


def long_names():
    """Returns numpy's names of the dtypes, in the order of their numbers."""
    text = (ROOT / "treadle" / "tensor" / "DType.cpp").read_text()
    return re.findall(r'^ +\{"(\w+)", "\w+", ', text, re.MULTILINE)


DTYPES = long_names()


def type_text(arg):
    if arg.type_list_attr:
        return f"[{arg.type_list_attr}]"
    number = f"{arg.number_attr}*" if arg.number_attr else ""
    return ("&" if arg.is_ref else "") + number + (arg.type_attr or DTYPES[arg.dtype])


def definition_text(op):
    words = [op.name, *(f"{arg.name}:{type_text(arg)}" for arg in op.inputs), "->"]
    return " ".join(words + [f"{arg.name}:{type_text(arg)}" for arg in op.outputs])


def value_text(kind, value):
    if kind == "type":
        return DTYPES[value]
    if kind == "string":
        return '"' + value.decode("latin-1").encode("unicode_escape").decode() + '"'
    if kind == "bool":
        return str(value).lower()
    if kind == "shape":
        return "?" if value is None else f"[{','.join('?' if d < 0 else str(d) for d in value)}]"
    if kind == "tensor":
        dtype, _, values = value
        return f"{DTYPES[dtype]}[{','.join(map(str, values))}]"
    return str(value)


def attr_text(attr):
    text = f"{attr.name}: list({attr.kind})" if attr.is_list else f"{attr.name}: {attr.kind}"
    if attr.default is not None:
        values = ", ".join(value_text(attr.kind, value) for value in attr.default)
        text += f" = [{values}]" if attr.is_list else f" = {values}"
    if attr.minimum is not None:
        text += f" >= {attr.minimum}"
    if attr.allowed:
        text += " of " + ", ".join(value_text(attr.kind, value) for value in attr.allowed)
    return text


def kernel_text(op):
    if op.room == "control_flow":
        return "none: plans and executors implement it"
    if not op.dtypes:
        types = [a for a in op.definition.attrs if a.kind == "type" and not a.is_list]
        return "yes" if types else "yes; it has no dtype attribute"
    return "; ".join(f"`{attr}` is {', '.join(names)}" for attr, names in op.dtypes.items())


def access_text(access, what):
    words = {number: word for word, number in op_facts.ACCESSES.items()}
    return f"{ACCESSES[words[access]]} {what}" if access[0] else ""


def effects_text(effects):
    reach = op_facts.REACHES[effects.reach]
    texts = [
        access_text(effects.handles, "the resources of its input handles"),
        access_text(effects.reached, REACHED.get(reach, "")),
        "is deferred to a later run of another op" if effects.is_deferred else "",
    ]
    return "; ".join(filter(None, texts)) or "none"


def entry(op):
    lines = [f"- {attr_text(attr)}\n" for attr in op.definition.attrs]
    facts = {"kernel": kernel_text(op)}
    facts["compiled"] = "yes" if op.has_form else "no"
    facts["gradient"] = GRADIENTS[op.gradient]
    facts["shapes"] = "has a shape function" if op.has_shapes else "unknown"
    facts["effects"] = effects_text(op.facts["effects"])
    if op.definition.deprecated:
        facts["deprecated"] = f"since version {op.definition.deprecated} of graphs"
    attrs = "\n".join("    " + line.removeprefix("- ").rstrip("\n") for line in lines)
    return "\n".join(
        [
            f"## {op.name}\n",
            fenced(definition_text(op.definition) + (f"\n{attrs}" if attrs else "")),
            "".join(f"- **{key}**: {said}\n" for key, said in facts.items()),
        ]
    )


def row(room, ops):
    compiled = sum(op.has_form for op in ops)
    gradients = sum(op.gradient == "rule" for op in ops)
    shapes = sum(op.has_shapes for op in ops)
    return f"| [{TITLES[room]}]({room}.md) | {len(ops)} | {compiled} | {gradients} | {shapes} |\n"


def without_kernel(ops):
    names = ", ".join(f"`{op.name}`" for op in ops)
    return (
        "# Ops without a kernel\n\n"
        "Treadle imports, checks, rewrites and exports graphs with these ops, but has no kernels "
        "for them. Register a kernel with [`register_op`](../python.md#register_op).\n\n"
        f"{names}\n"
    )


def pages(table):
    """Yields the names and the texts of pages, the first page first."""
    ops = list(read(table))
    rooms = {room: [op for op in ops if op.room == room] for room in TITLES}
    rest = [op for op in ops if not op.room]
    rows = "".join(row(room, found) for room, found in rooms.items())
    rows += f"| [Ops without a kernel](without_kernel.md) | {len(rest)} | | | |\n"
    names = "\n".join([*TITLES, "without_kernel"])
    yield "ops/index", f"{INTRODUCTION}{rows}\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    for room, found in rooms.items():
        yield f"ops/{room}", f"# {TITLES[room]}\n\n" + "\n".join(map(entry, found))
    yield "ops/without_kernel", without_kernel(rest)
