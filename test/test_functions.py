"""Functions of a SavedModel's objects, which need no signature: listed, chosen, called."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import treadle

BINARY = os.environ.get("TREADLE_BIN") or Path(treadle.__file__).parents[2] / "bin" / "treadle"
FUNCTIONS = Path(__file__).parent / "models" / "functions"


@pytest.fixture(scope="module")
def model():
    return treadle.load(FUNCTIONS)


def run(*args, status=0):
    done = subprocess.run([BINARY, *map(str, args)], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def floats(*values):
    return np.array(values, np.float32)


def test_functions_are_listed(model):
    assert list(model.signatures) == []
    assert {"scaled", "encoder.predict", "layers.0.predict", "layers.1.predict"} <= set(
        model.functions
    )
    scaled = model.functions["scaled"]
    assert scaled.arguments == ("x", "by", "negative") and len(scaled.variants) == 4
    assert scaled.variants[0].inputs["x"].dtype == "float32"
    assert scaled.variants[2].fixed == {"by": ("2.0", True), "negative": ("True", False)}
    assert "scaled" in repr(scaled) and "negative=True" in repr(scaled)


def test_results_nest_as_in_python(model):
    result = model.functions["scaled"](floats(1, 2))
    assert list(result) == ["both", "y"] and isinstance(result["both"], tuple)
    np.testing.assert_array_equal(result["y"], floats(3, 6))
    np.testing.assert_array_equal(result["both"][1], floats(3, 4))
    assert model.functions["reset"](0) is None


def test_captured_variables_are_told_apart(model):
    """All four are called `v`."""
    for name, factor in (("encoder", 2), ("layers.0", 3), ("layers.1", 4)):
        result = model.functions[f"{name}.predict"]([[1, 1]])
        np.testing.assert_array_equal(result, floats([factor, -factor]))


def test_state_is_that_of_the_model():
    model = treadle.load(FUNCTIONS)
    assert model.functions["count"]() == 1 and model.functions["count"]() == 2
    assert model.variables()["calls"] == 2
    model.functions["reset"](to=9)
    assert model.session.run("calls/Read/ReadVariableOp:0") == 9


def test_tables_assets_and_constants_are_bound(model):
    first, second = model.functions["find"]([b"one", b"b", b"nothing"])
    np.testing.assert_array_equal(first, [1, -1, -1])
    np.testing.assert_array_equal(second, [-2, 8, -2])
    assert model.functions["text"]() == b"zero\none\ntwo\n"
    values = {"pair": [[1, 1], [2, 3]], "a": 1}
    np.testing.assert_array_equal(model.functions["nested"](values), floats(10, 19))
    assert model.functions["remember"]([b"x", b"y"]) == 2


def test_the_variant_is_chosen_by_arguments(model):
    scaled = model.functions["scaled"]
    assert scaled(np.array([1, 2], np.int32))["y"].dtype == np.int32
    np.testing.assert_array_equal(scaled(np.ones((2, 2), np.float32), negative=True)[0], [-2, -2])
    np.testing.assert_array_equal(scaled(floats(1, 1, 1), 5.0)["both"][1], [6, 6, 6])
    np.testing.assert_array_equal(scaled(floats(1, 1, 1))["both"][1], [3, 3, 3])


def test_arguments_that_no_variant_takes(model):
    scaled = model.functions["scaled"]
    with pytest.raises(treadle.InvalidArgumentError) as error:
        scaled(np.ones((2, 2), np.float32))
    message = str(error.value)
    assert message.startswith("function 'scaled' isn't defined for (x: float32[2,2]), only for\n")
    assert message.count("\n") == 4 and "scaled(x: int32[?], by=2.0, negative=False)" in message
    with pytest.raises(treadle.InvalidArgumentError, match="isn't defined"):
        scaled(floats(1), by=3.0)
    with pytest.raises(treadle.InvalidArgumentError, match=r"for \(to: None\)"):
        model.functions["reset"](None)
    with pytest.raises(treadle.InvalidArgumentError, match=r"isn't defined for \(\)"):
        model.functions["sum_below"]()
    with pytest.raises(TypeError, match="2 values for 1 argument"):
        model.functions["sum_below"](1, 2)
    with pytest.raises(TypeError, match="by position and by name"):
        model.functions["sum_below"](1, n=2)
    with pytest.raises(TypeError, match="'rows' has type int, expected .* values, row_splits"):
        model.functions["ragged"](1)


def test_the_first_variant_that_fits_is_called(model):
    """As in TensorFlow. Both variants of `either` accept two rows of two."""
    either, ones = model.functions["either"], np.ones((2, 2), np.float32)
    assert len(either.variants) == 2
    np.testing.assert_array_equal(either(ones, ones), ones * 2)
    np.testing.assert_array_equal(either(ones[:1], ones[:1]), ones[:1] * 2)
    np.testing.assert_array_equal(either([[1, 1]], [[1, 1]]), ones[:1] * 2)  # converted
    call = ("run", FUNCTIONS, "--function", "either", "--input", "a=[[1,1],[1,1]]")
    assert "result: float32[2,2] = [[2.0 2.0]" in run(*call, "--input", "b=[[1,1],[1,1]]")


def test_names(model):
    assert model.functions["scaling"].name == "scaled"  # the alias
    with pytest.raises(KeyError, match=r"no function 'scald' \(did you mean 'scaled'"):
        model.functions["scald"]
    words = Path(__file__).parents[1] / "examples" / "words"
    assert list(treadle.load(words).functions) == []
    with pytest.raises(treadle.UnimplementedError, match="sandbox"):
        treadle.load(words, sandbox=True).functions  # noqa: B018


def test_functions_are_compiled(model):
    jit = treadle.load(FUNCTIONS, tier="jit")
    assert jit.functions["sum_below"](100) == 4950


def test_the_command_line(tmp_path):
    text = run("show", FUNCTIONS)
    assert "encoder.predict(x: float32[?,2]) -> (result: float32[?,2])" in text
    assert "ragged(rows.values: float32[?], rows.row_splits: int64[?])" in text
    assert "inputs\n" not in text
    shown = json.loads(run("show", FUNCTIONS, "--json"))["functions_to_call"]
    assert {"alone", "count", "scaled"} <= {function["name"] for function in shown}
    text = run("run", FUNCTIONS, "--function", "layers.1.predict", "--input", "x=[[1,2]]")
    assert text == "result: float32[1,2] = [[4.0 -8.0]]\n"
    call = ("run", FUNCTIONS, "--function", "scaled")
    assert "y: int32[2] = [3 6]" in run(*call, "--input", "x=2xi32=1,2")
    negative = ("--input", "x=2x2xf32=1", "--input", "negative=true")
    assert "[[-2.0 -2.0]" in run(*call, *negative)
    assert "isn't defined for" in run(*call, "--input", "x=2x2xf32=1", status=1)
    assert run(*call, "--input", "x=2xf32=1", "--fetch", "y") == "y: float32[2] = [3.0 3.0]\n"
    assert run("run", FUNCTIONS, "--function", "reset", "--input", "to=1") == ""
    assert "did you mean 'scaled'" in run("run", FUNCTIONS, "--function", "scald", status=1)
    assert "can't be used together" in run(*call, "--signature", "s", status=2)
    bench = ("bench", FUNCTIONS, "--function", "sum_below", "--input", "n=3")
    assert "p50" in run(*bench, "--repeat", "3")
    assert "loop 'while'" in run("explain", FUNCTIONS, "--function", "sum_below")
    assert "no loops" in run("explain", FUNCTIONS, "--function", "count")
    plain = tmp_path / "plain.pbtxt"
    plain.write_text('node { name: "x" op: "NoOp" }')
    assert "no functions to call" in run("run", plain, "--function", "f", status=1)
    check = {"in/n": np.int32(4), "out/result": np.int32(6)}
    np.savez(tmp_path / "io.npz", **check)
    run("run", FUNCTIONS, "--function", "sum_below", "--check", tmp_path / "io.npz")


def test_objects_that_lie(tmp_path):
    """Numbers of objects and names of functions that don't exist end in errors at the function."""
    text = run("convert", FUNCTIONS, tmp_path / "text" / "saved_model.pbtxt")
    source = tmp_path / "text" / "saved_model.pbtxt"
    text = source.read_text()
    damages = {
        "far_child": ("node_id: 1\n", "node_id: 1000000\n"),
        "negative_child": ("node_id: 1\n", "node_id: -1\n"),
        "far_capture": ("bound_inputs: 2\n", "bound_inputs: 1000000\n"),
        "other_dtype": ("dtype: DT_INT64", "dtype: DT_FLOAT"),
        "no_function": ('concrete_functions: "__inference_count', 'concrete_functions: "gone'),
    }
    for name, (old, new) in damages.items():
        assert old in text, name
        folder = tmp_path / name
        shutil.copytree(tmp_path / "text", folder)
        objects = text.index("object_graph_def {")
        damaged = text[:objects] + text[objects:].replace(old, new)
        (folder / "saved_model.pbtxt").write_text(damaged)
        try:
            model = treadle.load(folder)
            for function in model.functions.values():
                try:
                    function()
                except (treadle.Error, TypeError):
                    pass
        except treadle.Error:
            pass
    model = treadle.load(tmp_path / "far_capture")
    with pytest.raises(
        treadle.UnimplementedError, match="captures object 1000000, but the model has"
    ):
        model.functions["count"]()
    with pytest.raises(treadle.UnimplementedError, match="objects declare another dtype"):
        treadle.load(tmp_path / "other_dtype").functions["count"]()
    assert "count" not in treadle.load(tmp_path / "no_function").functions
