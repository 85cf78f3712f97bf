"""Nodes that become one are between the same exchanges: by the structure of the rewritten graph."""

import random

import treadle

HEADER = "tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {\n"
MATRIX, VECTOR = "tensor<8x8xf32>", "tensor<8xf32>"
REDUCED = '{T = f32, Nordering_token = 0, final_op = "Id", merge_op = "Add"}'


def random_graph(seed):
    """Products, what may follow them, and exchanges, with hard and soft edges among all."""
    rng = random.Random(seed)
    lines = [
        f'%m0, %t0 = Placeholder name("m0") {{dtype = f32}} : () -> ({MATRIX})',
        f'%v0, %t1 = Placeholder name("v0") {{dtype = f32}} : () -> ({VECTOR})',
        '%k, %t2 = Const name("k") {dtype = i32, value = dense<2> : tensor<i32>} : () -> '
        "(tensor<i32>)",
    ]
    matrices, vectors, names = ["m0"], ["v0"], ["m0", "v0"]
    for i in range(3, rng.randint(12, 30)):
        name = f"n{i}"
        hard = f"[%t{rng.randrange(3, i)}] " if i > 3 and rng.random() < 0.1 else ""
        soft = f', _soft_inputs = ["{rng.choice(names)}"]' if rng.random() < 0.15 else ""
        x, v = rng.choice(matrices[-2:]), rng.choice(vectors)
        kind = rng.choice(["MatMul", "BiasAdd", "BiasAdd", "Relu", "Tanh", "AddV2", "exchange"])
        if kind == "exchange":
            lines.append(
                f'%{name}, %t{i} = CollectiveReduceV2(%{v}, %k, %k, %k) {hard}name("{name}") '
                f"{REDUCED} : ({VECTOR}, tensor<i32>, tensor<i32>, tensor<i32>) -> ({VECTOR})"
            )
            vectors.append(name)
        else:
            other = {"MatMul": (rng.choice(matrices), MATRIX), "BiasAdd": (v, VECTOR)}
            other["AddV2"] = rng.choice(list(other.values()))
            more = [other[kind]] if kind in other else []
            inputs = ", ".join(f"%{n}" for n in (x, *(m for m, _ in more)))
            types = ", ".join([MATRIX, *(t for _, t in more)])
            lines.append(
                f'%{name}, %t{i} = {kind}({inputs}) {hard}name("{name}") {{T = f32{soft}}} : '
                f"({types}) -> ({MATRIX})"
            )
            matrices.append(name)
        names.append(name)
    return treadle.Graph.from_bytes((HEADER + "\n".join(lines) + "\n}").encode())


def exchanges_before(graph):
    """Returns, by the name of a node, the exchanges that it depends on by data and hard edges."""
    nodes = {n.name: n for n in graph.nodes()}
    found = {}

    def of(name):
        if name not in found:
            found[name] = set()
            for source in (i.lstrip("^").split(":")[0] for i in nodes[name].inputs):
                found[name] |= of(source)
                if nodes[source].op.startswith("Collective"):
                    found[name].add(source)
        return found[name]

    return {name: of(name) for name in nodes}


def test_no_fused_node_waits_for_what_its_product_did_not():
    fused = 0
    for seed in range(200):
        graph = random_graph(seed)
        before = exchanges_before(graph)
        after = graph.run_passes("tfg-fuse-kernels")
        now = exchanges_before(after)
        for node in after.nodes():
            if node.op == "_FusedMatMul":  # it has the product's name
                fused += 1
                assert now[node.name] == before[node.name], (seed, node.name)
    assert fused > 20
