"""Programs with loops that have effects, as text of the tfg dialect, for the tests of their order.

Each has a function `main` that gets `n`, and is called by the node `call`. Nothing in it orders its
effects but their places. The op Delay hands on its input after a while that the test says.
"""

from __future__ import annotations

from dataclasses import dataclass, field

HEAD = "#tf_type.version<producer = 1482, min_consumer = 12>"
TYPES = {
    "i32": "tensor<i32>",
    "list": "tensor<!tf_type.variant>",
    "handle": "tensor<!tf_type.resource>",
}
DTYPES = {"i32": "i32", "list": "!tf_type.variant", "handle": "!tf_type.resource"}


@dataclass
class Body:
    """Lines of a function's body."""

    lines: list[str] = field(default_factory=list)
    count: int = 0

    def node(
        self,
        op: str,
        inputs: list[str],
        kinds: list[str],
        results: list[str],
        attrs: str,
        name: str = "",
    ) -> list[str]:
        self.count += 1
        values = [f"%v{self.count}_{i}" for i in range(len(results))]
        out = ", ".join([*values, f"%c{self.count}"])
        ins = ", ".join(TYPES[k] for k in kinds)
        outs = ", ".join(TYPES[k] for k in results)
        title = name or f"{op.lower()}_{self.count}"
        self.lines.append(
            f'  {out} = {op}({", ".join(inputs)}) name("{title}") {{{attrs}}} : ({ins}) -> ({outs})'
        )
        return values

    def const(self, value: int) -> str:
        attrs = f"dtype = i32, value = dense<{value}> : tensor<i32>"
        return self.node("Const", [], [], ["i32"], attrs)[0]

    def read(self, handle: str) -> str:
        return self.node("ReadVariableOp", [handle], ["handle"], ["i32"], "dtype = i32")[0]

    def write(self, op: str, handle: str, value: str) -> None:
        self.node(op, [handle, value], ["handle", "i32"], [], "dtype = i32")

    def add(self, a: str, b: str) -> str:
        return self.node("AddV2", [a, b], ["i32", "i32"], ["i32"], "T = i32")[0]

    def mul(self, a: str, b: str) -> str:
        return self.node("Mul", [a, b], ["i32", "i32"], ["i32"], "T = i32")[0]

    def say(self, text: str) -> None:
        self.count += 1
        string = "tensor<!tf_type.string>"
        self.lines.append(
            f'  %t{self.count}, %tc{self.count} = Const name("text_{self.count}") '
            f'{{dtype = !tf_type.string, value = dense<"{text}"> : {string}}} : () -> ({string})'
        )
        self.lines.append(
            f'  %c{self.count} = PrintV2(%t{self.count}) name("say_{self.count}") '
            f'{{end = "", output_stream = "stdout"}} : {string}'
        )

    def op(self, op: str, *inputs: str, results: int = 1) -> list[str]:
        return self.node(op, list(inputs), ["i32"] * len(inputs), ["i32"] * results, "")

    def delay(self, value: str) -> str:
        return self.op("Delay", value)[0]

    def new_list(self) -> str:
        shape, size = self.const(-1), self.const(0)
        attrs = "element_dtype = i32, shape_type = i32"
        return self.node("TensorListReserve", [shape, size], ["i32", "i32"], ["list"], attrs)[0]

    def set_item(self, items: str, index: str, value: str) -> str:
        attrs = "element_dtype = i32, resize_if_index_out_of_bounds = true"
        return self.node(
            "TensorListSetItem", [items, index, value], ["list", "i32", "i32"], ["list"], attrs
        )[0]

    def stack(self, items: str) -> str:
        self.count += 1
        shape, out = f"%s{self.count}", f"%v{self.count}"
        self.lines.append(
            f'  {shape}, %sc{self.count} = Const name("shape_{self.count}") '
            "{dtype = i32, value = dense<> : tensor<0xi32>} : () -> (tensor<0xi32>)"
        )
        self.lines.append(
            f"  {out}, %c{self.count} = TensorListStack({items}, {shape}) "
            f'name("stack_{self.count}") '
            "{element_dtype = i32, num_elements = -1 : i64} : "
            "(tensor<!tf_type.variant>, tensor<0xi32>) -> (tensor<*xi32>)"
        )
        return out


def variable(body: Body, name: str) -> str:
    attrs = f'dtype = i32, shape = #tf_type.shape<>, shared_name = "{name}", container = ""'
    return body.node("VarHandleOp", [], [], ["handle"], attrs, name)[0]


def function(name: str, kinds: list[str], body: Body, values: list[str], results: list[str]) -> str:
    args = ", ".join(f'%a{i}: {TYPES[k]} {{tfg.name = "a{i}"}}' for i, k in enumerate(kinds))
    outs = ", ".join(f'{t} {{tfg.name = "r{i}"}}' for i, t in enumerate(results))
    end = f"  return({', '.join(values)}) : {', '.join(results)}"
    return "\n".join([f"tfg.func @{name}({args}) -> ({outs}) {{", *body.lines, end, "}"])


@dataclass
class Program:
    """A graph that calls `main`, and the functions of its loops."""

    functions: list[str] = field(default_factory=list)

    def loop(self, at: Body, name, kinds, init, cond, body, parallel=10, attrs="") -> list[str]:
        """Adds a While. `cond` and `body` get a Body and the variables."""
        for suffix, make in (("cond", cond), ("body", body)):
            inside = Body()
            values = make(inside, *[f"%a{i}" for i in range(len(kinds))])
            isCond = suffix == "cond"
            results = ["tensor<i1>"] if isCond else [TYPES[k] for k in kinds]
            values = [values] if isCond else list(values)
            self.functions.append(function(f"{name}_{suffix}", kinds, inside, values, results))
        types = ", ".join(DTYPES[k] for k in kinds)
        return at.node(
            "While",
            list(init),
            kinds,
            kinds,
            f"T = [{types}], body = #tf_type.func<@{name}_body, {{}}>, "
            f"cond = #tf_type.func<@{name}_cond, {{}}>, parallel_iterations = {parallel} : i64"
            + attrs,
            name,
        )

    def text(self, main: Body, values: list[str], results: list[str]) -> str:
        outs = ", ".join(results)
        dtypes = ", ".join("i32" for _ in results)
        names = ", ".join(f"%r{i}" for i in range(len(results)))
        graph = f"""tfg.graph {HEAD} {{
  %n, %nc = Placeholder name("n") {{dtype = i32, shape = #tf_type.shape<>}} : () -> (tensor<i32>)
  {names}{", " if names else ""}%rc = StatefulPartitionedCall(%n) name("call")
      {{Tin = [i32], Tout = [{dtypes}], config = "", config_proto = "", executor_type = "",
       f = #tf_type.func<@main, {{}}>}} : (tensor<i32>) -> ({outs})
}}"""
        whole = function("main", ["i32"], main, values, results)
        return "\n".join([graph, whole, *self.functions]) + "\n"

    def graph(self, main: Body) -> str:
        """The program as a graph's own nodes, where `main` has no function's arguments."""
        return "\n".join([f"tfg.graph {HEAD} {{", *main.lines, "}", *self.functions]) + "\n"


def less(body: Body, a: str, b: str) -> str:
    body.count += 1
    out = f"%v{body.count}"
    body.lines.append(
        f'  {out}, %c{body.count} = Less({a}, {b}) name("less_{body.count}") {{T = i32}} : '
        "(tensor<i32>, tensor<i32>) -> (tensor<i1>)"
    )
    return out
