"""Reads programs of torch.export in JSON (schema 8) as the records that rules use."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._errors import Error, InvalidArgumentError, UnimplementedError
from . import _dtypes as dtypes
from ._conditions import Condition, conditions_of, ranges_of
from ._expressions import expression_of
from ._functional import functional
from ._graph import SCALAR_OPS, Graph, Node
from ._inlining import inlined
from ._rules import draws
from ._values import Expr, Meta, OtherNumber
from ._vmap import without_batching

# : The supported version of the schema; by its own rules a new major version breaks readers.
MAJOR = 8


@dataclasses.dataclass
class Exported:
    """A program.

    Attributes:
        graph: its tensors are attributes; it assigns to them by `aten.copy_`.
        outputs: a name for each result.
        conditions: what must hold of the sizes of arguments.
    """

    graph: Graph
    outputs: list[str]
    conditions: list[Condition]


class Field:
    """A value in JSON, and its path."""

    def __init__(self, value: Any, place: str) -> None:
        self.value, self.place = value, place

    def error(self, what: str) -> Error:
        return InvalidArgumentError(f"{self.place}: {what}")

    def _is(self, kind: type, what: str) -> Any:
        if not isinstance(self.value, kind) or isinstance(self.value, bool) and kind is not bool:
            raise self.error(f"it is {_shown(self.value)}, expected {what}")
        return self.value

    def __getitem__(self, key: str) -> Field:
        found = self.get(key)
        if found is None:
            raise self.error(f"'{key}' is missing")
        return found

    def get(self, key: str) -> Field | None:
        value = self._is(dict, "an object").get(key)
        return None if value is None else Field(value, f"{self.place}.{key}")

    def keys(self) -> list[str]:
        return list(self._is(dict, "an object"))

    def only(self) -> tuple[str, Field]:
        """Returns the only member of a union that isn't null."""
        there = [k for k, v in self._is(dict, "an object").items() if v is not None]
        if len(there) != 1:
            raise self.error(f"it has the members {there[:4]}, expected one")
        return there[0], self[there[0]]

    def __iter__(self) -> Iterator[Field]:
        for i, value in enumerate(self._is(list, "a list")):
            yield Field(value, f"{self.place}[{i}]")

    def text(self) -> str:
        return self._is(str, "a string")

    def number(self) -> int:
        value = self._is(int, "an integer")
        if not -(2**63) <= value < 2**63:
            raise self.error(f"{_shown(value)} doesn't fit 64 bits")
        return value

    def truth(self) -> bool:
        return self._is(bool, "true or false")

    def real(self) -> float:
        """Returns a floating-point number; infinities are strings, which JSON lacks."""
        if self.value in ("Infinity", "-Infinity", "NaN"):
            return float(self.value)
        return float(self._is((int, float), "a number"))


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


# ---- values

_DTYPES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32",
    8: "float64", 9: "complex32", 10: "complex64", 11: "complex128", 12: "bool", 13: "bfloat16",
    28: "uint16", 29: "float8_e4m3fn", 30: "float8_e5m2", 31: "float8_e4m3fnuz",
    32: "float8_e5m2fnuz", 33: "float8_e8m0fnu", 34: "uint32", 35: "uint64",
}  # fmt: skip
_STRIDED = 7
_MOST_DIMS = 64


def _dtype_of(field: Field) -> dtypes.DType:
    number = field.number()
    if number not in _DTYPES:
        raise field.error(f"there is no dtype {number}")
    return dtypes.named(_DTYPES[number])


def meta_of(field: Field) -> Meta:
    """Returns the metadata of a tensor. Programs for any device run on the CPU."""
    if field["layout"].number() != _STRIDED:
        raise UnimplementedError(f"{field.place}: a sparse tensor")
    shape, stride = (tuple(map(_dim_of, field[key])) for key in ("sizes", "strides"))
    if len(shape) != len(stride) or len(shape) > _MOST_DIMS:
        raise field.error(f"the tensor has {len(shape)} sizes and {len(stride)} strides")
    if any(isinstance(d, int) and d < 0 for d in shape):
        raise field.error("a size is negative")
    return Meta(_dtype_of(field["dtype"]), shape, stride, _dim_of(field["storage_offset"]))


def _dim_of(field: Field) -> int | Expr:
    kind, value = field.only()
    if kind == "as_int":
        return value.number()
    if kind != "as_expr":
        raise field.error(f"a size is {kind}, expected as_int or as_expr")
    try:
        return expression_of(value["expr_str"].text())
    except ValueError as error:
        raise value.error(str(error)) from None


# ---- graphs


class _Reader:
    """Reads one graph, which is a scope of names."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.nodes: list[Node] = []
        self.by_name: dict[str, Node] = {}

    def graph(self) -> Graph:
        for place in self.field["inputs"]:
            self._add_input(place)
        for place in self.field["nodes"]:
            self._add_node(place)
        out = [self.argument(a) for a in self.field["outputs"]]
        is_single = self.field.get("is_single_tensor_return")
        if is_single and is_single.truth() and len(out) == 1:
            out = out[0]
        self.nodes.append(Node("output", "output", args=(out,)))
        return Graph(self.nodes)

    def _define(self, node: Node, place: Field) -> Node:
        if not _NAME.fullmatch(node.name):
            raise place.error(f"{_shown(node.name)} is not the name of a value")
        if node.name in self.by_name:
            raise place.error(f"there are two values named '{node.name}'")
        self.nodes.append(node)
        self.by_name[node.name] = node
        return node

    def _add_input(self, place: Field) -> None:
        kind, value = place.only()
        if kind in ("as_tensor", "as_sym_int", "as_sym_float", "as_sym_bool"):
            name, known = self._result(place)
            self._define(Node(name, "placeholder", value=known), place)
            return
        # A number that the graph was specialized for: no value uses it.
        self.nodes.append(Node(f"arg{len(self.nodes)}", "placeholder", value=None))
        if kind not in ("as_none", "as_int", "as_float", "as_bool", "as_string"):
            raise UnimplementedError(f"{value.place}: an argument that is {kind}")

    def _result(self, place: Field) -> tuple[str, Any]:
        """Returns the name of a node's result, and its metadata."""
        kind, value = place.only()
        if kind == "as_tensor":
            name = value["name"].text()
            return name, meta_of(self._known("tensor_values", name, place))
        if kind in _NUMBERS:
            name = value["as_name"].text()
            return name, _NUMBERS[kind](self._known(f"{kind[3:]}_values", name, place))
        raise UnimplementedError(f"{place.place}: a result that is {kind}")

    def _known(self, table: str, name: str, place: Field) -> Field:
        found = self.field[table].get(name)
        if found is None:
            raise place.error(f"'{name}' isn't among the graph's {table}")
        return found

    def _add_node(self, place: Field) -> None:
        args, kwargs = [], {}
        for field in place["inputs"]:
            kind = field.get("kind")
            value = self.argument(field["arg"])
            if kind is not None and kind.number() == _KEYWORD:
                kwargs[field["name"].text()] = value
            else:
                args.append(value)
        target = _target_of(place["target"].text())
        outputs = list(place["outputs"])
        node = Node("", "call", target, tuple(args), kwargs, draws=draws(target))
        if len(outputs) == 1 and not self._is_wrapped(place, target):
            self._add_result(node, outputs[0])
        else:
            self._add_results(node, outputs, place)

    def _is_wrapped(self, place: Field, target: str) -> bool:
        """Whether the only result of an op with graphs is in a list."""
        single = place.get("is_hop_single_tensor_return")
        return "." not in target and single is not None and not single.truth()

    def _add_result(self, node: Node, place: Field) -> None:
        kind, value = place.only()
        if kind == "as_none":
            node.name = f"unused_{len(self.nodes)}"
            self.nodes.append(node)
        elif kind == "as_tensors":
            self._add_results(node, [Field({"as_tensor": v.value}, v.place) for v in value], place)
        else:
            node.name, node.value = self._result(place)
            self._define(node, place)

    def _add_results(self, node: Node, outputs: list[Field], place: Field) -> None:
        """Adds a node, and one for each of its results."""
        own = place.get("name")
        node.name = own.text() if own else ""
        if node.name in self.by_name or not _NAME.fullmatch(node.name):
            node.name = f"node_{len(self.nodes)}"
        node.value = []
        self.nodes.append(node)
        for number, output in enumerate(outputs):
            if output.only()[0] == "as_none":
                node.value.append(None)
                continue
            name, value = self._result(output)
            node.value.append(value)
            self._define(Node(name, "call", "getitem", (node, number), value=value), output)

    # ---- arguments

    def node(self, field: Field) -> Node:
        return self.named(field["name"])

    def named(self, field: Field) -> Node:
        name = field.text()
        if name not in self.by_name:
            raise field.error(f"there is no value '{_shown(name)[1:-1]}' before it")
        return self.by_name[name]

    def number(self, field: Field) -> Any:
        kind, value = field.only()
        if kind == "as_name":
            return self.named(value)
        return _PLAIN[kind](value) if kind in _PLAIN else self.bad(field, kind)

    def bad(self, field: Field, kind: str) -> Any:
        raise UnimplementedError(f"{field.place}: an argument that is {kind}")

    def graph_argument(self, field: Field) -> Node:
        body = _Reader(field["graph"]).graph()
        node = Node(field["name"].text(), "attribute", field["name"].text(), value=body)
        self.nodes.append(node)
        return node

    def argument(self, field: Field) -> Any:
        kind, value = field.only()
        if kind in _PLAIN:
            return _PLAIN[kind](value)
        if kind in _OF_GRAPHS:
            return _OF_GRAPHS[kind](self, value)
        return self.bad(field, kind)


def _several(read: Callable[[_Reader, Field], Any]) -> Callable[[_Reader, Field], list[Any]]:
    return lambda reader, field: [read(reader, f) for f in field]


_KEYWORD = 2
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)

_NUMBERS: dict[str, Callable[[Field], Any]] = {
    "as_sym_int": _dim_of,
    "as_sym_float": lambda field: OtherNumber("SymFloat"),
    "as_sym_bool": lambda field: OtherNumber("SymBool"),
}

_PLAIN: dict[str, Callable[[Field], Any]] = {
    "as_none": lambda f: None,
    "as_int": Field.number,
    "as_ints": lambda f: [v.number() for v in f],
    "as_float": Field.real,
    "as_floats": lambda f: [v.real() for v in f],
    "as_bool": Field.truth,
    "as_bools": lambda f: [v.truth() for v in f],
    "as_string": Field.text,
    "as_strings": lambda f: [v.text() for v in f],
    "as_complex": lambda f: complex(f["real"].real(), f["imag"].real()),
    "as_scalar_type": _dtype_of,
    "as_device": lambda f: f["type"].text(),
    "as_layout": Field.number,
    "as_memory_format": Field.number,
    "as_operator": lambda f: _target_of(f.text()).rsplit(".", 1)[0],
}

_OF_GRAPHS: dict[str, Callable[[_Reader, Field], Any]] = {
    "as_tensor": _Reader.node,
    "as_tensors": _several(_Reader.node),
    "as_nested_tensors": _several(_several(_Reader.node)),
    "as_optional_tensor": _Reader.argument,
    "as_optional_tensors": _several(_Reader.argument),
    "as_sym_int": _Reader.number,
    "as_sym_ints": _several(_Reader.number),
    "as_sym_float": _Reader.number,
    "as_sym_floats": _several(_Reader.number),
    "as_sym_bool": _Reader.number,
    "as_sym_bools": _several(_Reader.number),
    "as_graph": _Reader.graph_argument,
}


def _target_of(text: str) -> str:
    for start in ("torch.ops.higher_order.", "torch.ops.", "_operator."):
        if text.startswith(start):
            name = text.removeprefix(start)
            is_python = start == "_operator." and name not in SCALAR_OPS and name != "getitem"
            return text if is_python else name
    return text


# ---- programs


def program_of(field: Field, tensors: dict[str, np.ndarray | None]) -> Exported:
    """Returns the program that JSON describes, with the tensors that it names."""
    _check_version(field)
    module = field["graph_module"]
    graph = _Reader(module["graph"]).graph()
    _lift(graph, module["signature"]["input_specs"], tensors)
    conditions = _conditions(field, graph)
    outputs = _record_mutations(graph, module["signature"]["output_specs"])
    graph.nodes[-1].args = (outputs,)
    names = [n.name if isinstance(n, Node) else "" for n in outputs]
    names = output_names(_out_spec(module), names)
    return Exported(_functional(graph, module), names, conditions)


def _conditions(field: Field, graph: Graph) -> list[Condition]:
    texts, limits = field.get("guards_code"), {}
    if ranges := field.get("range_constraints"):
        for name in ranges.keys():
            limits[name] = tuple(ranges[name].value.get(k) for k in ("min_val", "max_val"))
    tensors = [n for n in graph.placeholders if isinstance(n.value, Meta)]
    found = [r for node in tensors for r in ranges_of(node.name, node.value.shape, limits)]
    known = {node.name for node in tensors}
    return conditions_of([t.text() for t in texts or ()], found, known)


def _functional(graph: Graph, module: Field) -> Graph:
    try:
        return functional(without_batching(inlined(graph)))
    except (Error, RecursionError):
        raise
    except Exception as error:
        raise module.error(
            f"the arguments of a node don't fit its op: {type(error).__name__}: {error}"
        ) from error


def _check_version(field: Field) -> None:
    version = field["schema_version"]
    major, minor = version["major"].number(), version["minor"].number()
    if major != MAJOR:
        written = field.get("torch_version")
        by = f", written by PyTorch {_shown(written.value)[1:-1]}," if written else ""
        raise UnimplementedError(
            f"its schema{by} is {major}.{minor}, expected {MAJOR}; treadle.torch.save writes a file"
            " for Treadle in any PyTorch"
        )


def _lift(graph: Graph, specs: Field, tensors: dict[str, Any]) -> None:
    """Makes the program's own tensors attributes, so that placeholders are its arguments."""
    rows, nodes = list(specs), graph.placeholders
    if len(rows) != len(nodes):
        raise specs.error(f"it has {len(rows)} entries for {len(nodes)} inputs of the graph")
    for row, node in zip(rows, nodes, strict=True):
        kind, spec = row.only()
        if kind in _STATE:
            _make_attribute(node, spec[_STATE[kind]], tensors)
        elif kind == "constant_input":
            graph.nodes.remove(node)
        elif kind != "user_input":
            raise UnimplementedError(f"{row.place}: an input that is a {kind}")


_STATE = {
    "parameter": "parameter_name",
    "buffer": "buffer_name",
    "tensor_constant": "tensor_constant_name",
}


def _make_attribute(node: Node, name: Field, tensors: dict[str, Any]) -> None:
    path = name.text()
    if tensors.get(path) is None:
        kind = UnimplementedError if path in tensors else InvalidArgumentError
        why = "is pickled, which isn't read from files" if path in tensors else "isn't in the file"
        raise kind(f"{name.place}: tensor '{path}' {why}")
    value = tensors[path]
    if not isinstance(node.value, Meta) or node.value.shape != value.shape:
        raise name.error(
            f"tensor '{path}' has the shape {value.shape}, but the graph states another shape"
        )
    if dtypes.numpy_dtype(node.value.dtype) != value.dtype:
        raise name.error(
            f"tensor '{path}' is {value.dtype}, but the graph states {node.value.dtype}"
        )
    node.op, node.target, node.meta, node.value = "attribute", path, node.value, value


def _record_mutations(graph: Graph, specs: Field) -> list[Any]:
    """Records the assignments of a program; returns its results."""
    results = graph.nodes[-1].args[0]
    rows = list(specs)
    if not isinstance(results, list) or len(rows) != len(results):
        raise specs.error(f"it has {len(rows)} entries, but the graph has other results")
    targets = {n.target: n for n in graph.nodes if n.op == "attribute"}
    targets |= {n.name: n for n in graph.placeholders}
    outputs = []
    for row, result in zip(rows, results, strict=True):
        kind, spec = row.only()
        if kind == "user_output":
            outputs.append(result)
        elif kind in _MUTATIONS:
            name = spec[_MUTATIONS[kind]]
            if name.text() not in targets or not isinstance(result, Node):
                raise name.error("it doesn't name a tensor of the program")
            graph.nodes.insert(-1, assignment(targets[name.text()], result))
        else:
            raise UnimplementedError(f"{row.place}: an output that is a {kind}")
    return outputs


_MUTATIONS = {
    "buffer_mutation": "buffer_name",
    "parameter_mutation": "parameter_name",
    "user_input_mutation": "user_input_name",
}


def assignment(target: Node, value: Node) -> Node:
    """Returns the node for target.copy_(value)."""
    name = f"{target.name}_assigned"
    return Node(name, "call", "aten.copy_.default", (target, value), value=target.known)


# ---- names of results


def _out_spec(module: Field) -> Any:
    for entry in module["module_call_graph"]:
        signature = entry.get("signature")
        if entry["fqn"].text() == "" and signature is not None:
            return signature["out_spec"].text()
    return None


def output_names(spec: str | None, own: list[str]) -> list[str]:
    """Returns names of results: their paths if they are in a dict, otherwise the names of their
    values."""
    paths = _paths(spec)
    has_keys = len(paths) == len(own) and all(re.match(r"[^\W\d]", path) for path in paths)
    names: list[str] = []
    for number, value in enumerate(own):
        name = paths[number] if has_keys else value or f"output_{number}"
        while name in names:
            name = f"{name}_{number}"
        names.append(name)
    return names


def _paths(spec: str | None) -> list[str]:
    """Returns the path to each leaf of a structure, as pytree.treespec_dumps writes it: `logits`,
    `a_0`."""
    try:
        _, tree = json.loads(spec or "")
        return list(_paths_in(tree, ""))
    except (ValueError, TypeError, KeyError, AttributeError):
        return []


def _paths_in(tree: Any, start: str) -> Iterator[str]:
    if tree["type"] is None:
        yield start
        return
    children = tree["children_spec"]
    keys = json.loads(tree["context"] or "null")
    keys = keys if isinstance(keys, list) and len(keys) == len(children) else range(len(children))
    for key, child in zip(keys, children, strict=True):
        name = re.sub(r"\W+", "_", str(key), flags=re.ASCII).strip("_")
        yield from _paths_in(child, f"{start}_{name}" if start else name)
