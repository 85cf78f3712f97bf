"""One binary for all processors: what it may contain, and the same results at each level.

TREADLE_CPU caps the instructions that are used, so the levels that this processor has are all
tested. Processors that aren't here are those of qemu's user emulation, where it is installed.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import command_line  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
COUNTDOWN = ["run", ROOT / "examples" / "countdown.pbtxt", "--fetch", "count:0"]
COUNTED = "count:0: int32[] = 0\n"


def run(*line, level=None):
    environment = os.environ | ({} if level is None else {"TREADLE_CPU": level})
    return subprocess.run(line, capture_output=True, timeout=600, text=True, env=environment)


def levels():
    """Returns the levels of this processor, as listed in the error for an unknown level."""
    said = run(command_line.BINARY, *COUNTDOWN, level="none").stderr
    return re.search(r"expected one of (.+)\n", said)[1].split(", ")


# A section for each level: of a build for its own processor there is none.
IS_FOR_ALL = b".text_x86_64_v3" in pathlib.Path(command_line.BINARY).read_bytes()
needs_levels = pytest.mark.skipif(
    not IS_FOR_ALL, reason="this build is for its own processor (TREADLE_KERNEL_LEVELS)"
)


# --- requested levels ---------------------------------------------------------------------------


def test_an_unknown_level_is_an_error_that_lists_those_there_are():
    done = run(command_line.BINARY, *COUNTDOWN, level="haswell")
    assert done.returncode == 1
    assert re.fullmatch(
        r"treadle: InvalidArgumentError: TREADLE_CPU is 'haswell', but this processor has "
        r"(\S+); expected one of (\S+, )*\1\n",
        done.stderr,
    )


def test_an_unknown_level_is_an_error_of_sessions():
    program = "import treadle; treadle.Session('examples/countdown.pbtxt')"
    done = run(sys.executable, "-c", f"import os; os.chdir({str(ROOT)!r}); {program}", level="8086")
    assert "InvalidArgumentError: TREADLE_CPU is '8086'" in done.stderr


# A net with what is compiled for each level: products, convolutions, reductions, random numbers.
NET = """
import json, sys
import numpy as np, treadle

g = treadle.Builder()
random = np.random.default_rng(7)
def weights(*shape):
    return random.standard_normal(shape).astype(np.float32) / 4
image = g.placeholder("image", "float32", [2, 12, 12, 3])
x = g.op("Conv2D", [image, weights(3, 3, 3, 16)], strides=[1, 1, 1, 1], padding="SAME")
x = g.op("Relu", [g.op("BiasAdd", [x, weights(16)])])
x = g.op("DepthwiseConv2dNative", [x, weights(3, 3, 16, 1)], strides=[1, 2, 2, 1], padding="SAME")
x = g.op("AvgPool", [x], ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
x = g.op("Reshape", [x, np.array([2, 144], np.int32)])
with g.while_loop(x=x, i=0) as loop:
    loop.condition(loop.i < 40)
    loop.x = g.op("Tanh", [g.op("MatMul", [loop.x, weights(144, 144) / 6])])
    loop.i += 1
for op in ("Sigmoid", "Exp", "Erf", "Softplus", "Sin"):
    x = x + g.op(op, [loop.x])
logits = g.op("MatMul", [x, weights(144, 10)])
probabilities = g.op("Softmax", [logits])
noise = g.op("StatelessRandomNormal", [np.array([50], np.int32), np.array([1, 2], np.int32)])
spectrum = g.op("RFFT", [logits, np.array([10], np.int32)])
feeds = {"image:0": random.standard_normal((2, 12, 12, 3)).astype(np.float32)}
fetches = [logits, probabilities, g.op("Sum", [x, 0]), g.op("Square", [noise]), g.op("Abs", [
    g.op("Real", [spectrum])])]
results = {}
for tier in ("interpret", "jit"):
    session = treadle.Session(g.build(), tier=tier)
    for _ in range(3):  # weights are packed when they are seen again
        values = session.run([f.name for f in fetches], feeds)
    results[tier] = [value.tolist() for value in values]
json.dump(results, sys.stdout)
"""


@pytest.fixture(scope="module")
def results():
    """Returns the results by level and tier."""
    found = {}
    for level in levels():
        done = run(sys.executable, "-c", NET, level=level)
        assert done.returncode == 0, done.stderr
        found[level] = json.loads(done.stdout)
    return found


def test_a_net_gives_the_same_at_each_level(results):
    expected = results[levels()[0]]["interpret"]
    for level, tiers in results.items():
        for tier, values in tiers.items():
            for value, wanted in zip(values, expected, strict=True):
                np.testing.assert_allclose(
                    value, wanted, rtol=2e-4, atol=2e-5, err_msg=f"{level}, {tier}"
                )


# --- instructions in the binary ------------------------------------------------------------------

# Instructions since AVX; and those of Haswell that have general registers. A bsf with rep, which
# every processor has, is shown as tzcnt.
NEWER = (
    r"\sv[a-z0-9]+\s.*%[xyz]mm|%k[0-7]|"
    r"\s(andn|bextr|blsi|blsmsk|blsr|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx|lzcnt)[lqw]?\s"
)
NEWEST = r"%zmm|%[xy]mm(1[6-9]|2[0-9]|3[01])|%k[0-7]"
# Functions that libraries select at run time themselves: LLVM's BLAKE3, and HighwayHash for AVX2.
ALLOWED = re.compile(r"llvm_blake3_.*_avx|HighwayHashCatILj4E")


def disassembled(binary, pattern):
    """(section, function, line) of the instructions that match."""
    dump = [shutil.which("llvm-objdump-22"), "--disassemble", "--no-show-raw-insn", binary]
    shown = ["grep", "-E", f"^Disassembly|>:$|{pattern}"]
    with subprocess.Popen(dump, stdout=subprocess.PIPE) as whole:
        lines = subprocess.run(shown, stdin=whole.stdout, capture_output=True, text=True).stdout
    section, function = "", ""
    for line in lines.splitlines():
        if line.startswith("Disassembly of section "):
            section = line.split()[-1].rstrip(":")
        elif line.endswith(">:"):
            function = line[line.index("<") + 1 : -2]
        else:
            yield section, function, line


@pytest.fixture(scope="module")
def newer():
    """(section, function, whether an instruction is of the last level), each once."""
    newest = re.compile(NEWEST)
    return {
        (section, function, bool(newest.search(line)))
        for section, function, line in disassembled(command_line.BINARY, NEWER)
    }


@needs_levels
def test_newer_instructions_are_in_the_kernels_of_levels_alone(newer):
    elsewhere = {
        f"{function} in {section}"
        for section, function, _ in newer
        if not section.startswith(".text_x86_64_v") and not ALLOWED.search(function)
    }
    assert elsewhere == set()


@needs_levels
def test_each_level_has_its_instructions_and_no_others(newer):
    found = {(section, is_newest) for section, _, is_newest in newer}
    levels = {(s, is_newest) for s, is_newest in found if s.startswith(".text_x86_64_v")}
    v4 = {(".text_x86_64_v4", True), (".text_x86_64_v4", False)}
    assert levels == {(".text_x86_64_v3", False)} | v4


# --- processors that aren't here -----------------------------------------------------------------

QEMU = shutil.which("qemu-x86_64")
needs_qemu = pytest.mark.skipif(
    not (QEMU and IS_FOR_ALL), reason="needs qemu-x86_64 (qemu-user) and TREADLE_KERNEL_LEVELS"
)

# qemu's names for processors of 2008 and 2013, less what it would say that it can't do, and for one
# that lacks SSE4.2.
HASWELL = "Haswell-noTSX,-pcid,-x2apic,-tsc-deadline,-invpcid"
PROCESSORS = {"Nehalem": "x86-64-v2", HASWELL: "x86-64-v3"}
TOO_OLD = "Penryn"


@needs_qemu
@pytest.mark.parametrize("processor", PROCESSORS)
def test_a_loop_runs_on(processor):
    done = run(QEMU, "-cpu", processor, command_line.BINARY, *COUNTDOWN)
    assert (done.returncode, done.stdout, done.stderr) == (0, COUNTED, "")


@needs_qemu
@pytest.mark.parametrize("processor", PROCESSORS)
def test_a_net_runs_on(processor, results):
    done = run(QEMU, "-cpu", processor, sys.executable, "-c", NET)
    assert done.returncode == 0, done.stderr
    for tier, values in json.loads(done.stdout).items():
        for value, wanted in zip(values, results[PROCESSORS[processor]][tier], strict=True):
            np.testing.assert_allclose(value, wanted, rtol=2e-4, atol=2e-5, err_msg=tier)


@needs_qemu
def test_a_program_says_where_the_processor_is_too_old():
    done = run(QEMU, "-cpu", TOO_OLD, command_line.BINARY, *COUNTDOWN)
    assert done.returncode == 1
    assert done.stderr.startswith("treadle: this processor lacks instructions of x86-64-v2")


@needs_qemu
def test_the_package_says_where_the_processor_is_too_old():
    path = pathlib.Path(treadle.__file__).parents[1]
    program = f"import sys; sys.path.insert(0, {str(path)!r}); import treadle"
    done = run(QEMU, "-cpu", TOO_OLD, sys.executable, "-c", program)
    assert done.returncode == 1
    assert "ImportError: this processor lacks instructions of x86-64-v2" in done.stderr
