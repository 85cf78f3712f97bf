"""The `treadle` command, as somebody types it: what it prints, and how it exits."""

import contextlib
import itertools
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).parents[1]
COUNTDOWN = ROOT / "examples" / "countdown.pbtxt"
ORBITS = ROOT / "examples" / "from_jax" / "orbits.jax"
WORDS = ROOT / "examples" / "words"


def binary():
    """Beside the package that PYTHONPATH names; TREADLE_BIN says otherwise."""
    if "TREADLE_BIN" in os.environ:
        return pathlib.Path(os.environ["TREADLE_BIN"])
    import treadle

    return pathlib.Path(treadle.__file__).parents[2] / "bin" / "treadle"


BINARY = binary()


class Done:
    def __init__(self, *args, stdin=None):
        command = [BINARY, *map(str, args)]
        done = subprocess.run(command, capture_output=True, input=stdin, timeout=60)
        self.status = done.returncode
        self.out, self.err = done.stdout.decode(), done.stderr.decode()


def output(*args, stdin=None):
    """Returns the output of a command that succeeds."""
    done = Done(*args, stdin=stdin)
    assert (done.status, done.err) == (0, "")
    return done.out


def failure(*args):
    """The one line of a command that fails, without the program's name."""
    done = Done(*args)
    assert done.status == 1 and done.out == ""
    assert done.err.startswith("treadle: ")
    return done.err.removeprefix("treadle: ").rstrip("\n")


def misuse(*args):
    """The one line of a command that isn't understood."""
    done = Done(*args)
    assert done.status == 2 and done.out == ""
    assert done.err.startswith("treadle: ") and done.err.count("\n") == 1
    return done.err.removeprefix("treadle: ").rstrip("\n")


@pytest.fixture
def identity(tmp_path):
    """Writes a graph of a placeholder `x` and what passes it on, `y`."""

    def write(dtype="DT_FLOAT", shape="unknown_rank: true"):
        path = tmp_path / "identity.pbtxt"
        path.write_text(f"""
            node {{ name: "x" op: "Placeholder"
              attr {{ key: "dtype" value {{ type: {dtype} }} }}
              attr {{ key: "shape" value {{ shape {{ {shape} }} }} }} }}
            node {{ name: "y" op: "Identity" input: "x"
              attr {{ key: "T" value {{ type: {dtype} }} }} }}
        """)
        return path

    return write


# --- help and misuse ------------------------------------------------------------------------------


def test_help_names_every_command_and_its_options():
    out = output("--help")
    assert out == output("help") == output("-h")
    table = out.split("\n\n")[1]
    commands = [line.split()[0] for line in table.splitlines()]
    assert commands[:4] == ["run", "view", "bench", "show"] and "convert" in commands
    assert {"profile", "freeze"} <= set(commands)
    for command in commands:
        text = output(command, "--help")
        assert text.startswith(f"usage: treadle {command} ")
        assert "example" in text
        assert text == output("help", command)
    assert output("--version").split() == ["treadle", "0.1.0"]


def test_nothing_at_all_is_answered_with_the_help_and_2():
    done = Done()
    assert (done.status, done.out) == (2, "") and done.err == output("--help")


def test_help_of_run_tells_the_forms_of_values():
    text = output("run", "--help")
    for form in ("[1,2,3]", "1+2j", "2x3xf32=0", "2x3=0", "@x.npy", "@x.npz:NAME", "random"):
        assert form in text


@pytest.mark.parametrize("command", [[], ["run"], ["show"]])
def test_the_examples_of_help_print_what_help_says(command):
    lines = [line.strip() for line in output(*command, "--help").splitlines()]
    at = next(i for i, line in enumerate(lines) if line.startswith("treadle "))
    command = lines[at].replace("examples/countdown.pbtxt", str(COUNTDOWN)).split()
    said = [line for line in itertools.takewhile(bool, lines[at + 1 :]) if line != "..."]
    assert output(*command[1:]).splitlines()[: len(said)] == said


@pytest.mark.parametrize(
    "args, message",
    [
        (["rnu"], "unknown command 'rnu' (did you mean 'run'?)"),
        (["explode"], "unknown command 'explode'"),
        (["help", "rnu"], "unknown command 'rnu' (did you mean 'run'?)"),
        (["bench", "a", "--check", "b"], "option '--check'; it is an option of 'treadle run'"),
        (["run", "a", "--setup", ""], "'--setup' is empty"),
        (["run"], "'treadle run' got 0 arguments, expected MODEL"),
        (["run", "a", "b"], "'treadle run' got 2 arguments, expected MODEL"),
        (["convert", "a"], "'treadle convert' got 1 argument, expected IN OUT"),
        (["run", "a", "--fech", "x"], "'--fech' (did you mean '--fetch'?); 'treadle run --help'"),
        (["run", "a", "--fetch"], "'--fetch'"),
        (["run", "a", "--threads", "many"], "'many'"),
        (["run", "a", "--threads", "0"], "'0'"),
        (["run", "a", "--timeout", "-1"], "'-1'"),
        (["run", "a", "--tier", "fast"], "expected 'auto', 'interpret' or 'jit'"),
        (["run", "a", "--loop-overlap", "maybe"], "expected 'auto', 'on' or 'off'"),
        (["run", "a", "--stats=yes"], "--stats"),
        (["run", "a", "--fetch", ""], "'--fetch' is empty"),
        (["run", "a", "--target=,"], "'--target' is empty"),
        (["bench", "a", "--repeat", "1.5"], "'1.5'"),
        (["run", "a", "--cores", "0,x"], "option '--cores' has 'x', expected numbers of cores"),
        (["run", "a", "--cores", "-1"], "option '--cores' has '-1'"),
        (["run", "a", "--cores", ""], "'--cores' is empty"),
        (["run", "a", "--check", "b", "--fetch", "c"], "'--check' reads the fetches"),
    ],
)
def test_misuse_exits_with_2(args, message):
    line = misuse(*args)
    assert message in line and "--help" in line


# --- run ------------------------------------------------------------------------------------------


def test_run_prints_what_nothing_else_uses():
    assert output("run", COUNTDOWN) == "count:0: int32[] = 0\n"
    assert output("run", "-", stdin=COUNTDOWN.read_bytes()) == "count:0: int32[] = 0\n"


def test_run_fetches_inside_loops():
    fetches = "loop/dec,loop/dec:0@1,loop/dec:0@last,loop/dec:0@*"
    out = output("run", COUNTDOWN, "--fetch", fetches, "--input", "start=3")
    assert out.splitlines() == [
        "loop/dec: int32[] = 2",
        "loop/dec:0@1: int32[] = 1",
        "loop/dec:0@last: int32[] = 0",
        "loop/dec:0@*: int32[3] = [2 1 0]",
    ]


COMPLEX = "complex64[5] = [(1+2j) (3-1j) (2+0j) (0-0.5j) (1e-05+10j)]"


@pytest.mark.parametrize(
    "dtype, value, shown",
    [
        ("DT_INT32", "5", "int32[] = 5"),
        ("DT_INT32", "[[1,2],[-3, 4]]", "int32[2,2] = [[1 2] [-3 4]]"),
        ("DT_INT64", "[]", "int64[0] = []"),
        ("DT_FLOAT", "2.5", "float32[] = 2.5"),
        ("DT_FLOAT", "[1,1e-5]", "float32[2] = [1.0 1e-05]"),
        ("DT_FLOAT", "2x3xf32=0", "float32[2,3] = [[0.0 0.0 0.0] [0.0 0.0 0.0]]"),
        ("DT_FLOAT", "4xf32=1,2,3,4", "float32[4] = [1.0 2.0 3.0 4.0]"),
        ("DT_FLOAT", "[nan,inf,-inf]", "float32[3] = [nan inf -inf]"),
        ("DT_HALF", "0.1", "float16[] = 0.1"),
        ("DT_BFLOAT16", "0.5", "bfloat16[] = 0.5"),
        ("DT_DOUBLE", "1e300", "float64[] = 1e+300"),
        ("DT_BOOL", "[true,false]", "bool[2] = [True False]"),
        ("DT_UINT64", "18446744073709551615", "uint64[] = 18446744073709551615"),
        ("DT_UINT8", "2xu8=7", "uint8[2] = [7 7]"),
        ("DT_INT16", "2x1xi16=-7", "int16[2,1] = [[-7] [-7]]"),
        ("DT_UINT32", "[1,4294967295]", "uint32[2] = [1 4294967295]"),
        ("DT_FLOAT", "2x2=0", "float32[2,2] = [[0.0 0.0] [0.0 0.0]]"),
        ("DT_INT8", "3=1,2,3", "int8[3] = [1 2 3]"),
        ("DT_BOOL", "2xbool=true", "bool[2] = [True True]"),
        ("DT_COMPLEX64", "[1+2j,(3-j),2,-.5j,1e-5+1e+1j]", COMPLEX),
        ("DT_COMPLEX128", "2xc128=1-2j", "complex128[2] = [(1-2j) (1-2j)]"),
        ("DT_STRING", "text, and more", "string[] = b'text, and more'"),
        ("DT_STRING", "2x3=0", "string[] = b'2x3=0'"),
        ("DT_STRING", '"random"', "string[] = b'random'"),
        ("DT_STRING", '["a","b\\"c"]', "string[2] = [b'a' b'b\"c']"),
    ],
)
def test_values_are_given_and_shown(identity, dtype, value, shown):
    out = output("run", identity(dtype), "--input", f"x={value}")
    assert out == f"y:0: {shown}\n"


def test_long_values_are_shortened_as_numpy_does(identity):
    out = output("run", identity("DT_INT32"), "--input", "x=2000xi32=7")
    assert out == "y:0: int32[2000] = [7 7 7 ... 7 7 7]\n"


def test_values_come_from_npy_files(identity, tmp_path):
    np.save(tmp_path / "x.npy", np.asfortranarray(np.float32([[1, 2], [3, 4]])))
    out = output("run", identity(), "--input", f"x:0=@{tmp_path}/x.npy")
    assert out == "y:0: float32[2,2] = [[1.0 2.0] [3.0 4.0]]\n"


def test_values_come_from_members_of_npz_files(identity, tmp_path):
    one, two = tmp_path / "one.npz", tmp_path / "two.npz"
    np.savez(one, a=np.float32([1, 2]))
    np.savez(two, left=np.float32([3]), right=np.float32([4, 5]))
    assert output("run", identity(), "--input", f"x=@{one}") == "y:0: float32[2] = [1.0 2.0]\n"
    out = output("run", identity(), "--input", f"x=@{two}:right")
    assert out == "y:0: float32[2] = [4.0 5.0]\n"
    message = failure("run", identity(), "--input", f"x=@{two}")
    assert f"holds 2 arrays; name one: @{two}:NAME; its arrays are 'left', 'right'" in message
    message = failure("run", identity(), "--input", f"x=@{two}:rihgt")
    assert "has no array 'rihgt' (did you mean 'right'?)" in message


def test_random_complex_numbers_have_both_parts(identity):
    out = output("run", identity("DT_COMPLEX64", ""), "--input", "x=random")
    assert "j)" in out and "+0j" not in out


def test_random_values_are_the_same_each_time(identity):
    path = identity("DT_FLOAT", "dim { size: -1 } dim { size: 3 }")
    done = Done("run", path, "--input", "x=random")
    assert done.status == 0 and "float32[1,3]" in done.out
    assert done.err == (
        "treadle: note: input 'x:0' is float32[?,3]: using random values of float32[1,3]\n"
    )
    assert Done("run", path, "--input", "x=random").out == done.out


@pytest.mark.parametrize(
    "dtype, value, message",
    [
        ("DT_INT32", "1.5", "'1.5' is not a valid int32"),
        ("DT_INT8", "[1,200]", "'200' is not a valid int8, or is out of range"),
        ("DT_UINT32", "-1", "'-1' is not a valid uint32"),
        ("DT_FLOAT", "1e60", "'1e60' is not a valid float32"),
        ("DT_BOOL", "maybe", "'maybe' is not a valid bool"),
        ("DT_INT32", "[1,[2]]", "are mixed"),
        ("DT_INT32", "[[1],[2,3]]", "differ in length"),
        ("DT_INT32", "[1,2", "a ']' is missing"),
        ("DT_INT32", "[1,2]3", "after its end"),
        ("DT_INT32", "", "a value is missing"),
        ("DT_INT32", "2x2xi32=1,2,3", "has 3 elements, but shape [2,2] needs 4"),
        ("DT_INT32", "2xf32=1", "feed 'x:0' is float32[2]"),
        ("DT_COMPLEX64", "1+2i", "'1+2i' is not a valid complex64"),
        ("DT_FLOAT", "1+2j", "'1+2j' is not a valid float32"),
        ("DT_FLOAT", "2x3xfloat=0", "'float' is not a valid dtype (did you mean"),
        ("DT_FLOAT", "2x3xnone=0", "'none' is not a valid dtype; expected f32, i64, u8"),
        (
            "DT_STRING",
            "random",
            'random values are not supported for dtype string; write "random", in quotes',
        ),
        ("DT_STRING", '"abc', "a closing '\"' is missing"),
        ("DT_INT32", "9999999999999xi32=1", "ResourceExhaustedError: "),
        ("DT_INT32", "9999999999x9999999999xi32=1", "has too many elements"),
    ],
)
def test_values_that_do_not_fit(identity, dtype, value, message):
    assert message in failure("run", identity(dtype), "--input", f"x={value}")


def test_a_shape_without_a_dtype_where_the_graph_tells_none(identity):
    message = failure("run", identity(), "--input", "y=2x3=0")
    assert (
        "has no dtype, and the graph doesn't state one; put a dtype before '=': 2x3xf32=0"
        in message
    )


def test_a_missing_input_is_explained(identity):
    text = failure("run", identity("DT_FLOAT", "dim { size: -1 } dim { size: 3 }"))
    assert text.startswith("InvalidArgumentError: ")
    assert "x:0: float32[?,3]" in text and "--input NAME=VALUE" in text


@pytest.mark.parametrize(
    "args, message",
    [
        (["--fetch", "cuont"], "cuont"),
        (["--fetch", "count:3"], "count:3"),
        (["--target", "nowhere"], "nowhere"),
        (["--input", "start"], "expected NAME=VALUE"),
        (["--input", "strat=3"], "strat"),
        (["--input", "start=1", "--input", "start:0=2"], "fed twice"),
        (["--input", "start=@nowhere.npy"], "NotFoundError: 'nowhere.npy'"),
        (["--check", "nowhere.npz"], "NotFoundError: 'nowhere.npz'"),
        (["--signature", "serve"], "is not a SavedModel, so it has no signatures; use --fetch"),
        (["--output", "no-such-folder/out.npz"], "no-such-folder"),
    ],
)
def test_run_fails_with_one_error(args, message):
    done = Done("run", COUNTDOWN, *args)
    assert done.status == 1
    assert done.err.startswith("treadle: ") and message in done.err


@pytest.mark.parametrize(
    "model, args, message",
    [
        (
            COUNTDOWN,
            ["--function", "f"],
            "is not a SavedModel, so it has no functions to call; use",
        ),
        (ORBITS, ["--function", "f"], "to call; leave out --function to call 'main'"),
        (WORDS, ["--function", "f"], "no function 'f'; it has no functions, only signatures"),
        (WORDS, ["--fetch", "scald"], "the graph has no node 'scald'"),
        (WORDS, ["--fetch", "scald"], "with the outputs 'id' of 'lookup', "),
        (ORBITS, ["--fetch", "energies"], "the outputs 'energy' of 'main', 'places' of 'main'"),
    ],
)
def test_what_a_model_has_is_told_to_who_asks_for_more(model, args, message):
    assert message in failure("run", model, *args)


def test_an_input_of_a_signature_is_fed_once():
    assert "is fed twice" in failure("run", WORDS, "--input", "x=[1]", "--input", "x=[2]")


def test_a_saved_model_is_no_graph_of_tf_executor(tmp_path):
    message = failure("convert", WORDS, tmp_path / "words.mlir", "--to", "tf_executor")
    assert message.startswith("UnimplementedError: ") and "treadle freeze" in message
    assert not (tmp_path / "words.mlir").exists()


def test_models_that_are_none(tmp_path):
    assert failure("run", "nowhere.pb").startswith("NotFoundError: ")
    assert failure("run", tmp_path).startswith("NotFoundError: ")
    (tmp_path / "saved_model.pb").write_bytes(b"no model")
    assert failure("run", tmp_path).startswith("InvalidArgumentError: ")
    (tmp_path / "text.pbtxt").write_text('node { name: "a" op: }')
    assert failure("run", tmp_path / "text.pbtxt").startswith("InvalidArgumentError: ")
    (tmp_path / "empty.pb").write_bytes(b"")
    assert "has no nodes; expected a GraphDef" in failure("run", tmp_path / "empty.pb")
    (tmp_path / "input.pbtxt").write_text('node { name: "a" op: "NoOp" }')
    assert "has no output" in failure("run", tmp_path / "input.pbtxt")


def test_a_folder_is_its_graph(tmp_path):
    output("convert", COUNTDOWN, tmp_path / "graph.pb")
    assert output("run", tmp_path) == "count:0: int32[] = 0\n"


def test_results_go_to_a_file(tmp_path):
    path = tmp_path / "out.npz"
    output("run", COUNTDOWN, "--fetch", "count:0,loop/dec:0@*", "--output", path)
    with np.load(path) as arrays:
        assert arrays["count:0"] == 0
        np.testing.assert_array_equal(arrays["loop/dec:0@*"], np.int32([4, 3, 2, 1, 0]))


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with open(path, "r+b", buffering=0) as reader:
        output("run", COUNTDOWN, "--output", path)
        assert reader.read(4) == b"PK\3\4"
    assert path.is_fifo() and list(tmp_path.iterdir()) == [path]


def test_stats_go_to_standard_error():
    done = Done("run", COUNTDOWN, "--stats")
    assert done.out == "count:0: int32[] = 0\n"
    phases = [line.split(":")[0] for line in done.err.splitlines()]
    assert phases == ["load", "session", "plan and first run", "peak memory"]


@pytest.fixture
def endless(tmp_path):
    text = (
        COUNTDOWN.read_text()
        .replace('op: "Sub"', 'op: "AddV2"')
        .replace("int_val: 0", "int_val: -2147483648")
    )
    path = tmp_path / "endless.pbtxt"
    path.write_text(text.replace("int_val: 1 }", "int_val: 0 }"))
    return path


def test_a_timeout_is_an_error(endless):
    assert failure("run", endless, "--timeout", "0.2").startswith("DeadlineExceededError: ")


@pytest.mark.parametrize("disposition", [signal.SIG_DFL, signal.SIG_IGN])
def test_interrupt_ends_a_run_unless_ignored(endless, disposition):
    before = signal.signal(signal.SIGINT, disposition)  # the child inherits it
    try:
        process = subprocess.Popen(
            [BINARY, "run", endless, "--timeout", "2"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    if disposition == signal.SIG_DFL:
        assert (process.returncode, out, err) == (-signal.SIGINT, b"", b"treadle: interrupted\n")
    else:
        assert process.returncode == 1 and b"DeadlineExceededError" in err


@pytest.mark.parametrize("args", [["--fetch", "u"], ["--target", "u"]])
def test_an_unknown_op_is_named_where_it_is_reached(tmp_path, args):
    path = tmp_path / "graph.pbtxt"
    path.write_text(
        COUNTDOWN.read_text() + 'node { name: "u" op: "Fancy" input: "count" }',
    )
    assert output("run", path, "--fetch", "count") == "count: int32[] = 0\n"
    message = failure("run", path, *args)
    assert message.startswith("UnimplementedError: ")
    assert "node 'u' (Fancy): op 'Fancy' is unknown" in message


# --- check ----------------------------------------------------------------------------------------


def test_check_compares_with_what_is_expected(tmp_path):
    path = tmp_path / "io.npz"
    arrays = {"in/start:0": np.int32(3), "out/count:0": np.int32(0), "out/start": np.int32(3)}
    np.savez_compressed(path, **arrays)
    assert output("run", COUNTDOWN, "--check", path).splitlines() == [
        "count:0: int32[] equal",
        "start:0: int32[] equal",
        "passed",
    ]
    np.savez(path, **arrays | {"out/count:0": np.int32(1)})
    done = Done("run", COUNTDOWN, "--check", path)
    assert done.status == 1
    assert done.out.splitlines() == [
        "count:0: int32[] differs at []: got 0, expected 1",
        "start:0: int32[] equal",
        "failed",
    ]
    np.savez(path, **{"out/count:0": np.int64([0])})
    done = Done("run", COUNTDOWN, "--check", path)
    assert done.status == 1 and "is not as expected: int64[1]" in done.out


@pytest.mark.parametrize("off, status", [(0, 0), (5e-6, 0), (5e-5, 1), (np.nan, 1)])
def test_check_has_tolerances(identity, tmp_path, off, status):
    value = np.float32([1, np.nan, np.inf])
    expected = value + np.float32([off, 0, 0])
    np.savez(tmp_path / "io.npz", **{"in/x:0": value, "out/y:0": expected})
    done = Done("run", identity(), "--check", tmp_path / "io.npz")
    assert done.status == status
    assert "largest difference" in done.out


def test_check_makes_calls_in_order(tmp_path):
    arrays = {}
    for call in (10, 2):
        arrays[f"in/{call}/start"] = np.int32(call)
        arrays[f"out/{call}/start"] = np.int32(call)
    np.savez(tmp_path / "io.npz", **arrays)
    assert output("run", COUNTDOWN, "--check", tmp_path / "io.npz").splitlines() == [
        "call 0: start:0: int32[] equal",
        "call 1: start:0: int32[] equal",
        "passed",
    ]


def test_check_reads_text(identity, tmp_path):
    text = np.array([b"a\0", "\u00e9"], object)
    np.savez(tmp_path / "io.npz", **{"in/x:0": text, "out/y:0": text})
    out = output("run", identity("DT_STRING"), "--check", tmp_path / "io.npz")
    assert out == "y:0: string[2] equal\npassed\n"


def test_files_that_check_cannot_use(tmp_path):
    path = tmp_path / "io.npz"
    path.write_bytes(b"no archive")
    assert "not an npz archive" in failure("run", COUNTDOWN, "--check", path)
    np.savez(path, **{"in/start:0": np.int32(1)})
    assert "holds no out/... array" in failure("run", COUNTDOWN, "--check", path)
    np.savez(path, **{"start:0": np.int32(1)})
    assert "named neither in/... nor out/..." in failure("run", COUNTDOWN, "--check", path)


# --- the other commands ---------------------------------------------------------------------------


def test_bench_tells_percentiles():
    times = json.loads(output("bench", COUNTDOWN, "--repeat", "20", "--json"))
    assert times["runs"] == 20
    assert 0 < times["min_ms"] <= times["p50_ms"] <= times["p90_ms"] <= times["p99_ms"]
    text = output("bench", COUNTDOWN, "--repeat", "20")
    for word in ("p50", "p90", "p99", "min", "mean"):
        assert word in text


def test_bench_counts_the_calls_of_clients():
    line = ["bench", COUNTDOWN, "--repeat", "50", "--threads", "1", "--json"]
    one = json.loads(output(*line))
    assert (one["clients"], one["runs"]) == (1, 50)
    three = json.loads(output(*line, "--clients", "3"))
    assert three["clients"] == 3
    assert three["runs"] >= 3 * 50, "each has as many runs as were asked for"
    assert 0 < three["min_ms"] <= three["p50_ms"] <= three["p99_ms"]
    # No caller is in two calls at once.
    assert 0 < three["calls_per_second"] <= 1.001 * 3 * 1000 / three["mean_ms"]
    assert "clients 3, " in output("bench", COUNTDOWN, "--repeat", "5", "--clients", "3")


def test_a_run_stays_on_the_cores_that_it_is_given():
    core = min(os.sched_getaffinity(0))
    assert output("run", COUNTDOWN, "--cores", str(core)) == "count:0: int32[] = 0\n"
    assert "cores has 1000000, expected" in failure("run", COUNTDOWN, "--cores", "1000000")


def test_bench_has_some_clients_and_not_too_many():
    assert "'--clients' is '0', expected an integer of at least 1" in misuse(
        "bench", COUNTDOWN, "--clients", "0"
    )
    assert "'1025', expected at most 1024" in misuse("bench", COUNTDOWN, "--clients", "1025")


@pytest.mark.parametrize("option", ["--ranks", "--bucket", "--memory", "--jitter"])
def test_options_of_schedules_want_costs(option):
    line = [BINARY, "explain", COUNTDOWN, option, "3"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 2
    assert f"option '{option}' is for schedules; add --costs FILE" in done.stderr


def test_show_tells_what_is_in_a_graph():
    text = output("show", COUNTDOWN)
    assert text.startswith("14 nodes, 2 control edges, 0 functions")
    for line in ("start:0: int32[]", "count:0: int32", "loop (frame)", "Const: 3"):
        assert line in text
    summary = json.loads(output("show", COUNTDOWN, "--json"))
    assert summary["nodes"] == 14
    assert [loop["name"] for loop in summary["loops"]] == ["loop"]


@pytest.mark.parametrize("extension", ["pb", "pbtxt", "mlir"])
def test_convert_keeps_what_a_graph_means(tmp_path, extension):
    path = tmp_path / f"graph.{extension}"
    assert output("convert", COUNTDOWN, path) == ""
    assert output("run", path, "--input", "start=7") == "count:0: int32[] = 0\n"
    output("convert", path, tmp_path / "again.pb")
    output("convert", COUNTDOWN, tmp_path / "straight.pb")
    assert (tmp_path / "again.pb").read_bytes() == (tmp_path / "straight.pb").read_bytes()


def test_convert_refuses_what_it_does_not_know(tmp_path):
    assert ".xyz" in failure("convert", COUNTDOWN, tmp_path / "graph.xyz")
    assert failure("convert", COUNTDOWN, tmp_path / "none" / "graph.pb")
    assert list(tmp_path.iterdir()) == []


def test_a_closed_pipe_is_no_success():
    command = f"'{BINARY}' run '{COUNTDOWN}' >/dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 1 and "standard output cannot be written" in done.stderr


SAVED_MODEL = """
saved_model_schema_version: 1
meta_graphs {
  meta_info_def { tags: "serve" }
  graph_def { node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } } }
  signature_def {
    key: "serving_default"
    value {
      inputs { key: "x" value { name: "x:0" dtype: DT_FLOAT tensor_shape { dim { size: -1 } } } }
      method_name: "tensorflow/serving/predict"
    }
  }
}
"""


def test_a_saved_model_is_converted_as_a_whole(tmp_path):
    model = tmp_path / "model"
    (model / "variables").mkdir(parents=True)
    (model / "saved_model.pbtxt").write_text(SAVED_MODEL)
    (model / "variables" / "variables.index").write_bytes(b"index")
    output("convert", model, tmp_path / "binary")
    output("convert", tmp_path / "binary", tmp_path / "text.mlir")
    output("convert", tmp_path / "text.mlir", tmp_path / "back")
    for name in ["saved_model.pb", "variables/variables.index"]:
        assert (tmp_path / "back" / name).read_bytes() == (tmp_path / "binary" / name).read_bytes()
    error = failure("convert", model, tmp_path / "back")
    assert error.startswith("AlreadyExistsError: ")
    output("convert", model, f"{tmp_path / 'back.v2'}/")
    assert (tmp_path / "back.v2" / "saved_model.pb").exists()


@pytest.mark.parametrize("name", ["km.onnx", "km.dot", "km.v2"])
def test_a_saved_model_is_not_written_to_a_file_of_no_format(tmp_path, name):
    (tmp_path / "saved_model.pbtxt").write_text(SAVED_MODEL)
    assert failure("convert", tmp_path, tmp_path / name).endswith(
        f"{name}' has no known extension; end it in .pb, .pbtxt, .cpb or .mlir, or in '/' for a "
        "SavedModel's folder"
    )
    assert "(did you mean '.pbtxt'?)" in failure("convert", tmp_path, tmp_path / "km.pbtx")
    assert "'-' has no known extension" in failure("convert", tmp_path, "-")
    assert [path.name for path in tmp_path.iterdir()] == ["saved_model.pbtxt"]


def test_what_stays_behind_of_a_saved_model_is_told(tmp_path):
    (tmp_path / "saved_model.pbtxt").write_text(SAVED_MODEL)
    done = Done("convert", tmp_path, tmp_path / "x.pb")
    assert done.status == 0 and done.err == (
        f"treadle: note: '{tmp_path / 'x.pb'}' has only the graph of the model: "
        "its signatures and its assets are left out\n"
    )
    variable = 'graph_def { node { name: "v" op: "VarHandleOp" attr { key: "dtype" value { type: '
    variable += 'DT_FLOAT } } attr { key: "shape" value { shape { } } } }'
    text = SAVED_MODEL.replace("graph_def {", variable, 1)
    (tmp_path / "saved_model.pbtxt").write_text(text)
    note = Done("convert", tmp_path, tmp_path / "x.pb").err
    assert "the values of its 1 variable, its signatures" in note
    assert (
        f"; 'treadle freeze {tmp_path} -o {tmp_path / 'x.pb'}' turns variables into constants"
        in note
    )
    assert output("convert", tmp_path, tmp_path / "x.mlir") == ""


def test_show_lists_signatures(tmp_path):
    (tmp_path / "saved_model.pbtxt").write_text(SAVED_MODEL)
    shown = output("show", tmp_path)
    assert "  serving_default of {serve}, tensorflow/serving/predict\n" in shown
    assert "    <- x: float32[?] (x:0)\n" in shown
    signature = json.loads(output("show", tmp_path, "--json"))["signatures"][0]
    tensor = {"name": "x:0", "dtype": "float32", "shape": [None]}
    assert signature["inputs"] == [{"key": "x", "tensor": tensor}]


def test_show_leaves_out_what_no_signature_needs():
    shown = output("show", WORDS)
    assert "left out: 13 nodes that no shown signature needs; --all shows savers" in shown
    assert "RestoreV2" not in shown and "AssignVariableOp" not in shown
    whole = output("show", WORDS, "--all")
    assert whole.startswith("25 nodes") and "RestoreV2" in whole and "left out" not in whole
    summary = json.loads(output("show", WORDS, "--json"))
    assert (summary["nodes"], summary["left_out"]) == (12, {"nodes": 13, "functions": 0})
    assert json.loads(output("show", COUNTDOWN, "--json"))["left_out"]["nodes"] == 0


def test_show_shows_one_signature():
    shown = output("show", WORDS, "--signature", "lookup")
    assert "LookupTableFindV2: 1" in shown and "Mul" not in shown and "serving_default" not in shown
    assert "did you mean 'lookup'?" in failure("show", WORDS, "--signature", "lokup")
    assert "isn't from a SavedModel" in failure("show", COUNTDOWN, "--signature", "lookup")
    done = Done("show", WORDS, "--signature", "lookup", "--all")
    assert done.status == 2 and "can't be used together" in done.err


def test_explain_tells_of_signatures():
    told = output("explain", WORDS)
    assert "'y' (Mul)" in told and "RestoreV2" not in told
    assert "RestoreV2" in output("explain", WORDS, "--all")
    lookup = output("explain", WORDS, "--signature", "lookup")
    assert "'y' (Mul)" not in lookup and "LookupTableFindV2" in lookup
    assert "did you mean 'lookup'?" in failure("explain", WORDS, "--signature", "lokup")
    assert "isn't from a SavedModel" in failure("explain", COUNTDOWN, "--signature", "lookup")
    assert "can't be combined with fetches" in failure(
        "explain", WORDS, "--signature", "lookup", "--fetch", "y"
    )
    done = Done("explain", WORDS, "--signature", "lookup", "--all")
    assert done.status == 2 and "can't be used together" in done.err


def test_progress_is_shown_on_terminals_only():
    command = [BINARY, "bench", COUNTDOWN, "--fetch", "count:0", "--input", "start=3000000"]
    command += ["--repeat", "14", "--tier", "interpret"]
    main, terminal = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal) as process:
        os.close(terminal)
        shown = b""
        with contextlib.suppress(OSError):  # EIO: the other end was closed
            while chunk := os.read(main, 4096):
                shown += chunk
        assert process.wait() == 0
    os.close(main)
    assert re.search(rb"measuring \[#*-*\] \d+% \d+ s", shown)
    assert shown.endswith(b"\r\x1b[K")
    assert Done(*command[1:]).err == ""


def test_text_with_nodes_that_cannot_be(tmp_path):
    (tmp_path / "x.mlir").write_text(
        "tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {\n"
        '  %x, %c = NoOp name("x") : () -> (tensor<f32>)\n}\n'
    )
    message = "node 'x' (NoOp): it has 1 output, expected 0"
    assert message in failure("run", tmp_path / "x.mlir", "--fetch", "x")


@pytest.mark.parametrize("mode", ["auto", "off", "on"])
def test_loop_overlap_can_be_chosen(mode):
    done = Done("run", COUNTDOWN, "--loop-overlap", mode, "--fetch", "count:0")
    assert (done.status, done.out) == (0, "count:0: int32[] = 0\n")


def test_only_a_missing_input_lists_the_inputs(tmp_path):
    """Errors are told apart by what they are, and not by their text."""
    text = "has no value; feed it"
    graph = tmp_path / "g.pbtxt"
    graph.write_text(f"""
node {{ name: "x" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_BOOL }} }} }}
node {{ name: "t" op: "Const" attr {{ key: "dtype" value {{ type: DT_STRING }} }}
  attr {{ key: "value" value {{
    tensor {{ dtype: DT_STRING tensor_shape {{}} string_val: "{text}" }} }} }} }}
node {{ name: "a" op: "Assert" input: "x" input: "t"
  attr {{ key: "T" value {{ list {{ type: DT_STRING }} }} }} }}""")
    command = [BINARY, "run", graph, "--target", "a"]
    failed = subprocess.run([*command, "--input", "x=false"], capture_output=True, text=True)
    assert text in failed.stderr and "the graph's inputs" not in failed.stderr
    missing = subprocess.run(command, capture_output=True, text=True)
    assert "the graph's inputs:\n  x:0: bool" in missing.stderr


# --- variables of a graph -------------------------------------------------------------------------

VARIABLE = """
    node { name: "v" op: "VarHandleOp"
      attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape {} } }
      attr { key: "shared_name" value { s: "v" } } }
    node { name: "two" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 2 } } } }
    node { name: "init" op: "AssignVariableOp" input: "v" input: "two"
      attr { key: "dtype" value { type: DT_FLOAT } } }
    node { name: "r" op: "ReadVariableOp" input: "v"
      attr { key: "dtype" value { type: DT_FLOAT } } }
    node { name: "y" op: "Neg" input: "r" attr { key: "T" value { type: DT_FLOAT } } }
"""


@pytest.fixture
def variable(tmp_path):
    path = tmp_path / "variable.pbtxt"
    path.write_text(VARIABLE)
    return path


def test_setup_runs_what_initializes_first(variable):
    assert output("run", variable, "--fetch", "y", "--setup", "init") == "y: float32[] = -2.0\n"
    assert "runs 5 " in output("bench", variable, "--fetch", "y", "--setup", "init", "--repeat", 5)
    assert "10 runs of" in output("profile", variable, "--fetch", "y", "--setup", "init")
    assert "target 'inti': the graph has no such node (did you mean 'init'?)" in failure(
        "run", variable, "--setup", "inti"
    )


def test_a_variable_without_value_says_how_to_initialize_it(variable, tmp_path):
    advice = "; run its initializer first with --setup NODE"
    assert failure("run", variable, "--fetch", "y").endswith(advice)
    assert failure("freeze", variable, "--fetch", "y", "-o", tmp_path / "f.pb").endswith(advice)
    message = failure("compile", variable, "--fetch", "y", "-o", tmp_path / "v.o")
    assert (
        "'treadle freeze GRAPH --setup NODE -o FILE' gives it the value that NODE assigns"
        in message
    )


# --- names that are nearly right ------------------------------------------------------------------


def test_the_nearest_names_are_suggested(tmp_path):
    path = tmp_path / "ids.pbtxt"
    path.write_text(
        """node { name: "input_ids" op: "Placeholder"
             attr { key: "dtype" value { type: DT_FLOAT } } }
           node { name: "y" op: "Neg" input: "input_ids"
             attr { key: "T" value { type: DT_FLOAT } } }"""
    )
    assert "'ids' (did you mean 'input_ids'?)" in failure("run", path, "--input", "ids=3")
    words = ROOT / "examples" / "words"
    message = failure("run", words, "--signature", "serving")
    assert "no signature 'serving' (did you mean 'serving_default'?)" in message


def test_passes_that_are_none(variable):
    assert "there are tfg-" in failure("run", variable, "--passes", "nope")
    message = failure("run", variable, "--passes", "tfg-defalt")
    assert "no pass 'tfg-defalt' (did you mean 'tfg-default'?)" in message
    assert "treadle-opt" not in message


def test_compile_names_an_op_that_nobody_knows(tmp_path):
    path = tmp_path / "unknown.pbtxt"
    path.write_text(
        """node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
           node { name: "y" op: "MatMull" input: "x" input: "x" }
           node { name: "z" op: "Identity" input: "y"
             attr { key: "T" value { type: DT_FLOAT } } }"""
    )
    message = failure("compile", path, "--fetch", "z", "-o", tmp_path / "u.o")
    assert "op 'MatMull' is neither known nor a function of the graph" in message
    assert "did you mean 'MatMul'?" in message


def test_python_m_treadle_is_the_command():
    def module(*args):
        command = [sys.executable, "-m", "treadle", *args]
        return subprocess.run(command, capture_output=True, timeout=60, text=True)

    assert module("run", COUNTDOWN).stdout == "count:0: int32[] = 0\n"
    assert module("rnu").returncode == 2


def test_a_node_of_a_loops_body_says_how_to_reach_it(tmp_path):
    loop = tmp_path / "loop.pb"
    output("convert", COUNTDOWN, loop, "--passes", "tfg-structured")
    message = failure("run", loop, "--fetch", "loop/dec:0@*")
    passes = "tfg-frames,tfg-inline-all"
    assert f"a node of function 'loop_body': the passes {passes} bring it into the graph" in message
    message = failure("run", loop, "--passes", passes, "--fetch", "loop/dec:0@*")
    assert "did you mean 'loop/body/loop/dec'?" in message
    fetch = "loop/body/loop/dec:0@*"
    assert "[4 3 2 1 0]" in output("run", loop, "--passes", passes, "--fetch", fetch)
