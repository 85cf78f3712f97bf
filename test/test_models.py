"""SavedModels that are loaded and called: restored variables, tables from assets, signatures."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import treadle

BINARY = os.environ.get("TREADLE_BIN") or Path(treadle.__file__).parents[2] / "bin" / "treadle"


def dtype(name, key="dtype"):
    return f'attr {{ key: "{key}" value {{ type: {name} }} }}'


def text(key, value):
    return f'attr {{ key: "{key}" value {{ s: "{value}" }} }}'


def node(name, op, inputs=(), *attrs):
    listed = " ".join(f'input: "{i}"' for i in inputs)
    return f'node {{ name: "{name}" op: "{op}" {listed} {" ".join(attrs)} }}'


def strings(name, *values):
    elements = " ".join(f'string_val: "{v}"' for v in values)
    tensor = (
        f"tensor {{ dtype: DT_STRING tensor_shape {{ dim {{ size: {len(values)} }} }} {elements} }}"
    )
    value = f'attr {{ key: "value" value {{ {tensor} }} }}'
    return node(name, "Const", (), dtype("DT_STRING"), value)


def number(name, value, kind="DT_FLOAT", field="float_val"):
    tensor = f"tensor {{ dtype: {kind} tensor_shape {{ }} {field}: {value} }}"
    return node(name, "Const", (), dtype(kind), f'attr {{ key: "value" value {{ {tensor} }} }}')


def types(key, *kinds):
    return f'attr {{ key: "{key}" value {{ list {{ {" ".join(f"type: {k}" for k in kinds)} }} }} }}'


def shape(*dims):
    listed = " ".join(f"dim {{ size: {d} }}" for d in dims)
    return f'attr {{ key: "shape" value {{ shape {{ {listed} }} }} }}'


# A scale that counts its calls, and a vocabulary that is read from an asset.
NODES = [
    node("x", "Placeholder", (), dtype("DT_FLOAT"), shape(-1)),
    node("word", "Placeholder", (), dtype("DT_STRING"), shape()),
    node("scale", "VarHandleOp", (), dtype("DT_FLOAT"), shape(), text("shared_name", "scale")),
    node("calls", "VarHandleOp", (), dtype("DT_INT64"), shape(), text("shared_name", "calls")),
    number("one", 1, "DT_INT64", "int64_val"),
    node("count", "AssignAddVariableOp", ["calls", "one"], dtype("DT_INT64")),
    node("calls_now", "ReadVariableOp", ["calls", "^count"], dtype("DT_INT64")),
    node("scale_now", "ReadVariableOp", ["scale"], dtype("DT_FLOAT")),
    node("y", "Mul", ["x", "scale_now"], dtype("DT_FLOAT", "T")),
    # Saving and restoring.
    node("prefix", "Placeholder", (), dtype("DT_STRING"), shape()),
    strings("keys", "scale", "calls"),
    strings("slices", "", ""),
    node("scale_saved", "ReadVariableOp", ["scale"], dtype("DT_FLOAT")),
    node("calls_saved", "ReadVariableOp", ["calls"], dtype("DT_INT64")),
    node("write", "SaveV2", ["prefix", "keys", "slices", "scale_saved", "calls_saved"],
         types("dtypes", "DT_FLOAT", "DT_INT64")),
    node("saved", "Identity", ["prefix", "^write"], dtype("DT_STRING", "T")),
    node("read", "RestoreV2", ["prefix", "keys", "slices"],
         types("dtypes", "DT_FLOAT", "DT_INT64")),
    node("restore_scale", "AssignVariableOp", ["scale", "read"], dtype("DT_FLOAT")),
    node("restore_calls", "AssignVariableOp", ["calls", "read:1"], dtype("DT_INT64")),
    node("restore", "NoOp", ["^restore_scale", "^restore_calls"]),
    # The vocabulary.
    node("file", "Placeholder", (), dtype("DT_STRING"), shape()),
    node("table", "HashTableV2", (), dtype("DT_STRING", "key_dtype"),
         dtype("DT_INT64", "value_dtype"), text("shared_name", "words")),
    node("fill", "InitializeTableFromTextFileV2", ["table", "file"],
         *[f'attr {{ key: "{key}" value {{ i: {column} }} }}'
           for key, column in (("key_index", -2), ("value_index", -1))]),
    number("unknown", -1, "DT_INT64", "int64_val"),
    node("id", "LookupTableFindV2", ["table", "word", "unknown"], dtype("DT_STRING", "Tin"),
         dtype("DT_INT64", "Tout")),
]  # fmt: skip

ASSET = 'asset_file_def { tensor_info { name: "file:0" } filename: "words.txt" }'


def info(key, tensor, kind, *dims):
    listed = " ".join(f"dim {{ size: {d} }}" for d in dims)
    value = f'name: "{tensor}" dtype: {kind} tensor_shape {{ {listed} }}'
    return f'{{ key: "{key}" value {{ {value} }} }}'


SIGNATURES = f"""
signature_def {{ key: "serving_default" value {{
  inputs {info("x", "x:0", "DT_FLOAT", -1)}
  outputs {info("scaled", "y:0", "DT_FLOAT", -1)} outputs {info("calls", "calls_now:0", "DT_INT64")}
  method_name: "predict" }} }}
signature_def {{ key: "lookup" value {{
  inputs {info("word", "word:0", "DT_STRING")} outputs {info("id", "id:0", "DT_INT64")} }} }}
signature_def {{ key: "__saved_model_init_op" value {{
  outputs {{ key: "__saved_model_init_op" value {{ name: "fill" }} }} }} }}
"""
SAVER = """saver_def { filename_tensor_name: "prefix:0" save_tensor_name: "saved:0"
                       restore_op_name: "restore" }"""


def write_model(folder: Path, asset=ASSET, tags=("serve",), signatures=SIGNATURES, files=True):
    listed = " ".join(f'tags: "{t}"' for t in tags)
    meta = f"meta_info_def {{ {listed} }} graph_def {{ {' '.join(NODES)} }} {SAVER} {asset}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "saved_model.pbtxt").write_text(f"meta_graphs {{ {meta} {signatures} }}")
    if not files:
        return folder
    (folder / "assets").mkdir()
    (folder / "assets" / "words.txt").write_text("zero\none\ntwo\n")
    (folder / "variables").mkdir()
    tensors = ["scale", "calls", "other"]
    values = [
        number("scale", 2.5),
        number("calls", 10, "DT_INT64", "int64_val"),
        number("other", 7),
    ]
    save = node("save", "SaveV2", ["prefix", "keys", "slices", *tensors],
                types("dtypes", "DT_FLOAT", "DT_INT64", "DT_FLOAT"))  # fmt: skip
    prefix = node("prefix", "Placeholder", (), dtype("DT_STRING"))
    graph = [prefix, strings("keys", *tensors), strings("slices", "", "", ""), *values, save]
    session = treadle.Session("\n".join(graph).encode())
    session.run([], {"prefix": str(folder / "variables" / "variables")}, ["save"])
    return folder


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


def test_loads_that_fail(tmp_path):
    def fails(error, message, **options):
        with pytest.raises(error, match=message):
            treadle.load(options.pop("path", tmp_path / "none"), **options)

    fails(treadle.NotFoundError, "none")
    model = write_model(tmp_path / "tags", tags=("serve", "gpu"))
    fails(treadle.NotFoundError, "'gpu', 'serve'", path=model, tags=["train"])
    treadle.load(model, tags=["gpu", "serve"])
    bare = write_model(tmp_path / "bare", files=False)
    fails(treadle.NotFoundError, "asset 'words.txt' is missing", path=bare)
    fails(treadle.NotFoundError, "checkpoint", path=write_model(tmp_path / "b2", "", files=False))
    out = write_model(tmp_path / "out", ASSET.replace("words.txt", "../words.txt"), files=False)
    fails(treadle.InvalidArgumentError, "leads out of the model's folder", path=out)
    plain = tmp_path / "plain.pbtxt"
    plain.write_text("\n".join(NODES))
    fails(treadle.InvalidArgumentError, "SavedModel", path=plain)


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
