"""Exported programs of PyTorch (.pt2) without PyTorch: test/torch_files/make_tiny.py wrote one.

test/torch_checks/check_files.py compares many with PyTorch, where it is installed.
"""

import json
import os
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(Path(__file__).parent))
from command_line import BINARY  # noqa: E402

TINY = Path(__file__).parent / "torch_files" / "tiny.pt2"
MODEL = "tiny/models/model.json"
WEIGHT = np.array([[1, -1, 0.5], [2, 0, -3]], np.float32)
BIAS = np.array([0.5, -0.25], np.float32)
ON = np.array([True, False, True])


def expected(x, steps, calls, seen):
    """Returns the module's result, and the sums that it remembers, newest first."""
    y = np.maximum(x @ WEIGHT.T + BIAS, 0)
    seen = [y.sum(0), *seen][:3]
    before = np.concatenate([np.zeros((1, 2), np.float32), y.cumsum(0)[:-1]])
    return {
        "doubled": y * 2 if y.sum() > 1 else y - 1,
        "loops_0": y * (1 + steps),
        "loops_1": before * y,
        "total": y.sum(0),
        "seen": sum(seen),
        "calls": np.int64(calls),
        "half": np.array([1, 0.5], np.float32),
        "turned": np.where(ON, x, -x).T,
        "rows": np.int64(2 * len(x)),
    }, seen


def call(model, x, steps, limit=1.0):
    give = model.signatures["serving_default"]
    return give(x=x, options_limit=np.float32(limit), options_on=ON, steps=np.int64(steps))


def same(got, wanted):
    assert got.keys() == wanted.keys()
    for key, value in wanted.items():
        assert got[key].shape == value.shape, key
        np.testing.assert_allclose(got[key].astype(value.dtype), value, atol=1e-6, err_msg=key)


def test_a_program_computes_and_remembers():
    model, seen = treadle.load(TINY), []
    random_numbers = np.random.default_rng(0)
    for calls, rows in enumerate((4, 2, 7, 1), 1):
        x = random_numbers.standard_normal((rows, 3), np.float32)
        wanted, seen = expected(x, calls, calls, seen)
        same(call(model, x, calls), wanted)
    assert model.variables()["count"] == 4


def test_the_signature_has_the_programs_names():
    signature = treadle.load(TINY).signatures["serving_default"]
    shapes = {key: (value.dtype, value.shape) for key, value in signature.inputs.items()}
    assert shapes == {
        "x": ("float32", (None, 3)),
        "options_limit": ("float32", ()),
        "options_on": ("bool", (3,)),
        "steps": ("int64", ()),
    }
    assert signature.outputs["half"].dtype == "bfloat16"
    assert signature.outputs["turned"].shape == (3, None)


def test_pytorch_is_not_imported():
    program = f"import sys, treadle; treadle.load({str(TINY)!r}); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


# ---- the command


def command(*args):
    line = [sys.executable, "-m", "treadle", *map(str, args)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120)


INPUTS = ["x=1x3xf32=1", "options_limit=1", "options_on=[true,false,true]", "steps=1"]
GIVEN = [word for value in INPUTS for word in ("--input", value)]


def test_the_command_runs_a_program():
    done = command("run", TINY, *GIVEN)
    assert (done.returncode, done.stderr) == (0, "")
    assert "doubled: float32[1,2] = [[0.0 -1.0]]\n" in done.stdout
    assert "calls: int64[] = 1\n" in done.stdout
    done = command("show", TINY)
    assert "-> half: bfloat16[2]" in done.stdout and "loops" in done.stdout


def test_a_converted_program_needs_no_python(tmp_path):
    file = tmp_path / "tiny.tfg"
    assert command("convert", TINY, file).returncode == 0
    done = subprocess.run([BINARY, "run", file, *GIVEN], capture_output=True, text=True)
    assert done.stdout == command("run", TINY, *GIVEN).stdout != ""
    same(call(treadle.load(file), np.ones((2, 3), np.float32), 0),
         expected(np.ones((2, 3), np.float32), 0, 1, [])[0])  # fmt: skip
    assert [p.name for p in tmp_path.iterdir()] == ["tiny.tfg"]


def test_a_program_becomes_a_graph_and_a_folder(tmp_path):
    (tmp_path / "mine.txt").write_text("not the model's")
    assert command("convert", TINY, tmp_path / "tiny.pb").returncode == 0
    assert "outputs/Identity" in [
        n.name for n in treadle.Graph.from_file(tmp_path / "tiny.pb").nodes()
    ]
    assert command("convert", TINY, tmp_path / "tiny.tfg").returncode == 0
    for source, out in ((TINY, "folder"), (tmp_path / "tiny.tfg", "other")):
        assert command("convert", source, tmp_path / out).returncode == 0
        assert os.listdir(tmp_path / out) == ["saved_model.pb"]
        assert treadle.load(tmp_path / out).variables()["count"] == 0


def test_the_bare_command_says_how_to_convert():
    done = subprocess.run([BINARY, "run", TINY], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.endswith("python -m treadle convert FILE net.tfg\n")


def test_a_model_is_called_tfg(tmp_path):
    from treadle._aten import _files

    with pytest.raises(treadle.InvalidArgumentError, match=r"expected a name that ends in \.tfg"):
        _files.convert(TINY, tmp_path / "tiny.onnx")
    assert not list(tmp_path.iterdir())


def test_errors_of_the_command_are_one_line(tmp_path):
    done = command("run", damaged(tmp_path, lambda entries: entries.pop("tiny/archive_format")))
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("treadle: InvalidArgumentError: ")


# ---- corrupted files


def entries_of(file):
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(file, entries, how=zipfile.ZIP_STORED):
    with zipfile.ZipFile(file, "w", how) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return file


def damaged(folder, change, how=zipfile.ZIP_STORED):
    """The program with its entries changed."""
    entries = entries_of(TINY)
    change(entries)
    return write(folder / "damaged.pt2", entries, how)


def in_json(entry, *path, value):
    """A change of one value in an entry of JSON, or of its last member if `value` is a function."""

    def change(entries):
        whole = place = json.loads(entries[entry])
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        entries[entry] = json.dumps(whole)

    return change


WEIGHTS = "tiny/data/weights/model_weights_config.json"
GRAPH = ("graph_module", "graph")
META = ("config", "weight", "tensor_meta")

DAMAGES = {
    "no_format": (lambda e: e.pop("tiny/archive_format"), "no entry 'archive_format'"),
    "no_program": (lambda e: e.pop(MODEL), "contains 0 programs"),
    "no_weight": (lambda e: e.pop("tiny/data/weights/weight_0"), "'data/weights/weight_0' is miss"),
    "short_weight": (
        lambda e: e.update({"tiny/data/weights/weight_0": b"1234"}),
        "element 5 of its memory, which has 1 elements",
    ),
    "no_json": (lambda e: e.update({MODEL: b"{"}), "is not JSON"),
    "deep_json": (lambda e: e.update({MODEL: b"[" * 200_000}), "nests too deeply|is not JSON"),
    "other_version": (in_json(MODEL, "schema_version", "major", value=9), "9.20, expected 8"),
    "big_endian": (lambda e: e.update({"tiny/byteorder": b"big"}), "big-endian"),
    "path": (
        in_json(WEIGHTS, "config", "weight", "path_name", value="weight_/../../x"),
        "is missing",
    ),
    "pickle": (in_json(WEIGHTS, "config", "weight", "use_pickle", value=True), "is pickled"),
    "old_pickles": (
        lambda e: (e.pop(WEIGHTS), e.update({"tiny/data/weights/model.pt": b"\x80\x02."})),
        "are pickled",
    ),
    "negative_size": (
        in_json(WEIGHTS, *META, "sizes", value=[{"as_int": -1}, {"as_int": 3}]),
        "a size is negative",
    ),
    "huge_size": (
        in_json(WEIGHTS, *META, "sizes", value=[{"as_int": 2**40}, {"as_int": 3}]),
        "of its memory",
    ),
    "expanded": (
        in_json(
            WEIGHTS, *META, value={
                "dtype": 7, "sizes": [{"as_int": 2**40}], "strides": [{"as_int": 0}],
                "storage_offset": {"as_int": 0}, "layout": 7,
            },
        ),
        "in a memory of 6",
    ),
    "other_rank": (in_json(WEIGHTS, *META, "strides", value=[]), "2 sizes and 0 strides"),
    "no_dtype": (in_json(WEIGHTS, *META, "dtype", value=99), "there is no dtype 99"),
    "sparse": (in_json(WEIGHTS, *META, "layout", value=2), "sparse"),
    "no_number": (in_json(WEIGHTS, *META, "dtype", value="f32"), '"f32", expected an integer'),
    "no_op": (
        in_json(MODEL, *GRAPH, "nodes", 1, "target", value="torch.ops.aten.nowhere.default"),
        r"aten.nowhere.default\): this op has no rule; .*run_decompositions",
    ),
    "no_function": (in_json(MODEL, *GRAPH, "nodes", 1, "target", value="os.system"), "has no rule"),
    "no_value": (
        in_json(MODEL, *GRAPH, "nodes", 1, "inputs", 0, "arg", "as_tensor", "name", value="gone"),
        "no value 'gone' before it",
    ),
    "no_arguments": (in_json(MODEL, *GRAPH, "nodes", 2, "inputs", value=[]), "don't fit"),
    "twice": (
        in_json(MODEL, *GRAPH, "nodes", 1, "outputs", value=[{"as_tensor": {"name": "x"}}]),
        "two values named 'x'",
    ),
    "expression": (
        in_json(
            MODEL, *GRAPH, "tensor_values", "x", "sizes", 0,
            value={"as_expr": {"expr_str": "__import__('os').system('true')"}},
        ),
        "not an expression of a dimension",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_one_error(name, tmp_path):
    change, message = DAMAGES[name]
    file = damaged(tmp_path, change)
    with pytest.raises(treadle.Error, match=message) as raised:
        treadle.load(file)
    assert "\n" not in str(raised.value) and str(raised.value).startswith(str(file))


def test_entries_are_stored(tmp_path):
    with pytest.raises(treadle.InvalidArgumentError, match="larger than the file"):
        treadle.load(
            damaged(tmp_path, lambda e: e.update(zeros=bytes(10**7)), zipfile.ZIP_DEFLATED)
        )


def test_a_broken_zip_is_one_error(tmp_path):
    content = TINY.read_bytes()
    (tmp_path / "half.pt2").write_bytes(content[: len(content) // 2])
    with pytest.raises(treadle.InvalidArgumentError, match="not an exported program of PyTorch"):
        treadle.load(tmp_path / "half.pt2")
    at = content.index(b'"graph_module"')
    (tmp_path / "bit.pt2").write_bytes(content[:at] + b"'" + content[at + 1 :])
    with pytest.raises(treadle.InvalidArgumentError, match=r"'models/model\.json' is corrupted"):
        treadle.load(tmp_path / "bit.pt2")


OLD = "serialized_exported_program.json"


def test_old_files_say_what_helps(tmp_path):
    file = write(tmp_path / "old.pt2", {OLD: b"{}", "serialized_state_dict.pt": b"\x80\x02."})
    with pytest.raises(treadle.UnimplementedError, match="save it by a newer one"):
        treadle.load(file)


def places_in(value):
    """All members of JSON, as containers and keys."""
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        yield value, key
        yield from places_in(value[key])


JUNK = [None, True, -1, 7, 2**62, 2**70, "", "x", [], {}, {"as_int": 10**12}, {"as_name": "x"}]


def test_random_damage_is_no_more_than_an_error(tmp_path):
    entries, dice, made = entries_of(TINY), random.Random(0), 0
    for number in range(300):
        entry = dice.choice([MODEL, MODEL, MODEL, WEIGHTS])
        whole = json.loads(entries[entry])
        place, key = dice.choice(list(places_in(whole)))
        if isinstance(place, dict) and dice.random() < 0.3:
            del place[key]
        else:
            place[key] = dice.choice(JUNK)
        file = write(tmp_path / f"{number}.pt2", entries | {entry: json.dumps(whole)})
        try:
            treadle.load(file)
            made += 1
        except treadle.Error as error:
            assert "\n" not in error.message
    assert 0 < made < 300
