"""Files that aren't graphs: errors say what they are, and what to do with them."""

import io
import json
import pathlib
import pickle
import re
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command_line import BINARY  # noqa: E402

HEADER = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
INDEX = pathlib.Path(__file__).parent.parent / "examples/words/variables/variables.index"
HDF5 = b"\x89HDF\r\n\x1a\n" + bytes(200)


def zipped(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), content)
    return out.getvalue()


def an_array():
    out = io.BytesIO()
    np.save(out, np.zeros(3))
    return out.getvalue()


# By name: bytes, what they are, and what helps.
FILES = {
    "model.keras": (
        zipped(config_dot_json="{}", model_dot_weights_dot_h5=HDF5),
        r"a model of Keras \(\.keras\)",
        r"\.export\(FOLDER\)",
    ),
    "model.h5": (HDF5, r"HDF5.*\.h5", r"\.export\(FOLDER\)"),
    "model.tflite": (struct.pack("<I", 28) + b"TFL3" + bytes(99), "TensorFlow Lite", "original"),
    "model.onnx": (b"\x08\x08\x12\x07pytorch:\x03\x0a\x01x", "ONNX", "original"),
    "model.pt": (zipped(archive__data_dot_pkl="", archive__version="3"), "torch.save", "from_fx"),
    "script.pt": (zipped(m__code____torch_dot_py="", m__data_dot_pkl=""), "TorchScript", "from_fx"),
    "program.pt2": (
        zipped(m__models__model_dot_json="{}"),
        r"exported program of PyTorch",
        r"python -m treadle convert",
    ),
    "old.pth": (pickle.dumps({}, protocol=2), r"PyTorch \(\.pth\)", "from_fx"),
    "weights": (pickle.dumps({"a": 1}, protocol=2), "a pickle of Python", "from_fx"),
    "model.safetensors": (
        struct.pack("<Q", len(HEADER)) + HEADER + bytes(4),
        "safetensors",
        "graph",
    ),
    "model.gguf": (b"GGUF" + bytes(50), "GGUF", "a graph"),
    "ckpt.index": (INDEX.read_bytes(), "a part of a checkpoint", "SavedModel"),
    "ckpt.data-00000-of-00001": (b"\x00\x01\x02", "a part of a checkpoint", "SavedModel"),
    "checkpoint": (b'model_checkpoint_path: "ckpt"\n', "list of a folder's checkpoints", "model"),
    "model.ckpt.meta": (b"\x0a\x04\x0a\x02\xff\xff", "meta graph of TensorFlow 1", "import_meta_"),
    "model.mlmodel": (b"\x08\x04\x12\x10" + bytes(40), "Core ML", "original"),
    "x.npy": (an_array(), "an array of numpy", "--input"),
    "x.npz": (zipped(x_dot_npy=an_array()), "arrays of numpy", "--input"),
    "graph.pb.gz": (b"\x1f\x8b\x08" + bytes(20), "compressed by gzip", "unpack"),
    "model.zip": (zipped(m__saved_model_dot_pb=""), r"an archive \(zip\)", "unpack"),
    "train.py": (b"import tensorflow as tf\n", "a Python program", r"\.export"),
    "model.json": (b'{"format": "layers-model"}', "JSON", "original"),
    "net.o": (b"\x7fELF\x02\x01\x01" + bytes(99), "compiled code", "original"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_named(name, tmp_path):
    content, what, advice = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    done = subprocess.run([BINARY, "show", path], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "") and done.stderr.count("\n") == 1
    expected = (
        rf"treadle: InvalidArgumentError: {path}: the input is .*{what}.*; expected .*{advice}"
    )
    assert re.match(expected, done.stderr)
    with pytest.raises(treadle.InvalidArgumentError, match=what):
        treadle.load(path)


def test_bytes_are_named():
    with pytest.raises(treadle.InvalidArgumentError, match="a model of Keras"):
        treadle.Graph.from_bytes(FILES["model.keras"][0])


def test_a_graph_of_any_name_is_read(tmp_path):
    """Readable content is read, whatever its name and first bytes are."""
    for name in ("graph.keras", "graph.onnx", "model.h5", "graph.zip"):
        graph = treadle.Graph.from_bytes(b'node { name: "TFL3" op: "NoOp" }').to_bytes()
        assert graph[4:8] == b"TFL3"
        (tmp_path / name).write_bytes(graph)
        assert treadle.Graph.from_file(tmp_path / name).to_bytes() == graph


def test_a_damaged_graph_is_still_one(tmp_path):
    graph = treadle.Graph.from_bytes(b'node { name: "abc" op: "NoOp" }').to_bytes()
    (tmp_path / "graph.pb").write_bytes(graph[:-1])
    with pytest.raises(treadle.InvalidArgumentError, match="parse as a GraphDef"):
        treadle.Graph.from_file(tmp_path / "graph.pb")


# By the names of files in it: what the error for the folder says.
FOLDERS = {
    ("1/saved_model.pb", "2/saved_model.pb"): r"did you mean '.*/1' or '.*/2'\?",
    ("frozen.pb", "labels.txt"): r"did you mean '.*/frozen\.pb'\?",
    ("config.json", "model.safetensors"): "it holds weights in safetensors; expected a graph",
    ("checkpoint", "ckpt-1.index"): "it holds a checkpoint; expected a graph",
    ("config.json", "model.weights.h5"): r"an unpacked model of Keras; .*\.export",
    ("best.keras",): r"a model of Keras \(\.keras\); .*\.export",
    ("_METADATA",): "a checkpoint of JAX",
    ("fingerprint.pb", "keras_metadata.pb"): r"nor graph\.pb$",
    ("model.json", "ckpt-1.index"): "it holds a checkpoint; expected a graph",
    ("model.json", "README.md"): r"nor graph\.pb$",
    (): r"nor graph\.pb$",
}


@pytest.mark.parametrize("names", FOLDERS, ids=lambda names: "+".join(names) or "empty")
def test_a_folder_without_a_model_is_named(names, tmp_path):
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(treadle.NotFoundError, match=FOLDERS[names]):
        treadle.load(tmp_path)


def test_a_model_of_tensorflow_js_is_known_by_its_manifest(tmp_path):
    (tmp_path / "model.json").write_text('{"modelTopology": {}, "weightsManifest": []}')
    with pytest.raises(treadle.NotFoundError, match=r"a model of TensorFlow\.js"):
        treadle.load(tmp_path)
