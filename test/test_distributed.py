# ruff: noqa: E501 (programs in text)
"""Collectives, several processes, and communication hidden behind computing."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from model_texts import variable_model  # noqa: E402

BIN = pathlib.Path(treadle.__file__).parents[2] / "bin" / "treadle"
HEAD = "tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {\n"
needs_mpi = pytest.mark.skipif(
    not shutil.which("mpirun") or not (BIN.parents[1] / "lib" / "libtreadle_mpi.so").exists(),
    reason="OpenMPI isn't installed",
)


def constant(name, value):
    return (
        f'  %{name}, %{name}_c = Const name("{name}") {{dtype = i32, value = dense<{value}> : '
        "tensor<i32>} : () -> (tensor<i32>)\n"
    )


def reduce(name, value, shape, instance, control="", op="Id"):
    return (
        f"  %{name}, %{name}_c = CollectiveReduceV2(%{value}, %size, %key, %{instance}){control} "
        f'name("{name}") {{T = f32, Nordering_token = 0, final_op = "{op}", merge_op = "Add"}} : '
        f"(tensor<{shape}xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<{shape}xf32>)\n"
    )


def on_all_ranks(ranks, work):
    """Returns the result of `work(rank)` on each rank, in threads; an exception is its own
    result."""
    results = [None] * len(ranks)

    def run(rank):
        try:
            results[rank] = work(rank)
        except Exception as error:
            results[rank] = error

    threads = [threading.Thread(target=run, args=[rank]) for rank in range(len(ranks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


GRADIENT = (
    HEAD
    + """
  %x, %xc = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<?x2>} : () -> (tensor<?x2xf32>)
  %y, %yc = Placeholder name("y") {dtype = f32, shape = #tf_type.shape<?x2>} : () -> (tensor<?x2xf32>)
  %w, %wc = Placeholder name("w") {dtype = f32, shape = #tf_type.shape<2x2>} : () -> (tensor<2x2xf32>)
  %rate, %rc = Const name("rate") {dtype = f32, value = dense<0.01> : tensor<f32>} : () -> (tensor<f32>)
  %p, %pc = MatMul(%x, %w) name("p") {T = f32} : (tensor<?x2xf32>, tensor<2x2xf32>) -> (tensor<?x2xf32>)
  %e, %ec = Sub(%p, %y) name("e") {T = f32} : (tensor<?x2xf32>, tensor<?x2xf32>) -> (tensor<?x2xf32>)
  %g, %gc = MatMul(%x, %e) name("g") {T = f32, transpose_a = true} : (tensor<?x2xf32>, tensor<?x2xf32>) -> (tensor<2x2xf32>)
"""
    + constant("size", 0).replace("dense<0>", "dense<SIZE>")
    + constant("key", 1)
    + reduce("mean", "g", "2x2", "key", op="Id")
    + """
  %d, %dc = Mul(%mean, %rate) name("d") {T = f32} : (tensor<2x2xf32>, tensor<f32>) -> (tensor<2x2xf32>)
  %n, %nc = Sub(%w, %d) name("new") {T = f32} : (tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>)
}"""
)


def step_feeds(size):
    random = np.random.default_rng(3)
    x, y = (random.normal(size=(8, 2)).astype(np.float32) for _ in range(2))
    return [{"x": x[r::size], "y": y[r::size]} for r in range(size)]


@pytest.mark.parametrize("size", [2, 4])
def test_a_data_parallel_step_is_that_of_one_process(size):
    w = np.float32([[1, -2], [0.5, 3]])

    def steps(graph, feeds, communicator=None):
        session = treadle.Session(graph, communicator=communicator)
        weights = w
        for _ in range(5):
            weights = session.run("new", {**feeds, "w": weights})
        return weights

    alone = steps(GRADIENT.replace("SIZE", "1").encode(), step_feeds(1)[0])
    ranks = treadle.Communicator.simulated(size)
    graph = GRADIENT.replace("SIZE", str(size)).encode()
    together = on_all_ranks(ranks, lambda r: steps(graph, step_feeds(size)[r], ranks[r]))
    for weights in together:
        np.testing.assert_allclose(weights, alone, rtol=1e-5)
        np.testing.assert_array_equal(weights, together[0])


def two_reductions(order):
    """Two all-reduces, one after the other, in an order of one's own."""
    first, second = order
    return (
        HEAD
        + '  %x, %xc = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<2>} : () -> (tensor<2xf32>)\n'
        + constant("size", 2)
        + constant("key", 1)
        + constant("i1", 1)
        + constant("i2", 2)
        + reduce(f"r{first}", "x", 2, f"i{first}")
        + reduce(f"r{second}", "x", 2, f"i{second}", f" [%r{first}_c]")
        + "}"
    ).encode()


def test_ranks_that_do_not_agree_are_told_so():
    ranks = treadle.Communicator.simulated(2, timeout=10)
    graphs = [two_reductions("12"), two_reductions("21")]

    def work(rank):
        return treadle.Session(graphs[rank], communicator=ranks[rank]).run(
            ["r1", "r2"], {"x": [1, 2]}
        )

    for error in on_all_ranks(ranks, work):
        # The rank that compares first aborts the others, which report the reason.
        assert isinstance(error, (treadle.FailedPreconditionError, treadle.AbortedError))
        assert "number 1 is on rank 0 Reduce in group 1, instance 1" in str(error)
        assert "('r1', CollectiveReduceV2), but on rank 1 Reduce in group 1, instance 2" in str(
            error
        )


def test_a_rank_that_does_not_come_is_named():
    ranks = treadle.Communicator.simulated(2, timeout=0.2)
    session = treadle.Session(two_reductions("12"), communicator=ranks[0])
    with pytest.raises(treadle.DeadlineExceededError, match="nothing arrived from rank 1 within"):
        session.run("r1", {"x": [1, 2]})


def test_a_rank_that_fails_ends_the_others():
    ranks = treadle.Communicator.simulated(2, timeout=30)
    treadle.register_op("FailsOnPurpose", lambda x: 1 // 0, effects="none")
    text = two_reductions("12").decode()
    text = text.replace(
        "%r2, ",
        '%bad, %bad_c = FailsOnPurpose(%x) name("bad") : (tensor<2xf32>) -> (tensor<2xf32>)\n  %r2, ',
    ).replace(
        "CollectiveReduceV2(%x, %size, %key, %i2)", "CollectiveReduceV2(%bad, %size, %key, %i2)"
    )

    def work(rank):
        graph = text.encode() if rank == 1 else two_reductions("12")
        return treadle.Session(graph, communicator=ranks[rank]).run(["r1", "r2"], {"x": [1, 2]})

    first, second = on_all_ranks(ranks, work)
    assert isinstance(first, treadle.AbortedError) and "rank 1 failed" in str(first)
    assert isinstance(second, treadle.UnknownError)


def test_one_process_needs_no_world():
    graph = GRADIENT.replace("SIZE", "1").encode()
    feeds = {**step_feeds(1)[0], "w": np.eye(2, dtype=np.float32)}
    assert treadle.Session(graph).run("new", feeds).shape == (2, 2)
    with pytest.raises(treadle.InvalidArgumentError, match="mpirun -n 3"):
        treadle.Session(GRADIENT.replace("SIZE", "3").encode()).run("new", feeds)


def in_groups(*steps):
    """Reductions of x one after the other, each given as its group's key and size, and its instance."""
    text = HEAD
    text += '  %x, %x_c = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<2>} : () -> (tensor<2xf32>)\n'
    before = ""
    for i, (key, size, instance) in enumerate(steps):
        name = f"g{key}i{instance}"
        text += constant(f"k{i}", key) + constant(f"s{i}", size) + constant(f"n{i}", instance)
        text += reduce(name, "x", 2, f"n{i}", before).replace("%size, %key", f"%s{i}, %k{i}")
        before = f" [%{name}_c]"
    return (text + "}").encode()


def run_in_groups(ranks, steps):
    """Returns the result of the last reduction on each rank."""
    fetches = [f"g{s[-1][0]}i{s[-1][2]}" for s in steps]

    def work(rank):
        session = treadle.Session(in_groups(*steps[rank]), communicator=ranks[rank])
        return session.run(fetches[rank], {"x": [1, rank]})

    return on_all_ranks(ranks, work)


def test_groups_of_some_ranks_agree_by_themselves():
    both, left, right = (1, 4, 1), (2, 2, 1), (3, 2, 1)
    ranks = treadle.Communicator.simulated(4, timeout=10)
    results = run_in_groups(ranks, [[left, both], [left, both], [both, right], [both, right]])
    np.testing.assert_array_equal(results, [[4, 6], [4, 6], [2, 5], [2, 5]])


def test_ranks_that_would_wait_in_a_circle_are_told_so():
    both, left, right = (1, 4, 1), (2, 2, 1), (3, 2, 1)
    ranks = treadle.Communicator.simulated(4, timeout=600)
    # Each group agrees; but ranks 0 and 1 would wait for each other.
    results = run_in_groups(ranks, [[left, both], [both, left], [right, both], [right, both]])
    for error in results:
        assert isinstance(error, treadle.FailedPreconditionError)
        assert (
            "ranks would deadlock: on rank 0 Reduce in group 1, instance 1, "
            "of float32, by Add ('g1i1', CollectiveReduceV2) waits for Reduce in group 2, instance "
            "1, of float32, by Add ('g2i1', CollectiveReduceV2), on rank 1 Reduce in group 2"
        ) in str(error)


def sends_and_receives(first, then):
    """Reduces x in group 1 before or after what is sent in group 2; `then` is what waits."""
    text = (
        HEAD
        + '  %x, %x_c = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<2>} : () -> (tensor<2xf32>)\n'
        + constant("size", 2) + constant("key", 1) + constant("other", 2)
        + '  %shape, %shape_c = Const name("shape") {dtype = i32, value = dense<2> : tensor<1xi32>} : () -> (tensor<1xi32>)\n'
    )  # fmt: skip
    ops = {
        "reduce": lambda after: reduce("r", "x", 2, "key", after),
        "send": lambda after: (
            f"  %b, %b_c = CollectiveBcastSendV2(%x, %size, %other, %other){after} "
            'name("b") {T = f32} : (tensor<2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<2xf32>)\n'
        ),
        "receive": lambda after: (
            f"  %b, %b_c = CollectiveBcastRecvV2(%size, %other, %other, %shape){after} "
            'name("b") {T = f32, Tshape = i32} : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<1xi32>) -> (tensor<2xf32>)\n'
        ),
    }
    name = "r" if first == "reduce" else "b"
    return (text + ops[first]("") + ops[then](f" [%{name}_c]") + "}").encode()


def test_who_sends_to_all_waits_for_nobody():
    def run(graphs):
        ranks = treadle.Communicator.simulated(3, timeout=600)[:2]
        return on_all_ranks(
            ranks,
            lambda rank: treadle.Session(graphs[rank], communicator=ranks[rank]).run(
                ["b", "r"], {"x": [rank, 1]}
            ),
        )

    results = run([sends_and_receives("send", "reduce"), sends_and_receives("reduce", "receive")])
    np.testing.assert_array_equal(results, [[[0, 1], [1, 2]]] * 2)
    results = run([sends_and_receives("reduce", "send"), sends_and_receives("receive", "reduce")])
    assert all("would deadlock" in str(error) for error in results), results


def test_ranks_that_reduce_differently_do_not_agree():
    ranks = treadle.Communicator.simulated(2, timeout=10)
    graphs = [two_reductions("12"), two_reductions("12").replace(b'"Add"', b'"Max"')]
    for error in on_all_ranks(
        ranks,
        lambda rank: treadle.Session(graphs[rank], communicator=ranks[rank]).run(
            "r1", {"x": [1, 2]}
        ),
    ):
        assert "instance 1, of float32, by Add ('r1', CollectiveReduceV2), but on rank 1" in str(
            error
        )


def test_a_group_that_does_not_agree_is_told_so():
    ranks = treadle.Communicator.simulated(4, timeout=10)
    first, second, other = (2, 2, 1), (2, 2, 2), (3, 2, 1)
    results = run_in_groups(ranks, [[first, second], [other], [second, first], [other]])
    for error in (results[0], results[2]):
        assert "order of collectives of group 2 (ranks 0 and 2): number 1 is on rank 0" in str(
            error
        )
        assert "('g2i1', CollectiveReduceV2), but on rank 2 Reduce in group 2, instance 2" in str(
            error
        )


def test_a_group_that_is_not_complete_is_told_so():
    ranks = treadle.Communicator.simulated(4, timeout=0.3)
    session = treadle.Session(in_groups((2, 2, 1)), communicator=ranks[0])
    with pytest.raises(treadle.DeadlineExceededError, match=r"of group 2: 2 ranks .*only|so far"):
        session.run("g2i1", {"x": [1, 2]})


def test_what_one_rank_runs_by_itself_disturbs_nobody():
    ranks = treadle.Communicator.simulated(2, timeout=10)
    graph = two_reductions("12").decode()
    graph = graph[: graph.rindex("}")] + (
        '  %n, %nc = Neg(%x) name("n") {T = f32} : (tensor<2xf32>) -> (tensor<2xf32>)\n}'
    )

    def work(rank):
        session = treadle.Session(graph.encode(), communicator=ranks[rank])
        results = [session.run("r1", {"x": [1, 2]})]
        if rank == 0:  # looks at something, and asks for more than the others
            session.run("n", {"x": [1, 2]})
            results += session.run(["r1", "n"], {"x": [1, 2]})[:1]
        else:
            results.append(session.run("r1", {"x": [1, 2]}))
        return results

    np.testing.assert_array_equal(on_all_ranks(ranks, work), [[[2, 4]] * 2] * 2)


def test_a_rank_that_ends_is_not_waited_for():
    ranks = treadle.Communicator.simulated(2, timeout=60)
    session = treadle.Session(two_reductions("12"), communicator=ranks[0])
    del ranks[1]
    with pytest.raises(treadle.UnavailableError, match="rank 1 has ended"):
        session.run("r1", {"x": [1, 2]})


def pbtxt(*nodes):
    return "".join("node {" + n + "}" for n in nodes).encode()


def pb_constant(name, values, dims=""):
    sizes = "".join(f"dim {{ size: {d} }}" for d in dims)
    numbers = " ".join(f"int_val: {v}" for v in values)
    return (
        f'name: "{name}" op: "Const" attr {{ key: "dtype" value {{ type: DT_INT32 }} }} '
        f'attr {{ key: "value" value {{ tensor {{ dtype: DT_INT32 tensor_shape {{ {sizes} }} '
        f"{numbers} }} }} }}"
    )


X = 'name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }'
T = 'attr { key: "T" value { type: DT_FLOAT } }'


def with_communicator(rank, size, assignment=(), columns=0, place=None):
    """All-reduce and all-to-all by a communicator that turns the ranks around."""
    dims = [len(assignment) // columns, columns] if columns else [0]
    return pbtxt(
        X, pb_constant("key", [5]), pb_constant("size", [size]),
        pb_constant("rank", [size - 1 - rank if place is None else place]),
        pb_constant("assignment", assignment, dims),
        'name: "world" op: "CollectiveInitializeCommunicator" input: "key" input: "rank" input: "size"',
        f'name: "sum" op: "CollectiveReduceV3" input: "x" input: "world" input: "assignment" {T}'
        'attr { key: "reduction" value { s: "Add" } }',
        f'name: "turn" op: "CollectiveAllToAllV3" input: "x" input: "world" input: "assignment" {T}',
    )  # fmt: skip


def test_communicators_have_an_order_of_their_own():
    ranks = treadle.Communicator.simulated(2, timeout=10)

    def work(rank):
        session = treadle.Session(with_communicator(rank, 2), communicator=ranks[rank])
        return session.run(["sum", "turn"], {"x": [10 * rank, 10 * rank + 1]})

    for rank, (total, turned) in enumerate(on_all_ranks(ranks, work)):
        np.testing.assert_array_equal(total, [10, 12])
        # Place 0 is rank 1.
        np.testing.assert_array_equal(turned, [11, 1] if rank == 0 else [10, 0])


def test_communicators_can_be_cut_into_groups():
    ranks = treadle.Communicator.simulated(4, timeout=10)

    def work(rank):
        graph = with_communicator(rank, 4, [0, 2, 1, 3], 2)
        return treadle.Session(graph, communicator=ranks[rank]).run("sum", {"x": [2**rank]})

    # Places 0, 1, 2, 3 are ranks 3, 2, 1, 0.
    np.testing.assert_array_equal(on_all_ranks(ranks, work), [[5], [10], [5], [10]])


@pytest.mark.parametrize(
    "given, message",
    [
        ({"assignment": [0, 0], "columns": 2}, "has duplicate ranks"),
        ({"assignment": [0], "columns": 1}, "rank 1 isn't in any row"),
        ({"place": 2}, "rank is 2 and group_size 2"),
    ],
)
def test_wrong_communicators_are_errors(given, message):
    ranks = treadle.Communicator.simulated(2, timeout=10)
    sessions = [
        treadle.Session(with_communicator(r, 2, **given), communicator=ranks[r]) for r in range(2)
    ]
    results = on_all_ranks(ranks, lambda r: sessions[r].run("sum", {"x": [1]}))
    errors = [str(result) for result in results if isinstance(result, treadle.Error)]
    assert errors and message in errors[0]


def test_values_are_permuted():
    ranks = treadle.Communicator.simulated(3, timeout=10)
    graph = pbtxt(
        X, pb_constant("pairs", [0, 1, 1, 0], [2, 2]),
        f'name: "p" op: "CollectivePermute" input: "x" input: "pairs" {T}',
    )  # fmt: skip

    def work(rank):
        return treadle.Session(graph, communicator=ranks[rank]).run("p", {"x": [rank + 1]})

    np.testing.assert_array_equal(on_all_ranks(ranks, work), [[2], [1], [0]])


ASSIGNMENT = [0, 2, 1, 3]


def assigned(device):
    return pbtxt(
        X, pb_constant("rows", ASSIGNMENT, [2, 2]), pb_constant("device", [device]),
        pb_constant("base", [10]), pb_constant("instance", [1]),
        'name: "group" op: "CollectiveAssignGroupV2" input: "rows" input: "device" input: "base"',
        'name: "sum" op: "CollectiveReduceV2" input: "x" input: "group" input: "group:1" '
        f'input: "instance" {T} attr {{ key: "merge_op" value {{ s: "Add" }} }} '
        'attr { key: "final_op" value { s: "Id" } }',
    )  # fmt: skip


def test_groups_are_assigned():
    ranks = treadle.Communicator.simulated(4, timeout=10)

    def work(rank):
        session = treadle.Session(assigned(rank), communicator=ranks[rank])
        return session.run(["group:0", "group:1", "sum"], {"x": [2**rank]})

    results = on_all_ranks(ranks, work)
    assert [(int(size), int(key), list(total)) for size, key, total in results] == [
        (2, 10, [5]),
        (2, 11, [10]),
        (2, 10, [5]),
        (2, 11, [10]),
    ]
    with pytest.raises(treadle.InvalidArgumentError, match="device 9 isn't in any row"):
        treadle.Session(assigned(9)).run("group:0", {"x": [1]})


STAGES = 8
LINK = {"latency": 0.0005, "bytes_per_second": 5e4}
COSTS = {"ops": {"MatMul": 0.02, "Mul": 0.0002, "Neg": 0.0002}, "link": LINK}


def stages_graph():
    """Products that need no exchange, ready before the results of a chain that are exchanged."""
    m = "tensor<1000x1000xf32>"
    v = "tensor<250xf32>"
    text = HEAD
    text += f'  %m, %m_c = Placeholder name("m") {{dtype = f32, shape = #tf_type.shape<1000x1000>}} : () -> ({m})\n'
    text += f'  %x, %x_c = Placeholder name("x") {{dtype = f32, shape = #tf_type.shape<250>}} : () -> ({v})\n'
    text += constant("size", 2) + constant("key", 1)
    for i in range(STAGES):
        text += f'  %work{i}, %work{i}_c = MatMul(%m, %m) name("work{i}") {{T = f32}} : ({m}, {m}) -> ({m})\n'
    for i in range(STAGES):
        before = f"grad{i - 1}" if i else "x"
        text += f'  %grad{i}, %grad{i}_c = Mul(%{before}, %x) name("grad{i}") {{T = f32}} : ({v}, {v}) -> ({v})\n'
        text += constant(f"i{i}", i)
        text += reduce(f"sum{i}", f"grad{i}", 250, f"i{i}")
        text += f'  %new{i}, %new{i}_c = Neg(%sum{i}) name("new{i}") {{T = f32}} : ({v}) -> ({v})\n'
    return text + "}"


@pytest.fixture
def costs(tmp_path):
    path = tmp_path / "costs.json"
    path.write_text(json.dumps(COSTS))
    return path


def test_schedules_hide_communication(costs):
    graph = treadle.Graph.from_bytes(stages_graph().encode())
    found = graph.schedule_communication(costs=costs)
    assert found.hidden_share >= 0.9
    assert found.unscheduled / found.scheduled >= 1.6
    assert {node.name for node in found.nodes if node.is_communication} == {
        f"sum{i}" for i in range(STAGES)
    }
    # The same again gives the same; and what is scheduled well is left alone.
    again = treadle.Graph.from_bytes(stages_graph().encode())
    assert str(again.schedule_communication(costs=costs)) == str(found)
    assert again.text() == graph.text()
    assert graph.schedule_communication(costs=costs).edges == 0


def test_a_schedule_keeps_the_edges_of_its_user(costs):
    graph = treadle.Graph.from_bytes(stages_graph().encode())
    graph.preserve_order({"grad0": [f"work{i}" for i in range(STAGES)]})
    graph.preserve_order({"grad1": ["work0"]}, soft=True)
    before = graph["grad0"].inputs.copy()
    found = graph.schedule_communication(costs=costs)
    assert graph["grad0"].inputs == before
    assert "work0" in graph["grad1"].attrs["_soft_inputs"]
    assert found.hidden < found.communication / 2


def test_small_exchanges_become_one(costs):
    graph = treadle.Graph.from_bytes(stages_graph().encode())
    # The chain of gradients is no path between the exchanges.
    found = graph.schedule_communication(costs=costs, bucket=4000)
    assert found.buckets == 2
    assert not graph.check()
    ranks = treadle.Communicator.simulated(2)
    feeds = {"x": np.full(250, 0.5, np.float32), "m": np.zeros((1000, 1000), np.float32)}

    def work(rank):
        session = treadle.Session(graph, communicator=ranks[rank])
        return session.run([f"new{i}" for i in range(STAGES)], feeds)

    for values in on_all_ranks(ranks, work):
        for i, value in enumerate(values):
            np.testing.assert_array_equal(value, np.full(250, -2 * 0.5 ** (i + 2), np.float32))


def test_a_thousand_ranks_can_be_simulated(costs):
    graph = treadle.Graph.from_bytes(stages_graph().replace("dense<2>", "dense<1024>").encode())
    found = graph.schedule_communication(costs=costs, ranks=1024, jitter=0.1)
    assert found.communication > 8 * 0.039
    assert found.compute < found.scheduled < found.unscheduled


def scheduled_and_plain_seconds(costs, rounds):
    plain = treadle.Graph.from_bytes(stages_graph().encode())
    scheduled = treadle.Graph.from_bytes(stages_graph().encode())
    scheduled.schedule_communication(costs=costs)
    fetches = [f"new{i}" for i in range(STAGES)]
    targets = [f"work{i}" for i in range(STAGES)]
    feeds = {"x": np.ones(250, np.float32), "m": np.zeros((1000, 1000), np.float32)}

    def seconds(graph):
        ranks = treadle.Communicator.simulated(2, **LINK)
        sessions = [treadle.Session(graph, threads=1, communicator=c) for c in ranks]
        times = []
        for _ in range(rounds):
            begin = time.perf_counter()
            for values in on_all_ranks(
                ranks, lambda r: sessions[r].run(fetches, feeds, targets=targets)
            ):
                assert not isinstance(values, Exception), values
                np.testing.assert_array_equal(values[0], np.full(250, -2))
            times.append(time.perf_counter() - begin)
        return min(times)

    return seconds(scheduled), seconds(plain)


def test_scheduled_steps_are_faster(costs):
    scheduled, plain = scheduled_and_plain_seconds(costs, rounds=4)
    assert scheduled < plain


def test_traces_show_what_is_hidden(tmp_path, costs):
    graph = treadle.Graph.from_bytes(stages_graph().encode())
    graph.schedule_communication(costs=costs)
    ranks = treadle.Communicator.simulated(2, **LINK)
    fetches = [f"new{i}" for i in range(STAGES)]
    feeds = {"x": np.ones(250, np.float32), "m": np.zeros((1000, 1000), np.float32)}
    sessions = [treadle.Session(graph, threads=1, communicator=c, trace=True) for c in ranks]
    targets = [f"work{i}" for i in range(STAGES)]
    on_all_ranks(ranks, lambda r: sessions[r].run(fetches, feeds, targets=targets))
    trace = json.loads(sessions[0].trace())
    exchanges = [e for e in trace["traceEvents"] if e.get("args", {}).get("exchange")]
    assert {e["name"] for e in exchanges} == {f"sum{i}" for i in range(STAGES)}
    assert all(0 <= e["args"]["hidden_us"] <= e["dur"] for e in exchanges)
    facts = trace["otherData"]
    hidden, whole = float(facts["hidden_us"]), float(facts["communication_us"])
    assert 0 < hidden <= whole
    share = hidden / min(whole, float(facts["computing_us"]))
    assert facts["hidden of what could be"] == f"{share * 100:.0f}%"
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"]
    assert f"exchanges: {share * 100:.0f}% hidden of what could be" in names
    # As costs, an exchange is what it took in the trace.
    measured = tmp_path / "trace.json"
    measured.write_text(sessions[0].trace())
    found = treadle.Graph.from_bytes(stages_graph().encode()).schedule_communication(costs=measured)
    assert found.communication == pytest.approx(sum(e["dur"] for e in exchanges) / 1e6)


def mpirun(count, *args, env=None, timeout=60, program=BIN):
    return subprocess.run(
        ["mpirun", "--oversubscribe", "-n", str(count), str(program), *args],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={
            **os.environ,
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            **(env or {}),
        },
    )


@needs_mpi
@pytest.mark.parametrize("size", [2, 4])
def test_processes_reduce(tmp_path, size):
    model = tmp_path / "step.mlir"
    model.write_text(GRADIENT.replace("SIZE", str(size)))
    for rank, feed in enumerate(step_feeds(size)):
        for key, value in feed.items():
            np.save(tmp_path / f"{key}{rank}.npy", value)
    done = mpirun(
        size, "run", str(model), "--fetch", "new:0", "--output", str(tmp_path / "out.npz"),
        "--input", f"x:0=@{tmp_path}/x{{rank}}.npy", "--input", f"y:0=@{tmp_path}/y{{rank}}.npy",
        "--input", "w:0=[[1,-2],[0.5,3]]",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("new:0") == 1
    feeds = {**step_feeds(1)[0], "w": np.float32([[1, -2], [0.5, 3]])}
    alone = treadle.Session(GRADIENT.replace("SIZE", "1").encode()).run("new", feeds)
    np.testing.assert_allclose(np.load(tmp_path / "out.npz")["new:0"], alone, rtol=1e-5)


SPANNING = (
    HEAD
    + """
  %n, %nc = Const name("n") {dtype = i32, value = dense<5> : tensor<i32>} : () -> (tensor<i32>)
  %x, %xc = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<>} : () -> (tensor<f32>)
  %w:2, %wc = While(%n, %x) name("w") {T = [i32, f32], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>, output_shapes = [#tf_type.shape<>, #tf_type.shape<>], parallel_iterations = 10} : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>)
  %r, %rc = Neg(%w#1) device("/job:worker/task:1") name("r") {T = f32} : (tensor<f32>) -> (tensor<f32>)
}
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}, %v: tensor<f32> {tfg.name = "v"}) -> (tensor<*xi1> {tfg.name = "more"}) {
  %zero, %c0 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %m, %c1 = Greater(%i, %zero) name("m") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<*xi1>)
  return(%m) : tensor<*xi1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %v: tensor<f32> {tfg.name = "v"}) -> (tensor<*xi32> {tfg.name = "next"}, tensor<*xf32> {tfg.name = "value"}) {
  %one, %c0 = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %s, %c1 = Sub(%i, %one) device("/job:worker/task:1") name("s") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<*xi32>)
  %d, %c2 = AddV2(%v, %v) device("/job:worker/task:0") name("d") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<*xf32>)
  %e, %c3 = Identity(%d) device("/job:worker/task:1") name("e") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  return(%s, %e) : tensor<*xi32>, tensor<*xf32>
}
"""
)


@needs_mpi
def test_links_are_measured(tmp_path):
    link, model = tmp_path / "link.json", tmp_path / "stages.mlir"
    done = mpirun(2, "links", str(link))
    assert done.returncode == 0, done.stderr
    assert done.stdout == link.read_text()
    found = json.loads(done.stdout)["link"]
    assert found["latency"] > 0 and found["bytes_per_second"] > 0
    ops = tmp_path / "ops.json"
    ops.write_text('{"ops": {"MatMul": 0.02}, "link": {"latency": 1}}')
    model.write_text(stages_graph())
    graph = treadle.Graph.from_file(str(model))
    schedule = graph.schedule_communication(costs=f"{ops},{link}")
    each = 2 * found["latency"] + 1000 / found["bytes_per_second"]
    assert schedule.communication == pytest.approx(STAGES * each)


def test_one_process_has_no_links(tmp_path):
    done = subprocess.run(
        [BIN, "links", tmp_path / "l"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "there is only one process, so there is no link to measure" in done.stderr


@needs_mpi
def test_loops_span_processes(tmp_path):
    model = tmp_path / "loop.mlir"
    model.write_text(SPANNING)
    done = mpirun(2, "run", str(model), "--fetch", "r:0,w:1", "--input", "x:0=3")
    assert (done.returncode, done.stdout) == (
        0,
        "r:0: float32[] = -96.0\nw:1: float32[] = 96.0\n",
    ), done.stderr


@needs_mpi
def test_a_process_that_fails_ends_all(tmp_path):
    model = tmp_path / "step.mlir"
    model.write_text(GRADIENT.replace("SIZE", "2"))
    np.save(tmp_path / "x0.npy", np.ones((4, 2), np.float32))
    begin = time.monotonic()
    done = mpirun(
        2, "run", str(model), "--fetch", "new:0", "--timeout", "20",
        "--input", f"x:0=@{tmp_path}/x{{rank}}.npy", "--input", "y:0=4x2xf32=1",
        "--input", "w:0=2x2xf32=1",
    )  # fmt: skip
    assert done.returncode != 0 and "x1.npy" in done.stderr
    assert time.monotonic() - begin < 40


@needs_mpi
def test_a_process_that_never_joins_is_an_error_in_time(tmp_path):
    model = tmp_path / "step.mlir"
    model.write_text(GRADIENT.replace("SIZE", "2"))
    script = f"[ $OMPI_COMM_WORLD_RANK = 1 ] && exit; exec {BIN} run {model} --fetch w --input w:0=2x2xf32=1 --timeout 3"
    done = mpirun(2, "-c", script, program="bash")
    assert done.returncode != 0
    assert (
        "DeadlineExceededError: joining the others: not all 2 processes that mpirun" in done.stderr
    )


@needs_mpi
def test_more_tasks_than_processes_is_an_error(tmp_path):
    model = tmp_path / "g.mlir"
    model.write_text(SPANNING.replace("task:1", "task:5"))
    done = mpirun(2, "run", str(model), "--fetch", "r:0", "--input", "x:0=3")
    assert done.returncode != 0
    assert "is placed on task 5, but there are 2 processes; start more: mpirun -n 6" in done.stderr


REDUCED = """
  node { name: "one" op: "Const" TYPES attr { key: "value" value { tensor {
         dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }
  node { name: "two" op: "Const" TYPES attr { key: "value" value { tensor {
         dtype: DT_INT32 tensor_shape { } int_val: 2 } } } }
  node { name: "product" op: "Mul" input: "read" input: "x" DEVICE
         attr { key: "T" value { type: DT_INT32 } } }
  node { name: "sum" op: "CollectiveReduceV2" input: "product" input: "two" input: "one" input: "one"
         attr { key: "T" value { type: DT_INT32 } } attr { key: "merge_op" value { s: "Add" } }
         attr { key: "final_op" value { s: "Id" } } }
"""


@needs_mpi
@pytest.mark.parametrize("device", ["", "/job:localhost/replica:0/task:0/device:CPU:0"])
def test_signatures_run_on_all_processes(tmp_path, device):
    model = variable_model(
        REDUCED.replace("DEVICE", f'device: "{device}"'), {"y": "sum:0"}, tmp_path / "m"
    )
    done = mpirun(2, "run", str(model), "--input", "x={rank}")
    assert (done.returncode, done.stdout) == (0, "y: int32[] = 10\n"), done.stderr
    done = mpirun(2, "run", str(model), "--input", "x:0=3", "--fetch", "sum:0")
    assert (done.returncode, done.stdout) == (0, "sum:0: int32[] = 60\n"), done.stderr


@needs_mpi
def test_what_a_signature_needs_cannot_be_placed_outside_of_functions(tmp_path):
    model = variable_model(
        REDUCED.replace("DEVICE", 'device: "/job:worker/task:1"'), {"y": "sum:0"}, tmp_path / "m"
    )
    done = mpirun(2, "run", str(model), "--input", "x={rank}")
    assert done.returncode != 0
    assert "would connect tasks outside of functions" in done.stderr


@needs_mpi
def test_each_process_traces_its_exchanges(tmp_path):
    model = tmp_path / "step.mlir"
    model.write_text(GRADIENT.replace("SIZE", "2"))
    trace = tmp_path / "trace.json"
    done = mpirun(
        2, "run", str(model), "--fetch", "new:0", "--trace", str(trace),
        "--input", "x:0=4x2xf32=1", "--input", "y:0=4x2xf32=1", "--input", "w:0=2x2xf32=1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for file in (trace, trace.with_name("trace.json.1")):
        events = json.loads(file.read_text())["traceEvents"]
        exchanges = [e["name"] for e in events if e.get("args", {}).get("exchange")]
        assert exchanges == ["mean"]


@needs_mpi
def test_groups_of_processes_that_do_not_agree_are_told_so(tmp_path):
    first, second, other = (2, 2, 1), (2, 2, 2), (3, 2, 1)
    orders = [[first, second], [other], [second, first], [other]]
    for rank, order in enumerate(orders):
        (tmp_path / f"{rank}.mlir").write_bytes(in_groups(*order))
    script = (
        f'exec {BIN} run {tmp_path}/$OMPI_COMM_WORLD_RANK.mlir --timeout 30 --input "x:0=[1,2]"'
    )
    script += " --target $(grep -o 'name(\"g[^\"]*' " + f"{tmp_path}/$OMPI_COMM_WORLD_RANK.mlir"
    script += " | tail -1 | cut -c7-)"
    done = mpirun(4, "-c", script, program="bash")
    assert done.returncode != 0
    assert "order of collectives of group 2 (ranks 0 and 2): number 1 is on rank 0" in done.stderr
