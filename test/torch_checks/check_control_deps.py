"""control_deps and with_effects: all forms of a call, and bodies of branches and loops."""

import re
import subprocess
import sys

import pytest
import torch
import torch.distributed as dist
import treadle.torch
from torch._higher_order_ops.effects import with_effects
from torch._higher_order_ops.map import map as hop_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch._inductor.fx_passes.control_dependencies import control_deps, preserve_node_ordering
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing import assert_close
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._ordered_set import OrderedSet

import treadle

X = torch.arange(16.0).reshape(4, 4) / 16
c10d = torch.ops._c10d_functional


def body(x):
    n = x + 1
    return x @ x, n * 2


def ordered(module, wanted=(("mm", "add"), ("mul", "mm"))):
    """The first node of each pair follows the second, in the graph that has both."""
    for graph in [m for m in module.modules() if isinstance(m, torch.fx.GraphModule)]:
        nodes = {n.name: n for n in graph.graph.nodes if n.op == "call_function"}
        if all(a in nodes and b in nodes for a, b in wanted):
            edges = {}
            for node, after in wanted:
                edges.setdefault(nodes[node], OrderedSet()).add(nodes[after])
            preserve_node_ordering(graph.graph, edges)
            graph.recompile()
    module.recompile()
    return module


def lines(program):
    return [line.strip() for line in program.graph.text().splitlines()]


def awaited(program, op):
    """The ops whose control tokens nodes of this op wait for, anywhere in the graph."""
    tokens, found = {}, []
    for line in lines(program):
        made = re.match(r"((?:%[\w:]+, )*%\w+) = (\w+)\(", line)
        if made:
            tokens[made[1].split(", ")[-1]] = made[2]
        call = re.search(rf"= {op}\([^)]*\) (?:\[([^\]]*)\])?", line)
        if call:
            found.append({tokens.get(t) for t in (call[1] or "").split(", ") if t})
    return found


def test_branch():
    def fn(x):
        return torch.cond(x.sum() > 0, body, lambda x: (x * 3, x - 1), (x,))

    module = ordered(make_fx(fn, tracing_mode="fake")(X))
    program = treadle.from_fx(module, [X])
    assert awaited(program, "MatMul") == [{"AddV2"}]
    assert {"MatMul"} in awaited(program, "Mul")
    for x in (X, -X):
        for found, expected in zip(program(x), fn(x), strict=True):
            assert_close(found, expected)


def test_loops():
    def looped(x):
        return while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, sum(body(x))), (torch.tensor(0), x)
        )

    def scanned(x):
        return scan(lambda c, row: (c + row, sum(body(c.outer(row)))), X[0], x)

    def mapped(x):
        return hop_map(lambda row: sum(body(row.outer(row))), x)

    for fn in (looped, scanned, mapped):
        module = make_fx(fn, tracing_mode="real")(X)
        inner = next(m for m in module.children() if any(n.name == "mm" for n in m.graph.nodes))
        add, mul = (
            next(n.name for n in inner.graph.nodes
                 if n.target is op and n.args[1] == number and n.meta["val"].dim() == 2)
            for op, number in ((torch.ops.aten.add.Tensor, 1), (torch.ops.aten.mul.Tensor, 2))
        )  # fmt: skip
        ordered(module, (("mm", add), (mul, "mm")))
        program = treadle.from_fx(module, [X])
        assert {"AddV2"} in awaited(program, "MatMul"), (fn, program.graph.text())
        expected = torch.utils._pytree.tree_leaves(fn(X))
        for found, value in zip(torch.utils._pytree.tree_leaves(program(X)), expected, strict=True):
            assert_close(found, value)


def test_branch_in_a_loop():
    def fn(x):
        def step(i, x):
            pair = torch.cond(x.sum() > 0, body, lambda x: (x * 3, x - 1), (x,))
            return i + 1, pair[0] - pair[1]

        return while_loop(lambda i, x: i < 3, step, (torch.tensor(0), x))

    module = ordered(make_fx(fn, tracing_mode="real")(X))
    program = treadle.from_fx(module, [X])
    assert awaited(program, "MatMul") == [{"AddV2"}]
    for found, expected in zip(program(X), fn(X), strict=True):
        assert_close(found, expected)


def graph_of(build):
    """A graph of a and b that ends in what `build` makes."""
    graph, mods = torch.fx.Graph(), {}
    fake = FakeTensorMode().from_tensor(X)
    a, b = graph.placeholder("a"), graph.placeholder("b")
    first = graph.call_function(torch.ops.aten.exp.default, (b,))
    for node in (a, b, first):
        node.meta["val"] = fake
    last = build(graph, a, b, first, mods)
    last.meta["val"] = fake
    graph.output((last,))
    return torch.fx.GraphModule(mods, graph)


def part(op, names, *args, **kwargs):
    inner = torch.fx.Graph()
    places = {n: inner.placeholder(n) for n in names}
    put = lambda v: places.get(v, v) if isinstance(v, str) else v  # noqa: E731
    inner.output(
        inner.call_function(op, tuple(map(put, args)), {k: put(v) for k, v in kwargs.items()})
    )
    return torch.fx.GraphModule({}, inner)


def by_name(graph, a, b, first, mods):
    mods["part"] = part(torch.ops.aten.sub.Tensor, "xy", "x", "y")
    return graph.call_function(control_deps, ((first,), graph.get_attr("part"), a), {"y": b})


def all_by_name(graph, a, b, first, mods):
    mods["part"] = part(torch.ops.aten.sub.Tensor, "xy", "x", "y", alpha=2)
    return graph.call_function(control_deps, ((first,), graph.get_attr("part")), {"y": b, "x": a})


def plain(graph, a, b, first, mods):
    return graph.call_function(
        control_deps, ((first,), torch.ops.aten.sub.Tensor, a, b), {"alpha": 2}
    )


def plain_of_number(graph, a, b, first, mods):
    return graph.call_function(control_deps, ((first,), torch.ops.aten.sub.Tensor, a, 3))


def nested(graph, a, b, first, mods):
    inner = torch.fx.Graph()
    x, y, z = (inner.placeholder(n) for n in "xyz")
    sub = inner.get_attr("sub")
    late = inner.call_function(control_deps, ((z,), sub, x, y))
    inner.output(late)
    mods["part"] = torch.fx.GraphModule(
        {"sub": part(torch.ops.aten.sub.Tensor, "xy", "x", "y")}, inner
    )
    return graph.call_function(control_deps, ((b,), graph.get_attr("part"), a, b, first))


@pytest.mark.parametrize("build", [by_name, all_by_name, plain, plain_of_number, nested])
def test_forms_of_a_call(build):
    module = graph_of(build)
    given = X.cos(), X.sin()
    program = treadle.from_fx(module, list(given))
    waiting = [*awaited(program, "Sub"), *awaited(program, "Mul")]
    assert any("Exp" in tokens for tokens in waiting), program.graph.text()
    assert_close(program(*given)[0], module(*given)[0])


def test_ops_that_change_an_argument_are_refused():
    def build(graph, a, b, first, mods):
        mods["part"] = part(torch.ops.aten.add_.Tensor, "x", "x", 1)
        return graph.call_function(control_deps, ((first,), graph.get_attr("part"), a))

    message = r"control_deps of 'aten.add_.Tensor', which changes its argument"
    with pytest.raises(treadle.UnimplementedError, match=message):
        treadle.from_fx(graph_of(build), [X, X])

    def plain(graph, a, b, first, mods):
        return graph.call_function(control_deps, ((first,), torch.ops.aten.add_.Tensor, a, 1))

    with pytest.raises(treadle.UnimplementedError, match=message):
        treadle.from_fx(graph_of(plain), [X, X])


def test_wrong_operands_are_refused():
    def build(graph, a, b, first, mods):
        mods["part"] = part(torch.ops.aten.sub.Tensor, "xy", "x", "y")
        return graph.call_function(control_deps, ((first,), graph.get_attr("part"), a), {"z": b})

    with pytest.raises(treadle.InvalidArgumentError, match=r"1 operands and \['z'\]; expected"):
        treadle.from_fx(graph_of(build), [X, X])


def test_what_is_handed_on_comes_after_the_body():
    def build(graph, a, b, first, mods):
        inner = torch.fx.Graph()
        x = inner.placeholder("x")
        inner.output((inner.call_function(torch.ops.aten.sin.default, (x,)), x))
        mods["part"] = torch.fx.GraphModule({}, inner)
        both = graph.call_function(control_deps, ((first,), graph.get_attr("part"), a))
        both.meta["val"] = (a.meta["val"],) * 2
        x = graph.call_function(__import__("operator").getitem, (both, 1))
        x.meta["val"] = a.meta["val"]
        return graph.call_function(torch.ops.aten.neg.default, (x,))

    program = treadle.from_fx(graph_of(build), [X, X])
    assert any({"Sin"} <= tokens for tokens in awaited(program, "Identity")), program.graph.text()
    assert_close(program(X, X)[0], -X)


def test_starts_of_exchanges_in_a_branch():
    """A node that follows a start waits for the inputs of the start, not for its result."""
    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    try:

        def taken(x):
            total = c10d.all_reduce(x.sin(), "sum", dist.group.WORLD.group_name)
            return x @ x, c10d.wait_tensor(total)

        def fn(x):
            return torch.cond(x.sum() > 0, taken, lambda x: (x * 3, x - 1), (x,))

        module = ordered(make_fx(fn, tracing_mode="fake")(X), (("mm", "all_reduce"),))
        assert awaited(treadle.from_fx(module, [X]), "MatMul") == [{"Sin"}]
    finally:
        dist.destroy_process_group()


PRINT = torch.ops.aten._print.default


def effects(op):
    def build(graph, a, b, first, mods):
        token = graph.call_function(torch.ops.prims._make_token.default, ())
        token.meta["val"] = torch.zeros(0)
        one = graph.call_function(with_effects, (token, torch.ops.aten.sin.default, first))
        one.meta["val"] = (token.meta["val"], a.meta["val"])
        get = lambda n, i: graph.call_function(__import__("operator").getitem, (n, i))  # noqa: E731
        now = get(one, 0)
        two = graph.call_function(with_effects, (now, op, "text" if op is PRINT else a))
        two.meta["val"] = (token.meta["val"], a.meta["val"])
        last = get(two, 1)
        now.meta["val"] = token.meta["val"]
        return last

    return graph_of(build)


def test_with_effects_keeps_its_order():
    program = treadle.from_fx(effects(torch.ops.aten.cos.default), [X, X])
    assert awaited(program, "Cos") == [{"Sin"}]
    assert_close(program(X, X)[0], X.cos())


def test_effects_outside_of_the_graph_are_refused():
    with pytest.raises(treadle.UnimplementedError, match=r"with_effects of 'aten._print.default'"):
        treadle.from_fx(effects(PRINT), [X, X])


# Exported programs and files.


class Steps(torch.nn.Module):
    def forward(self, x):
        return body(x)


class Branch(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, body, lambda x: (x * 3, x - 1), (x,))


PRODUCTS = (("matmul", "add"), ("mul", "matmul"))


@pytest.mark.parametrize("module", [Steps, Branch])
def test_exported_programs_keep_their_order(module, tmp_path):
    exported = torch.export.export(module(), (X,))
    ordered(exported.graph_module, PRODUCTS)
    program = treadle.from_fx(exported)
    assert awaited(program, "MatMul") == [{"AddV2"}] and {"MatMul"} in awaited(program, "Mul")
    treadle.torch.save(exported, tmp_path / "x.tfg")
    torch.export.save(exported, tmp_path / "x.pt2")
    for name in ("x.tfg", "x.pt2"):
        found = treadle.load(tmp_path / name).signatures["serving_default"](X)
        for value, expected in zip(found.values(), module()(X), strict=True):
            assert_close(torch.as_tensor(value), expected)
        command = [sys.executable, "-m", "treadle", "show", str(tmp_path / name)]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert " 2 control edges" in shown or module is Branch


def test_compiled_graphs_compute_the_same():
    module = ordered(make_fx(body, tracing_mode="fake")(X))
    for found, expected in zip(torch.compile(module, backend="treadle")(X), body(X), strict=True):
        assert_close(found, expected)
