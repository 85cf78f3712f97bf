"""Writes GraphDefs in text, for `./dev bench growth`: nodes, functions and how to run them."""

import dataclasses

FLOAT, INT, BOOL = "type: DT_FLOAT", "type: DT_INT32", "type: DT_BOOL"
RESOURCE, VARIANT = "type: DT_RESOURCE", "type: DT_VARIANT"
SCALAR, UNKNOWN = "shape { }", "shape { unknown_rank: true }"

# The names of outputs, by which endpoints in functions refer to them.
OUTPUTS = {"AddV2": "z", "Mul": "z", "Less": "z", "Neg": "y", "Tanh": "y", "Const": "output"}
OUTPUTS |= {"PartitionedCall": "output", "StatelessWhile": "output", "StatelessIf": "output"}
OUTPUTS |= {"TensorListPushBack": "output_handle", "TensorListLength": "length"}


def types(*values):
    return f"list {{ {' '.join(values)} }}"


def function_named(name):
    return f'func {{ name: "{name}" }}'


def functions_named(names):
    return f"list {{ {' '.join(function_named(name) for name in names)} }}"


def text(value):
    return f's: "{value}"'


def tensor(kind, values, shape="tensor_shape { }"):
    field = {FLOAT: "float_val", INT: "int_val", BOOL: "bool_val"}[kind]
    fields = " ".join(f"{field}: {value}" for value in values)
    return f"tensor {{ {kind.replace('type', 'dtype')} {shape} {fields} }}"


def attribute(value):
    if isinstance(value, bool):
        return f"b: {str(value).lower()}"
    return f"i: {value}" if isinstance(value, int) else value


def node_text(field, name, op, inputs, attributes):
    inputs = " ".join(f'input: "{name}"' for name in inputs)
    attributes = " ".join(
        f'attr {{ key: "{key}" value {{ {attribute(value)} }} }}'
        for key, value in attributes.items()
    )
    return f'{field} {{ name: "{name}" op: "{op}" {inputs} {attributes} }}\n'


class Body:
    """Nodes of a graph or of a function. Methods return the name of the node's first output."""

    def __init__(self, is_function=False):
        self.is_function = is_function
        self.nodes = []

    def add(self, name, op, inputs=(), **attributes):
        self.nodes.append((name, op, inputs, attributes))
        return f"{name}:{OUTPUTS[op]}:0" if self.is_function and op in OUTPUTS else name

    def op(self, name, op, *inputs, kind=FLOAT, **attributes):
        return self.add(name, op, inputs, T=kind, **attributes)

    def chain(self, prefix, last, count, other=None):
        for i in range(count):
            last = self.op(f"{prefix}{i}", "AddV2", last, other or last)
        return last

    def placeholder(self, name, kind=FLOAT, shape=SCALAR):
        return self.add(name, "Placeholder", dtype=kind, shape=shape)

    def constant(self, name, value, *inputs, kind=FLOAT):
        return self.add(name, "Const", inputs, dtype=kind, value=tensor(kind, [value]))

    def sum(self, values):
        return self.add("sum", "AddN", values, T=FLOAT, N=len(values))

    def call(self, name, function, *inputs):
        kinds = types(*[FLOAT] * len(inputs))
        f = function_named(function)
        return self.add(name, "PartitionedCall", inputs, Tin=kinds, Tout=types(FLOAT), f=f)

    def loop(self, name, tag, kinds, *inputs, op="StatelessWhile"):
        cond, body = function_named("cond" + tag), function_named("body" + tag)
        return self.add(name, op, inputs, T=types(*kinds), cond=cond, body=body)

    def branch(self, name, predicate, value, then, otherwise):
        return self.add(
            name,
            "StatelessIf",
            [predicate, value],
            Tcond=BOOL,
            Tin=types(FLOAT),
            Tout=types(FLOAT),
            then_branch=function_named(then),
            else_branch=function_named(otherwise),
        )

    def variable(self, name, initial):
        """A resource variable and the node that sets it."""
        self.add(name, "VarHandleOp", dtype=FLOAT, shape=SCALAR, shared_name=text(name))
        return self.add(name + "/init", "AssignVariableOp", [name, initial], dtype=FLOAT)

    def enter(self, name, value, frame, is_constant=False, kind=FLOAT):
        frame = text(frame)
        return self.op(name, "Enter", value, kind=kind, frame_name=frame, is_constant=is_constant)

    def merge(self, name, *inputs):
        return self.op(name, "Merge", *inputs, N=len(inputs))

    def barrier(self, nodes):
        return self.add("all", "NoOp", ["^" + name for name in nodes])


@dataclasses.dataclass
class Graph:
    body: Body = dataclasses.field(default_factory=lambda: Body())
    functions: list = dataclasses.field(default_factory=list)
    fetches: list = dataclasses.field(default_factory=list)
    targets: list = dataclasses.field(default_factory=list)
    inputs: dict = dataclasses.field(default_factory=dict)
    program: str = ""  # of StableHLO, instead of a GraphDef

    suffix = property(lambda self: ".mlir" if self.program else ".pbtxt")

    def function(self, name, arguments, results, body):
        """Arguments are names and types; results are types and endpoints."""
        signature = "".join(f'input_arg {{ name: "{a}" {kind} }} ' for a, kind in arguments)
        signature += "".join(
            f'output_arg {{ name: "r{i}" {k} }} ' for i, (k, _) in enumerate(results)
        )
        returned = "".join(
            f'ret {{ key: "r{i}" value: "{endpoint}" }} ' for i, (_, endpoint) in enumerate(results)
        )
        nodes = "".join(node_text("node_def", *node) for node in body.nodes)
        self.functions.append(
            f'function {{ signature {{ name: "{name}" {signature} }}\n{nodes}{returned}}}\n'
        )

    def unary(self, name, op="Neg"):
        body = Body(True)
        self.function(name, [("a", FLOAT)], [(FLOAT, body.op("m", op, "a"))], body)

    def loop(self, tag, limit, step, arguments=(("v", FLOAT),)):
        """Functions of a loop that counts to `limit`; `step` returns results from the body."""
        arguments = [("i", INT), *arguments]
        cond = Body(True)
        less = cond.op("less", "Less", "i", cond.constant("limit", limit, kind=INT), kind=INT)
        self.function("cond" + tag, arguments, [(BOOL, less)], cond)
        body = Body(True)
        count = body.op("count", "AddV2", "i", body.constant("one", 1, kind=INT), kind=INT)
        kinds = [kind for _, kind in arguments]
        results = list(zip(kinds, [count, *step(body)], strict=True))
        self.function("body" + tag, arguments, results, body)
        return kinds

    def text(self, prefix=""):
        """As GraphDef, whose nodes have names that begin with a prefix; or the program."""
        if self.program:
            return self.program

        def prefixed(name):
            return f"^{prefix}{name[1:]}" if name[0] == "^" else prefix + name

        nodes = "".join(
            node_text("node", prefix + name, op, map(prefixed, inputs), attributes)
            for name, op, inputs, attributes in self.body.nodes
        )
        return f"{nodes}library {{\n{''.join(self.functions)}}}\nversions {{ producer: 1882 }}\n"
