# ruff: noqa: E501 (programs in text)
"""Hard and soft edges: what a person asks for is kept by everything that comes after."""

import numpy as np
import pytest

import treadle

HEAD = "tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {\n"
F = "tensor<4x4xf32>"

# add, mm and mul, as they stand in a graph that asks for another order than its own.
THREE = (
    HEAD
    + f"""
  %x, %xc = Placeholder name("x") {{dtype = f32, shape = #tf_type.shape<4x4>}} : () -> ({F})
  %mul, %c3 = Mul(%x, %x) name("mul") {{T = f32}} : ({F}, {F}) -> ({F})
  %mm, %c2 = MatMul(%x, %x) name("mm") {{T = f32}} : ({F}, {F}) -> ({F})
  %add, %c1 = AddV2(%x, %x) name("add") {{T = f32}} : ({F}, {F}) -> ({F})
}}
"""
)
X = np.arange(16, dtype=np.float32).reshape(4, 4) / 7


def three():
    return treadle.Graph.from_bytes(THREE.encode())


def soft(graph, node):
    return graph[node].attrs.get("_soft_inputs", [])


def test_hard_edges_stay_through_passes():
    graph = three()
    assert graph.preserve_order({"mm": ["add"], "mul": "mm"}) == []
    assert graph["mm"].inputs == ["x:0", "x:0", "^add"]
    after = graph.run_passes("tfg-cse,tfg-constant-folding,tfg-remap,tfg-dedupe-constants")
    assert after["mul"].inputs[-1] == "^mm" and after["mm"].inputs[-1] == "^add"
    for tier in "interpret", "auto", "jit":
        mul, mm = treadle.Session(after, tier=tier).run(["mul", "mm"], {"x": X})
        np.testing.assert_allclose(mul, X * X)
        np.testing.assert_allclose(mm, X @ X, rtol=1e-5)


def test_several_dependencies_and_those_that_are_there_stay():
    graph = three()
    graph.preserve_order({"mul": ["add"]})
    graph.preserve_order({"mul": ["add", graph["mm"]]})
    assert graph["mul"].inputs == ["x:0", "x:0", "^add", "^mm"]
    graph.preserve_order({"mul": ["add"]}, soft=True)
    graph.preserve_order({"mul": ["mm"]}, soft=True)
    assert soft(graph, "mul") == ["add", "mm"]


def test_soft_edges_survive_formats(tmp_path):
    graph = three()
    graph.preserve_order({"mm": ["add"]}, soft=True)
    for name in "g.pb", "g.pbtxt", "g.mlir":
        graph.to_file(tmp_path / name)
        assert soft(treadle.Graph.from_file(tmp_path / name), "mm") == ["add"]


def recorded(text, fetches, record, feeds=None):
    session = treadle.Session(treadle.Graph.from_bytes(text.encode()))
    record.clear()
    session.run(fetches, feeds or {})
    return list(record)


@pytest.fixture
def record():
    names = []

    def step(x, who):
        names.append(who)
        return x

    treadle.register_op("RecordSoft", step, effects="none")
    return names


def step(name, value="%x", control="", after=None):
    order = f', _soft_inputs = ["{after}"]' if after else ""
    return (
        f"  %{name}, %{name}_c = RecordSoft({value}){control} "
        f'name("{name}") {{who = "{name}"{order}}} : (tensor<f32>) -> (tensor<f32>)\n'
    )


CONST = (
    '  %x, %xc = Const name("x") {dtype = f32, value = dense<1.0> : tensor<f32>}'
    " : () -> (tensor<f32>)\n"
)


def test_runs_follow_soft_edges(record):
    text = HEAD + CONST + step("late", after="early") + step("early") + "}"
    assert recorded(text, ["late", "early"], record) == ["early", "late"]
    # It isn't asked for, and a wish doesn't ask for it.
    assert recorded(text, ["late"], record) == ["late"]


def test_edges_win_over_wishes(record):
    text = HEAD + CONST + step("a", after="b") + step("b", "%a") + "}"
    assert recorded(text, ["b"], record) == ["a", "b"]
    problems = treadle.Graph.from_bytes(text.encode()).check()
    assert [p.message for p in problems if "_soft" in p.message or "soft edge" in p.message] == [
        "node 'a': it should follow 'b', but other edges require the opposite order; "
        "a run ignores this soft edge"
    ]


def test_a_name_that_is_not_there_is_a_problem(record):
    text = HEAD + CONST + step("a", after="nobody") + "}"
    assert recorded(text, ["a"], record) == ["a"]
    (problem,) = (
        p for p in treadle.Graph.from_bytes(text.encode()).check() if "nobody" in p.message
    )
    assert problem.kind == "error" and problem.nodes == ("a",)
    assert "there is no such node" in problem.message


def test_soft_edges_stop_no_fusion():
    body = f"""
  %x, %xc = Placeholder name("x") {{dtype = f32, shape = #tf_type.shape<4x4>}} : () -> ({F})
  %b, %bc = Const name("b") {{dtype = f32, value = dense<1.0> : tensor<4xf32>}} : () -> (tensor<4xf32>)
  %other, %oc = Neg(%x) name("other") {{T = f32}} : ({F}) -> ({F})
  %mm, %c2 = MatMul(%x, %x) name("mm") {{T = f32}} : ({F}, {F}) -> ({F})
  %add, %c1 = BiasAdd(%mm, %b) name("bias") {{T = f32}} : ({F}, tensor<4xf32>) -> ({F})
  %relu, %c3 = Relu(%add) name("relu") {{T = f32}} : ({F}) -> ({F})
  %exp, %c4 = Exp(%x) name("exp") {{T = f32}} : ({F}) -> ({F})
}}"""
    plain = treadle.Graph.from_bytes((HEAD + body).encode())
    wished = treadle.Graph.from_bytes((HEAD + body).encode())
    wished.preserve_order({"bias": ["other"], "exp": ["mm", "bias"]}, soft=True)
    fused, fused_wished = (g.run_passes("tfg-remap{keep=relu}") for g in (plain, wished))
    ops = [sorted(n.op for n in g.nodes()) for g in (fused, fused_wished)]
    assert ops[0] == ops[1] and "_FusedMatMul" in ops[0]
    # Soft edges of the parts become those of the whole, and vice versa.
    assert soft(fused_wished, "relu") == ["other"]
    assert soft(fused_wished, "exp") == ["mm", "bias", "relu"]
    pruned = fused_wished.run_passes("tfg-prune{fetches=relu,exp}")
    assert soft(pruned, "exp") == ["relu"] and "mm" not in pruned


def test_edits_keep_soft_edges():
    graph = three()
    graph.preserve_order({"mm": ["add"], "mul": ["add", "mm"]}, soft=True)
    graph["add"].name = "sum"
    assert soft(graph, "mm") == ["sum"]
    graph.replace_uses("^sum", "^x")
    assert soft(graph, "mul") == ["x", "mm"]
    graph.remove("mm")
    assert soft(graph, "mul") == ["x"]


@pytest.mark.parametrize(
    ("order", "error", "message"),
    [
        ({"mm": ["mm"]}, treadle.InvalidArgumentError, "node 'mm' can't follow itself"),
        (
            {"mm": ["nobody"]},
            treadle.NotFoundError,
            "node 'mm' should follow 'nobody', but there is no node 'nobody'",
        ),
        (
            {"mm": ["add"], "add": ["mm"]},
            treadle.InvalidArgumentError,
            "node 'add' is to follow 'mm', but that would close a cycle: 'add' -> 'mm'",
        ),
    ],
)
def test_what_can_not_be_ordered(order, error, message):
    graph = three()
    before = graph.text()
    with pytest.raises(error, match=message):
        graph.preserve_order(order)
    assert graph.text() == before


def test_contradicted_wishes_come_back():
    graph = three()
    assert graph.preserve_order({"mm": ["add"], "add": ["mm"]}, soft=True) == [("add", "mm")]
    assert soft(graph, "mm") == ["add"] and soft(graph, "add") == []


LOOP = (
    HEAD
    + """
  %n, %nc = Const name("n") {dtype = i32, value = dense<5> : tensor<i32>} : () -> (tensor<i32>)
  %w, %wc = While(%n) name("w") {T = [i32], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>, output_shapes = [#tf_type.shape<>], parallel_iterations = 10, _soft_inputs = ["n"]} : (tensor<i32>) -> (tensor<i32>)
  %late, %lc = Neg(%n) name("late") {T = i32, _soft_inputs = ["w"]} : (tensor<i32>) -> (tensor<i32>)
}
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}) -> (tensor<*xi1> {tfg.name = "more"}) {
  %zero, %c0 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %m, %c1 = Greater(%i, %zero) name("m") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<*xi1>)
  return(%m) : tensor<*xi1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}) -> (tensor<*xi32> {tfg.name = "next"}) {
  %one, %c0 = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %s, %c1 = Sub(%i, %one) name("s") {T = i32, _soft_inputs = ["one"]} : (tensor<i32>, tensor<i32>) -> (tensor<*xi32>)
  return(%s) : tensor<*xi32>
}
"""
)


def test_soft_edges_survive_control_flow_forms():
    graph = treadle.Graph.from_bytes(LOOP.encode())
    for passes in "tfg-functional-to-v1", "tfg-functional-to-region", "tfg-overlap-loops{all=true}":
        there = graph.run_passes(passes)
        assert not [p for p in there.check() if "should follow" in p.message], passes
        for tier in "interpret", "auto", "jit":
            assert treadle.Session(there, tier=tier).run(["w", "late"]) == [0, -5]


def test_clusters_take_wishes_along():
    graph = treadle.Graph.from_bytes(LOOP.encode())
    outlined = graph.run_passes("tfg-outline-clusters{fetches=w}")
    assert soft(outlined, "late") == ["w", "cluster"]
    assert not [p for p in outlined.check() if "should follow" in p.message]
    assert treadle.Session(graph, tier="jit").run(["w", "late"]) == [0, -5]


def constant(name, value, shape):
    tensor = f"tensor<{shape}f32>"
    return (
        f'  %{name}, %{name}_c = Const name("{name}") {{dtype = f32, value = dense<{value}> : {tensor}}}'
        f" : () -> ({tensor})\n"
    )


def binary(op, name, a, b, types, result="4x4"):
    first, second = (f"tensor<{t}f32>" for t in types)
    return (
        f'  %{name}, %{name}_c = {op}(%{a}, %{b}) name("{name}") {{T = f32}} : '
        f"({first}, {second}) -> (tensor<{result}xf32>)\n"
    )


def mean(name, value):
    return (
        f'  %{name}, %{name}_c = Mean(%{value}, %axis) name("{name}") '
        f"{{T = f32, Tidx = i32, keep_dims = true}} : ({F}, tensor<i32>) -> (tensor<4x1xf32>)\n"
    )


# Normalization of the rows of x, with the reductions that it has.
LAYER_NORM = (
    HEAD
    + f"""
  %x, %xc = Placeholder name("x") {{dtype = f32, shape = #tf_type.shape<4x4>}} : () -> ({F})
  %axis, %ac = Const name("axis") {{dtype = i32, value = dense<1> : tensor<i32>}} : () -> (tensor<i32>)
"""
    + constant("epsilon", 1e-3, "")
    + constant("scale", 2.0, "4x")
    + constant("offset", 0.5, "4x")
    + mean("mu", "x")
    + binary("Sub", "centered", "x", "mu", ("4x4x", "4x1x"))
    + binary("Mul", "squared", "centered", "centered", ("4x4x", "4x4x"))
    + mean("variance", "squared")
    + binary("AddV2", "safe", "variance", "epsilon", ("4x1x", ""), "4x1")
    + '  %inv, %ic = Rsqrt(%safe) name("inv") {T = f32} : (tensor<4x1xf32>) -> (tensor<4x1xf32>)\n'
    + binary("Mul", "normal", "centered", "inv", ("4x4x", "4x1x"))
    + binary("Mul", "scaled", "normal", "scale", ("4x4x", "4x"))
    + binary("AddV2", "y", "scaled", "offset", ("4x4x", "4x"))
    + "}"
)


WISHES = {"variance": ["mu"], "inv": ["centered"], "scaled": ["inv", "mu"], "y": ["first"]}


def test_a_layer_norm_stays_one_kernel():
    graph = treadle.Graph.from_bytes(LAYER_NORM.encode())
    graph.add("Exp", ["x"], name="first")
    expected = treadle.Session(graph).run("y", {"x": X})
    centered = X - X.mean(1, keepdims=True)
    inverse = 1 / np.sqrt((centered**2).mean(1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(expected, centered * inverse * 2 + 0.5, rtol=1e-5)
    assert graph.preserve_order(WISHES, soft=True) == []
    fused = graph.run_passes("tfg-remap{keep=y,first},tfg-prune{fetches=y,first}")
    computing = [n.op for n in fused.nodes() if n.op not in ("Placeholder", "Const")]
    assert sorted(computing) == ["Exp", "_MklLayerNorm"] and soft(fused, "y") == ["first"]
    for g in graph, fused:
        np.testing.assert_allclose(treadle.Session(g).run("y", {"x": X}), expected, rtol=1e-5)


def test_a_wish_holds_no_buffer():
    million = "tensor<1000000xf32>"
    seen = []
    watcher = treadle.Session(three(), statistics=True)

    def look(x):
        seen.append(watcher.statistics().live_bytes)
        return x

    treadle.register_op("LookAtMemory", look, effects="none")

    def live(soft):
        wish = '_soft_inputs = ["big"]' if soft else ""
        text = f"""{HEAD}
  %one, %c0 = Placeholder name("one") {{dtype = f32, shape = #tf_type.shape<>}} : () -> (tensor<f32>)
  %size, %c1 = Const name("size") {{dtype = i32, value = dense<1000000> : tensor<1xi32>}} : () -> (tensor<1xi32>)
  %axis, %c2 = Const name("axis") {{dtype = i32, value = dense<0> : tensor<i32>}} : () -> (tensor<i32>)
  %big, %c3 = Fill(%size, %one) name("big") {{T = f32, index_type = i32}} : (tensor<1xi32>, tensor<f32>) -> ({million})
  %sum, %c4 = Sum(%big, %axis) name("sum") {{T = f32, Tidx = i32}} : ({million}, tensor<i32>) -> (tensor<f32>)
  %look, %c5 = LookAtMemory(%sum) name("look") {{{wish}}} : (tensor<f32>) -> (tensor<f32>)
}}"""
        session = treadle.Session(treadle.Graph.from_bytes(text.encode()), tier="interpret")
        seen.clear()
        assert session.run("look", {"one": np.float32(1)}) == 1_000_000
        return seen[0]

    live(soft=False)
    assert live(soft=False) == live(soft=True)


def test_several_waits_order_one_consumer(record):
    text = HEAD + CONST + step("use") + step("first") + step("second") + step("third") + "}"
    names = ["use", "first", "second", "third"]
    for is_soft in False, True:
        graph = treadle.Graph.from_bytes(text.encode())
        graph.preserve_order({"use": ["first", "second", "third"]}, soft=is_soft)
        for threads in 1, 2:
            record.clear()
            treadle.Session(graph, threads=threads).run(names)
            assert sorted(record) == sorted(names) and record[-1] == "use"


def test_who_is_not_ordered_moves_freely(record):
    """A node that reads the same value as an ordered node doesn't wait with it."""
    text = HEAD + CONST + step("free") + step("mm") + step("add") + "}"
    for is_soft in False, True:
        graph = treadle.Graph.from_bytes(text.encode())
        graph.preserve_order({"mm": ["add"]}, soft=is_soft)
        assert graph["free"].inputs == ["x:0"] and soft(graph, "free") == []
        record.clear()
        treadle.Session(graph).run(["mm", "free", "add"])
        assert record == ["free", "add", "mm"]
        found = graph.run_passes("tfg-preserve-order{after=free:mm}")
        record.clear()
        treadle.Session(found).run(["mm", "free", "add"])
        assert record == ["add", "mm", "free"]


PASSES = [
    "tfg-cse{keep=KEEP}",
    "tfg-constant-folding",
    "tfg-remap",
    "tfg-dedupe-constants",
    "tfg-toposort",
    "tfg-prune{targets=KEEP}",
]


@pytest.mark.parametrize("seed", range(12))
def test_no_pass_and_no_schedule_breaks_a_hard_edge(record, seed):
    random = np.random.default_rng(seed)
    size = 20
    hard, soft_edges, text = [], {}, HEAD + CONST
    order = random.permutation(size)
    for place, i in enumerate(order):
        value = (
            "%x" if place == 0 or random.random() < 0.5 else f"%n{order[random.integers(place)]}"
        )
        if value != "%x":
            hard.append((value[1:], f"n{i}"))
        controls = [f"n{order[k]}" for k in range(place) if random.random() < 0.1]
        hard += [(other, f"n{i}") for other in controls]
        listed = ", ".join(f"%{other}_c" for other in controls)
        text += step(f"n{i}", value, f" [{listed}]" if controls else "")
        wishes = [f"n{k}" for k in range(size) if k != i and random.random() < 0.1]
        soft_edges[f"n{i}"] = wishes
    graph = treadle.Graph.from_bytes((text + "}").encode())
    left_out = graph.preserve_order(soft_edges, soft=True)
    kept = [(a, b) for b, many in soft_edges.items() for a in many if (b, a) not in left_out]
    names = [f"n{i}" for i in range(size)]
    chosen = random.choice(PASSES, 4, replace=False)
    for passes in chosen:
        graph = graph.run_passes(passes.replace("KEEP", ",".join(names)))
    assert not [p for p in graph.check() if "should follow" in p.message]
    for threads in 1, 2:
        record.clear()
        treadle.Session(graph, threads=threads).run([], {}, targets=names)
        when = {name: place for place, name in enumerate(record)}
        assert sorted(when) == sorted(names)
        assert [(a, b) for a, b in hard if when[a] > when[b]] == []
        # Wishes that nothing contradicts are kept as well.
        assert [(a, b) for a, b in kept if when[a] > when[b]] == []
