"""Sends and receives between devices of a StableHLO program, and infeeds and outfeeds."""

import numpy as np
import pytest
from mlir_programs import function, run_grid, runner, same
from test_distributed import mpirun, needs_mpi

import treadle

CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = {}, type = {}>"
TOKEN = "!stablehlo.token"


def pairs_text(pairs):
    return f"source_target_pairs = dense<{[list(p) for p in pairs]}> : tensor<{len(pairs)}x2xi64>"


TO_HOST, FROM_HOST = 2, 3


def place(channel, pairs, host):
    """The attributes of an end of a channel; without pairs it goes by way of the host."""
    if pairs is None:
        return CHANNEL.format(channel, host) + ", is_host_transfer = true"
    return f"{CHANNEL.format(channel, 1)}, is_host_transfer = false, {pairs_text(pairs)}"


def send(name, values, types, token, pairs=None, channel=1):
    operands = ", ".join([*values, token])
    types = ", ".join([*(f"tensor<{t}>" for t in types), TOKEN])
    return (
        f'%{name} = "stablehlo.send"({operands}) {{{place(channel, pairs, TO_HOST)}}}'
        f" : ({types}) -> {TOKEN}"
    )


def receive(name, types, token, pairs=None, channel=1):
    results = ", ".join([*(f"tensor<{t}>" for t in types), TOKEN])
    return (
        f'%{name}:{len(types) + 1} = "stablehlo.recv"({token}) '
        f"{{{place(channel, pairs, FROM_HOST)}}} : ({TOKEN}) -> ({results})"
    )


MADE = f"%token = stablehlo.create_token : {TOKEN}"


def program(lines, arguments, results):
    return function("\n".join([MADE, *lines]), arguments, results)


def numbered(count):
    return [[np.float32([10 * rank, 10 * rank + 1])] for rank in range(count)]


@pytest.mark.parametrize("grid", [{"replicas": 3}, {"partitions": 3}])
def test_a_value_goes_along_the_pairs(tmp_path, grid):
    """Devices that are the target of no pair get zeros."""
    pairs = [(0, 1), (1, 2)]
    text = program(
        [
            send("sent", ["%a"], ["2xf32"], "%token", pairs),
            receive("got", ["2xf32"], "%sent", pairs),
            "%r = stablehlo.add %a, %got#0 : tensor<2xf32>",
        ],
        ["2xf32"],
        ["2xf32"],
    )
    same(run_grid(tmp_path, text, numbered(3), **grid), *np.float32([[0, 1], [10, 12], [30, 32]]))


def test_in_a_grid_channels_join_partitions(tmp_path):
    pairs = [(1, 0)]
    text = program(
        [
            send("sent", ["%a"], ["2xf32"], "%token", pairs),
            receive("got", ["2xf32"], "%sent", pairs),
            "%r = stablehlo.add %got#0, %got#0 : tensor<2xf32>",
        ],
        ["2xf32"],
        ["2xf32"],
    )
    got = run_grid(tmp_path, text, numbered(4), replicas=2, partitions=2)
    same(got, *np.float32([[20, 22], [0, 0], [60, 62], [0, 0]]))


def test_what_is_received_may_be_sent_further_down(tmp_path):
    """The two have no token in common: neither waits for the other."""
    pairs = [(0, 1), (1, 0)]
    text = program(
        [
            receive("got", ["2xf32"], "%token", pairs),
            send("sent", ["%a"], ["2xf32"], "%token", pairs),
            "%r = stablehlo.add %got#0, %got#0 : tensor<2xf32>",
        ],
        ["2xf32"],
        ["2xf32"],
    )
    same(run_grid(tmp_path, text, numbered(2), partitions=2), *np.float32([[20, 22], [0, 2]]))


def test_several_values_at_once(tmp_path):
    pairs = [(0, 1), (1, 0)]
    types = ["2xf32", "i1", "3xui8"]
    text = program(
        [
            "%yes = stablehlo.constant dense<true> : tensor<i1>",
            "%bytes = stablehlo.constant dense<[1, 2, 3]> : tensor<3xui8>",
            send("sent", ["%a", "%yes", "%bytes"], types, "%token", pairs),
            receive("got", types, "%sent", pairs),
            "%zeros = stablehlo.constant dense<0.0> : tensor<3xf32>",
            "%f = stablehlo.convert %got#2 : (tensor<3xui8>) -> tensor<3xf32>",
            "%s = stablehlo.select %got#1, %f, %zeros : tensor<i1>, tensor<3xf32>",
            "%r = stablehlo.concatenate %got#0, %s, dim = 0"
            " : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>",
        ],
        ["2xf32"],
        ["5xf32"],
    )
    got = run_grid(tmp_path, text, numbered(2), partitions=2)
    same(got, *np.float32([[10, 11, 1, 2, 3], [0, 1, 1, 2, 3]]))


def test_a_ring_in_a_loop(tmp_path):
    """Each device hands on what it got last: after three turns it has its own again."""
    pairs = [(0, 1), (1, 2), (2, 0)]
    types = f"tensor<i32>, tensor<2xf32>, {TOKEN}"
    text = program(
        [
            "%zero = stablehlo.constant dense<0> : tensor<i32>",
            "%loop:3 = stablehlo.while(%i = %zero, %x = %a, %t = %token) : " + types,
            "cond {",
            "  %three = stablehlo.constant dense<3> : tensor<i32>",
            "  %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            "  stablehlo.return %c : tensor<i1>",
            "} do {",
            "  %one = stablehlo.constant dense<1> : tensor<i32>",
            "  %ones = stablehlo.constant dense<1.0> : tensor<2xf32>",
            "  %y = stablehlo.add %x, %ones : tensor<2xf32>",
            "  " + send("sent", ["%y"], ["2xf32"], "%t", pairs),
            "  " + receive("got", ["2xf32"], "%sent", pairs),
            "  %j = stablehlo.add %i, %one : tensor<i32>",
            f"  stablehlo.return %j, %got#0, %got#1 : {types}",
            "}",
            "%r = stablehlo.negate %loop#1 : tensor<2xf32>",
        ],
        ["2xf32"],
        ["2xf32"],
    )
    got = run_grid(tmp_path, text, numbered(3), partitions=3)
    same(got, *(-value[0] - 3 for value in numbered(3)))


def test_values_keep_their_order(tmp_path):
    pairs = [(0, 1), (1, 0)]
    lines = []
    token = "%token"
    for i in range(4):
        lines += [
            f"%c{i} = stablehlo.constant dense<{i}.0> : tensor<2xf32>",
            f"%x{i} = stablehlo.add %a, %c{i} : tensor<2xf32>",
            send(f"sent{i}", [f"%x{i}"], ["2xf32"], token, pairs),
        ]
        token = f"%sent{i}"
    for i in range(4):
        lines.append(receive(f"got{i}", ["2xf32"], token, pairs))
        token = f"%got{i}#1"
    lines += [
        "%r = stablehlo.concatenate %got0#0, %got1#0, %got2#0, %got3#0, dim = 0 : "
        "(tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<8xf32>"
    ]
    got = run_grid(tmp_path, program(lines, ["2xf32"], ["8xf32"]), numbered(2), partitions=2)
    same(got, *np.float32([[10, 11, 11, 12, 12, 13, 13, 14], [0, 1, 1, 2, 2, 3, 3, 4]]))


def test_the_host_hands_on_what_it_is_sent(tmp_path):
    """Each device sends once and gets once: all values together are those that were sent."""
    text = program(
        [
            send("sent", ["%a"], ["2xf32"], "%token"),
            receive("got", ["2xf32"], "%sent"),
            "%r = stablehlo.add %got#0, %got#0 : tensor<2xf32>",
        ],
        ["2xf32"],
        ["2xf32"],
    )
    got = run_grid(tmp_path, text, numbered(3), replicas=3)
    assert sorted(map(tuple, got)) == [(0, 2), (20, 22), (40, 42)]


@pytest.mark.parametrize("pairs", [None, [(0, 0)]])
def test_one_device_sends_to_itself(tmp_path, pairs):
    text = program(
        [
            send("sent", ["%a"], ["2xf32"], "%token", pairs),
            receive("got", ["2xf32"], "%sent", pairs),
            "%r = stablehlo.add %got#0, %got#0 : tensor<2xf32>",
        ],
        ["2xf32"],
        ["2xf32"],
    )
    for _ in range(2):
        same(runner(tmp_path)(text, np.float32([1, 2])), np.float32([2, 4]))


def test_another_type_than_what_was_sent(tmp_path):
    pairs = [(0, 1), (1, 0)]
    text = program(
        [
            send("sent", ["%a"], ["2xf32"], "%token", pairs),
            receive("got", ["3xf32"], "%sent", pairs),
            "%r = stablehlo.add %got#0, %got#0 : tensor<3xf32>",
        ],
        ["2xf32"],
        ["3xf32"],
    )
    wanted = (
        r"channel 1 is float32\[2\], expected float32\[3\]; send values of the received dtype and "
        r"shape"
    )
    with pytest.raises(treadle.Error, match=wanted):
        run_grid(tmp_path, text, numbered(2), partitions=2)


SENT = [send("sent", ["%a"], ["2xf32"], "%token"), "%r = stablehlo.negate %a : tensor<2xf32>"]
WITHOUT_PAIRS = send("sent", ["%a"], ["2xf32"], "%token", [(0, 0)]).replace(
    ", " + pairs_text([(0, 0)]), ""
)


@pytest.mark.parametrize(
    ("lines", "error", "message"),
    [
        (SENT, treadle.UnimplementedError, "send with the host program"),
        (
            [receive("got", ["2xf32"], "%token"), SENT[1]],
            treadle.UnimplementedError,
            "recv with the host program",
        ),
        ([WITHOUT_PAIRS, SENT[1]], treadle.InvalidArgumentError, "no source_target_pairs"),
        (
            [send("sent", ["%a"], ["2xf32"], "%token", [(0, 7)]), SENT[1]],
            treadle.InvalidArgumentError,
            "source_target_pairs name 7",
        ),
        (
            [send("sent", ["%a"], ["2xf32"], "%token", [(0, 0), (0, 0)]), SENT[1]],
            treadle.InvalidArgumentError,
            "two of its source_target_pairs begin at one device",
        ),
    ],
    ids=["to the host", "from the host", "to nobody", "to a device that isn't there", "to two"],
)
def test_ends_that_lead_nowhere(tmp_path, lines, error, message):
    with pytest.raises(error, match=message):
        runner(tmp_path)(program(lines, ["2xf32"], ["2xf32"]), np.float32([1, 2]))


@needs_mpi
@pytest.mark.parametrize("pairs", [[(1, 0), (2, 1)], None], ids=["pairs", "host"])
def test_processes_send(tmp_path, pairs):
    """Rank 0 prints what rank 1 sent. The host hands that on to rank 2 after rank 0 has left."""
    ends = [
        send("sent", ["%a"], ["2xf32"], "%token", pairs),
        receive("got", ["2xf32"], "%sent", pairs),
    ]
    if pairs is None:
        compared = "(tensor<ui32>, tensor<ui32>) -> tensor<i1>"
        ends = [
            "%place = stablehlo.partition_id : tensor<ui32>",
            "%one = stablehlo.constant dense<1> : tensor<ui32>",
            "%two = stablehlo.constant dense<2> : tensor<ui32>",
            f"%sends = stablehlo.compare EQ, %place, %one : {compared}",
            f"%gets = stablehlo.compare EQ, %place, %two : {compared}",
            '%sent = "stablehlo.if"(%sends) ({',
            "  " + send("s", ["%a"], ["2xf32"], "%token"),
            f"  stablehlo.return %s : {TOKEN}",
            f"}}, {{ stablehlo.return %token : {TOKEN} }}) : (tensor<i1>) -> {TOKEN}",
            '%got:2 = "stablehlo.if"(%gets) ({',
            "  " + receive("g", ["2xf32"], "%sent"),
            f"  stablehlo.return %g#0, %g#1 : tensor<2xf32>, {TOKEN}",
            f"}}, {{ stablehlo.return %a, %token : tensor<2xf32>, {TOKEN} }})"
            f" : (tensor<i1>) -> (tensor<2xf32>, {TOKEN})",
        ]
    text = program([*ends, "%r = stablehlo.negate %got#0 : tensor<2xf32>"], ["2xf32"], ["2xf32"])
    path = tmp_path / "sent.mlir"
    path.write_text(f"module attributes {{mhlo.num_partitions = 3 : i32}} {{\n{text}}}\n")
    for rank, (value,) in enumerate(numbered(3)):
        np.save(tmp_path / f"x{rank}.npy", value)
    done = mpirun(3, "run", str(path), "--input", f"0=@{tmp_path}/x{{rank}}.npy", "--timeout", "20")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "result: float32[2] = " + (
        "[-10.0 -11.0]" if pairs else "[-0.0 -1.0]"
    )


# --- feeds ---------------------------------------------------------------------------------------


def infeed(name, types, token):
    results = ", ".join([*(f"tensor<{t}>" for t in types), TOKEN])
    return f'%{name}:{len(types) + 1} = "stablehlo.infeed"({token}) : ({TOKEN}) -> ({results})'


def test_feeds_are_arguments_and_results(tmp_path):
    text = program(
        [
            infeed("x", ["2xf32", "i32"], "%token"),
            infeed("y", ["2xf32"], "%x#2"),
            "%r = stablehlo.add %a, %x#0 : tensor<2xf32>",
            "%o = stablehlo.multiply %a, %y#0 : tensor<2xf32>",
            f'%out = "stablehlo.outfeed"(%o, %x#1, %y#1) : (tensor<2xf32>, tensor<i32>, {TOKEN})'
            f" -> {TOKEN}",
        ],
        ["2xf32"],
        ["2xf32"],
    )
    path = tmp_path / "fed.mlir"
    path.write_text(text)
    signature = treadle.load(path).signatures["main"]
    got = signature(
        arg0=np.float32([1, 2]),
        infeed_0=np.float32([10, 20]),
        infeed_1=np.int32(7),
        infeed_2=np.float32([3, 4]),
    )
    assert list(got) == ["result_0", "outfeed_0", "outfeed_1"]
    same(list(got.values()), np.float32([11, 22]), np.float32([3, 8]), np.int32(7))


def test_a_loop_cant_be_fed(tmp_path):
    text = program(
        [
            "%yes = stablehlo.constant dense<true> : tensor<i1>",
            '%x:2 = "stablehlo.if"(%yes) ({',
            "  " + infeed("y", ["2xf32"], "%token"),
            f"  stablehlo.return %y#0, %y#1 : tensor<2xf32>, {TOKEN}",
            "}, {",
            f"  stablehlo.return %a, %token : tensor<2xf32>, {TOKEN}",
            f"}}) : (tensor<i1>) -> (tensor<2xf32>, {TOKEN})",
            "%r = stablehlo.negate %x#0 : tensor<2xf32>",
        ],
        ["2xf32"],
        ["2xf32"],
    )
    with pytest.raises(treadle.UnimplementedError, match="infeed outside of @main, or in a loop"):
        runner(tmp_path)(text, np.float32([1, 2]))
