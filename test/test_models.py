"""SavedModels that are loaded and called: restored variables, tables from assets, signatures."""

import importlib.util
import json
import os
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest

import treadle

BINARY = os.environ.get("TREADLE_BIN") or Path(treadle.__file__).parents[2] / "bin" / "treadle"


SPEC = importlib.util.spec_from_file_location(
    "make_words", Path(__file__).parents[1] / "examples" / "make_words.py"
)
make_words = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make_words)
write_model, node, dtype, shape, text = (
    getattr(make_words, name) for name in ("write_model", "node", "dtype", "shape", "text")
)
ASSET, NODES = make_words.ASSET, make_words.NODES


@pytest.fixture
def folder(tmp_path):
    return write_model(tmp_path / "model")


def test_a_model_is_called(folder):
    model = treadle.load(folder)
    assert list(model.signatures) == ["lookup", "serving_default"]
    serve = model.signatures["serving_default"]
    assert serve.inputs["x"] == treadle.Value("x:0", "float32", (None,))
    for call in (11, 12):
        outputs = serve(x=[1, 2])
        np.testing.assert_array_equal(outputs["scaled"], np.array([2.5, 5], np.float32))
        assert outputs["calls"] == call
    assert model.signatures["lookup"](word="two")["id"] == 2
    assert model.signatures["lookup"](word="ten")["id"] == -1
    assert model.variables()["calls"] == 12
    assert model.session.run("scale_now") == 2.5


def test_what_is_saved_is_loaded_again(folder, tmp_path):
    model = treadle.load(folder)
    model.signatures["serving_default"](x=[1])
    copy = tmp_path / "copy"
    model.save(copy)
    again = treadle.load(copy)
    assert again.variables()["calls"] == 11
    assert again.signatures["lookup"](word="one")["id"] == 1
    assert treadle.load(folder).variables()["calls"] == 10
    model.save()
    assert treadle.load(folder).variables()["calls"] == 11
    with pytest.raises(treadle.AlreadyExistsError, match="copy"):
        model.save(copy)


@pytest.mark.parametrize(
    "signature, inputs, error, message",
    [
        ("serving_default", {}, treadle.InvalidArgumentError, "input 'x' .* has no value"),
        ("serving_default", {"X": [1]}, treadle.InvalidArgumentError, "did you mean 'x'"),
        ("serving_default", {"x": [[1]]}, treadle.InvalidArgumentError, r"expected float32\[\?\]"),
        ("serving_default", {"x": ["a"]}, treadle.InvalidArgumentError, "input 'x'"),
        ("lookup", {"word": 1}, treadle.InvalidArgumentError, "input 'word'"),
    ],
)
def test_calls_that_fail(folder, signature, inputs, error, message):
    model = treadle.load(folder)
    with pytest.raises(error, match=message):
        model.signatures[signature](**inputs)
    assert model.variables()["calls"] == 10


def test_names_that_a_model_lacks(folder):
    """Errors of treadle, and KeyErrors as of any mapping."""
    model = treadle.load(folder)
    for error in (KeyError, treadle.NotFoundError):
        with pytest.raises(error) as raised:
            model.signatures["lokup"]
        assert str(raised.value) == (
            "the model has no signature 'lokup' (did you mean 'lookup'?); its signatures are"
            " 'lookup', 'serving_default'"
        )
    with pytest.raises(KeyError, match="'srv'; its signatures are 'lookup', 'serving_default'"):
        model.signatures["srv"]
    serve = model.signatures["serving_default"]
    with pytest.raises(KeyError, match="signature 'serving_default' has no input 'y'.*'x'"):
        serve.inputs["y"]
    with pytest.raises(KeyError, match=r"no output 'scale'.*did you mean 'scaled'\?"):
        serve.outputs["scale"]
    assert "srv" not in model.signatures and model.signatures.get("srv") is None


def test_a_session_restores_no_model(folder):
    with pytest.raises(treadle.InvalidArgumentError, match=r"SavedModel.*treadle\.load\(FOLDER\)"):
        treadle.Session(folder)
    graph = treadle.Graph.from_file(folder)
    session = treadle.Session(graph)
    for fetch, what in (("calls_now", "'calls' has no value"), ("id", "not initialized")):
        with pytest.raises(treadle.Error, match=rf"{what}.*; .*treadle\.load\(FOLDER\)"):
            session.run(fetch, {"word:0": b"one"} if fetch == "id" else {})
    assert treadle.load(folder).session.run("calls_now") == 11


def test_a_model_stays_in_its_process(folder):
    with pytest.raises(TypeError, match=r"a Model can't be pickled.*treadle.load\(path\) in each"):
        pickle.dumps(treadle.load(folder))


def test_loads_that_fail(tmp_path):
    def fails(error, message, **options):
        with pytest.raises(error, match=message):
            treadle.load(options.pop("path", tmp_path / "none"), **options)

    fails(treadle.NotFoundError, "none")
    model = write_model(tmp_path / "tags", tags=("serve", "gpu"))
    fails(treadle.NotFoundError, "'gpu', 'serve'", path=model, tags=["train"])
    treadle.load(model, tags=["gpu", "serve"])
    bare = write_model(tmp_path / "bare", files=False)
    fails(treadle.NotFoundError, "checkpoint", path=bare)
    out = write_model(tmp_path / "out", ASSET.replace("words.txt", "../words.txt"), files=False)
    fails(treadle.InvalidArgumentError, "points outside of the model's folder", path=out)
    plain = tmp_path / "plain.pbtxt"
    plain.write_text("\n".join(NODES))
    fails(treadle.InvalidArgumentError, "SavedModel", path=plain)


def test_a_missing_asset_fails_where_it_is_read(folder):
    asset = folder / "assets" / "words.txt"
    asset.unlink()
    reader = r"node 'fill' \(InitializeTableFromTextFileV2\)"
    message = f"the model can't be initialized: {reader}: there is no file '{asset}'"
    with pytest.raises(treadle.NotFoundError, match=message):
        treadle.load(folder)


def test_a_missing_asset_has_its_name(folder):
    asset = folder / "assets" / "words.txt"
    asset.unlink()
    model = folder / "saved_model.pbtxt"
    fill = next(text for text in NODES if 'name: "fill"' in text)
    name = [
        node("name", "VarHandleOp", (), dtype("DT_STRING"), shape(), text("shared_name", "name")),
        node("fill", "AssignVariableOp", ["name", "file"], dtype("DT_STRING")),
        node("name_now", "ReadVariableOp", ["name"], dtype("DT_STRING")),
    ]
    assert fill in model.read_text()
    model.write_text(model.read_text().replace(fill, " ".join(name)))
    assert treadle.load(folder).session.run("name_now").item() == os.fsencode(asset)


@pytest.mark.parametrize("damage", ["missing", "truncated", "flipped", "index"])
def test_damaged_checkpoints(folder, damage):
    shard = folder / "variables" / "variables.data-00000-of-00001"
    data = bytearray(shard.read_bytes())
    if damage == "missing":
        shard.unlink()
    elif damage == "truncated":
        shard.write_bytes(data[:6])
    elif damage == "flipped":
        data[0] ^= 1
        shard.write_bytes(data)
    else:
        index = folder / "variables" / "variables.index"
        index.write_bytes(index.read_bytes()[:-1])
    expected = treadle.NotFoundError if damage == "missing" else treadle.DataLossError
    with pytest.raises(expected, match="variables"):
        treadle.load(folder)


def test_variables_of_another_shape(tmp_path):
    folder = write_model(tmp_path)
    model = folder / "saved_model.pbtxt"
    scale = node(
        "scale", "VarHandleOp", (), dtype("DT_FLOAT"), shape(), text("shared_name", "scale")
    )
    other = scale.replace(shape(), shape(2))
    assert scale in model.read_text()
    model.write_text(model.read_text().replace(scale, other))
    message = r"variable 'scale' is float32\[2\] in the graph, but float32\[\] in the checkpoint"
    with pytest.raises(treadle.InvalidArgumentError, match=message):
        treadle.load(folder)


def run(*args, status=0):
    done = subprocess.run([BINARY, *map(str, args)], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_command_line_calls_signatures(folder, tmp_path):
    text = run("run", folder, "--input", "x=[1,2]")
    assert "scaled: float32[2] = [2.5 5.0]" in text and "calls: int64[] = 11" in text
    text = run("run", folder, "--signature", "lookup", "--input", "word=one")
    assert "id: int64[] = 1" in text
    assert "did you mean 'lookup'" in run("run", folder, "--signature", "lokup", status=1)
    assert "the signature's inputs:\n  x: float32[?]" in run("run", folder, status=1)
    assert "2.5" in run("run", folder, "--fetch", "scale_now")
    both = run("run", folder, "--signature", "lookup", "--fetch", "id", status=1)
    assert "can't be used together" in both
    check = tmp_path / "io.npz"
    calls = {"in/0/x": np.float32([1]), "out/0/scaled": np.float32([2.5]), "out/0/calls": 11}
    calls |= {"in/1/x": np.float32([4]), "out/1/scaled": np.float32([10]), "out/1/calls": 12}
    np.savez(check, **{k: np.asarray(v) for k, v in calls.items()})
    assert "passed" in run("run", folder, "--check", check)
    calls["out/1/calls"] = 13
    np.savez(check, **{k: np.asarray(v) for k, v in calls.items()})
    assert "call 1: calls: int64[] differs" in run("run", folder, "--check", check, status=1)
    assert json.loads(run("show", folder, "--json"))["signatures"]


MODELS = Path(os.environ.get("TREADLE_MODELS", "no models"))


@pytest.mark.skipif(not MODELS.is_dir(), reason="TREADLE_MODELS names no folder of models")
@pytest.mark.parametrize("threads", [1, 2])
def test_real_models(threads):
    """Models with TensorFlow's answers, each folder with an io.npz."""
    checked = 0
    for answers in sorted(MODELS.glob("*/io.npz")):
        graph = answers.parent / "graph.pb"
        model = graph if graph.exists() else answers.parent
        assert "passed" in run("run", model, "--check", answers, "--threads", threads)
        checked += 1
    assert checked


def test_the_example_is_what_its_script_writes(tmp_path):
    example = Path(__file__).parents[1] / "examples" / "words"
    written = write_model(tmp_path / "words")
    files = sorted(path.relative_to(written) for path in written.rglob("*") if path.is_file())
    assert len(files) == 4
    for file in files:
        assert (example / file).read_bytes() == (written / file).read_bytes()
